/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SYMBOLIC_H
#define MPKI_SYMBOLIC_H
/** The parts of mpki_symbolic(), and of the cost of an ordering. */
#include "../analysis.h"

/** Elimination tree and column counts of a graph under an ordering, which is made a postorder.
 *  perm, iperm [inout] n: any permutation and its inverse in; an equivalent postorder out
 *  parent      [out]   n: parent in the tree, by position; -1: a root
 *  count       [out]   n: entries in column k of L with its diagonal, in units of the graph's
 *  weights Liu 1986 (tree, path compression), Gilbert, Ng & Peyton 1994 (counts by the skeleton).
 *  Nearly linear in the edges. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_elimination(mpk_context *ctx, const mpki_graph *graph, int32_t *perm,
                            int32_t *iperm, int32_t *parent, int32_t *count);

/** The same for an order that stays as it is, large subtrees side by side. pool, worker: of the task
 *  that this is part of; NULL, 0: none. tree [out] empty after a failure; to be freed. The same for
 *  any number of threads. Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED. */
mpk_status mpki_etree_make(mpk_context *ctx, mpki_pool *pool, int worker, const mpki_graph *graph,
                           const int32_t *perm, mpki_etree *tree);
/** Where a tree is little more than one long path, its root in the middle of that: the same fill by another
 *  order, and the path is half as long; or the path cut into parts, at some fill. The same for any number
 *  of threads at work.
 *  pool    [in]    may be NULL
 *  cores   [in]    that it is done for; 1: nothing is
 *  worth_s [in]    seconds of a factorization, by the guess, from which on a tree is turned
 *  tree    [inout] of the graph
 *  turned  [out]   it is another one now
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED. */
mpk_status mpki_etree_reroot(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph, int cores,
                             double worth_s, mpki_etree *tree, bool *turned);
/** From the tree of a graph whose vertices stand for several columns to that of the columns, those of
 *  a vertex one after the other; perm and iperm [out] are left to the caller. vertices of weight 1:
 *  the same tree. columns [out] to be freed. Returns MPK_OK | MPK_ERR_MEMORY, _SIZE. */
mpk_status mpki_etree_columns(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                              mpki_etree *columns);

/** What an ordering will cost. */
typedef struct mpki_cost {
    double nnz;    /**< entries of L */
    double flops;  /**< of the factorization */
    double time_s; /**< a guess of its seconds, to weigh orderings by */
} mpki_cost;

/** The guess of a vertex: w columns, with m rows below. */
double mpki_column_time(double w, double m, int threads);
/** That of the order of a tree, with the guess of the time on so many threads. */
mpki_cost mpki_etree_cost(const mpki_graph *graph, const mpki_etree *tree, int threads);
/** What columns that come late add to that guess: they are rows of all fronts on the way to the column
 *  that they are eliminated with.
 *  until  [in]  of each vertex: that column's vertex, above it in the tree; n: none; -1: it is not late
 *  late_s [out] seconds. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_etree_late(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                           const int32_t *until, int threads, double *late_s);
/** mpki_order_cost() with the guess of the time on so many threads. */
mpk_status mpki_order_time(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                           int threads, mpki_cost *cost);

/** What the multifrontal engine of a device costs, for mpki_order_makespan(): a front and a column
 *  on the longest path of the tree; how many multiprocessors there are. */
#define MPKI_DEVICE_FRONT_S 8e-6
#define MPKI_DEVICE_COLUMN_S 1e-6
#define MPKI_DEVICE_MULTIPROCESSORS 132
/** And of a front that one warp has in registers (kernels/pivot/warp_front.cuh of the engine): it, a
 *  column of it, and its rows, at most. */
#define MPKI_DEVICE_WARP_S 6e-6
#define MPKI_DEVICE_WARP_COLUMN_S 0.5e-6
#define MPKI_DEVICE_WARP_ROWS 32

/** A guess of the seconds of a factorization on a device: the longest path of fronts, after
 *  amalgamation by mpki_relax_default, for which the guess was measured, or, where all fronts fit
 *  into a block, by paths; or all work over the
 *  multiprocessors, whichever is longer.
 *  late   [in]  vertices of the graph: columns of each whose pivots are expected to fail, so that
 *               fronts above have them, too (mpki_weak_pivots()); NULL: none
 *  time_s [out] 2: without and with these
 *  Returns MPK_OK | MPK_ERR_MEMORY, _SIZE. */
mpk_status mpki_order_makespan(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                               const int32_t *late, double time_s[2]);
/** The same of the order of a tree. pool, worker: of the task that this is part of; NULL, 0: none. */
mpk_status mpki_etree_makespan(mpk_context *ctx, mpki_pool *pool, int worker,
                               const mpki_graph *graph, const mpki_etree *tree, const int32_t *late,
                               double time_s[2]);

/** Rules of amalgamation: a child is merged into its parent when that adds no zeros, or at most
 * `few` of them and the merged front has at most `few_width` columns, or as many as `some` of them
 * where the parent has at most `children`, or when the merged front has at most width[k] columns
 * and a smaller share of explicit zeros than share[k], for some k. */
typedef struct mpki_relax {
    bool equal; /* merge where nothing is added */
    int32_t few, few_width;
    int32_t children, some, some_width;
    int32_t width[3];
    double share[3];
} mpki_relax;
extern const mpki_relax mpki_relax_default;
/* For a device, where a front more on a path costs what some hundred zeros do not. Parents of many
 * children are left out: those are at work side by side, and would follow each other in one front
 * (boyd1, pilot87). */
extern const mpki_relax mpki_relax_device;
/* Before an amalgamation by paths: what adds next to nothing, so that a parent of very many children
 * has fewer of them; and nothing at all. */
extern const mpki_relax mpki_relax_few, mpki_relax_none;

/** Supernodes before they are numbered for good: node d owns columns head[d], next[head[d]], ...
 * (in the postorder of mpki_elimination) and m[d] rows below them. Children have smaller numbers
 * than parents; nodes with alive[d] == 0 were merged into another. */
typedef struct mpki_nodes {
    int32_t count;
    int32_t *head, *tail;     /* count: first and last column */
    int32_t *next;            /* n: next column of the same node, -1 at its end */
    int32_t *width, *rows;    /* count: columns, rows below */
    int32_t *parent;          /* count */
    int32_t *child, *sibling; /* count: first child, next sibling; -1 ends */
    char *alive;
    double *zeros; /* count: explicit zeros */
} mpki_nodes;

/** Fundamental supernodes (Liu, Ng & Peyton 1993), matched pairs kept whole. join[k] = 1: column k
 * belongs with its parent column; NULL: none does. */
mpk_status mpki_nodes_build(mpk_context *ctx, int32_t n, const int32_t *parent, int32_t *count,
                            const char *join, mpki_nodes *nodes);
/** Those of an analysis whose columns have moved up: where [in] n, as for mpki_gather_late(). */
mpk_status mpki_nodes_moved(mpk_context *ctx, const mpk_analysis *an, const int32_t *where,
                            mpki_nodes *nodes);
/** Relaxed amalgamation (Duff & Reid 1983; Ashcraft & Grimes 1989). */
mpk_status mpki_nodes_merge(mpk_context *ctx, const mpki_relax *relax, mpki_nodes *nodes);
/** Amalgamation by the longest path, for a device, after that by rules; subtrees side by side, where there
 *  is a pool. longest_s [out] its seconds. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_nodes_shorten(mpk_context *ctx, mpki_pool *pool, int worker, mpki_nodes *nodes,
                              double *longest_s);
/** an's tree for a device, after a factorization: columns that were delayed are columns of the
 *  supernode that eliminated them, and paths are shortened.
 *  where [in]  n: that supernode, by position: one above its own, or its own
 *  out   [out] an analysis with that order, and scaling and core of an's
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_gather_late(mpk_context *ctx, const mpk_analysis *an, const int32_t *where,
                            mpk_analysis **out);
/** Does each front fit into a block's shared memory as a whole? */
bool mpki_nodes_uncut(const mpki_nodes *nodes);
/** Child c, which is in no list any more, goes into s: its columns before those of s, its children
 *  to the front of the list *kept. zeros: of the merged front. */
void mpki_nodes_absorb(mpki_nodes *nodes, int32_t c, int32_t s, double zeros, int32_t *kept);
/** Sort children so that the stack of contribution blocks stays small (Liu 1986). */
mpk_status mpki_nodes_sort(mpk_context *ctx, mpki_nodes *nodes);
void mpki_nodes_free(mpk_context *ctx, mpki_nodes *nodes);

/** What the supernodes of an will take and do: info.supernodes to peak_bytes.
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_symbolic_predict(mpk_context *ctx, mpk_analysis *an);
/** Refuse what does not fit: the factorization alone is held against a limit of the caller's; what
 *  the machine has free must hold the maps too, which are made next. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_symbolic_fits(mpk_context *ctx, const mpk_analysis *an);
/** an->info.factor_bytes and peak_bytes, from an's supernodes and their tree: what the processor's
 *  engine takes (direct/); the peak with the delayed columns that a trial elimination expects. The
 *  maps of the analysis are not in it.
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_predict_memory(mpk_context *ctx, mpk_analysis *an);
/** Low rank (options.low_rank_tolerance): the columns of large supernodes, which have their numbers,
 *  in an order that suits it. graph: of A. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_cluster(mpk_context *ctx, const mpki_graph *graph, mpk_analysis *an);
/** Bytes of the fronts whose L may be kept in low rank; 0: that is not asked for. */
double mpki_low_bytes(const mpk_analysis *an);
/** Bytes of info.peak_bytes that one worker does without. */
double mpki_more_workers_bytes(mpk_context *ctx, const mpk_analysis *an);
/** Those of the factor alone, whose entries take so many bytes. */
int64_t mpki_factor_bytes(const mpk_analysis *an, double entry);

/** mpki_order_makespan() in two steps, so that the columns which come late may be found meanwhile:
 *  the tree, with the seconds without such columns, and the seconds with them, once. make: MPK_OK |
 *  MPK_ERR_MEMORY, _SIZE, and then there is nothing to free. */
typedef struct mpki_makespan {
    mpki_nodes nodes;
    mpki_etree columns;
    double *path;
} mpki_makespan;
mpk_status mpki_makespan_make(mpk_context *ctx, mpki_pool *pool, int worker,
                              const mpki_graph *graph, const mpki_etree *tree, mpki_makespan *m,
                              double *time_s);
double mpki_makespan_late(mpki_makespan *m, const mpki_graph *graph, const mpki_etree *tree,
                          const int32_t *late);
void mpki_makespan_free(mpk_context *ctx, mpki_makespan *m);

/** The graph of an interior with its outer rows as vertices n, n + 1, ..., each joined to the next:
 *  so they are a chain at the end of the elimination tree, in their order, and no row of a column
 *  before them changes. whole [out] empty before; to be freed after a failure, too. Returns MPK_OK
 *  | MPK_ERR_MEMORY, _SIZE. */
mpk_status mpki_graph_below(mpk_context *ctx, const mpki_graph *graph, const mpki_split *split,
                            mpki_graph *whole);

/** mpki_symbolic() with the rules of amalgamation to try. */
mpk_status mpki_symbolic_relaxed(mpk_context *ctx, mpk_analysis *an, const mpki_graph *graph,
                                 const int32_t *mate, const mpki_relax *relax);

/** From perm, nsuper, sptr, parent, rptr and ridx of anybody, whose lengths are right, to everything
 *  else that mpki_symbolic() fills.
 *  *why [out] what in them cannot be; NULL: all is right
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_tree_restore(mpk_context *ctx, mpk_analysis *an, const char **why);
/** mpki_symbolic() with the caller's supernodes, whose rows are found by the pattern, and
 *  renumbered where theirs is no postorder.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: no tree, or one that does not fit the pattern
 *          | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_tree_given(mpk_context *ctx, const mpk_tree *tree, const mpki_graph *graph,
                           mpk_analysis *an);

/** Entries of the trapezoid of w columns with m rows below, diagonal included. */
static inline int64_t mpki_front_nnz(int64_t w, int64_t m) {
    return w * (w + 1) / 2 + w * m;
}

#endif
