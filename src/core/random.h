/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_RANDOM_H
#define MPKI_RANDOM_H
/** Pseudo-random numbers, the same on every machine. Orderings, butterflies, starting vectors and
 *  generated matrices depend on them: a change here changes bits of solutions. SplitMix64: Steele,
 *  Lea & Flood, OOPSLA 2014, doi:10.1145/2660193.2660195. */
#include <stdint.h>

#ifdef __CUDACC__
#define MPKI_RANDOM_FN static __host__ __device__ inline
#else
#define MPKI_RANDOM_FN static inline
#endif

#define MPKI_GOLDEN UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio, odd */

/** SplitMix64's finaliser: a permutation of the 64-bit words; 0 stays 0. */
MPKI_RANDOM_FN uint64_t mpki_random_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/** The next 64 bits of a stream; any state is a start. */
MPKI_RANDOM_FN uint64_t mpki_random_next(uint64_t *state) {
    return mpki_random_mix(*state += MPKI_GOLDEN);
}

/** The k-th number of the stream that starts at 0: a hash of k. */
MPKI_RANDOM_FN uint64_t mpki_random_at(uint64_t k) {
    return mpki_random_mix((k + 1) * MPKI_GOLDEN);
}

/** Uniform in [0, 1), a multiple of 2^-53. */
MPKI_RANDOM_FN double mpki_random_unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

/** Uniform in [-1, 1], from the next of a stream. */
MPKI_RANDOM_FN double mpki_random_signed(uint64_t *state) {
    return (double)(int64_t)mpki_random_next(state) * 0x1p-63;
}

/* ---- weaker generators, older than SplitMix64 here; solutions depend on their numbers ---- */

/** A number for each k, no two alike: which columns join a core. */
MPKI_RANDOM_FN uint64_t mpki_random_lot(uint64_t k) {
    const uint64_t x = (k + 1) * MPKI_GOLDEN;
    return (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
}

/** 1 or -1 for each k: what is put on the null space of D. */
MPKI_RANDOM_FN int mpki_random_sign(uint64_t k) {
    const uint64_t x = (k + 1) * MPKI_GOLDEN;
    return (x ^ (x >> 29)) >> 32 & 1 ? 1 : -1;
}

/** The same of modulus 1/2 to 3/2: known solutions. In matrices of few integers sums of 1 and -1
 *  cancel that should not. */
MPKI_RANDOM_FN double mpki_random_weight(uint64_t k) {
    return mpki_random_sign(k) * (0.5 + mpki_random_unit(mpki_random_at(k)));
}

/** 1 or -1 for each k, by 2^32 / golden ratio: the vector that probes the norm of an operator. */
MPKI_RANDOM_FN int mpki_random_sign32(uint32_t k) {
    return (k * UINT32_C(2654435761)) >> 31 ? 1 : -1;
}

/** Knuth's linear congruences (TAOCP 2, 3.3.4): the butterflies of block methods. Low bits are
 * poor.
 */
MPKI_RANDOM_FN uint64_t mpki_random_lcg(uint64_t *state) {
    return *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/** Uniform in [-1, 1] from these: for tests that expect the results of matrices made by it. */
MPKI_RANDOM_FN double mpki_random_lcg_signed(uint64_t *state) {
    const uint64_t s = mpki_random_lcg(state);
    return (double)(int64_t)(s ^ (s >> 29)) * 0x1p-63;
}

/** xorshift64* (Vigna 2016), 31 bits; state != 0: nested dissection. */
MPKI_RANDOM_FN uint32_t mpki_random_xorshift(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (uint32_t)((x * UINT64_C(0x2545F4914F6CDD1D)) >> 33);
}

#endif
