// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A new mount namespace per operation, with a few tmpfs mounted in it and unmounted in one go, which
// frees the namespace before: what starting containers does.
//
// Processes, since a namespace belongs to a process' file system state. Every mount has per-CPU
// counters and every super block per-CPU locks and counters, so each operation allocates and frees
// per-CPU objects: for the half a dozen mounts of the guest that are copied, and for each tmpfs. The
// known contention is on pcpu_chunk, and on the mount and namespace locks.
#define _GNU_SOURCE
#include "workloads.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNT_POINT "/tmp/relayout-mntns"
#define INNER_POINT MOUNT_POINT "/inner"

// A container mounts about as many: /proc, /dev, /dev/pts, /dev/shm, /dev/mqueue, /sys, /run, /tmp.
enum { MOUNTS = 8 };

static int mntns_prepare(const struct run *run)
{
    (void)run;
    if (unshare(CLONE_NEWNS) < 0)
        return failure("unshare(CLONE_NEWNS)");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return failure("making all mounts private");
    return mkdir(MOUNT_POINT, 0700) < 0 ? failure("mkdir " MOUNT_POINT) : 0;
}

static int mntns_operate(struct worker *worker, uint64_t number)
{
    (void)worker, (void)number;
    if (unshare(CLONE_NEWNS) < 0)
        return failure("unshare(CLONE_NEWNS)");
    if (mount("tmpfs", MOUNT_POINT, "tmpfs", 0, NULL) < 0)
        return failure("mount tmpfs on " MOUNT_POINT);
    if (mkdir(INNER_POINT, 0700) < 0)
        return failure("mkdir " INNER_POINT);
    for (int i = 1; i < MOUNTS; i++)
        if (mount("tmpfs", INNER_POINT, "tmpfs", 0, NULL) < 0)
            return failure("mount tmpfs on " INNER_POINT);
    // All of them in one go, as a container's root file system goes.
    return umount2(MOUNT_POINT, MNT_DETACH) < 0 ? failure("umount " MOUNT_POINT) : 0;
}

static int mntns_cleanup(const struct run *run)
{
    (void)run;
    return rmdir(MOUNT_POINT) < 0 ? failure("rmdir " MOUNT_POINT) : 0;
}

const struct workload mntns_workload = {
    .name = "mntns",
    .summary = "processes unshare their mount namespace and mount tmpfs in it "
               "(per-CPU allocation)",
    .operation = "one unshare(CLONE_NEWNS) with 8 tmpfs mounted, and unmounted at once",
    .iterations = 100,
    .warmup = 4,
    .sharing = SHARING_PROCESSES,
    .prepare = mntns_prepare,
    .operate = mntns_operate,
    .cleanup = mntns_cleanup,
};
