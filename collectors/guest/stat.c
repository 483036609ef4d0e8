// SPDX-License-Identifier: MIT OR Apache-2.0
//
// stat of files whose parent directories are the same for all workers.
//
// Processes. A path walk takes no reference on the parents, but one on the file's dentry at the
// end: workers pick from a few files at random, or all take the same one, so that these counts are
// the contended words.
#define _GNU_SOURCE
#include "files.h"
#include "workloads.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 16 };

// Set by prepare.
static uint32_t file_count;
static char paths[FILES_MAX][PATH_MAX];

static int prepare_files(const struct run *run, uint32_t count)
{
    file_count = count;
    static const char *const parents[] = {"a", "a/b", "a/b/c"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (run_path(run, path, "%s", parents[i]) < 0)
            return -1;
        if (mkdir(path, 0700) < 0)
            return failure("mkdir %s", path);
    }

    struct random random = random_new(run->seed, run->threads);
    for (uint32_t i = 0; i < file_count; i++) {
        if (run_path(run, paths[i], "a/b/c/%" PRIu32 "-%08" PRIx64, i, random_next(&random) >> 32) < 0)
            return -1;
        int fd = file_create(paths[i], 0);
        if (fd < 0)
            return -1;
        if (close(fd) < 0)
            return failure("close %s", paths[i]);
    }
    return 0;
}

static int stat_prepare(const struct run *run)
{
    return prepare_files(run, FILES_MAX);
}

static int stat_one_prepare(const struct run *run)
{
    return prepare_files(run, 1);
}

static int stat_operate(struct worker *worker, uint64_t number)
{
    (void)number;
    struct stat status;
    const char *path = paths[random_below(&worker->random, file_count)];
    return stat(path, &status) < 0 ? failure("stat %s", path) : 0;
}

const struct workload stat_workload = {
    .name = "stat",
    .summary = "processes stat sixteen files below the same parent directories",
    .operation = "one stat",
    .iterations = 30000,
    .warmup = 64,
    .sharing = SHARING_PROCESSES,
    .prepare = stat_prepare,
    .operate = stat_operate,
};

const struct workload stat_one_workload = {
    .name = "stat-one",
    .summary = "processes stat one file",
    .operation = "one stat",
    .iterations = 30000,
    .warmup = 64,
    .sharing = SHARING_PROCESSES,
    .prepare = stat_one_prepare,
    .operate = stat_operate,
};
