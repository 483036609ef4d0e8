/* Runs a program's turns, and writes down what it says of its objects. Compiled without debug
 * information, and by no recording compiler.
 *
 * Environment: TRUTH_FILE, where to; TRUTH_STEP, to be traced: SIGUSR1 before the turns and after
 * them, in one thread. Else two threads take turns, so that what they use moves between them. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

#define TURNS 24

static FILE *file;

void truth_member(const char *type, const char *member, size_t offset, size_t bytes,
                  const char *inner, size_t inner_bytes)
{
	fprintf(file, "member|%s|%s|%zu|%zu|%s|%zu\n", type, member, offset, bytes, inner, inner_bytes);
}

void truth_bits(const char *type, const char *member, const void *set, size_t bytes)
{
	const unsigned char *at = set;
	size_t first = 0, end = bytes;

	while (first < bytes && !at[first])
		first++;
	while (end > first && !at[end - 1])
		end--;
	truth_member(type, member, first, end - first, "", 0);
}

void truth_object(const volatile void *start, size_t count, size_t bytes, const char *type)
{
	fprintf(file, "object|%zx|%zu|%zu|%s\n", (size_t)start, count, bytes, type);
}

void truth_scalar(const volatile void *start, size_t bytes, const char *name)
{
	fprintf(file, "scalar|%zx|%zu|%s\n", (size_t)start, bytes, name);
}

/* The first that is told of is the program itself. */
static int image(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	fprintf(file, "image|%zx\n", (size_t)info->dlpi_addr);
	return 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static int next;

static void *player(void *number)
{
	for (int n = (int)(size_t)number; n < TURNS; n += 2) {
		pthread_mutex_lock(&lock);
		while (next != n)
			pthread_cond_wait(&passed, &lock);
		turn(n);
		next++;
		pthread_cond_broadcast(&passed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	const char *name = getenv("TRUTH_FILE");

	file = fopen(name ? name : "/dev/null", "w");
	if (!file)
		return 2;
	dl_iterate_phdr(image, NULL);
	prepare();
	if (getenv("TRUTH_STEP")) {
		raise(SIGUSR1);
		turn(0);
		turn(1);
		raise(SIGUSR1);
	} else {
		/* Not in this thread: what was on its stack is something else now. */
		pthread_t players[2];

		for (size_t n = 0; n < 2; n++)
			if (pthread_create(&players[n], NULL, player, (void *)n))
				return 2;
		for (size_t n = 0; n < 2; n++)
			pthread_join(players[n], NULL);
	}
	return fclose(file) ? 2 : 0;
}
