// SPDX-License-Identifier: MIT OR Apache-2.0
//
// will-it-scale open1: each worker opens and closes a file of its own, all in one directory.
//
// Threads: the known contention is on the shared files_struct (file_lock, the descriptor bitmaps)
// with that of the dentries beside it; in the process variant only the latter is left.
#define _GNU_SOURCE
#include "files.h"
#include "workloads.h"

#include <fcntl.h>
#include <unistd.h>

struct open_close {
    char path[PATH_MAX];
};

static int open_close_setup(struct worker *worker)
{
    struct open_close *own = worker->state;
    uint32_t tag = (uint32_t)random_next(&worker->random);
    if (run_path(worker->run, own->path, "file-%08x-%u", tag, worker->index) < 0)
        return -1;
    int fd = file_create(own->path, 0);
    if (fd < 0)
        return -1;
    return close(fd) < 0 ? failure("close %s", own->path) : 0;
}

static int open_close_operate(struct worker *worker, uint64_t number)
{
    (void)number;
    struct open_close *own = worker->state;
    int fd = open(own->path, O_RDWR);
    if (fd < 0)
        return failure("open %s", own->path);
    return close(fd) < 0 ? failure("close %s", own->path) : 0;
}

const struct workload open_close_workload = {
    .name = "open_close",
    .summary = "threads open and close files of their own in one directory (will-it-scale open1)",
    .operation = "one open and close",
    .iterations = 10000,
    .warmup = 64,
    .sharing = SHARING_THREADS,
    .state_bytes = sizeof(struct open_close),
    .setup = open_close_setup,
    .operate = open_close_operate,
};
