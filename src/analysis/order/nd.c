/* SPDX-License-Identifier: BSD-3-Clause */
/* Nested dissection (George 1973; Lipton, Rose & Tarjan 1979), its halves in parallel. */
#include "nd.h"

#include "../../core/pool.h"

#include <string.h>

static const char STAGE[] = "order";

/* A split that leaves more than this share of the vertices in one half is discarded. */
static const double POOR = 0.9;
enum {
    PARALLEL = 128, /* larger graphs are worth a task */
    MANY = 4096     /* and the halves of larger ones are taken out side by side */
};

/* What all tasks share. */
typedef struct mpki_nd {
    mpk_context *ctx;
    uint64_t seed;
    int32_t n;
    mpki_nd_leaves leaves;  /* graphs up to this size are ordered by minimum degree */
    int32_t *perm, *coarse; /* positions -> vertices; coarse NULL: not wanted */
    _Atomic int32_t placed; /* vertices that have their positions */
    _Atomic int failed;
    _Atomic bool stop; /* nobody wants it any more */
} dissection;

/* One graph and the positions perm[first ..] that it fills. */
typedef struct part {
    dissection *all;
    mpki_nd_graph *graph;
    int32_t first;
    bool below; /* a coarse leaf: all->coarse has its order */
} part;

/* ---- leaves ---------------------------------------------------------------------------------- */

/* perms: where it goes, both or one of them NULL */
static mpk_status order_leaf(dissection *d, const mpki_nd_graph *g, int32_t first, int32_t *perm,
                             int32_t *coarse) {
    mpk_context *ctx = d->ctx;
    mpki_graph graph = {.n = g->n, .adj = g->adj};
    graph.xadj = MPKI_NEW(ctx, STAGE, (int64_t)g->n + 1, int64_t);
    int32_t *order = MPKI_NEW(ctx, STAGE, g->n, int32_t);
    mpk_status status = graph.xadj && order ? MPK_OK : mpki_failed(ctx);
    for (int32_t v = 0; !mpk_failed(status) && v <= g->n; v++) graph.xadj[v] = g->xadj[v];
    if (!mpk_failed(status)) status = mpki_order_amd(ctx, &graph, false, order);
    for (int32_t k = 0; !mpk_failed(status) && k < g->n; k++) {
        if (perm) perm[first + k] = g->label[order[k]];
        if (coarse) coarse[first + k] = g->label[order[k]];
    }
    if (perm) d->placed += g->n;
    mpki_release(ctx, graph.xadj);
    mpki_release(ctx, order);
    return status;
}

/* ---- halves ---------------------------------------------------------------------------------- */

/* The subgraph of one part. number [work] n: new numbers of its vertices. */
static mpki_nd_graph *extract(mpk_context *ctx, const mpki_nd_graph *g, const int8_t *where,
                              int8_t side, int32_t *number) {
    int32_t n = 0;
    int64_t edges = 0;
    for (int32_t v = 0; v < g->n; v++) {
        if (where[v] != side) continue;
        number[v] = n++;
        edges += g->xadj[v + 1] - g->xadj[v];
    }
    mpki_nd_graph *s = mpki_nd_graph_create(ctx, n, edges, false);
    if (!s) return NULL;
    int32_t fill = 0;
    for (int32_t v = 0, k = 0; v < g->n; v++) {
        if (where[v] != side) continue;
        s->xadj[k] = fill;
        s->weight[k] = g->weight[v];
        s->total += g->weight[v];
        s->label[k++] = g->label[v];
        for (int32_t e = g->xadj[v]; e < g->xadj[v + 1]; e++)
            if (where[g->adj[e]] == side) s->adj[fill++] = number[g->adj[e]];
    }
    s->xadj[n] = fill;
    return s;
}

typedef struct extraction {
    mpk_context *ctx;
    const mpki_nd_graph *g;
    const int8_t *where;
    int32_t *number;
    mpki_nd_graph *half[2];
} extraction;

static void extract_item(mpki_pool *pool, int worker, void *arg, int64_t side) {
    extraction *e = arg;
    (void)pool, (void)worker;
    e->half[side] = extract(e->ctx, e->g, e->where, (int8_t)side, e->number);
}

static void dissect(mpki_pool *pool, int worker, void *arg, int64_t item);

static mpk_status hand_on(mpki_pool *pool, int worker, part half) {
    mpk_context *ctx = half.all->ctx;
    part *task = MPKI_NEW(ctx, STAGE, 1, part);
    if (!task) {
        mpki_nd_graph_free(ctx, &half.graph);
        return mpki_failed(ctx);
    }
    *task = half;
    if (pool && half.graph->n > PARALLEL)
        mpki_pool_push(pool, half.graph->n, dissect, task, 0);
    else
        dissect(pool, worker, task, 0);
    return MPK_OK;
}

/* Find a separator, give it the last positions, and hand on the halves; *graph is freed. */
static mpk_status split(mpki_pool *pool, int worker, part *p) {
    mpk_context *ctx = p->all->ctx;
    mpki_nd_graph *g = p->graph;
    int32_t *coarse = p->below ? NULL : p->all->coarse;
    /* what is drawn depends on the place in the tree alone, not on who came first */
    uint64_t random = p->all->seed ^ ((uint64_t)p->first << 32) ^ (uint64_t)g->n * MPKI_GOLDEN;
    random = random ? random : 1;
    mpki_nd_graph *half[2] = {NULL, NULL};
    bool poor = false;
    int8_t *where = MPKI_NEW(ctx, STAGE, g->n, int8_t);
    int32_t *number = MPKI_NEW(ctx, STAGE, g->n, int32_t);
    mpk_status status = where && number ? MPK_OK : mpki_failed(ctx);
    /* of mpk_analyse, the dissection is about the part from 0.3 to 0.7 */
    double done = (double)p->all->placed / p->all->n;
    if (!mpk_failed(status) && mpki_progress(ctx, "analyse", 0.3 + 0.4 * done))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    const mpki_nd_task task = {ctx, pool, worker, &p->all->stop};
    if (!mpk_failed(status)) status = mpki_nd_separate(&task, g, &random, where);
    if (!mpk_failed(status)) {
        if (g->coarser) mpki_nd_graph_free(ctx, &g->coarser);
        extraction e = {ctx, g, where, number, {NULL, NULL}};
        mpki_pool_for(g->n > MANY ? pool : NULL, worker, 2, extract_item, &e);
        half[0] = e.half[0], half[1] = e.half[1];
        if (!half[0] || !half[1]) status = mpki_failed(ctx);
    }
    int32_t first = p->first;
    if (!mpk_failed(status)) {
        int32_t larger = half[0]->n > half[1]->n ? half[0]->n : half[1]->n;
        poor = larger > POOR * g->n;
        if (poor) status = order_leaf(p->all, g, first, p->all->perm, coarse);
    }
    if (!mpk_failed(status) && !poor) {
        int32_t last = first + g->n;
        for (int32_t v = g->n - 1; v >= 0; v--) {
            if (where[v] != MPKI_ND_SEP) continue;
            p->all->perm[--last] = g->label[v];
            if (coarse) coarse[last] = g->label[v];
        }
        p->all->placed += first + g->n - last;
    }
    mpki_nd_graph_free(ctx, &p->graph);
    mpki_release(ctx, where);
    mpki_release(ctx, number);
    if (!mpk_failed(status) && !poor) {
        part a = {p->all, half[0], first, p->below},
             b = {p->all, half[1], first + half[0]->n, p->below};
        half[0] = half[1] = NULL;
        status = hand_on(pool, worker, a);
        mpk_status other = hand_on(pool, worker, b);
        if (!mpk_failed(status)) status = other;
    }
    mpki_nd_graph_free(ctx, &half[0]);
    mpki_nd_graph_free(ctx, &half[1]);
    return status;
}

/* A task: order one part, freeing it. */
static void dissect(mpki_pool *pool, int worker, void *arg, int64_t item) {
    part *p = arg;
    dissection *d = p->all;
    mpk_context *ctx = d->ctx;
    mpk_status status = MPK_OK;
    (void)item;
    if (!d->failed && !d->stop && p->graph->n) {
        const mpki_nd_graph *g = p->graph;
        const bool ends = g->n <= d->leaves.size || g->xadj[g->n] == 0;
        int32_t *coarse = !p->below && (ends || g->n <= d->leaves.coarse) ? d->coarse : NULL;
        if (ends || coarse) status = order_leaf(d, g, p->first, ends ? d->perm : NULL, coarse);
        p->below = p->below || coarse;
        if (!mpk_failed(status) && !ends) status = split(pool, worker, p);
    }
    if (mpk_failed(status)) d->failed = status;
    mpki_nd_graph_free(ctx, &p->graph);
    mpki_release(ctx, p);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static mpki_nd_graph *whole(mpk_context *ctx, const mpki_graph *graph) {
    mpki_nd_graph *g = mpki_nd_graph_create(ctx, graph->n, graph->xadj[graph->n], false);
    if (!g) return NULL;
    for (int32_t v = 0; v < graph->n; v++) {
        g->xadj[v] = (int32_t)graph->xadj[v];
        g->weight[v] = graph->weight ? graph->weight[v] : 1;
        g->total += g->weight[v];
        g->label[v] = v;
    }
    g->xadj[graph->n] = (int32_t)graph->xadj[graph->n];
    memcpy(g->adj, graph->adj, (size_t)graph->xadj[graph->n] * sizeof *g->adj);
    return g;
}

int64_t mpki_nd_tasks(int32_t n) {
    return n / PARALLEL * 4 + 64;
}

mpk_status mpki_nd_begin(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                         mpki_nd_leaves leaves, mpki_pool *pool, int32_t *perm, int32_t *coarse,
                         mpki_nd **nd) {
    if (graph->xadj[graph->n] > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, graph->xadj[graph->n],
                          "%lld edges are too many for nested dissection",
                          (long long)graph->xadj[graph->n]);
    dissection *d = MPKI_NEW(ctx, STAGE, 1, dissection);
    part *root = MPKI_NEW(ctx, STAGE, 1, part);
    mpki_nd_graph *g = d && root ? whole(ctx, graph) : NULL;
    if (!g) {
        mpki_release(ctx, d);
        mpki_release(ctx, root);
        return mpki_failed(ctx);
    }
    *d = (dissection){.ctx = ctx,
                      .seed = (uint64_t)seed * 0xD1342543DE82EF95u + 1,
                      .n = graph->n,
                      .leaves = leaves,
                      .perm = perm,
                      .coarse = coarse};
    if (leaves.size <= 0) d->leaves.size = MPKI_ND_LEAF;
    *root = (part){d, g, 0, false};
    if (pool)
        mpki_pool_push(pool, graph->n, dissect, root, 0);
    else
        dissect(NULL, 0, root, 0);
    *nd = d;
    return MPK_OK;
}

void mpki_nd_give_up(mpki_nd *nd) {
    if (nd) nd->stop = true;
}

mpk_status mpki_nd_end(mpki_nd **nd) {
    if (!*nd) return MPK_OK;
    mpk_context *ctx = (*nd)->ctx;
    const mpk_status status = (mpk_status)(*nd)->failed;
    mpki_release(ctx, *nd);
    *nd = NULL;
    return status;
}

mpk_status mpki_order_nd(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int32_t leaf,
                         int threads, int32_t *perm) {
    mpki_pool *pool = NULL;
    mpki_nd *nd = NULL;
    if (threads > 1 && graph->n > PARALLEL) {
        pool = mpki_context_pool(ctx, threads, mpki_nd_tasks(graph->n));
        if (!pool) return mpki_failed(ctx);
    }
    mpk_status status =
        mpki_nd_begin(ctx, graph, seed, (mpki_nd_leaves){leaf, 0}, pool, perm, NULL, &nd);
    if (mpk_failed(status)) return status;
    if (pool) mpki_pool_run(pool);
    return mpki_nd_end(&nd);
}
