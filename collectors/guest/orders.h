// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What to do, as the kernel command line or the program's arguments say it.
#ifndef RELAYOUT_ORDERS_H
#define RELAYOUT_ORDERS_H

#include "window.h"
#include "workload.h"

#include <stdbool.h>

struct orders {
    const struct workload *workload; // NULL if `program`
    bool program;                    // run a program of the user's instead
    struct window window;            // of that program, without its lines
    bool pin;
    uint32_t threads;    // 0: as many as there are CPUs
    uint64_t iterations; // 0: the workload's default
    uint64_t seed;
    const char *broken_lock; // NULL: all are used as they must be
};

// Orders with nothing chosen yet: pinned, defaults for all numbers.
struct orders orders_default(void);

// Reads the "relayout.KEY=VALUE" words of a kernel command line, which is cut into pieces. Returns
// 0, or -1 after failure() if a word is unknown, a value is not what the key takes, or there is
// nothing to do.
int orders_parse(struct orders *orders, char *command_line);

// Sets one key, as in "relayout.KEY=VALUE". Returns 0, or -1 after failure().
int orders_set(struct orders *orders, const char *key, const char *value);

#endif
