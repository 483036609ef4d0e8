// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When the window around a program of the user's opens and closes.
#ifndef RELAYOUT_WINDOW_H
#define RELAYOUT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_LINE_MAX = 4096 };

struct window {
    uint64_t after_ms;     // it opens this long after the start, or after `from_line`
    uint64_t length_ms;    // 0: it has no length of its own
    const char *from_line; // NULL: no line opens it
    const char *to_line;   // NULL: no line closes it
    bool after_exec;       // it opens at the earliest when the program is loaded, before it executes
};

// Whether the window opens before the program starts.
bool window_opens_first(const struct window *window);

// Whether lines of the program's output matter.
bool window_reads_lines(const struct window *window);

// Milliseconds since some moment in the past.
uint64_t window_now_ms(void);

// A window while the program runs.
struct window_watch {
    const struct window *window;
    bool is_open;
    bool is_closed;
    bool opens_later; // `opens_ms` counts
    uint64_t opens_ms;
    uint64_t closes_ms;
    char line[WINDOW_LINE_MAX]; // beginning of the present line of output
    uint32_t length;
};

// Starts to watch as the program starts; opens the window if it opens first.
void window_begin(struct window_watch *watch, const struct window *window);

// Milliseconds until something is due; -1 for never.
int window_wait_ms(const struct window_watch *watch);

// Opens or closes the window if that is due.
void window_advance(struct window_watch *watch);

// Looks for the lines that open and close the window in `size` bytes of output.
void window_read(struct window_watch *watch, const char *text, uint32_t size);

// Closes the window, if it is open.
void window_end(struct window_watch *watch);

#endif
