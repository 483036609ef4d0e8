/* A record for each thread, from one malloc each: neighbours share lines. */
#include "threads.h"

#include "before.h"

struct record {
	unsigned long turns;
	struct record *next;
};

static struct record *records[THREADS];

static void run(long number)
{
	struct record *own = records[number];

	for (long i = 0; i < rounds; i++) {
		take_turns(i);
		each_round();
		own->turns++;
	}
}

int main(int count, char **words)
{
	allocate_before(count, words);
	for (long i = 0; i < THREADS; i++) {
		records[i] = malloc(sizeof(*records[i]));
		records[i]->turns = 0;
		records[i]->next = i > 0 ? records[i - 1] : NULL;
	}
	run_threads(count, words);
	printf("%lu\n", records[0]->turns);
	return 0;
}
