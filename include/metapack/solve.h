/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SOLVE_H
#define METAPACK_SOLVE_H
#include <metapack/krylov.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a solve did; the worst over all right-hand sides.
 *  normwise      = max_j ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf)
 *  componentwise = max_i |b - A x|_i / (|A| |x| + |b|)_i, with 0/0 = 0 and, for a row whose
 *  denominator is negligible, the second denominator of Arioli, Demmel & Duff 1989 (eq. 2.13,
 *  omega_1 + omega_2); docs/numerics.md. */
typedef struct mpk_solve_info {
    int32_t iterations; /**< steps of refinement taken */
    double normwise;
    double componentwise;
    double unrefined;         /**< componentwise backward error before refinement */
    double relative_residual; /**< ||b - A x||_2 / ||b||_2 */
    double condition;         /**< estimate of ||A^-1||_1 ||A||_1; 0: not asked for */
    double time_s;
    mpk_krylov_info krylov; /**< of the right-hand side that took most iterations; method none:
                                 refinement alone */
} mpk_solve_info;

/** Solve A X = B with iterative refinement in working precision, residuals as if in twice that.
 *  fac     [in]  a factor; not changed, but one thread at a time may use it together with ctx
 *  nrhs    [in]  >= 0
 *  b       [in]  n x nrhs, column-major, ldb >= n
 *  x       [out] likewise, ldx >= n; b == x is allowed
 *  options [in]  refine, accuracy, condition, krylov, tolerance, threads; NULL: the defaults
 *  info    [out] may be NULL
 *  Returns MPK_OK | MPK_SINGULAR (a vector that A takes to nothing was met; x solves A x = b as
 *          well as the info says) | MPK_INACCURATE (info.componentwise > options.accuracy, or
 *          pivots were replaced and b hardly counts beside A x) | MPK_NOT_CONVERGED
 *          | MPK_ERR_ARGUMENT, _INPUT, _MEMORY, _NUMERIC (a solution overflows), _CANCELLED. After
 *          a failure an x that was b is b again, another one is undefined. */
MPK_API mpk_status mpk_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                             mpk_solve_info *info);

/** The parts of the factorization, for preconditioners and sampling. In the order of the problem,
 * with scaling: A^-1 = (S P^T L^-T) (D^-1) (L^-1 P S). */
typedef enum mpk_part {
    MPK_PART_L = 1,   /**< x := L^-1 P S x    */
    MPK_PART_D = 2,   /**< x := D^-1 x (zero pivots give 0) */
    MPK_PART_LT = 3,  /**< x := S P^T L^-T x, conjugated when Hermitian */
    MPK_PART_ALL = 4, /**< the three in turn: x := A^-1 x, or M^-1 x of an incomplete factor */
    MPK_PART_ABS = 5  /**< the same with |D|: a definite preconditioner for minres, symmlq and cg */
} mpk_part;

/** Apply one part to nrhs vectors in place. x [inout] n x nrhs, ldx >= n. No refinement.
 *  MPK_PART_ALL of a direct factor takes several vectors together and the factorization's threads:
 *  it is mpk_solve without residuals and errors, for callers that refine by themselves. */
MPK_API mpk_status mpk_solve_part(mpk_context *ctx, const mpk_factor *fac, mpk_part part,
                                  int32_t nrhs, void *x, int64_t ldx);

#ifdef __cplusplus
}
#endif
#endif
