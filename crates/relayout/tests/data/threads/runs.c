/* Each thread uses a run of neighbouring elements of a static array. */
#include "threads.h"

#ifdef REPAIRED
#define RUN 32
static _Alignas(64) int cells[THREADS * RUN];
#else
#define RUN 25
static int cells[THREADS * RUN];
#endif

static void run(long number)
{
	for (long r = 0; r < rounds / RUN; r++) {
		meet_every(10, r);
		for (long i = number * RUN; i < (number + 1) * RUN; i++) {
			cells[i] += (int)(r ^ i);
			each_round();
		}
	}
}

int main(int count, char **words)
{
	long sum = 0;

	for (int i = 0; i < THREADS * RUN; i++)
		cells[i] = i;
	run_threads(count, words);
	for (int i = 0; i < THREADS * RUN; i++)
		sum += cells[i];
	printf("%ld\n", sum);
	return 0;
}
