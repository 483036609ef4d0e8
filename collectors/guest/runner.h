// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs one workload: creates the workers, opens and closes the window, reports how it went.
#ifndef RELAYOUT_RUNNER_H
#define RELAYOUT_RUNNER_H

#include "orders.h"

// Runs what `orders` ask for and reports it. `linger_s` is for how many seconds all stays as it was
// when the window closed. Returns 0 if every operation succeeded, 1 after a reported failure.
int runner_run(const struct orders *orders, unsigned linger_s);

#endif
