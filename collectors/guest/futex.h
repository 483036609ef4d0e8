// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Waits on a word of shared memory, and wakes.
#ifndef RELAYOUT_FUTEX_H
#define RELAYOUT_FUTEX_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Sleeps while `*word` is `seen`, for at most `limit` if it is given. May return before: all callers
// look again.
static inline void futex_wait(uint32_t *word, uint32_t seen, const struct timespec *limit)
{
    syscall(SYS_futex, word, FUTEX_WAIT, seen, limit, NULL, 0);
}

// Wakes up to `count` of those who sleep on `word`.
static inline void futex_wake(uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

#endif
