/* SPDX-License-Identifier: BSD-3-Clause */
/* The approximate inverse of a triangle: its columns, on all threads. */
#include "isai.h"

#include <string.h>

static const char STAGE[] = "isai";

enum { PORTION = 64 }; /* columns that a worker takes at a time */

typedef struct run {
    const mpki_isai_columns *c;
    int32_t **place; /* by worker: n */
    int32_t *bad;    /* by worker: the first column that is not finite */
    _Atomic bool cancelled;
} run;

static void columns_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    run *r = arg;
    const mpki_isai_columns *c = r->c;
    const int32_t begin = (int32_t)(item * PORTION);
    const int64_t end = (item + 1) * PORTION < c->n ? (item + 1) * PORTION : c->n;
    if (r->cancelled) return;
    if (worker == 0 && mpki_progress(c->ctx, STAGE, (double)begin / c->n)) r->cancelled = true;
    const int32_t bad =
        MPKI_DISPATCH(c->scalar, isai_columns)(c, begin, (int32_t)end, r->place[worker]);
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
    r.place = MPKI_ZNEW(ctx, STAGE, workers, int32_t *);
    r.bad = MPKI_NEW(ctx, STAGE, workers, int32_t);
    for (int k = 0; r.place && k < workers; k++) {
        r.place[k] = MPKI_NEW(ctx, STAGE, c->n, int32_t);
        if (r.place[k]) memset(r.place[k], -1, (size_t)c->n * sizeof *r.place[k]);
        if (r.bad) r.bad[k] = c->n;
    }
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        mpki_pool_for(pool, 0, ((int64_t)c->n + PORTION - 1) / PORTION, columns_item, &r);
        status = outcome(&r, workers);
    }
    for (int k = 0; r.place && k < workers; k++) mpki_release(ctx, r.place[k]);
    mpki_release(ctx, r.place);
    mpki_release(ctx, r.bad);
    return status;
}

/* ---- the largest entries of columns over a limit ------------------------------------------------ */

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
