/* SPDX-License-Identifier: BSD-3-Clause */
/* The quotient graph: its vertices are groups of vertices. */
#include "grouping.h"

static const char STAGE[] = "blocking";

/* Members of each group, by counting: list[ptr[g] .. ptr[g+1]-1], increasing. */
static void list_members(int32_t n, const int32_t *of, int32_t count, int32_t *ptr, int32_t *list) {
    for (int32_t g = 0; g <= count; g++) ptr[g] = 0;
    for (int32_t v = 0; v < n; v++) ptr[of[v]]++;
    for (int32_t g = 0, sum = 0; g <= count; g++) {
        sum += ptr[g];
        ptr[g] = sum;
    }
    for (int32_t v = n; v-- > 0;) list[--ptr[of[v]]] = v;
}

typedef struct walk {
    const mpki_graph *graph;
    const int32_t *of, *ptr, *list;
    int32_t *seen; /* by group: the last group whose row has it */
} walk;

/* Neighbours of group g, each once: put at adj[next[h]++] of its own row, or counted. Groups come
 * in increasing order and the relation is symmetric, so that rows end up complete and sorted. */
static int64_t visit(walk *w, int32_t g, int32_t *adj, int64_t *next) {
    int64_t degree = 0;
    w->seen[g] = g;
    for (int32_t k = w->ptr[g]; k < w->ptr[g + 1]; k++) {
        int32_t v = w->list[k];
        for (int64_t e = w->graph->xadj[v]; e < w->graph->xadj[v + 1]; e++) {
            int32_t h = w->of[w->graph->adj[e]];
            if (w->seen[h] == g) continue;
            w->seen[h] = g;
            degree++;
            if (adj) adj[next[h]++] = g;
        }
    }
    return degree;
}

mpk_status mpki_quotient(mpk_context *ctx, const mpki_graph *graph, const int32_t *of,
                         int32_t count, mpki_graph *quotient) {
    int32_t n = graph->n;
    mpk_status status = MPK_OK;
    *quotient = (mpki_graph){.n = count};
    int32_t *ptr = MPKI_NEW(ctx, STAGE, (int64_t)count + 1, int32_t);
    int32_t *list = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *seen = MPKI_NEW(ctx, STAGE, count, int32_t);
    int64_t *next = MPKI_NEW(ctx, STAGE, count, int64_t);
    quotient->xadj = MPKI_NEW(ctx, STAGE, (int64_t)count + 1, int64_t);
    quotient->weight = MPKI_ZNEW(ctx, STAGE, count, int32_t);
    if (!ptr || !list || !seen || !next || !quotient->xadj || !quotient->weight) goto fail;
    list_members(n, of, count, ptr, list);
    for (int32_t v = 0; v < n; v++) quotient->weight[of[v]] += mpki_graph_weight(graph, v);

    walk w = {graph, of, ptr, list, seen};
    mpki_asking asking = {ctx, "analyse", 0};
    for (int32_t g = 0; g < count; g++) seen[g] = -1;
    quotient->xadj[0] = 0;
    for (int32_t g = 0; g < count; g++) {
        next[g] = quotient->xadj[g];
        if (mpki_asks(&asking, 32 * (int64_t)(ptr[g + 1] - ptr[g]))) goto stopped;
        quotient->xadj[g + 1] = quotient->xadj[g] + visit(&w, g, NULL, NULL);
    }
    quotient->adj = MPKI_NEW(ctx, STAGE, quotient->xadj[count], int32_t);
    if (!quotient->adj) goto fail;
    for (int32_t g = 0; g < count; g++) seen[g] = -1;
    for (int32_t g = 0; g < count; g++) {
        if (mpki_asks(&asking, 32 * (int64_t)(ptr[g + 1] - ptr[g]))) goto stopped;
        visit(&w, g, quotient->adj, next);
    }
    goto done;
stopped:
    mpki_stopped(ctx, STAGE);
fail:
    status = mpki_failed(ctx);
    mpki_graph_free(ctx, quotient);
done:
    mpki_release(ctx, ptr);
    mpki_release(ctx, list);
    mpki_release(ctx, seen);
    mpki_release(ctx, next);
    return status;
}
