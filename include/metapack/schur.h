/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SCHUR_H
#define METAPACK_SCHUR_H
/** The Schur complement on some variables, the outer ones, of a symmetric or Hermitian A. With
 *  those last and the interior first
 *      A = [A_11 A_12; A_21 A_22],   S = A_22 - A_21 A_11^-1 A_12,
 *  and A x = b falls into S x_2 = b_2 - A_21 A_11^-1 b_1 (condense) and
 *  x_1 = A_11^-1 (b_1 - A_12 x_2) (expand). docs/guide/schur.md; example: examples/schur.c */
#include <metapack/factor.h>
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Analyse the interior: A without the rows and columns of `variables`. Factors of the analysis are
 *  made as any others, by mpk_factorize() and its kin with all values of A, and what they count is
 *  the interior's: inertia, rank, pivots, mpk_certify(), mpk_get(). They hold S besides.
 *  mpk_solve() and mpk_solve_part() refuse them.
 *  options   [in]  method auto or ldlt; device auto takes the processor. given_perm is of all of A
 *  count     [in]  of variables, 0 to n
 *  variables [in]  distinct indices from 0, in any order: that of the rows of S
 *  an        [out] created; *an must be NULL before. Its info is of the interior, its permutation
 *                  of A: the interior, then `variables`
 *  Returns as mpk_analyse() | MPK_ERR_UNSUPPORTED: a general matrix, a method on blocks,
 *          device cuda
 *          | MPK_ERR_ARGUMENT: an index that A does not have, or that stands twice */
MPK_API mpk_status mpk_analyse_schur(mpk_context *ctx, const mpk_problem *problem,
                                     const mpk_options *options, int32_t count,
                                     const int32_t *variables, mpk_analysis **an);

/** How many outer variables a factor has; -1: it is of another analysis, or NULL. */
MPK_API int32_t mpk_schur_order(const mpk_factor *fac);

/** S, in the scale of A, from the factorization that fac holds. Where A_11 is singular S exists if
 *  A_21 v = 0 for each v with A_11 v = 0, and is then found with the zero pivots left out.
 *  s   [out] count x count, both triangles, rows in the order of the variables
 *  lds [in]  at least count
 *  Returns MPK_OK | MPK_ERR_ARGUMENT | MPK_ERR_NUMERIC: S does not exist, or overflows; s is
 *          undefined then */
MPK_API mpk_status mpk_schur_get(mpk_context *ctx, const mpk_factor *fac, void *s, int64_t lds);

/** bs := b_2 - A_21 A_11^-1 b_1, without refinement.
 *  fac [in]  only read, as by mpk_solve()
 *  b   [in]  n x nrhs, finite: all of A's rows
 *  bs  [out] count x nrhs; must not overlap b
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _INPUT (NaN or Inf in b), _MEMORY, _CANCELLED
 *          | MPK_ERR_NUMERIC: S does not exist
 *  Threads: those of the factorization. */
MPK_API mpk_status mpk_schur_condense(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                                      const void *b, int64_t ldb, void *bs, int64_t ldbs);

/** x := the solution of A's interior rows that has x_2 for the outer variables, without refinement.
 *  b  [in]  n x nrhs, finite; the rows of the outer variables are not read
 *  x2 [in]  count x nrhs, finite
 *  x  [out] n x nrhs, x_2 included; x == b is allowed, with ldx == ldb
 *  Returns as mpk_schur_condense() */
MPK_API mpk_status mpk_schur_expand(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                                    const void *b, int64_t ldb, const void *x2, int64_t ldx2,
                                    void *x, int64_t ldx);

/** Solve A X = B by way of S: condense, solve with S, which each call scales and factors as a dense
 *  matrix, expand; refined with the whole A, the mean of its triangles where they differ.
 *  b       [in]  n x nrhs, finite
 *  x       [out] n x nrhs; x == b is allowed, with ldx == ldb
 *  options [in]  refine, accuracy and threads are read
 *  info    [out] iterations, backward errors, residual, solved and time_s; the rest is 0
 *  Returns MPK_OK | MPK_SINGULAR: S is, or the interior; x is as good as the info says
 *          | MPK_INACCURATE: info.componentwise > options.accuracy
 *          | MPK_ERR_ARGUMENT, _INPUT, _MEMORY, _CANCELLED, _NUMERIC: S does not exist. b is as it
 *            was, even if it is x
 *  Threads: options.threads for S, else those of the factorization. */
MPK_API mpk_status mpk_schur_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                                   const void *b, int64_t ldb, void *x, int64_t ldx,
                                   const mpk_options *options, mpk_solve_info *info);

/** The function of that name, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_schur_solve_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                         int32_t nrhs, const void *b, int64_t ldb, void *x,
                                         int64_t ldx, const mpk_options *options,
                                         mpk_solve_info *info);
#ifndef MPKI_LIBRARY
#define mpk_schur_solve(...) mpk_schur_solve_sized(sizeof(mpk_solve_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
