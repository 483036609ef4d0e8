// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef RELAYOUT_REAP_H
#define RELAYOUT_REAP_H

#include <sys/types.h>

// Waits until the child `pid` has ended, taking leave of orphans that end before it, as the first
// process must. Returns its wait status, or -1 after failure().
int reap_until(pid_t pid);

#endif
