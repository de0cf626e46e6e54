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

/** How far a solve has come, in cycles of FGMRES: each begins from the residual of the one
 *  before. */
typedef struct mpki_fgmres_cycle {
    int32_t iterations;     /* of the solve so far */
    int32_t steps;          /* of this cycle, with the present factor */
    const double *residual; /* steps entries: after each, relative to what the cycle began with */
    double scale;           /* that, relative to b */
    double wanted;          /* of residual, what ends the cycle */
} mpki_fgmres_cycle;

/** A preconditioner that becomes another one while FGMRES iterates, which it may (Saad 1993). */
typedef struct mpki_refiner {
    void *self;
    const void *start; /* n x nrhs: solutions to begin with; NULL: 0 */
    /* Is the factor to be made anew now? Asked before each application by FGMRES on the host; NULL:
     * never */
    bool (*wants)(void *self, const mpki_fgmres_cycle *cycle);
    /* Make it anew, in place: nothing of it is in use.
     * Returns MPK_OK or above: the factor can be applied */
    mpk_status (*refactor)(void *self);
} mpki_refiner;

/** Each right-hand side from x = 0 or refiner->start, judged; b and x apart in host memory. The outcome of the method
 *  is in the verdict. record, refiner NULL: not wanted.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _NUMERIC, _DEVICE, _CANCELLED */
mpk_status mpki_iterate(const mpki_columns *columns, mpki_found *found, mpki_record *record,
                        const mpki_refiner *refiner);

/** mpk_solve that also records the residuals, and may refine its factor. */
mpk_status mpki_solve_refining(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                               int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                               mpk_solve_info *info, mpki_record *record,
                               const mpki_refiner *refiner);
/** The same without. */
mpk_status mpki_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                      int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                      mpk_solve_info *info, mpki_record *record);

#endif
