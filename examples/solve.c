/* SPDX-License-Identifier: BSD-3-Clause */
/** Minimise 2 x^2 + 1.5 y^2 + z^2 with x + y + z = 6 and y - z = -1: the KKT system
 *  [H A^T; A 0] [x; lambda] = [0; b] is symmetric and indefinite. */
#include <metapack/metapack.h>
#include <stdio.h>

int main(void) {
    int64_t ap[] = {0, 2, 5, 8, 8, 8}; /* the lower triangle by columns, counted from 0 */
    int32_t ai[] = {0, 3, 1, 3, 4, 2, 3, 4};
    double ax[] = {4, 1, 3, 1, 1, 2, 1, -1}, b[] = {0, 0, 0, 6, -1}, x[5];
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_solve_info answer = {0};
    mpk_factor_info factor = {0};
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, 5, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, ax, NULL, &fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, 5, x, 5, NULL, &answer);
    if (!mpk_failed(status)) {
        mpk_factor_info_get(fac, &factor);
        printf("x = %.4f, y = %.4f, z = %.4f\n", x[0], x[1], x[2]);
        printf("%d positive, %d negative eigenvalues\n", (int)factor.inertia.positive,
               (int)factor.inertia.negative);
        printf("backward error %.1e\n", answer.componentwise);
    } else
        fprintf(stderr, "%s\n", mpk_status_text(status));
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    /* three variables and two constraints: the minimum is one exactly if the inertia is (3, 2, 0)
     */
    return mpk_failed(status) || factor.inertia.negative != 2 || !(answer.componentwise < 1e-15);
}
