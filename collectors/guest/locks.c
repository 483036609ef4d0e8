// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All workers use locks of user space and of the kernel, and check that each lock keeps the others out.
//
// Threads, so that they share an address space and a file table. The stock kernel has no module
// locktorture; a lock of the kernel is checked by what a program can see of the data that it guards.
// The window of a recording may end at any time, so violations are looked for in each operation, and
// in meetings of all workers every few operations: then nobody is at work, and all counts must agree.
#define _GNU_SOURCE
#include "locks.h"

#include "workloads.h"

#include <string.h>

static struct tested_lock *const locks[] = {
    &mutex_lock, &ticket_lock, &mapping_lock, &pipe_lock, &append_lock, &descriptor_lock,
    // Last: used by all workers at once.
    &barrier_lock,
};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]), LOCKS_BY_CHANCE = LOCKS - 1 };

static int break_lock(const char *name)
{
    for (int i = 0; i < LOCKS; i++) {
        if (strcmp(locks[i]->name, name) == 0) {
            locks[i]->is_broken = true;
            return 0;
        }
    }
    return failure_plain("no lock named %s", name);
}

static int locks_prepare(const struct run *run)
{
    if (run->broken_lock && break_lock(run->broken_lock) < 0)
        return -1;
    for (int i = 0; i < LOCKS; i++)
        if (locks[i]->prepare && locks[i]->prepare(run) < 0)
            return -1;
    return 0;
}

static int settle_all(const struct run *run)
{
    for (int i = 0; i < LOCKS; i++)
        if (locks[i]->settle && locks[i]->settle(run) < 0)
            return -1;
    return 0;
}

static int locks_operate(struct worker *worker, uint64_t number)
{
    if (number % OPERATIONS_A_MEETING == OPERATIONS_A_MEETING - 1)
        return barrier_meet(worker, settle_all);
    return locks[random_below(&worker->random, LOCKS_BY_CHANCE)]->use(worker);
}

const struct workload locks_workload = {
    .name = "locks",
    .summary = "threads take locks of user space and of the kernel, and check that each keeps "
               "the others out",
    .operation = "one use of a lock, with its check",
    .iterations = 6000,
    // No warm-up: a broken lock is noticed in the window.
    .sharing = SHARING_THREADS,
    .has_locks = true,
    .prepare = locks_prepare,
    .operate = locks_operate,
};
