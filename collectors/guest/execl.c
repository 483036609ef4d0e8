// SPDX-License-Identifier: MIT OR Apache-2.0
//
// UnixBench execl: a process replaces itself by exec, again and again.
//
// Processes, as there. Mail threads name it for per-CPU allocation (mm counters, since 6.2) and for
// the locks of the executable's mapping and of the page tables that go with each address space.
#define _GNU_SOURCE
#include "execl.h"

#include "files.h"
#include "marker.h"
#include "spawn.h"
#include "workloads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORKERS = 2, ITERATIONS, DONE, BOARD_FD };

static int execl_next(const char *program, uint32_t workers, uint64_t iterations, uint64_t done,
                      int board_fd)
{
    char text[4][24];
    snprintf(text[0], sizeof(text[0]), "%" PRIu32, workers);
    snprintf(text[1], sizeof(text[1]), "%" PRIu64, iterations);
    snprintf(text[2], sizeof(text[2]), "%" PRIu64, done);
    snprintf(text[3], sizeof(text[3]), "%d", board_fd);
    execl(program, program, EXECL_COMMAND, text[0], text[1], text[2], text[3], (char *)NULL);
    return failure("exec of %s", program);
}

static int execl_setup(struct worker *worker)
{
    const struct run *run = worker->run;
    if (fcntl(run->board_fd, F_SETFD, 0) < 0)
        return failure("fcntl(F_SETFD)");
    for (int i = 0; i < 4; i++)
        if (spawn_true(run->program) < 0)
            return -1;
    return 0;
}

// The worker's own copy of this executable.
static int own_program(const struct worker *worker, char path[PATH_MAX])
{
    return run_path(worker->run, path, "execl.%" PRIu32, worker->index);
}

static int copy_program(const char *from, const char *to)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return failure("open(%s)", from);
    struct stat status;
    if (fstat(source, &status) < 0)
        return failure("fstat(%s)", from);
    int copy = file_create(to, 0);
    if (copy < 0)
        return -1;
    for (off_t done = 0; done < status.st_size;) {
        if (sendfile(copy, source, &done, (size_t)(status.st_size - done)) <= 0)
            return failure("sendfile to %s", to);
    }
    if (fchmod(copy, 0700) < 0)
        return failure("fchmod(%s)", to);
    // A file that is open for writing cannot be executed.
    close(copy);
    close(source);
    return 0;
}

static int execl_own_setup(struct worker *worker)
{
    char path[PATH_MAX];
    if (own_program(worker, path) < 0 || copy_program(worker->run->program, path) < 0)
        return -1;
    return execl_setup(worker);
}

static int execl_own_operate_all(struct worker *worker)
{
    const struct run *run = worker->run;
    char path[PATH_MAX];
    if (own_program(worker, path) < 0)
        return -1;
    return execl_next(path, run->threads, run->iterations, 0, run->board_fd);
}

static int execl_operate_all(struct worker *worker)
{
    const struct run *run = worker->run;
    return execl_next(run->program, run->threads, run->iterations, 0, run->board_fd);
}

int execl_continue(char **argv)
{
    MARKER(MARKER_OPERATION);
    uint32_t workers = (uint32_t)strtoul(argv[WORKERS], NULL, 10);
    uint64_t iterations = strtoull(argv[ITERATIONS], NULL, 10);
    uint64_t done = strtoull(argv[DONE], NULL, 10) + 1;
    int board_fd = atoi(argv[BOARD_FD]);

    if (done < iterations) {
        execl_next(argv[0], workers, iterations, done, board_fd);
        // The failure is known to this process alone: it must reach the board.
        const char *reason = board_failure();
        if (board_open(board_fd) == 0)
            failure_plain("%s", reason);
        return 1;
    }
    if (workers == 0 || board_open(board_fd) < 0)
        return 1;
    worker_finish(workers, done);
    return 0;
}

const struct workload execl_workload = {
    .name = "execl",
    .summary = "each process replaces itself by exec (UnixBench execl)",
    .operation = "one exec",
    .iterations = 160,
    .sharing = SHARING_PROCESSES,
    .setup = execl_setup,
    .operate_all = execl_operate_all,
};

// The lock of one file's mappings does not hide what is behind it.
const struct workload execl_own_workload = {
    .name = "execl-own",
    .summary = "execl, with an executable file of its own for each process",
    .operation = "one exec",
    .iterations = 160,
    .sharing = SHARING_PROCESSES,
    .setup = execl_own_setup,
    .operate_all = execl_own_operate_all,
};
