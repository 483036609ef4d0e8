// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files created, written, renamed and unlinked in a few directories that all workers use.
//
// Processes: file tables stay apart, so that what is shared is the file system (directory inodes'
// rw_semaphore, dentries, the superblock's counters and inode list, the rename lock).
#define _GNU_SOURCE
#include "workloads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORIES = 4, FILE_BYTES = 4096 };

static int tmpfs_prepare(const struct run *run)
{
    for (int i = 0; i < DIRECTORIES; i++) {
        char path[PATH_MAX];
        if (run_path(run, path, "d%d", i) < 0)
            return -1;
        if (mkdir(path, 0700) < 0)
            return failure("mkdir %s", path);
    }
    return 0;
}

static int create_and_write(const char *path)
{
    static const char content[FILE_BYTES];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return failure("create %s", path);
    ssize_t n = write(fd, content, sizeof(content));
    if (n != FILE_BYTES)
        return n < 0 ? failure("write %s", path)
                     : failure_plain("write %s: %zd of %d bytes", path, n, FILE_BYTES);
    return close(fd) < 0 ? failure("close %s", path) : 0;
}

static int tmpfs_operate(struct worker *worker, uint64_t number)
{
    char old[PATH_MAX], new[PATH_MAX];
    uint32_t from = random_below(&worker->random, DIRECTORIES);
    uint32_t to = random_below(&worker->random, DIRECTORIES);
    uint32_t tag = (uint32_t)random_next(&worker->random);
    if (run_path(worker->run, old, "d%u/%08x-%u-%" PRIu64, from, tag, worker->index, number) < 0 ||
        run_path(worker->run, new, "d%u/%08x-%u-%" PRIu64 "-new", to, tag, worker->index,
                 number) < 0)
        return -1;

    if (create_and_write(old) < 0)
        return -1;
    if (rename(old, new) < 0)
        return failure("rename %s to %s", old, new);
    return unlink(new) < 0 ? failure("unlink %s", new) : 0;
}

const struct workload tmpfs_workload = {
    .name = "tmpfs",
    .summary = "processes create, write, rename and unlink files in four shared directories",
    .operation = "one file created, written (4 KB), renamed and unlinked",
    .iterations = 1000,
    .warmup = 8,
    .sharing = SHARING_PROCESSES,
    .prepare = tmpfs_prepare,
    .operate = tmpfs_operate,
};
