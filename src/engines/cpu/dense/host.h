/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_DENSE_HOST_H
#define MPKI_CPU_DENSE_HOST_H
/** The methods of the processor for one dense matrix, one in each file. They all know one shape:
 *  the lower triangle, columns ldf apart. An upper triangle is the lower one of the matrix in
 *  reverse order (rows and columns), so the matrix is turned by half a turn before and after. */
#include "engines/cpu/front/front.h"
#include "engines/interface/dense.h"

enum {
    MPKI_BLOCK = 128, /* columns of a block in solves and updates */
    MPKI_STRIP = 768, /* rows of an item: a multiple of every register tile */
    MPKI_WIDEST = 256 /* the widest panel that a caller may choose */
};

/** A factorization's view of a call: the lower triangle to factor, in place. */
typedef struct FN(lower) {
    const FN(kernels) * k;
    mpki_pool *pool;
    int threads;
    int hermitian;
    int64_t n, ld;
    T *a;
    int32_t *pivots;
    R small; /* a column of what is left whose entries are all at most this is a zero pivot */
    mpk_context *ctx;
} FN(lower);

/** Is a factorization to be stopped? Loops end early then, and whoever called them asks once
 *  more. */
static inline bool FN(lower_stopped)(const FN(lower) * s) {
    return mpki_stop_wanted(s->ctx, "factorize");
}

/** Rows i0 .. i0+rows-1 of columns j0 .. j0+cols-1 of the factor, as if it were lower: an address
 *  in f; or, for an upper factor, of buffer (rows x cols), where the block is turned to. */
const T *FN(factor_block_at)(const mpki_dense_call *call, int64_t i0, int64_t rows, int64_t j0,
                             int64_t cols, T *buffer, int64_t *ld);

/** Half a turn: entry (i, j) and (n-1-i, n-1-j) change places. */
void FN(turn)(int64_t n, T *a, int64_t ld, mpki_pool *pool);

/** C -= A B^T, lower triangle of C (n x n, at c), A and B n x depth; by all threads. For Hermitian
 *  products B comes conjugated. packs [out] threads x MPKI_BLOCK x depth entries */
void FN(lower_update)(const FN(lower) * s, int64_t n, int depth, const T *a, int64_t lda,
                      const T *b, int64_t ldb, T *c, int64_t ldc, T *packs);

/** *most := the largest of *most and |re| + |im| over count entries. *check becomes NaN where an
 *  entry is NaN or infinite, and then *most may be too small. */
void FN(scan)(int64_t count, const T *x, R *most, R *check);

/** Reverse the rows of X where the factor is upper: to the order of the lower factor, and back. */
void FN(reverse_rows)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx);

/** The index in the matrix of position k of the lower factor. *pair: k is part of a 2x2 pivot. */
static inline int64_t FN(place)(const mpki_dense_call *call, int64_t k, bool *pair) {
    const int64_t n = call->dense.n;
    const bool upper = call->dense.uplo == MPK_UPPER;
    int64_t p = call->f->pivots[upper ? n - 1 - k : k];
    *pair = p < 0;
    if (p < 0) p = ~p;
    return upper ? n - 1 - p : p;
}

/** Pack B (depth x cols, ldb) as the right operand of a product (kernels.h). */
void FN(pack_plain)(const FN(kernels) * k, int depth, int cols, const T *b, int64_t ldb, T *packed);

/** X := L^-1 X, and X := L^-T X (L^-H), for the unit lower triangle of a factor in its final order;
 *  2x2 pivots as in call->f->pivots (the entry below their diagonal is D's). sweep_diagonal: X :=
 *  D^-1 X, zero pivots give 0.
 *  x [inout] n x nrhs, rows in the factor's order; work [out] FN(sweep_bytes) */
int64_t FN(sweep_bytes)(const mpki_dense_call *call, int32_t nrhs);
void FN(sweep_forward)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx, char *work);
void FN(sweep_diagonal)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx);
void FN(sweep_backward)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx, char *work);

/** Read D (on the diagonal and below it) and L: inertia, 2x2 pivots, growth, max |L|, into
 *  call->info; `delayed` stays. Returns MPK_OK | MPK_SINGULAR | MPK_ERR_NUMERIC: L or D is not
 *  finite. */
mpk_status FN(account)(mpki_dense_call *call, const FN(lower) * s);

#define MPKI_HOST_METHOD(name)                                                                     \
    mpk_status FN(name##_need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need);  \
    mpk_status FN(name##_factorize)(mpki_dense_call * call, FN(lower) * s);                        \
    mpk_status FN(name##_solve)(mpki_dense_call * call, int32_t nrhs, void *x, int64_t ldx);
MPKI_HOST_METHOD(tile)
MPKI_HOST_METHOD(lapack) /* Bunch-Kaufman and rook */
MPKI_HOST_METHOD(aasen)
MPKI_HOST_METHOD(butterfly)
/** Width of the blocks and of the half band of Aasen's method. */
int32_t FN(aasen_width)(const mpki_dense_call *call);
mpk_status FN(aasen_inertia)(mpki_dense_call *call, mpk_inertia *inertia);

#endif
