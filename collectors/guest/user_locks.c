// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Locks in user space: a mutex and a barrier that sleep in futexes, and a spin lock with tickets.
#define _GNU_SOURCE
#include "futex.h"
#include "locks.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

enum {
    // Loop turns within a critical section, at the most.
    INSIDE_TURNS = 64,
    // One of so many workers gives its CPU away within a critical section.
    INSIDE_YIELDS = 4,
    // Turns after which a spinning worker lets others run: the one inside may not have a CPU.
    SPIN_TURNS = 1000,
};

// A count that is not atomic, behind a lock.
struct guarded_count {
    uint32_t inside; // number of the worker that has the lock, plus 1
    uint64_t entries;
    uint64_t *entries_by_worker;
};

static struct guarded_count mutex_count, ticket_count;

static int prepare_count(struct guarded_count *count, const struct run *run)
{
    count->entries_by_worker = calloc(run->threads, sizeof(*count->entries_by_worker));
    return count->entries_by_worker ? 0 : failure("memory for %u workers", run->threads);
}

// Volatile: another worker that is inside must be seen, and what it changes.
static int enter_section(volatile struct guarded_count *count, struct worker *worker,
                         const char *lock)
{
    uint32_t own = worker->index + 1;
    uint32_t other = count->inside;
    count->inside = own;
    uint64_t entries = count->entries;
    for (uint32_t turns = random_below(&worker->random, INSIDE_TURNS); turns > 0; turns--)
        __asm__ volatile("");
    if (random_below(&worker->random, INSIDE_YIELDS) == 0)
        sched_yield();
    count->entries = entries + 1;
    count->entries_by_worker[worker->index]++;
    if (other == 0)
        other = count->inside == own ? 0 : count->inside;
    count->inside = 0;
    if (other)
        return failure_plain("%s: workers %u and %u have it at once", lock, own - 1, other - 1);
    return 0;
}

static int settle_count(const struct guarded_count *count, const struct run *run, const char *lock)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->threads; i++)
        sum += count->entries_by_worker[i];
    if (sum != count->entries)
        return failure_plain("%s: %llu entries were counted of %llu", lock,
                             (unsigned long long)count->entries, (unsigned long long)sum);
    return 0;
}

// The mutex: 0 free, 1 taken, 2 taken and somebody may sleep.

static uint32_t mutex_word;

static void take_mutex(void)
{
    uint32_t seen = 0;
    if (__atomic_compare_exchange_n(&mutex_word, &seen, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&mutex_word, 2, __ATOMIC_ACQUIRE) != 0)
        futex_wait(&mutex_word, 2, NULL);
}

static void release_mutex(void)
{
    if (__atomic_exchange_n(&mutex_word, 0, __ATOMIC_RELEASE) == 2)
        futex_wake(&mutex_word, 1);
}

static int mutex_prepare(const struct run *run)
{
    return prepare_count(&mutex_count, run);
}

static int mutex_use(struct worker *worker)
{
    if (mutex_lock.is_broken)
        return enter_section(&mutex_count, worker, "mutex");
    take_mutex();
    int status = enter_section(&mutex_count, worker, "mutex");
    release_mutex();
    return status;
}

static int mutex_settle(const struct run *run)
{
    return settle_count(&mutex_count, run, "mutex");
}

struct tested_lock mutex_lock = {
    .name = "mutex",
    .prepare = mutex_prepare,
    .use = mutex_use,
    .settle = mutex_settle,
};

// The spin lock: whose ticket is served has it.

static uint32_t next_ticket, served_ticket;

static void relax_cpu(void)
{
#if defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("pause" ::: "memory");
#endif
}

static void take_ticket(void)
{
    uint32_t own = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_RELAXED);
    for (uint32_t turns = 1; __atomic_load_n(&served_ticket, __ATOMIC_ACQUIRE) != own; turns++) {
        relax_cpu();
        if (turns % SPIN_TURNS == 0)
            sched_yield();
    }
}

static void serve_next_ticket(void)
{
    __atomic_store_n(&served_ticket, served_ticket + 1, __ATOMIC_RELEASE);
}

static int ticket_prepare(const struct run *run)
{
    return prepare_count(&ticket_count, run);
}

static int ticket_use(struct worker *worker)
{
    if (ticket_lock.is_broken)
        return enter_section(&ticket_count, worker, "ticket");
    take_ticket();
    int status = enter_section(&ticket_count, worker, "ticket");
    serve_next_ticket();
    return status;
}

static int ticket_settle(const struct run *run)
{
    return settle_count(&ticket_count, run, "ticket");
}

struct tested_lock ticket_lock = {
    .name = "ticket",
    .prepare = ticket_prepare,
    .use = ticket_use,
    .settle = ticket_settle,
};

// The barrier.

static uint32_t barrier_round, barrier_arrived;
static uint32_t *meetings_by_worker;

static int barrier_prepare(const struct run *run)
{
    meetings_by_worker = calloc(run->threads, sizeof(*meetings_by_worker));
    return meetings_by_worker ? 0 : failure("memory for %u workers", run->threads);
}

static void wait_for_others(uint32_t round)
{
    while (__atomic_load_n(&barrier_round, __ATOMIC_ACQUIRE) == round)
        futex_wait(&barrier_round, round, NULL);
}

int barrier_meet(struct worker *worker, int (*settle_all)(const struct run *run))
{
    const struct run *run = worker->run;
    uint32_t own = __atomic_add_fetch(&meetings_by_worker[worker->index], 1, __ATOMIC_RELEASE);
    uint32_t round = __atomic_load_n(&barrier_round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&barrier_arrived, 1, __ATOMIC_ACQ_REL) == run->threads) {
        barrier_arrived = 0;
        int status = barrier_lock.is_broken ? 0 : settle_all(run);
        __atomic_store_n(&barrier_round, round + 1, __ATOMIC_RELEASE);
        futex_wake(&barrier_round, INT_MAX);
        if (status < 0)
            return -1;
    } else if (!barrier_lock.is_broken) {
        wait_for_others(round);
    }
    for (uint32_t i = 0; i < run->threads; i++) {
        uint32_t others = __atomic_load_n(&meetings_by_worker[i], __ATOMIC_ACQUIRE);
        // One may have left and come again since; nobody can be behind.
        if (others - own > 1)
            return failure_plain("barrier: worker %u left meeting %u, and worker %u came to %u",
                                 worker->index, own, i, others);
    }
    return 0;
}

struct tested_lock barrier_lock = {
    .name = "barrier",
    .prepare = barrier_prepare,
};
