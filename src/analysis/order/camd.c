/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate minimum degree under constraints, by SuiteSparse CAMD: late vertices come after all
 * others, whose degrees count them. */
#include "config.h"
#include "order.h"

#if MPKI_HAVE_CAMD
#include <camd.h>

static const char STAGE[] = "order";

bool mpki_camd_takes(const mpki_graph *graph) {
    const int64_t whole = graph->xadj[graph->n]; /* room below 2^31, as for AMD */
    return whole + whole / 2 + 16 * (int64_t)graph->n < INT32_MAX;
}

/* Each edge once, from the lower to the higher vertex: ptr [out] n + 1, idx [out] xadj[n] / 2. */
static void upper_edges(const mpki_graph *graph, int *ptr, int *idx) {
    int fill = 0;
    for (int32_t v = 0; v < graph->n; v++) {
        ptr[v] = fill;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++)
            if (graph->adj[k] > v) idx[fill++] = graph->adj[k];
    }
    ptr[graph->n] = fill;
}

mpk_status mpki_order_camd(mpk_context *ctx, const mpki_graph *graph, const int32_t *late,
                           int32_t *perm) {
    const int32_t n = graph->n;
    const int64_t whole = graph->xadj[n];
    double control[CAMD_CONTROL], info[CAMD_INFO];
    int *ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int);
    int *idx = MPKI_NEW(ctx, STAGE, whole / 2, int);
    int code = CAMD_OUT_OF_MEMORY;
    if (ptr && idx) {
        upper_edges(graph, ptr, idx);
        camd_defaults(control);
        code = camd_order(n, ptr, idx, perm, control, info, late);
        if (code == CAMD_OUT_OF_MEMORY)
            mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "CAMD ran out of memory");
        else if (code != CAMD_OK && code != CAMD_OK_BUT_JUMBLED)
            mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, code, "CAMD refused the graph (code %d)",
                       code);
    }
    mpki_release(ctx, ptr);
    mpki_release(ctx, idx);
    return mpki_failed(ctx);
}

#else

bool mpki_camd_takes(const mpki_graph *graph) {
    (void)graph;
    return false;
}

mpk_status mpki_order_camd(mpk_context *ctx, const mpki_graph *graph, const int32_t *late,
                           int32_t *perm) {
    (void)graph, (void)late, (void)perm;
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "order", -1, "this build has no CAMD");
}

#endif
