/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ORDER_H
#define MPKI_ORDER_H
/** The orderings behind mpki_order(). Each gets a graph without dense vertices, n >= 1, and writes
 *  perm[k] = vertex at position k. They return MPK_OK | MPK_ERR_MEMORY, _UNSUPPORTED, _INTERNAL. */
#include "../analysis.h"
#include "../symbolic/symbolic.h"

/** Approximate minimum degree: SuiteSparse AMD (Amestoy, Davis & Duff 1996, 2004). */
mpk_status mpki_order_amd(mpk_context *ctx, const mpki_graph *graph, int32_t *perm);
/** Nested dissection: METIS 5 (Karypis & Kumar 1998). */
mpk_status mpki_order_metis(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int32_t *perm);
/** Nested dissection: SCOTCH 7 (Pellegrini & Roman 1996). */
mpk_status mpki_order_scotch(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                             int32_t *perm);
/** Nested dissection, ours: multilevel vertex separators, halves in parallel; the same permutation
 * whatever the threads. */
mpk_status mpki_order_nd(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int threads,
                         int32_t *perm);
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

/** The second half of ordering = auto. perm, cost [inout]: an AMD order of the graph and its cost;
 * replaced by METIS's when that is expected to win back its own time, and then does cost less.
 * *used [out]. */
mpk_status mpki_order_improve(mpk_context *ctx, const mpki_graph *graph, int64_t seed, int threads,
                              int cores, int32_t *perm, mpki_cost *cost, mpk_ordering *used);

/** Which pivots of an order would fail, as mpki_order_makespan() wants it; late: vertices.
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
typedef struct mpki_failing {
    mpk_status (*find)(void *state, const int32_t *perm, int32_t *late);
    void *state;
} mpki_failing;

/** The same for a device: replaced by nested dissection's where a device is expected to factorize that
 *  sooner, with and without the columns that are expected to come late. It is asked wherever its own
 *  time is less than some hundred factorizations.
 *  failing [in] for columns that come late; NULL: values are not known */
mpk_status mpki_order_for_device(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                                 int threads, int cores, const mpki_failing *failing, int32_t *perm,
                                 mpk_ordering *used);

#endif
