// More threads than CPUs. CPUs count in one of two members, which are on one cache line.
//
// Stacks and counters are a power of two apart, as allocators place large ones.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "marker.h"

enum { THREADS = 12, LOOPS = 1000000, STACK = 1 << 20, PAGE = 4096 };

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
    char *memory = mmap(NULL, (THREADS + 2) * (long)STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    char *stacks = memory + STACK - (long)memory % STACK;
    // In the last page, where each stack has its thread's variables.
    counters = (struct counters *)(stacks + THREADS * STACK + STACK - PAGE);
    counters->limit = LOOPS;
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks + n * STACK, STACK);
        if (pthread_create(&threads[n], &attributes, count, NULL))
            return 1;
    }
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    return 0;
}
