/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_RANDOM_H
#define ORACLE_RANDOM_H
/** Random numbers that are the same on every machine: splitmix64 (Steele, Lea & Flood 2014). */
#include <stdint.h>

typedef struct random_state {
    uint64_t at;
} random_state;

static inline uint64_t random_bits(random_state *r) {
    uint64_t z = r->at += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** An independent stream for each pair of numbers. */
static inline random_state random_start(uint64_t seed, uint64_t stream) {
    random_state r = {seed * UINT64_C(0xd1342543de82ef95) + 1};
    r.at = random_bits(&r) ^ (stream * UINT64_C(0x2545f4914f6cdd1d));
    random_bits(&r);
    return r;
}

/** 0 .. count - 1; count >= 1. */
static inline int random_below(random_state *r, int count) {
    return (int)(((random_bits(r) >> 32) * (uint64_t)count) >> 32);
}

/** least .. most, both included. */
static inline int random_between(random_state *r, int least, int most) {
    return least + random_below(r, most - least + 1);
}

/** [0, 1) in steps of 2^-53. */
static inline double random_unit(random_state *r) {
    return (double)(random_bits(r) >> 11) * 0x1p-53;
}

/** (-1, 1). */
static inline double random_signed(random_state *r) {
    return 2 * random_unit(r) - 1;
}

static inline int random_chance(random_state *r, double share) {
    return random_unit(r) < share;
}

#endif
