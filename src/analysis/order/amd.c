/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate minimum degree by SuiteSparse AMD. It symmetrises its input, so one triangle is
 * enough. */
#include "order.h"

#include <amd.h>

static const char STAGE[] = "order";

/* AMD's own treatment of dense rows is off: mpki_order() has taken them out. */
static void controls(double *control) {
    amd_defaults(control);
    control[AMD_DENSE] = -1;
}

static mpk_status outcome(mpk_context *ctx, int code) {
    if (code == AMD_OK || code == AMD_OK_BUT_JUMBLED) return MPK_OK;
    if (code == AMD_OUT_OF_MEMORY)
        return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "AMD ran out of memory");
    return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, code, "AMD refused the graph (code %d)", code);
}

/* 32-bit indices throughout: the usual case. */
static mpk_status order_int(mpk_context *ctx, const mpki_graph *graph, int64_t edges,
                            int32_t *perm) {
    int32_t n = graph->n;
    double control[AMD_CONTROL], info[AMD_INFO];
    int *ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int);
    int *idx = MPKI_NEW(ctx, STAGE, edges, int);
    mpk_status status = MPK_OK;
    if (!ptr || !idx) {
        status = mpki_failed(ctx);
        goto done;
    }
    mpki_upper_edges(graph, ptr, idx);
    controls(control);
    status = outcome(ctx, amd_order(n, ptr, idx, perm, control, info));
done:
    mpki_release(ctx, ptr);
    mpki_release(ctx, idx);
    return status;
}

static mpk_status order_long(mpk_context *ctx, const mpki_graph *graph, int64_t edges,
                             int32_t *perm) {
    int32_t n = graph->n;
    double control[AMD_CONTROL], info[AMD_INFO];
    SuiteSparse_long *ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, SuiteSparse_long);
    SuiteSparse_long *idx = MPKI_NEW(ctx, STAGE, edges, SuiteSparse_long);
    SuiteSparse_long *out = MPKI_NEW(ctx, STAGE, n, SuiteSparse_long);
    mpk_status status = MPK_OK;
    if (!ptr || !idx || !out) {
        status = mpki_failed(ctx);
        goto done;
    }
    SuiteSparse_long fill = 0;
    for (int32_t v = 0; v < n; v++) {
        ptr[v] = fill;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++)
            if (graph->adj[k] > v) idx[fill++] = graph->adj[k];
    }
    ptr[n] = fill;
    controls(control);
    status = outcome(ctx, (int)amd_l_order(n, ptr, idx, out, control, info));
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) perm[k] = (int32_t)out[k];
done:
    mpki_release(ctx, ptr);
    mpki_release(ctx, idx);
    mpki_release(ctx, out);
    return status;
}

mpk_status mpki_order_amd(mpk_context *ctx, const mpki_graph *graph, int32_t *perm) {
    /* AMD works in 1.2 |A + A^T| + 7 n integers; leave it room below 2^31 */
    int64_t whole = graph->xadj[graph->n];
    bool small = whole + whole / 2 + 16 * (int64_t)graph->n < INT32_MAX;
    return small ? order_int(ctx, graph, whole / 2, perm) : order_long(ctx, graph, whole / 2, perm);
}
