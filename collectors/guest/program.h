// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs a program of the user's between the default markers.
#ifndef RELAYOUT_PROGRAM_H
#define RELAYOUT_PROGRAM_H

#include "window.h"

// Executes the program that /run/relayout-arguments names first, with all of these as its
// arguments, the environment in /run/relayout-environment, and the working folder that
// /run/relayout-folder names (texts that end with a NUL each). Its window is `window`, with the lines
// in /run/relayout-lines: the one that opens it, and the one that closes it; empty for none.
//
// With `window.after_exec`, reports the number of its process before the window opens.
//
// Reports how the program ended: before the window closes if it failed, since the host may stop the
// machine there. All stays for `linger_s` seconds afterwards. Returns 0, or -1 after failure() if it
// could not be run, or ended before its window opened.
int program_run(struct window window, unsigned linger_s);

#endif
