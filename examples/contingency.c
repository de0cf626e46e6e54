/* SPDX-License-Identifier: BSD-3-Clause */
/** A contingency sweep: a network of conductances, and for each line the voltages without it. A line
 * is four entries of A, so a factorization of all of A does much that was done before; with
 * options.updates only the fronts between the line and the root are computed. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 60, N = SIDE * SIDE, LINES = 2 * SIDE * (SIDE - 1), NNZ = N + LINES, OUTAGES = 40 };

static int64_t ap[N + 1], entry_of[LINES]; /* of a line: its entry off the diagonal */
static int32_t ai[NNZ];
static double ax[NNZ], b[N], x[N];

/* The nodes of a square, each earthed a little; the lower triangle by columns. */
static void make_network(void) {
    int lines = 0;
    int64_t k = 0;
    for (int j = 0; j < N; j++) {
        ap[j] = k;
        ai[k] = j, ax[k++] += 1e-3;
        const int down = j % SIDE + 1 < SIDE ? j + 1 : -1, right = j + SIDE < N ? j + SIDE : -1;
        const int to[] = {down, right};
        for (int e = 0; e < 2; e++) {
            if (to[e] < 0) continue;
            entry_of[lines++] = k;
            ai[k] = to[e], ax[k++] = -(1 + 0.5 * sin(lines));
        }
    }
    ap[N] = k;
    for (int j = 0; j < N; j++)
        for (int64_t e = ap[j] + 1; e < ap[j + 1]; e++) ax[ap[j]] -= ax[e], ax[ap[ai[e]]] -= ax[e];
}

static int column_of(int64_t entry) {
    int j = 0;
    while (ap[j + 1] <= entry) j++;
    return j;
}

int main(void) {
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options options;
    mpk_factor_info info = {0};
    double redone = 0, worst = 0, highest = 0;

    make_network();
    b[0] = 1, b[N - 1] = -1;
    mpk_options_init(&options);
    options.updates = MPK_ON;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, &options, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, ax, &options, &fac);

    for (int k = 0; k < OUTAGES && !mpk_failed(status); k++) {
        const int64_t line = entry_of[k * (LINES / OUTAGES)];
        const int from = column_of(line), to = ai[line];
        const int64_t entry[] = {ap[from], ap[to], line};
        const double without[] = {ax[ap[from]] + ax[line], ax[ap[to]] + ax[line], 0};
        const double with[] = {ax[ap[from]], ax[ap[to]], ax[line]};
        mpk_solve_info solved;
        status = mpk_refactorize_entries(ctx, 3, entry, without, &options, fac);
        if (mpk_failed(status)) break;
        mpk_factor_info_get(fac, &info);
        redone += info.redone / OUTAGES;
        status = mpk_solve(ctx, fac, 1, b, N, x, N, &options, &solved);
        if (mpk_failed(status)) break;
        worst = fmax(worst, solved.componentwise);
        highest = fmax(highest, fabs(x[0] - x[N - 1]));
        status = mpk_refactorize_entries(ctx, 3, entry, with, &options, fac); /* back */
    }
    printf(
        "%d outages: %.0f %% of each factorization was computed, the rest kept (%.1f MB); largest "
        "drop %.3f V\n",
        OUTAGES, 100 * redone, (double)info.kept_bytes * 1e-6, highest);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !(worst <= 1e-14) || !(redone < 1);
}
