// SPDX-License-Identifier: MIT OR Apache-2.0
//
// will-it-scale mmap1: map 128 MB of anonymous memory and unmap it, touching nothing.
//
// Threads: the known contention is on mm_struct.mmap_lock of the one address space, with its
// waiters spinning on the optimistic_spin_node queue.
#define _GNU_SOURCE
#include "workloads.h"

#include <sys/mman.h>

static const size_t bytes = 128 << 20;

static int mmap1_operate(struct worker *worker, uint64_t number)
{
    (void)worker, (void)number;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return failure("mmap of %zu bytes", bytes);
    if (munmap(memory, bytes) < 0)
        return failure("munmap");
    return 0;
}

const struct workload mmap1_workload = {
    .name = "mmap1",
    .summary = "threads map and unmap 128 MB of anonymous memory (will-it-scale mmap1)",
    .operation = "one mmap and munmap",
    .iterations = 1500,
    .warmup = 16,
    .sharing = SHARING_THREADS,
    .operate = mmap1_operate,
};
