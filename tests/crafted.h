/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CRAFTED_H
#define TEST_CRAFTED_H
/** Matrices A = L D L^H of small integers, exact in their scalar type, so that D tells their
 *  inertia (Sylvester), and L^-1 grows, so that a factorization may come to another one without a
 *  small pivot. */
#include "support.h"

typedef struct crafted {
    dense m;
    int positive, negative, zero;
} crafted;

/* L: unit lower, entry (i, i - d) for 0 < d <= w at l[i * w + d - 1]; Gaussian integers. false: an
 * entry is not exact. */
static inline int crafted_make(int n, int w, const double complex *l, const int *d,
                               mpk_scalar scalar, crafted *out) {
    const mpk_symmetry symmetry = scalar >= MPK_C ? MPK_HERMITIAN : MPK_SYMMETRIC;
    *out = (crafted){.m = dense_new(n, scalar, symmetry)};
    int exact = 1;
    for (int i = 0; i < n; i++)
        out->positive += d[i] > 0, out->negative += d[i] < 0, out->zero += d[i] == 0;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n && i <= j + w; i++) {
            double complex sum = 0; /* of integers far below 2^53 */
            for (int k = i - w > 0 ? i - w : 0; k <= j; k++)
                sum += d[k] * (k == i ? 1 : l[i * w + i - k - 1]) *
                       conj(k == j ? 1 : l[j * w + j - k - 1]);
            dense_set(&out->m, i, j, sum);
            exact &= dense_get(&out->m, i, j) == sum && cabs(sum) < 0x1p53;
        }
    return exact;
}

/* -c (times powers of i, where complex: a similarity) on the w diagonals below the main one. */
static inline crafted crafted_band(int n, int w, int c, const int *d, mpk_scalar scalar) {
    static const double complex turn[] = {1, I, -1, -I};
    double complex *l = calloc((size_t)(n * w) + 1, sizeof *l);
    crafted out;
    for (int i = 0; i < n; i++)
        for (int k = 1; k <= w && k <= i; k++)
            l[i * w + k - 1] = -c * (scalar >= MPK_C ? turn[k % 4] : 1);
    assert_true(crafted_make(n, w, l, d, scalar, &out));
    free(l);
    return out;
}

/* Random ones, some permuted; graded: and scaled by powers of two up to 2^20. false: not exact, and
 * nothing to free. */
static inline int crafted_random(uint64_t *state, mpk_scalar scalar, int graded, crafted *out) {
#define BELOW(m) ((int)(mpki_random_next(state) % (uint64_t)(m)))
    const int n = BELOW(3) ? 15 + BELOW(25) : 6 + BELOW(45), most = 1 + BELOW(8);
    const int w = most < n ? most : n - 1;
    const int c = BELOW(4) ? 1 + BELOW(60 / w) : (int)exp(BELOW(691) * 0.01);
    const int constant = BELOW(4), moved = !BELOW(8), zeros = BELOW(3) ? 0 : 1 + BELOW(2);
    double complex *l = calloc((size_t)(n * w) + 1, sizeof *l);
    int *d = calloc((size_t)n, sizeof *d), *p = calloc((size_t)n, sizeof *p);
    for (int i = 0; i < n; i++) d[i] = (1 + BELOW(3)) * (BELOW(2) ? 1 : -1);
    for (int k = 0; k < zeros; k++) d[BELOW(n)] = 0;
    for (int k = 0; k < n * w; k++) {
        const int re = constant ? -c : BELOW(2 * c + 1) - c;
        l[k] = re + (scalar >= MPK_C ? (BELOW(2 * c + 1) - c) * I : 0);
    }
    crafted plain;
    int exact = crafted_make(n, w, l, d, scalar, &plain);
    *out = plain;
    out->m = dense_new(n, scalar, plain.m.symmetry);
    for (int i = 0; i < n; i++) p[i] = i;
    for (int i = n - 1; moved && i > 0; i--) { /* another order hides the growth, mostly */
        const int j = BELOW(i + 1), kept = p[i];
        p[i] = p[j], p[j] = kept;
    }
    for (int i = 0; i < n; i++) d[i] = graded ? BELOW(41) - 20 : 0;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            const double complex x = dense_get(&plain.m, i, j) * ldexp(1, d[i] + d[j]);
            dense_set(&out->m, p[i], p[j], x);
        }
    free(plain.m.a), free(l), free(d), free(p);
    if (!exact) free(out->m.a);
    return exact;
#undef BELOW
}

enum { CRAFTED_WRONG = 3, CRAFTED_SINGULAR = 3 };

/* Whose inertia was certified and wrong when min |D| was compared with eps sqrt(n) growth; c = 9,
 * w = 3 for single precision. */
static inline crafted crafted_wrong(int which, mpk_scalar scalar) {
    static const int a[] = {-3, 3, -3, -2, -1, -1, -1, 2, 2, -1, -2, 3, -3, 2, 2, 2, 3, 3, 1, -2};
    static const int b[] = {-1, 2, -3, 2, -2, 1, -3, 3, -1, 2, -1, -1, -3, 1, -2, 3, 1, -1, -1};
    static const int c[] = {1, 2, -3, 1, 3, -1, -2, -3, -1, 3, 2, 2, -3, 2, 1, -3, 1, -3};
    static const int e[] = {-3, 2,  2,  -1, 3, -2, -2, -2, -2, -2, -3,
                            -1, -2, -3, -2, 3, -2, -2, -2, -2, -3};
    if (scalar == MPK_S || scalar == MPK_C) return crafted_band(21, 3, 9, e, scalar);
    return which == 0   ? crafted_band(20, 2, 35, a, scalar)
           : which == 1 ? crafted_band(19, 6, 3, b, scalar)
                        : crafted_band(18, 4, 5, c, scalar);
}

/* Exactly singular ones, whose factors have no zero pivot. */
static inline crafted crafted_singular(int which, mpk_scalar scalar) {
    static const int a[] = {-2, 2, -2, -1, -3, 3, 2, -1, -1, -2, 1, 2, -3, -1, 2, 1, 3, 0, -2, -1};
    static const int b[] = {3, -3, -1, -1, 2, -1, 2,  3, 3,  -2, -3,
                            1, 1,  -2, 3,  1, -3, -3, 0, -2, -3};
    static const int c[] = {3, 3, -3, 1, -1, 1, 3, -1, -3, -2, 2, -2, -2, 2, -1, 0, 3, 2};
    return which == 0   ? crafted_band(20, 2, 20, a, scalar)
           : which == 1 ? crafted_band(21, 3, 34, b, scalar)
                        : crafted_band(18, 6, 3, c, scalar);
}

#endif
