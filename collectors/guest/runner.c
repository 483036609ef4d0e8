// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "runner.h"

#include "board.h"
#include "files.h"
#include "marker.h"
#include "pin.h"
#include "report.h"
#include "workers.h"
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int fill_in(struct run *run, const struct orders *orders)
{
    run->workload = orders->workload;
    run->threads = orders->threads ? orders->threads : cpus_usable();
    run->iterations = orders->iterations ? orders->iterations : orders->workload->iterations;
    run->seed = orders->seed;
    run->broken_lock = orders->broken_lock;
    if (run->broken_lock && !run->workload->has_locks)
        return failure_plain("the workload %s has no lock to break", run->workload->name);

    ssize_t length = readlink("/proc/self/exe", run->program, sizeof(run->program) - 1);
    if (length < 0)
        return failure("readlink of /proc/self/exe");
    run->program[length] = '\0';
    return 0;
}

static int prepare(struct run *run)
{
    // A peer that is gone must be an error with a name, not a silent end.
    signal(SIGPIPE, SIG_IGN);
    run->board_fd = board_create();
    if (run->board_fd < 0)
        return failure("memory shared with the workers");

    struct random random = random_new(run->seed, UINT32_MAX);
    snprintf(run->directory, sizeof(run->directory), "/tmp/relayout-%016" PRIx64,
             random_next(&random));
    if (mkdir(run->directory, 0700) < 0) {
        failure("mkdir %s", run->directory);
        run->directory[0] = '\0';
        return -1;
    }
    return run->workload->prepare ? run->workload->prepare(run) : 0;
}

// From the first worker's creation to the closed window.
static int record_window(struct run *run, bool pin)
{
    if (workers_create(run, pin) < 0)
        return -1;
    if (board_wait_arrivals(run->threads, workers_check) < 0)
        return -1;

    MARKER(MARKER_START);
    board_enter(PHASE_GO);
    if (board_wait_arrivals(2 * run->threads, workers_check) < 0)
        return -1;
    MARKER(MARKER_STOP);
    return 0;
}

static int finish(struct run *run)
{
    board_enter(PHASE_RELEASE);
    workers_join();
    if (board_failure())
        return -1;
    return run->workload->cleanup ? run->workload->cleanup(run) : 0;
}

int runner_run(const struct orders *orders, unsigned linger_s)
{
    static struct run run;
    int status = fill_in(&run, orders);
    if (status == 0) {
        report("workload %s threads %" PRIu32 " iterations %" PRIu64 " seed %" PRIu64,
               run.workload->name, run.threads, run.iterations, run.seed);
        status = prepare(&run);
    }
    if (status == 0)
        status = record_window(&run, orders->pin);
    if (status == 0) {
        report("done operations=%" PRIu64, board_operations());
        sleep(linger_s);
        status = finish(&run);
    } else {
        workers_kill();
    }
    if (run.directory[0])
        files_remove(run.directory);
    if (board_failure())
        report("failed: %s", board_failure());
    return board_failure() ? 1 : 0;
}
