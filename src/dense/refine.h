/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_REFINE_H
#define MPKI_DENSE_REFINE_H
/** From a factorization to a solution with its errors, at any place. */
#include "methods.h"

/** A solve on its way: the place's table, the call (dense and f settled), and where the work lies.
 */
typedef struct mpki_dense_solve {
    const mpki_dense_methods *place;
    mpki_dense_call call; /* work: of the method's solve slot */
    char *work;           /* the rest: mpki_dense_solve_bytes */
    double norm_inf;      /* ||A||_inf; needed where a is given */
} mpki_dense_solve;

/** Bytes of `work` beside the slot's own. */
int64_t mpki_dense_solve_bytes(const mpki_dense_methods *place, const mpki_dense_call *call,
                               int32_t nrhs);

/** X := A^-1 B, refined where call.a is given; all but nothing of it overlaps. Fills info's errors.
 *  MPK_OK, MPK_INACCURATE, or a failure of the place. */
mpk_status mpki_dense_refined(mpki_dense_solve *s, int32_t nrhs, const void *b, int64_t ldb,
                              void *x, int64_t ldx);

/** ||A||_1 ||A^-1||_1 by Hager's method. */
mpk_status mpki_dense_condition(mpki_dense_solve *s, double *condition);

#endif
