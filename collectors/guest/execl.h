// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef RELAYOUT_EXECL_H
#define RELAYOUT_EXECL_H

// The command line of each link of the chain:
//     PROGRAM execl-continue WORKERS ITERATIONS DONE BOARD-FD
#define EXECL_COMMAND "execl-continue"
#define EXECL_ARGC 6

// The next link: marks the exec that led here as done, then executes the program again or, after
// the last, ends as any worker does. Returns the exit status.
int execl_continue(char **argv);

#endif
