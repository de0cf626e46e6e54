/* SPDX-License-Identifier: BSD-3-Clause */
/* Nested dissection by SCOTCH 7, in a SCOTCH context of its own, so that orderings do not share
 * random numbers. */
#include "config.h"
#include "order.h"

#if MPKI_HAVE_SCOTCH
#include <stdio.h>
#include <scotch.h>

static const char STAGE[] = "order";

static mpk_status failed(mpk_context *ctx, const char *what) {
    return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, -1, "SCOTCH failed: %s", what);
}

/* Order a built SCOTCH graph in a context with its own seeded random numbers. */
static mpk_status order_built(mpk_context *ctx, const SCOTCH_Graph *graph, int64_t seed,
                              SCOTCH_Num *order) {
    SCOTCH_Context context;
    SCOTCH_Graph bound;
    SCOTCH_Strat strategy;
    mpk_status status = MPK_OK;
    if (SCOTCH_contextInit(&context)) return failed(ctx, "context");
    SCOTCH_stratInit(&strategy);
    SCOTCH_graphInit(&bound);
    if (SCOTCH_contextRandomClone(&context) ||
        SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) ||
        SCOTCH_contextThreadSpawn(&context, 1, NULL)) {
        status = failed(ctx, "context options");
        goto done;
    }
    SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)(seed & 0x7fffffff));
    SCOTCH_contextRandomReset(&context);
    if (SCOTCH_contextBindGraph(&context, graph, &bound)) {
        status = failed(ctx, "binding the graph");
        goto done;
    }
    if (SCOTCH_graphOrder(&bound, &strategy, NULL, order, NULL, NULL, NULL))
        status = failed(ctx, "ordering");
    SCOTCH_graphExit(&bound);
done:
    SCOTCH_stratExit(&strategy);
    SCOTCH_contextExit(&context);
    return status;
}

mpk_status mpki_order_scotch(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                             int32_t *perm) {
    int32_t n = graph->n;
    int64_t edges = graph->xadj[n];
    bool narrow = sizeof(SCOTCH_Num) == sizeof(int32_t);
    if (narrow && edges > INT32_MAX / 2)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, edges,
                          "%lld edges are too many for the 32-bit SCOTCH of this build",
                          (long long)edges);
    SCOTCH_Graph built;
    bool have_graph = false;
    mpk_status status = MPK_OK;
    SCOTCH_Num *xadj = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, SCOTCH_Num);
    SCOTCH_Num *adj = narrow ? (SCOTCH_Num *)graph->adj : MPKI_NEW(ctx, STAGE, edges, SCOTCH_Num);
    SCOTCH_Num *weight = narrow ? (SCOTCH_Num *)graph->weight : NULL;
    SCOTCH_Num *order = MPKI_NEW(ctx, STAGE, n, SCOTCH_Num);
    if (!narrow && graph->weight) weight = MPKI_NEW(ctx, STAGE, n, SCOTCH_Num);
    if (!xadj || !adj || !order || (graph->weight && !weight)) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t v = 0; v <= n; v++) xadj[v] = (SCOTCH_Num)graph->xadj[v];
    for (int64_t k = 0; !narrow && k < edges; k++) adj[k] = graph->adj[k];
    for (int32_t v = 0; !narrow && weight && v < n; v++) weight[v] = graph->weight[v];
    have_graph = !SCOTCH_graphInit(&built);
    if (!have_graph ||
        SCOTCH_graphBuild(&built, 0, n, xadj, NULL, weight, NULL, (SCOTCH_Num)edges, adj, NULL)) {
        status = failed(ctx, "building the graph");
        goto done;
    }
    status = order_built(ctx, &built, seed, order);
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) perm[k] = (int32_t)order[k];
done:
    if (have_graph) SCOTCH_graphExit(&built);
    mpki_release(ctx, xadj);
    if (!narrow) {
        mpki_release(ctx, adj);
        mpki_release(ctx, weight);
    }
    mpki_release(ctx, order);
    return status;
}
#else
mpk_status mpki_order_scotch(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                             int32_t *perm) {
    (void)graph, (void)seed, (void)perm;
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "order", -1,
                      "ordering = scotch: this build of METAPACK has no SCOTCH");
}
#endif
