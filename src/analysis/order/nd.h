/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ND_H
#define MPKI_ND_H
/** Our own nested dissection: the pieces. docs/design/analysis.md tells the method and its
 *  sources. */
#include "../../core/random.h"
#include "order.h"

/** A graph on its way through the dissection: 32-bit throughout, one block of memory. */
typedef struct mpki_nd_graph {
    int32_t n;
    int32_t *xadj;   /* n + 1 */
    int32_t *adj;    /* xadj[n] */
    int32_t *weight; /* n: columns a vertex stands for */
    int32_t *edge;   /* xadj[n]: original edges an edge stands for; NULL: all 1 */
    int32_t *label;  /* n: vertex of the graph to be ordered; finest levels only */
    int32_t *map;    /* n: vertex of the coarser graph, once there is one */
    int64_t total;   /* sum of weights */
    struct mpki_nd_graph *finer, *coarser;
} mpki_nd_graph;

/** Where a vertex is: in one of two parts, or in the separator between them. */
enum { MPKI_ND_A = 0, MPKI_ND_B = 1, MPKI_ND_SEP = 2 };

mpki_nd_graph *mpki_nd_graph_create(mpk_context *ctx, int32_t n, int64_t edges, bool edge_weights);
/** Free a graph and all coarser ones. */
void mpki_nd_graph_free(mpk_context *ctx, mpki_nd_graph **graph);

/** Coarsen by heavy-edge matching until at most `target` vertices are left or it no longer pays;
 * the levels hang on graph->coarser. pool, worker: of the task that this is part of; NULL, 0:
 * none. */
mpk_status mpki_nd_coarsen(mpk_context *ctx, mpki_pool *pool, int worker, mpki_nd_graph *graph,
                           int32_t target, uint64_t *random);

/** A small vertex separator with parts of like weight. where [out] n. */
mpk_status mpki_nd_separate(mpk_context *ctx, mpki_pool *pool, int worker, mpki_nd_graph *graph,
                            uint64_t *random, int8_t *where);

#endif
