/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and transposes of sparse matrices, on all threads. */
#include "inverse.h"

#include <string.h>

static const char STAGE[] = "isai";

void mpki_sparse_free(mpk_context *ctx, mpki_sparse *a) {
    mpki_release(ctx, a->ptr);
    mpki_release(ctx, a->index);
    mpki_release(ctx, a->val);
    *a = (mpki_sparse){0};
}

/* ---- sums ------------------------------------------------------------------------------------ */

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
    mpki_pool_for_near(pool, 0, SUM_PARTS, part_item, &s);
    int64_t sum = ptr[0];
    for (int part = 0; part < SUM_PARTS; part++) {
        const int64_t own = s.before[part];
        s.before[part] = sum;
        sum += own;
    }
    mpki_pool_for_near(pool, 0, SUM_PARTS, sum_item, &s);
}

/* ---- transposes ------------------------------------------------------------------------------ */

/* The columns of a are cut into chunks of as many entries each, a worker's items. A chunk counts
 * its entries by row, from its first to its last one; for each row these counts become where the
 * entries of each chunk begin in it; then every chunk puts its own. So each entry is looked at
 * twice, whatever the number of threads, and a row has one order. */
enum { CHUNKS = 256, CHUNKS_A_THREAD = 4, ROWS = 1024 };

typedef struct chunk {
    int32_t j0, j1;      /* its columns */
    int32_t first, rows; /* the rows that it has entries in, from the first to the last one */
    int32_t *next;       /* rows: counts, then the next place in the row */
} chunk;

typedef struct turning {
    const mpki_sparse *a;
    mpki_sparse *t;
    size_t size;
    int32_t n;
    bool known; /* t has its pointers */
    int chunks;
    chunk chunk[CHUNKS];
} turning;

/* The first column that begins at or after entry e. */
static int32_t column_at(const int64_t *ptr, int32_t n, int64_t e) {
    int32_t low = 0, high = n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (ptr[middle] < e)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void span_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const turning *w = arg;
    chunk *c = &((turning *)arg)->chunk[item];
    const int64_t *ptr = w->a->ptr;
    int32_t first = INT32_MAX, last = -1;
    for (int32_t j = c->j0; j < c->j1; j++) { /* rows ascend */
        if (ptr[j] == ptr[j + 1]) continue;
        if (w->a->index[ptr[j]] < first) first = w->a->index[ptr[j]];
        if (w->a->index[ptr[j + 1] - 1] > last) last = w->a->index[ptr[j + 1] - 1];
    }
    c->first = last < 0 ? 0 : first;
    c->rows = last < 0 ? 0 : last - first + 1;
}

static int64_t rows_of(const turning *w) {
    int64_t sum = 0;
    for (int k = 0; k < w->chunks; k++) sum += w->chunk[k].rows;
    return sum;
}

static chunk joined(const chunk *a, const chunk *b) {
    chunk c = {.j0 = a->j0, .j1 = b->j1, .first = a->rows ? a->first : b->first};
    const int32_t a_end = a->first + a->rows, b_end = b->first + b->rows;
    if (a->rows && b->rows && b->first < c.first) c.first = b->first;
    if (a->rows || b->rows)
        c.rows = (!b->rows || (a->rows && a_end > b_end) ? a_end : b_end) - c.first;
    return c;
}

/* Chunks, and memory for their counts: no more than two for each row and one for each entry. */
static int32_t *cut(mpk_context *ctx, mpki_pool *pool, turning *w) {
    const int threads = mpki_pool_threads(pool);
    const int64_t nnz = w->a->ptr[w->n], most = 2 * (int64_t)w->n + nnz;
    w->chunks = threads == 1                         ? 1
                : CHUNKS_A_THREAD * threads < CHUNKS ? CHUNKS_A_THREAD * threads
                                                     : CHUNKS;
    for (int k = 0; k < w->chunks; k++) {
        const int32_t end =
            k + 1 == w->chunks ? w->n : column_at(w->a->ptr, w->n, nnz * (k + 1) / w->chunks);
        w->chunk[k] = (chunk){.j0 = k ? w->chunk[k - 1].j1 : 0, .j1 = end};
    }
    mpki_pool_for_near(pool, 0, w->chunks, span_item, w);
    while (w->chunks > 1 && rows_of(w) > most) {
        int to = 0;
        for (int k = 0; k < w->chunks; k += 2)
            w->chunk[to++] =
                k + 1 < w->chunks ? joined(&w->chunk[k], &w->chunk[k + 1]) : w->chunk[k];
        w->chunks = to;
    }
    int32_t *counts = MPKI_NEW(ctx, STAGE, rows_of(w), int32_t), *at = counts;
    for (int k = 0; counts && k < w->chunks; at += w->chunk[k++].rows) w->chunk[k].next = at;
    return counts;
}

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const turning *w = arg;
    const chunk *c = &w->chunk[item];
    const int32_t *index = w->a->index;
    if (c->rows) memset(c->next, 0, (size_t)c->rows * sizeof *c->next);
    if (w->known && w->chunks == 1) return; /* all rows begin where they begin */
    for (int64_t e = w->a->ptr[c->j0]; e < w->a->ptr[c->j1]; e++) c->next[index[e] - c->first]++;
}

/* Of some rows: what of each is before a chunk's entries in it, and all of it. */
static void rows_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const turning *w = arg;
    const int64_t i0 = item * ROWS, i1 = i0 + ROWS < w->n ? i0 + ROWS : w->n;
    int32_t before[ROWS] = {0};
    for (int k = 0; k < w->chunks; k++) {
        const chunk *c = &w->chunk[k];
        const int64_t from = c->first > i0 ? c->first : i0;
        const int64_t end = c->first + (int64_t)c->rows < i1 ? c->first + (int64_t)c->rows : i1;
        for (int64_t i = from; i < end; i++) {
            const int32_t own = c->next[i - c->first];
            c->next[i - c->first] = before[i - i0];
            before[i - i0] += own;
        }
    }
    for (int64_t i = i0; i < i1 && !w->known; i++) w->t->ptr[i + 1] = before[i - i0];
}

static void put_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const turning *w = arg;
    const chunk *c = &w->chunk[item];
    const mpki_sparse *a = w->a, *t = w->t;
    const size_t size = a->val ? w->size : 0;
    for (int32_t j = c->j0; j < c->j1; j++)
        for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++) {
            const int32_t i = a->index[e];
            const int64_t to = t->ptr[i] + c->next[i - c->first]++;
            t->index[to] = j;
            if (size == 8) /* a call for each entry costs more than the entry */
                ((uint64_t *)t->val)[to] = ((const uint64_t *)a->val)[e];
            else if (size == 4)
                ((uint32_t *)t->val)[to] = ((const uint32_t *)a->val)[e];
            else if (size == 16)
                memcpy((char *)t->val + (size_t)to * 16, (const char *)a->val + (size_t)e * 16, 16);
        }
}

mpk_status mpki_sparse_turn(mpk_context *ctx, mpki_pool *pool, int32_t n, size_t size,
                            const mpki_sparse *a, mpki_sparse *t) {
    const int64_t nnz = a->ptr[n];
    turning w = {.a = a, .t = t, .size = size, .n = n, .known = t->ptr != NULL};
    int32_t *next = cut(ctx, pool, &w);
    if (!w.known) {
        t->ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
        t->index = MPKI_NEW(ctx, STAGE, nnz, int32_t);
    }
    if (a->val && !t->val) t->val = mpki_alloc(ctx, STAGE, nnz, size);
    if (!next || !t->ptr || !t->index || (a->val && !t->val)) {
        mpki_sparse_free(ctx, t);
        mpki_release(ctx, next);
        return mpki_failed(ctx);
    }
    mpki_pool_for_near(pool, 0, w.chunks, count_item, &w);
    if (!w.known || w.chunks > 1)
        mpki_pool_for_near(pool, 0, ((int64_t)n + ROWS - 1) / ROWS, rows_item, &w);
    if (!w.known) {
        t->ptr[0] = 0;
        mpki_sparse_sum(pool, n, t->ptr);
    }
    mpki_pool_for_near(pool, 0, w.chunks, put_item, &w);
    mpki_release(ctx, next);
    return MPK_OK;
}
