/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ND_H
#define MPKI_ND_H
/** Our own nested dissection: the pieces. docs/design/analysis.md tells the method and its
 *  sources. */
#include "../../core/random.h"
#include "order.h"

#include <stdatomic.h>

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

/** Who works: the task's pool and worker, NULL and 0: none; and whether nobody wants the dissection
 *  any more, which is asked now and then. */
typedef struct mpki_nd_task {
    mpk_context *ctx;
    mpki_pool *pool;
    int worker;
    const _Atomic bool *stop;
} mpki_nd_task;
static inline bool mpki_nd_unwanted(const mpki_nd_task *task) {
    return atomic_load_explicit(task->stop, memory_order_relaxed);
}

/** Coarsen by heavy-edge matching until at most `target` vertices are left or it no longer pays;
 * the levels hang on graph->coarser, fewer of them where nobody wants it. */
mpk_status mpki_nd_coarsen(const mpki_nd_task *task, mpki_nd_graph *graph, int32_t target,
                           uint64_t *random);

/** A small vertex separator with parts of like weight. where [out] n; all in the separator where
 *  nobody wants it. */
mpk_status mpki_nd_separate(const mpki_nd_task *task, mpki_nd_graph *graph, uint64_t *random,
                            int8_t *where);

#endif
