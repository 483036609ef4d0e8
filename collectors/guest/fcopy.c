// SPDX-License-Identifier: MIT OR Apache-2.0
//
// UnixBench File Copy, 1024-byte buffer, 2000 blocks: read from one file, write to another.
//
// Processes that all copy between the same two files, each with its own offsets: UnixBench 5.1.3
// gave the parallel copies one pair of names, and the contention known from it (osq_lock under the
// inode's rw_semaphore) is that of many writers of one file.
#define _GNU_SOURCE
#include "files.h"
#include "workloads.h"

#include <fcntl.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1024, BLOCKS = 2000 };

struct fcopy {
    int from, to;
    char block[BLOCK_BYTES];
};

static int fcopy_prepare(const struct run *run)
{
    static const char *const names[] = {"from", "to"};
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        if (run_path(run, path, "%s", names[i]) < 0)
            return -1;
        int fd = file_create(path, 0);
        if (fd < 0)
            return -1;
        static const char block[BLOCK_BYTES];
        for (int n = 0; n < BLOCKS; n++)
            if (write(fd, block, sizeof(block)) != sizeof(block))
                return failure("write %s", path);
        if (close(fd) < 0)
            return failure("close %s", path);
    }
    return 0;
}

static int fcopy_open(const struct run *run, const char *name, int flags)
{
    char path[PATH_MAX];
    if (run_path(run, path, "%s", name) < 0)
        return -1;
    int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? failure("open %s", path) : fd;
}

static int fcopy_setup(struct worker *worker)
{
    struct fcopy *own = worker->state;
    own->from = fcopy_open(worker->run, "from", O_RDONLY);
    if (own->from < 0)
        return -1;
    own->to = fcopy_open(worker->run, "to", O_RDWR);
    return own->to < 0 ? -1 : 0;
}

static int fcopy_operate(struct worker *worker, uint64_t number)
{
    struct fcopy *own = worker->state;
    if (number > 0 && number % BLOCKS == 0)
        if (lseek(own->from, 0, SEEK_SET) < 0 || lseek(own->to, 0, SEEK_SET) < 0)
            return failure("lseek");
    ssize_t n = read(own->from, own->block, BLOCK_BYTES);
    if (n != BLOCK_BYTES)
        return n < 0 ? failure("read") : failure_plain("read: %zd of %d bytes", n, BLOCK_BYTES);
    n = write(own->to, own->block, BLOCK_BYTES);
    if (n != BLOCK_BYTES)
        return n < 0 ? failure("write") : failure_plain("write: %zd of %d bytes", n, BLOCK_BYTES);
    return 0;
}

static int fcopy_teardown(struct worker *worker)
{
    struct fcopy *own = worker->state;
    if (close(own->from) < 0 || close(own->to) < 0)
        return failure("close");
    return 0;
}

const struct workload fcopy_workload = {
    .name = "fcopy",
    .summary = "processes copy between the same two files in 1024-byte blocks "
               "(UnixBench File Copy)",
    .operation = "one block read and written",
    .iterations = 12000,
    .warmup = 64,
    .sharing = SHARING_PROCESSES,
    .state_bytes = sizeof(struct fcopy),
    .prepare = fcopy_prepare,
    .setup = fcopy_setup,
    .operate = fcopy_operate,
    .teardown = fcopy_teardown,
};
