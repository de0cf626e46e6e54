/* SPDX-License-Identifier: BSD-3-Clause */
/* A solution that is known before it is computed. */
#include "doctor.h"

#include <math.h>

static bool is_single(mpk_scalar t) {
    return t == MPK_S || t == MPK_C;
}

/* Numbers of a vector: real and imaginary parts count each. */
static size_t numbers(const doctor *d) {
    return (size_t)d->facts.a.n * (d->facts.a.scalar >= MPK_C ? 2 : 1);
}

static double number(const void *x, mpk_scalar t, size_t k) {
    return is_single(t) ? (double)((const float *)x)[k] : ((const double *)x)[k];
}

/* The known solution: entries of modulus 0.5 to 1.5, by SplitMix64. */
void doctor_known_fill(const doctor *d, void *x) {
    uint64_t state = (uint64_t)d->args->options.seed;
    for (size_t k = 0; k < numbers(d); k++) {
        uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        const double size = 0.5 + (double)(z >> 12) * 0x1p-52;
        const double v = z & 1 ? size : -size;
        if (is_single(d->facts.a.scalar))
            ((float *)x)[k] = (float)v;
        else
            ((double *)x)[k] = v;
    }
}

double doctor_forward(const doctor *d, const void *known, const void *x) {
    double apart = 0, size = 0;
    for (size_t k = 0; k < numbers(d); k++) {
        const double a = number(known, d->facts.a.scalar, k), b = number(x, d->facts.a.scalar, k);
        if (!(fabs(a - b) <= apart)) apart = fabs(a - b);
        if (fabs(a) > size) size = fabs(a);
    }
    return size > 0 ? apart / size : 0;
}
