/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_APPLY_H
#define MPKI_DENSE_APPLY_H
/** Applications of factors, for refinement, the condition and certificates. */
#include "refine.h"

enum { MPKI_DENSE_KRYLOV = 20 }; /* vectors of a cycle of GMRES */

/** The work of a solve, cut. */
typedef struct mpki_dense_parts {
    /* a column for each right-hand side of a block: solutions that are refined, their right-hand
     * sides, residuals, the best solutions so far, and what is rounded */
    char *x, *b, *r, *best, *low;
    char *keep; /* a column for each right-hand side of the call: copies */
    char *basis, *residual;
    int64_t ld, column; /* entries and bytes of a column of working precision */
} mpki_dense_parts;

mpki_dense_parts mpki_dense_cut(const mpki_dense_solve *s, int32_t nrhs);
/** y := 2^exponent y, in two steps, since the power alone may be beyond the type's range */
mpk_status mpki_dense_shift(mpki_dense_solve *s, int exponent, char *y, int64_t ldy);
/** Have the factors less than working precision? */
bool mpki_dense_low(const mpki_dense_call *call);
/** Y := M^-1 Y with the factors M, nrhs <= MPKI_DENSE_TOGETHER columns of working precision;
 *  sizes[c]: about the largest entry of column c */
mpk_status mpki_dense_precondition(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t nrhs,
                                   char *y, int64_t ldy, const double *sizes);

#endif
