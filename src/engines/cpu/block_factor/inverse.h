/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_INVERSE_H
#define MPKI_CPU_BLOCK_FACTOR_INVERSE_H
/** A finished factor whose triangular solves are products with incomplete sparse approximate
 *  inverses. The factor is written as L^ D^ L^^T with the exact pivot blocks apart:
 *
 *      L^ = I + N,  N_ik = L_ik M_k (LDU, of the other half: U_ik^T N_k),
 *
 *  so that 𝓛 = L^ diag(M_k^-1), whatever M_k is (pivoted, a butterfly, LLT's root). L^ is unit
 *  lower triangular by scalars in the order of places, and the identity within a frame. M_L is its
 *  approximate inverse by columns; M_U := M_L^T where the factor is symmetric, which keeps the
 *  preconditioner symmetric; else the one of U^ by columns. Numbers are then by position. */
#include "engines/cpu/inverse/inverse.h"
#include "block_factor.h"

typedef struct mpki_block_isai {
    int32_t n;
    bool single;      /* values of M, not of the rest, in the lower precision */
    mpki_sparse m[2]; /* by rows: M_L, M_U without their unit diagonals. Symmetric: M_L^T */
    mpki_sparse
        t[2];       /* by rows: the triangles L^, U^ without diagonals; empty without relaxation */
    bool conjugate; /* half 1 is to be conjugated: of a Hermitian factor */
    uint16_t *entries; /* by block: entries of L in it */
    void *scale[2];    /* scalars: M and N as numbers by position; NULL: ones, or frames */
    void *dinv;        /* scalars: D^-1 by position; NULL: in the frames */
    void *pivots;      /* values of the frames' blocks */
    struct mpki_isai_frames *frames; /* inverse_frames.h: in place of m, t and step, or NULL */
    mpki_isai_step step[2];
    mpk_isai_info info;
} mpki_block_isai;

/** Approximate inverses of the factor's triangles; f->isai. Its blocks stay.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED | MPK_ERR_ARGUMENT: a column is over
 *  options.isai_limit | MPK_ERR_NUMERIC: a column overflows */
mpk_status mpki_block_isai_make(mpki_blocks *f, mpki_pool *pool);
/** They take the place of its blocks, which are released, but for the pivots.
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_block_isai_settle(mpki_blocks *f);
void mpki_block_isai_free(mpk_context *ctx, mpki_block_isai **isai);

/** Two triangles L^ (and U^^T), by columns in the order of places, while they are gathered. */
typedef struct mpki_isai_gather {
    const mpki_blocks *bf;
    const int32_t *start; /* by frame: its first row in the order of places */
    int half;
    mpki_sparse *l;
    _Atomic bool failed;
} mpki_isai_gather;

/* clang-format off */
#define MPKI_BLOCK_ISAI(p)                                                                         \
    /** Columns of frame f: entries of column c into l->ptr[c + 1]; or, with sums and `fill`,      \
     *  the entries. */                                                                            \
    void mpki_##p##_isai_gather(const mpki_isai_gather *g, int32_t f, bool fill);                  \
    /** Scalars: M, N and D^-1. False: both scales are one. */                                     \
    bool mpki_##p##_isai_scales(const mpki_blocks *bf, void *m, void *n, void *dinv);
/* clang-format on */
MPKI_BLOCK_ISAI(s)
MPKI_BLOCK_ISAI(d)
MPKI_BLOCK_ISAI(c)
MPKI_BLOCK_ISAI(z)
#undef MPKI_BLOCK_ISAI

#endif
