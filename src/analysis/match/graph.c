/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the graph of the matching: costs and both triangles of the pattern. */
#include "match.h"
#include <float.h>
#include <math.h>

/* -log a on the grid: adding and taking away a number whose last place is the grid rounds to it */
static double cost_of(double a) {
    const double shift = 6144; /* last place 2^-40; |log| <= 745 stays in its binade [4096, 8192) */
    double w = -log(a < DBL_MAX ? a : DBL_MAX);
    return (w + shift) - shift;
}

typedef struct building {
    mpk_context *ctx;
    int32_t n;
    const int64_t *ap;
    const int32_t *ai;
    const double *absval; /* nnz: values or their moduli */
    const mpki_lower *rows;
    mpki_match_graph *graph;
    double *cost; /* nnz; MPKI_MATCH_NONE: not an entry */
    int64_t shares;
    _Atomic bool gaps; /* there are such */
} building;

/* Neighbouring entries are often equal, and a logarithm is expensive. */
static void cost_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    building *b = arg;
    const int32_t begin = mpki_share_begin(b->ap, b->n, share, b->shares);
    const int32_t end = mpki_share_begin(b->ap, b->n, share + 1, b->shares);
    double last = 1, w = 0;
    bool gaps = false;
    (void)pool, (void)worker;
    for (int64_t k = b->ap[begin]; k < b->ap[end]; k++) {
        const double a = fabs(b->absval[k]);
        if (!(a > 0)) { /* zeros, and NaN if one came this far */
            b->cost[k] = MPKI_MATCH_NONE;
            gaps = true;
            continue;
        }
        if (a != last) {
            last = a;
            w = cost_of(a);
        }
        b->cost[k] = w;
    }
    if (gaps) atomic_store(&b->gaps, true);
}

/* Entries of row v, with the diagonal one, be it zero; to [out] them, NULL: they are counted. */
static int64_t row(const building *b, int32_t v, mpki_match_edge *to) {
    const mpki_lower *rows = b->rows;
    int64_t count = 1;
    if (to) *to = (mpki_match_edge){MPKI_MATCH_NONE, v};
    for (int64_t k = rows->ptr[v]; k < rows->ptr[v + 1]; k++) {
        const double w = b->cost[mpki_lower_place(rows, k)];
        if (w == MPKI_MATCH_NONE) continue;
        if (to) to[count] = (mpki_match_edge){w, rows->column[k]};
        count++;
    }
    for (int64_t k = b->ap[v]; k < b->ap[v + 1]; k++) {
        const double w = b->cost[k];
        if (w == MPKI_MATCH_NONE) continue;
        const int64_t at = b->ai[k] == v ? 0 : count++;
        if (to) to[at] = (mpki_match_edge){w, b->ai[k]};
    }
    return count;
}

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const building *b = arg;
    const int32_t end = mpki_share_begin(b->rows->ptr, b->n, share + 1, b->shares);
    (void)pool, (void)worker;
    for (int32_t v = mpki_share_begin(b->rows->ptr, b->n, share, b->shares); v < end; v++)
        b->graph->ptr[v + 1] = row(b, v, NULL);
}

static void fill_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const building *b = arg;
    const int64_t *ptr = b->graph->ptr;
    mpki_asking asking = {b->ctx, "analyse", 0};
    const int32_t end = mpki_share_begin(ptr, b->n, share + 1, b->shares);
    (void)pool, (void)worker;
    for (int32_t v = mpki_share_begin(ptr, b->n, share, b->shares); v < end; v++) {
        if (mpki_asks(&asking, 2 * (ptr[v + 1] - ptr[v]))) return;
        (void)row(b, v, b->graph->edge + ptr[v]);
    }
}

/* The lengths of the rows, then where they begin. */
static void place_rows(mpki_pool *pool, building *b) {
    int64_t *ptr = b->graph->ptr;
    const mpki_lower *rows = b->rows;
    ptr[0] = 0;
    if (atomic_load(&b->gaps))
        mpki_pool_for(pool, 0, b->shares, count_item, b);
    else
        for (int32_t v = 0; v < b->n; v++) {
            const bool diagonal = b->ap[v] < b->ap[v + 1] && b->ai[b->ap[v]] == v;
            ptr[v + 1] = 1 + rows->ptr[v + 1] - rows->ptr[v] + b->ap[v + 1] - b->ap[v] - diagonal;
        }
    for (int32_t v = 0; v < b->n; v++) ptr[v + 1] += ptr[v];
}

mpk_status mpki_match_graph_build(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                                  const int32_t *ai, const double *absval, const mpki_lower *rows,
                                  mpki_match_graph *graph) {
    mpk_status status = MPK_OK;
    mpki_lower own = {0};
    *graph = (mpki_match_graph){.n = n};
    if (!rows) status = mpki_lower_make(ctx, pool, n, ap, ai, &own);
    building b = {.ctx = ctx,
                  .n = n,
                  .ap = ap,
                  .ai = ai,
                  .absval = absval,
                  .rows = rows ? rows : &own,
                  .graph = graph,
                  .shares = mpki_shares(pool)};
    b.cost = MPKI_NEW(ctx, "match", ap[n], double);
    graph->ptr = MPKI_NEW(ctx, "match", (int64_t)n + 1, int64_t);
    if (!mpk_failed(status) && (!b.cost || !graph->ptr)) status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    mpki_pool_for(pool, 0, b.shares, cost_item, &b);
    place_rows(pool, &b);
    graph->edge = MPKI_NEW(ctx, "match", graph->ptr[n], mpki_match_edge);
    if (!graph->edge) {
        status = mpki_failed(ctx);
        goto done;
    }
    mpki_pool_for(pool, 0, b.shares, fill_item, &b);
    if (mpki_cancelled(ctx)) status = mpki_stopped(ctx, "match");
done:
    mpki_release(ctx, b.cost);
    mpki_lower_free(ctx, &own);
    if (mpk_failed(status)) mpki_match_graph_free(ctx, graph);
    return status;
}

void mpki_match_graph_free(mpk_context *ctx, mpki_match_graph *graph) {
    mpki_release(ctx, graph->ptr);
    mpki_release(ctx, graph->edge);
    *graph = (mpki_match_graph){0};
}
