/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_DENSE_BAND_H
#define MPKI_CPU_DENSE_BAND_H
/** T of Aasen's method. `extra` holds, for each block J of nb rows, -T(J,J), -T(J+1,J) and
 *  -T(J,J+1), nb x nb each; then the band LU of T, 3 nb + 1 entries a column, in the form of
 *  xGBTRF. The pivots of that LU are the second n of the factor's pivots. */
#include "host.h"

/** The LU with partial pivoting of the band, as far as its blocks are known. */
typedef struct FN(band) {
    T *ab;
    int64_t reach, done, zeros; /* last column touched, columns eliminated, zero pivots */
    R most, check;              /* of T: max |.|; check is not 0 where NaN or Inf was met */
    R zero;                     /* a pivot of at most this is zero */
} FN(band);
void FN(band_begin)(const mpki_dense_call *call, const FN(lower) * s, FN(band) * band, int32_t nb);
/** The blocks before J are known: spread block column J-1 of T, and eliminate the columns that are
 *  then complete. To be called for J = 0, 1, ... in this order, by one thread at a time. */
void FN(band_follow)(const mpki_dense_call *call, FN(band) * band, int32_t nb, int64_t j);
/** Finish the LU; fills growth, max |L| and zero pivots in call->info. Returns MPK_OK |
 *  MPK_SINGULAR | MPK_ERR_NUMERIC. */
mpk_status FN(band_finish)(mpki_dense_call *call, const FN(lower) * s, FN(band) * band, int32_t nb);
/** X := T^-1 X; zero pivots give zeros. */
void FN(band_solve)(const mpki_dense_call *call, int32_t nb, int32_t nrhs, T *x, int64_t ldx);

/** Inertia of T, which is that of A (Sylvester): T is eliminated block by block, as a chain of
 *  fronts with threshold pivoting; columns that fail go on to the next block. */
int64_t FN(band_inertia_bytes)(int32_t nb);
mpk_status FN(band_inertia)(mpki_dense_call *call, int32_t nb, mpk_inertia *inertia);

#endif
