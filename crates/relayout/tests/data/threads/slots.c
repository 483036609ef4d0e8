/* An array of unions, and an allocated array of structs with one member. */
#include "threads.h"

union slot {
	unsigned long word;
	double real;
};

struct tally {
	unsigned long count;
};

static union slot slots[THREADS];
static struct tally *tallies;

static void run(long number)
{
	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		slots[number].word += i;
		tallies[number].count++;
	}
}

int main(int count, char **words)
{
	tallies = malloc(THREADS * sizeof(struct tally));
	for (int i = 0; i < THREADS; i++)
		tallies[i].count = 0;
	run_threads(count, words);
	printf("%lu\n", slots[0].word + tallies[1].count);
	free(tallies);
	return 0;
}
