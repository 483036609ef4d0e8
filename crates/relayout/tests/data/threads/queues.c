/* An allocated array with a struct for each thread, which calloc puts at any multiple of 16. */
#include "threads.h"

struct queue {
	unsigned long head;
	unsigned long tail;
};

static struct queue *queues;

static void run(long number)
{
	struct queue *own = &queues[number];

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		own->head++;
		own->tail += i & 3;
	}
}

int main(int count, char **words)
{
	queues = calloc(THREADS, sizeof(*queues));
	run_threads(count, words);
	printf("%lu\n", queues[0].head + queues[3].tail);
	free(queues);
	return 0;
}
