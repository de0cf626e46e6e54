/* SPDX-License-Identifier: BSD-3-Clause */
/** Variances of a Gaussian Markov field: a normal distribution is given by its precision matrix Q,
 *  and the variances are the diagonal of Q^-1. Q is that of temperatures on an N x N grid, each the
 *  mean of its neighbours up to noise, which thermometers at some places know better. All variances
 *  together take about two factorizations; beside them three that a solve has found. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 100, CELLS = N * N };

/* Q: each pair of neighbours differs by noise of variance 1, a thermometer's of variance 0.01; by
 * columns, lower triangle. */
static void precision(int64_t *ap, int32_t *ai, double *ax) {
    int64_t nnz = 0;
    for (int32_t j = 0; j < CELLS; j++) {
        const int x = j % N, y = j / N;
        const int neighbours = (x > 0) + (x + 1 < N) + (y > 0) + (y + 1 < N);
        const int thermometer = x % 25 == 12 && y % 25 == 12;
        ai[nnz] = j, ax[nnz++] = neighbours + (thermometer ? 100 : 0);
        if (x + 1 < N) ai[nnz] = j + 1, ax[nnz++] = -1;
        if (y + 1 < N) ai[nnz] = j + N, ax[nnz++] = -1;
        ap[j + 1] = nnz;
    }
}

int main(void) {
    static int64_t ap[CELLS + 1];
    static int32_t ai[3 * CELLS];
    static double ax[3 * CELLS], variance[CELLS], x[CELLS];
    const int32_t places[] = {12 * N + 12, 25 * N + 25,
                              0}; /* at a thermometer, between, the corner */
    double worst = 0;
    mpk_context *ctx = NULL;
    mpk_problem *q = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_selected_info info = {0};
    precision(ap, ai, ax);
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, CELLS, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &q);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, q, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status))
        status = mpk_selected_inverse(ctx, fac, MPK_SELECT_DIAGONAL, variance, sizeof variance,
                                      NULL, &info);
    for (int k = 0; k < 3 && !mpk_failed(status); k++) {
        const int32_t i = places[k];
        for (int32_t j = 0; j < CELLS; j++) x[j] = j == i;
        status = mpk_solve(ctx, fac, 1, x, CELLS, x, CELLS, NULL, NULL);
        if (mpk_failed(status)) break;
        printf("standard deviation at (%2d, %2d): %.6f, by a solve %.6f\n", i % N, i / N,
               sqrt(variance[i]), sqrt(x[i]));
        worst = fmax(worst, fabs(variance[i] / x[i] - 1));
    }
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) printf("variances: %s\n", text);
    printf("%d variances: the diagonal of Q Q^-1 is off by %.0e\n", CELLS, info.deviation);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&q);
    mpk_context_destroy(&ctx);
    return status != MPK_OK || worst > 1e-10;
}
