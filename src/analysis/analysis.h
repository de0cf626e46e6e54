/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ANALYSIS_H
#define MPKI_ANALYSIS_H
/** The result of an analysis, as factor/ reads it; and the seams between its parts.
 *
 *  Numbering. "Position" is the index after the permutation: perm[position] = index in the problem.
 *  Supernode s owns positions sptr[s] .. sptr[s+1]-1 (postordered: children before parents). Its
 * front has w = sptr[s+1]-sptr[s] own columns, then the m = rptr[s+1]-rptr[s] rows ridx[rptr[s]..],
 * which are positions >= sptr[s+1], increasing. Local row r of a front: r < w an own column, else
 * row ridx[rptr+r-w].
 *  Below an interior the outer rows have the positions from n on. The last supernode has no column
 *  and all of them as rows, and every other root is its child, though it may have no row. */
#include "../engines/interface/engine.h"
#include "../core/core.h"
#include "../core/scaled.h"
#include "../problem/problem.h"
#include "lower.h"
#include "split.h"
#include <metapack/analysis.h>

/** The part of A that is factorized: all of it; or, where A is structurally singular, the entries
 *  between columns that the matching covers. They have full structural rank. If they also have full
 *  rank, all other columns depend on them, whatever their values, and get zero pivots. */
typedef struct mpki_core {
    const int64_t *ap; /* n + 1 */
    const int32_t *ai; /* ap[n] */
    int64_t *src;      /* ap[n]: places in ax; NULL: it is all of A, and borrows its arrays */
    char *bare;        /* n: 1 for columns without entries in it; NULL: none */
    int32_t *mate;     /* n: the matching that left them; NULL: all of A, or read from a file */
    int pairs;         /* which of its pairs the order kept together: mpki_pairs (trials.h) */
} mpki_core;

static inline bool mpki_core_is_part(const mpki_core *core) {
    return core->src != NULL;
}

struct mpk_analysis {
    mpk_context *ctx;
    struct mpki_block_analysis *block; /* methods on blocks (block/block.h); then there are no
                                          supernodes. NULL: the direct solver */
    mpk_options options;               /* as resolved at analysis; given_perm is not kept */
    /* shared with the problem */
    mpki_layout *layout;
    mpki_values *values; /* as they were analysed; NULL: the analysis is a factor's own */
    bool loaded;   /* from a file: those that were analysed are known by their hash alone, and */
    uint64_t hash; /* `values` are the problem's that it was loaded with (save.h) */
    int32_t n;
    int64_t nnz;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    const int64_t *ap;
    const int32_t *ai;
    mpki_core core;
    /* A is the interior of a Schur complement; NULL: it is all. The factor's own analyses borrow
     * the caller's */
    const mpki_split *split;
    mpki_split *own_split;
    /* scaling from the matching, size n in problem order, or NULL: the factorization equilibrates.
     * MPK_GENERAL: 2 n, of columns, then of rows */
    double *scale;
    int32_t *row_of; /* MPK_GENERAL: n, the row that Q brings to the diagonal of each column: what
                        is factorized is Q A; NULL: Q = I */
    /* scale differs from equilibration by a factor above 1000 somewhere: late interior-point
     * matrices. If pivots then fall to the level of rounding, refactorize equilibrated
     * (docs/design/analysis.md) */
    bool scale_far;
    /* permutation, positions <-> problem indices; outer rows come after all, in their order */
    int32_t *perm, *iperm;
    /* supernodes */
    int32_t nsuper;
    int32_t *sptr;              /* nsuper + 1 */
    int32_t *parent;            /* nsuper; -1: a root */
    int32_t *child_ptr, *child; /* nsuper + 1, nsuper - roots: children of s in increasing order */
    int64_t *rptr;              /* nsuper + 1 */
    int32_t *ridx;              /* rptr[nsuper]: positions of the rows below */
    int32_t *rel;               /* rptr[nsuper]: local row of ridx[k] in the parent's front */
    double *flops;              /* nsuper: of the front alone */
    int32_t failing;            /* pivots that a trial elimination gave up; 0: there was none */
    int64_t *scatter_ptr;       /* nsuper + 1 */
    mpki_scatter_list scatter;  /* those of the core, grouped by supernode, by column within */
    mpk_analysis_info info;
};

/** What an engine sees of an analysis, as far as it has come. */
mpki_tree_view mpki_tree_view_of(const mpk_analysis *an);

/** An analysis with the pattern and the values of the problem, and options that are resolved;
 *  nothing else. NULL: MPK_ERR_MEMORY. */
mpk_analysis *mpki_analysis_new(mpk_context *ctx, const mpk_problem *problem,
                                const mpk_options *options);

/** n: the position of each index. */
const int32_t *mpki_positions(const mpk_analysis *an);

/** A number that tells values of an analysis apart. */
uint64_t mpki_values_hash(const mpk_analysis *an, const void *ax);
/** One that tells apart which of them are 0, which is all that a structural rank depends on; not 0. */
uint64_t mpki_nonzeros_hash(const mpk_analysis *an, const void *ax);

/** mpk_analyse.
 *  keep  [in] n: columns that belong to the core, though the matching leaves them bare; NULL: none
 *  older [in] with keep, an analysis of the same values: its matching, and the choice of pairs that the
 *             order keeps together, serve this one; NULL: none */
mpk_status mpki_analyse(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                        const char *keep, const mpk_analysis *older, mpk_analysis **an);

/* ---- match/ ---------------------------------------------------------------------------------- */

/** Maximum-product matching of |A| (Duff & Koster 2001), symmetrised (Duff & Pralet 2005).
 *  A is given by its lower triangle (n, ap, ai) and its values, or their moduli, absval[nnz].
 *  mate  [out] n: mate[i] = j and mate[j] = i where {i,j} is a 2x2 candidate, mate[i] = i otherwise
 *  scale [out] n: s with s_i |a_ij| s_j <= 1 (+ rounding), = 1 on matched entries; finite, > 0
 *  rank  [out] structural rank
 *  bare  [out] n: 1 for each of the n - rank columns that it does not cover, else 0; may be NULL
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_match(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                      const double *absval, int32_t *mate, double *scale, int32_t *rank,
                      char *bare);
/** The same with the rows of A, which it makes otherwise, and its graph by all threads of the pool. */
mpk_status mpki_match_with_rows(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                                const int32_t *ai, const double *absval, const mpki_lower *rows,
                                int32_t *mate, double *scale, int32_t *rank, char *bare);

/** Maximum-product matching of the rows and columns of a general A, all of whose entries are given
 *  by columns (Duff & Koster 2001).
 *  row_of [out] n: the row that belongs on the diagonal of each column, a permutation: columns that
 *               no matching covers get the rows that are left
 *  scale  [out] 2 n: of columns, then of rows, with r_i |a_ij| c_j <= 1 (+ rounding), = 1 on
 *               matched entries; finite, > 0
 *  rank   [out] structural rank
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED, _SIZE (n above 2^30) */
mpk_status mpki_match_rows(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                           const double *absval, int32_t *row_of, double *scale, int32_t *rank);

/** Equilibration of the rows and columns of a general A, as mpki_equilibrate: scale [inout] 2 n, of
 *  columns, then of rows. Errors as mpki_match_rows. */
mpk_status mpki_equilibrate_rows(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                                 const double *absval, int sweeps, int threads, double *scale);

/** Symmetric equilibration in the infinity norm (Ruiz 2001): scale [inout] n, multiplied by factors
 *  that bring the largest entry of each row of S A S near 1; more than `sweeps` of them where rows
 *  are still off by more than 2^16 then. Rows of zeros keep their factor. entry: the values of A or
 *  their moduli. The same bits for any number of threads, which large matrices are shared by. */
mpk_status mpki_equilibrate(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                            const double *entry, int sweeps, int threads, double *scale);

/** Scaling by least squares of exponents (Curtis & Reid 1972, J. Inst. Maths Applics 10, here for
 *  symmetric A): scale [out] n, s with the sum over entries of (log2 s_i |a_ij| s_j)^2 least, by
 *  conjugate gradients: until the mean square of an exponent's error is 0.1 or less, at most 100
 *  steps. Where rows differ by many powers of two equilibration
 *  takes one of many scalings with maxima of 1; this one is near that which made them differ. */
mpk_status mpki_level(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                      const double *entry, double *scale);

/* ---- core.c ---------------------------------------------------------------------------------- */

/** The core that is all of A; it borrows A's arrays. */
mpki_core mpki_core_all(const int64_t *ap, const int32_t *ai);

/** The entries of columns that are not bare.
 *  bare [in]  n
 *  core [out] released by mpki_core_free; empty after a failure
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_core_build(mpk_context *ctx, const mpk_problem *problem, const char *bare,
                           const int32_t *mate, mpki_core *core);

/** Columns to add to the core of an analysis whose rank is less than that of A: of the missed ones
 *  that it leaves out, `most`, spread evenly over A.
 *  missed [in]    n: 1 for rows that no solution with the core satisfies
 *  keep   [inout] n: set to 1 for those taken
 *  added  [out]   how many those are
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_core_extend(mpk_context *ctx, const mpk_analysis *an, const char *missed,
                            int32_t most, char *keep, int32_t *added);

/** core [inout] that of all of A, which becomes a copy of an's; to be released by mpki_core_free.
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_core_copy(mpk_context *ctx, const mpk_analysis *an, mpki_core *core);

void mpki_core_free(mpk_context *ctx, mpki_core *core);

/* ---- order/ ---------------------------------------------------------------------------------- */

/** An undirected graph: both directions, no loops, rows sorted, no duplicates. weight[v] = columns
 * of A that vertex v stands for (1, or 2 for a compressed pair), NULL: all 1. */
typedef struct mpki_graph {
    int32_t n;
    int64_t *xadj; /* n + 1 */
    int32_t *adj;  /* xadj[n] */
    int32_t *weight;
} mpki_graph;

/** Graph of A (lower triangle), compressed by mate when mate != NULL; map[i] = vertex of column i.
 */
mpk_status mpki_graph_build(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                            const int32_t *mate, int32_t *map, mpki_graph *graph);
/** The same, uncompressed, from the rows of A, by all threads of the pool. */
mpk_status mpki_graph_of_rows(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                              const int32_t *ai, const mpki_lower *rows, mpki_graph *graph);
void mpki_graph_free(mpk_context *ctx, mpki_graph *graph);

/** An order of a graph, made a postorder of its elimination tree, with the tree and the counts of its
 *  columns: perm, iperm, parent, count as mpki_elimination() has them, n each. Empty: n = 0, NULL. */
typedef struct mpki_etree {
    int32_t n;
    int32_t *perm, *iperm, *parent, *count; /* one block, which perm begins */
} mpki_etree;
void mpki_etree_free(mpk_context *ctx, mpki_etree *tree);

/** Order a graph: perm[k] = vertex at position k. method AMD, METIS, SCOTCH, RCM, NATURAL or AUTO;
 *  *used tells which. Dense vertices are put last by every method but NATURAL. Deterministic for a
 *  seed, whatever the threads (AUTO may try two methods at once when threads > 1). Returns MPK_OK |
 *  MPK_ERR_MEMORY, _UNSUPPORTED, _CANCELLED. */
mpk_status mpki_order(mpk_context *ctx, const mpki_graph *graph, mpk_ordering method, int64_t seed,
                      int threads, int32_t *perm, mpk_ordering *used);

/** Factor entries and flops of an ordering, by counts alone. */
mpk_status mpki_order_cost(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                           double *factor_nnz, double *flops);

/* ---- split_order.c --------------------------------------------------------------------------- */

/** Another order of an interior, where that promises less time: AUTO's of all A, without the outer
 *  variables. graph, mate [in] as for mpki_symbolic(); an->perm, info.ordering [inout]
 *  Returns MPK_OK | MPK_ERR_MEMORY, _SIZE, _CANCELLED */
mpk_status mpki_split_order(mpk_context *ctx, const mpk_options *options, const mpki_graph *graph,
                            const int32_t *mate, mpk_analysis *an);

/* ---- symbolic/ ------------------------------------------------------------------------------- */

/** From an->perm (any order) to everything below it in the struct: elimination tree, postorder
 *  (perm is rewritten), counts, relaxed supernodes, row structures, rel, scatter, flops and info's
 *  predictions. info.ordered_for [in] for which place fronts are merged.
 *  graph [in] the uncompressed graph of A, or NULL: built here
 *  mate  [in] n, problem indices, or NULL: pairs {i, mate[i]} that are neighbours in perm and
 *             joined by an entry of A end up neighbours in one supernode
 *  Returns MPK_OK | MPK_ERR_MEMORY (also: the prediction exceeds what memory_limit allows) */
mpk_status mpki_symbolic(mpk_context *ctx, mpk_analysis *an, const mpki_graph *graph,
                         const int32_t *mate);
/** The same with what has been found before. tree: the elimination tree of the graph with its order;
 *  its counts are used up; empty or NULL: found here, from an->perm. graph: empty afterwards. rows: of
 *  an->core; NULL: made here. */
mpk_status mpki_symbolic_of(mpk_context *ctx, mpk_analysis *an, mpki_graph *graph,
                            const int32_t *mate, const mpki_etree *tree, const mpki_lower *rows);

/** Check all invariants stated above; MPK_ERR_INTERNAL names one that is broken. Called in debug
 *  builds. */
mpk_status mpki_analysis_check(mpk_context *ctx, const mpk_analysis *an);

/** Has a matrix of so many entries something to gain by a device, where the options say auto? Of 35
 *  above this bound 34 were factorized and solved sooner by ldlt on an H100 or H200 than on 16
 *  cores beside it, of 14 below it four (bench/journal/2026-11-26-gpu-direct.md). */
static inline bool mpki_worth_a_device(int64_t nnz) {
    enum { ENTRIES = 6000 };
    return nnz >= ENTRIES;
}

#endif
