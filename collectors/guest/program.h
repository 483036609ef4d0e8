// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs a program of the user's between the default markers.
#ifndef RELAYOUT_PROGRAM_H
#define RELAYOUT_PROGRAM_H

// Executes /run-program with the arguments in /run-args (each ended by a NUL; no file: none) and
// reports how it ended: before the window closes if it failed, since the host may stop the machine
// there. All stays for `linger_s` seconds afterwards. Returns 0, or -1 after failure() if it could
// not be run.
int program_run(unsigned linger_s);

#endif
