// Threads count up variables of `main` that lambdas capture, or that `std::ref` passes on.
#include <cstdlib>
#include <functional>
#include <pthread.h>
#include <thread>

#ifdef REPAIRED
#define OWN_LINE alignas(64)
#else
#define OWN_LINE
#endif

// The threads wait for each other, so that they take turns on a busy machine, too.
static pthread_barrier_t together;

static void count(volatile long &number, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		if (i % 8 == 0)
			pthread_barrier_wait(&together);
		number = number + 1;
	}
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? std::atol(argv[1]) : 20000;
	OWN_LINE volatile long hits = 0;
	OWN_LINE volatile long misses = 0;
	OWN_LINE char behind = 0;
	pthread_barrier_init(&together, nullptr, 2);
	std::thread first([&hits, rounds] {
		for (long i = 0; i < rounds; i++) {
			if (i % 8 == 0)
				pthread_barrier_wait(&together);
			hits = hits + 1;
		}
	});
	std::thread second(count, std::ref(misses), rounds);
	first.join();
	second.join();
	return hits + misses + behind != 2 * rounds;
}
