/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the entries of the complete scalar factor, by block, without storing it. */
#include "statistics.h"

#include "../../core/pool.h"
#include "../symbolic/symbolic.h"

static const char STAGE[] = "statistics";

enum { CHUNK = 2048 }; /* rows of one work item: the same sums whatever the threads */

typedef struct part {
    int64_t nnz;
    double shares;
} part;

typedef struct walk {
    const mpki_graph *graph;
    const mpki_blocking *b;
    const int32_t *perm, *iperm, *parent; /* the postorder of the same tree */
    const int32_t *frame;                 /* by place in the postorder */
    int32_t *mark;                        /* workers * n: the last row that met a column */
    part *parts;
} walk;

/* Row i: up from each neighbour before it, until a column that the row has already. */
static void walk_row(const walk *w, int32_t i, int32_t *mark, part *sum) {
    const mpki_graph *g = w->graph;
    int32_t f = w->frame[i], v = w->perm[i];
    const int32_t *bptr = w->b->bptr;
    double rows = bptr[f + 1] - bptr[f], across = 0;
    int64_t inside = 1, outside = 0;
    mark[i] = i;
    for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++) {
        for (int32_t j = w->iperm[g->adj[e]]; j < i && mark[j] != i; j = w->parent[j]) {
            int32_t c = w->frame[j];
            mark[j] = i;
            if (c == f) {
                inside++;
            } else {
                outside++;
                across += 1.0 / (bptr[c + 1] - bptr[c]);
            }
        }
    }
    sum->nnz += inside + outside;
    sum->shares += across / rows + (double)inside / (rows * (rows + 1) / 2);
}

static void walk_chunk(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const walk *w = arg;
    int64_t n = w->graph->n, from = item * CHUNK, to = from + CHUNK < n ? from + CHUNK : n;
    (void)pool;
    for (int64_t i = from; i < to; i++)
        walk_row(w, (int32_t)i, w->mark + worker * n, &w->parts[item]);
}

static int32_t height(int32_t n, const int32_t *parent, int32_t *level) {
    int32_t most = 0;
    for (int32_t k = 0; k < n; k++) level[k] = 1;
    for (int32_t k = 0; k < n; k++) {
        if (level[k] > most) most = level[k];
        if (parent[k] >= 0 && level[parent[k]] <= level[k]) level[parent[k]] = level[k] + 1;
    }
    return most;
}

mpk_status mpki_scalar_complete(mpk_context *ctx, const mpki_graph *graph, const mpki_blocking *b,
                                int threads, mpki_scalar_fill *fill) {
    int32_t n = graph->n;
    int64_t chunks = (n + (int64_t)CHUNK - 1) / CHUNK;
    *fill = (mpki_scalar_fill){0};
    if (chunks < 2 || threads < 1) threads = 1;
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, 1) : NULL;
    int32_t *work = MPKI_NEW(ctx, STAGE, 5 * (int64_t)n, int32_t);
    int32_t *mark = MPKI_NEW(ctx, STAGE, threads * (int64_t)n, int32_t);
    part *parts = MPKI_ZNEW(ctx, STAGE, chunks, part);
    bool ready = (pool || threads == 1) && work && mark && parts;
    mpk_status status = ready ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    int32_t *perm = work, *iperm = work + n, *parent = work + 2 * (int64_t)n;
    int32_t *count = work + 3 * (int64_t)n, *frame = work + 4 * (int64_t)n;
    for (int32_t k = 0; k < n; k++) {
        perm[k] = b->perm[k];
        iperm[k] = b->iperm[k];
    }
    status = mpki_elimination(ctx, graph, perm, iperm, parent, count);
    if (mpk_failed(status)) goto done;
    for (int32_t k = 0; k < n; k++) frame[k] = b->of[b->iperm[perm[k]]];
    for (int64_t k = 0; k < threads * (int64_t)n; k++) mark[k] = -1;
    walk w = {graph, b, perm, iperm, parent, frame, mark, parts};
    mpki_pool_for(pool, 0, chunks, walk_chunk, &w);
    for (int64_t k = 0; k < chunks; k++) {
        fill->nnz += parts[k].nnz;
        fill->shares += parts[k].shares;
    }
    fill->depth = height(n, parent, count);
done:
    mpki_release(ctx, work);
    mpki_release(ctx, mark);
    mpki_release(ctx, parts);
    return status;
}
