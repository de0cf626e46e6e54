/* SPDX-License-Identifier: BSD-3-Clause */
/* Inertia from the signs of the characteristic polynomial's coefficients. */
#include "signs.h"

#include <limits.h>
#include <string.h>

#include "field.h"

/* ---- primes ---------------------------------------------------------------------------------- */

/* Miller and Rabin; these bases decide all numbers below 2^64 (Sorenson & Webster 2017). */
static int is_prime(uint64_t n) {
    static const uint64_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    const field f = {n, 0};
    const int twos = __builtin_ctzll(n - 1);
    for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
        uint64_t x = power(&f, bases[k], (n - 1) >> twos);
        int composite = x != 1 && x != n - 1;
        for (int step = 1; step < twos && composite; step++) {
            x = times(&f, x, x);
            if (x == n - 1) composite = 0;
        }
        if (composite) return 0;
    }
    return 1;
}

/* The next prime 4 k + 1 below *from, with a root of -1. */
static field next_field(uint64_t *from) {
    do *from -= 4;
    while (!is_prime(*from));
    field f = {*from, 0};
    for (uint64_t a = 2;; a++) {
        f.root = power(&f, a, (f.prime - 1) / 4);
        if (times(&f, f.root, f.root) == f.prime - 1) return f;
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Exponent of the lowest bit of x; INT_MAX for zero. */
static int lowest_bit(double x) {
    int exponent;
    if (x == 0) return INT_MAX;
    const int64_t m = (int64_t)ldexp(frexp(fabs(x), &exponent), 53);
    return exponent - 53 + __builtin_ctzll((uint64_t)m);
}

/* Powers with which a(i, j) 2^(power[i] + power[j]) are integers, each as low as it can be. */
static void integer_powers(int32_t n, int64_t count, const quad_entry *all, int *power) {
    for (int32_t i = 0; i < n; i++) power[i] = INT_MIN / 4;
    for (int sweep = 0; sweep < 4; sweep++)
        for (int32_t i = 0; i < n; i++) {
            int least = INT_MIN / 4;
            for (int64_t k = 0; k < count; k++) {
                const quad_entry *e = &all[k];
                const int re = lowest_bit(e->re), im = lowest_bit(e->im), low = re < im ? re : im;
                if (e->i != i || low == INT_MAX) continue;
                /* first each takes half, which is enough for both */
                const int half = -low >= 0 ? (-low + 1) / 2 : -(low / 2);
                const int need = sweep == 0 || e->i == e->j ? half : -low - power[e->j];
                if (need > least) least = need;
            }
            power[i] = least > INT_MIN / 8 ? least : 0;
        }
}

/* Bits of the largest coefficient: sum of log2(1 + ||row||). */
static double bits_of(int32_t n, int64_t count, const quad_entry *all, const int *power) {
    double *row = must_alloc((size_t)n, sizeof *row), bits = 0;
    for (int64_t k = 0; k < count; k++)
        row[all[k].i] += hypot(ldexp(all[k].re, power[all[k].i] + power[all[k].j]),
                               ldexp(all[k].im, power[all[k].i] + power[all[k].j]));
    for (int32_t i = 0; i < n; i++) bits += log2(1 + row[i]);
    free(row);
    return bits + 2;
}

/* ---- the polynomial -------------------------------------------------------------------------- */

/* Columns and rows: similar to an upper Hessenberg matrix. h by rows. */
static void to_hessenberg(const field *f, int n, uint64_t *h) {
    for (int k = 0; k + 2 < n; k++) {
        int p = k + 1;
        while (p < n && h[p * n + k] == 0) p++;
        if (p == n) continue;
        for (int j = 0; p != k + 1 && j < n; j++) {
            const uint64_t t = h[p * n + j];
            h[p * n + j] = h[(k + 1) * n + j];
            h[(k + 1) * n + j] = t;
        }
        for (int i = 0; p != k + 1 && i < n; i++) {
            const uint64_t t = h[i * n + p];
            h[i * n + p] = h[i * n + k + 1];
            h[i * n + k + 1] = t;
        }
        const uint64_t over = inverse(f, h[(k + 1) * n + k]);
        for (int i = k + 2; i < n; i++) {
            const uint64_t m = times(f, h[i * n + k], over);
            if (m == 0) continue;
            for (int j = k; j < n; j++)
                h[i * n + j] = minus(f, h[i * n + j], times(f, m, h[(k + 1) * n + j]));
            for (int j = 0; j < n; j++)
                h[j * n + k + 1] = plus(f, h[j * n + k + 1], times(f, m, h[j * n + i]));
        }
    }
}

/* c[0 .. n]: coefficients of det(x I - H), c[n] = 1. */
static void polynomial(const field *f, int n, const uint64_t *h, uint64_t *c) {
    const size_t width = (size_t)n + 1;
    uint64_t *p = must_alloc(width * width, sizeof *p); /* of the leading blocks, by rows */
    p[0] = 1;
    for (int k = 1; k <= n; k++) {
        uint64_t *to = p + (size_t)k * width, product = 1;
        const uint64_t *last = to - width;
        for (int d = 0; d < k; d++) {
            to[d + 1] = plus(f, to[d + 1], last[d]);
            to[d] = minus(f, to[d], times(f, h[(k - 1) * n + k - 1], last[d]));
        }
        for (int i = k - 2; i >= 0; i--) {
            product = times(f, product, h[(i + 1) * n + i]);
            if (product == 0) break;
            const uint64_t m = times(f, product, h[i * n + k - 1]);
            const uint64_t *other = p + (size_t)i * width;
            for (int d = 0; m && d <= i; d++) to[d] = minus(f, to[d], times(f, m, other[d]));
        }
    }
    memcpy(c, p + (size_t)n * width, width * sizeof *c);
    free(p);
}

/* ---- signs ----------------------------------------------------------------------------------- */

/* A balanced digit modulo another prime. */
static uint64_t digit_in(const field *f, int64_t digit) {
    const uint64_t size = (uint64_t)(digit < 0 ? -digit : digit) % f->prime;
    return digit < 0 ? minus(f, 0, size) : size;
}

/* Sign of the number with remainders c[k * stride]: that of its highest balanced digit. */
static int sign_of(const field *f, int primes, const uint64_t *c, size_t stride, int64_t *digit) {
    int sign = 0;
    for (int k = 0; k < primes; k++) {
        uint64_t rest = c[(size_t)k * stride], product = 1;
        for (int l = 0; l < k; l++) {
            rest = minus(&f[k], rest, times(&f[k], product, digit_in(&f[k], digit[l])));
            product = times(&f[k], product, f[l].prime % f[k].prime);
        }
        rest = times(&f[k], rest, inverse(&f[k], product));
        digit[k] = rest > f[k].prime / 2 ? -(int64_t)(f[k].prime - rest) : (int64_t)rest;
        if (digit[k]) sign = digit[k] < 0 ? -1 : 1;
    }
    return sign;
}

static void count_signs(int n, const int *sign, known_inertia *out) {
    int last = 0;
    *out = (known_inertia){.there = 1};
    while (out->zero < n && sign[out->zero] == 0) out->zero++;
    for (int k = out->zero; k <= n; k++) {
        if (sign[k] == 0) continue;
        if (last && sign[k] != last) out->positive++;
        last = sign[k];
    }
    out->negative = n - out->zero - out->positive;
}

int signs_of(const equations *eq, double work, known_inertia *out) {
    const size_t n = (size_t)eq->n, width = n + 1;
    int64_t count;
    quad_entry *all = equations_whole(eq, &count);
    int *shift = must_alloc(n, sizeof *shift);
    integer_powers(eq->n, count, all, shift);
    const double bits = bits_of(eq->n, count, all, shift), most = (double)n;
    const int fits = bits < 1e5 && (bits / 61 + 1) * (3.4 * most * most + bits / 61) * most < work;
    if (fits && n > 0) {
        const int primes = (int)(bits / 61) + 1;
        field *f = must_alloc((size_t)primes, sizeof *f);
        uint64_t *c = must_alloc((size_t)primes * width, sizeof *c), from = UINT64_C(1) << 62 | 1;
        uint64_t *h = must_alloc(n * n, sizeof *h);
        int64_t *digit = must_alloc((size_t)primes, sizeof *digit);
        int *sign = must_alloc(width, sizeof *sign);
        for (int k = 0; k < primes; k++) {
            f[k] = next_field(&from);
            memset(h, 0, n * n * sizeof *h);
            for (int64_t e = 0; e < count; e++) {
                const int two = shift[all[e].i] + shift[all[e].j];
                h[(size_t)all[e].i * n + (size_t)all[e].j] =
                    image(&f[k], ldexp(all[e].re, two), ldexp(all[e].im, two));
            }
            to_hessenberg(&f[k], eq->n, h);
            polynomial(&f[k], eq->n, h, c + (size_t)k * width);
        }
        for (size_t d = 0; d < width; d++) sign[d] = sign_of(f, primes, c + d, width, digit);
        count_signs(eq->n, sign, out);
        free(sign);
        free(digit);
        free(h);
        free(c);
        free(f);
    }
    free(shift);
    free(all);
    return fits && n > 0;
}
