// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef RELAYOUT_SPAWN_H
#define RELAYOUT_SPAWN_H

// Forks, executes `program` (this executable) with the argument "true", which ends at once, and
// waits for it. Returns 0, or -1 after failure().
int spawn_true(const char *program);

#endif
