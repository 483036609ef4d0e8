/* One allocation that is cut by hand, 40 bytes to a thread. */
#include <string.h>

#include "threads.h"

#define STRIDE 40

static char *arena;

static void run(long number)
{
	unsigned long *own = (unsigned long *)(arena + number * STRIDE);

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		own[0]++;
		own[2] += i & 7;
	}
}

int main(int count, char **words)
{
	arena = malloc(THREADS * STRIDE);
	memset(arena, 0, THREADS * STRIDE);
	run_threads(count, words);
	printf("%lu\n", *(unsigned long *)arena);
	free(arena);
	return 0;
}
