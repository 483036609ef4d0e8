/* One table in allocated memory: a thread counts in it what the others look up by it. */
#include "threads.h"

#include "before.h"

struct table {
	unsigned long count;
	unsigned long *buckets;
	unsigned long mask;
};

static struct table *table;

static void run(long number)
{
	unsigned long sum = 0;

	for (long i = 0; i < rounds; i++) {
		take_turns(i);
		each_round();
		if (number == 0)
			table->count++;
		else
			sum += table->buckets[i & table->mask];
	}
	kept = (void *)sum;
}

int main(int count, char **words)
{
	allocate_before(count, words);
	table = malloc(sizeof(*table));
	table->count = 0;
	table->buckets = calloc(1024, sizeof(*table->buckets));
	table->mask = 1023;
	run_threads(count, words);
	printf("%lu\n", table->count);
	return 0;
}
