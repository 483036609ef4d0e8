// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "window.h"

#include "marker.h"

#include <limits.h>
#include <string.h>
#include <time.h>

bool window_opens_first(const struct window *window)
{
    return window->after_ms == 0 && !window->from_line;
}

bool window_reads_lines(const struct window *window)
{
    return window->from_line || window->to_line;
}

uint64_t window_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void open_window(struct window_watch *watch)
{
    watch->is_open = true;
    watch->opens_later = false;
    watch->closes_ms = window_now_ms() + watch->window->length_ms;
    MARKER(MARKER_START_DEFAULT);
}

void window_begin(struct window_watch *watch, const struct window *window)
{
    *watch = (struct window_watch){.window = window};
    if (window_opens_first(window)) {
        open_window(watch);
    } else if (!window->from_line) {
        watch->opens_later = true;
        watch->opens_ms = window_now_ms() + window->after_ms;
    }
}

int window_wait_ms(const struct window_watch *watch)
{
    bool closes_later = watch->is_open && !watch->is_closed && watch->window->length_ms > 0;
    if (!watch->opens_later && !closes_later)
        return -1;
    uint64_t due = watch->opens_later ? watch->opens_ms : watch->closes_ms;
    uint64_t now = window_now_ms();
    if (due <= now)
        return 0;
    return due - now > INT_MAX ? INT_MAX : (int)(due - now);
}

void window_advance(struct window_watch *watch)
{
    if (window_wait_ms(watch) != 0)
        return;
    if (watch->opens_later)
        open_window(watch);
    else
        window_end(watch);
}

static void read_line(struct window_watch *watch)
{
    const struct window *window = watch->window;
    watch->line[watch->length] = '\0';
    watch->length = 0;
    if (watch->is_open) {
        if (window->to_line && strstr(watch->line, window->to_line))
            window_end(watch);
    } else if (window->from_line && !watch->opens_later && strstr(watch->line, window->from_line)) {
        watch->opens_later = true;
        watch->opens_ms = window_now_ms() + window->after_ms;
        window_advance(watch);
    }
}

void window_read(struct window_watch *watch, const char *text, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] == '\n')
            read_line(watch);
        else if (watch->length < WINDOW_LINE_MAX - 1)
            watch->line[watch->length++] = text[i];
    }
}

void window_end(struct window_watch *watch)
{
    if (!watch->is_open || watch->is_closed)
        return;
    watch->is_closed = true;
    MARKER(MARKER_STOP_DEFAULT);
}
