/* SPDX-License-Identifier: BSD-3-Clause */
/** A system that is not symmetric. What states of a random walk does it stay in, in the long run?
 *  The stationary distribution p has P^T p = p with sum 1: all equations of (P^T - I) p = 0 but the
 *  last, which gives way to the sum. The walk is on 0 .. n-1, a step up with probability UP, down
 *  otherwise, so that p_i is proportional to (UP / (1 - UP))^i. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>

enum { N = 50 };
static const double UP = 0.6;

int main(void) {
    int32_t rows[4 * N], cols[4 * N];
    double values[4 * N], b[N] = {0}, p[N];
    int64_t nnz = 0;
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options options;
    mpk_solve_info info;
    for (int j = 0; j < N; j++) { /* column j: where the walk goes from state j; -1 for I */
        const int to[] = {j + 1 < N ? j + 1 : j, j > 0 ? j - 1 : j, j};
        const double part[] = {UP, 1 - UP, -1};
        for (int k = 0; k < 3; k++) {
            if (to[k] == N - 1) continue;
            rows[nnz] = to[k], cols[nnz] = j, values[nnz++] = part[k]; /* duplicates are summed */
        }
        rows[nnz] = N - 1, cols[nnz] = j, values[nnz++] = 1;
    }
    b[N - 1] = 1;
    mpk_options_init(&options); /* method auto: a complete LDU on blocks, under GMRES */
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_triplets(ctx, N, MPK_D, MPK_GENERAL, MPK_FULL, nnz, rows, cols,
                                           values, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, &options, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &options, &fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, N, p, N, &options, &info);
    double wrong = 0;
    const double ratio = UP / (1 - UP), last = (1 - 1 / ratio) / (1 - pow(ratio, -N));
    for (int i = 0; i < N && !mpk_failed(status); i++)
        wrong = fmax(wrong, fabs(p[i] - last * pow(ratio, i - N + 1)));
    if (!mpk_failed(status))
        printf("in state %d: %.6f of the time; backward error %.1e, %d iterations, wrong by %.1e\n",
               N - 1, p[N - 1], info.componentwise, info.krylov.iterations, wrong);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(wrong <= 1e-12);
}
