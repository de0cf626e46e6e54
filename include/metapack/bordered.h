/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_BORDERED_H
#define METAPACK_BORDERED_H
/** Rows and columns added to a factorized symmetric or Hermitian A, and rows and columns of A
 *  removed, while the factor stays as it is: active sets. With the added columns [B; C] below and
 *  beside what is left of A, and a unit vector e_r in B for each row r that is removed,
 *      S = C - B^H A^-1 B
 *  is small and dense. Its factor, that of A, and A^-1 B solve with the changed matrix. Which change
 *  costs what, and when a new factorization is worth it: docs/guide/changes.md. Source of the
 *  inertia: Haynsworth 1968, Linear Algebra Appl. 1; of Schur-complement updates in active-set
 *  methods: Gill, Murray, Saunders & Wright 1990 (Schur-complement QP). */
#include <metapack/factor.h>
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A factor and the changes made to its matrix. Indices: 0 to n - 1 are the rows of A, n to
 *  n + capacity - 1 places for added ones. All vectors have n + capacity entries, by index; those of
 *  removed rows and free places are not read, and 0 in what is returned. */
typedef struct mpk_bordered mpk_bordered;

/** What a changed matrix is. */
typedef struct mpk_bordered_info {
    int32_t added, removed; /**< rows, now */
    int32_t capacity;       /**< most of both together */
    int32_t refactorize; /**< 1: a factorization of the changed matrix is advised: no place is left,
                                 or a solve reads more of A^-1 B than of the factor, or one was not
                                 accurate since the last change */
    mpk_inertia inertia; /**< of the changed matrix, after a solve or mpk_bordered_certify(); before
                                 all 0 */
    int64_t bytes;       /**< held beside the factor, at least n entries for each row */
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_bordered_info;

/** Begin with no changes.
 *  fac      [in]  borrowed: must outlive *out, and stay as it is; a direct factor in A's precision
 *                 without zero pivots, wherever it lies
 *  capacity [in]  1 to 32768: rows added and removed at the same time, at most. Twice its square of
 *                 entries is taken at once
 *  options  [in]  those that a solve reads: refine, accuracy, threads
 *  out      [out] created; *out must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY
 *          | MPK_ERR_UNSUPPORTED: the factor is on blocks, of a general matrix, of an interior, in
 *            single precision, or has zero pivots: a border that makes a singular A regular cannot be
 *            seen through A^-1. Factorize a matrix with that border then */
MPK_API mpk_status mpk_bordered_create(mpk_context *ctx, const mpk_factor *fac, int32_t capacity,
                                       const mpk_options *options, mpk_bordered **out);
MPK_API void mpk_bordered_destroy(mpk_bordered **bordered);

/** Add a row and column.
 *  count    [in]  entries beside the diagonal
 *  row      [in]  count: distinct indices, of A's rows and of added ones; entries in a removed row
 *                 count again when it is restored
 *  value    [in]  count: the new column's entries in these rows, of A's scalar type; the new row has
 *                 their transposes, or conjugates if A is Hermitian
 *  diagonal [in]  one entry; NULL: 0
 *  index    [out] of the new row
 *  Returns MPK_OK
 *          | MPK_ERR_SIZE: no place is left: factorize the changed matrix
 *          | MPK_ERR_INPUT: an index that is no row now, or stands twice, NaN or Inf; the index in the
 *            error is the place in the list, -1 the diagonal
 *          | MPK_ERR_ARGUMENT, also where the factor has other numbers than at creation
 *          | MPK_ERR_MEMORY, _DEVICE, _CANCELLED, _NUMERIC (overflow). After a failure nothing has
 *            changed.
 *  Cost: one application of the factor, without refinement. Example: examples/active_set.c */
MPK_API mpk_status mpk_bordered_add(mpk_context *ctx, mpk_bordered *bordered, int32_t count,
                                    const int32_t *row, const void *value, const void *diagonal,
                                    int32_t *index);

/** Remove a row and its column: one of A (cost and failures as above), or an added one, whose index
 *  may be given to another one then (no cost).
 *  Returns as above | MPK_ERR_INPUT: it is no row now */
MPK_API mpk_status mpk_bordered_remove(mpk_context *ctx, mpk_bordered *bordered, int32_t index);

/** Take back the removal of a row of A. No cost. Returns MPK_OK | MPK_ERR_ARGUMENT | MPK_ERR_INPUT: it
 *  is not removed */
MPK_API mpk_status mpk_bordered_restore(mpk_context *ctx, mpk_bordered *bordered, int32_t index);

/** Solve with the changed matrix, refined against it as mpk_solve() does against A: the errors are
 *  those of the changed matrix. Where the two triangles of A differ, of their mean.
 *  b    [in]  n + capacity x nrhs, ldb apart, finite where it is read, in host memory
 *  x    [out] likewise; x == b is allowed
 *  info [out] may be NULL; krylov, condition and consistent stay 0
 *  Returns MPK_OK
 *          | MPK_SINGULAR: S has zero pivots, so the changed matrix is singular to working accuracy;
 *            info.solved tells whether x is a solution all the same
 *          | MPK_INACCURATE: info.componentwise > options.accuracy, or the first step of refinement was
 *            large, or b is small beside A x, and mpk_bordered_certify() does not show that the matrix
 *            is regular. Refactorize
 *          | MPK_ERR_INPUT, _ARGUMENT, _SIZE, _MEMORY, _NUMERIC, _DEVICE, _CANCELLED: x is undefined
 *  Cost: an application of the factor for each step, two passes over A^-1 B, and after a change
 *  k^3 / 3 operations for the factor of S of order k. Threads: options.threads; the same bits for any
 *  number. */
MPK_API mpk_status mpk_bordered_solve(mpk_context *ctx, mpk_bordered *bordered, int32_t nrhs,
                                      const void *b, int64_t ldb, void *x, int64_t ldx,
                                      mpk_solve_info *info);

/** Is the inertia that is counted, that of D plus that of S's factor, less one positive and one
 *  negative for each removed row, the changed matrix's? As mpk_certify(), by products with the bordered
 *  matrix and solves through both factors: so it holds only where both do.
 *  out [out] may be NULL
 *  Returns MPK_OK, certified or not | as mpk_bordered_solve() */
MPK_API mpk_status mpk_bordered_certify(mpk_context *ctx, mpk_bordered *bordered,
                                        mpk_certificate *out);

/** All zero for NULL. */
MPK_API void mpk_bordered_info_get(const mpk_bordered *bordered, mpk_bordered_info *info);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_bordered_solve_sized(size_t size, mpk_context *ctx, mpk_bordered *bordered,
                                            int32_t nrhs, const void *b, int64_t ldb, void *x,
                                            int64_t ldx, mpk_solve_info *info);
MPK_API void mpk_bordered_info_get_sized(size_t size, const mpk_bordered *bordered,
                                         mpk_bordered_info *info);
#ifndef MPKI_LIBRARY
#define mpk_bordered_solve(...) mpk_bordered_solve_sized(sizeof(mpk_solve_info), __VA_ARGS__)
#define mpk_bordered_info_get(...)                                                                 \
    mpk_bordered_info_get_sized(sizeof(mpk_bordered_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
