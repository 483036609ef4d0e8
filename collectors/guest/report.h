// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Lines that the host reads from the console.
#ifndef RELAYOUT_REPORT_H
#define RELAYOUT_REPORT_H

// Writes "relayout-guest: TEXT\n" to standard output in one piece and waits until a terminal has
// sent it, so that a power-off right after loses nothing.
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
