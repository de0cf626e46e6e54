/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_PAIR_T_H
#define MPKI_CPU_MULTIFRONTAL_PAIR_T_H
/** A pivot of order 2 and two rows: the same sums wherever D is applied. Included by files that are
 *  compiled once for each scalar type. */
#include "engines/cpu/isa/cpu.h"

/* (x, y) := D (x, y), d [in] the pivot's four numbers of D or D^-1 */
static inline void times_pair(const T *d, int hermitian, T *x, T *y) {
    const T a = *x, b = *y, off = d[1];
    *x = t_mul(d[0], a) + t_mul(conj_if(hermitian, off), b);
    *y = t_mul(off, a) + t_mul(d[2], b);
}

#endif
