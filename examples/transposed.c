/* SPDX-License-Identifier: BSD-3-Clause */
/** Where does it come from? Wind carries a pollutant over a square, and one instrument measures it.
 *  What it reads is m^T x with A x = b for sources b; that is w^T b with A^T w = m, so that one solve
 *  with the transpose tells what a source at each place contributes. Some are checked by solves of
 *  their own. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 120, SOURCES = 20 };

int main(void) {
    const int32_t instrument = (SIDE / 2) * SIDE + 3 * SIDE / 4;
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view view = {0};
    mpk_solve_info info = {0}, turned = {0};
    double *m = NULL, *w = NULL, *b = NULL, *x = NULL, worst = 0, most = 0;
    int32_t best = 0;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_generate(ctx, "convection 120 wind=circular", 1, &a);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(a, &view);
        m = calloc((size_t)view.n, sizeof *m);
        w = calloc((size_t)view.n, sizeof *w);
        b = calloc((size_t)view.n * SOURCES, sizeof *b);
        x = calloc((size_t)view.n * SOURCES, sizeof *x);
        if (!m || !w || !b || !x) status = MPK_ERR_MEMORY;
    }
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status)) {
        m[instrument] = 1;
        status =
            mpk_solve_transposed(ctx, fac, MPK_TRANSPOSE, 1, m, view.n, w, view.n, NULL, &turned);
    }
    if (!mpk_failed(status)) {
        for (size_t k = 0; k < SOURCES; k++) b[k * (size_t)view.n + 700 * k] = 1;
        status = mpk_solve(ctx, fac, SOURCES, b, view.n, x, view.n, NULL, &info);
    }
    if (!mpk_failed(status)) {
        for (int32_t i = 0; i < view.n; i++)
            if (i != instrument && w[i] > w[best]) best = i;
        for (size_t k = 0; k < SOURCES; k++) {
            worst = fmax(worst, fabs(x[k * (size_t)view.n + (size_t)instrument] - w[700 * k]));
            most = fmax(most, fabs(w[700 * k]));
        }
        printf("%d places, one solve with the transpose, backward error %.1e\n", view.n,
               turned.componentwise);
        printf("beside the instrument, a source in row %d, column %d counts most\n", best / SIDE,
               best % SIDE);
        printf("%d sources solved for one by one: off by %.1e of the largest\n", SOURCES,
               worst / most);
    } else
        fprintf(stderr, "%s\n", mpk_status_text(status));
    free(m), free(w), free(b), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(turned.componentwise < 1e-14) || !(worst <= 1e-10 * most);
}
