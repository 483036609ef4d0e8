/* The partial sums of an OpenMP loop lie side by side in an array that is local to the function. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

#ifdef REPAIRED
struct sum {
	_Alignas(64) volatile double value;
};
#define VALUE(sum) ((sum).value)
#else
typedef volatile double sum_t;
#define VALUE(sum) (sum)
#endif

static double integrate(long steps)
{
#ifdef REPAIRED
	struct sum sums[THREADS] = { { 0 } };
#else
	sum_t sums[THREADS] = { 0 };
#endif
	double total = 0;

#pragma omp parallel num_threads(THREADS)
	{
		int id = omp_get_thread_num();

		for (long i = id; i < steps; i += THREADS) {
			double x = (i + 0.5) / steps;

			/* So that they take turns on a busy machine, too. */
			if (i / THREADS % 8 == 0) {
#pragma omp barrier
			}

			VALUE(sums[id]) += 4.0 / (1.0 + x * x);
		}
	}
	for (int i = 0; i < THREADS; i++)
		total += VALUE(sums[i]);
	return total / steps;
}

int main(int argc, char **argv)
{
	double pi = integrate(argc > 1 ? atol(argv[1]) : 800000);

	return pi < 3.14 || pi > 3.15;
}
