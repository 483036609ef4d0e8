// SPDX-License-Identifier: MIT OR Apache-2.0
//
// TLB shootdowns: each thread takes rights from, or unmaps, a page of an address space that all the
// others use at that moment, so that every operation interrupts them.
//
// Threads: only those share an address space. The known contention is on the call_single_data of
// each pair of CPUs and on mm_struct (mmap_lock, mm_cpumask).
#define _GNU_SOURCE
#include "workloads.h"

#include <sys/mman.h>

enum { PAGE_BYTES = 4096, READ_WRITE = PROT_READ | PROT_WRITE };

// Set by prepare: one page of each worker, readable by all.
static char *pages;

static int tlb_prepare(const struct run *run)
{
    size_t bytes = (size_t)run->threads * PAGE_BYTES;
    pages = mmap(NULL, bytes, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? failure("mmap of %zu bytes", bytes) : 0;
}

static void touch_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        (void)*(volatile char *)(pages + (size_t)i * PAGE_BYTES);
}

static int tlb_operate(struct worker *worker, uint64_t number)
{
    char *own = pages + (size_t)worker->index * PAGE_BYTES;
    touch_all(worker->run->threads);
    *(volatile char *)own = (char)number;
    if (mprotect(own, PAGE_BYTES, PROT_READ) < 0)
        return failure("mprotect(PROT_READ)");
    if (mprotect(own, PAGE_BYTES, READ_WRITE) < 0)
        return failure("mprotect(PROT_READ | PROT_WRITE)");

    char *fresh = mmap(NULL, PAGE_BYTES, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return failure("mmap of a page");
    *(volatile char *)fresh = 1;
    return munmap(fresh, PAGE_BYTES) < 0 ? failure("munmap of a page") : 0;
}

static int tlb_cleanup(const struct run *run)
{
    if (munmap(pages, (size_t)run->threads * PAGE_BYTES) < 0)
        return failure("munmap");
    return 0;
}

const struct workload tlb_workload = {
    .name = "tlb",
    .summary = "threads write-protect and unmap pages of one address space (TLB shootdowns by IPI)",
    .operation = "one page write-protected and one unmapped: two shootdowns",
    .iterations = 300,
    .warmup = 16,
    .sharing = SHARING_THREADS,
    .prepare = tlb_prepare,
    .operate = tlb_operate,
    .cleanup = tlb_cleanup,
};
