/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of neighbours in an order: only the next row can join, so that one pass over the edges
 * finds all groups of a level. */
#include "grouping.h"

#include <math.h>

static const char STAGE[] = "blocking";

typedef struct run {
    const mpki_graph *graph;
    int32_t *mark; /* by column: group whose pattern has it */
    int32_t group;
    int64_t length; /* of the group's pattern */
} run;

static int64_t shared(const run *r, int32_t v) {
    const mpki_graph *g = r->graph;
    int64_t common = r->mark[v] == r->group;
    for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++) common += r->mark[g->adj[e]] == r->group;
    return common;
}

static void add(run *r, int32_t v) {
    const mpki_graph *g = r->graph;
    r->length += r->mark[v] != r->group;
    r->mark[v] = r->group;
    for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++) {
        r->length += r->mark[g->adj[e]] != r->group;
        r->mark[g->adj[e]] = r->group;
    }
}

mpk_status mpki_group_neighbours(mpk_context *ctx, const mpki_graph *graph, double tau,
                                 int32_t most, int32_t *of, int32_t *count, double *below) {
    int32_t n = graph->n, size = 0;
    double below2 = 0;
    run r = {graph, MPKI_NEW(ctx, STAGE, n, int32_t), -1, 0};
    if (!r.mark) return mpki_failed(ctx);
    for (int32_t v = 0; v < n; v++) r.mark[v] = -1;
    for (int32_t v = 0; v < n; v++) {
        int32_t weight = mpki_graph_weight(graph, v);
        bool joins = v > 0 && size + weight <= most;
        if (joins) {
            double common = (double)shared(&r, v);
            double own = (double)(graph->xadj[v + 1] - graph->xadj[v] + 1);
            double cosine2 = common * common / (own * (double)r.length);
            joins = cosine2 >= tau * tau;
            if (!joins && cosine2 > below2) below2 = cosine2;
        }
        if (!joins) {
            r.group++;
            r.length = 0;
            size = 0;
        }
        add(&r, v);
        size += weight;
        of[v] = r.group;
    }
    *count = r.group + 1;
    *below = sqrt(below2);
    mpki_release(ctx, r.mark);
    return MPK_OK;
}
