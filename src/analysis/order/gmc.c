/* SPDX-License-Identifier: BSD-3-Clause */
/* Greedy multicolouring: vertices of one colour are independent and stand together, so that an
 * incomplete factorization without fill has as many level sets as colours (Jones & Plassmann 1994;
 * Naumov, Castonguay & Cohen 2015; Thuerck et al. 2018, section III). Fill ruins that. */
#include "order.h"

#include <string.h>

static const char STAGE[] = "order";

/* Vertices in decreasing degree (Welsh & Powell 1967), by counting; ties by number. */
static void by_degree(const mpki_graph *g, int64_t *start, int32_t *list) {
    int32_t n = g->n;
    memset(start, 0, ((size_t)n + 1) * sizeof *start);
    for (int32_t v = 0; v < n; v++) start[n - (g->xadj[v + 1] - g->xadj[v])]++;
    for (int32_t d = 0, sum = 0; d <= n; d++) {
        int32_t here = (int32_t)start[d];
        start[d] = sum;
        sum += here;
    }
    for (int32_t v = 0; v < n; v++) list[start[n - (g->xadj[v + 1] - g->xadj[v])]++] = v;
}

/* The least colour that no neighbour has; returns the number of colours. used[c] = last vertex that
 * saw colour c. */
static int32_t colour_all(mpk_context *ctx, const mpki_graph *g, const int32_t *list, int32_t *used,
                          int32_t *colour) {
    int32_t n = g->n, colours = 0;
    mpki_asking asking = {ctx, "analyse", 0};
    for (int32_t v = 0; v < n; v++) used[v] = colour[v] = -1;
    for (int32_t k = 0; k < n; k++) {
        int32_t v = list[k], c = 0;
        if (mpki_asks(&asking, 4 * (g->xadj[v + 1] - g->xadj[v]))) break;
        for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++)
            if (colour[g->adj[e]] >= 0) used[colour[g->adj[e]]] = v;
        while (used[c] == v) c++;
        colour[v] = c;
        if (c >= colours) colours = c + 1;
    }
    return colours;
}

mpk_status mpki_order_gmc(mpk_context *ctx, const mpki_graph *graph, int32_t *perm) {
    int32_t n = graph->n;
    int64_t *start = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    int32_t *list = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *used = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *colour = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = start && list && used && colour ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    by_degree(graph, start, list);
    int32_t colours = colour_all(ctx, graph, list, used, colour);
    if (mpki_cancelled(ctx)) {
        status = mpki_stopped(ctx, STAGE);
        goto done;
    }
    memset(start, 0, ((size_t)n + 1) * sizeof *start);
    for (int32_t v = 0; v < n; v++) start[colour[v] + 1]++;
    for (int32_t c = 0; c < colours; c++) start[c + 1] += start[c];
    for (int32_t v = 0; v < n; v++) perm[start[colour[v]]++] = v;
done:
    mpki_release(ctx, start);
    mpki_release(ctx, list);
    mpki_release(ctx, used);
    mpki_release(ctx, colour);
    return status;
}
