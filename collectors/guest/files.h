// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that several parts need.
#ifndef RELAYOUT_FILES_H
#define RELAYOUT_FILES_H

#include <stddef.h>
#include <sys/types.h>

// Removes `directory` and all below it, not crossing mounts. What cannot be removed stays.
void files_remove(const char *directory);

// Reads at most `size - 1` bytes of the file and ends them with a NUL. Returns the number of bytes,
// or -1 with errno set (EFBIG if the file is longer).
ssize_t file_read(const char *path, char *buffer, size_t size);

// Writes `text` to the existing file in one write. Returns 0, or -1 with errno set.
int file_write(const char *path, const char *text);

// Creates the file with `size_bytes` bytes of zeros. Returns it open for reading and writing, or -1
// after failure().
int file_create(const char *path, off_t size_bytes);

#endif
