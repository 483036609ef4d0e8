/* Copies and fills of structs, which compilers make by string instructions or by calls. Each thread
 * makes 1,000 rounds. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 1000 };

struct page {
	char bytes[4096];
};

static struct page source __attribute__((aligned(4096)));
static struct page copy __attribute__((aligned(4096)));
static struct page filled __attribute__((aligned(4096)));
static struct page cleared __attribute__((aligned(4096)));
static pthread_barrier_t turn;

__attribute__((noinline)) static void copy_struct(struct page *to, const struct page *from)
{
	*to = *from;
}

__attribute__((noinline)) static void fill_memory(struct page *to)
{
	memset(to, 7, sizeof *to);
}

__attribute__((noinline)) static void clear_struct(struct page *to)
{
	*to = (struct page){ { 0 } };
}

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		copy_struct(&copy, &source);
		fill_memory(&filled);
		clear_struct(&cleared);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	pthread_barrier_init(&turn, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("source %lu\ncopy %lu\nfilled %lu\ncleared %lu\n", (unsigned long)&source,
	       (unsigned long)&copy, (unsigned long)&filled, (unsigned long)&cleared);
	printf("bytes %d\n", copy.bytes[4095] + filled.bytes[4095] + cleared.bytes[4095]);
	return 0;
}
