// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a workload is, and what it is given.
#ifndef RELAYOUT_WORKLOAD_H
#define RELAYOUT_WORKLOAD_H

#include "board.h"
#include "random.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether workers share one address space and file table, or each have their own.
enum sharing { SHARING_THREADS, SHARING_PROCESSES };

// One run, the same for all its workers.
struct run {
    const struct workload *workload;
    uint32_t threads;    // workers
    uint64_t iterations; // operations of each worker
    uint64_t seed;
    const char *broken_lock; // a lock that the workload is to use wrongly; NULL for none
    int board_fd;
    char program[PATH_MAX];  // this executable
    char directory[64];      // empty at the start, removed with all in it at the end
};

struct worker {
    const struct run *run;
    uint32_t index;       // 0 to run->threads - 1
    struct random random; // depends on (seed, index) alone
    void *state;          // workload->state_bytes, zeroed
};

// Each function returns 0, or -1 after it called failure().
struct workload {
    const char *name;
    const char *summary;
    const char *operation; // what one operation is
    uint64_t iterations;   // default, per worker
    uint32_t warmup;       // operations of each worker before the window opens
    enum sharing sharing;
    size_t state_bytes;
    bool has_locks; // of which one can be broken
    // In the coordinator, before the workers exist; may be NULL.
    int (*prepare)(const struct run *run);
    // In each worker, before the window opens; may be NULL.
    int (*setup)(struct worker *worker);
    // One operation, the `number`th of this worker (warm-up included).
    int (*operate)(struct worker *worker, uint64_t number);
    // All operations at once instead of `operate`, where a loop of calls cannot do it: executes the
    // operation markers itself and does not return unless it fails. NULL otherwise.
    int (*operate_all)(struct worker *worker);
    // In each worker, after the window closed; may be NULL.
    int (*teardown)(struct worker *worker);
    // In the coordinator, after all workers ended; may be NULL.
    int (*cleanup)(const struct run *run);
};

// What a worker does from its last operation until it ends: tells the coordinator, and keeps all it
// has until the window is closed.
void worker_finish(uint32_t workers, uint64_t operations);

// Writes the path of `format` within the directory of the run. Returns 0, or -1 after failure().
int run_path(const struct run *run, char path[PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
