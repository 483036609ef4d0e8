/* Threads of the array programs: each runs run(its number) until all have done their rounds. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static long rounds = 200000;
static pthread_barrier_t together;

/* Makes the compiler load and store memory in each round. */
#define each_round() __asm__ volatile("" ::: "memory")

/* Waits for the other threads now and then, so that all use their memory at the same time on a busy machine
 * too. Each thread passes the same numbers. */
#define meet_every(rounds_apart, round) \
	((round) % (rounds_apart) == 0 ? (void)pthread_barrier_wait(&together) : (void)0)

static void run(long number);

static void *begin(void *number)
{
	pthread_barrier_wait(&together);
	run((long)number);
	return NULL;
}

static void run_threads(int count, char **words)
{
	pthread_t threads[THREADS];

	if (count > 1)
		rounds = atol(words[1]);
	pthread_barrier_init(&together, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, begin, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#endif
