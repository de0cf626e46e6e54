/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_BORDER_H
#define MPKI_CPU_BLOCK_FACTOR_BORDER_H
/** The dense pivot that ends the stages of a factorization on blocks: what the accepted frames
 *  leave of the rows of all others, S = P^T L D L^T P with pivots from anywhere in it. Its frames
 *  have M = I, so sweeps over blocks pass over them, and L, D and P stand between the two sweeps.
 *  Thuerck 2021, sec. 8.3.1, pushes back again instead; stages that accept nothing would never
 *  end. */
#include "engines/interface/dense.h"
#include "meta.h"
#include "sweeps.h"

typedef struct mpki_border {
    int32_t rows;
    int32_t *start;    /* by frame: its first row in S; -1: none */
    int32_t *position; /* rows: of each row of S before pivoting */
    void *s;           /* rows x rows of the stored scalar by columns, lower: S, then L and D */
    void *dinv;        /* 2 rows, as frames have it */
    int32_t *pivots;   /* rows, as mpk_dense_factor has them */
    mpk_dense_factor factor;
    mpki_dense_call call; /* for sweeps; a solver sets threads, pool and info */
} mpki_border;

/** Make stages->border's frames the border: S = 0. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_border_make(mpki_blocks *f);
/** S is complete: factor it. Pivots not above stages->floor are replaced, and counted.
 *  Returns MPK_OK | MPK_ERR_NUMERIC: S is not finite, or overflows | MPK_ERR_MEMORY. */
mpk_status mpki_border_factor(mpki_blocks *f);
/** The same of any S: mpki_stages.dense_pivot. */
mpk_status mpki_border_dense_pivot(const mpki_stages *s, mpki_dense_pivot *p);
void mpki_border_free(mpk_context *ctx, mpki_border **border);
/** Bytes held; 0 for NULL. */
int64_t mpki_border_bytes(const mpki_border *border, mpk_scalar scalar);

static inline bool mpki_in_border(const mpki_blocks *f, int32_t frame) {
    return f->border && f->border->start[frame] >= 0;
}

/** Work space for sweeps: nrhs columns of S's order, and what they need besides; bytes. */
int64_t mpki_border_work(const mpki_border *border, mpk_scalar scalar, int threads, int nrhs);

#define MPKI_BORDER_SCALAR(p)                                                                        \
    /** Items t0 .. t1-1 of the chunk, gathered, belong to a column of the border: into S. */        \
    void mpki_##p##_border_take(const mpki_meta *meta, int64_t t0, int64_t t1);                      \
    /** dinv from D; counts pivots. */                                                               \
    void mpki_##p##_border_pivots(const mpki_stages *stages, mpki_dense_pivot *pivot);               \
    int64_t mpki_##p##_border_bytes(const mpki_dense_call *call, int nrhs);                          \
    /** y := L^-1 P y, y := D^-1 y (|D|^-1), y := P^T L^-T y on the border's rows of y, which has  \
     *  nrhs numbers by position. `part` names one of the three. */ \
    void mpki_##p##_border_apply(mpki_block_solver *s, mpk_part part, int nrhs, void *y);
MPKI_BORDER_SCALAR(s)
MPKI_BORDER_SCALAR(d)
MPKI_BORDER_SCALAR(c)
MPKI_BORDER_SCALAR(z)
#undef MPKI_BORDER_SCALAR

#endif
