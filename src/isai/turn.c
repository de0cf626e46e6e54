/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and transposes of sparse matrices, on all threads. */
#include "isai.h"

#include <string.h>

static const char STAGE[] = "isai";

void mpki_sparse_free(mpk_context *ctx, mpki_sparse *a) {
    mpki_release(ctx, a->ptr);
    mpki_release(ctx, a->index);
    mpki_release(ctx, a->val);
    *a = (mpki_sparse){0};
}

/* ---- sums --------------------------------------------------------------------------------------- */

enum { SUM_PARTS = 64, SUM_WORTH = 1 << 15 };

typedef struct summing {
    int64_t n;
    int64_t *ptr;
    int64_t before[SUM_PARTS]; /* by part: its sum; then what stands before it */
} summing;

static void part_item(mpki_pool *pool, int worker, void *arg, int64_t part) {
    (void)pool, (void)worker;
    summing *s = arg;
    int64_t sum = 0;
    for (int64_t k = s->n * part / SUM_PARTS; k < s->n * (part + 1) / SUM_PARTS; k++)
        sum += s->ptr[k + 1];
    s->before[part] = sum;
}

static void sum_item(mpki_pool *pool, int worker, void *arg, int64_t part) {
    (void)pool, (void)worker;
    const summing *s = arg;
    int64_t sum = s->before[part];
    for (int64_t k = s->n * part / SUM_PARTS; k < s->n * (part + 1) / SUM_PARTS; k++) {
        sum += s->ptr[k + 1];
        s->ptr[k + 1] = sum;
    }
}

void mpki_sparse_sum(mpki_pool *pool, int64_t n, int64_t *ptr) {
    summing s = {.n = n, .ptr = ptr};
    if (mpki_pool_threads(pool) == 1 || n < SUM_WORTH) {
        for (int64_t k = 0; k < n; k++) ptr[k + 1] += ptr[k];
        return;
    }
    mpki_pool_for(pool, 0, SUM_PARTS, part_item, &s);
    int64_t sum = ptr[0];
    for (int part = 0; part < SUM_PARTS; part++) {
        const int64_t own = s.before[part];
        s.before[part] = sum;
        sum += own;
    }
    mpki_pool_for(pool, 0, SUM_PARTS, sum_item, &s);
}

/* ---- transposes ---------------------------------------------------------------------------------
 */

/* The rows of the result are cut into ranges, the columns of a into groups. A worker's item is a range:
 * of each group that has an entry there it looks for those in the columns, whose indices ascend. */
enum { GROUP = 256, RANGES = 64 };

typedef struct turning {
    const mpki_sparse *a;
    mpki_sparse *t;
    uint64_t *meets; /* by group: the ranges that it has entries in, a bit each; NULL: one range */
    int64_t *next;   /* by row: where its next entry goes */
    bool fill;       /* else count */
    size_t size;
    int32_t n;
    int shift; /* a range has 2^shift rows */
    int64_t ranges;
} turning;

static int32_t range_begin(const turning *w, int64_t range) {
    return (int32_t)(range << w->shift < w->n ? range << w->shift : w->n);
}

static int32_t group_end(const turning *w, int64_t group) {
    return (int32_t)((group + 1) * GROUP < w->n ? (group + 1) * GROUP : w->n);
}

/* Which ranges a group meets. */
static void meet_item(mpki_pool *pool, int worker, void *arg, int64_t group) {
    (void)pool, (void)worker;
    const turning *w = arg;
    const int32_t *index = w->a->index;
    const int64_t end = w->a->ptr[group_end(w, group)];
    uint64_t bits = 0;
    for (int64_t e = w->a->ptr[group * GROUP]; e < end; e++)
        bits |= (uint64_t)1 << (index[e] >> w->shift);
    w->meets[group] = bits;
}

static void put(const turning *w, int64_t e, int32_t j) {
    const int64_t to = w->next[w->a->index[e]]++;
    w->t->index[to] = j;
    switch (w->a->val ? w->size : 0) { /* a call for each entry costs more than the entry */
    case 0:
        return;
    case 4:
        ((uint32_t *)w->t->val)[to] = ((const uint32_t *)w->a->val)[e];
        return;
    case 8:
        ((uint64_t *)w->t->val)[to] = ((const uint64_t *)w->a->val)[e];
        return;
    default:
        memcpy((char *)w->t->val + (size_t)to * 16, (const char *)w->a->val + (size_t)e * 16, 16);
    }
}

/* The first entry of a column from e on that is not before `row`. */
static int64_t first_from(const int32_t *index, int64_t e, int64_t last, int32_t row) {
    enum { SHORT = 16 };
    while (last - e > SHORT) {
        const int64_t middle = e + (last - e) / 2;
        if (index[middle] < row)
            e = middle + 1;
        else
            last = middle;
    }
    while (e < last && index[e] < row) e++;
    return e;
}

static void turn_columns(const turning *w, int32_t j0, int32_t j1, int32_t first, int32_t end) {
    const int32_t *index = w->a->index;
    for (int32_t j = j0; j < j1; j++) {
        const int64_t last = w->a->ptr[j + 1];
        int64_t e = w->a->ptr[j];
        if (e == last || index[last - 1] < first || index[e] >= end) continue;
        if (index[e] < first) e = first_from(index, e, last, first);
        for (; e < last && index[e] < end; e++)
            if (w->fill)
                put(w, e, j);
            else
                w->next[index[e]]++;
    }
}

static void turn_item(mpki_pool *pool, int worker, void *arg, int64_t range) {
    (void)pool, (void)worker;
    const turning *w = arg;
    const int32_t first = range_begin(w, range), end = range_begin(w, range + 1);
    if (w->fill)
        memcpy(w->next + first, w->t->ptr + first, (size_t)(end - first) * sizeof *w->next);
    else
        memset(w->next + first, 0, (size_t)(end - first) * sizeof *w->next);
    if (!w->meets) {
        turn_columns(w, 0, w->n, first, end);
    } else {
        for (int64_t g = 0; g * GROUP < w->n; g++)
            if (w->meets[g] >> range & 1)
                turn_columns(w, (int32_t)(g * GROUP), group_end(w, g), first, end);
    }
    if (!w->fill)
        memcpy(w->t->ptr + 1 + first, w->next + first, (size_t)(end - first) * sizeof *w->next);
}

mpk_status mpki_sparse_turn(mpk_context *ctx, mpki_pool *pool, int32_t n, size_t size,
                            const mpki_sparse *a, mpki_sparse *t) {
    const int64_t nnz = a->ptr[n], groups = ((int64_t)n + GROUP - 1) / GROUP;
    const int threads = mpki_pool_threads(pool);
    const bool known = t->ptr != NULL;
    turning w = {.a = a, .t = t, .size = size, .n = n, .shift = 31, .ranges = 1};
    w.next = MPKI_NEW(ctx, STAGE, n, int64_t);
    if (threads > 1 && n >= RANGES) {
        const int64_t most = 4 * threads < RANGES ? 4 * threads : RANGES;
        for (w.shift = 0; ((int64_t)n - 1) >> w.shift >= most;) w.shift++;
        w.ranges = (((int64_t)n - 1) >> w.shift) + 1;
        w.meets = MPKI_NEW(ctx, STAGE, groups, uint64_t);
    }
    if (!known) {
        t->ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
        t->index = MPKI_NEW(ctx, STAGE, nnz, int32_t);
    }
    if (a->val && !t->val) t->val = mpki_alloc(ctx, STAGE, nnz, size);
    if (!w.next || (w.ranges > 1 && !w.meets) || !t->ptr || !t->index || (a->val && !t->val)) {
        mpki_sparse_free(ctx, t);
        mpki_release(ctx, w.meets);
        mpki_release(ctx, w.next);
        return mpki_failed(ctx);
    }
    if (w.meets) mpki_pool_for(pool, 0, groups, meet_item, &w);
    if (!known) {
        t->ptr[0] = 0;
        mpki_pool_for(pool, 0, w.ranges, turn_item, &w);
        mpki_sparse_sum(pool, n, t->ptr);
    }
    w.fill = true;
    mpki_pool_for(pool, 0, w.ranges, turn_item, &w);
    mpki_release(ctx, w.meets);
    mpki_release(ctx, w.next);
    return MPK_OK;
}
