// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Locks of the kernel around memory and pipes: mmap_lock, which page faults read and maps write, and
// the mutex of a pipe.
#define _GNU_SOURCE
#include "locks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PAGES_MAX = 4 };

// Pages that a worker has mapped now; no pages if `start` is 0.
struct mapped_pages {
    uintptr_t start, end;
};

static struct mapped_pages *mapped_by_worker;
// Where the mappings of all workers go if the lock is broken.
static void *same_place;

static int mapping_prepare(const struct run *run)
{
    mapped_by_worker = calloc(run->threads, sizeof(*mapped_by_worker));
    if (!mapped_by_worker)
        return failure("memory for %u workers", run->threads);
    if (!mapping_lock.is_broken)
        return 0;
    same_place = mmap(NULL, PAGES_MAX * PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return same_place == MAP_FAILED ? failure("mmap") : 0;
}

static char *map_pages(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (same_place ? MAP_FIXED : 0);
    return mmap(same_place, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

// Enters the pages before it looks at those of others, as all do: of two, one sees the other.
static int enter_pages(struct worker *worker, uintptr_t start, uintptr_t end)
{
    __atomic_store_n(&mapped_by_worker[worker->index].end, end, __ATOMIC_SEQ_CST);
    __atomic_store_n(&mapped_by_worker[worker->index].start, start, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < worker->run->threads; i++) {
        struct mapped_pages *other = &mapped_by_worker[i];
        uintptr_t other_start = __atomic_load_n(&other->start, __ATOMIC_SEQ_CST);
        if (i != worker->index && other_start && other_start < end &&
            __atomic_load_n(&other->end, __ATOMIC_SEQ_CST) > start &&
            // The end belongs to this start: the pages are still there.
            __atomic_load_n(&other->start, __ATOMIC_SEQ_CST) == other_start)
            return failure_plain("mapping: workers %u and %u have pages at %#lx", worker->index, i,
                                 (unsigned long)start);
    }
    return 0;
}

// Faults each page in, and looks whether it is new, and then the worker's own.
static int use_pages(struct worker *worker, volatile char *pages, size_t bytes)
{
    char own = (char)(worker->index + 1);
    for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
        if (pages[at] != 0)
            return failure_plain("mapping: a new page of worker %u holds %d", worker->index,
                                 pages[at]);
        pages[at] = own;
    }
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        if (pages[at] != own)
            return failure_plain("mapping: a page of worker %u holds %d instead of %d",
                                 worker->index, pages[at], own);
    return 0;
}

static int mapping_use(struct worker *worker)
{
    size_t bytes = (1 + random_below(&worker->random, PAGES_MAX)) * PAGE_BYTES;
    char *pages = map_pages(bytes);
    if (pages == MAP_FAILED)
        return failure("mmap of %zu bytes", bytes);
    if (enter_pages(worker, (uintptr_t)pages, (uintptr_t)pages + bytes) < 0 ||
        use_pages(worker, pages, bytes) < 0)
        return -1;
    __atomic_store_n(&mapped_by_worker[worker->index].start, 0, __ATOMIC_SEQ_CST);
    // Others still use the same place.
    if (mapping_lock.is_broken)
        return 0;
    return munmap(pages, bytes) < 0 ? failure("munmap") : 0;
}

struct tested_lock mapping_lock = {
    .name = "mapping",
    .prepare = mapping_prepare,
    .use = mapping_use,
};

// The pipe: all write records to one pipe, and read as many. Each record comes out whole, and once.

struct pipe_record {
    uint32_t worker;
    uint32_t number; // of the worker's records
    uint32_t fill[14]; // the number, too
};

enum { FILLS = sizeof(((struct pipe_record *)0)->fill) / sizeof(uint32_t) };

// A worker's records since the last meeting.
struct sent_records {
    uint32_t sent;
    uint32_t received;
    bool was_received[OPERATIONS_A_MEETING];
};

static int pipe_ends[2];
static struct sent_records *sent_by_worker;

static int pipe_prepare(const struct run *run)
{
    sent_by_worker = calloc(run->threads, sizeof(*sent_by_worker));
    if (!sent_by_worker)
        return failure("memory for %u workers", run->threads);
    return pipe2(pipe_ends, O_CLOEXEC) < 0 ? failure("pipe") : 0;
}

static int write_bytes(const void *bytes, size_t count)
{
    ssize_t n = write(pipe_ends[1], bytes, count);
    if (n != (ssize_t)count)
        return n < 0 ? failure("write") : failure_plain("pipe: %zd of %zu bytes written", n, count);
    return 0;
}

static int send_record(struct worker *worker)
{
    struct pipe_record record = {
        .worker = worker->index,
        .number = sent_by_worker[worker->index].sent++,
    };
    for (int i = 0; i < FILLS; i++)
        record.fill[i] = record.number;
    if (!pipe_lock.is_broken)
        return write_bytes(&record, sizeof(record));
    size_t half = sizeof(record) / 2;
    if (write_bytes(&record, half) < 0)
        return -1;
    return write_bytes((char *)&record + half, half);
}

static bool is_whole(const struct pipe_record *record, const struct run *run)
{
    bool is_whole = record->worker < run->threads && record->number < OPERATIONS_A_MEETING;
    for (int i = 0; i < FILLS; i++)
        is_whole = is_whole && record->fill[i] == record->number;
    return is_whole;
}

static int pipe_use(struct worker *worker)
{
    if (send_record(worker) < 0)
        return -1;
    // Each has written before it reads: there is a record for each.
    struct pipe_record record;
    ssize_t n = read(pipe_ends[0], &record, sizeof(record));
    if (n < 0)
        return failure("read of a pipe");
    if (n != sizeof(record) || !is_whole(&record, worker->run))
        return failure_plain("pipe: worker %u read a record that is not whole", worker->index);
    struct sent_records *sender = &sent_by_worker[record.worker];
    if (__atomic_exchange_n(&sender->was_received[record.number], true, __ATOMIC_RELAXED))
        return failure_plain("pipe: record %u of worker %u was read twice", record.number,
                             record.worker);
    __atomic_add_fetch(&sender->received, 1, __ATOMIC_RELAXED);
    return 0;
}

static int pipe_settle(const struct run *run)
{
    int left;
    if (ioctl(pipe_ends[0], FIONREAD, &left) < 0)
        return failure("ioctl(FIONREAD)");
    if (left != 0)
        return failure_plain("pipe: %d bytes are left", left);
    for (uint32_t i = 0; i < run->threads; i++) {
        struct sent_records *sender = &sent_by_worker[i];
        if (sender->received != sender->sent)
            return failure_plain("pipe: %u of %u records of worker %u were read", sender->received,
                                 sender->sent, i);
        memset(sender, 0, sizeof(*sender));
    }
    return 0;
}

struct tested_lock pipe_lock = {
    .name = "pipe",
    .prepare = pipe_prepare,
    .use = pipe_use,
    .settle = pipe_settle,
};
