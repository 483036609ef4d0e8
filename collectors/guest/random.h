// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reproducible random numbers: xorshift64*, seeded from (seed, worker) by splitmix64.
#ifndef RELAYOUT_RANDOM_H
#define RELAYOUT_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

// The sequence that belongs to `seed` and `stream`; neighbouring streams are unrelated.
static inline struct random random_new(uint64_t seed, uint64_t stream)
{
    uint64_t z = seed + (stream + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (struct random){.state = z ? z : 1};
}

static inline uint64_t random_next(struct random *random)
{
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1du;
}

// A number from 0 to `bound - 1`; `bound` is small, so the bias of the remainder is too.
static inline uint32_t random_below(struct random *random, uint32_t bound)
{
    return (uint32_t)((random_next(random) >> 32) % bound);
}

#endif
