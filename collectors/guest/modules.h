// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernel modules that a workload needs.
#ifndef RELAYOUT_MODULES_H
#define RELAYOUT_MODULES_H

// Loads the modules that the file /run/relayout-modules names (paths that end with a NUL each), in
// its order, and removes their files. A module that the kernel has already is no failure. Returns 0,
// or -1 after failure(); without the file there is nothing to load.
int modules_load(void);

#endif
