/* SPDX-License-Identifier: BSD-3-Clause */
/* A transposition by several threads: each counts, and then places, the entries of its own columns;
 * in each row those of the first share come first. */
#include "lower.h"

#include <string.h>

static const char STAGE[] = "analyse";

enum {
    PARTS = 16,     /* shares of the columns at most: each has a count for each row */
    LOOPS = 200000, /* entries from which loops are shared */
    WORTH =
        50000, /* entries for each thread: 50 us or more of its time, where it takes 10 to wake it */
    EACH = 4   /* shares for a thread */
};

mpki_pool *mpki_loops_pool(mpk_context *ctx, int threads, int64_t entries, mpk_status *status) {
    threads = mpki_context_threads(ctx, threads);
    if (!mpki_context_takes_all(ctx))
        threads = entries < LOOPS             ? 1
                  : entries / WORTH < threads ? (int)(entries / WORTH)
                                              : threads;
    if (threads < 2 || mpk_failed(*status)) return NULL;
    mpki_pool *pool = mpki_context_pool(ctx, threads, 1);
    if (!pool) *status = mpki_failed(ctx);
    return pool;
}

int32_t mpki_share_begin(const int64_t *ptr, int32_t n, int64_t k, int64_t shares) {
    if (k >= shares) return n;
    const int64_t aim = (int64_t)((double)ptr[n] * (double)k / (double)shares);
    int32_t low = 0, high = n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (ptr[middle] < aim)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t mpki_shares(const mpki_pool *pool) {
    return mpki_pool_threads(pool) < 2 ? 1 : EACH * (int64_t)mpki_pool_threads(pool);
}

void mpki_lower_free(mpk_context *ctx, mpki_lower *rows) {
    mpki_release(ctx, rows->ptr);
    mpki_release(ctx, rows->place);
    mpki_release(ctx, rows->wide);
    mpki_release(ctx, rows->column);
    *rows = (mpki_lower){0};
}

typedef struct turning {
    mpk_context *ctx;
    int32_t n;
    const int64_t *ap;
    const int32_t *ai;
    mpki_lower *rows;
    int parts;
    int32_t cut[PARTS + 1]; /* of columns */
    int32_t *count;         /* parts x n: entries of a row, then where the next one goes in it */
    int64_t sum[PARTS + 1]; /* entries of the rows of each range */
} turning;

/* Rows are in as many ranges as columns are in parts. */
static int32_t range(const turning *t, int64_t k) {
    return (int32_t)((int64_t)t->n * k / t->parts);
}

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t p) {
    turning *t = arg;
    int32_t *count = t->count + p * t->n;
    mpki_asking asking = {t->ctx, STAGE, 0};
    (void)pool, (void)worker;
    memset(count, 0, (size_t)t->n * sizeof *count);
    for (int32_t j = t->cut[p]; j < t->cut[p + 1]; j++) {
        if (mpki_asks(&asking, t->ap[j + 1] - t->ap[j])) return;
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) count[t->ai[k]] += t->ai[k] != j;
    }
}

static void sum_item(mpki_pool *pool, int worker, void *arg, int64_t r) {
    turning *t = arg;
    int64_t sum = 0;
    (void)pool, (void)worker;
    for (int p = 0; p < t->parts; p++) {
        const int32_t *count = t->count + (int64_t)p * t->n;
        for (int32_t v = range(t, r); v < range(t, r + 1); v++) sum += count[v];
    }
    t->sum[r + 1] = sum;
}

static void begin_item(mpki_pool *pool, int worker, void *arg, int64_t r) {
    turning *t = arg;
    int64_t sum = t->sum[r];
    (void)pool, (void)worker;
    for (int32_t v = range(t, r); v < range(t, r + 1); v++) {
        int32_t *count = t->count + v, within = 0;
        t->rows->ptr[v] = sum;
        for (int p = 0; p < t->parts; p++, count += t->n) {
            const int32_t here = *count;
            *count = within;
            within += here;
        }
        sum += within;
    }
}

static void place_item(mpki_pool *pool, int worker, void *arg, int64_t p) {
    turning *t = arg;
    const mpki_lower *rows = t->rows;
    int32_t *next = t->count + p * t->n;
    mpki_asking asking = {t->ctx, STAGE, 0};
    (void)pool, (void)worker;
    for (int32_t j = t->cut[p]; j < t->cut[p + 1]; j++) {
        if (mpki_asks(&asking, t->ap[j + 1] - t->ap[j])) return;
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            const int32_t row = t->ai[k];
            if (row == j) continue;
            const int64_t at = rows->ptr[row] + next[row]++;
            if (rows->wide)
                rows->wide[at] = k;
            else
                rows->place[at] = (int32_t)k;
            rows->column[at] = j;
        }
    }
}

mpk_status mpki_lower_make(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                           const int32_t *ai, mpki_lower *rows) {
    const int threads = mpki_pool_threads(pool);
    turning t = {.ctx = ctx, .n = n, .ap = ap, .ai = ai, .rows = rows};
    t.parts = threads < PARTS ? threads : PARTS;
    *rows = (mpki_lower){.ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t)};
    t.count = MPKI_NEW(ctx, STAGE, t.parts * (int64_t)n, int32_t);
    mpk_status status = rows->ptr && t.count ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    for (int p = 0; p <= t.parts; p++) t.cut[p] = mpki_share_begin(ap, n, p, t.parts);
    mpki_pool_for(pool, 0, t.parts, count_item, &t);
    mpki_pool_for(pool, 0, t.parts, sum_item, &t);
    for (int p = 0; p < t.parts; p++) t.sum[p + 1] += t.sum[p];
    mpki_pool_for(pool, 0, t.parts, begin_item, &t);
    rows->ptr[n] = t.sum[t.parts];
    if (ap[n] > INT32_MAX)
        rows->wide = MPKI_NEW(ctx, STAGE, rows->ptr[n], int64_t);
    else
        rows->place = MPKI_NEW(ctx, STAGE, rows->ptr[n], int32_t);
    rows->column = MPKI_NEW(ctx, STAGE, rows->ptr[n], int32_t);
    if ((!rows->place && !rows->wide) || !rows->column)
        status = mpki_failed(ctx);
    else if (!mpki_cancelled(ctx))
        mpki_pool_for(pool, 0, t.parts, place_item, &t);
    if (!mpk_failed(status) && mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
done:
    mpki_release(ctx, t.count);
    if (mpk_failed(status)) mpki_lower_free(ctx, rows);
    return status;
}
