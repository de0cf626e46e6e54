/* SPDX-License-Identifier: BSD-3-Clause */
/* The approximate inverse of a triangle: its columns, on all threads; memory for places. */
#include "inverse.h"

#include <string.h>

static const char STAGE[] = "isai";

enum { PORTION = 256 }; /* columns that a worker takes at a time */

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct measuring {
    const mpki_sparse *s;
    int32_t n;
    bool diagonal;
    int64_t (*most)[2]; /* by worker: span, entries */
} measuring;

static void measure_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const measuring *m = arg;
    const int64_t end = (item + 1) * PORTION < m->n ? (item + 1) * PORTION : m->n;
    for (int32_t j = (int32_t)(item * PORTION); j < end; j++) {
        const int64_t count = m->s->ptr[j + 1] - m->s->ptr[j];
        if (count == 0) continue;
        int32_t first = m->s->index[m->s->ptr[j]], last = m->s->index[m->s->ptr[j + 1] - 1];
        if (m->diagonal && j < first) first = j;
        if (m->diagonal && j > last) last = j;
        if (last - first >= m->most[worker][0]) m->most[worker][0] = (int64_t)last - first + 1;
        if (count > m->most[worker][1]) m->most[worker][1] = count;
    }
}

mpk_status mpki_isai_places_make(mpk_context *ctx, mpki_pool *pool, int32_t n, const mpki_sparse *s,
                                 bool diagonal, mpki_isai_places *p) {
    enum { LINE = 32 }; /* two cache lines: workers share none */
    const int workers = mpki_pool_threads(pool);
    measuring m = {.s = s, .n = n, .diagonal = diagonal};
    *p = (mpki_isai_places){.span = 1};
    m.most = mpki_calloc(ctx, STAGE, workers, sizeof *m.most);
    p->ready = MPKI_ZNEW(ctx, STAGE, workers, bool);
    if (m.most && p->ready) {
        mpki_pool_for_near(pool, 0, ((int64_t)n + PORTION - 1) / PORTION, measure_item, &m);
        for (int k = 0; k < workers; k++) {
            if (m.most[k][0] > p->span) p->span = m.most[k][0];
            if (m.most[k][1] > p->longest) p->longest = m.most[k][1];
        }
        p->stride = (p->span + LINE - 1) / LINE * LINE;
        p->place = MPKI_NEW(ctx, STAGE, workers * p->stride, int32_t);
    }
    mpki_release(ctx, m.most);
    return mpki_failed(ctx);
}

void mpki_isai_places_free(mpk_context *ctx, mpki_isai_places *p) {
    mpki_release(ctx, p->place);
    mpki_release(ctx, p->ready);
}

int32_t *mpki_isai_place(mpki_isai_places *p, int worker) {
    int32_t *place = p->place + worker * p->stride;
    if (!p->ready[worker]) memset(place, -1, (size_t)p->span * sizeof *place);
    p->ready[worker] = true;
    return place;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct run {
    const mpki_isai_columns *c;
    mpki_isai_places places;
    int32_t *bad;         /* by worker: the first column that is not finite */
    _Atomic int64_t done; /* columns */
    _Atomic bool cancelled;
} run;

static void columns_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    run *r = arg;
    const mpki_isai_columns *c = r->c;
    const int32_t begin = (int32_t)(item * PORTION);
    const int64_t end = (item + 1) * PORTION < c->n ? (item + 1) * PORTION : c->n;
    if (r->cancelled) return;
    const int64_t done = atomic_fetch_add(&r->done, end - begin);
    if (worker == 0 && mpki_progress(c->ctx, STAGE, (double)done / c->n)) r->cancelled = true;
    const int32_t bad = MPKI_DISPATCH(c->scalar, isai_columns)(c, begin, (int32_t)end,
                                                               mpki_isai_place(&r->places, worker));
    if (bad < r->bad[worker]) r->bad[worker] = bad;
}

static mpk_status outcome(const run *r, int workers) {
    const mpki_isai_columns *c = r->c;
    int32_t bad = c->n;
    if (r->cancelled) return mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "cancelled");
    for (int k = 0; k < workers; k++) bad = r->bad[k] < bad ? r->bad[k] : bad;
    if (bad == c->n) return MPK_OK;
    return mpki_error(c->ctx, MPK_ERR_NUMERIC, STAGE, bad,
                      "column %d of the approximate inverse is not finite", bad + 1);
}

mpk_status mpki_isai_invert(mpki_pool *pool, const mpki_isai_columns *c) {
    mpk_context *ctx = c->ctx;
    const int workers = mpki_pool_threads(pool);
    run r = {.c = c};
    if (!c->m->val) c->m->val = mpki_alloc(ctx, STAGE, c->m->ptr[c->n], mpk_scalar_size(c->scalar));
    r.bad = MPKI_NEW(ctx, STAGE, workers, int32_t);
    for (int k = 0; r.bad && k < workers; k++) r.bad[k] = c->n;
    mpki_isai_places_make(ctx, pool, c->n, c->m, false, &r.places);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        mpki_pool_for_near(pool, 0, ((int64_t)c->n + PORTION - 1) / PORTION, columns_item, &r);
        status = outcome(&r, workers);
    }
    mpki_isai_places_free(ctx, &r.places);
    mpki_release(ctx, r.bad);
    return status;
}

/* ---- the largest entries of columns over a limit --------------------------------------------- */

/* Columns move up where those before them have become shorter. */
static void close_up(int32_t n, size_t size, int64_t most, mpki_sparse *m) {
    int64_t used = 0, from = 0;
    for (int32_t j = 0; j < n; j++) {
        const int64_t had = m->ptr[j + 1] - from, kept = had < most ? had : most;
        memmove(m->index + used, m->index + from, (size_t)kept * sizeof *m->index);
        memmove((char *)m->val + (size_t)used * size, (const char *)m->val + (size_t)from * size,
                (size_t)kept * size);
        from = m->ptr[j + 1];
        used += kept;
        m->ptr[j + 1] = used;
    }
}

mpk_status mpki_isai_cut(mpk_context *ctx, mpk_scalar scalar, int32_t n, int32_t limit,
                         mpki_sparse *m, int64_t *over) {
    int64_t longest = 0;
    *over = 0;
    for (int32_t j = 0; j < n; j++) {
        const int64_t count = m->ptr[j + 1] - m->ptr[j];
        *over += count >= limit;
        if (count > longest) longest = count;
    }
    if (*over == 0) return MPK_OK;
    double *size = MPKI_NEW(ctx, STAGE, longest, double);
    if (!size) return mpki_failed(ctx);
    for (int32_t j = 0; j < n; j++) MPKI_DISPATCH(scalar, isai_prune)
    (m->ptr[j + 1] - m->ptr[j], limit - 1, m->index + m->ptr[j],
     (char *)m->val + (size_t)m->ptr[j] * mpk_scalar_size(scalar), size);
    mpki_release(ctx, size);
    close_up(n, mpk_scalar_size(scalar), limit - 1, m);
    return MPK_OK;
}
