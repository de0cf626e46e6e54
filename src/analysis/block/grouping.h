/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_GROUPING_H
#define MPKI_GROUPING_H
/** The steps of a blocking: vertices of a graph into groups, and the graph of groups. A grouping of
 *  n vertices is of[v] = 0 .. count-1, every number used; groups are numbered by their first
 *  vertex. The weight of a group is the sum of its vertices' weights (1 where the graph has none).
 *  A row's pattern is its neighbours and itself: the diagonal block is stored anyway. */
#include "block.h"

/** The graph whose vertices are the groups, with weights; rows sorted. Two passes over the edges,
 *  no memory beside the result but O(n). */
mpk_status mpki_quotient(mpk_context *ctx, const mpki_graph *graph, const int32_t *of,
                         int32_t count, mpki_graph *quotient);

/** Vertices with the same pattern (twins), then vertices with the same neighbours that are not
 *  joined, up to `most` columns a group. Hash values first, lists compared where they agree. */
mpk_status mpki_group_identical(mpk_context *ctx, const mpki_graph *graph, int32_t most,
                                int32_t *of, int32_t *count);

/** One level of cosine-based grouping (Saad 2003, algorithm 3.2): each vertex not yet taken, in
 *  turn, is a seed and takes the vertices whose pattern's cosine with its own is at least tau, the
 *  most similar first, while the group has at most `most` columns. Columns of more than
 *  mpki_cosine_limit() entries are left out of the patterns.
 *  Large graphs are grouped in parts, in parallel; deterministic.
 *  below [out] the largest cosine seen under tau between vertices that would fit together */
mpk_status mpki_group_similar(mpk_context *ctx, const mpki_graph *graph, double tau, int32_t most,
                              int threads, int32_t *of, int32_t *count, double *below);
int64_t mpki_cosine_limit(const mpki_graph *graph);

/** The same for neighbours in an order: a group is vertices k, k+1, ... and takes the next while
 *  its cosine with the group's united pattern is at least tau. The vertices of the graph are
 *  numbered in the order to keep. */
mpk_status mpki_group_neighbours(mpk_context *ctx, const mpki_graph *graph, double tau,
                                 int32_t most, int32_t *of, int32_t *count, double *below);

/** How groups are found, level by level. */
typedef enum mpki_grouping {
    MPKI_GROUP_TWINS,     /* by mpki_group_similar, after mpki_group_identical */
    MPKI_GROUP_COSINE,    /* by mpki_group_similar alone */
    MPKI_GROUP_NEIGHBOURS /* by mpki_group_neighbours */
} mpki_grouping;

/** One level after the other on the graph of groups, from options' similarity on, times 0.9 each
 *  (Thuerck et al. 2018, sec. III.A), to similarity_end. of [inout]: where *count > 0, the groups to
 *  start from (numbered in order, if neighbours); out: of the vertices of `graph`, in the numbering
 *  of the last level. */
mpk_status mpki_group_levels(mpk_context *ctx, const mpki_graph *graph, const mpk_options *options,
                             int32_t most, mpki_grouping how, int32_t *of, int32_t *count);

/** Join groups of neighbours that hang together in the elimination tree: a group and the next one,
 *  if that holds the parent of its last column; and whole subtrees side by side under one group.
 *  parent [in] n: the tree by position, in a postorder (mpki_elimination)
 *  weight [in] n by position; NULL: 1
 *  of, groups [inout] groups of neighbours, by position */
mpk_status mpki_group_subtrees(mpk_context *ctx, int32_t n, const int32_t *weight,
                               const int32_t *parent, int32_t most, int32_t *of, int32_t *groups);

/** Cost of a blocking: the entries that its blocks have room for, with `level` of fill (-1:
 *  complete), plus 64 for each block. */
mpk_status mpki_blocking_cost(mpk_context *ctx, const mpki_graph *graph, const mpki_blocking *b,
                              int level, int threads, double *cost);
/** mpki_blocking_make() by this strategy, whatever the options say of it. */
mpk_status mpki_blocking_by(mpk_context *ctx, const mpki_graph *graph, const int32_t *mate,
                            const mpk_options *options, mpk_strategy strategy,
                            mpki_blocking *blocking);

static inline int32_t mpki_graph_weight(const mpki_graph *g, int32_t v) {
    return g->weight ? g->weight[v] : 1;
}

#endif
