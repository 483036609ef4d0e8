// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "pin.h"

#include "board.h"

#include <sched.h>

uint32_t cpus_usable(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

int pin_to_cpu(uint32_t index)
{
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof(usable), &usable) < 0)
        return failure("sched_getaffinity");

    uint32_t skip = index % (uint32_t)CPU_COUNT(&usable);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &usable) || skip-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        return failure("binding worker %u to CPU %d", index, cpu);
    return 0;
}
