/* Threads count up elements of an array on the stack of the function that starts them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

#ifdef REPAIRED
#define STRIDE 8
#else
#define STRIDE 1
#endif

static long rounds;
/* The threads wait for each other, so that they take turns on a busy machine, too. */
static pthread_barrier_t together;

static void *work(void *argument)
{
	volatile long *count = argument;

	for (long i = 0; i < rounds; i++) {
		if (i % 8 == 0)
			pthread_barrier_wait(&together);
		(*count)++;
	}
	return NULL;
}

static long count_all(void)
{
	long counts[THREADS * STRIDE];
	pthread_t threads[THREADS];
	long total = 0;

	for (int i = 0; i < THREADS; i++)
		counts[i * STRIDE] = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &counts[i * STRIDE]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		total += counts[i * STRIDE];
	return total;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atol(argv[1]) : 20000;
	pthread_barrier_init(&together, NULL, THREADS);
	return count_all() != THREADS * rounds;
}
