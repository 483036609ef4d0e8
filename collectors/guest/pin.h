// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef RELAYOUT_PIN_H
#define RELAYOUT_PIN_H

#include <stdint.h>

// How many CPUs this process may run on; 1 if the kernel does not say.
uint32_t cpus_usable(void);

// Binds the calling thread to the (index modulo n)th of the n CPUs it may run on. Returns 0, or -1
// after failure().
int pin_to_cpu(uint32_t index);

#endif
