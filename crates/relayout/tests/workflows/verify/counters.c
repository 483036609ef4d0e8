/*
 * Two threads, each with a counter of its own: on one cache line, or, with -DAPART, 128 bytes apart.
 * Prints how many rounds each thread does in a second, as text and as JSON.
 *
 *     counters ROUNDS [ADDS]
 *
 * A round adds to the counter ADDS times.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef APART
#define ALIGNED _Alignas(128)
#else
#define ALIGNED
#endif

static struct {
	_Alignas(128) atomic_ulong a;
	ALIGNED atomic_ulong b;
} counters;
static unsigned long rounds, adds;
static double rates[2];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void *count(void *arg)
{
	long which = (long)arg;
	atomic_ulong *counter = which ? &counters.b : &counters.a;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(which, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	double start = now();
	for (unsigned long i = 0; i < rounds * adds; i++)
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	rates[which] = rounds / (now() - start);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	adds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	pthread_create(&other, NULL, count, (void *)1L);
	count((void *)0L);
	pthread_join(other, NULL);
	printf("thread A: %.0f ops/s\nthread B: %.0f ops/s\n", rates[0], rates[1]);
	printf("{\"ops\": {\"A\": %.0f, \"B\": %.0f}}\n", rates[0], rates[1]);
	return counters.a + counters.b == 2 * rounds * adds ? 0 : 1;
}
