/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders a graph: sets dense vertices aside, runs the method; and chooses a method for AUTO. */
#include "order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "order";

/* A vertex joined to very many others fills its row of L wherever it stands, but slows every method
 * down while it is in the graph (METIS: 79 s for a quadratic program of 280 000 rows). The first
 * limit is that of Amestoy, Davis & Duff 2004, section 4. The second is for linear programs of few
 * long rows: AMD's time falls to a sixth on rail507 and map10, at 14 % and 6 % more operations, and
 * nothing else changes; 30 times the mean would cost uccase9 and bab5 more than it brings. */
static int64_t dense_degree(const mpki_graph *graph) {
    double n = graph->n, mean = n > 0 ? (double)graph->xadj[graph->n] / n : 0;
    double limit = fmin(10 * sqrt(n), 60 * mean);
    return limit < 16 ? 16 : (int64_t)limit;
}

/* The graph without its dense vertices, with the room after its edges that AMD works in. keep[k] = vertex
 * of the whole graph that is vertex k of the part. */
static mpk_status strip(mpk_context *ctx, const mpki_graph *graph, int64_t limit, int32_t kept,
                        int32_t *keep, mpki_graph *part) {
    int32_t n = graph->n;
    int32_t *number = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = MPK_OK;
    *part = (mpki_graph){.n = kept};
    part->xadj = MPKI_NEW(ctx, STAGE, (int64_t)kept + 1, int64_t);
    if (graph->weight) part->weight = MPKI_NEW(ctx, STAGE, kept, int32_t);
    if (!number || !part->xadj || (graph->weight && !part->weight)) {
        status = mpki_failed(ctx);
        goto done;
    }
    int32_t next = 0;
    for (int32_t v = 0; v < n; v++) {
        number[v] = graph->xadj[v + 1] - graph->xadj[v] > limit ? -1 : next;
        if (number[v] >= 0) keep[next++] = v;
    }
    int64_t fill = 0;
    for (int32_t k = 0; k < kept; k++) {
        part->xadj[k] = fill;
        for (int64_t e = graph->xadj[keep[k]]; e < graph->xadj[keep[k] + 1]; e++)
            fill += number[graph->adj[e]] >= 0;
    }
    part->xadj[kept] = fill;
    part->adj = MPKI_NEW(ctx, STAGE, mpki_amd_room(part), int32_t);
    if (!part->adj) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t k = 0; k < kept; k++) {
        int32_t v = keep[k], *to = part->adj + part->xadj[k];
        if (graph->weight) part->weight[k] = graph->weight[v];
        for (int64_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
            int32_t w = number[graph->adj[e]];
            if (w >= 0) *to++ = w;
        }
    }
done:
    mpki_release(ctx, number);
    if (mpk_failed(status)) mpki_graph_free(ctx, part);
    return status;
}

static mpk_status order_by(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method,
                           int64_t seed, int32_t leaf, int threads, int32_t *perm) {
    switch (method) {
    case MPK_ORDERING_ND:
        return mpki_order_nd(ctx, graph, seed, leaf, threads, perm);
    case MPK_ORDERING_METIS:
        return mpki_order_metis(ctx, graph, seed, perm);
    case MPK_ORDERING_SCOTCH:
        return mpki_order_scotch(ctx, graph, seed, perm);
    case MPK_ORDERING_RCM:
        return mpki_order_rcm(ctx, graph, perm);
    case MPK_ORDERING_GMC:
        return mpki_order_gmc(ctx, graph, perm);
    default:
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, method, "ordering = %s is not available",
                          mpk_ordering_name(method));
    }
}

/* Twins are worth merging if at most this share of the vertices is left. AMD finds them by itself.
 */
static const double TWINS = 0.85;

typedef struct keyed {
    int64_t degree;
    int32_t vertex;
} keyed;

static int by_degree(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->degree != y->degree) return x->degree < y->degree ? -1 : 1;
    return x->vertex < y->vertex ? -1 : 1;
}

/* Put the dense vertices last, by increasing degree. */
static mpk_status place_dense(mpk_context *ctx, const mpki_graph *graph, int64_t limit,
                              int32_t count, int32_t *tail) {
    keyed *list = MPKI_NEW(ctx, STAGE, count, keyed);
    if (!list) return mpki_failed(ctx);
    int32_t next = 0;
    for (int32_t v = 0; v < graph->n; v++) {
        int64_t degree = graph->xadj[v + 1] - graph->xadj[v];
        if (degree > limit) list[next++] = (keyed){degree, v};
    }
    qsort(list, (size_t)count, sizeof *list, by_degree);
    for (int32_t k = 0; k < count; k++) tail[k] = list[k].vertex;
    mpki_release(ctx, list);
    return MPK_OK;
}

/* What a method is given: the graph without dense vertices and with twins merged. */
typedef struct prepared {
    mpki_graph whole;       /* borrowed */
    const mpki_graph *bare; /* one of these three */
    mpki_graph part, small; /* n = 0: the graph before it will do */
    int32_t *keep, *map;    /* part -> whole, part -> small */
    int32_t *perm, *coarse; /* room for bare's order, and for another one; NULL: not wanted */
    int64_t limit;          /* of degrees */
    int32_t kept;
} prepared;

static void prepared_free(mpk_context *ctx, prepared *p) {
    mpki_graph_free(ctx, &p->part);
    mpki_graph_free(ctx, &p->small);
    mpki_release(ctx, p->keep);
    mpki_release(ctx, p->map);
    mpki_release(ctx, p->perm);
    mpki_release(ctx, p->coarse);
    *p = (prepared){0};
}

static mpk_status prepare(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method,
                          prepared *p) {
    const int32_t n = graph->n;
    mpk_status status = MPK_OK;
    *p = (prepared){.whole = *graph, .bare = &p->whole, .limit = dense_degree(graph), .kept = n};
    for (int32_t v = 0; v < n; v++) p->kept -= graph->xadj[v + 1] - graph->xadj[v] > p->limit;
    if (p->kept < n) {
        p->keep = MPKI_NEW(ctx, STAGE, p->kept, int32_t);
        status =
            p->keep ? strip(ctx, graph, p->limit, p->kept, p->keep, &p->part) : mpki_failed(ctx);
        p->bare = &p->part;
    }
    if (!mpk_failed(status) && p->bare->n > 0 && method != MPK_ORDERING_AMD) {
        p->map = MPKI_NEW(ctx, STAGE, p->bare->n, int32_t);
        status =
            p->map ? mpki_twins_merge(ctx, p->bare, TWINS, p->map, &p->small) : mpki_failed(ctx);
        if (p->small.n > 0) p->bare = &p->small;
    }
    if (!mpk_failed(status) && !(p->perm = MPKI_NEW(ctx, STAGE, p->bare->n, int32_t)))
        status = mpki_failed(ctx);
    if (mpk_failed(status)) prepared_free(ctx, p);
    return status;
}

/* From an order of p->bare to one of the whole graph. */
static mpk_status finish(mpk_context *ctx, const prepared *p, const int32_t *bare, int32_t *perm) {
    const int32_t dense = p->whole.n - p->kept;
    mpk_status status = MPK_OK;
    if (p->small.n > 0)
        status = mpki_twins_expand(ctx, p->kept, p->map, p->small.n, bare, perm);
    else
        memcpy(perm, bare, (size_t)p->kept * sizeof *perm);
    if (mpk_failed(status) || dense == 0) return status;
    for (int32_t k = 0; k < p->kept; k++) perm[k] = p->keep[perm[k]];
    return place_dense(ctx, &p->whole, p->limit, dense, perm + p->kept);
}

/* Any method but AUTO. leaf: of nested dissection */
static mpk_status order_graph(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method,
                              int64_t seed, int32_t leaf, int threads, int32_t *perm) {
    prepared p;
    if (method == MPK_ORDERING_NATURAL) {
        for (int32_t k = 0; k < graph->n; k++) perm[k] = k;
        return MPK_OK;
    }
    mpk_status status = prepare(ctx, graph, method, &p);
    if (mpk_failed(status)) return status;
    if (p.bare->n > 0 && method == MPK_ORDERING_AMD) /* a part is ours, and not wanted afterwards */
        status = mpki_order_amd(ctx, p.bare, p.bare == &p.part, p.perm);
    else if (p.bare->n > 0)
        status = order_by(ctx, p.bare, method, seed, leaf, threads, p.perm);
    if (!mpk_failed(status)) status = finish(ctx, &p, p.perm, perm);
    prepared_free(ctx, &p);
    return status;
}

mpk_status mpki_order_waiting(mpk_context *ctx, const mpki_graph *graph, mpki_pivots *pivots,
                              double flops, int32_t *perm, bool *done) {
    prepared p;
    mpk_status status = prepare(ctx, graph, MPK_ORDERING_AMD, &p);
    *done = true;
    if (mpk_failed(status)) return status;
    if (p.bare->n > 0) status = mpki_order_wait(ctx, p.bare, p.keep, pivots, flops, p.perm, done);
    if (!mpk_failed(status) && *done) status = finish(ctx, &p, p.perm, perm);
    prepared_free(ctx, &p);
    return status;
}

mpk_status mpki_dissect(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int32_t leaf,
                        int threads, int32_t *perm) {
    return order_graph(ctx, graph, MPK_ORDERING_ND, seed, leaf, threads, perm);
}

struct mpki_dissection {
    prepared p;
    mpki_nd *nd;
};

mpk_status mpki_dissection_begin(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                                 mpki_nd_leaves leaves, mpki_pool *pool, mpki_dissection **begun) {
    mpki_dissection *d = MPKI_ZNEW(ctx, STAGE, 1, mpki_dissection);
    mpk_status status = d ? prepare(ctx, graph, MPK_ORDERING_ND, &d->p) : mpki_failed(ctx);
    if (!mpk_failed(status) && leaves.coarse > 0 &&
        !(d->p.coarse = MPKI_NEW(ctx, STAGE, d->p.bare->n, int32_t)))
        status = mpki_failed(ctx);
    if (!mpk_failed(status) && d->p.bare->n > 0)
        status = mpki_nd_begin(ctx, d->p.bare, seed, leaves, pool, d->p.perm, d->p.coarse, &d->nd);
    if (mpk_failed(status)) (void)mpki_dissection_end(ctx, &d, NULL, NULL);
    *begun = d;
    return status;
}

mpk_status mpki_dissection_run(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                               mpki_nd_leaves leaves, int threads, mpki_dissection **begun) {
    mpki_pool *pool = NULL;
    if (threads > 1 && !(pool = mpki_context_pool(ctx, threads, mpki_nd_tasks(graph->n))))
        return mpki_failed(ctx);
    const mpk_status status = mpki_dissection_begin(ctx, graph, seed, leaves, pool, begun);
    if (!mpk_failed(status) && pool) mpki_pool_run(pool);
    return status;
}

void mpki_dissection_give_up(mpki_dissection *begun) {
    if (begun) mpki_nd_give_up(begun->nd);
}

mpk_status mpki_dissection_end(mpk_context *ctx, mpki_dissection **begun, int32_t *perm,
                               int32_t *coarse) {
    mpki_dissection *d = *begun;
    if (!d) return MPK_OK;
    mpk_status status = mpki_nd_end(&d->nd);
    if (!mpk_failed(status) && perm) status = finish(ctx, &d->p, d->p.perm, perm);
    if (!mpk_failed(status) && coarse) status = finish(ctx, &d->p, d->p.coarse, coarse);
    prepared_free(ctx, &d->p);
    mpki_release(ctx, d);
    *begun = NULL;
    return status;
}

/* ---- auto ------------------------------------------------------------------------------------ */

enum { MODEL_CORES = 2 }; /* that of options.model_threads, for graphs of blocks */

/* Seconds that nested dissection will take: linear in the graph for each of its log2(n / 100)
 * levels, of which all but the first keep all cores busy. Fitted to 16 matrices on a Zen 4 at 3.7
 * GHz. */
static double nd_time(const mpki_graph *graph, int cores) {
    int64_t limit = dense_degree(graph);
    double vertices = 0, edges = 0;
    for (int32_t v = 0; v < graph->n; v++) {
        int64_t degree = graph->xadj[v + 1] - graph->xadj[v];
        vertices += degree <= limit;
        edges += degree <= limit ? (double)degree : 0;
    }
    double level = 2.6e-7 * vertices + 1.3e-8 * edges;
    double levels = vertices < 400 ? 2 : log2(vertices / 100);
    return level * (1 + (levels - 1) / cores);
}

/* Nested dissection rarely saves more than three quarters of the factorization, sometimes nothing:
 * it is tried only if it is expected to take less than this share of the factorization. */
static const double ND_SHARE = 0.7;

bool mpki_worth_improving(const mpki_graph *graph, int cores, const mpki_cost *cost) {
    return mpki_can_dissect(graph, false) && nd_time(graph, cores) <= ND_SHARE * cost->time_s;
}

/* Levels of a search in breadth from a vertex; *last [inout] the first vertex, then the last one
 * reached. queue [out] those that were reached, count of them; seen [work] n zeros, left as they
 * were. */
static int32_t levels(const mpki_graph *graph, int32_t *queue, char *seen, int32_t *last,
                      int32_t *count) {
    int32_t depth = 0, filled = 1;
    queue[0] = *last;
    seen[*last] = 1;
    for (int32_t k = 0, end = 1; k < filled; end = filled, depth++)
        for (; k < end; k++)
            for (int64_t e = graph->xadj[queue[k]]; e < graph->xadj[queue[k] + 1]; e++) {
                if (seen[graph->adj[e]]) continue;
                seen[graph->adj[e]] = 1;
                queue[filled++] = graph->adj[e];
            }
    for (int32_t k = 0; k < filled; k++) seen[queue[k]] = 0;
    *last = queue[filled - 1];
    *count = filled;
    return depth;
}

/* A level of a search from one end of a graph is about as wide as its separators, w, and AMD's
 * factorizations of grids take 130 to 160 w^3 operations, in the plane and in space. A graph with much
 * fewer levels than a cube has is no grid, and that tells nothing of it (linear programs: it would be too
 * much by a factor of a thousand). */
bool mpki_may_improve(mpk_context *ctx, const mpki_graph *graph, int cores) {
    static const double CUBE = 150, RATE = 40e9, SAFE = 2, LEVELS = 0.8;
    const int32_t n = graph->n;
    int32_t *queue = MPKI_NEW(ctx, NULL, n, int32_t), last = 0, count = 0, depth = 1;
    char *seen = MPKI_ZNEW(ctx, NULL, n, char);
    for (int k = 0; queue && seen && k < 2; k++) depth = levels(graph, queue, seen, &last, &count);
    mpki_release(ctx, queue);
    mpki_release(ctx, seen);
    const double width = (double)count / depth;
    if (depth < LEVELS * cbrt((double)count)) return false;
    return nd_time(graph, cores) <= SAFE * ND_SHARE * CUBE * width * width * width / (RATE * cores);
}

mpk_status mpki_order_improve(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int threads,
                              int cores, mpki_dissection **begun, mpki_etree *tree, mpki_cost *cost,
                              mpk_ordering *used) {
    mpki_etree other = {0};
    *used = MPK_ORDERING_AMD;
    if (!mpki_worth_improving(graph, cores, cost)) return MPK_OK;
    if (mpki_progress(ctx, "analyse", 0.3))
        return mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    int32_t *perm = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
    if (!perm) return mpki_failed(ctx);
    mpk_status status = begun && *begun
                            ? mpki_dissection_end(ctx, begun, perm, NULL)
                            : order_graph(ctx, graph, MPK_ORDERING_ND, seed, 0, threads, perm);
    if (!mpk_failed(status)) {
        mpki_pool *pool = mpki_loops_pool(ctx, threads, graph->xadj[graph->n], &status);
        if (!mpk_failed(status)) status = mpki_etree_make(ctx, pool, 0, graph, perm, &other);
    }
    mpki_release(ctx, perm);
    if (mpk_failed(status)) return status;
    const mpki_cost nd = mpki_etree_cost(graph, &other, cores);
    if (nd.time_s < cost->time_s) {
        const mpki_etree swap = *tree;
        *tree = other;
        other = swap;
        *cost = nd;
        *used = MPK_ORDERING_ND;
    }
    mpki_etree_free(ctx, &other);
    return status;
}

/* An interior-point method factorizes one pattern some tens of times, and what it saves on the
 * processor is waiting for the device: nested dissection may take as long as so many
 * factorizations. */
static const double ND_FACTORIZATIONS = 300;
/* It is taken where it is expected to need less than this share of AMD's time: AMD's trees fill
 * less, and the guess is no better than that. Which pivots fail is a guess, too, and too high where
 * fill makes pivots good (uccase9: 13 754 by the guess, 777 by the factorization), so it can only
 * speak against nested dissection, as on maros_r7: 1165 columns by the guess against AMD's 305, and
 * they are delayed 4285 and 878 times. */
static const double ND_GAIN = 0.9;

bool mpki_worth_dissecting(const mpki_graph *graph, int cores, double amd_s) {
    return mpki_can_dissect(graph, true) && nd_time(graph, cores) <= ND_FACTORIZATIONS * amd_s;
}

bool mpki_dissection_wins(const double nd_s[2], const double amd_s[2]) {
    return nd_s[0] < ND_GAIN * amd_s[0] && nd_s[1] < ND_GAIN * amd_s[1];
}

mpk_status mpki_order(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method, int64_t seed,
                      int threads, int32_t *perm, mpk_ordering *used) {
    mpk_ordering ignored;
    mpki_etree tree = {0};
    if (!used) used = &ignored;
    *used = method;
    if (method != MPK_ORDERING_AUTO) return order_graph(ctx, graph, method, seed, 0, threads, perm);
    const int cores = MODEL_CORES;
    *used = MPK_ORDERING_AMD;
    mpk_status status = order_graph(ctx, graph, MPK_ORDERING_AMD, seed, 0, 1, perm);
    if (!mpk_failed(status)) status = mpki_etree_make(ctx, NULL, 0, graph, perm, &tree);
    if (!mpk_failed(status)) {
        mpki_cost cost = mpki_etree_cost(graph, &tree, cores);
        status = mpki_order_improve(ctx, graph, seed, threads, cores, NULL, &tree, &cost, used);
    }
    if (!mpk_failed(status)) memcpy(perm, tree.perm, (size_t)graph->n * sizeof *perm);
    mpki_etree_free(ctx, &tree);
    return status;
}
