// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first process of the guest.
#ifndef RELAYOUT_INIT_H
#define RELAYOUT_INIT_H

// Brings the guest up, does what the kernel command line orders in a child process, reports how it
// ended and powers the machine off.
void init_main(void) __attribute__((noreturn));

#endif
