/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate minimum degree by SuiteSparse AMD: by its inner routine, which takes both directions
 * of each edge as our graphs have them. What amd_order() does before, it does for matrices of any
 * pattern: it checks them, counts the entries of A + A^T and builds their lists anew. */
#include "order.h"

#include <amd.h>
#include <string.h>

static const char STAGE[] = "order";

/* AMD's own treatment of dense rows is off: mpki_order() has taken them out. */
static void controls(double *control) {
    amd_defaults(control);
    control[AMD_DENSE] = -1;
}

enum { ARRAYS = 8 }; /* of n numbers each, beside the lists */

int64_t mpki_amd_room(const mpki_graph *graph) {
    const int64_t edges = graph->xadj[graph->n];
    return edges + edges / 5 + graph->n;
}

/* 32-bit indices throughout: the usual case. */
static mpk_status order_int(mpk_context *ctx, const mpki_graph *graph, bool used_up,
                            int32_t *perm) {
    const int32_t n = graph->n;
    const int64_t edges = graph->xadj[n], length = mpki_amd_room(graph);
    double control[AMD_CONTROL], info[AMD_INFO] = {0};
    int *work = MPKI_NEW(ctx, STAGE, (used_up ? 0 : length) + (int64_t)ARRAYS * n, int);
    if (!work) return mpki_failed(ctx);
    int *part[ARRAYS], *lists = used_up ? graph->adj : work + (int64_t)ARRAYS * n;
    for (int k = 0; k < ARRAYS; k++) part[k] = work + (int64_t)k * n;
    if (!used_up) memcpy(lists, graph->adj, (size_t)edges * sizeof *lists);
    for (int32_t v = 0; v < n; v++) {
        part[0][v] = (int)graph->xadj[v];
        part[1][v] = (int)(graph->xadj[v + 1] - graph->xadj[v]);
    }
    controls(control);
    amd_2(n, part[0], lists, part[1], (int)length, (int)edges, part[2], part[3], perm, part[4],
          part[5], part[6], part[7], control, info);
    mpki_release(ctx, work);
    return MPK_OK;
}

static mpk_status order_long(mpk_context *ctx, const mpki_graph *graph, int32_t *perm) {
    const int32_t n = graph->n;
    const int64_t edges = graph->xadj[n], length = mpki_amd_room(graph);
    double control[AMD_CONTROL], info[AMD_INFO] = {0};
    SuiteSparse_long *work =
        MPKI_NEW(ctx, STAGE, length + (ARRAYS + 1) * (int64_t)n, SuiteSparse_long);
    if (!work) return mpki_failed(ctx);
    SuiteSparse_long *at = work + length, *part[ARRAYS + 1];
    for (int k = 0; k <= ARRAYS; k++) part[k] = at + (int64_t)k * n;
    for (int64_t e = 0; e < edges; e++) work[e] = graph->adj[e];
    for (int32_t v = 0; v < n; v++) {
        part[0][v] = graph->xadj[v];
        part[1][v] = graph->xadj[v + 1] - graph->xadj[v];
    }
    controls(control);
    amd_l2(n, part[0], work, part[1], length, edges, part[2], part[3], part[8], part[4], part[5],
           part[6], part[7], control, info);
    for (int32_t k = 0; k < n; k++) perm[k] = (int32_t)part[8][k];
    mpki_release(ctx, work);
    return MPK_OK;
}

mpk_status mpki_order_amd(mpk_context *ctx, const mpki_graph *graph, bool used_up, int32_t *perm) {
    /* all its lists below 2^31 */
    const bool small = mpki_amd_room(graph) + (int64_t)ARRAYS * graph->n < INT32_MAX;
    return small ? order_int(ctx, graph, used_up, perm) : order_long(ctx, graph, perm);
}
