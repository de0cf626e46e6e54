/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_STATE_H
#define MPKI_CUDA_INVERSE_STATE_H
/** An approximate inverse on a device from inside. */
#include "make.h"

struct mpki_inverse {
    mpki_isai_job job;
    mpk_isai_options o; /* without the caller's pattern */
    mpki_isai_shape shape;
    bool triangle, single, ready;
    int64_t nnz;                      /* of the matrix that was given */
    mpki_isai_piece given, diagonals; /* its pointers; of a triangle: where the diagonal is, dinv */
    int64_t *diagonal;
    void *dinv;
    mpki_isai_sparse a, a_rows; /* a strict triangle, or all of A */
    mpki_isai_sparse m, m_rows;
    mpki_isai_piece singles; /* the values of m and of m_rows in single precision */
    mpki_isai_piece failed;  /* of small systems: n bytes */
    mpki_isai_piece work;    /* vectors of applications */
    int columns;             /* that fit into it */
};

/** The slots `apply` and `get` of mpki_inverse_engine (inverse/apply.c). */
mpk_status mpki_cuda_isai_apply(mpk_context *ctx, mpki_inverse *s, mpk_isai_side side, int32_t nrhs,
                                const void *b, int64_t ldb, void *x, int64_t ldx);
mpk_status mpki_cuda_isai_get(mpk_context *ctx, mpki_inverse *s, int64_t *ptr, int32_t *row,
                              void *val);

#endif
