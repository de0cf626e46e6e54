/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SELECTED_H
#define METAPACK_SELECTED_H
/** Entries of the inverse: its diagonal, or all on the pattern of A, from a direct factor and for
 *  some two times its cost, where n solves would be needed. Takahashi, Fagan & Chin 1973; Erisman &
 *  Tinney 1975, CACM 18(3); by supernodes as Lin, Yang, Meza, Lu, Ying & E 2011 (SelInv), ACM TOMS
 *  37(4). Here fronts may delay columns and have pivots of order 2, and a Hermitian A is conjugated
 *  where theirs is real. What it is for, what it costs, what its check shows:
 *  docs/guide/inverse.md. */
#include <metapack/factor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which entries of A^-1. T is the scalar type of the problem. */
typedef enum mpk_selection {
    MPK_SELECT_DIAGONAL = 0, /**< T[n], in the order of the problem */
    MPK_SELECT_PATTERN = 1   /**< T[nnz], those that A stores, in the order of mpk_problem_view: the
                                  lower triangle by columns. The upper one mirrors it, conjugated
                                  where A is Hermitian */
} mpk_selection;

/** What a call did, and what is known of its result. The product A Z of A with its computed inverse
 *  should have a diagonal of ones, and for that diagonal the entries of Z on A's pattern are
 *  enough. Neither number depends on how A is scaled, and neither bounds the error of each entry;
 *  of an indefinite A a larger pivot_threshold of the factorization makes all of them smaller. */
typedef struct mpk_selected_info {
    double error; /**< max_i |(A Z)_ii - 1| / (|A| |Z|)_ii: some entry of Z that was computed is
                           wrong by at least this, relatively */
    double
        deviation;   /**< max_i |(A Z)_ii - 1|. Near 1: A is so ill-conditioned that rounding is all
                           that some rows hold */
    int32_t row;     /**< where the deviation is; -1: n is 0 */
    int32_t threads; /**< at work */
    double flops;
    int64_t peak_bytes; /**< most memory held during the call, beside the factor */
    double time_s;
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_selected_info;

/** Bytes of a selection; 0 for fac NULL, and where there is no such selection. */
MPK_API size_t mpk_selected_size(const mpk_factor *fac, mpk_selection what);

/** Compute entries of A^-1, of A as it was given: permutation and scaling are undone. Where the two
 *  triangles of A differ, of their mean. Nothing is refined. The check in info is made whatever is
 *  asked for; it takes no more time than a product with A.
 *  ctx     [in]  any context; that of the factor, or another one that a thread has for itself
 *  fac     [in]  only read; a direct factor (method ldlt) on the processor
 *  out     [out] host memory, `bytes` bytes, at least mpk_selected_size(fac, what)
 *  options [in]  threads; memory_limit: what the call may take beside the factor; accuracy: of
 *                info.error, below 0 (default) 1e-8, in single precision 1e-4
 *  info    [out] may be NULL
 *  Returns MPK_OK
 *          | MPK_INACCURATE: info.error > accuracy, or info.deviation > 0.1
 *          | MPK_PERTURBED: neither, but pivots were replaced: this is the inverse of A + E
 *          | MPK_SINGULAR: there are zero pivots, and no inverse: all of `out` is NaN
 *          | MPK_ERR_ARGUMENT, _MEMORY, _CANCELLED, _NUMERIC (an entry overflows): `out` is as it
 *            was
 *          | MPK_ERR_UNSUPPORTED: a factor on blocks (also every one of a general matrix), on a
 *            GPU, of an interior (metapack/schur.h), or in single precision of a matrix in double
 *  Threads: options.threads, where the factorization had several. Example: examples/variances.c */
MPK_API mpk_status mpk_selected_inverse(mpk_context *ctx, const mpk_factor *fac, mpk_selection what,
                                        void *out, size_t bytes, const mpk_options *options,
                                        mpk_selected_info *info);

/** The function of this name, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_selected_inverse_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                              mpk_selection what, void *out, size_t bytes,
                                              const mpk_options *options, mpk_selected_info *info);
#ifndef MPKI_LIBRARY
#define mpk_selected_inverse(...) mpk_selected_inverse_sized(sizeof(mpk_selected_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
