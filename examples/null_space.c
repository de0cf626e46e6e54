/* SPDX-License-Identifier: BSD-3-Clause */
/** A body that floats: a strip of springs that nothing holds. Its three motions as a rigid body are
 *  the kernel of K. They are known here, and checked; then searched for, and found. Loads that are
 *  not in balance have no solution K u = f: of all displacements that leave the least of them the
 *  shortest is asked for. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 20, HIGH = 4, NODES = LONG * HIGH, N = 2 * NODES, MOTIONS = 3 };

static double k[N][N];

static void spring(int p, int q) {
    const double d[2] = {p % LONG - q % LONG, p / LONG - q / LONG};
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            k[2 * p + a][2 * p + b] += d[a] * d[b];
            k[2 * q + a][2 * q + b] += d[a] * d[b];
            k[2 * p + a][2 * q + b] -= d[a] * d[b];
            k[2 * q + a][2 * p + b] -= d[a] * d[b];
        }
}

static mpk_status strip(mpk_context *ctx, mpk_problem **a) {
    static int64_t ap[N + 1];
    static int32_t ai[N * 20];
    static double ax[N * 20];
    for (int p = 0; p < NODES; p++)
        for (int q = 0; q < p; q++)
            if (abs(p % LONG - q % LONG) < 2 && abs(p / LONG - q / LONG) < 2) spring(p, q);
    for (int j = 0; j < N; j++) {
        ap[j + 1] = ap[j];
        for (int i = j; i < N; i++)
            if (k[i][j] != 0) ai[ap[j + 1]] = i, ax[ap[j + 1]++] = k[i][j];
    }
    return mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, a);
}

int main(void) {
    static double motions[N * MOTIONS], found[N * (MOTIONS + 1)], f[N], u[N];
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_null_info known = {0}, searched = {0};
    mpk_minimum_norm_info solved = {0};
    for (int p = 0; p < NODES; p++) {
        motions[2 * p] = 1;
        motions[N + 2 * p + 1] = 1;
        motions[2 * N + 2 * p] = -(p / LONG);
        motions[2 * N + 2 * p + 1] = p % LONG;
    }
    f[2 * (LONG - 1) + 1] = -1; /* it would fly away */
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) status = strip(ctx, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status)) /* are they of the kernel, and all of it? */
        status = mpk_null_space(ctx, fac, MOTIONS, MOTIONS, 1, motions, N, NULL, &known);
    if (!mpk_failed(status))
        status = mpk_null_space(ctx, fac, 0, MOTIONS + 1, 1, found, N, NULL, &searched);
    if (!mpk_failed(status))
        status =
            mpk_solve_minimum_norm(ctx, fac, MOTIONS, motions, N, 1, f, N, u, N, NULL, &solved);
    printf("given: %d motions, eta at most %.1e; %s\n", known.dimension, known.eta,
           known.certified ? "there are no others" : "there may be others");
    printf("found: %d\n", searched.dimension);
    printf("of f %.0f %% moves the strip, the rest bends it; residual of that %.1e\n",
           100 * solved.outside, solved.residual);
    if (mpk_failed(status)) {
        const char *text;
        mpk_last_error(ctx, NULL, NULL, &text);
        printf("%s\n", text);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || known.dimension != MOTIONS || searched.dimension != MOTIONS ||
           !(solved.residual < 1e-12);
}
