/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PIVOT_H
#define MPKI_PIVOT_H
/** The inverse of a 2x2 pivot D = [d11 op(d21); d21 d22], op = conjugation when Hermitian; scaled
 * by the off-diagonal entry, so that it overflows only where the result does (as LAPACK's sytf2
 * does it). */
#include "../core/precision.h"

typedef struct FN(pivot) {
    T i11, i21, i12, i22;
} FN(pivot);

static inline FN(pivot) FN(pivot_inverse)(T d11, T d21, T d22, int hermitian) {
    T o = t_inv(d21), oc = conj_if(hermitian, o);
    T e11 = t_mul(d11, oc), e22 = t_mul(d22, o); /* d11 / op(d21), d22 / d21 */
    T t = t_inv(t_mul(e11, e22) - t_make(1, 0)); /* d21 op(d21) / det */
    FN(pivot)
    p = {t_mul(t_mul(e22, t), oc), t_make(0, 0) - t_mul(t, oc), t_make(0, 0),
         t_mul(t_mul(e11, t), o)};
    if (hermitian) p.i11 = t_make(t_re(p.i11), 0), p.i22 = t_make(t_re(p.i22), 0);
    p.i12 = conj_if(hermitian, p.i21);
    return p;
}

#endif
