/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_BLOCK_H
#define METAPACK_BLOCK_H
/** Blocks: what a blocking of a matrix costs before it is factorized, and what a factorization on
 *  blocks (methods ildlt, jacobi, ilu0) did. Method notes: docs/blocking.md,
 *  docs/meta-algorithm.md. */
#include <metapack/options.h>
#include <metapack/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One row of the table of a blocking: the pattern with one level of fill. */
typedef struct mpk_block_level {
    int32_t level;        /**< of fill; -1: complete */
    int64_t blocks;       /**< nonzero blocks of the lower triangle, diagonal included */
    int64_t capacity;     /**< entries that these blocks have room for, lower triangle */
    int64_t scalar_nnz;   /**< entries of the scalar factor with the same level of fill and the same
                               order, lower triangle with diagonal; -1: not computed */
    int32_t levels;       /**< level sets of block columns */
    int32_t sublevels;    /**< conflict-free subsets of them */
    int32_t scalar_depth; /**< level sets of the scalar pattern; -1: not computed */
    double mean_fill;     /**< mean over the blocks of (scalar nonzeros inside) / (entries) */
    double mean_block;    /**< mean entries of a block */
    double memory_ratio;  /**< capacity / scalar_nnz; its lower bound is 1 */
    double time_s;
} mpk_block_level;

/** A blocking and its table. */
typedef struct mpk_block_stats {
    mpk_strategy strategy; /**< the one chosen */
    mpk_ordering ordering;
    int32_t n;
    int64_t nnz;        /**< of A, lower triangle */
    int32_t block_rows; /**< blocks on the diagonal */
    int32_t largest;    /**< rows of the largest */
    double mean_rows;
    double input_fill;    /**< mean fill of A's nonzero blocks */
    double time_s;        /**< of blocking and ordering */
    int32_t count;        /**< rows of the table */
    mpk_block_level *row; /**< count; owned by the struct */
} mpk_block_stats;

/** Block a problem by options.strategy, ordering, block, grid, similarity, matching, and fill the
 *  table for each of levels[0 .. count-1] (-1: complete).
 *  scalar [in] 1: also the scalar columns, which cost a scalar symbolic factorization each
 *  stats [out] freed with mpk_block_stats_clear
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY (the fill does not fit), _CANCELLED.
 *  Source: Thuerck, Naumov, Garland & Goesele 2018, sec. III and Table II; Thuerck 2021, sec. 8.5.
 */
MPK_API mpk_status mpk_block_statistics(mpk_context *ctx, const mpk_problem *problem,
                                        const mpk_options *options, const int32_t *levels,
                                        int32_t count, int scalar, mpk_block_stats *stats);
MPK_API void mpk_block_stats_clear(mpk_context *ctx, mpk_block_stats *stats);

/** What the analysis and the factorization on blocks did; zero for the direct solver. */
typedef struct mpk_block_info {
    mpk_strategy strategy;
    mpk_ordering ordering;
    mpk_schedule schedule;
    int32_t block_rows;          /**< blocks on the diagonal */
    int64_t blocks;              /**< stored blocks, diagonal included */
    int64_t dense, bitmap, rows; /**< of these, by format (the diagonal ones are dense) */
    int32_t levels;              /**< level sets, over all stages */
    int32_t sublevels;           /**< batches of conflict-free updates (schedule subsets) */
    int32_t stages;
    int64_t rejected;  /**< blocks sent to a later stage, each as often as it was sent */
    int64_t perturbed; /**< pivots replaced by the smallest allowed one */
    int64_t two_by_two;
    int64_t kept, dropped; /**< entries of L kept and dropped off the diagonal blocks */
    int64_t input_nnz;     /**< of A, lower triangle */
    double mean_fill_in, mean_fill_out; /**< of the blocks of A and of L, as in Table II */
    int64_t bytes;                      /**< held by the factor */
    double flops;                       /**< of the block products, as computed (dense counts) */
    double time_block_s, time_fill_s, time_numeric_s; /**< blocking; fill and schedule; numbers */
    double time_inspector_s; /**< symbolic work that ran beside the numeric one */
    int32_t breakdowns;      /**< factor_type llt: tries that ended at a pivot <= 0 */
    double diagonal_shift;   /**< part of its diagonal that was added to A after them, so that the
                                  factor is one of A + diagonal_shift diag(A); 0: of A */
} mpk_block_info;

#ifdef __cplusplus
}
#endif
#endif
