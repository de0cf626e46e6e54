/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_PIVOT_H
#define MPKI_BLOCK_PIVOT_H
/** 2x2 pivots E = [e11 e12; e21 e22], symmetric or Hermitian: eigenvalues, floors, moduli. Complex
 * symmetric ones have singular values in place of the moduli of eigenvalues. */
#include "pivot.h"
#include <float.h>

static inline int FN(pivot_finite)(T x) {
    return t_abs1(x) <= (sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX);
}

static inline T FN(pivot_over)(T x, R s) {
    return t_make(t_re(x) / s, t_im(x) / s);
}
static inline T FN(pivot_times)(T x, R s) {
    return t_make(t_re(x) * s, t_im(x) * s);
}

/** E := |E| = (E^H E)^(1/2). Real or Hermitian: by Cayley and Hamilton, E^2 = (tr E) E - det, which
 * avoids unnecessary squares. */
static inline void FN(pivot_modulus)(T *e11, T *e21, T *e12, T *e22, int hermitian) {
    R s = t_abs1(*e11);
    s = t_abs1(*e21) > s ? t_abs1(*e21) : s;
    s = t_abs1(*e22) > s ? t_abs1(*e22) : s;
    if (!(s > 0)) return;
    T a = FN(pivot_over)(*e11, s), o = FN(pivot_over)(*e21, s), c = FN(pivot_over)(*e22, s);
    if (hermitian || !MPKI_COMPLEX) {
        R x = t_re(a), y = t_re(c), oo = t_re(o) * t_re(o) + t_im(o) * t_im(o);
        R trace = x + y, det = x * y - oo;
        R f = trace < 0 ? -1 : 1, g = 0;
        if (det < 0) {
            R root = r_sqrt(trace * trace - 4 * det);
            f = trace / root, g = -2 * det / root;
        }
        *e11 = t_make(s * (x * f + g), 0), *e22 = t_make(s * (y * f + g), 0);
        *e21 = FN(pivot_times)(o, s * f), *e12 = t_conj(*e21);
        return;
    }
    R h11 = t_re(t_mul(t_conj(a), a)) + t_re(t_mul(t_conj(o), o));
    R h22 = t_re(t_mul(t_conj(o), o)) + t_re(t_mul(t_conj(c), c));
    T h21 = t_mul(t_conj(o), a) + t_mul(t_conj(c), o);
    R det = t_abs(t_mul(a, c) - t_mul(o, o)), root = r_sqrt(h11 + h22 + 2 * det);
    *e11 = t_make(s * (h11 + det) / root, 0), *e22 = t_make(s * (h22 + det) / root, 0);
    *e21 = FN(pivot_times)(h21, s / root), *e12 = t_conj(*e21);
}

/** Eigenvalues of [a conj(o); o c], |large| >= |small|; o by its modulus. The smaller one from the
 * determinant, so that the larger one and the trace do not cancel. */
static inline void FN(pivot_eigen)(R a, R o, R c, R *large, R *small) {
    R mean = (a + c) / 2, r = r_hypot((a - c) / 2, o);
    *large = mean < 0 ? mean - r : mean + r;
    *small = *large != 0 ? a / *large * c - o / *large * o : 0;
}

/** Singular values of the complex symmetric [a o; o c]. */
static inline void FN(pivot_singular)(T a, T o, T c, R *large, R *small) {
    R s = t_abs1(a);
    s = t_abs1(o) > s ? t_abs1(o) : s;
    s = t_abs1(c) > s ? t_abs1(c) : s;
    *large = *small = 0;
    if (!(s > 0)) return;
    a = FN(pivot_over)(a, s), o = FN(pivot_over)(o, s), c = FN(pivot_over)(c, s);
    R det = t_abs(t_mul(a, c) - t_mul(o, o));
    R aa = t_abs(a), oo = t_abs(o), cc = t_abs(c), sum = aa * aa + 2 * oo * oo + cc * cc;
    R under = (sum - 2 * det) * (sum + 2 * det);
    R top = r_sqrt((sum + r_sqrt(under > 0 ? under : 0)) / 2);
    *large = s * top, *small = s * (det / top);
}

#endif
