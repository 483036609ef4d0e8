/* Arrays of types without a tag: one has a typedef, the other no name at all. */
#include "threads.h"

typedef struct {
	unsigned long hits;
	unsigned long misses;
} cache_stats;

static cache_stats stats[64];
static struct {
	unsigned long sent;
	unsigned int errors;
} ports[THREADS];

static void run(long number)
{
	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		stats[number].hits++;
		stats[number].misses += i & 1;
		ports[number].sent++;
	}
}

int main(int count, char **words)
{
	run_threads(count, words);
	printf("%lu\n", stats[0].hits + ports[1].sent);
	return 0;
}
