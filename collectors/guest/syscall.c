// SPDX-License-Identifier: MIT OR Apache-2.0
//
// UnixBench syscall (mode "mix"): each worker duplicates and closes a descriptor, and makes three calls that
// do next to nothing.
//
// Processes. All of them inherited the descriptor, so that they count references on one struct file.
#define _GNU_SOURCE
#include "files.h"
#include "workloads.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Set by prepare.
static int shared_fd;

static int syscall_prepare(const struct run *run)
{
    char path[PATH_MAX];
    if (run_path(run, path, "shared") < 0)
        return -1;
    shared_fd = file_create(path, 0);
    return shared_fd < 0 ? -1 : 0;
}

static int syscall_operate(struct worker *worker, uint64_t number)
{
    (void)worker;
    (void)number;
    int fd = dup(shared_fd);
    if (fd < 0)
        return failure("dup");
    if (close(fd) < 0)
        return failure("close of a duplicate");
    syscall(SYS_getpid);
    getuid();
    umask(022);
    return 0;
}

static int syscall_cleanup(const struct run *run)
{
    (void)run;
    return close(shared_fd) < 0 ? failure("close") : 0;
}

const struct workload syscall_workload = {
    .name = "syscall",
    .summary = "processes duplicate and close a descriptor of one open file (UnixBench syscall)",
    .operation = "one dup, close, getpid, getuid and umask",
    .iterations = 30000,
    .warmup = 64,
    .sharing = SHARING_PROCESSES,
    .prepare = syscall_prepare,
    .operate = syscall_operate,
    .cleanup = syscall_cleanup,
};
