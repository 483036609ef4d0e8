/* A producer and a consumer that count on two members of one queue: an operation for each item. They take turns, so
 * that every run has the same transfers, however busy the machine is. The lines of the output tell the layout. */
#include <pthread.h>
#include <relayout.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>

#include "queue.h"

#define LINE_OF(member) (offsetof(struct queue, member) / 64)

enum { TURNS = 500, ITEMS = 8 };

struct queue queue __attribute__((aligned(64)));
unsigned long turn __attribute__((aligned(64)));

static void work(volatile unsigned long *sum, unsigned long rest)
{
	for (int i = 0; i < TURNS; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % 2 != rest)
			sched_yield();
		for (int item = 0; item < ITEMS; item++) {
			*sum += 1;
			relayout_operation();
		}
		__atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
	}
}

static void *produce(void *unused)
{
	work(&queue.produced, 0);
	return unused;
}

static void *consume(void *unused)
{
	work(&queue.consumed, 1);
	return unused;
}

int main(void)
{
	pthread_t producer, consumer;

	pthread_create(&producer, 0, produce, 0);
	pthread_create(&consumer, 0, consume, 0);
	pthread_join(producer, 0);
	pthread_join(consumer, 0);
	printf("cost: %d\n", LINE_OF(produced) == LINE_OF(consumed) ? 2 : 1);
	printf("bytes: %zu\n", sizeof(struct queue));
	printf("items: %d\n", 2 * TURNS * ITEMS);
	return 0;
}
