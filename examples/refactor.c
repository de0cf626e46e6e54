/* SPDX-License-Identifier: BSD-3-Clause */
/** One analysis, many factorizations: an interior-point method solves a KKT system in each step,
 * always with the same pattern. Here: minimise 1/2 ||x||^2 - c^T x with x_1 + ... + x_n = n/2 and x
 * >= 0, by the primal-dual method with a fixed centring. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>

enum { N = 200, ORDER = N + 1, NNZ = 2 * N + 1 };

/* The pattern: diagonal, then the dense last row; explicit zero in the corner. */
static void make_pattern(int64_t *ap, int32_t *ai) {
    for (int j = 0; j < N; j++) {
        ap[j] = 2 * j;
        ai[2 * j] = j;
        ai[2 * j + 1] = N;
    }
    ap[N] = 2 * N;
    ap[N + 1] = NNZ;
    ai[2 * N] = N;
}

int main(void) {
    static int64_t ap[ORDER + 1];
    static int32_t ai[NNZ];
    static double ax[NNZ], r[ORDER], d[ORDER], x[N], z[N], dz[N], c[N];
    double y = 0, mu = 1;
    int steps = 0;
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;

    make_pattern(ap, ai);
    for (int j = 0; j < N; j++) {
        c[j] = sin(j);
        x[j] = z[j] = 1;
        ax[2 * j] = ax[2 * j + 1] = 1;
    }
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, ORDER, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an); /* once */

    for (; !mpk_failed(status) && mu > 1e-12 && steps < 100; steps++) {
        double sum = 0, length = 1, centre = 0.2 * mu;
        for (int j = 0; j < N; j++) sum += x[j];
        for (int j = 0; j < N; j++) {
            ax[2 * j] = 1 + z[j] / x[j]; /* Hessian and barrier; the rest of A never changes */
            r[j] = c[j] - x[j] + y + centre / x[j];
        }
        r[N] = 0.5 * N - sum;
        status = mpk_factorize(ctx, an, ax, NULL, &fac); /* from the second time on: in place */
        if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, r, ORDER, d, ORDER, NULL, NULL);
        if (mpk_failed(status)) break;
        mpk_factor_info info;
        mpk_factor_info_get(fac, &info);
        if (info.inertia.negative != 1) break; /* one constraint: the step is a descent direction */
        for (int j = 0; j < N; j++) {
            dz[j] = (centre - z[j] * d[j]) / x[j] - z[j];
            if (d[j] < 0) length = fmin(length, -0.99 * x[j] / d[j]);
            if (dz[j] < 0) length = fmin(length, -0.99 * z[j] / dz[j]);
        }
        mu = 0;
        for (int j = 0; j < N; j++) {
            x[j] += length * d[j];
            z[j] += length * dz[j];
            mu += x[j] * z[j] / N;
        }
        y -= length * d[N];
    }

    double sum = 0;
    for (int j = 0; j < N; j++) sum += x[j];
    printf("%d factorizations, complementarity %.1e, constraint missed by %.1e\n", steps, mu,
           fabs(sum - 0.5 * N));
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(mu <= 1e-12) || !(fabs(sum - 0.5 * N) < 1e-8);
}
