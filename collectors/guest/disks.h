// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Disks with folders that are too large for the guest's memory.
#ifndef RELAYOUT_DISKS_H
#define RELAYOUT_DISKS_H

// Mounts the disks of the folders that /run/relayout-disks names (paths that end with a NUL each, /
// before all others). The first folder is on the disk with an ext4 file system that is labelled
// relayout-0, the next on relayout-1, and so on. A disk for / becomes the root; what is in the
// initramfs moves there. Without the file, nothing is mounted. Returns 0, or -1 after failure().
int disks_mount(void);

#endif
