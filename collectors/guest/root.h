// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A mounted file system as the root, in place of the initramfs.
#ifndef RELAYOUT_ROOT_H
#define RELAYOUT_ROOT_H

// Makes the folder on which the new root has to be mounted. Returns its path, or NULL after
// failure().
const char *root_prepare(void);

// Makes the file system that is mounted there the root, with /dev, /proc and /sys as they are. Moves
// the files of the initramfs into it, in place of files with the same paths. Returns 0, or -1 after
// failure().
int root_enter(void);

#endif
