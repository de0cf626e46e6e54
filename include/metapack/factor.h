/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_FACTOR_H
#define METAPACK_FACTOR_H
#include <metapack/analysis.h>
#include <metapack/block.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is known of the rank. A zero pivot is a column of which nothing is above zero_tolerance
 * when its turn comes; it says that A is singular only if a vector shows it. docs/numerics.md */
typedef enum mpk_rank {
    MPK_RANK_FULL = 0,       /**< no zero pivot */
    MPK_RANK_STRUCTURAL = 1, /**< singular whatever the values: the matching found fewer than n */
    MPK_RANK_NUMERICAL = 2,  /**< singular: with a vector v that A takes to nothing but rounding */
    MPK_RANK_UNDECIDED = 3   /**< zero pivots, and no such vector: too ill-conditioned to tell */
} mpk_rank;

/** What a factorization did. */
typedef struct mpk_factor_info {
    mpk_inertia inertia;
    int64_t nnz;        /**< entries of L with its unit diagonal */
    double flops;       /**< of the factorization, delayed pivots included */
    int64_t bytes;      /**< held by the factor */
    int64_t peak_bytes; /**< most memory held during the factorization, the factor included */
    int64_t rejected;   /**< columns delayed to their parent, each as often as it was delayed */
    int32_t stages;     /**< 1; more when outer pivoting re-matched and re-ordered */
    int64_t two_by_two; /**< 2x2 pivots */
    int64_t perturbed;  /**< pivots changed by the static shift */
    double growth;      /**< max |D| after over max |A| before, both scaled */
    double min_pivot;   /**< smallest absolute eigenvalue of a nonzero block of D, scaled matrix */
    int32_t max_front;  /**< rows of the largest front, delayed columns included */
    int32_t threads;
    double time_s;
    mpk_rank rank;     /**< of A; methods on blocks: always full, as their pivots are not A's */
    double rank_bound; /**< numerical, undecided: the least eta seen for which (A + E) v = 0 with
                            |E| <= eta |A|, after scaling; structural: 0, or the backward error of
                            a known solution that shows that A has more rank than its factor */
    int again; /**< 1: factorized a second time, by another scaling or with a lower bound of zero
                    pivots, and that was better; remembered for the next values */
} mpk_factor_info;

/** Factorize: P S A S P^T + E = L D L^T (L D L^H when Hermitian), L unit lower triangular, D block
 *  diagonal (1x1, 2x2), S diagonal scaling, E static shifts (0 unless asked for). Where A is
 *  structurally singular, rows and columns that depend on the others whatever their values count as
 *  zero in that, with zero pivots.
 *  ctx     [inout] context; errors are recorded here
 *  an      [in]    analysis, borrowed: must outlive *fac
 *  ax      [in]    values of the type of the problem, one for each entry that it was made from and
 *                  in the order in which they were given: unsorted, of one triangle or of both,
 *                  with duplicates, as they were then, and read and checked as then. Copied.
 *                  NULL: the values of the problem as it was analysed
 *  options [in]    NULL: the defaults
 *  fac     [inout] *fac == NULL: created, else refactorized in place (of the same analysis, with
 *                  the context that it was made with)
 *  Returns MPK_OK | MPK_SINGULAR, MPK_PERTURBED (> 0: *fac is usable, see the info)
 *          | MPK_ERR_ARGUMENT, _INPUT (NaN, Inf, not symmetric, a Hermitian diagonal that is not
 *          real), _MEMORY, _NUMERIC, _CANCELLED (< 0: a new *fac stays NULL; an old one is as it
 *          was after _ARGUMENT and _INPUT, else it is left without values, and mpk_solve returns
 *          MPK_ERR_ARGUMENT).
 *  Memory, cost, threads: info.peak_bytes, info.flops, options.threads.
 *  Method: docs/factorization.md. Example: examples/refactor.c */
MPK_API mpk_status mpk_factorize(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                                 const mpk_options *options, mpk_factor **fac);

/** Refactorize with new values of the same pattern: mpk_factorize() on an existing factor. */
MPK_API mpk_status mpk_refactorize(mpk_context *ctx, const void *ax, const mpk_options *options,
                                   mpk_factor *fac);

/** mpk_factorize() for values in the order of mpk_problem_view: size nnz, the lower triangle by
 *  columns. The order of a problem that was read from a file or generated is that, too. */
MPK_API mpk_status mpk_factorize_lower(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                                       const mpk_options *options, mpk_factor **fac);

MPK_API void mpk_factor_info_get(const mpk_factor *fac, mpk_factor_info *info);
/** What a factorization on blocks did; all zero for the direct solver. */
MPK_API void mpk_factor_block_info_get(const mpk_factor *fac, mpk_block_info *info);
MPK_API void mpk_factor_destroy(mpk_factor **fac);

/** What mpk_get() can return. T is the scalar type of the factor, R its real type. */
typedef enum mpk_quantity {
    MPK_GET_INERTIA = 0, /**< int64_t[3]: positive, negative, zero */
    MPK_GET_PERM = 1,    /**< int32_t[n]: old index at each position of L, pivoting included */
    MPK_GET_SCALE = 2,   /**< double[n]: S, in the order of the problem */
    MPK_GET_D =
        3, /**< T[2 n]: for each k D(k,k), D(k+1,k) (0 where k is not the first of a 2x2 block) */
    MPK_GET_LOGDET = 4 /**< double[3]: log|det A|, and the sign or phase of det A as (re, im); with
                          zero pivots: of the nonzero ones */
} mpk_quantity;

/** Copy a quantity of the factor to the host.
 *  out [out] bytes >= mpk_get_size(fac, what)
 *  Returns MPK_OK | MPK_ERR_ARGUMENT | MPK_ERR_UNSUPPORTED (perm, D, logdet of a factorization on
 *          blocks) */
MPK_API size_t mpk_get_size(const mpk_factor *fac, mpk_quantity what);
MPK_API mpk_status mpk_get(mpk_context *ctx, const mpk_factor *fac, mpk_quantity what, void *out,
                           size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
