/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_PROBLEM_H
#define METAPACK_PROBLEM_H
/** The matrix, and blocks of vectors in files. A problem is a square sparse matrix by columns, rows
 *  sorted, duplicates summed, explicit zeros kept: the lower triangle of a symmetric or Hermitian
 *  one, all entries of a general one. Its pattern never changes, its values may. It remembers the
 *  order in which the caller gave its entries, so that new values can come in the same order. All
 *  functions work in the caller's thread. File formats: docs/reference/formats.md. */
#include <metapack/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Read-only view of a problem. ap and ai live as long as the problem, ax until new values come. */
typedef struct mpk_problem_view {
    int32_t n;
    int64_t nnz; /**< stored entries: lower triangle with diagonal; MPK_GENERAL: all */
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    const int64_t *ap; /**< size n + 1: column pointers, 0-based */
    const int32_t *ai; /**< size nnz: row indices, increasing within a column; unless symmetry is
                            MPK_GENERAL, ai >= column */
    const void *ax;    /**< size nnz: values of type `scalar`; a pattern file has ones */
} mpk_problem_view;

/** How a matrix that was given whole, and is taken for symmetric or Hermitian, differs from its
 *  mirror image. The mean of the two is factorized, and errors are measured in the matrix as it was
 *  given. All 0: nothing differs by more than the rounding of the numbers themselves, or one
 *  triangle was given. */
typedef struct mpk_asymmetry {
    int64_t pairs; /**< pairs a_ij, a_ji that differ; of a Hermitian matrix also imaginary parts of
                        the diagonal */
    int64_t
        rough; /**< of these, by more than sums of rounded products leave: A may not be symmetric */
    double apart; /**< the largest |a_ij - a_ji| / max(|a_ij|, |a_ji|) of the pairs */
} mpk_asymmetry;

/** Make a problem from compressed columns; everything is copied.
 *  n        [in]  order, >= 0
 *  scalar, symmetry, triangle [in] what the arrays hold; with MPK_GENERAL only MPK_FULL, for both
 *           triangles count
 *  ap       [in]  size n + 1, ap[0] = 0, not decreasing
 *  ai       [in]  size ap[n], row indices, in any order; duplicates are summed
 *  ax       [in]  size ap[n], values of type `scalar`
 *  problem  [out] created; *problem must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _SIZE
 *          | MPK_ERR_INPUT: an index out of range, NaN or Inf, not symmetric, a Hermitian diagonal
 *            that is not real, a sum that overflows
 *  Example: examples/solve.c, examples/general.c */
MPK_API mpk_status mpk_problem_from_csc(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                        mpk_symmetry symmetry, mpk_triangle triangle,
                                        const int64_t *ap, const int32_t *ai, const void *ax,
                                        mpk_problem **problem);

/** Make a problem from nnz triplets (rows[k], cols[k], values[k]); otherwise as above. */
MPK_API mpk_status mpk_problem_from_triplets(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                             mpk_symmetry symmetry, mpk_triangle triangle,
                                             int64_t nnz, const int32_t *rows, const int32_t *cols,
                                             const void *values, mpk_problem **problem);

/** Read a Matrix Market, Rutherford-Boeing or .npy file, plain or compressed by gzip or xz; the
 *  content decides, not the name. Real text gives MPK_D, complex text MPK_Z, .npy what it holds. A file with both triangles
 *  (general, type 'u') gives a symmetric or Hermitian problem where its values are so to the
 *  tolerance of symmetry, else one of MPK_GENERAL; with a tolerance that was set by
 *  mpk_context_set_symmetry_tolerance() it is refused instead.
 *  path    [in]  "-": standard input
 *  problem [out] created; *problem must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _FILE, _CANCELLED | _FORMAT, _INPUT, _SIZE: the text
 *          has line, row and column */
MPK_API mpk_status mpk_problem_read(mpk_context *ctx, const char *path, mpk_problem **problem);

/** Write to a file: Matrix Market to *.mtx, Rutherford-Boeing to *.rb, all n x n entries to *.npy,
 *  each also to *.gz and *.xz;
 *  "-", a pipe or a device: Matrix Market. Reading it gives the same values. A regular file appears
 *  whole or not at all, and a read-only one is not touched.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT (also: no such ending), _MEMORY, _FILE, _CANCELLED. */
MPK_API mpk_status mpk_problem_write(mpk_context *ctx, const mpk_problem *problem,
                                     const char *path);

/** Generate a test problem. Equal spec, file and seed give equal bits on every machine.
 *  spec    [in]  a family with its parameters: "nlpkkt 40", "helmholtz 2d 300 shift=0.3", "lp-kkt
 *                1000 2000 decades=6", "lp-published FILE"; all of them, with sources:
 *                docs/reference/generators.md. What is in double quotes is one word, "" a quote
 *  problem [out] created; *problem must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT (the text says what is wrong in spec), _SIZE, _MEMORY;
 *          lp-published also as mpk_problem_read(), and MPK_ERR_INPUT: FILE has no such system. */
MPK_API mpk_status mpk_problem_generate(mpk_context *ctx, const char *spec, int64_t seed,
                                        mpk_problem **problem);

/** One line for each family of mpk_problem_generate(): name, parameters, formula. Static. */
MPK_API const char *mpk_generators(void);

/** The arrays of a problem, borrowed; all zero for problem NULL. */
MPK_API void mpk_problem_view_get(const mpk_problem *problem, mpk_problem_view *view);

/** How much the given triangles differ, with the values that the problem has; all 0 for problem
 *  NULL. The view has their mean; mpk_problem_multiply() multiplies with the matrix as it was
 *  given. */
MPK_API void mpk_problem_asymmetry_get(const mpk_problem *problem, mpk_asymmetry *asymmetry);

/** Check a dense matrix, n x n with leading dimension lda, that was given whole, as the sparse ones
 *  are, and put the mean of both triangles into it.
 *  symmetry  [in]    MPK_SYMMETRIC or MPK_HERMITIAN
 *  a         [inout] host memory; unchanged after a failure
 *  asymmetry [out]   may be NULL
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY | MPK_ERR_INPUT: not symmetric; the text names the
 *  entry. NaN and infinite entries are left to whoever factorizes. */
MPK_API mpk_status mpk_symmetrize(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                  mpk_symmetry symmetry, void *a, int64_t lda,
                                  mpk_asymmetry *asymmetry);

/** Replace the values. An analysis or a factor made before keeps the old ones.
 *  ax [in] one value for each entry that the problem was made from, in the order in which they were
 *          given; for a problem that was read or generated, in that of mpk_problem_view
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _INPUT: as mpk_problem_from_csc(). */
MPK_API mpk_status mpk_problem_set_values(mpk_context *ctx, mpk_problem *problem, const void *ax);

/** The same for values in the order of mpk_problem_view, size nnz (all entries of a general
 *  matrix). */
MPK_API mpk_status mpk_problem_set_lower(mpk_context *ctx, mpk_problem *problem, const void *ax);

MPK_API void mpk_problem_destroy(mpk_problem **problem);

/** Read right-hand sides from a Matrix Market file (array or coordinate) or a .npy file (plain,
 *  gzip, xz, "-").
 *  n      [in]  rows that the file must have
 *  scalar [in]  type wanted: a real file may be read as complex, not the other way round
 *  nrhs   [out] columns of the file
 *  b      [out] n x nrhs with leading dimension n, allocated: free it with mpk_free(); *b must be
 *               NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _FILE, _FORMAT, _SIZE, _CANCELLED
 *          | MPK_ERR_INPUT: another number of rows, NaN or Inf, complex where real is wanted. */
MPK_API mpk_status mpk_rhs_read(mpk_context *ctx, const char *path, int32_t n, mpk_scalar scalar,
                                int32_t *nrhs, void **b);
/** Write x, n x nrhs, to a Matrix Market file (array), or to *.npy; plain, *.gz or *.xz; path and
 *  errors as
 *  mpk_problem_write(), but any name will do. */
MPK_API mpk_status mpk_rhs_write(mpk_context *ctx, const char *path, int32_t n, mpk_scalar scalar,
                                 int32_t nrhs, const void *x, int64_t ldx);

/** Free memory that METAPACK allocated for the caller with the same context. */
MPK_API void mpk_free(mpk_context *ctx, void **ptr);

/** Y := A X, with both triangles as they were given.
 *  x [in]  n x nrhs
 *  y [out] n x nrhs; no column of it may share memory with one of x
 *  Returns MPK_OK | MPK_ERR_ARGUMENT. */
MPK_API mpk_status mpk_problem_multiply(mpk_context *ctx, const mpk_problem *problem, int32_t nrhs,
                                        const void *x, int64_t ldx, void *y, int64_t ldy);

/** The functions of these names, with n in 64 bits: metapack.h, Orders.
 *  Returns as they do | MPK_ERR_SIZE: n is above 2147483647 */
MPK_API mpk_status mpk_problem_from_csc_wide(mpk_context *ctx, int64_t n, mpk_scalar scalar,
                                             mpk_symmetry symmetry, mpk_triangle triangle,
                                             const int64_t *ap, const int32_t *ai, const void *ax,
                                             mpk_problem **problem);
MPK_API mpk_status mpk_problem_from_triplets_wide(mpk_context *ctx, int64_t n, mpk_scalar scalar,
                                                  mpk_symmetry symmetry, mpk_triangle triangle,
                                                  int64_t nnz, const int32_t *rows,
                                                  const int32_t *cols, const void *values,
                                                  mpk_problem **problem);
MPK_API mpk_status mpk_symmetrize_wide(mpk_context *ctx, int64_t n, mpk_scalar scalar,
                                       mpk_symmetry symmetry, void *a, int64_t lda,
                                       mpk_asymmetry *asymmetry);
MPK_API mpk_status mpk_rhs_read_wide(mpk_context *ctx, const char *path, int64_t n,
                                     mpk_scalar scalar, int32_t *nrhs, void **b);
MPK_API mpk_status mpk_rhs_write_wide(mpk_context *ctx, const char *path, int64_t n,
                                      mpk_scalar scalar, int32_t nrhs, const void *x, int64_t ldx);
#ifndef MPKI_LIBRARY
#define mpk_problem_from_csc(...) mpk_problem_from_csc_wide(__VA_ARGS__)
#define mpk_problem_from_triplets(...) mpk_problem_from_triplets_wide(__VA_ARGS__)
#define mpk_symmetrize(...) mpk_symmetrize_wide(__VA_ARGS__)
#define mpk_rhs_read(...) mpk_rhs_read_wide(__VA_ARGS__)
#define mpk_rhs_write(...) mpk_rhs_write_wide(__VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
