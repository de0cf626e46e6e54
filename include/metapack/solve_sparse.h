/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SOLVE_SPARSE_H
#define METAPACK_SOLVE_SPARSE_H
/** Solves where b has few rows, or few rows of x are wanted: sensitivities, Green's functions,
 *  entries of the inverse. What they cost and what is checked: docs/guide/many-rhs.md. */
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is checked of x. */
typedef enum mpk_sparse_check {
    MPK_SPARSE_BARE = 0, /**< nothing: the factor is applied once, as by mpk_solve_part() */
    MPK_SPARSE_ROWS = 1, /**< the equations of the wanted rows, and no others: x is found in their
                              neighbours, too, and |b - A x|_i measured there, in working precision.
                              A large value shows that x is wrong, a small one not that it is right.
                              One pass over A for each call. Of a matrix whose triangles differ: in
                              their mean */
    MPK_SPARSE_FULL = 2  /**< all: mpk_solve() in all rows, refined, of which the wanted ones are
                              taken; nothing is saved */
} mpk_sparse_check;

/** What a call did. */
typedef struct mpk_sparse_info {
    int64_t nodes;   /**< visits to supernodes, forward and backward, for each right-hand side */
    int64_t entries; /**< of L that these read */
    double share;    /**< of the entries that solves in all rows read; 1: all of them, also where
                          the engine has no paths (a GPU) */
    double rows;     /**< ROWS: max |b - A x|_i / (|A| |x| + |b|)_i of the wanted rows i, with the
                          second denominator of metapack/solve.h, of the x that are known; else 0 */
    double time_s;
    mpk_solve_info solve; /**< FULL: the worst of all; else all 0 */
    int64_t reserved[8];  /**< 0: for numbers to come; metapack.h, Structs */
} mpk_sparse_info;

/** Rows of X = A^-1 B for a sparse B. A row of b reaches the supernodes from its own one to the
 *  root, a row of x comes from those (Gilbert & Peierls 1988, SIAM J. Sci. Stat. Comput. 9): only
 *  these are visited. Right-hand sides are ordered by their lowest supernode and swept eight at a
 *  time, so that they share paths. x has the bits of mpk_solve_part() with MPK_PART_ALL, one column
 *  at a time; but a zero may have the other sign.
 *  fac    [in]  of the direct method; wherever it lies
 *  bptr   [in]  nrhs + 1, from 0, ascending: right-hand side r has entries bptr[r] to
 *               bptr[r + 1] - 1
 *  brow   [in]  bptr[nrhs]: their rows, in any order; entries of the same row are added
 *  bval   [in]  bptr[nrhs]: their values, of the problem's scalar type, finite
 *  wanted [in]  how many rows of X
 *  row    [in]  wanted: which, in any order, also more than once; NULL: all, and wanted is n
 *  check  [in]  an mpk_sparse_check
 *  x      [out] wanted x nrhs, column-major: x[i + r ldx] is row[i] of right-hand side r
 *  ldx    [in]  >= wanted
 *  info   [out] may be NULL
 *  All arrays lie in host memory.
 *  Returns MPK_OK: without a check that says nothing of how good x is
 *          | MPK_INACCURATE: ROWS: info.rows > options.accuracy of the factorization
 *          | MPK_SINGULAR: the factor has zero pivots, which give 0 in x; ROWS: and the equations
 *            of the wanted rows hold
 *          | FULL: as mpk_solve()
 *          | MPK_ERR_INPUT: NaN or Inf in b; a row out of range, the index is its place in the list
 *          | MPK_ERR_UNSUPPORTED: the factor is not a direct one in the precision of A
 *          | MPK_ERR_ARGUMENT, _SIZE, _MEMORY, _DEVICE, _CANCELLED: x is undefined
 *  Cost: for each right-hand side the entries of L on its paths; for each call a byte of each
 *  supernode, and for the first one after a factorization three numbers of each row.
 *  Threads: those of the factorization, eight right-hand sides each. Example:
 *  examples/sensitivities.c */
MPK_API mpk_status mpk_solve_sparse(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                                    const int64_t *bptr, const int32_t *brow, const void *bval,
                                    int32_t wanted, const int32_t *row, mpk_sparse_check check,
                                    void *x, int64_t ldx, mpk_sparse_info *info);

/** The function of this name, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_solve_sparse_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                          int32_t nrhs, const int64_t *bptr, const int32_t *brow,
                                          const void *bval, int32_t wanted, const int32_t *row,
                                          mpk_sparse_check check, void *x, int64_t ldx,
                                          mpk_sparse_info *info);
#ifndef MPKI_LIBRARY
#define mpk_solve_sparse(...) mpk_solve_sparse_sized(sizeof(mpk_sparse_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
