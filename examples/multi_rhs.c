/* SPDX-License-Identifier: BSD-3-Clause */
/** Many right-hand sides at once: columns of the inverse of a discrete Helmholtz operator, checked
 * against its symmetry: (A^-1)_ij = (A^-1)_ji. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NRHS = 16 };

int main(void) {
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view view = {0};
    mpk_solve_info info = {0};
    double *b = NULL, *x = NULL, asymmetry = 0, largest = 0;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) status = mpk_problem_generate(ctx, "helmholtz 2d 40 0.3", 1, &a);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(a, &view);
        b = calloc((size_t)view.n * NRHS, sizeof *b);
        x = calloc((size_t)view.n * NRHS, sizeof *x);
        if (!b || !x) status = MPK_ERR_MEMORY;
    }
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status)) {
        for (int k = 0; k < NRHS; k++) b[(size_t)k * (size_t)view.n + 7 * (size_t)k] = 1;
        status = mpk_solve(ctx, fac, NRHS, b, view.n, x, view.n, NULL, &info);
    }
    if (!mpk_failed(status)) {
        for (int i = 0; i < NRHS; i++) {
            for (int j = 0; j < NRHS; j++) {
                double xij = x[(size_t)j * (size_t)view.n + 7 * (size_t)i];
                double xji = x[(size_t)i * (size_t)view.n + 7 * (size_t)j];
                asymmetry = fmax(asymmetry, fabs(xij - xji));
                largest = fmax(largest, fabs(xij));
            }
        }
        printf("n = %d, %d right-hand sides, worst backward error %.1e\n", view.n, NRHS,
               info.componentwise);
        printf("symmetry of the inverse missed by %.1e of its largest entry\n",
               asymmetry / largest);
    } else
        fprintf(stderr, "%s\n", mpk_status_text(status));
    free(b);
    free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(info.componentwise < 1e-14) || !(asymmetry <= 1e-10 * largest);
}
