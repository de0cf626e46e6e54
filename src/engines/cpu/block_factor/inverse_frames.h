/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_INVERSE_FRAMES_H
#define MPKI_CPU_BLOCK_FACTOR_INVERSE_FRAMES_H
/** Approximate inverses whose pattern is one of blocks (option isai_frames): all columns of a frame
 *  have the same rows, whole frames, and so share one system L^(J, J) M(J, f) = E_f, which is solved
 *  by substitution on the factor's own blocks. L^ is that of inverse.h. M's blocks are dense and are
 *  held once: a symmetric factor's second triangle multiplies with their transposes. */
#include "inverse.h"

struct mpki_block_solver;

/** M of one triangle. Frames are named by their places. */
typedef struct mpki_isai_blocks {
    int64_t *ptr; /* m + 1: blocks of a column of frames, without its own, which is the identity */
    int32_t *row; /* by block: the frame of its rows; they ascend in a column */
    int64_t *at;  /* by block, and the end: where its values begin; column after column */
    void *val;
    mpki_sparse turn; /* the same by rows of frames; val: int64_t, where a block's values begin */
} mpki_isai_blocks;

typedef struct mpki_isai_frames {
    bool ldu;                 /* half 1 is of its own; else the transpose of half 0 */
    mpki_isai_blocks half[2]; /* M_L, M_U */
} mpki_isai_frames;

/** One half while its values are computed. */
typedef struct mpki_frames_making {
    const mpki_blocks *bf;
    mpki_isai_blocks *m;
    int half;
    int64_t rows;        /* of the longest column, its own frame left out */
    int32_t *mark;       /* by worker and place: first row in `work`, or -1 */
    void *work;          /* by worker: rows x MPKI_SWEEP_RHS scalars */
    _Atomic int32_t bad; /* the first place whose column is not finite; m: none */
} mpki_frames_making;

/** y := [y +] M x for some rows of frames. */
typedef struct mpki_frames_product {
    const mpki_blocks *bf;
    const mpki_isai_blocks *m;
    bool transposed, conjugate;
    bool single; /* values are in single precision */
    bool add;
    int nrhs;
    const void *x;
    void *y;
} mpki_frames_product;

/** r := b - L^ x, by frame; backward: with U^, or L^'s (conjugate) transpose. */
typedef struct mpki_frames_residual {
    const struct mpki_block_solver *s;
    bool backward;
    int nrhs;
    const void *b, *x;
    void *turned; /* forward: M_f x_f for all frames, written by the first pass */
    void *r;
} mpki_frames_residual;

/** isai->frames and isai->info. Returns as mpki_block_isai_make(), of which it is a part. */
mpk_status mpki_isai_frames_make(mpki_blocks *f, mpki_pool *pool);
void mpki_isai_frames_free(mpk_context *ctx, mpki_isai_frames **frames);
/** s->z := M s->y, and isai_relax sweeps of relaxation. */
void mpki_isai_frames_relax(struct mpki_block_solver *s, int nrhs, bool backward);

/* clang-format off */
#define MPKI_ISAI_FRAMES(p)                                                                        \
    /** The column of frames at a place. False: it is not finite. */                               \
    bool mpki_##p##_isai_frames_column(const mpki_frames_making *w, int32_t place, int worker);    \
    /** The sum of the squared moduli of a block's values. */                                      \
    double mpki_##p##_isai_frames_norm2(const mpki_isai_blocks *m, int64_t block);                 \
    void mpki_##p##_isai_frames_times(const mpki_frames_product *p, int32_t place);                \
    /** Forward, first pass: w->turned. */                                                         \
    void mpki_##p##_isai_frames_turn(const mpki_frames_residual *w, int32_t frame);                \
    void mpki_##p##_isai_frames_residual(const mpki_frames_residual *w, int32_t frame);
/* clang-format on */
MPKI_ISAI_FRAMES(s)
MPKI_ISAI_FRAMES(d)
MPKI_ISAI_FRAMES(c)
MPKI_ISAI_FRAMES(z)
#undef MPKI_ISAI_FRAMES

#endif
