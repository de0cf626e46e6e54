/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack bench batch: many small matrices at once, each method checked before it is timed. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5, CHECKED = 100 }; /* the least time counts; matrices solved with */
#define BYTES ((int64_t)64 << 20)    /* of the matrices of one measurement, about */

typedef struct work {
    mpk_batch batch;
    mpk_batch_method method;
    void *given, *a, *b;
    int32_t *pivots, *outcome;
} work;

static const char *const methods[] = {"llt", "ldlt", "ldu"};
static const char *const pivotings[] = {"none", "static", "partial", "rook", "complete"};

static int entry_of(const char *const *list, int length, const char *word, int n) {
    for (int k = 0; k < length; k++)
        if ((int)strlen(list[k]) == n && !strncmp(list[k], word, (size_t)n)) return k;
    return -1;
}

/* ldlt/partial, or ldlt: without pivoting */
static bool choose(void *work_, const char *name) {
    work *w = work_;
    const char *slash = strchr(name, '/');
    const int head = (int)strcspn(name, "/");
    const int method = entry_of(methods, 3, name, head);
    const int pivoting = slash ? entry_of(pivotings, 5, slash + 1, (int)strlen(slash + 1)) : 0;
    if (method < 0 || pivoting < 0 || pivoting == MPK_PIVOTING_STATIC) return false;
    w->method = (mpk_batch_method)method;
    w->batch.pivoting = (mpk_pivoting)pivoting;
    return true;
}

static double real_part(const work *w, const void *x, int64_t k) {
    const bool single = w->batch.scalar == MPK_S || w->batch.scalar == MPK_C;
    const int64_t at = w->batch.scalar >= MPK_C ? 2 * k : k;
    return single ? (double)((const float *)x)[at] : ((const double *)x)[at];
}

/* Random symmetric matrices with a strong diagonal, real numbers in any type, and b = A times ones.
 */
static void fill(work *w, uint64_t seed) {
    const int n = w->batch.n;
    const size_t size = mpk_scalar_size(w->batch.scalar);
    const bool single = w->batch.scalar == MPK_S || w->batch.scalar == MPK_C;
    const int parts = w->batch.scalar >= MPK_C ? 2 : 1;
    uint64_t s = cli_bench_seed(seed);
    memset(w->given, 0, (size_t)w->batch.count * (size_t)(n * n) * size);
    memset(w->b, 0, (size_t)w->batch.count * (size_t)n * size);
    for (int64_t k = 0; k < w->batch.count; k++)
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) {
                double v = cli_bench_random(&s);
                if (i == j) v += w->batch.pivoting == MPK_PIVOTING_NONE ? 2 * n : 0;
                const int64_t at[] = {(k * n + j) * n + i, (k * n + i) * n + j};
                for (int q = 0; q < 2; q++) {
                    if (w->method == MPK_BATCH_LLT && i != j) v = v > 0 ? 0.5 : -0.5;
                    if (w->method == MPK_BATCH_LLT && i == j) v = 2 * n;
                    if (single)
                        ((float *)w->given)[at[q] * parts] = (float)v;
                    else
                        ((double *)w->given)[at[q] * parts] = v;
                }
            }
    for (int64_t k = 0; k < w->batch.count && k < CHECKED; k++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += real_part(w, w->given, (k * n + j) * n + i);
            if (single)
                ((float *)w->b)[(k * n + i) * parts] = (float)sum;
            else
                ((double *)w->b)[(k * n + i) * parts] = sum;
        }
}

/* The matrices are copied before the timing. */
static mpk_status factorize(mpk_context *ctx, work *w, double *seconds) {
    const mpk_batch_results results = {w->outcome, NULL};
    const int n = w->batch.n;
    const mpk_batch_array a = {MPK_BATCH_STRIDED, MPK_HOST, w->a, (int64_t)n * n, n, 1};
    memcpy(w->a, w->given,
           (size_t)w->batch.count * (size_t)(n * n) * mpk_scalar_size(w->batch.scalar));
    const double start = cli_now_s();
    const mpk_status status =
        (w->method == MPK_BATCH_LLT    ? mpk_batch_llt
         : w->method == MPK_BATCH_LDLT ? mpk_batch_ldlt
                                       : mpk_batch_ldu)(ctx, &w->batch, &a, w->pivots, &results);
    *seconds = cli_now_s() - start;
    return status;
}

/* Solves some; the worst ||b - A x|| / (||A|| ||x|| + ||b||), largest entries. */
static mpk_status check(mpk_context *ctx, work *w, double *worst) {
    const int n = w->batch.n;
    mpk_batch few = w->batch;
    if (few.count > CHECKED) few.count = CHECKED;
    const size_t bytes = (size_t)few.count * (size_t)n * mpk_scalar_size(few.scalar);
    void *x = malloc(bytes + 64);
    if (!x) return MPK_ERR_MEMORY;
    memcpy(x, w->b, bytes);
    const mpk_batch_array a = {MPK_BATCH_STRIDED, MPK_HOST, w->a, (int64_t)n * n, n, 1};
    const mpk_batch_array b = {MPK_BATCH_STRIDED, MPK_HOST, x, n, n, 1};
    mpk_status status =
        mpk_batch_solve(ctx, &few, w->method, &a, few.pivoting ? w->pivots : NULL, 1, &b, NULL);
    *worst = 0;
    for (int64_t k = 0; k < few.count && !mpk_failed(status); k++) {
        double r = 0, most_a = 0, most_x = 0, most_b = 0;
        for (int i = 0; i < n; i++) {
            double sum = real_part(w, w->b, k * n + i), row = 0;
            most_b = fmax(most_b, fabs(sum));
            most_x = fmax(most_x, fabs(real_part(w, x, k * n + i)));
            for (int j = 0; j < n; j++) {
                const double v = real_part(w, w->given, (k * n + j) * n + i);
                sum -= v * real_part(w, x, k * n + j), row += fabs(v);
            }
            most_a = fmax(most_a, row);
            if (!(fabs(sum) <= r)) r = fabs(sum);
        }
        const double error = r / (most_a * most_x + most_b);
        if (!(error <= *worst)) *worst = error;
    }
    free(x);
    return status;
}

static mpk_status measure(cli_args *args, void *work_, int64_t order, cli_bench_row *row) {
    work *w = work_;
    const int n = w->batch.n = (int32_t)order;
    const int64_t each = (int64_t)n * n * (int64_t)mpk_scalar_size(w->batch.scalar);
    const bool single = w->batch.scalar == MPK_S || w->batch.scalar == MPK_C;
    w->batch.count = BYTES / each < 100000 ? BYTES / each : 100000;
    const size_t count = (size_t)w->batch.count;
    w->given = malloc(count * (size_t)each), w->a = malloc(count * (size_t)each);
    w->b = malloc(count * (size_t)n * mpk_scalar_size(w->batch.scalar));
    w->pivots = malloc(count * (size_t)n * 2 * sizeof *w->pivots);
    w->outcome = malloc(count * sizeof *w->outcome);
    mpk_status status = MPK_OK;
    double seconds;
    row->seconds = row->error = INFINITY;
    if (!w->given || !w->a || !w->b || !w->pivots || !w->outcome) status = MPK_ERR_MEMORY;
    if (!mpk_failed(status)) {
        fill(w, (uint64_t)args->options.seed);
        status = factorize(args->ctx, w, &seconds);
    }
    if (!mpk_failed(status)) status = check(args->ctx, w, &row->error);
    for (int k = 0; k < REPEATS && !mpk_failed(status); k++) {
        status = factorize(args->ctx, w, &seconds);
        row->seconds = fmin(row->seconds, seconds);
    }
    free(w->given), free(w->a), free(w->b), free(w->pivots), free(w->outcome);
    if (mpk_failed(status)) return status;
    const double flops = (w->method == MPK_BATCH_LDU ? 2.0 : 1.0) / 3 * n * n * n * (double)count *
                         (w->batch.scalar >= MPK_C ? 4 : 1);
    row->gflops = flops / row->seconds * 1e-9;
    snprintf(row->more, sizeof row->more, "  %7zu matrices", count);
    snprintf(row->more_json, sizeof row->more_json, ", \"count\": %zu", count);
    return row->error <= (single ? 1e-5 : 1e-13) ? status : MPK_INACCURATE;
}

int cli_bench_batch(cli_args *args, mpk_scalar scalar) {
    static const cli_bench bench = {"llt,ldlt,ldlt/partial,ldlt/rook,ldlt/complete,ldu/partial",
                                    "4,8,16,32,64",
                                    "llt, ldlt, ldu, with /none, /partial, /rook, /complete",
                                    MPK_BATCH_MAX_N,
                                    choose,
                                    measure,
                                    "normwise",
                                    "eta"};
    work w = {0};
    mpk_batch_init(&w.batch);
    w.batch.scalar = scalar, w.batch.threads = args->options.threads;
    return cli_bench_run(args, &bench, &w);
}
