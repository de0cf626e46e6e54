/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_APPLY_H
#define MPKI_APPLY_H
/** A factor of any form as an operator: X := M^-1 B, or a part of that. */
#include "factor.h"

/** What the applications of one solve share; made once for each solve. */
typedef struct mpki_application {
    mpk_context *ctx;
    const mpk_factor *fac;
    void *work;      /* the form's own */
    bool transposed; /* MPK_PART_ALL is M^-T: of a form that has it */
} mpki_application;

/** Refuses MPK_PART_ABS of an unsymmetric factor: MPK_ERR_UNSUPPORTED. */
mpk_status mpki_no_absolute(mpk_context *ctx);

/** Prepare applications.
 *  threads [in] >= 1: how many they may use, of the context's pool
 *  columns [in] >= 1: most right-hand sides given at once
 *  a [out] empty after a failure
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_apply_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                           mpki_application *a);
void mpki_apply_free(mpki_application *a);

/** Let the vectors between two parts be in the order that mpk_get() has, for mpk_solve_part().
 *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
mpk_status mpki_apply_by_pivots(mpki_application *a);

/** X := the part applied to B, without refinement. MPK_PART_ALL is M^-1; ABS is the same with |D|,
 *  formed by the eigenvalues of its 2x2 blocks, so that M is positive semidefinite; L, D, LT as in
 *  mpk_solve_part(). Zero pivots give 0.
 *  b, x [in, out] n x nrhs, ldb, ldx >= n, the factor's scalar type, in the engine's memory; b == x
 *  is allowed
 *  Returns MPK_OK | MPK_ERR_UNSUPPORTED (ABS of a complex symmetric or an unsymmetric factor). */
mpk_status mpki_apply(mpki_application *a, mpk_part part, int32_t nrhs, const void *b, int64_t ldb,
                      void *x, int64_t ldx);

#endif
