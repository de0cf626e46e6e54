/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_PROBLEM_H
#define METAPACK_PROBLEM_H
#include <metapack/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A symmetric or Hermitian sparse matrix: the lower triangle by columns, rows sorted, no
 *  duplicates, explicit zeros kept. Immutable but for its values. It remembers in which order the
 *  caller gave its entries, so that new values can come in the same one. */

/** Read-only view of a problem; pointers live as long as the problem, ax until new values come. */
typedef struct mpk_problem_view {
    int32_t n;
    int64_t nnz; /**< stored entries, lower triangle with diagonal */
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    const int64_t *ap; /**< size n + 1: column pointers, 0-based */
    const int32_t *ai; /**< size nnz: row indices, ai >= column, increasing within a column */
    const void *ax;    /**< size nnz: values of type `scalar`; a pattern file has ones */
} mpk_problem_view;

/** Make a problem from compressed columns; everything is copied.
 *  n        [in]  order, >= 0
 *  scalar, symmetry, triangle [in] how to read the arrays
 *  ap       [in]  size n + 1, ap[0] = 0
 *  ai       [in]  size ap[n], 0-based, any order; duplicates are summed
 *  ax       [in]  size ap[n], values
 *  problem  [out] created; *problem must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _INPUT (index out of range, NaN or Inf, not symmetric),
 *          _MEMORY
 *  Example: examples/solve.c */
MPK_API mpk_status mpk_problem_from_csc(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                        mpk_symmetry symmetry, mpk_triangle triangle,
                                        const int64_t *ap, const int32_t *ai, const void *ax,
                                        mpk_problem **problem);

/** Make a problem from nnz triplets (rows[k], cols[k], values[k]), 0-based; otherwise as above. */
MPK_API mpk_status mpk_problem_from_triplets(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                             mpk_symmetry symmetry, mpk_triangle triangle,
                                             int64_t nnz, const int32_t *rows, const int32_t *cols,
                                             const void *values, mpk_problem **problem);

/** Read Matrix Market or Rutherford-Boeing (told apart by content), plain, .gz or .xz (likewise);
 *  path "-" is standard input. Real files give MPK_D, complex ones MPK_Z.
 *  Returns MPK_OK | MPK_ERR_FILE, _FORMAT, _INPUT (with line, row and column in the text), _SIZE,
 *  _MEMORY. */
MPK_API mpk_status mpk_problem_read(mpk_context *ctx, const char *path, mpk_problem **problem);

/** Write in the format that the name's ending says: .mtx, .rb (each also .gz); "-": Matrix Market
 * on standard output. The file appears whole or not at all (written beside, then renamed). */
MPK_API mpk_status mpk_problem_write(mpk_context *ctx, const mpk_problem *problem,
                                     const char *path);

/** Generate a test problem: `spec` is a family with its parameters, "nlpkkt 40", "helmholtz 2d 300
 *  0.3", "lp-kkt 1000 2000 6"; `metapack generate --help` and metapack-generate(1) list all.
 *  Equal spec and seed give equal bits on every machine. */
MPK_API mpk_status mpk_problem_generate(mpk_context *ctx, const char *spec, int64_t seed,
                                        mpk_problem **problem);

/** One line for each generator (name, parameters, formula), "\n" between; static. */
MPK_API const char *mpk_generators(void);

MPK_API void mpk_problem_view_get(const mpk_problem *problem, mpk_problem_view *view);

/** Replace the values.
 *  ax [in] one value for each entry that the problem was made from, in the order in which they were
 *          given (a problem that was read or generated: that of mpk_problem_view); copied
 *  Returns MPK_OK | MPK_ERR_INPUT (NaN, Inf, not symmetric, a Hermitian diagonal that is not real;
 *  the problem is then unchanged), _ARGUMENT, _MEMORY. What was analysed before keeps its values.
 */
MPK_API mpk_status mpk_problem_set_values(mpk_context *ctx, mpk_problem *problem, const void *ax);

/** The same for values in the order of mpk_problem_view, size nnz. */
MPK_API mpk_status mpk_problem_set_lower(mpk_context *ctx, mpk_problem *problem, const void *ax);

MPK_API void mpk_problem_destroy(mpk_problem **problem);

/** Dense column-major block of right-hand sides or solutions. */

/** Read an n x nrhs block from a Matrix Market file (array or coordinate; .gz, .xz, "-").
 *  scalar [in] wanted type: a real file may be read as complex, not the other way round
 *  b [out] allocated through ctx, n * nrhs values with leading dimension n; free with mpk_free
 *  Returns MPK_OK | MPK_ERR_FILE, _FORMAT, _INPUT (wrong length, NaN), _MEMORY. */
MPK_API mpk_status mpk_rhs_read(mpk_context *ctx, const char *path, int32_t n, mpk_scalar scalar,
                                int32_t *nrhs, void **b);
MPK_API mpk_status mpk_rhs_write(mpk_context *ctx, const char *path, int32_t n, mpk_scalar scalar,
                                 int32_t nrhs, const void *x, int64_t ldx);

/** Free memory that METAPACK allocated for the caller; NULL is fine; *ptr becomes NULL. */
MPK_API void mpk_free(mpk_context *ctx, void **ptr);

/** y = A x for nrhs columns.
 *  x [in]  n x nrhs, ldx >= n, host
 *  y [out] n x nrhs, ldy >= n, host. No column of y may share memory with one of x (they may lie
 *          between each other): MPK_ERR_ARGUMENT, y untouched */
MPK_API mpk_status mpk_problem_multiply(mpk_context *ctx, const mpk_problem *problem, int32_t nrhs,
                                        const void *x, int64_t ldx, void *y, int64_t ldy);

#ifdef __cplusplus
}
#endif
#endif
