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

/* The graph without its dense vertices. keep[k] = vertex of the whole graph that is vertex k of the
 * part. */
static mpk_status strip(mpk_context *ctx, const mpki_graph *graph, int64_t limit, int32_t kept,
                        int32_t *keep, mpki_graph *part) {
    int32_t n = graph->n;
    int32_t *number = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = MPK_OK;
    *part = (mpki_graph){.n = kept};
    part->xadj = MPKI_NEW(ctx, STAGE, (int64_t)kept + 1, int64_t);
    part->adj = MPKI_NEW(ctx, STAGE, graph->xadj[n], int32_t);
    if (graph->weight) part->weight = MPKI_NEW(ctx, STAGE, kept, int32_t);
    if (!number || !part->xadj || !part->adj || (graph->weight && !part->weight)) {
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
        int32_t v = keep[k];
        part->xadj[k] = fill;
        if (graph->weight) part->weight[k] = graph->weight[v];
        for (int64_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
            int32_t w = number[graph->adj[e]];
            if (w >= 0) part->adj[fill++] = w;
        }
    }
    part->xadj[kept] = fill;
done:
    mpki_release(ctx, number);
    if (mpk_failed(status)) mpki_graph_free(ctx, part);
    return status;
}

static mpk_status order_by(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method,
                           int64_t seed, int threads, int32_t *perm) {
    switch (method) {
    case MPK_ORDERING_ND:
        return mpki_order_nd(ctx, graph, seed, threads, perm);
    case MPK_ORDERING_AMD:
        return mpki_order_amd(ctx, graph, perm);
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

/* A graph without dense vertices. */
static mpk_status order_part(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method,
                             int64_t seed, int threads, int32_t *perm) {
    if (graph->n == 0) return MPK_OK;
    if (method == MPK_ORDERING_AMD) return mpki_order_amd(ctx, graph, perm);
    mpki_graph small = {0};
    int32_t *small_perm = NULL, *map = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
    mpk_status status = map ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_twins_merge(ctx, graph, TWINS, map, &small);
    if (!mpk_failed(status) && small.n == 0) {
        status = order_by(ctx, graph, method, seed, threads, perm);
    } else if (!mpk_failed(status)) {
        small_perm = MPKI_NEW(ctx, STAGE, small.n, int32_t);
        if (!small_perm) status = mpki_failed(ctx);
        if (!mpk_failed(status)) status = order_by(ctx, &small, method, seed, threads, small_perm);
        if (!mpk_failed(status))
            status = mpki_twins_expand(ctx, graph->n, map, small.n, small_perm, perm);
    }
    mpki_graph_free(ctx, &small);
    mpki_release(ctx, small_perm);
    mpki_release(ctx, map);
    return status;
}

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

/* Any method but AUTO. */
static mpk_status order_graph(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method,
                              int64_t seed, int threads, int32_t *perm) {
    int32_t n = graph->n, dense = 0;
    if (method == MPK_ORDERING_NATURAL) {
        for (int32_t k = 0; k < n; k++) perm[k] = k;
        return MPK_OK;
    }
    int64_t limit = dense_degree(graph);
    for (int32_t v = 0; v < n; v++) dense += graph->xadj[v + 1] - graph->xadj[v] > limit;
    if (dense == 0) return order_part(ctx, graph, method, seed, threads, perm);

    mpki_graph part = {0};
    int32_t kept = n - dense;
    int32_t *keep = MPKI_NEW(ctx, STAGE, kept, int32_t);
    mpk_status status = keep ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) status = strip(ctx, graph, limit, kept, keep, &part);
    if (!mpk_failed(status)) status = order_part(ctx, &part, method, seed, threads, perm);
    if (!mpk_failed(status)) status = place_dense(ctx, graph, limit, dense, perm + kept);
    for (int32_t k = 0; !mpk_failed(status) && k < kept; k++) perm[k] = keep[perm[k]];
    mpki_graph_free(ctx, &part);
    mpki_release(ctx, keep);
    return status;
}

/* ---- auto ---------------------------------------------------------------------------------------
 */

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

mpk_status mpki_order_improve(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int threads,
                              int cores, int32_t *perm, mpki_cost *cost, mpk_ordering *used) {
    mpki_cost nd;
    *used = MPK_ORDERING_AMD;
    bool possible = graph->n >= 200 && graph->xadj[graph->n] <= INT32_MAX;
    if (!possible || nd_time(graph, cores) > ND_SHARE * cost->time_s) return MPK_OK;
    if (mpki_progress(ctx, "analyse", 0.3))
        return mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    int32_t *other = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
    if (!other) return mpki_failed(ctx);
    mpk_status status = order_graph(ctx, graph, MPK_ORDERING_ND, seed, threads, other);
    if (!mpk_failed(status)) status = mpki_order_time(ctx, graph, other, cores, &nd);
    if (!mpk_failed(status) && nd.time_s < cost->time_s) {
        memcpy(perm, other, (size_t)graph->n * sizeof *perm);
        *cost = nd;
        *used = MPK_ORDERING_ND;
    }
    mpki_release(ctx, other);
    return status;
}

/* An interior-point method factorizes one pattern some tens of times, and what it saves on the
 * processor is waiting for the device: nested dissection may take as long as so many factorizations. */
static const double ND_FACTORIZATIONS = 300;
/* It is taken where it is expected to need less than this share of AMD's time: AMD's trees fill less,
 * and the guess is no better than that. Which pivots fail is a guess, too, and too high where fill makes
 * pivots good (uccase9: 13 754 by the guess, 777 by the factorization), so it can only speak against
 * nested dissection, as on maros_r7: 1165 columns by the guess against AMD's 305, and they are delayed
 * 4285 and 878 times. */
static const double ND_GAIN = 0.9;

/* What an order costs on a device, as mpki_order_makespan(). late: room for a number of each vertex */
static mpk_status device_time(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                              const mpki_failing *failing, int32_t *late, double time_s[2]) {
    const mpk_status status = failing ? failing->find(failing->state, perm, late) : MPK_OK;
    if (mpk_failed(status)) return status;
    return mpki_order_makespan(ctx, graph, perm, failing ? late : NULL, time_s);
}

mpk_status mpki_order_for_device(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                                 int threads, int cores, const mpki_failing *failing, int32_t *perm,
                                 mpk_ordering *used) {
    double amd_s[2], nd_s[2];
    *used = MPK_ORDERING_AMD;
    if (graph->n < 200 || graph->xadj[graph->n] > INT32_MAX) return MPK_OK;
    int32_t *other = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
    int32_t *late = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
    mpk_status status = other && late ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) status = device_time(ctx, graph, perm, failing, late, amd_s);
    if (mpk_failed(status) || nd_time(graph, cores) > ND_FACTORIZATIONS * amd_s[0]) goto done;
    if (mpki_progress(ctx, "analyse", 0.3)) {
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
        goto done;
    }
    status = order_graph(ctx, graph, MPK_ORDERING_ND, seed, threads, other);
    if (!mpk_failed(status)) status = device_time(ctx, graph, other, failing, late, nd_s);
    if (!mpk_failed(status) && nd_s[0] < ND_GAIN * amd_s[0] && nd_s[1] < ND_GAIN * amd_s[1]) {
        memcpy(perm, other, (size_t)graph->n * sizeof *perm);
        *used = MPK_ORDERING_ND;
    }
done:
    mpki_release(ctx, other);
    mpki_release(ctx, late);
    return status;
}

mpk_status mpki_order(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method, int64_t seed,
                      int threads, int32_t *perm, mpk_ordering *used) {
    mpk_ordering ignored;
    mpki_cost cost;
    if (!used) used = &ignored;
    *used = method;
    if (method != MPK_ORDERING_AUTO) return order_graph(ctx, graph, method, seed, threads, perm);
    const int cores = MODEL_CORES;
    *used = MPK_ORDERING_AMD;
    mpk_status status = order_graph(ctx, graph, MPK_ORDERING_AMD, seed, 1, perm);
    if (!mpk_failed(status)) status = mpki_order_time(ctx, graph, perm, cores, &cost);
    if (!mpk_failed(status))
        status = mpki_order_improve(ctx, graph, seed, threads, cores, perm, &cost, used);
    return status;
}
