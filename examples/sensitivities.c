/* SPDX-License-Identifier: BSD-3-Clause */
/** Power-flow distribution factors: how much of what is sent from bus s to bus t flows over line l?
 *  In a network of lines with susceptances y the flow is y (theta_i - theta_j), with B theta = e_s
 *  - e_t; so two rows of theta, of a right-hand side with two entries, are all that is asked for.
 *  The network is a grid of SIDE x SIDE buses, one of which is held at angle 0; the transactions
 *  are all of bus to a neighbour of a diagonal, the line is one in the middle. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 120, N = SIDE * SIDE, CASES = 100 };

static mpk_status network(mpk_context *ctx, mpk_problem **a) {
    static int64_t ap[N + 1];
    static int32_t ai[3 * N];
    static double ax[3 * N];
    int64_t nnz = 0;
    for (int32_t j = 0; j < N; j++) {
        const int x = j % SIDE, y = j / SIDE;
        const double right = 1 + x % 3, up = 1 + y % 4; /* to the neighbours after j */
        ai[nnz] = j, ax[nnz++] = (x + 1 < SIDE ? right : 0) + (x > 0 ? 1 + (x - 1) % 3 : 0) +
                                 (y + 1 < SIDE ? up : 0) + (y > 0 ? 1 + (y - 1) % 4 : 0) +
                                 (j == 0 ? 1e3 : 0); /* held */
        if (x + 1 < SIDE) ai[nnz] = j + 1, ax[nnz++] = -right;
        if (y + 1 < SIDE) ai[nnz] = j + SIDE, ax[nnz++] = -up;
        ap[j + 1] = nnz;
    }
    return mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, a);
}

int main(void) {
    static int64_t ptr[CASES + 1];
    static int32_t bus[2 * CASES];
    static double sent[2 * CASES], theta[2 * CASES], all[N];
    const int32_t line[] = {SIDE / 2 * SIDE + SIDE / 2, SIDE / 2 * SIDE + SIDE / 2 + 1};
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_sparse_info info = {0};
    double most = 0, apart = 0;
    int most_at = 0;
    for (int k = 0; k < CASES; k++) {
        const int32_t from = (k + 1) * SIDE + k + 1;
        bus[2 * k] = from, sent[2 * k] = 1;
        bus[2 * k + 1] = from + 1, sent[2 * k + 1] = -1;
        ptr[k + 1] = 2 * (k + 1);
    }
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) status = network(ctx, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status))
        status = mpk_solve_sparse(ctx, fac, CASES, ptr, bus, sent, 2, line, MPK_SPARSE_ROWS, theta,
                                  2, &info);
    for (int k = 0; k < CASES; k++) {
        const double flow = (1 + SIDE / 2 % 3) * (theta[2 * k] - theta[2 * k + 1]);
        if (fabs(flow) > fabs(most)) most = flow, most_at = k;
    }
    /* one of them in all rows, refined */
    all[bus[2 * most_at]] = 1, all[bus[2 * most_at + 1]] = -1;
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, all, N, all, N, NULL, NULL);
    for (int i = 0; i < 2; i++) apart = fmax(apart, fabs(all[line[i]] - theta[2 * most_at + i]));
    printf("the line bears most, %.3f, of what bus %d sends to %d\n", most, bus[2 * most_at],
           bus[2 * most_at + 1]);
    printf("%.0f %% of L read for each of %d; backward error in the rows of the line %.1e\n",
           100 * info.share, CASES, info.rows);
    printf("a solve in all rows differs by %.1e\n", apart);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(apart < 1e-10) || !(info.share < 0.5);
}
