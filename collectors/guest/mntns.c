// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A new mount namespace per operation, which frees the one before: what starting containers does.
//
// Processes, since a namespace belongs to a process' file system state. Every mount of a namespace
// has per-CPU counters, so each operation allocates and frees as many per-CPU objects as there are
// mounts; a few are added to those of the guest. The known contention is on pcpu_chunk, then on the
// mount and namespace locks.
#define _GNU_SOURCE
#include "workloads.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { MOUNTS = 24 };

static int mntns_prepare(const struct run *run)
{
    if (unshare(CLONE_NEWNS) < 0)
        return failure("unshare(CLONE_NEWNS)");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return failure("making all mounts private");
    for (int i = 0; i < MOUNTS; i++) {
        char path[PATH_MAX];
        if (run_path(run, path, "mount-%d", i) < 0)
            return -1;
        if (mkdir(path, 0700) < 0)
            return failure("mkdir %s", path);
        if (mount("tmpfs", path, "tmpfs", 0, NULL) < 0)
            return failure("mount tmpfs on %s", path);
    }
    return 0;
}

static int mntns_operate(struct worker *worker, uint64_t number)
{
    (void)worker, (void)number;
    return unshare(CLONE_NEWNS) < 0 ? failure("unshare(CLONE_NEWNS)") : 0;
}

static int mntns_cleanup(const struct run *run)
{
    for (int i = 0; i < MOUNTS; i++) {
        char path[PATH_MAX];
        if (run_path(run, path, "mount-%d", i) < 0)
            return -1;
        if (umount(path) < 0)
            return failure("umount %s", path);
    }
    return 0;
}

const struct workload mntns_workload = {
    .name = "mntns",
    .summary = "processes unshare their mount namespace, freeing the one before "
               "(per-CPU allocation)",
    .operation = "one unshare(CLONE_NEWNS)",
    .iterations = 300,
    .warmup = 4,
    .sharing = SHARING_PROCESSES,
    .prepare = mntns_prepare,
    .operate = mntns_operate,
    .cleanup = mntns_cleanup,
};
