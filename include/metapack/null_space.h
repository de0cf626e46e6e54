/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_NULL_SPACE_H
#define METAPACK_NULL_SPACE_H
/** The kernel of a singular matrix, all v with A v = 0, and the shortest of all solutions. What
 *  the numbers mean, and sources: docs/guide/singular.md, docs/design/verdicts.md. */
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is known of the kernel. */
typedef struct mpk_null_info {
    int32_t dimension; /**< vectors that are there now: columns 0 .. dimension - 1 */
    int32_t given;     /**< of them the caller's */
    int32_t beyond;    /**< of them found by inverse iteration, where no pivot is zero; as many
                              as there is room for */
    int32_t refused;   /**< zero pivots, as far as there is room, without a vector: A does not take
                              theirs to zero */
    int64_t zero_pivots;  /**< of the factor: what the dimension is expected to be */
    int certified;        /**< 1: the kernel has no other dimensions than these, but for a chance of
                              miss_bound: the test of mpk_certify(), of the pivots that are not
                              zero. Vectors that A takes nearly to zero it does not exclude.
                              0: not known */
    double miss_bound;    /**< as in mpk_certificate; 1 where nothing is certified */
    double eta;           /**< the worst of the vectors */
    double orthogonality; /**< orthonormal: largest entry of |V^H V - I|; else 0 */
    double time_s;
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_null_info;

/** A basis of A's kernel. Each vector is refined, and measured by a product with A: its eta is the
 *  least number for which some E with |E| <= eta |A|, entry by entry, has (A + E) v = 0 (Oettli &
 *  Prager 1964). Where v leaves nothing but rounding in rows that it hardly touches, |A| |v| being
 *  below 1000 n eps of the largest |v| after scaling, these have the largest |v| in the
 *  denominator beside it, as in the backward errors of mpk_solve_info. No vector is returned whose
 *  eta is above 1e-14 (single precision 5.4e-6), or the factor's zero_tolerance, if that is larger;
 *  of orthonormal ones, whose small entries have the rounding of large ones, above a hundred times
 *  that.
 *  fac         [in]    holds a factorization by the direct method; wherever it lies
 *  given       [in]    vectors that the caller has, such as motions of a rigid body: the first
 *                      columns of basis. They take the place of those that would be searched for.
 *                      A vector is refused whose eta is above 1e-12 (single: 5.4e-4), or a hundred
 *                      times the factor's zero_tolerance, or of which what is left beside those
 *                      before it is below 1e-4 of it, or has such an eta
 *  most        [in]    columns that basis has room for, >= given; 0: only count the zero pivots
 *  orthonormal [in]    1: of length 1 and orthogonal to each other, the given ones, too; 0: as the
 *                      factor has them, of largest entry near 1; given ones stay as they are
 *  basis       [inout] n x most, column-major, host memory, of the problem's scalar type; columns
 *                      from info.dimension on are undefined. NULL with most 0
 *  ld          [in]    >= n
 *  eta         [out]   most: of each vector; may be NULL
 *  info        [out]   may be NULL
 *  Returns MPK_OK: also where the kernel is {0}
 *          | MPK_INACCURATE: fewer vectors than zero pivots and room; the ones that there are, are
 *            vectors of the kernel. The text says whether A does not take the others to zero, or
 *            too little is left of them for orthonormal ones
 *          | MPK_ERR_INPUT: a given vector is none of the kernel, or depends on others; the index
 *            is its number, the text has its eta; basis is as it was
 *          | MPK_ERR_UNSUPPORTED: the factor is not a direct one in the precision of A
 *          | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE, _CANCELLED: basis is undefined, except the given
 *            vectors where orthonormal is 0
 *  Cost: for each vector one or two solves and products with A; orthonormal: n dimension^2.
 *  Threads: those of the factorization, with the same result for any number.
 *  Example: examples/null_space.c */
MPK_API mpk_status mpk_null_space(mpk_context *ctx, const mpk_factor *fac, int32_t given,
                                  int32_t most, int orthonormal, void *basis, int64_t ld,
                                  double *eta, mpk_null_info *info);

/** What mpk_solve_minimum_norm() found; of several right-hand sides the worst. b' is the part of b
 *  in A's range. */
typedef struct mpk_minimum_norm_info {
    int32_t dimension;    /**< of the kernel that was left out of x */
    int32_t iterations;   /**< steps of refinement taken */
    int consistent;       /**< has A x = b a solution? 1: yes; -1: no, some v of the kernel has
                             |v^H b| > 1e-12 |v|^T (|A| |x| + |b|) (single: 5e-4), of some b */
    double outside;       /**< ||b - b'||_2 / ||b||_2: the least relative residual that any x has */
    double residual;      /**< ||b' - A x||_2 / ||b||_2 */
    double componentwise; /**< backward error of A x = b' (metapack/solve.h) */
    double along;         /**< ||V^H x||_2 / ||x||_2: what x still has of the kernel */
    double time_s;
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_minimum_norm_info;

/** Of all x with the least ||b - A x||_2 the one with the least ||x||_2: X := A^+ B. With an
 *  orthonormal basis V of the kernel b' = b - V V^H b has a solution; x is that without its part
 *  V V^H x. Of a complex symmetric A the range is orthogonal to conj(V), and b' is b without that.
 *  dimension [in]  columns of basis; 0: A is regular, or basis is NULL
 *  basis     [in]  n x dimension, orthonormal, of the kernel: of mpk_null_space(). NULL: it is
 *                  searched for in this call, unless mpk_certify() finds A regular
 *  b         [in]  n x nrhs, finite, host memory
 *  x         [out] n x nrhs, host memory; x == b is allowed, any other overlap is not
 *  options   [in]  those that are read: refine, accuracy, threads
 *  Returns MPK_OK: A x = b' is solved; whether b' is b the info says
 *          | MPK_INACCURATE: componentwise > options.accuracy, and residual as well: basis is not
 *            all of the kernel, or A is ill-conditioned; or residual > 0.1: A is so near to one
 *            with a larger kernel that x says nothing of b'; or without basis some vectors of the
 *            kernel have too little beside the others to be made orthonormal
 *          | MPK_ERR_INPUT: NaN or Inf in b; a column of basis is none of the kernel (as in
 *            mpk_null_space; the index is its number), or basis is not orthonormal to 1e-8
 *            (single: 1e-4)
 *          | MPK_ERR_UNSUPPORTED, _ARGUMENT, _MEMORY, _DEVICE, _CANCELLED: x is undefined
 *  Threads: options.threads. Example: examples/null_space.c */
MPK_API mpk_status mpk_solve_minimum_norm(mpk_context *ctx, const mpk_factor *fac,
                                          int32_t dimension, const void *basis, int64_t ld,
                                          int32_t nrhs, const void *b, int64_t ldb, void *x,
                                          int64_t ldx, const mpk_options *options,
                                          mpk_minimum_norm_info *info);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_null_space_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                        int32_t given, int32_t most, int orthonormal, void *basis,
                                        int64_t ld, double *eta, mpk_null_info *info);
MPK_API mpk_status mpk_solve_minimum_norm_sized(size_t size, mpk_context *ctx,
                                                const mpk_factor *fac, int32_t dimension,
                                                const void *basis, int64_t ld, int32_t nrhs,
                                                const void *b, int64_t ldb, void *x, int64_t ldx,
                                                const mpk_options *options,
                                                mpk_minimum_norm_info *info);
#ifndef MPKI_LIBRARY
#define mpk_null_space(...) mpk_null_space_sized(sizeof(mpk_null_info), __VA_ARGS__)
#define mpk_solve_minimum_norm(...)                                                                \
    mpk_solve_minimum_norm_sized(sizeof(mpk_minimum_norm_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
