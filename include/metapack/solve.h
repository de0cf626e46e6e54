/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SOLVE_H
#define METAPACK_SOLVE_H
/** Solutions with a factor. Refinement and its verdicts: docs/guide/numerics.md. Iterative methods:
 *  docs/guide/krylov.md. */
#include <metapack/krylov.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a solve did; of several right-hand sides the worst.
 *  normwise      = ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf)
 *  componentwise = max_i |b - A x|_i / (|A| |x| + |b|)_i, with 0/0 = 0 and, in a row whose
 *  denominator is negligible, the second denominator of Arioli, Demmel & Duff 1989 (eq. 2.13,
 *  omega_1 + omega_2); docs/guide/numerics.md. */
typedef struct mpk_solve_info {
    int32_t iterations;       /**< steps of refinement taken */
    double normwise;          /**< backward error, as above */
    double componentwise;     /**< likewise */
    double unrefined;         /**< componentwise backward error before refinement */
    double relative_residual; /**< ||b - A x||_2 / ||b||_2 */
    double condition;         /**< estimate of ||A^-1||_1 ||A||_1; 0: not asked for */
    double time_s;
    mpk_krylov_info krylov; /**< of the right-hand side that took most iterations; all 0 where
                                 refinement alone was at work */
    double correction; /**< ||d|| / ||x|| of the first step of refinement, x := x + d, scaled: about
                            how far M^-1 A is from I; 0: none was taken */
    int solved; /**< 1: each x solves its system in every row, |b - A x|_i being at most 1e-8 (single
                     precision 1e-4) of (|A| |x| + |b|)_i, and small beside b where it is no
                     rounding; 0: with MPK_SINGULAR the system is inconsistent, with others x is no
                     solution. docs/guide/numerics.md */
    int consistent; /**< of a singular A, has A x = b a solution? 1: yes; -1: no, some v with A v = 0
                         has |v^T b| > 1e-12 |v|^T (|A| |x| + |b|) (single: 5e-4), of some b;
                         0: not known, or A was not found to be singular */
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_solve_info;

/** What `solved` says, of errors that were found elsewhere.
 *  componentwise [in] as in mpk_solve_info
 *  rows          [in] max_i (|b - A x|_i / R_i) / max_i (|b|_i / R_i), R_i = sum_j |a_ij|; infinite
 *                     where |b - A x|_i is above |b|_i / 100 and, with w = |A| |x| + |b|, above
 *                     1e-10 w_i, and |b|_i above 1e-13 w_i (single precision 1e-5, 1e-8) */
MPK_API int mpk_solves(mpk_scalar scalar, double componentwise, double rows);

/** Solve A X = B. With a direct factor: by iterative refinement in working precision, residuals as
 *  if in twice that, unless options.krylov names a method. With any other factor: by the Krylov
 *  method, preconditioned by the factor. The backward error is always computed: in the matrix that
 *  was given, also where its two triangles differ and their mean was factorized.
 *  fac     [in]  only read: threads with a context each may solve with it at the same time, and the
 *                memory that a solve takes is its own context's. On a GPU the factor keeps the room
 *                of its last solve, counted to its own context
 *  b       [in]  n x nrhs, finite
 *  x       [out] n x nrhs; x == b is allowed, any other overlap is not. b and x may each lie in the
 *                memory of the factor's device
 *  options [in]  those that a solve reads: refine, accuracy, condition, krylov, tolerance,
 *                max_iterations, restart, shadow, seed, threads, memory_limit. With a direct factor in
 *                single precision of a matrix in double at least 10 steps of refinement are allowed,
 *                and FGMRES follows where these do not reach the accuracy
 *  Returns MPK_OK
 *          | MPK_SINGULAR: A is singular, a vector shows it; x is as good as the info says, and the
 *            system is inconsistent if info.solved is 0
 *          | MPK_INACCURATE: info.componentwise > options.accuracy; or pivots were replaced or 0,
 *            and b is so small beside A x that a small backward error says nothing; or
 *            info.correction > 0.1, and no certificate (mpk_certify) says that A is regular: A is
 *            singular or nearly so, and x one of many vectors with that backward error
 *          | MPK_NOT_CONVERGED: the Krylov method; x is its best
 *          | MPK_ERR_ARGUMENT, _INPUT (NaN or Inf in b), _MEMORY, _NUMERIC (a solution overflows),
 *            _DEVICE, _CANCELLED: b is as it was, even if it is x; another x is undefined
 *  Threads: options.threads. Example: examples/multi_rhs.c */
MPK_API mpk_status mpk_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                             mpk_solve_info *info);

/** With which transpose of A. */
typedef enum mpk_transpose {
    MPK_TRANSPOSE = 1,          /**< A^T X = B */
    MPK_CONJUGATE_TRANSPOSE = 2 /**< A^H X = B; of a real A the same */
} mpk_transpose;

/** mpk_solve() with a transpose of A, by the same factor: refined with residuals of that transpose.
 *  Of a matrix that is not symmetric the direct factor (method ldlt) has it, without a Krylov
 *  method; what is symmetric or Hermitian is solved as A or its conjugate, by every factor.
 *  options.condition then estimates the transpose's condition.
 *  b, x, options, info, returned status, threads: as in mpk_solve(); besides
 *          | MPK_ERR_UNSUPPORTED: a factor on blocks, or options.krylov, with a matrix that is not
 *            symmetric; or b or x in a device's memory where they must be conjugated
 *  Example: examples/transposed.c */
MPK_API mpk_status mpk_solve_transposed(mpk_context *ctx, const mpk_factor *fac,
                                        mpk_transpose transpose, int32_t nrhs, const void *b,
                                        int64_t ldb, void *x, int64_t ldx,
                                        const mpk_options *options, mpk_solve_info *info);

/** The parts of a factor as operators, for preconditioners and sampling. L maps a vector from the
 *  order of the problem to positions, L^T maps it back:
 *  A^-1 = (S P^T L^-T) (D^-1) (L^-1 P S).
 *  Positions are those of mpk_get(): entry k of a vector between two parts belongs to D(k,k) of
 *  MPK_GET_D and to row MPK_GET_PERM[k] of A. With W = S P^T L^-T D^(1/2)^-1 and a definite A,
 *  W W^T = A^-1: W z samples from a normal distribution with the covariance A^-1 if z is normal.
 *  A factor on blocks has one order, that of mpk_analysis_perm(). */
typedef enum mpk_part {
    MPK_PART_L = 1,   /**< x := L^-1 P S x    */
    MPK_PART_D = 2,   /**< x := D^-1 x (zero pivots give 0) */
    MPK_PART_LT = 3,  /**< x := S P^T L^-T x, conjugated when Hermitian */
    MPK_PART_ALL = 4, /**< the three in turn: x := A^-1 x, or M^-1 x of an incomplete factor */
    MPK_PART_ABS = 5  /**< ALL with |D|: a definite preconditioner for minres, symmlq and cg */
} mpk_part;

/** Apply one part to nrhs vectors in place, without refinement and without looking for NaN. Parts
 *  are those of the mean where the two triangles of A differ.
 *  MPK_PART_ALL is mpk_solve() without residuals and errors, for callers that refine by themselves.
 *  x [inout] n x nrhs; in host memory, or in that of the factor's device, where it stays: the call
 *            waits until the device is at rest, and returns when the result is there
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE | _CANCELLED: x is undefined
 *          | MPK_ERR_UNSUPPORTED: MPK_PART_ABS of a complex
 *          symmetric factor or of one with factor_type ldu; any part but MPK_PART_ALL of the direct
 *          factor of a matrix that is not symmetric
 *  Threads: MPK_PART_ALL those of the factorization. Example: examples/parts.c */
MPK_API mpk_status mpk_solve_part(mpk_context *ctx, const mpk_factor *fac, mpk_part part,
                                  int32_t nrhs, void *x, int64_t ldx);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_solve_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                   int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx,
                                   const mpk_options *options, mpk_solve_info *info);
MPK_API mpk_status mpk_solve_transposed_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                              mpk_transpose transpose, int32_t nrhs, const void *b,
                                              int64_t ldb, void *x, int64_t ldx,
                                              const mpk_options *options, mpk_solve_info *info);
#ifndef MPKI_LIBRARY
#define mpk_solve_transposed(...) mpk_solve_transposed_sized(sizeof(mpk_solve_info), __VA_ARGS__)
#define mpk_solve(...) mpk_solve_sized(sizeof(mpk_solve_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
