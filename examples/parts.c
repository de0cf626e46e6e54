/* SPDX-License-Identifier: BSD-3-Clause */
/** The parts of a factorization one by one: A^-1 = (S P^T L^-T) (D^-1) (L^-1 P S). Applied in turn
 * they solve A x = b; with |D| in the middle they would be a positive definite preconditioner. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>

int main(void) {
    /* zeros on the diagonal, 1, 2, 3 beside it: every pivot must be a 2x2 block */
    int64_t ap[] = {0, 1, 2, 3, 3};
    int32_t ai[] = {1, 2, 3};
    double ax[] = {1, 2, 3}, x[] = {2, 7, 16, 9}; /* A (1, 2, 3, 4)^T = (2, 7, 16, 9)^T */
    double d[8], logdet[3] = {0}, missed = 0;
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, 4, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, ax, NULL, &fac);
    if (!mpk_failed(status)) status = mpk_solve_part(ctx, fac, MPK_PART_L, 1, x, 4);
    if (!mpk_failed(status)) status = mpk_solve_part(ctx, fac, MPK_PART_D, 1, x, 4);
    if (!mpk_failed(status)) status = mpk_solve_part(ctx, fac, MPK_PART_LT, 1, x, 4);
    if (!mpk_failed(status)) status = mpk_get(ctx, fac, MPK_GET_D, d, sizeof d);
    if (!mpk_failed(status)) status = mpk_get(ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
    if (!mpk_failed(status)) {
        for (int i = 0; i < 4; i++) missed = fmax(missed, fabs(x[i] - (i + 1)));
        printf("x = (%.3f, %.3f, %.3f, %.3f)\n", x[0], x[1], x[2], x[3]);
        for (int i = 0; i < 4; i++)
            printf("D(%d,%d) = %.3f%s\n", i, i, d[2 * i],
                   d[2 * i + 1] != 0 ? ", the first of a 2x2 block" : "");
        printf("det A = %.3f\n", logdet[1] * exp(logdet[0])); /* = 9 */
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(missed < 1e-12) ||
           !(fabs(logdet[1] * exp(logdet[0]) - 9) < 1e-12);
}
