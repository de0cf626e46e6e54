/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ITERATE_H
#define MPKI_ITERATE_H
/** mpk_solve by a Krylov method, with the factor as preconditioner. */
#include "plan.h"

/** Do these options ask for a Krylov method with this factor? auto: with a direct factor no, it is
 *  refinement. */
bool mpki_wants_krylov(const mpk_factor *fac, const mpk_options *options);

/** Where the residuals of a Krylov method go, one for each iteration: of the right-hand side that
 *  took most iterations. */
typedef struct mpki_record {
    double *residual; /* size entries */
    int32_t size, count;
} mpki_record;

/** Each right-hand side from x = 0, judged; b and x apart in host memory. The outcome of the method
 *  is in the verdict. record NULL: not wanted.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _NUMERIC, _DEVICE, _CANCELLED */
mpk_status mpki_iterate(const mpki_columns *columns, mpki_found *found, mpki_record *record);

/** mpk_solve that also records the residuals; record NULL: not wanted. */
mpk_status mpki_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                      int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                      mpk_solve_info *info, mpki_record *record);

#endif
