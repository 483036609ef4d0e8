/* Each thread reads its element's limit in every round, and stores to its count now and then: the
 * limit is hardly ever stored to, and loses its line to the neighbours' counts. */
#include "threads.h"

struct budget {
	unsigned long limit;
	unsigned long count;
};

static struct budget budgets[THREADS];

static void run(long number)
{
	struct budget *own = &budgets[number];

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		if (i % 8 == 0 && own->count < own->limit)
			own->count++;
		each_round();
		if (own->limit == 0)
			return;
	}
}

int main(int count, char **words)
{
	for (int i = 0; i < THREADS; i++)
		budgets[i].limit = 1ul << 40;
	run_threads(count, words);
	printf("%lu\n", budgets[0].count);
	return 0;
}
