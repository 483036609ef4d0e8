// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "board.h"

#include "futex.h"
#include "marker.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A worker may be killed while it writes its reason, so each has a place of its own to write to.
enum { REASONS = 64, REASON_BYTES = 512 };

struct board {
    uint32_t phase;   // futex of the workers
    uint32_t events;  // futex of the coordinator: counts what it must look at
    uint32_t arrived; // arrivals of all phases together
    uint32_t reasons; // places of `reason` given out; may exceed their number
    uint32_t failure; // the place of the first one written, plus 1; 0: no failure
    uint64_t operations;
    char reason[REASONS][REASON_BYTES];
};

// Used until the shared board is there.
static struct board own_board;
static struct board *board = &own_board;

static void wake_coordinator(void)
{
    __atomic_add_fetch(&board->events, 1, __ATOMIC_RELEASE);
    futex_wake(&board->events, INT_MAX);
}

int board_open(int fd)
{
    void *shared = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return -1;
    board = shared;
    return 0;
}

int board_create(void)
{
    int fd = memfd_create("relayout-board", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, sizeof(*board)) < 0 || board_open(fd) < 0)
        return -1;
    return fd;
}

static int record(int error, const char *format, va_list arguments)
{
    uint32_t place = __atomic_fetch_add(&board->reasons, 1, __ATOMIC_RELAXED);
    if (place >= REASONS)
        return -1;

    char *reason = board->reason[place];
    vsnprintf(reason, REASON_BYTES, format, arguments);
    if (error) {
        size_t length = strlen(reason);
        snprintf(reason + length, REASON_BYTES - length, " (%s)", strerror(error));
    }
    uint32_t none = 0;
    __atomic_compare_exchange_n(&board->failure, &none, place + 1, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    MARKER(MARKER_FAILURE);
    wake_coordinator();
    return -1;
}

int failure(const char *format, ...)
{
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    record(error, format, arguments);
    va_end(arguments);
    return -1;
}

int failure_plain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(0, format, arguments);
    va_end(arguments);
    return -1;
}

const char *board_failure(void)
{
    uint32_t failure = __atomic_load_n(&board->failure, __ATOMIC_ACQUIRE);
    return failure ? board->reason[failure - 1] : NULL;
}

void board_arrive(uint32_t workers, uint64_t operations)
{
    __atomic_add_fetch(&board->operations, operations, __ATOMIC_RELAXED);
    uint32_t arrived = __atomic_add_fetch(&board->arrived, 1, __ATOMIC_ACQ_REL);
    // Only the last one of a phase wakes: earlier wake-ups would be traffic of the harness.
    if (arrived % workers == 0)
        wake_coordinator();
}

int board_wait_arrivals(uint32_t count, void (*alive)(void))
{
    const struct timespec limit = {.tv_sec = 1};
    for (;;) {
        uint32_t events = __atomic_load_n(&board->events, __ATOMIC_ACQUIRE);
        if (board_failure())
            return -1;
        if (__atomic_load_n(&board->arrived, __ATOMIC_ACQUIRE) >= count)
            return 0;
        alive();
        futex_wait(&board->events, events, &limit);
    }
}

void board_enter(enum phase phase)
{
    __atomic_store_n(&board->phase, phase, __ATOMIC_RELEASE);
    futex_wake(&board->phase, INT_MAX);
}

void board_wait_phase(enum phase phase)
{
    for (;;) {
        uint32_t now = __atomic_load_n(&board->phase, __ATOMIC_ACQUIRE);
        if (now >= (uint32_t)phase)
            return;
        futex_wait(&board->phase, now, NULL);
    }
}

uint64_t board_operations(void)
{
    return __atomic_load_n(&board->operations, __ATOMIC_RELAXED);
}
