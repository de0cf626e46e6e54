/* SPDX-License-Identifier: BSD-3-Clause */
/* Coarsens graphs by heavy-edge matching (Karypis & Kumar 1998, sections 3.1 and 4.1). */
#include "nd.h"

#include <string.h>

static const char STAGE[] = "order";

enum {
    SHARES = 16, /* workers of one contraction, at most */
    WIDE = 4096, /* vertices from which there are several */
    AHEAD = 8    /* vertices that a search asks memory for before it comes to them */
};

mpki_nd_graph *mpki_nd_graph_create(mpk_context *ctx, int32_t n, int64_t edges, bool edge_weights) {
    int64_t ints = 4 * (int64_t)n + 1 + edges * (edge_weights ? 2 : 1);
    char *block = mpki_alloc(ctx, STAGE, (int64_t)sizeof(mpki_nd_graph) + 4 * ints, 1);
    if (!block) return NULL;
    mpki_nd_graph *graph = (mpki_nd_graph *)block;
    int32_t *at = (int32_t *)(block + sizeof *graph);
    *graph = (mpki_nd_graph){.n = n,
                             .xadj = at,
                             .weight = at + n + 1,
                             .label = at + 2 * (int64_t)n + 1,
                             .map = at + 3 * (int64_t)n + 1,
                             .adj = at + 4 * (int64_t)n + 1};
    graph->edge = edge_weights ? graph->adj + edges : NULL;
    return graph;
}

void mpki_nd_graph_free(mpk_context *ctx, mpki_nd_graph **graph) {
    for (mpki_nd_graph *g = *graph, *next; g; g = next) {
        next = g->coarser;
        mpki_release(ctx, g);
    }
    *graph = NULL;
}

/* Vertices by increasing degree, in random order where degrees are equal or exceed twice the mean:
 * those with few neighbours choose first, since they have the fewest choices. */
static void visiting_order(const mpki_nd_graph *g, uint64_t *random, int32_t *order,
                           int32_t *shuffled) {
    int32_t n = g->n, cap = 2 * (int32_t)((g->xadj[n] / (n + 1)) + 1);
    int32_t start[2048] = {0};
    if (cap > 2046) cap = 2046;
    for (int32_t v = 0; v < n; v++) {
        int32_t j = (int32_t)(mpki_random_xorshift(random) % (uint32_t)(v + 1));
        shuffled[v] = shuffled[j];
        shuffled[j] = v;
    }
#define KEY(v) (g->xadj[(v) + 1] - g->xadj[v] < cap ? g->xadj[(v) + 1] - g->xadj[v] : cap)
    for (int32_t v = 0; v < n; v++) start[KEY(v) + 1]++;
    for (int32_t k = 0; k <= cap; k++) start[k + 1] += start[k];
    for (int32_t k = 0; k < n; k++) order[start[KEY(shuffled[k])]++] = shuffled[k];
#undef KEY
}

/* match[v] = partner, or v. Heaviest edge first; the weight of a pair is bounded. Returns vertices
 * left alone. */
static int32_t heavy_edge_matching(const mpki_nd_task *task, const mpki_nd_graph *g,
                                   const int32_t *order, int64_t max_weight, uint64_t *random,
                                   mpki_asking *asking, int32_t *match) {
    int32_t alone = 0;
    for (int32_t v = 0; v < g->n; v++) match[v] = -1;
    for (int32_t k = 0; k < g->n; k++) {
        int32_t v = order[k], best = v, heaviest = 0;
        if (k + 2 * AHEAD < g->n) __builtin_prefetch(&g->xadj[order[k + 2 * AHEAD]]);
        if (k + AHEAD < g->n) __builtin_prefetch(&g->adj[g->xadj[order[k + AHEAD]]]);
        if (mpki_asks(asking, 4 * (g->xadj[v + 1] - g->xadj[v])) || mpki_nd_unwanted(task)) break;
        if (match[v] >= 0) continue;
        int64_t room = max_weight - g->weight[v];
        int32_t begin = g->xadj[v], degree = g->xadj[v + 1] - begin;
        int32_t e =
            begin + (degree ? (int32_t)(mpki_random_xorshift(random) % (uint32_t)degree) : 0);
        for (int32_t i = 0; i < degree; i++, e = e + 1 < begin + degree ? e + 1 : begin) {
            int32_t u = g->adj[e], w = g->edge ? g->edge[e] : 1;
            if (w <= heaviest || match[u] >= 0 || g->weight[u] > room) continue;
            heaviest = w;
            best = u;
            if (!g->edge) break;
        }
        match[v] = best;
        match[best] = v;
        alone += best == v;
    }
    return alone;
}

/* In a star most points find no partner: pair vertices that share a neighbour. */
static void two_hop_matching(const mpki_nd_graph *g, int64_t max_weight, int32_t *match) {
    for (int32_t hub = 0; hub < g->n; hub++) {
        int32_t waiting = -1;
        for (int32_t e = g->xadj[hub]; e < g->xadj[hub + 1]; e++) {
            int32_t u = g->adj[e];
            if (match[u] != u) continue;
            if (waiting >= 0 && (int64_t)g->weight[u] + g->weight[waiting] <= max_weight) {
                match[u] = waiting;
                match[waiting] = u;
                waiting = -1;
            } else {
                waiting = u;
            }
        }
    }
    /* vertices without neighbours among themselves */
    int32_t waiting = -1;
    for (int32_t v = 0; v < g->n; v++) {
        if (match[v] != v || g->xadj[v + 1] > g->xadj[v]) continue;
        if (waiting >= 0 && (int64_t)g->weight[v] + g->weight[waiting] <= max_weight) {
            match[v] = waiting;
            match[waiting] = v;
            waiting = -1;
        } else {
            waiting = v;
        }
    }
}

/* Pairs of one part of the vertices, in their order; what each part fills lies apart at first. */
typedef struct share {
    int32_t from, to;    /* vertices of the finer graph */
    int32_t first, last; /* coarse vertices */
    int32_t begin, end;  /* of their edges */
} share;

typedef struct contraction {
    mpk_context *ctx;
    const mpki_nd_graph *g;
    mpki_nd_graph *c;
    const int32_t *match;
    int32_t *place; /* c->n for each share */
    share *share;
} contraction;

static void contract_share(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const contraction *t = arg;
    mpki_asking asking = {t->ctx, "analyse", 0};
    const mpki_nd_graph *g = t->g;
    mpki_nd_graph *c = t->c;
    const int32_t *match = t->match, *coarse = g->map;
    int32_t *place = t->place + item * c->n;
    share *s = &t->share[item];
    int32_t fill = s->begin;
    (void)pool, (void)worker;
    memset(place, -1, (size_t)c->n * sizeof *place);
    for (int32_t v = s->from; v < s->to; v++) {
        if (match[v] < v) continue;
        int32_t self = coarse[v], first = fill;
        if (mpki_asks(&asking, 8 * (int64_t)(g->xadj[v + 1] - g->xadj[v]))) break;
        c->xadj[self] = first;
        c->weight[self] = g->weight[v] + (match[v] != v ? g->weight[match[v]] : 0);
        for (int32_t u = v;; u = match[v]) {
            for (int32_t e = g->xadj[u]; e < g->xadj[u + 1]; e++) {
                int32_t to = coarse[g->adj[e]], w = g->edge ? g->edge[e] : 1, at = place[to];
                if (to == self) continue;
                if (at >= first) {
                    c->edge[at] += w;
                } else {
                    place[to] = fill;
                    c->adj[fill] = to;
                    c->edge[fill++] = w;
                }
            }
            if (u == match[v]) break;
        }
    }
    s->end = fill;
}

/* Shares of like many edges. Returns how many coarse vertices there are; g->map gets the new
 * numbers. */
static int32_t make_shares(const mpki_nd_graph *g, const int32_t *match, int shares, share *list) {
    const int32_t n = g->n, all = g->xadj[n];
    int32_t cn = 0, edges = 0, *coarse = g->map;
    int k = 0;
    list[0] = (share){0};
    for (int32_t v = 0; v < n; v++) {
        if (k + 1 < shares && edges > (int64_t)all * (k + 1) / shares) {
            list[k].to = v, list[k].last = cn;
            list[++k] = (share){.from = v, .first = cn, .begin = edges};
        }
        if (match[v] < v) continue;
        coarse[v] = coarse[match[v]] = cn++;
        edges += g->xadj[v + 1] - g->xadj[v];
        if (match[v] != v) edges += g->xadj[match[v] + 1] - g->xadj[match[v]];
    }
    list[k].to = n, list[k].last = cn;
    for (k++; k < shares; k++) list[k] = (share){n, n, cn, cn, edges, edges};
    return cn;
}

/* The graph of pairs; g->map gets the new numbers. By several workers where there are; the result
 * is the same. */
static mpki_nd_graph *contract(mpk_context *ctx, mpki_pool *pool, int worker,
                               const mpki_nd_graph *g, const int32_t *match) {
    share list[SHARES];
    const int threads = mpki_pool_threads(pool);
    const int shares = g->n < WIDE ? 1 : threads < SHARES ? threads : SHARES;
    const int32_t cn = make_shares(g, match, shares, list);
    mpki_nd_graph *c = mpki_nd_graph_create(ctx, cn, g->xadj[g->n], true);
    int32_t *place = c ? MPKI_NEW(ctx, STAGE, (int64_t)shares * cn, int32_t) : NULL;
    if (!place) {
        mpki_nd_graph_free(ctx, &c);
        return NULL;
    }
    contraction t = {ctx, g, c, match, place, list};
    mpki_pool_for(pool, worker, shares, contract_share, &t);
    int32_t fill = 0;
    for (int k = 0; k < shares; k++) { /* close the gaps between shares */
        const share *s = &list[k];
        const int32_t gap = s->begin - fill;
        const size_t bytes = (size_t)(s->end - s->begin) * sizeof *c->adj;
        if (gap > 0) {
            memmove(c->adj + fill, c->adj + s->begin, bytes);
            memmove(c->edge + fill, c->edge + s->begin, bytes);
            for (int32_t v = s->first; v < s->last; v++) c->xadj[v] -= gap;
        }
        fill += s->end - s->begin;
    }
    c->xadj[cn] = fill;
    c->total = g->total;
    mpki_release(ctx, place);
    return c;
}

mpk_status mpki_nd_coarsen(const mpki_nd_task *task, mpki_nd_graph *graph, int32_t target,
                           uint64_t *random) {
    mpk_context *ctx = task->ctx;
    int32_t *work = MPKI_NEW(ctx, STAGE, 3 * (int64_t)graph->n, int32_t);
    if (!work) return mpki_failed(ctx);
    int32_t *order = work, *match = work + graph->n, *spare = work + 2 * (int64_t)graph->n;
    int64_t max_weight = 3 * graph->total / (2 * (int64_t)target) + 1;
    mpk_status status = MPK_OK;
    mpki_asking asking = {ctx, "analyse", 0};
    mpki_nd_graph *g = graph;
    while (g->n > target && g->xadj[g->n] > 0) {
        visiting_order(g, random, order, spare);
        int32_t alone = heavy_edge_matching(task, g, order, max_weight, random, &asking, match);
        if (mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
        if (mpk_failed(status) || mpki_nd_unwanted(task)) break;
        if (alone > g->n / 10) two_hop_matching(g, max_weight, match);
        mpki_nd_graph *c = contract(ctx, task->pool, task->worker, g, match);
        if (!c || mpki_cancelled(ctx)) {
            status = c ? mpki_stopped(ctx, STAGE) : mpki_failed(ctx);
            mpki_nd_graph_free(ctx, &c);
            break;
        }
        if (c->n > g->n - g->n / 20) { /* stalled */
            mpki_nd_graph_free(ctx, &c);
            break;
        }
        g->coarser = c;
        c->finer = g;
        g = c;
    }
    mpki_release(ctx, work);
    return status;
}
