/* SPDX-License-Identifier: BSD-3-Clause */
/* K_U, K_0 and K_+ at each step of a linear program. */
#include "three.h"
#include "method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREE = 3 };
static const char *const names[THREE] = {"K_U", "K_0", "K_+"};

typedef struct figures {
    mpk_status status; /* failed: `why`, and no figures */
    char why[160];
    int64_t order, entries; /* of the whole matrix */
    double condition, backward;
    int64_t positive, negative;
} figures;

/* The method, and the first failure to measure something on its way. */
typedef struct watched {
    kkt k; /* the first: row() is told this one */
    mpk_status status;
} watched;

/* K_U, all entries; with shift N as the lower left of [0 K^T; K 0], which is symmetric and has the
 * singular values of K as its eigenvalues' moduli: so one method measures all three. */
static void unreduced(sparse *k, const program *p, const double *x, const double *s,
                      int32_t shift) {
    const int32_t n = p->n, m = p->m;
    for (int64_t e = 0; e < p->a.count; e++) {
        put(k, shift + p->a.col[e], n + p->a.row[e], p->a.value[e]);
        put(k, shift + n + p->a.row[e], p->a.col[e], p->a.value[e]);
    }
    for (int32_t j = 0; j < n; j++) {
        put(k, shift + j, n + m + j, 1);
        put(k, shift + n + m + j, j, s[j]);
        put(k, shift + n + m + j, n + m + j, x[j]);
    }
}

static void saddle(sparse *k, const program *p, const double *x, const double *s) {
    for (int32_t j = 0; j < p->n; j++) put(k, j, j, s[j] / x[j]);
    for (int64_t e = 0; e < p->a.count; e++) put(k, p->n + p->a.row[e], p->a.col[e], p->a.value[e]);
}

/* A D^-1 A^T, lower triangle: column by column of A. */
static void schur(sparse *k, const program *p, const double *x, const double *s) {
    int64_t *first = room((size_t)p->n + 2, sizeof *first);
    int64_t *order = room((size_t)p->a.count, sizeof *order);
    for (int64_t e = 0; e < p->a.count; e++) first[p->a.col[e] + 2]++;
    for (int32_t j = 0; j < p->n; j++) first[j + 2] += first[j + 1];
    for (int64_t e = 0; e < p->a.count; e++) order[first[p->a.col[e] + 1]++] = e;
    for (int32_t j = 0; j < p->n; j++)
        for (int64_t e = first[j]; e < first[j + 1]; e++)
            for (int64_t f = first[j]; f < first[j + 1]; f++) {
                const int32_t r = p->a.row[order[e]], c = p->a.row[order[f]];
                if (r >= c) put(k, r, c, p->a.value[order[e]] * p->a.value[order[f]] * x[j] / s[j]);
            }
    free(first), free(order);
}

/* Factorize a symmetric matrix, solve with A 1, and tell how that went. Its entries are freed. */
static void measure(mpk_context *ctx, int32_t order, sparse *k, const mpk_options *given,
                    figures *out) {
    mpk_options o = *given;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view view;
    mpk_factor_info info;
    mpk_solve_info solved = {0};
    double *x = room((size_t)order, sizeof *x), *b = room((size_t)order, sizeof *b);
    o.method = MPK_METHOD_LDLT, o.condition = MPK_ON, o.device = MPK_ON_CPU;
    mpk_status status = mpk_problem_from_triplets(ctx, order, MPK_D, MPK_SYMMETRIC, MPK_LOWER,
                                                  k->count, k->row, k->col, k->value, &problem);
    for (int32_t i = 0; i < order; i++) x[i] = 1;
    if (!mpk_failed(status)) status = mpk_problem_multiply(ctx, problem, 1, x, order, b, order);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, order, x, order, &o, &solved);
    out->status = status;
    if (mpk_failed(status)) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        snprintf(out->why, sizeof out->why, "%s", text);
    } else {
        mpk_problem_view_get(problem, &view);
        mpk_factor_info_get(fac, &info);
        out->entries = view.nnz;
        for (int32_t j = 0; j < order; j++)
            for (int64_t e = view.ap[j]; e < view.ap[j + 1]; e++) out->entries += view.ai[e] != j;
        out->order = order;
        out->condition = solved.condition;
        out->backward = solved.normwise;
        out->positive = info.inertia.positive, out->negative = info.inertia.negative;
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(x), free(b), free(k->row), free(k->col), free(k->value);
    *k = (sparse){0};
}

static void row(kkt *k, int step, double mu, const double *x, const double *s) {
    const program *p = k->p;
    figures f[THREE] = {{0}};
    sparse m = {0};
    const int32_t order = 2 * p->n + p->m;
    unreduced(&m, p, x, s, order);
    measure(k->ctx, 2 * order, &m, &k->options, &f[0]);
    f[0].order = order, f[0].entries /= 2;
    saddle(&m, p, x, s);
    measure(k->ctx, p->n + p->m, &m, &k->options, &f[1]);
    schur(&m, p, x, s);
    measure(k->ctx, p->m, &m, &k->options, &f[2]);
    for (int c = 0; c < THREE; c++) {
        mpk_status *first = &((watched *)k)->status;
        if (mpk_failed(f[c].status) && !mpk_failed(*first)) *first = f[c].status;
        if (step == 0 && !mpk_failed(f[c].status))
            printf("%s: order %lld, %lld entries%s\n", names[c], (long long)f[c].order,
                   (long long)f[c].entries, c == 0 ? ", not symmetric" : "");
    }
    printf("step %d, mu %.1e:", step, mu);
    for (int c = 0; c < THREE; c++) {
        printf(" %s ", names[c]);
        if (mpk_failed(f[c].status))
            printf("failed: %s: %s", mpk_status_name(f[c].status), f[c].why);
        else
            printf("condition %.1e, backward error %.0e", f[c].condition, f[c].backward);
        printf(";");
    }
    printf(" inertia");
    for (int c = 1; c < THREE; c++) {
        if (mpk_failed(f[c].status))
            printf(" unknown");
        else
            printf(" %lld %lld", (long long)f[c].positive, (long long)f[c].negative);
        printf(c + 1 < THREE ? " and" : "\n");
    }
    fflush(stdout);
}

mpk_status three_systems(mpk_context *ctx, const program *p, const mpk_options *options,
                         bool *right) {
    watched w = {
        .k = {.ctx = ctx, .p = p, .whole = true, .options = *options, .seen = row},
    };
    outcome end;
    *right = false;
    if (p->h.count > 0) {
        fprintf(stderr, "quadratic: --only systems is for linear programs: linear N M\n");
        return MPK_ERR_ARGUMENT;
    }
    const mpk_status status = minimise(&w.k, &end);
    if (mpk_failed(status)) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        printf("failed after %d steps: %s: %s\n", end.steps, mpk_status_name(status), text);
    } else {
        printf("%s in %d steps; residuals %.0e %.0e, gap %.0e\n", end.end, end.steps, end.primal,
               end.dual, end.gap);
    }
    fflush(stdout);
    *right = !mpk_failed(status) && !strcmp(end.end, "solved");
    kkt_free(&w.k);
    return mpk_failed(status) ? status : w.status;
}
