// SPDX-License-Identifier: MIT OR Apache-2.0
//
// fork, exec of a small static program, wait: what a shell or a build does all day.
//
// Processes: each worker has children of its own, so that the shared state is the kernel's (pid and
// task lists, the executable's mapping, per-CPU allocation), not one address space.
#include "spawn.h"
#include "workloads.h"

static int forkexec_operate(struct worker *worker, uint64_t number)
{
    (void)number;
    return spawn_true(worker->run->program);
}

const struct workload forkexec_workload = {
    .name = "forkexec",
    .summary = "fork, exec of a trivial static program, wait",
    .operation = "one child started and waited for",
    .iterations = 100,
    .warmup = 4,
    .sharing = SHARING_PROCESSES,
    .operate = forkexec_operate,
};
