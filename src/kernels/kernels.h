/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_KERNELS_H
#define MPKI_KERNELS_H
/** The table of block kernels for one precision and one instruction set. A kernel knows nothing of
 *  the matrix; it allocates nothing; sizes are entries of T; all matrices are column-major.
 *
 *  "Packed" operand: columns 0..cols-1 of a k-deep right factor, in slivers of nc columns; sliver s
 *  begins at entry s * nc * k and holds, depth after depth, nc entries (zeros beyond the last
 *  column). */
#include "../core/precision.h"

/* doubles for each row that `residual` works in */
#define MPKI_RESIDUAL_ROW (MPKI_COMPLEX ? 5 : 4)

typedef struct FN(kernels) {
    const char *isa;
    int nc; /* columns of a packed sliver */

    /** C = C - A B (overwrite = 0) or C = -A B (1); A rows x depth, B packed depth x cols. Entries
     *  (i, j) with i + below < j are not needed and may be left out: below = (row of C's first row)
     *  - (column of its first column) in a lower triangle; pass a large number for all. */
    void (*multiply)(int64_t rows, int cols, int depth, const T *a, int64_t lda, const T *packed,
                     T *c, int64_t ldc, int overwrite, int64_t below);

    /** Pack B = D L^T (L^H when hermitian) for rows 0..cols-1 of L (cols x depth). d[2k] = D(k,k),
     * d[2k+1] = D(k+1,k), not 0 only at the first column of a 2x2 pivot; d == NULL: D = I. packed:
     * depth * roundup(cols, nc) entries. */
    void (*pack)(int cols, int depth, const T *l, int64_t ldl, const T *d, int hermitian,
                 T *packed);

    /** X := X P L^-T (L^-H) D^-1 for rows x b panel x: the rows of L below a factored b x b block.
     *  perm: column k of the result comes from column perm[k] of x (NULL: k). np <= b columns are
     *  solved against the unit lower l (np x np) and dinv (as d, of D^-1); the others, np..b-1, are
     *  left updated: X(:,j) - sum_{k<np} X(:,k) L(j,k)^T, unscaled, for which l has all b rows.
     *  packed: L packed with d == NULL, b columns x np deep.
     *  Returns the number of leading columns whose entries all satisfy |x| <= bound (NaN does not).
     */
    int (*apply)(int64_t rows, int b, int np, T *x, int64_t ldx, const int32_t *perm, const T *l,
                 int64_t ldl, const T *packed, const T *dinv, int hermitian, R bound);

    /** Factor an n x n tile, n <= 32, both triangles given in a (ld 32, 64-byte aligned,
     *  zeros in rows n .. 31 of its n columns), by Bunch
     * & Parlett (1971) complete pivoting: P A P^T = L D L^T. perm [out]: old index at each place. a
     *  becomes L (unit lower, strictly below the diagonal); d, dinv [out] 2n as in `pack`. Stops
     *  when what is left is not above `small`, and returns the number of columns eliminated; the
     *  rest of a, in both triangles, is the remaining Schur complement. */
    int (*tile)(int n, T *a, int32_t *perm, T *d, T *dinv, int hermitian, R small);

    /** y(i) -= sum_j A(i,j) x(j), A rows x cols; and y(j) -= sum_i op(A(i,j)) x(i), op = conj if
     * asked. */
    void (*gemv)(int64_t rows, int cols, const T *a, int64_t lda, const T *x, T *y);
    void (*gemvt)(int64_t rows, int cols, const T *a, int64_t lda, const T *x, T *y, int conjugate);

    /** Rows of nr right-hand sides each, one after the other: y(i,:) -= sum_k op(a(i,k)) x(k,:) with
     *  entry (i, k) at a[i down + k along]: A, or A^T. A side's bits do not depend on the others,
     *  nor a row's on the other rows. */
    void (*rows)(int64_t rows, int64_t depth, const T *a, int64_t down, int64_t along,
                 int conjugate, int nr, const T *x, T *y);
    /** v := L^-1 v, v := op(L)^-T v, in rows of nr, for a unit lower triangle of n columns. */
    void (*lower)(int n, const T *l, int64_t ldl, int nr, T *v);
    void (*lower_t)(int n, const T *l, int64_t ldl, int conjugate, int nr, T *v);

    /** r = b - A x, as if in twice the precision and rounded once (S, C: sums in double), and
     *  w = |A| |x| + |b| for a sparse A by its lower triangle (n, ap, ai, ax). r may be b, not x.
     *  work: MPKI_RESIDUAL_ROW * n doubles. Sums that over- or underflow are not told here: w
     *  shows them. */
    void (*residual)(int32_t n, const int64_t *ap, const int32_t *ai, const T *ax, int hermitian,
                     const T *x, const T *b, T *r, double *w, double *work);
    /** The same for a general A, all of whose entries are given by columns. */
    void (*residual_columns)(int32_t n, const int64_t *ap, const int32_t *ai, const T *ax,
                             const T *x, const T *b, T *r, double *w, double *work);
    /** The same for rows r0 .. r1-1 of a matrix in both triangles: row i has entries ptr[i] ..
     *  ptr[i+1]-1, val[k] in column col[k]. */
    void (*residual_rows)(int32_t r0, int32_t r1, const int64_t *ptr, const int32_t *col,
                          const T *val, const T *x, const T *b, T *r, double *w);
} FN(kernels);

#endif
