// More threads than CPUs. CPUs count in one of two members, which are on one cache line.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "marker.h"

enum { THREADS = 12, LOOPS = 1000000 };

struct counters {
    long limit;
    atomic_long requests;
    atomic_long replies;
};

static struct counters *counters;

static void *count(void *argument)
{
    for (long i = 0; i < LOOPS; i++) {
        if (sched_getcpu() % 2)
            atomic_fetch_add(&counters->requests, 1);
        else
            atomic_fetch_add(&counters->replies, 1);
        MARKER(MARKER_OPERATION);
    }
    return argument;
}

int main(void)
{
    counters = aligned_alloc(64, 64);
    counters->limit = LOOPS;
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, count, NULL))
            return 1;
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    return 0;
}
