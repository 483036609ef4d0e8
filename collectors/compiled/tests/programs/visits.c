/* Two threads on one line: each adds to a word of its own by compare-and-exchange, fails to exchange a third, and
 * then makes a number of accesses elsewhere. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout.h"

/* The threads meet in every eighth round, so that they take turns on a busy machine too. */
enum { ROUNDS = 9000, ROUNDS_APART = 8 };

static struct {
	long own[2];
	long never;
} shared __attribute__((aligned(64)));
/* On pages of their own: what lies beside a contended line is logged, too, and the log is bounded. */
static volatile long elsewhere[2][512] __attribute__((aligned(4096)));
static pthread_barrier_t both;
static long turns __attribute__((aligned(64)));

static void *work(void *argument)
{
	long number = (long)argument;

	for (long i = 0; i < ROUNDS; i++) {
		long before = i, absent = 1;

		if (i % ROUNDS_APART == 0)
			pthread_barrier_wait(&both);
		__atomic_compare_exchange_n(&shared.own[number], &before, i + 1, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		__atomic_compare_exchange_n(&shared.never, &absent, 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		for (long n = 0; n < turns; n++)
			elsewhere[number][0] = n;
		relayout_operation();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	turns = argc > 1 ? atol(argv[1]) : 1;
	printf("shared %p\n", (void *)&shared);
	fflush(stdout);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, work, (void *)1);
	work(NULL);
	pthread_join(thread, NULL);
	return shared.own[0] == ROUNDS && shared.own[1] == ROUNDS && shared.never == 0 ? 0 : 1;
}
