/* SPDX-License-Identifier: BSD-3-Clause */
/** How many eigenvalues lie below sigma? As many as K - sigma I has negative ones (Sylvester's law
 * of inertia). K is the chain of n springs, tridiagonal (-1, 2, -1), whose eigenvalues are known:
 *  4 sin^2(k pi / (2 (n + 1))), k = 1 .. n. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>

enum { N = 1000 };

int main(void) {
    static int64_t ap[N + 1];
    static int32_t ai[2 * N];
    static double ax[2 * N];
    const double sigmas[] = {0.1, 1, 2.5, 3.9}, pi = 3.14159265358979323846;
    int wrong = 0;
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    int64_t nnz = 0;
    for (int32_t j = 0; j < N; j++) {
        ai[nnz] = j;
        ax[nnz++] = 2;
        if (j + 1 < N) {
            ai[nnz] = j + 1;
            ax[nnz++] = -1;
        }
        ap[j + 1] = nnz;
    }
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    for (int k = 0; k < 4 && !mpk_failed(status); k++) {
        for (int32_t j = 0; j < N; j++) ax[ap[j]] = 2 - sigmas[k]; /* the diagonal comes first */
        status = mpk_factorize(ctx, an, ax, NULL, &fac);
        if (mpk_failed(status)) break;
        mpk_factor_info info;
        mpk_certificate found;
        status = mpk_certify(ctx, fac, &found); /* could rounding have changed a sign? */
        if (mpk_failed(status)) break;
        mpk_factor_info_get(fac, &info);
        int below = 0;
        for (int i = 1; i <= N; i++) below += 4 * pow(sin(i * pi / (2 * (N + 1))), 2) < sigmas[k];
        printf("below %.1f: %d eigenvalues (%s), by the formula %d\n", sigmas[k],
               (int)info.inertia.negative, found.certified ? "certified" : "not certified", below);
        wrong += info.inertia.negative != below;
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || wrong;
}
