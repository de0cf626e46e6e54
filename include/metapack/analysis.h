/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_ANALYSIS_H
#define METAPACK_ANALYSIS_H
/** The analysis: all that depends on the pattern of A. Method and sources: docs/design/analysis.md,
 *  docs/design/matching.md. */
#include <metapack/options.h>
#include <metapack/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What an analysis found and predicts. For methods on blocks supernodes counts the block rows, and
 *  the predictions are 0; mpk_block_statistics() has theirs. */
typedef struct mpk_analysis_info {
    int32_t n;
    int64_t nnz;             /**< of A, lower triangle; MPK_GENERAL: all */
    mpk_ordering ordering;   /**< the one chosen */
    mpk_device ordered_for;  /**< where `auto` expected the factorization: MPK_ON_CUDA or _CPU */
    int matching;            /**< 1: 2x2 candidates from a matching were compressed */
    int scaling;             /**< 0: none, 1: equilibration, 2: from the matching */
    int32_t structural_rank; /**< n unless the matching found less; -1: not computed */
    int32_t supernodes;
    int32_t tree_height;  /**< supernodes on the longest path of the tree */
    int32_t max_front;    /**< rows of the largest front */
    int64_t factor_nnz;   /**< entries of L with its unit diagonal, explicit zeros of amalgamation
                               included */
    double factor_flops;  /**< multiplications and additions of the factorization */
    int64_t factor_bytes; /**< of L and D */
    int64_t peak_bytes;   /**< most memory that mpk_factorize is expected to hold, with the delayed
                               columns that a trial elimination expects; not a copy of the values,
                               where others than the analysed ones are given */
    double time_s;        /**< of mpk_analyse, and of its parts: */
    double time_match_s, time_order_s, time_symbolic_s;
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_analysis_info;

/** Analyse: scaling, matching, ordering, elimination tree or blocking, schedule, predictions. The
 *  result serves every matrix with the pattern of `problem`, whose values only guide matching and
 *  scaling. It never changes: any number of factors and threads may share it, and the problem may
 *  be destroyed before it. device = cuda: it has memory there, docs/guide/cuda.md, Memory.
 *  an [out] created; *an must be NULL before
 *  Returns MPK_OK | MPK_SINGULAR: structurally; *an is usable
 *          | MPK_ERR_ARGUMENT, _CANCELLED | _MEMORY: also where the prediction exceeds
 *            options.memory_limit | _UNSUPPORTED: an ordering that was not built, or a graph too
 *            large for it
 *  Threads: options.threads, in the orderings that are parallel. */
MPK_API mpk_status mpk_analyse(mpk_context *ctx, const mpk_problem *problem,
                               const mpk_options *options, mpk_analysis **an);
/** Copy the numbers; all zero for an NULL. */
MPK_API void mpk_analysis_info_get(const mpk_analysis *an, mpk_analysis_info *info);
/** perm [out] size n: the old index at each new position, before the factorization pivots. */
MPK_API void mpk_analysis_perm(const mpk_analysis *an, int32_t *perm);
MPK_API void mpk_analysis_destroy(mpk_analysis **an);

/** The assembly tree. Position k of the order is row and column perm[k] of A. Supernode s owns the
 *  positions first[s] .. first[s+1]-1: columns of L that are eliminated together, in one front. It
 *  comes after all supernodes below it. Its columns have entries in its own rows and in the rows
 *  row[row_first[s]] .. row[row_first[s+1]-1], later positions, increasing; the first of them
 *  belongs to its parent. */
typedef struct mpk_tree {
    int32_t n;
    int32_t supernodes;
    const int32_t *perm;      /**< n: the old index at each position */
    const int32_t *first;     /**< supernodes + 1; the last is n */
    const int32_t *parent;    /**< supernodes; -1: a root */
    const int64_t *row_first; /**< supernodes + 1 */
    const int32_t *row;       /**< row_first[supernodes] */
    int64_t reserved[4];      /**< 0: for more to come; metapack.h, Structs */
} mpk_tree;

/** Look at the tree: its arrays live as long as the analysis. All zero for an NULL, for methods on
 *  blocks, which have none, and for the interior beside a Schur complement (metapack/schur.h). */
MPK_API void mpk_analysis_tree_get(const mpk_analysis *an, mpk_tree *tree);

/** mpk_analyse() with the caller's tree in place of an ordering: by the direct method alone, whose
 *  fronts are then these supernodes. Scaling and matching are as the options say; pairs of the
 *  matching are not kept together.
 *  options    [in] its ordering and given_perm are not read
 *  supernodes [in] how many, 1 to n
 *  perm, first, parent [in] as mpk_tree has them; a parent has a larger number than its children,
 *                  or is -1. It may be any supernode above: entry (i, j) of A wants the supernodes
 *                  of i and j to be one, or one of them above the other. Supernodes are renumbered
 *                  where theirs is no postorder, and each gets for its parent the next one above
 *                  that it has rows of
 *  Returns as mpk_analyse() | MPK_ERR_ARGUMENT: the tree is none, or does not fit the pattern
 *          | MPK_ERR_UNSUPPORTED: a method on blocks, a matrix that is not symmetric */
MPK_API mpk_status mpk_analyse_tree(mpk_context *ctx, const mpk_problem *problem,
                                    const mpk_options *options, int32_t supernodes,
                                    const int32_t *perm, const int32_t *first,
                                    const int32_t *parent, mpk_analysis **an);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_analysis_info_get_sized(size_t size, const mpk_analysis *an,
                                         mpk_analysis_info *info);
MPK_API void mpk_analysis_tree_get_sized(size_t size, const mpk_analysis *an, mpk_tree *tree);
#ifndef MPKI_LIBRARY
#define mpk_analysis_info_get(...)                                                                 \
    mpk_analysis_info_get_sized(sizeof(mpk_analysis_info), __VA_ARGS__)
#define mpk_analysis_tree_get(...) mpk_analysis_tree_get_sized(sizeof(mpk_tree), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
