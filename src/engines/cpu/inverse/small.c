/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses by small dense systems, one for each column, on all threads. */
#include "inverse.h"

static const char STAGE[] = "isai";

enum { PORTION = 32 }; /* columns that a worker takes at a time */

typedef struct workspace {
    void *matrix, *rhs;
} workspace;

typedef struct run {
    const mpki_isai_small *c;
    workspace *workspace; /* by worker */
    mpki_isai_places places;
    _Atomic int64_t done; /* columns */
    _Atomic bool cancelled;
} run;

static void item_of(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    run *r = arg;
    const mpki_isai_small *c = r->c;
    const workspace *mine = &r->workspace[worker];
    const int32_t begin = (int32_t)(item * PORTION);
    const int64_t end = (item + 1) * PORTION < c->n ? (item + 1) * PORTION : c->n;
    if (r->cancelled) return;
    const int64_t done = atomic_fetch_add(&r->done, end - begin);
    if (worker == 0 && mpki_progress(c->ctx, STAGE, (double)done / c->n)) r->cancelled = true;
    int32_t *place = mpki_isai_place(&r->places, worker);
    for (int32_t j = begin; j < end; j++)
        MPKI_DISPATCH(c->scalar, isai_small)(c, j, mine->matrix, mine->rhs, place);
}

mpk_status mpki_isai_solve_small(mpki_pool *pool, const mpki_isai_small *c) {
    mpk_context *ctx = c->ctx;
    const int workers = mpki_pool_threads(pool);
    const size_t size = mpk_scalar_size(c->scalar);
    run r = {.c = c, .workspace = MPKI_ZNEW(ctx, STAGE, workers, workspace)};
    mpk_status status = mpki_isai_places_make(ctx, pool, c->n, c->s, true, &r.places);
    const int64_t longest = r.places.longest + 1;
    for (int k = 0; r.workspace && k < workers; k++) {
        /* longest <= n < 2^31: the square fits */
        r.workspace[k].matrix = mpki_alloc(ctx, STAGE, longest * longest, size);
        r.workspace[k].rhs = mpki_alloc(ctx, STAGE, longest, size);
    }
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        mpki_pool_for_near(pool, 0, ((int64_t)c->n + PORTION - 1) / PORTION, item_of, &r);
        if (r.cancelled) status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "cancelled");
    }
    for (int k = 0; r.workspace && k < workers; k++) {
        mpki_release(ctx, r.workspace[k].matrix);
        mpki_release(ctx, r.workspace[k].rhs);
    }
    mpki_isai_places_free(ctx, &r.places);
    mpki_release(ctx, r.workspace);
    return status;
}
