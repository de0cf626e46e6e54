/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of similar patterns into groups: the cosine of two rows of zeros and ones is the number of
 * columns they share over the geometric mean of their lengths (Saad 2003, section 3.2). The shared
 * columns of a seed with all others are counted over its neighbours' neighbours. */
#include "grouping.h"

#include <math.h>
#include <stdlib.h>

static const char STAGE[] = "blocking";

typedef struct candidate {
    double cosine2; /* squared */
    int32_t vertex;
} candidate;

static int by_cosine(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->cosine2 != y->cosine2) return x->cosine2 > y->cosine2 ? -1 : 1;
    return x->vertex < y->vertex ? -1 : 1;
}

/* A column of d entries takes d^2 counts and tells little when d is large. Columns are counted up
 * to the length at which all of them together take so many counts for each edge. */
enum { COUNTS_PER_EDGE = 100, LENGTHS = 4096 };

int64_t mpki_cosine_limit(const mpki_graph *graph) {
    int32_t n = graph->n;
    double mean = n ? (double)graph->xadj[n] / n : 0, counts = 0;
    double most = COUNTS_PER_EDGE * (double)graph->xadj[n];
    int64_t least = 16 + (int64_t)(2 * mean), columns[LENGTHS] = {0};
    for (int32_t v = 0; v < n; v++) {
        int64_t degree = graph->xadj[v + 1] - graph->xadj[v];
        if (degree < LENGTHS) columns[degree]++;
    }
    for (int64_t d = 0; d < LENGTHS; d++) {
        counts += (double)columns[d] * (double)d * (double)d;
        if (counts > most && d > least) return d - 1;
    }
    return least > LENGTHS ? least : LENGTHS;
}

typedef struct search {
    const mpki_graph *graph;
    int64_t limit;
    double tau2;
    int32_t most;
    const int32_t *length; /* of the patterns */
    int32_t *common;       /* by vertex: columns shared with the seed; -1: taken */
    int32_t *touched;      /* vertices with common > 0 */
    candidate *list;
    double below2;
} search;

static bool counted(const search *s, int32_t v) {
    return s->graph->xadj[v + 1] - s->graph->xadj[v] <= s->limit;
}

/* Vertices v for which column k is in the pattern of v, k itself included. */
static int32_t count_column(search *s, int32_t k, int32_t touched) {
    const mpki_graph *g = s->graph;
    if (s->common[k] >= 0 && s->common[k]++ == 0) s->touched[touched++] = k;
    for (int64_t e = g->xadj[k]; e < g->xadj[k + 1]; e++) {
        int32_t v = g->adj[e];
        if (s->common[v] >= 0 && s->common[v]++ == 0) s->touched[touched++] = v;
    }
    return touched;
}

/* Those similar enough to the seed, the most similar first. */
static int32_t candidates(search *s, int32_t seed, int32_t room) {
    const mpki_graph *g = s->graph;
    int32_t touched = 0, found = 0;
    if (counted(s, seed)) touched = count_column(s, seed, touched);
    for (int64_t e = g->xadj[seed]; e < g->xadj[seed + 1]; e++)
        if (counted(s, g->adj[e])) touched = count_column(s, g->adj[e], touched);
    for (int32_t k = 0; k < touched; k++) {
        int32_t v = s->touched[k], c = s->common[v];
        s->common[v] = 0;
        if (mpki_graph_weight(g, v) > room) continue;
        double cosine2 = (double)c * c / ((double)s->length[seed] * s->length[v]);
        if (cosine2 >= s->tau2)
            s->list[found++] = (candidate){cosine2, v};
        else if (cosine2 > s->below2)
            s->below2 = cosine2;
    }
    if (found > 1) qsort(s->list, (size_t)found, sizeof *s->list, by_cosine);
    return found;
}

static int32_t group_all(search *s, int32_t *of) {
    const mpki_graph *g = s->graph;
    int32_t count = 0;
    for (int32_t v = 0; v < g->n; v++) of[v] = -1;
    for (int32_t seed = 0; seed < g->n; seed++) {
        if (of[seed] >= 0) continue;
        int32_t room = s->most - mpki_graph_weight(g, seed);
        of[seed] = count;
        s->common[seed] = -1;
        int32_t found = room > 0 ? candidates(s, seed, room) : 0;
        for (int32_t k = 0; k < found && room > 0; k++) {
            int32_t v = s->list[k].vertex;
            if (mpki_graph_weight(g, v) > room) continue;
            of[v] = count;
            s->common[v] = -1;
            room -= mpki_graph_weight(g, v);
        }
        count++;
    }
    return count;
}

mpk_status mpki_group_similar(mpk_context *ctx, const mpki_graph *graph, double tau, int32_t most,
                              int32_t *of, int32_t *count, double *below) {
    int32_t n = graph->n;
    int32_t *length = MPKI_ZNEW(ctx, STAGE, n, int32_t);
    int32_t *common = MPKI_ZNEW(ctx, STAGE, n, int32_t);
    int32_t *touched = MPKI_NEW(ctx, STAGE, n, int32_t);
    candidate *list = MPKI_NEW(ctx, STAGE, n, candidate);
    mpk_status status = length && common && touched && list ? MPK_OK : mpki_failed(ctx);
    if (status) goto done;
    search s = {.graph = graph,
                .limit = mpki_cosine_limit(graph),
                .tau2 = tau * tau,
                .most = most,
                .length = length,
                .common = common,
                .touched = touched,
                .list = list};
    for (int32_t v = 0; v < n; v++) {
        length[v] = counted(&s, v);
        for (int64_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++)
            length[v] += counted(&s, graph->adj[e]);
    }
    *count = group_all(&s, of);
    *below = sqrt(s.below2);
done:
    mpki_release(ctx, length);
    mpki_release(ctx, common);
    mpki_release(ctx, touched);
    mpki_release(ctx, list);
    return status;
}
