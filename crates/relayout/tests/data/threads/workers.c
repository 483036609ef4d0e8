/* A static array with a struct for each thread: three of them share a line. */
#include "threads.h"

struct worker {
	unsigned long done;
	unsigned long bytes;
	int id;
	int state;
};

static struct worker w[THREADS];

static void run(long number)
{
	struct worker *own = &w[number];

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		own->done++;
		own->bytes += i & 63;
	}
}

int main(int count, char **words)
{
	run_threads(count, words);
	printf("%lu\n", w[0].done + w[3].bytes);
	return 0;
}
