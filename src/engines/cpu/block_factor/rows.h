/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_ROWS_H
#define MPKI_CPU_BLOCK_FACTOR_ROWS_H
/** A finished factor held as scalar rows. Where its blocks have few entries, as all have that are
 *  1 x 1, finding an entry costs more than the entry; rows with 32-bit columns are read at the
 *  speed of a sparse product. Both halves are held, L by rows and L^T (LDU: U) by rows, each in the
 *  order in which its sweep reads it; blocks that are worth it stay blocks. */
#include "core/pool.h"
#include "block_factor.h"

/** A block that stays one, in a frame's list. */
typedef struct mpki_kept {
    mpki_block block;
    int32_t from; /* slot of the first row of the frame across */
} mpki_kept;

/** One triangular system, x := M (b - L x) frame by frame. Slot: the index of a row in the order of
 *  the sweep; frames come in the order of the level sets, backward in the reverse of that, the rows
 *  of a frame in their own order. All columns of a row are slots before its frame. Frames of one
 *  row are sorted by length within a level set, some hundreds at a time: the ends of rows can then
 *  be predicted, which saves a third of the time of short ones. */
typedef struct mpki_triangle {
    int32_t *start;              /* m + 1: first slot of each frame */
    int32_t *problem, *position; /* n, by slot: the row in the problem, and its position */
    void *scale;                 /* n reals, by slot */
    int64_t *ptr;                /* n + 1 */
    int32_t *col;                /* ptr[n]: slots */
    void *val;                   /* ptr[n]; L^T of a Hermitian factor is conjugated */
    int64_t *kept_ptr;           /* m + 1; NULL: no block stayed one */
    mpki_kept *kept;
    int64_t *m_ptr; /* n + 1: M by rows, NULL: M = I everywhere */
    int32_t *m_col; /* place within the frame */
    void *m_val;
    mpki_block *pivot; /* m: -M as a block; EMPTY: by rows, or the identity, if it has no rows */
    int32_t chunks;    /* frames cut into chunks of about the same work */
    int32_t *chunk;    /* chunks + 1: first frame */
    int32_t *need;     /* chunks: the last chunk that has to be done before; -1: none */
} mpki_triangle;

typedef struct mpki_rows {
    int32_t n, m;
    mpki_triangle half[2]; /* forward, backward */
    bool pairs;            /* some pivot is 2x2 */
    void *dinv;        /* `pairs`: 2 n as in mpki_frame, by slot of half[0]; else n, of half[1] */
    int32_t *turn;     /* n, by slot of half[1]: that of half[0] */
    void *root;        /* LLT of scalars, n by slot of half[0]: the rows are those of L S with S the
                          inverse roots here, and D^-1 = S^2; else NULL */
    uint16_t *entries; /* by block: entries of L in it */
    void *values;      /* of the blocks that stayed */
    int64_t bytes, swept; /* in all; what a sweep in one direction reads */
    int64_t held;         /* entries of L held by rows */
} mpki_rows;

/** The finished factor as rows, where it is faster as such.
 *  ctx      [in]    takes the memory, and frees it: the solver's, for bf may be another context's
 *  drop     [inout] NULL, or bf: its blocks are released on the way, and it is lost after a failure
 *  inverted [in]    L_ii may take the place of M, which changes more than the order of sums
 *  rows     [out]   NULL: it is not faster, or has a dense pivot
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_rows_make(mpk_context *ctx, const mpki_blocks *bf, mpki_blocks *drop, bool inverted,
                          mpki_pool *pool, mpki_rows **rows);
void mpki_rows_free(mpk_context *ctx, mpki_rows **rows);

/* ---- worth.c --------------------------------------------------------------------------------- */

/** Is the factor faster as rows, and is there room for them beside the blocks?
 *  kept_bytes [out] of the blocks that stay
 *  pure       [out] even with all blocks as rows */
bool mpki_rows_pay(const mpk_context *ctx, const mpki_blocks *bf, int64_t *kept_bytes, bool *pure);
/** The rule, measured (docs/design/meta-algorithm.md): is this block faster as rows? */
bool mpki_as_rows(const mpki_block *b);
/** Bytes of its data, for values of `size` bytes. */
int64_t mpki_stored_bytes(const mpki_block *b, size_t size);

/** Frames at work in one of these: where the frames' slots begin, and the pass. */
typedef struct mpki_rows_making {
    const mpki_blocks *bf;
    mpki_rows *rows;
    int half;
    const int32_t *order; /* frames in the order of the half */
    const int32_t *first; /* by frame: its first slot */
    bool pure;            /* all entries become rows, those of L_ii = M_i^-1 in place of M_i */
    bool rooted;          /* rows->root is wanted */
    uint8_t *pivot[2];    /* pure, by half and position: row of the frame that is its k-th pivot */
    uint8_t *step[2];     /* and the inverse */
    uint8_t *inner[2];    /* entries of a row of L_ii, of its transpose in half 1 */
    int32_t *other;       /* by slot of half 0: that of half 1 */
    int64_t *moved; /* by block, and m more for pivots: offset of its values in rows->values */
} mpki_rows_making;

enum { MPKI_PURE_MOST = 64 }; /* rows of a frame whose M is inverted */

#define MPKI_ROWS(p)                                                                                 \
    /** Find the pivots' order of a frame in its M. False: M has none, or its inverse would be too \
     *  inaccurate. */ \
    bool mpki_##p##_rows_invertible(const mpki_rows_making *w, int32_t f);                           \
    /** Of the frames j0 .. j1-1 in the order of the half: entries of row r into ptr[r + 1] and    \
     *  m_ptr[r + 1], blocks that stay into kept_ptr[j + 1]. Then, with pointers that are sums, the\
     *  rows themselves. */ \
    void mpki_##p##_rows_count(const mpki_rows_making *w, int32_t j0, int32_t j1);                   \
    void mpki_##p##_rows_fill(const mpki_rows_making *w, int32_t j0, int32_t j1);                    \
    /** D^-1 by slot; sets rows->pairs. Called twice: with dinv NULL it only looks for pairs. */     \
    void mpki_##p##_rows_pivots(const mpki_rows_making *w);                                          \
    /** Half 1 as the transpose of half 0, whose frames have neither M nor blocks: entries of row r\
     *  into ptr[r + 1]; then, with pointers that are sums, the rows. next: n */ \
    void mpki_##p##_rows_count_transposed(const mpki_rows_making *w);                                \
    void mpki_##p##_rows_transpose(const mpki_rows_making *w, int64_t *next);                        \
    /** scale, by slot. */                                                                           \
    void mpki_##p##_rows_scale(const mpki_rows_making *w);
MPKI_ROWS(s)
MPKI_ROWS(d)
MPKI_ROWS(c)
MPKI_ROWS(z)
#undef MPKI_ROWS

#endif
