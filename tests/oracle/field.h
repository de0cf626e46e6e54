/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_FIELD_H
#define ORACLE_FIELD_H
/** Numbers modulo a prime of at most 62 bits in which -1 has a root: images of doubles and of pairs
 *  of them. */
#include <math.h>
#include <stdint.h>

typedef struct field {
    uint64_t prime, root; /* root^2 = -1 */
} field;

__extension__ typedef unsigned __int128 wide;

static inline uint64_t times(const field *f, uint64_t a, uint64_t b) {
    return (uint64_t)((wide)a * b % f->prime);
}

static inline uint64_t plus(const field *f, uint64_t a, uint64_t b) {
    const uint64_t sum = a + b; /* below 2^63 */
    return sum >= f->prime ? sum - f->prime : sum;
}

static inline uint64_t minus(const field *f, uint64_t a, uint64_t b) {
    return a >= b ? a - b : a + f->prime - b;
}

static inline uint64_t power(const field *f, uint64_t a, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, a = times(f, a, a))
        if (exponent & 1) result = times(f, result, a);
    return result;
}

static inline uint64_t inverse(const field *f, uint64_t a) {
    return power(f, a, f->prime - 2);
}

/** The residue of a finite double, which is m 2^e. */
static inline uint64_t residue(const field *f, double x) {
    int exponent;
    const int64_t m = (int64_t)ldexp(frexp(x, &exponent), 53);
    if (m == 0) return 0;
    exponent -= 53;
    const uint64_t size = (uint64_t)(m < 0 ? -m : m) % f->prime;
    const uint64_t two = power(f, 2, (uint64_t)(exponent < 0 ? -exponent : exponent));
    const uint64_t r = times(f, size, exponent < 0 ? inverse(f, two) : two);
    return m < 0 ? minus(f, 0, r) : r;
}

static inline uint64_t image(const field *f, double re, double im) {
    const uint64_t r = residue(f, re);
    return im == 0 ? r : plus(f, r, times(f, residue(f, im), f->root));
}

#endif
