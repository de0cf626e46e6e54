/* SPDX-License-Identifier: BSD-3-Clause */
/** A primal active-set method whose working set changes 200 times around one factorization: minimise
 * 1/2 x^T H x - c^T x with sum_i x_i = 0 and |x_i| <= 1, H being the Laplacian of a cube. The
 * constraint is a row added to H. A variable that comes to a bound is a row removed; one that leaves
 * it is restored. It begins with a guess: every 20th variable at a bound. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>

enum {
    SIDE = 11,
    N = SIDE * SIDE * SIDE,
    NNZ = 4 * N,
    PLACES = 300,
    GUESSED = 20,
    ROWS = N + PLACES
};

static int64_t ap[N + 1];
static int32_t ai[NNZ];
static double ax[NNZ], c[N], x[N], g[N], b[ROWS], p[ROWS];
static int at[N]; /* -1, 1: at that bound; 0: free */

static void make_problem(void) {
    const int step[] = {1, SIDE, SIDE * SIDE};
    int64_t k = 0;
    for (int j = 0; j < N; j++) {
        ap[j] = k;
        ai[k] = j, ax[k++] = 6.5;
        for (int d = 0; d < 3; d++)
            if (j / step[d] % SIDE + 1 < SIDE) ai[k] = j + step[d], ax[k++] = -1;
        c[j] = 4.2 * sin(0.7 * j) + 1.6 * sin(0.011 * j);
    }
    ap[N] = k;
}

/* g := H x - c */
static void gradient(void) {
    for (int j = 0; j < N; j++) g[j] = -c[j];
    for (int j = 0; j < N; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            g[ai[k]] += ax[k] * x[j];
            if (ai[k] != j) g[j] += ax[k] * x[ai[k]];
        }
}

/* The longest step along p, at most 1, and the variable that comes to a bound; -1: none does. */
static double longest(int *blocks) {
    double length = 1;
    *blocks = -1;
    for (int j = 0; j < N; j++) {
        if (at[j] || p[j] == 0) continue;
        const double reach = ((p[j] > 0 ? 1 : -1) - x[j]) / p[j];
        if (reach < length) length = reach, *blocks = j;
    }
    return length;
}

/* The variable whose multiplier has the wrong sign, the worst one; -1: x is the minimum. */
static int worst_bound(double y) {
    int worst = -1;
    double most = 1e-10;
    for (int j = 0; j < N; j++)
        if (at[j] * (g[j] + y) > most) most = at[j] * (g[j] + y), worst = j;
    return worst;
}

int main(void) {
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_bordered *w = NULL;
    mpk_bordered_info info = {0};
    static int32_t all[N];
    static double ones[N];
    int32_t sum = 0; /* index of the constraint's row */
    int changes = 0, freed = 0, minimum = 0;
    double error = 0, total = 0;

    make_problem();
    for (int j = 0; j < N; j++) all[j] = j, ones[j] = 1;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac); /* once */
    if (!mpk_failed(status)) status = mpk_bordered_create(ctx, fac, PLACES, NULL, &w);
    if (!mpk_failed(status)) status = mpk_bordered_add(ctx, w, N, all, ones, NULL, &sum);

    for (int j = 0; j < 64 * GUESSED && !mpk_failed(status); j += GUESSED, changes++) {
        x[j] = at[j] = j % (2 * GUESSED) ? 1 : -1;
        status = mpk_bordered_remove(ctx, w, j);
    }
    while (!mpk_failed(status) && !minimum && changes < 1000) {
        mpk_solve_info solved;
        int blocks;
        gradient();
        for (int i = 0; i < ROWS; i++) b[i] = i < N ? -g[i] : 0; /* H p + y 1 = -g, 1^T p = 0 */
        status = mpk_bordered_solve(ctx, w, 1, b, ROWS, p, ROWS, &solved);
        if (mpk_failed(status)) break;
        error = fmax(error, solved.componentwise);
        const double length = longest(&blocks);
        for (int j = 0; j < N; j++) x[j] += length * p[j];
        if (blocks >= 0) {
            at[blocks] = x[blocks] > 0 ? 1 : -1;
            x[blocks] = at[blocks];
            status = mpk_bordered_remove(ctx, w, blocks);
        } else {
            gradient();
            blocks = worst_bound(p[sum]);
            minimum = blocks < 0;
            if (minimum) break;
            at[blocks] = 0, freed++;
            status = mpk_bordered_restore(ctx, w, blocks);
        }
        changes++;
    }
    if (!mpk_failed(status)) status = mpk_bordered_certify(ctx, w, NULL);
    mpk_bordered_info_get(w, &info);
    printf(
        "%d changes of the working set, %d of them back, 1 factorization; %d variables at bounds, "
        "inertia (%d, %d) %s\n",
        changes, freed, info.removed, (int)info.inertia.positive, (int)info.inertia.negative,
        info.inertia.certified ? "certified" : "not certified");
    for (int j = 0; j < N; j++) total += x[j];
    const int right = fabs(total) < 1e-9 && info.inertia.positive == N - info.removed &&
                      info.inertia.negative == 1;
    mpk_bordered_destroy(&w);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !minimum || !right || changes < 200 || !(error <= 1e-14);
}
