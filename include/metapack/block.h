/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_BLOCK_H
#define METAPACK_BLOCK_H
/** Blocks: what a blocking of a matrix costs, by level of fill, before anything is factorized; and
 *  what a factorization on blocks (all methods but ldlt and none) did. A block is the entries of
 *  one frame's rows in another frame's columns (docs/reference/glossary.md). Methods:
 *  docs/design/blocking.md, docs/design/meta-algorithm.md. */
#include <metapack/options.h>
#include <metapack/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One row of the table: the pattern with one level of fill. */
typedef struct mpk_block_level {
    int32_t level;        /**< of fill; -1: complete */
    int64_t blocks;       /**< nonzero blocks of the lower triangle, diagonal included */
    int64_t capacity;     /**< entries that these blocks have room for, lower triangle */
    int64_t scalar_nnz;   /**< entries of the scalar factor with the same level of fill and the same
                               order, lower triangle with diagonal; -1: not computed */
    int32_t levels;       /**< level sets of block columns */
    int32_t sublevels;    /**< conflict-free subsets of them */
    int32_t scalar_depth; /**< level sets of the scalar pattern; -1: not computed */
    double mean_fill;     /**< mean over the blocks of scalar nonzeros / room; -1: not computed */
    double mean_block;    /**< mean entries of a block */
    double memory_ratio;  /**< capacity / scalar_nnz; at least 1 */
    double time_s;        /**< of this row */
} mpk_block_level;

/** A blocking and its table. */
typedef struct mpk_block_stats {
    mpk_strategy strategy; /**< the one chosen */
    mpk_ordering ordering;
    int32_t n;
    int64_t nnz;          /**< of A, lower triangle; general: all */
    int32_t block_rows;   /**< blocks on the diagonal */
    int32_t largest;      /**< rows of the largest */
    double mean_rows;     /**< of a block */
    double input_fill;    /**< mean fill of A's nonzero blocks */
    double time_s;        /**< of blocking and ordering */
    int32_t count;        /**< rows of the table */
    mpk_block_level *row; /**< size count; freed by mpk_block_stats_clear() */
} mpk_block_stats;

/** Block a problem by options.strategy, ordering, block, grid, similarity, similarity_end, joining
 *  and matching, and compute one row of the table for each level of fill.
 *  levels [in]  size count: levels of fill, -1: complete
 *  scalar [in]  1: also scalar_nnz, scalar_depth, mean_fill and memory_ratio, each row by a scalar
 *               symbolic factorization
 *  stats  [out] freed with mpk_block_stats_clear()
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _CANCELLED, _UNSUPPORTED (as mpk_analyse) | _MEMORY: also
 *          where the fill exceeds options.memory_limit
 *  Threads: options.threads. Source: Thuerck, Naumov, Garland & Goesele 2018, sec. III and
 *  Table II; Thuerck 2021, sec. 8.5. */
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
    int32_t sublevels;           /**< conflict-free subsets of updates (schedule subsets) */
    int32_t stages;              /**< of outer pivoting, at least 1 */
    int64_t rejected;   /**< frames pushed back to a later stage, each as often as it was */
    int64_t perturbed;  /**< pivots replaced by the smallest allowed one */
    int64_t two_by_two; /**< 2x2 pivots */
    /** Entries of L kept and dropped off the diagonal blocks. What is below a threshold by a factor
     *  of 2^16 (single: 2^10) or more, as roundings are, is not counted. */
    int64_t kept, dropped;
    int64_t input_nnz;                  /**< of A, lower triangle; general: all */
    double mean_fill_in, mean_fill_out; /**< of the blocks of A and of L, as in Table II */
    int64_t bytes;                      /**< held by the factor */
    double flops;                       /**< of the block products, blocks counted as dense */
    double time_block_s, time_fill_s, time_numeric_s; /**< blocking; fill and schedule; numbers */
    double time_inspector_s; /**< symbolic work that ran beside the numerical */
    int32_t breakdowns;      /**< factor_type llt: attempts that ended at a pivot <= 0 */
    double diagonal_shift;   /**< the share of its diagonal that was added to A after these: the
                                  factor is one of A + diagonal_shift diag(A) */
    int32_t border_rows;     /**< rows that no stage accepted, and that became one dense pivot */
    int32_t joins; /**< how often frames that no stage accepted were joined to larger ones */
    int64_t
        by_rows; /**< entries of L that are held by scalar rows after the factorization, for they
                          are applied faster so than from their blocks; 0: all are held in blocks */
    int32_t
        cut; /**< blocks wider than the engine takes, cut into pieces: on a device those of more than 32 rows */
    mpk_isai_info isai;         /**< approximate inverses; entries 0: there are none */
    double exact_s, inverses_s; /**< triangular auto: what one application took, exactly and by
                                     products; 0: it was not measured */
    double inverses_error; /**< triangular auto: ||x - y||_2 / ||x||_2 of these applications to a
                                     random vector, x exact; infinite: inverses could not be made */
    int64_t unpushed; /**< schedule jacobi: frames that failed jacobi_push in the last stage, and
                           were not pushed back: there were no others, so no order was better */
    int64_t swept;    /**< schedule jacobi: frames times sweeps, over all stages */
    int64_t in_single, in_bf16; /**< blocks held in these by options.block_tolerance */
    int64_t reserved[4];        /**< 0: for numbers to come; metapack.h, Structs */
} mpk_block_info;

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_block_statistics_sized(size_t size, mpk_context *ctx,
                                              const mpk_problem *problem,
                                              const mpk_options *options, const int32_t *levels,
                                              int32_t count, int scalar, mpk_block_stats *stats);
MPK_API void mpk_block_stats_clear_sized(size_t size, mpk_context *ctx, mpk_block_stats *stats);
#ifndef MPKI_LIBRARY
#define mpk_block_statistics(...) mpk_block_statistics_sized(sizeof(mpk_block_stats), __VA_ARGS__)
#define mpk_block_stats_clear(...) mpk_block_stats_clear_sized(sizeof(mpk_block_stats), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
