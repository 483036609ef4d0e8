// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The locks that the workload `locks` uses. Each has a check of its own: what a second worker in the
// critical section would break, the first one notices.
#ifndef RELAYOUT_LOCKS_H
#define RELAYOUT_LOCKS_H

#include "workload.h"

#include <stdbool.h>

enum {
    // Operations of a worker between two meetings of all, the meeting among them.
    OPERATIONS_A_MEETING = 16,
};

// Each function returns 0, or -1 after it called failure().
struct tested_lock {
    const char *name;
    // In the coordinator, before the workers exist; may be NULL.
    int (*prepare)(const struct run *run);
    // Takes the lock once, and checks what it guards. NULL of the barrier, at which all meet.
    int (*use)(struct worker *worker);
    // Checks what must have come out, while no worker is in `use`; may be NULL.
    int (*settle)(const struct run *run);
    // `use` does without the lock, or uses it wrongly: the check must notice.
    bool is_broken;
};

// In user space (user_locks.c).
extern struct tested_lock mutex_lock, ticket_lock, barrier_lock;
// In the kernel (memory_locks.c, file_locks.c).
extern struct tested_lock mapping_lock, pipe_lock, append_lock, descriptor_lock;

// Waits until all workers have come, and checks what the others have done since. The last one checks
// that all locks are settled, with `settle_all`, before anyone goes on.
int barrier_meet(struct worker *worker, int (*settle_all)(const struct run *run));

#endif
