// Two threads count in neighbouring slots, which is all that an operation waits for. Two others fight over a line of their own,
// and no operation depends on it.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "marker.h"

#ifdef APART
#define OWN_LINE __attribute__((aligned(64)))
#else
#define OWN_LINE
#endif

enum { THREADS = 4, WORK = 100 };

struct slot {
    volatile long count OWN_LINE;
    long limit;
};

struct quarrel {
    volatile long turns;
} __attribute__((aligned(64)));

static struct slot slots[2] __attribute__((aligned(64)));
static struct quarrel quarrel;
static pthread_barrier_t ready;

static void *work(void *argument)
{
    long n = (long)argument;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(n, &cpu);
    sched_setaffinity(0, sizeof(cpu), &cpu);
    pthread_barrier_wait(&ready);
    if (n == 0)
        MARKER(MARKER_START);
    while (n >= 2)
        __atomic_fetch_add(&quarrel.turns, 1, __ATOMIC_RELAXED);
    for (;;) {
        __atomic_fetch_add(&slots[n].count, 1, __ATOMIC_RELAXED);
        for (int turn = 0; turn < WORK; turn++)
            __asm__ volatile("" : : "r"(turn));
        MARKER(MARKER_OPERATION);
    }
    return argument;
}

int main(void)
{
    pthread_barrier_init(&ready, 0, THREADS);
    for (long n = 1; n < THREADS; n++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, (void *)n))
            return 1;
    }
    work(0);
}
