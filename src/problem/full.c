/* SPDX-License-Identifier: BSD-3-Clause */
/* Both triangles of A by rows, multiplied by all threads. */
#include "full.h"

static const char STAGE[] = "product";

enum {
    WORTH_A_THREAD = 100000, /* entries; with fewer, waking a thread costs more than it saves */
    PARTS_A_THREAD = 4       /* so that a worker that the system has suspended delays little */
};

static const mpki_full_table *const tables[] = {&mpki_s_full, &mpki_d_full, &mpki_c_full,
                                                &mpki_z_full};

/* Cut n columns or rows into `parts` of about the same number of entries: cut[parts + 1]. */
static void cut_evenly(int32_t n, const int64_t *ptr, int32_t parts, int32_t *cut) {
    cut[0] = 0;
    for (int32_t p = 1; p <= parts; p++) {
        /* both entries and rows cost; a matrix that fits in memory has n + nnz < 2^53 */
        const int64_t aim = (int64_t)((double)(ptr[n] + n) * p / parts);
        int32_t low = cut[p - 1], high = n;
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (ptr[middle] + middle < aim)
                low = middle + 1;
            else
                high = middle;
        }
        cut[p] = p == parts ? n : low;
    }
}

/* ---- making ------------------------------------------------------------------------------------
 * Row i is: the entries of the lower triangle's row i (gathered from its columns), then column i of
 * it, mirrored; of a general matrix, all entries of row i. Part t of the columns counts what it has
 * for each row (next), the counts of the parts before it tell it where to write, so each slot has
 * one writer and rows come out sorted. */

typedef struct making {
    const mpk_problem_view *a;
    mpki_full *full;
    int32_t parts, *cut; /* of the columns */
    int32_t *next;       /* parts x n: entries of row i from part t; then where they begin */
} making;

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool;
    (void)worker;
    const making *m = arg;
    const mpk_problem_view *a = m->a;
    const bool general = a->symmetry == MPK_GENERAL;
    int32_t *next = m->next + t * a->n;
    for (int32_t i = 0; i < a->n; i++) next[i] = 0;
    for (int32_t j = m->cut[t]; j < m->cut[t + 1]; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
            next[a->ai[k]] += a->ai[k] != j || general;
}

/* Part t of the rows: counts become places within the row; full->ptr[i + 1] the row's length. */
static void place_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool;
    (void)worker;
    const making *m = arg;
    const mpk_problem_view *a = m->a;
    for (int32_t i = m->cut[t]; i < m->cut[t + 1]; i++) {
        int32_t sum = 0;
        for (int32_t p = 0; p < m->parts; p++) {
            int32_t count = m->next[(int64_t)p * a->n + i];
            m->next[(int64_t)p * a->n + i] = sum;
            sum += count;
        }
        m->full->ptr[i + 1] = sum;
        if (a->symmetry != MPK_GENERAL) m->full->ptr[i + 1] += a->ap[i + 1] - a->ap[i];
    }
}

static void scatter_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool;
    (void)worker;
    const making *m = arg;
    tables[m->a->scalar]->scatter(m->a, m->cut[t], m->cut[t + 1], m->next + t * m->a->n, m->full);
}

static mpk_status make(mpk_context *ctx, making *m, mpki_pool *pool, bool values) {
    const mpk_problem_view *a = m->a;
    mpki_full *full = m->full;
    m->cut = MPKI_NEW(ctx, STAGE, m->parts + 1, int32_t);
    m->next = MPKI_NEW(ctx, STAGE, (int64_t)m->parts * a->n, int32_t);
    full->ptr = MPKI_NEW(ctx, STAGE, (int64_t)a->n + 1, int64_t);
    if (!m->cut || !m->next || !full->ptr) return mpki_failed(ctx);
    cut_evenly(a->n, a->ap, m->parts, m->cut);
    mpki_pool_for(pool, 0, m->parts, count_item, m);
    mpki_pool_for(pool, 0, m->parts, place_item, m);
    full->ptr[0] = 0;
    for (int32_t i = 0; i < a->n; i++) full->ptr[i + 1] += full->ptr[i];
    full->nnz = full->ptr[a->n];
    full->col = MPKI_NEW(ctx, STAGE, full->nnz, int32_t);
    if (values) full->val = mpki_alloc(ctx, STAGE, full->nnz, mpk_scalar_size(a->scalar));
    full->cut = MPKI_NEW(ctx, STAGE, full->parts + 1, int32_t);
    if (!full->col || (values && !full->val) || !full->cut) return mpki_failed(ctx);
    mpki_pool_for(pool, 0, m->parts, scatter_item, m);
    cut_evenly(a->n, full->ptr, full->parts, full->cut);
    return MPK_OK;
}

static mpk_status make_by(mpk_context *ctx, const mpk_problem_view *a, int threads, bool values,
                          mpki_full *full, mpki_pool **out) {
    static const int64_t none[1] = {0};
    mpk_problem_view view = *a;
    if (a->n == 0) view.ap = none;
    const int64_t entries = a->symmetry == MPK_GENERAL ? a->nnz : 2 * a->nnz;
    mpki_pool *pool = NULL;
    *full = (mpki_full){.n = a->n, .scalar = a->scalar, .parts = 1};
    if (out) *out = NULL;
    if (threads > 1 && entries >= WORTH_A_THREAD) {
        pool = mpki_context_pool(ctx, threads, 1);
        if (!pool) return mpki_failed(ctx);
        full->parts = threads * PARTS_A_THREAD;
    }
    making m = {.a = &view, .full = full, .parts = pool ? threads : 1};
    mpk_status status = make(ctx, &m, pool, values);
    mpki_release(ctx, m.cut);
    mpki_release(ctx, m.next);
    if (mpk_failed(status))
        mpki_full_free(ctx, full);
    else if (out)
        *out = pool;
    return status;
}

mpk_status mpki_full_make(mpk_context *ctx, const mpk_problem_view *a, int threads, mpki_full *full,
                          mpki_pool **pool) {
    return make_by(ctx, a, threads, true, full, pool);
}

mpk_status mpki_full_pattern(mpk_context *ctx, const mpk_problem_view *a, int threads,
                             mpki_full *full, mpki_pool **pool) {
    return make_by(ctx, a, threads, false, full, pool);
}

int32_t mpki_full_longest(const mpki_full *full) {
    int64_t longest = 0;
    for (int32_t i = 0; i < full->n; i++)
        if (full->ptr[i + 1] - full->ptr[i] > longest) longest = full->ptr[i + 1] - full->ptr[i];
    return (int32_t)longest;
}

void mpki_full_free(mpk_context *ctx, mpki_full *full) {
    mpki_release(ctx, full->ptr);
    mpki_release(ctx, full->col);
    mpki_release(ctx, full->val);
    mpki_release(ctx, full->cut);
    *full = (mpki_full){0};
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct product {
    const mpki_full *full;
    const void *x, *b;
    void *y;
    double *w;
} product;

static void multiply_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool;
    (void)worker;
    const product *p = arg;
    const mpki_full *f = p->full;
    tables[f->scalar]->multiply(f, f->cut[t], f->cut[t + 1], p->x, p->y);
}

static void residual_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool;
    (void)worker;
    const product *p = arg;
    const mpki_full *f = p->full;
    tables[f->scalar]->residual(f, f->cut[t], f->cut[t + 1], p->x, p->b, p->y, p->w);
}

void mpki_full_multiply(const mpki_full *full, mpki_pool *pool, const void *x, void *y) {
    product p = {.full = full, .x = x, .y = y};
    mpki_pool_for(pool, 0, full->parts, multiply_item, &p);
}

void mpki_full_residual(const mpki_full *full, mpki_pool *pool, const void *x, const void *b,
                        void *r, double *w) {
    product p = {.full = full, .x = x, .b = b, .y = r, .w = w};
    mpki_pool_for(pool, 0, full->parts, residual_item, &p);
}
