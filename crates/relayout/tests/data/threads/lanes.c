/* A pool with a counter for each thread, in an array that is a member. */
#include "threads.h"

struct pool {
	int limit;
	char name[16];
#ifdef REPAIRED
	struct { _Alignas(64) long value; } done[THREADS];
#define DONE(number) pool.done[number].value
#else
	long done[THREADS];
#define DONE(number) pool.done[number]
#endif
};

static struct pool pool = { .limit = 7, .name = "pool" };

static void run(long number)
{
	for (long r = 0; r < rounds; r++) {
		meet_every(256, r);
		DONE(number)++;
		each_round();
	}
}

int main(int count, char **words)
{
	long sum = 0;

	run_threads(count, words);
	for (int i = 0; i < THREADS; i++)
		sum += DONE(i);
	printf("%s %ld\n", pool.name, sum);
	return 0;
}
