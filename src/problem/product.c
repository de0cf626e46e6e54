/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with A, residuals and row sums, for every precision. */
#include "../core/floats.h"
#include "../core/pool.h"
#include "product.h"
#include "skew.h"

#include "../core/sizes.h"

#include <string.h>

static const mpki_product_table *const tables[] = {&mpki_s_product, &mpki_d_product,
                                                   &mpki_c_product, &mpki_z_product};

mpk_status mpk_problem_multiply(mpk_context *ctx, const mpk_problem *problem, int32_t nrhs,
                                const void *x, int64_t ldx, void *y, int64_t ldy) {
    MPKI_CALM;
    static const char stage[] = "multiply";
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem) return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1, "the problem is NULL");
    const size_t size = mpk_scalar_size(problem->scalar);
    const mpki_sides sides = {
        .n = problem->n, .nrhs = nrhs, .size = size, .b = x, .ldb = ldx, .x = y, .ldx = ldy};
    if (mpk_failed(mpki_check_sides(ctx, stage, &sides))) return mpki_failed(ctx);
    if (nrhs == 0 || problem->n == 0) return MPK_OK;
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    const mpki_skew *skew = problem->values ? problem->values->skew : NULL;
    for (int32_t c = 0; c < nrhs; c++) {
        const char *xc = (const char *)x + (size_t)c * (size_t)ldx * size;
        char *yc = (char *)y + (size_t)c * (size_t)ldy * size;
        tables[problem->scalar]->multiply(&view, xc, yc);
        if (skew) mpki_skew_multiply(skew, &view, xc, yc);
    }
    return MPK_OK;
}

void mpki_residual(const mpk_problem_view *a, const void *x, const void *b, void *r, double *w,
                   double *work) {
    tables[a->scalar]->residual(a, x, b, r, w, work);
}

static double largest(int32_t n, const double *sums) {
    double norm = 0;
    for (int32_t i = 0; i < n; i++)
        if (!(sums[i] <= norm)) norm = sums[i];
    return norm;
}

double mpki_row_sums(const mpk_problem_view *a, double *sums) {
    memset(sums, 0, (size_t)a->n * sizeof *sums);
    tables[a->scalar]->row_sums(a, 0, a->n, sums);
    return largest(a->n, sums);
}

/* Shares of the columns, as many as A is large, each with sums of its own; these are added in their
 * order. */
enum { SHARES = 4, SHARE = 65536, ROWS_ADDED = 1 << 12 };

typedef struct summing {
    const mpk_problem_view *a;
    int shares;
    int32_t cut[SHARES + 1];
    double *sums, *own; /* of the first share, and then of all; of the others, n apart */
} summing;

/* The first row that a share's columns reach. */
static int32_t first_row(const summing *s, int64_t share) {
    return s->a->symmetry == MPK_GENERAL ? 0 : s->cut[share];
}

static void sum_share(const summing *s, int64_t share, double *sums) {
    const int32_t first = first_row(s, share);
    memset(sums + first, 0, (size_t)(s->a->n - first) * sizeof *sums);
    tables[s->a->scalar]->row_sums(s->a, s->cut[share], s->cut[share + 1], sums);
}

static void add_share(const summing *s, int64_t share, const double *own, int64_t begin,
                      int64_t end) {
    const int32_t first = first_row(s, share);
    for (int64_t i = begin < first ? first : begin; i < end; i++) s->sums[i] += own[i];
}

static void sum_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    (void)pool, (void)worker;
    const summing *s = arg;
    sum_share(s, share, share == 0 ? s->sums : s->own + (share - 1) * s->a->n);
}

static void add_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const summing *s = arg;
    const int64_t n = s->a->n, begin = item * ROWS_ADDED,
                  end = begin + ROWS_ADDED < n ? begin + ROWS_ADDED : n;
    for (int64_t k = 1; k < s->shares; k++) add_share(s, k, s->own + (k - 1) * n, begin, end);
}

double mpki_row_sums_by(mpk_context *ctx, int threads, const mpk_problem_view *a, double *sums) {
    summing s = {.a = a, .sums = sums};
    const int64_t n = a->n, wanted = a->nnz / SHARE;
    s.shares = wanted < 2 ? 1 : wanted < SHARES ? (int)wanted : SHARES;
    if (s.shares == 1) return mpki_row_sums(a, sums);
    for (int32_t k = 0, j = 0; k <= s.shares; k++) {
        while (j < n && a->ap[j] < a->nnz * k / s.shares) j++;
        s.cut[k] = k == s.shares ? a->n : j;
    }
    mpki_pool *pool =
        mpki_context_threads(ctx, threads) > 1 ? mpki_context_pool(ctx, threads, 1) : NULL;
    s.own = MPKI_NEW(ctx, NULL, pool ? (s.shares - 1) * n : n, double);
    if (!s.own) return mpki_row_sums(a, sums);
    if (pool) {
        mpki_pool_for(pool, 0, s.shares, sum_item, &s);
        mpki_pool_for(pool, 0, (n + ROWS_ADDED - 1) / ROWS_ADDED, add_item, &s);
    }
    for (int64_t k = 0; !pool && k < s.shares; k++) {
        sum_share(&s, k, k == 0 ? sums : s.own);
        if (k > 0) add_share(&s, k, s.own, 0, n);
    }
    mpki_release(ctx, s.own);
    return largest(a->n, sums);
}
