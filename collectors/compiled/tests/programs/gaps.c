/* One thread's accesses follow each other; another's have 2,000 turns of a loop between them. */
#include <pthread.h>
#include <stdio.h>

enum { SHORT = 400000, LONG = 200000, TURNS = 2000 };

static volatile long here;

static void *next_to_each_other(void *unused)
{
	for (int i = 0; i < SHORT; i++)
		here = i;
	return unused;
}

static void *far_apart(void *unused)
{
	for (int i = 0; i < LONG; i++) {
		here = i;
		for (int turn = 0; turn < TURNS; turn++)
			__asm__ volatile("" : : "r"(turn));
	}
	return unused;
}

int main(void)
{
	void *(*work[])(void *) = { next_to_each_other, far_apart };

	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, work[i], NULL);
		pthread_join(thread, NULL);
	}
	printf("last %ld\n", here);
	return 0;
}
