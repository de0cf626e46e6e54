/* SPDX-License-Identifier: BSD-3-Clause */
/* The sequential test of an inertia, and the seed of its vectors. */
#include "certificate.h"
#include "../core/random.h"

#include <math.h>
#include <string.h>

/* A wrong inertia passes at the j-th vector with at most this probability. */
static const double MISS = 1e-10;
/* Above CAP nothing is certified, however many vectors; above REFUSE no vector can change that. */
static const double CAP = 0.2, REFUSE = 0.5;

uint64_t mpki_certificate_seed(int64_t n, int64_t seed) {
    return mpki_random_mix((uint64_t)seed + MPKI_GOLDEN) ^ mpki_random_at((uint64_t)n);
}

uint64_t mpki_certificate_hash(uint64_t state, const void *values, int64_t bytes) {
    const char *at = values;
    uint64_t word;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        state = mpki_random_mix(state ^ word) + MPKI_GOLDEN;
    }
    if (bytes <= 0) return state;
    word = 0;
    memcpy(&word, at, (size_t)bytes);
    return mpki_random_mix(state ^ word) + MPKI_GOLDEN;
}

double mpki_certificate_miss(const mpk_certificate *t) {
    return t->contraction <= CAP ? pow(0.8 * t->contraction, t->vectors) : 1;
}

bool mpki_certificate_next(mpk_certificate *t, double c) {
    t->vectors++;
    t->certified = 0;
    t->miss_bound = 1;
    t->contraction = c >= 0 ? fmax(t->contraction, c) : INFINITY; /* NaN is not */
    if (!(t->contraction <= REFUSE)) return false;
    if (mpki_certificate_miss(t) <= MISS) {
        t->certified = 1;
        t->miss_bound = MISS * t->vectors; /* it might have passed at each of them */
        return false;
    }
    return t->vectors < MPKI_CERTIFICATE_MOST;
}
