/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BATCH_PIVOT_H
#define MPKI_CPU_BATCH_PIVOT_H
/** A 2x2 pivot D = [d11 op(d21); d21 d22] of the batched kernels, op = conjugation when Hermitian.
 * It is inverted after division by its largest entry, which serves pivots given from outside as
 * well, where d21 may be 0. */
#include "core/precision.h"

typedef struct FN(two) {
    T i11, i21, i12, i22; /* D^-1 */
    R det;                /* of D / scale, real part: gives the signs of real and Hermitian D */
    int regular;          /* the determinant is well above its own rounding errors */
} FN(two);

static inline FN(two) FN(two_invert)(T d11, T d21, T d22, int hermitian) {
    R m = t_abs1(d11);
    if (t_abs1(d21) > m) m = t_abs1(d21);
    if (t_abs1(d22) > m) m = t_abs1(d22);
    FN(two) z = {0};
    if (!(m > 0) || !(m <= (R)(sizeof(R) == 4 ? FLT_MAX : DBL_MAX))) return z;
    T s = t_make(1 / m, 0);
    T e11 = t_mul(d11, s), e21 = t_mul(d21, s), e22 = t_mul(d22, s), e12 = conj_if(hermitian, e21);
    T x = t_mul(e11, e22), y = t_mul(e21, e12), det = x - y;
    z.det = t_re(det);
    z.regular = t_abs1(det) > 4 * R_EPS * (t_abs1(x) + t_abs1(y));
    if (!z.regular) return z;
    T f = t_mul(t_inv(det), s);
    z.i11 = t_mul(e22, f), z.i22 = t_mul(e11, f);
    z.i21 = t_make(0, 0) - t_mul(e21, f), z.i12 = t_make(0, 0) - t_mul(e12, f);
    return z;
}

#endif
