/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ORDER_H
#define MPKI_ORDER_H
/** The orderings behind mpki_order(). Each gets a graph without dense vertices, n >= 1, and writes
 *  perm[k] = vertex at position k. They return MPK_OK | MPK_ERR_MEMORY, _UNSUPPORTED, _INTERNAL. */
#include "../../core/pool.h"
#include "../analysis.h"
#include "../symbolic/symbolic.h"
#include "../weakness.h"

/** Approximate minimum degree: SuiteSparse AMD (Amestoy, Davis & Duff 1996, 2004). used_up: graph->adj has
 *  room for so many indices, mpki_amd_room(), and need not be kept: it works there. */
mpk_status mpki_order_amd(mpk_context *ctx, const mpki_graph *graph, bool used_up, int32_t *perm);
/** The edges, a fifth more for elements as amd_order() has it, and n. */
int64_t mpki_amd_room(const mpki_graph *graph);
/** The same under constraints, by SuiteSparse CAMD: vertices v with late[v] = 1 come after those with
 *  0, which it counts as neighbours meanwhile. Dense vertices may be among them. takes: is there
 *  CAMD, and is the graph small enough for its integers? Not called elsewhere. */
bool mpki_camd_takes(const mpki_graph *graph);
mpk_status mpki_order_camd(mpk_context *ctx, const mpki_graph *graph, const int32_t *late,
                           int32_t *perm);
/** Approximate minimum degree, ours; with pivots that are tested a vertex whose pivot would not hold at its
 *  turn waits until a neighbour has been eliminated.
 *  keep   [in]    the column of each vertex; NULL: the same
 *  pivots [inout] begun; NULL: none is tested, and no vertex waits
 *  flops  [in]    of a factorization; it gives up where the order would take more
 *  done   [out]   it did not */
mpk_status mpki_order_wait(mpk_context *ctx, const mpki_graph *graph, const int32_t *keep,
                           mpki_pivots *pivots, double flops, int32_t *perm, bool *done);
/** Nested dissection: METIS 5 (Karypis & Kumar 1998). */
mpk_status mpki_order_metis(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int32_t *perm);
/** Nested dissection: SCOTCH 7 (Pellegrini & Roman 1996). */
mpk_status mpki_order_scotch(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                             int32_t *perm);
/** Graphs up to this size, a leaf, are ordered by minimum degree: as a rule; and of graphs of few vertices for
 *  a device, where small fronts go side by side, so that the chain that minimum degree makes of a
 *  leaf is what takes the time. */
enum { MPKI_ND_LEAF = 150, MPKI_ND_LEAF_DEVICE = 12, MPKI_ND_FEW = 16384, MPKI_ND_FEWEST = 200 };
static inline int32_t mpki_nd_leaf(const mpki_graph *graph, bool device) {
    return device && graph->n <= MPKI_ND_FEW ? MPKI_ND_LEAF_DEVICE : MPKI_ND_LEAF;
}
/** Where a dissection ends: at graphs of so many vertices; and where another order of it would, from which it
 *  differs within these leaves alone, 0: none is wanted. */
typedef struct mpki_nd_leaves {
    int32_t size, coarse;
} mpki_nd_leaves;
/** Small leaves for a device, and the usual ones, if these may do better. */
static inline mpki_nd_leaves mpki_nd_leaves_for(const mpki_graph *graph, bool device) {
    const int32_t size = mpki_nd_leaf(graph, device);
    return (mpki_nd_leaves){size,
                            size < MPKI_ND_LEAF && graph->n >= MPKI_ND_FEWEST ? MPKI_ND_LEAF : 0};
}
/** Nested dissection, ours: multilevel vertex separators, halves in parallel; the same permutation
 * whatever the threads. */
mpk_status mpki_order_nd(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int32_t leaf,
                         int threads, int32_t *perm);
/** The same as tasks of a pool, beside others of it: begun before the pool runs or by one of its
 *  tasks, ended when the run is over; pool NULL: done at once. The pool must have room for
 *  mpki_nd_tasks(n)
 *  tasks. perm [out] as there, when the run is over, and coarse with leaves.coarse, NULL: not wanted;
 *  undefined once it has been given up. */
typedef struct mpki_nd mpki_nd;
int64_t mpki_nd_tasks(int32_t n);
mpk_status mpki_nd_begin(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                         mpki_nd_leaves leaves, mpki_pool *pool, int32_t *perm, int32_t *coarse,
                         mpki_nd **nd);
/** From any thread while it goes on; NULL: nothing. */
void mpki_nd_give_up(mpki_nd *nd);
mpk_status mpki_nd_end(mpki_nd **nd);
/** Reverse Cuthill-McKee (George & Liu 1981), from a pseudo-peripheral vertex of each component. */
mpk_status mpki_order_rcm(mpk_context *ctx, const mpki_graph *graph, int32_t *perm);
/** Greedy multicolouring, colour after colour; vertices of high degree are coloured first. */
mpk_status mpki_order_gmc(mpk_context *ctx, const mpki_graph *graph, int32_t *perm);

/** Merge vertices with the same neighbours (and joined to each other). If that leaves more than
 * most * n vertices, nothing is done: small->n == 0; else small is their graph, with weights (free
 * it with mpki_graph_free), and map[v] the vertex that stands for v. */
mpk_status mpki_twins_merge(mpk_context *ctx, const mpki_graph *graph, double most, int32_t *map,
                            mpki_graph *small);
/** An order of the small graph as one of the n vertices. */
mpk_status mpki_twins_expand(mpk_context *ctx, int32_t n, const int32_t *map, int32_t small_n,
                             const int32_t *small_perm, int32_t *perm);

/** The second half of ordering = auto. tree, cost [inout]: an AMD order of the graph and its cost;
 * replaced by nested dissection's when that is expected to win back its own time, and then does cost
 * less. begun [inout] that dissection, where it has been done already, ended here; NULL: none.
 * *used [out]. */
typedef struct mpki_dissection mpki_dissection;
mpk_status mpki_order_improve(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int threads,
                              int cores, mpki_dissection **begun, mpki_etree *tree, mpki_cost *cost,
                              mpk_ordering *used);
/** May it be expected? A guess before AMD's order is there, from the width of the graph; on the high
 *  side. */
bool mpki_may_improve(mpk_context *ctx, const mpki_graph *graph, int cores);
/** Is that expected? cost: of AMD's order. */
bool mpki_worth_improving(const mpki_graph *graph, int cores, const mpki_cost *cost);

/** Nested dissection of a whole graph beside other tasks of a pool: dense vertices set aside and
 *  twins merged as mpki_order() does, so that the order is the same. begin: from a task, or before
 *  the run, pool NULL: done at once; end: after the run, with perm [out] n and, with leaves.coarse, coarse,
 *  or NULL where nobody wants the order; give_up:
 *  from any thread between them. The graph's arrays must stay until the end.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED. */
mpk_status mpki_dissection_begin(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                                 mpki_nd_leaves leaves, mpki_pool *pool, mpki_dissection **begun);
void mpki_dissection_give_up(mpki_dissection *begun);
mpk_status mpki_dissection_end(mpk_context *ctx, mpki_dissection **begun, int32_t *perm,
                               int32_t *coarse);
/** Begun by up to so many threads, and its run is over. */
mpk_status mpki_dissection_run(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                               mpki_nd_leaves leaves, int threads, mpki_dissection **begun);

/** The order of a whole graph, of columns, by mpki_order_wait(). */
mpk_status mpki_order_waiting(mpk_context *ctx, const mpki_graph *graph, mpki_pivots *pivots,
                              double flops, int32_t *perm, bool *done);

/** Neither too small to gain by nested dissection, nor too large for its numbers. */
static inline bool mpki_can_dissect(const mpki_graph *graph, bool device) {
    const int32_t least =
        mpki_nd_leaf(graph, device) == MPKI_ND_LEAF ? MPKI_ND_FEWEST : 3 * MPKI_ND_LEAF_DEVICE;
    return graph->n >= least && graph->xadj[graph->n] <= INT32_MAX;
}
/** mpki_order() by nested dissection with leaves of that size; 0: MPKI_ND_LEAF. */
mpk_status mpki_dissect(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int32_t leaf,
                        int threads, int32_t *perm);
/** Is nested dissection asked for a device? amd_s: seconds that a factorization in AMD's order is
 *  expected to take. It is wherever its own time is less than some hundred factorizations. */
bool mpki_worth_dissecting(const mpki_graph *graph, int cores, double amd_s);
/** Is its order taken? Each: seconds as mpki_order_makespan() tells them. */
bool mpki_dissection_wins(const double nd_s[2], const double amd_s[2]);

#endif
