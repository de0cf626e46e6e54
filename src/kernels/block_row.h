/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_ROW_H
#define MPKI_BLOCK_ROW_H
/** Rows of work blocks: whole vectors, padding included. */
#include "blocks.h"
#include "vector.h"

#define ENTRIES (LANES / PARTS) /* entries in a vector */

/** x * a */
INLINE vec FN(v_scaled)(vec x, T a) {
#if MPKI_COMPLEX
    return x * v_all(t_re(a)) + v_times_i(x) * v_all(t_im(a));
#else
    return x * v_all(a);
#endif
}

/** The conjugate of each entry, if asked. */
INLINE vec FN(v_conj_if)(int conjugate, vec x) {
    vec sign;
    for (int k = 0; k < LANES; k++) sign[k] = PARTS == 2 && k % 2 ? (R)-1 : (R)1;
    return PARTS == 2 && conjugate ? x * sign : x;
}

/** y -= a x over the vectors that hold entries from .. to-1 */
INLINE void FN(row_minus)(int from, int to, T *y, T a, const T *x) {
    for (int k = from / ENTRIES * ENTRIES; k < to; k += ENTRIES)
        v_store((R *)(y + k), v_load((R *)(y + k)) - FN(v_scaled)(v_load((const R *)(x + k)), a));
}

/** y -= a x + b z, likewise */
INLINE void FN(row_minus2)(int from, int to, T *y, T a, const T *x, T b, const T *z) {
    for (int k = from / ENTRIES * ENTRIES; k < to; k += ENTRIES)
        v_store((R *)(y + k), v_load((R *)(y + k)) - FN(v_scaled)(v_load((const R *)(x + k)), a) -
                                  FN(v_scaled)(v_load((const R *)(z + k)), b));
}

#endif
