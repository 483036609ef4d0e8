/* Arrays of numbers, one of them static, one allocated, with an element for each thread. */
#include "threads.h"

static unsigned long counters[8];
static unsigned long *allocated;

static void run(long number)
{
	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		counters[number]++;
		allocated[number] += i & 63;
	}
}

int main(int count, char **words)
{
	allocated = calloc(8, sizeof(*allocated));
	run_threads(count, words);
	printf("%lu\n", counters[0] + allocated[3]);
	free(allocated);
	return 0;
}
