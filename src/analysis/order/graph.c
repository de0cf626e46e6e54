/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the graph of A, or of A with each matched pair compressed into one vertex. */
#include "../../core/pages.h"
#include "../analysis.h"

#include <string.h>

static const char STAGE[] = "order";

void mpki_graph_free(mpk_context *ctx, mpki_graph *graph) {
    mpki_release(ctx, graph->xadj);
    mpki_release(ctx, graph->adj);
    mpki_release(ctx, graph->weight);
    *graph = (mpki_graph){0};
}

/* Turn counts in ptr[1..n] into ends: ptr[v] becomes the start of row v, ptr[n] the total. */
static void counts_to_pointers(int32_t n, int64_t *ptr) {
    ptr[0] = 0;
    for (int32_t v = 0; v < n; v++) ptr[v + 1] += ptr[v];
}

typedef struct filling {
    mpk_context *ctx;
    const int64_t *ap;
    const int32_t *ai;
    const mpki_lower *rows;
    mpki_graph *graph;
    int64_t shares;
} filling;

/* Neighbours below a vertex are in its row, those above in its column. */
static void fill_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const filling *f = arg;
    const mpki_graph *g = f->graph;
    mpki_asking asking = {f->ctx, "analyse", 0};
    const int32_t end = mpki_share_begin(g->xadj, g->n, share + 1, f->shares);
    (void)pool, (void)worker;
    for (int32_t v = mpki_share_begin(g->xadj, g->n, share, f->shares); v < end; v++) {
        const int64_t below = f->rows->ptr[v], count = f->rows->ptr[v + 1] - below;
        int32_t *to = g->adj + g->xadj[v];
        if (mpki_asks(&asking, g->xadj[v + 1] - g->xadj[v])) return;
        for (int64_t k = 0; k < count; k++) *to++ = f->rows->column[below + k];
        for (int64_t k = f->ap[v]; k < f->ap[v + 1]; k++)
            if (f->ai[k] != v) *to++ = f->ai[k];
    }
}

mpk_status mpki_graph_of_rows(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                              const int32_t *ai, const mpki_lower *rows, mpki_graph *graph) {
    *graph = (mpki_graph){.n = n, .xadj = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t)};
    if (!graph->xadj) return mpki_failed(ctx);
    int64_t sum = 0;
    for (int32_t v = 0; v < n; v++) {
        int64_t k = ap[v]; /* of the diagonal, which nearly always comes first */
        while (k < ap[v + 1] && ai[k] != v) k++;
        graph->xadj[v] = sum;
        sum += rows->ptr[v + 1] - rows->ptr[v] + ap[v + 1] - ap[v] - (k < ap[v + 1]);
    }
    graph->xadj[n] = sum;
    graph->adj = MPKI_NEW(ctx, STAGE, sum, int32_t);
    mpk_status status = graph->adj ? MPK_OK : mpki_failed(ctx);
    filling f = {ctx, ap, ai, rows, graph, mpki_shares(pool)};
    if (!mpk_failed(status)) mpki_pool_for(pool, 0, f.shares, fill_item, &f);
    if (!mpk_failed(status) && mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    if (mpk_failed(status)) mpki_graph_free(ctx, graph);
    return status;
}

/* Number the vertices: each pair at its smaller column. */
static mpk_status number_vertices(mpk_context *ctx, int32_t n, const int32_t *mate, int32_t *map,
                                  mpki_graph *graph) {
    int32_t vertices = 0;
    graph->weight = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!graph->weight) return mpki_failed(ctx);
    for (int32_t i = 0; i < n; i++) {
        if (mate[i] < i) {
            map[i] = map[mate[i]];
            continue;
        }
        graph->weight[vertices] = mate[i] > i ? 2 : 1;
        map[i] = vertices++;
    }
    graph->n = vertices;
    return MPK_OK;
}

/* Compression: all edges twice, duplicates included, grouped by vertex; then a transposition, which
 * of a symmetric graph gives the graph again, sorted, so that duplicates meet and can be dropped.
 */
static mpk_status build_compressed(mpk_context *ctx, int32_t n, const int64_t *ap,
                                   const int32_t *ai, const int32_t *map, mpki_graph *graph) {
    int32_t nv = graph->n;
    int64_t *raw_ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)nv + 1, int64_t);
    int64_t *next = MPKI_NEW(ctx, STAGE, nv, int64_t);
    int64_t *xadj = MPKI_NEW(ctx, STAGE, (int64_t)nv + 1, int64_t);
    int32_t *raw = NULL, *adj = NULL;
    mpk_status status = MPK_OK;
    mpki_asking asking = {ctx, "analyse", 0};
    graph->xadj = xadj;
    if (!raw_ptr || !next || !xadj) goto fail;
    for (int32_t j = 0; j < n; j++) {
        int32_t v = map[j];
        if (mpki_asks(&asking, ap[j + 1] - ap[j])) goto stopped;
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            int32_t w = map[ai[k]];
            raw_ptr[w + 1] += w != v;
            raw_ptr[v + 1] += w != v;
        }
    }
    counts_to_pointers(nv, raw_ptr);
    raw = MPKI_NEW(ctx, STAGE, raw_ptr[nv], int32_t);
    graph->adj = adj = MPKI_NEW(ctx, STAGE, raw_ptr[nv], int32_t);
    if (!raw || !adj) goto fail;
    memcpy(next, raw_ptr, (size_t)nv * sizeof *next);
    for (int32_t j = 0; j < n; j++) {
        int32_t v = map[j];
        if (mpki_asks(&asking, ap[j + 1] - ap[j])) goto stopped;
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            int32_t w = map[ai[k]];
            if (w == v) continue;
            raw[next[v]++] = w;
            raw[next[w]++] = v;
        }
    }
    memcpy(next, raw_ptr, (size_t)nv * sizeof *next);
    for (int32_t v = 0; v < nv; v++) {
        if (mpki_asks(&asking, raw_ptr[v + 1] - raw_ptr[v])) goto stopped;
        for (int64_t k = raw_ptr[v]; k < raw_ptr[v + 1]; k++) {
            int32_t w = raw[k];
            if (next[w] > raw_ptr[w] && adj[next[w] - 1] == v) continue;
            adj[next[w]++] = v;
        }
    }
    xadj[0] = 0;
    for (int32_t v = 0; v < nv; v++) {
        int64_t degree = next[v] - raw_ptr[v];
        memmove(adj + xadj[v], adj + raw_ptr[v], (size_t)degree * sizeof *adj);
        xadj[v + 1] = xadj[v] + degree;
    }
    mpki_shrink(ctx, adj, xadj[nv] * (int64_t)sizeof *adj); /* of pairs many edges are the same */
    goto done;
stopped:
    status = mpki_stopped(ctx, STAGE);
    goto done;
fail:
    status = mpki_failed(ctx);
done:
    mpki_release(ctx, raw_ptr);
    mpki_release(ctx, next);
    mpki_release(ctx, raw);
    return status;
}

mpk_status mpki_graph_build(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                            const int32_t *mate, int32_t *map, mpki_graph *graph) {
    mpk_status status = MPK_OK;
    *graph = (mpki_graph){.n = n};
    if (mate) {
        status = number_vertices(ctx, n, mate, map, graph);
        if (!mpk_failed(status)) status = build_compressed(ctx, n, ap, ai, map, graph);
    } else {
        mpki_lower rows;
        for (int32_t i = 0; map && i < n; i++) map[i] = i;
        status = mpki_lower_make(ctx, NULL, n, ap, ai, &rows);
        if (!mpk_failed(status)) status = mpki_graph_of_rows(ctx, NULL, n, ap, ai, &rows, graph);
        mpki_lower_free(ctx, &rows);
    }
    if (mpk_failed(status)) mpki_graph_free(ctx, graph);
    return status;
}
