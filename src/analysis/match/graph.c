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

/* lengths of the rows in ptr[1..n], then their prefix sums */
static void count(int32_t n, const int64_t *ap, const int32_t *ai, const double *absval,
                  int64_t *ptr) {
    for (int32_t j = 0; j < n; j++) {
        ptr[j + 1]++; /* the diagonal entry, be it zero */
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            if (!(absval[k] > 0) || ai[k] == j) continue;
            ptr[j + 1]++;
            ptr[ai[k] + 1]++;
        }
    }
    for (int32_t j = 0; j < n; j++) ptr[j + 1] += ptr[j];
}

/* Column by column, so that each vertex's neighbours come in increasing order. next: work, n.
 * False: stopped. */
static bool fill(mpk_context *ctx, mpki_match_graph *g, const int64_t *ap, const int32_t *ai,
                 const double *absval, int64_t *next) {
    mpki_asking asking = {ctx, "analyse", 0};
    double last = 1, w = 0; /* neighbouring entries are often equal, and a logarithm is expensive */
    for (int32_t j = 0; j < g->n; j++) {
        next[j] = g->ptr[j] + 1;
        g->edge[g->ptr[j]] = (mpki_match_edge){MPKI_MATCH_NONE, j};
    }
    for (int32_t j = 0; j < g->n; j++) {
        if (mpki_asks(&asking, 4 * (ap[j + 1] - ap[j]))) return false;
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            int32_t i = ai[k];
            if (!(absval[k] > 0)) continue; /* zeros, and NaN if one came this far */
            if (absval[k] != last) {
                last = absval[k];
                w = cost_of(last);
            }
            if (i == j) {
                g->edge[g->ptr[j]].w = w;
                continue;
            }
            g->edge[next[j]++] = (mpki_match_edge){w, i};
            g->edge[next[i]++] = (mpki_match_edge){w, j};
        }
    }
    return true;
}

mpk_status mpki_match_graph_build(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                                  const double *absval, mpki_match_graph *graph) {
    mpk_status status = MPK_OK;
    *graph = (mpki_match_graph){.n = n};
    graph->ptr = MPKI_ZNEW(ctx, "match", (int64_t)n + 1, int64_t);
    int64_t *next = MPKI_NEW(ctx, "match", n, int64_t);
    if (!graph->ptr || !next) goto done;
    count(n, ap, ai, absval, graph->ptr);
    graph->edge = MPKI_NEW(ctx, "match", graph->ptr[n], mpki_match_edge);
    if (!graph->edge) goto done;
    if (!fill(ctx, graph, ap, ai, absval, next)) {
        status = mpki_stopped(ctx, "match");
        mpki_match_graph_free(ctx, graph);
        goto done;
    }
done:
    mpki_release(ctx, next);
    if (!mpk_failed(status) && !graph->edge) {
        status = mpki_failed(ctx);
        mpki_match_graph_free(ctx, graph);
    }
    return status;
}

void mpki_match_graph_free(mpk_context *ctx, mpki_match_graph *graph) {
    mpki_release(ctx, graph->ptr);
    mpki_release(ctx, graph->edge);
    *graph = (mpki_match_graph){0};
}
