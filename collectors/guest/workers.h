// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The workers of a run, as threads or as processes.
#ifndef RELAYOUT_WORKERS_H
#define RELAYOUT_WORKERS_H

#include "workload.h"

#include <stdbool.h>

// Creates all workers of `run`; each sets itself up, warms up, arrives at the board and waits. With
// `pin`, worker i is bound to the (i modulo n)th of the n usable CPUs. Returns 0, or -1 after
// failure().
int workers_create(const struct run *run, bool pin);

// Records a failure if a worker ended before it was told to.
void workers_check(void);

// Waits until all workers have ended; one that did not end well is a failure.
void workers_join(void);

// Ends all workers that are processes at once. Threads end with the caller's process.
void workers_kill(void);

#endif
