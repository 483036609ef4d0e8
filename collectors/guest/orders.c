// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "orders.h"

#include "workloads.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "relayout."

enum { THREADS_MAX = 4096, TIME_MAX_MS = 1000000000 };

struct orders orders_default(void)
{
    return (struct orders){.pin = true};
}

// A decimal number from `least` to `most`.
static int parse_number(const char *key, const char *value, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || errno || *number < least || *number > most)
        return failure_plain("%s=%s is not a number from %llu to %llu", key, value,
                             (unsigned long long)least, (unsigned long long)most);
    return 0;
}

static int parse_switch(const char *key, const char *value, bool *on)
{
    uint64_t number;
    if (parse_number(key, value, 0, 1, &number) < 0)
        return -1;
    *on = number;
    return 0;
}

int orders_set(struct orders *orders, const char *key, const char *value)
{
    if (strcmp(key, "workload") == 0) {
        orders->workload = workload_find(value);
        return orders->workload ? 0 : failure_plain("no workload named %s", value);
    }
    if (strcmp(key, "threads") == 0) {
        uint64_t threads;
        if (parse_number(key, value, 1, THREADS_MAX, &threads) < 0)
            return -1;
        orders->threads = (uint32_t)threads;
        return 0;
    }
    if (strcmp(key, "iterations") == 0)
        return parse_number(key, value, 1, UINT64_MAX / THREADS_MAX, &orders->iterations);
    if (strcmp(key, "seed") == 0)
        return parse_number(key, value, 0, UINT64_MAX, &orders->seed);
    if (strcmp(key, "broken") == 0) {
        orders->broken_lock = value;
        return 0;
    }
    if (strcmp(key, "pin") == 0)
        return parse_switch(key, value, &orders->pin);
    if (strcmp(key, "run") == 0)
        return parse_switch(key, value, &orders->program);
    if (strcmp(key, "after_exec") == 0)
        return parse_switch(key, value, &orders->window.after_exec);
    if (strcmp(key, "after_ms") == 0)
        return parse_number(key, value, 0, TIME_MAX_MS, &orders->window.after_ms);
    if (strcmp(key, "length_ms") == 0)
        return parse_number(key, value, 1, TIME_MAX_MS, &orders->window.length_ms);
    return failure_plain("unknown order %s%s", PREFIX, key);
}

int orders_parse(struct orders *orders, char *command_line)
{
    char *rest = command_line;
    char *word;
    while ((word = strsep(&rest, " \t\n"))) {
        if (strncmp(word, PREFIX, strlen(PREFIX)) != 0)
            continue;
        char *key = word + strlen(PREFIX);
        char *value = strchr(key, '=');
        if (!value)
            return failure_plain("%s has no value", word);
        *value++ = '\0';
        if (orders_set(orders, key, value) < 0)
            return -1;
    }
    if (orders->program && orders->workload)
        return failure_plain("both relayout.workload and relayout.run are given");
    if (!orders->program && !orders->workload)
        return failure_plain("neither relayout.workload nor relayout.run is given");
    return 0;
}
