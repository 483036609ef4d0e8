// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the coordinator and its workers share, be they threads or processes.
//
// The board lives in a memfd, so that a worker that replaces itself by exec can map it again.
#ifndef RELAYOUT_BOARD_H
#define RELAYOUT_BOARD_H

#include <stdint.h>

enum phase {
    PHASE_SETUP,   // workers prepare themselves
    PHASE_GO,      // workers do their operations
    PHASE_RELEASE, // workers clean up and end
};

// Creates the board of this run and maps it. Returns its file descriptor (close-on-exec), or -1
// with errno set.
int board_create(void);

// Maps the board behind `fd`, which was inherited over an exec. Returns 0, or -1 with errno set.
int board_open(int fd);

// Records why the run failed, followed by the text of errno, and wakes the coordinator. Only the
// first failure of a run is kept. Always returns -1.
int failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

// As failure(), without errno.
int failure_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The failure recorded so far, or NULL. Without a board: what this process recorded.
const char *board_failure(void);

// Called by a worker that reached the end of a phase, having done `operations` since the last call.
void board_arrive(uint32_t workers, uint64_t operations);

// Waits until `count` arrivals have been counted since the run began. `alive` is asked now and then
// whether the workers still live, and records a failure if not. Returns 0, or -1 after a failure.
int board_wait_arrivals(uint32_t count, void (*alive)(void));

// Starts the next phase and wakes the workers.
void board_enter(enum phase phase);

// Waits until the run is in `phase` or past it.
void board_wait_phase(enum phase phase);

// Operations finished by workers that have arrived.
uint64_t board_operations(void);

#endif
