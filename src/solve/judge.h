/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_JUDGE_H
#define MPKI_JUDGE_H
/** What a solution is worth, whatever made it: refinement, or a Krylov method. Errors are small for
 *  whatever a singular A takes to nothing, so where b hardly counts beside A x it is asked whether
 *  x is such a vector. */
#include "../factor/factor.h"
#include "../factor/refine.h"

/** Of all right-hand sides of a solve. */
typedef struct mpki_verdict {
    double eta;    /* finite: (A + E) v = 0 with |E| <= eta |A|, v being x or its large entries */
    bool doubtful; /* an x is no solution, and pivots are zero or were replaced */
    bool unsure;   /* an x is so large, or a step of refinement, that A may be singular, and no
                      certificate says that it is not */
    bool solved;   /* every x solves its system (mpki_solves) */
    bool iterated; /* by a Krylov method, and how that ended: */
    mpk_status outcome;                /* the worst: MPK_OK | MPK_INACCURATE, _NOT_CONVERGED */
    char message[MPKI_KRYLOV_MESSAGE]; /* its text */
} mpki_verdict;
#define MPKI_VERDICT ((mpki_verdict){.eta = INFINITY, .solved = true})

/** ||A|| ||x|| / ||b|| from which on b hardly counts beside A x. */
double mpki_large_growth(mpk_scalar scalar);
/** What b must have in rows that x does not resolve, beside the largest of b, for the same. */
double mpki_lost_rows(mpk_scalar scalar);

/** Is a first step of refinement (mpk_solve_info.correction) so large that the factor is in doubt? */
bool mpki_large_step(double correction);

/** Does the verdict on a solution with these errors, by refinement, need the solution itself? */
bool mpki_judge_looks(const mpk_factor *fac, const mpki_quality *q);

/** Judge one more solution.
 *  work [inout] of fac, with the errors of x in work->last, and its correction; its r, w, b, x and sums
 *               are overwritten. Without mpki_judge_looks() these two are all that is read
 *  x    [in]    n; NULL without mpki_judge_looks()
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_judge(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                      double accuracy, const void *x, mpki_verdict *verdict);

/** The part of that which a first step of refinement decides: errors are small, but was the step so
 *  large that A may be singular? Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_judge_step(mpk_context *ctx, const mpk_factor *fac, double correction,
                           mpki_verdict *verdict);

/** The status and the text of the solve that they are of. */
mpk_status mpki_tell_verdict(mpk_context *ctx, const mpk_factor *fac, const mpk_solve_info *info,
                             double accuracy, const mpki_verdict *verdict);

#endif
