/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_VIEWS_H
#define MPKI_INTERFACE_VIEWS_H
/** What engines see of an analysis: arrays in host memory, borrowed. */
#include "core/core.h"
#include <metapack/problem.h>

/** Where an entry of A goes: entry `src` of ax is added at (row, col) of the front that owns it,
 *  both local to the front, row >= col; of a general matrix either may be the larger one. */
typedef struct mpki_scatter {
    int64_t src;
    int32_t row; /* ~row: the entry is conjugated (Hermitian, from the other triangle) */
    int32_t col; /* less than the supernode's columns; of a general matrix this or row is */
} mpki_scatter;

/** The same in half the bytes, where no front has more rows and columns than these, nor A as many
 *  entries that 32 bits are too few for `src`: row | col << 16 | conjugated << 31. */
typedef struct mpki_short_scatter {
    uint32_t src, place;
} mpki_short_scatter;
enum { MPKI_SHORT_ROWS = 1 << 16, MPKI_SHORT_COLUMNS = 1 << 15 };

static inline mpki_short_scatter mpki_short_of(mpki_scatter e) {
    const bool conjugated = e.row < 0;
    const uint32_t row = (uint32_t)(conjugated ? ~e.row : e.row);
    return (mpki_short_scatter){(uint32_t)e.src,
                                row | (uint32_t)e.col << 16 | (conjugated ? 1u << 31 : 0)};
}

/** A list of either; the other one is NULL. */
typedef struct mpki_scatter_list {
    mpki_scatter *wide;
    mpki_short_scatter *few;
} mpki_scatter_list;

static inline mpki_scatter mpki_scatter_at(const mpki_scatter_list *list, int64_t k) {
    if (list->wide) return list->wide[k];
    const mpki_short_scatter e = list->few[k];
    const int32_t row = (int32_t)(e.place & 0xffff);
    return (mpki_scatter){e.src, e.place >> 31 ? ~row : row, (int32_t)(e.place >> 16 & 0x7fff)};
}
static inline void mpki_scatter_put(const mpki_scatter_list *list, int64_t k, mpki_scatter e) {
    if (list->wide)
        list->wide[k] = e;
    else
        list->few[k] = mpki_short_of(e);
}

/** The assembly tree that an analysis has found; fields as in struct mpk_analysis
 *  (analysis/analysis.h), where they are described in full. */
typedef struct mpki_tree_view {
    int32_t n, nsuper; /* order; supernodes, in postorder */
    int64_t nnz;       /* entries of the lower triangle of A, or of all of a general one: the size
                          of ax */
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    const int64_t *ap;     /* n + 1: A's lower triangle, or all of it, by columns, problem order */
    const int32_t *ai;     /* nnz */
    const int32_t *perm;   /* n */
    const int32_t *sptr;   /* nsuper + 1: first position of each supernode */
    const int32_t *parent; /* nsuper; -1: a root */
    const int32_t *child_ptr, *child; /* nsuper + 1, and the children in increasing order */
    const int64_t *rptr;              /* nsuper + 1 */
    const int32_t *ridx;              /* rptr[nsuper]: positions of the rows below */
    const int32_t *rel;               /* rptr[nsuper]: local row of ridx[k] in the parent's front */
    const double *flops;              /* nsuper: of each front */
    const int64_t *scatter_ptr;       /* nsuper + 1 */
    mpki_scatter_list scatter;        /* scatter_ptr[nsuper], by supernode */
    /* predictions, without delayed columns */
    double factor_flops;  /* of all fronts */
    int64_t factor_bytes; /* of the factor */
    int32_t max_front;    /* rows of the largest front */
    int32_t failing; /* pivots that a trial elimination gave up; 0: also where there was none */
    /* Rows of a Schur complement, positions n .. n + outer - 1, below all columns: the last
     * supernode owns none and has them all as rows. 0: none, and the next two are NULL. scatter's
     * src from nnz on are entries of theirs */
    int32_t outer;
    const int64_t *outer_ap; /* n + 1: their entries by columns, problem order: nnz + k in ax */
    const int32_t *outer_ai; /* outer_ap[n]: row, from 0 */
    /* of a general matrix, n: the row on the diagonal of each column; NULL: its own */
    const int32_t *row_of;
} mpki_tree_view;

/** A in both triangles, by rows; see problem/full.h. */
typedef struct mpki_full {
    int32_t n;
    int64_t nnz; /* both triangles, the diagonal once */
    mpk_scalar scalar;
    int64_t *ptr; /* n + 1: row i has entries ptr[i] .. ptr[i+1]-1 */
    int32_t *col; /* nnz, increasing within a row */
    void *val;    /* nnz entries of `scalar`: a_ij as it stands in row i, column j (conjugated where
                     a Hermitian matrix is stored transposed) */
    int32_t parts; /* rows cut into parts of about the same number of entries */
    int32_t *cut;  /* parts + 1 */
} mpki_full;

/** Rows gathered into blocks; see analysis/block/block.h. */
typedef struct mpki_blocking {
    int32_t n, nframes, largest;
    int32_t *perm, *iperm; /* n */
    int32_t *bptr;         /* nframes + 1 */
    int32_t *of;           /* n: frame of each position */
    mpk_strategy strategy; /* the ones chosen where the options said auto */
    mpk_ordering ordering;
} mpki_blocking;

/** One nonzero block as a frame's list sees it: the frame across, and the block's number. */
typedef struct mpki_entry {
    int32_t other;
    int64_t block;
} mpki_entry;

/** Indexed block CSR: which blocks there are; see analysis/block/block.h. A frame's place is where
 *  it stands in the order of elimination. */
typedef struct mpki_ibcsr {
    int32_t m;         /* frames */
    int32_t *frame;    /* m: the frame at each place (P) */
    int32_t *place;    /* m: the place of each frame (P^-1) */
    int32_t *stage;    /* m: how often each frame was pushed back (X) */
    int64_t *ptr;      /* m + 1: frame f's list is entry[ptr[f]] .. entry[ptr[f+1]-1] */
    mpki_entry *entry; /* ptr[m] */
    int64_t *diagonal; /* m: index into entry of each frame's diagonal block */
    int64_t nblocks;
    int32_t *rows, *cols; /* nblocks: frame of a block's rows and of its columns when it was made:
                             the rows' frame had the later place then. Block numbers never change */
} mpki_ibcsr;

/** Have the frames of block b changed their order since it was made? Then it counts transposed. */
static inline bool mpki_ibcsr_transposed(const mpki_ibcsr *x, int64_t b) {
    return x->place[x->rows[b]] < x->place[x->cols[b]];
}
/** The frame of the rows, and that of the columns, of block b as the places are now. */
static inline int32_t mpki_row_frame(const mpki_ibcsr *x, int64_t b) {
    return mpki_ibcsr_transposed(x, b) ? x->cols[b] : x->rows[b];
}
static inline int32_t mpki_col_frame(const mpki_ibcsr *x, int64_t b) {
    return mpki_ibcsr_transposed(x, b) ? x->rows[b] : x->cols[b];
}
static inline int mpki_frame_rows(const mpki_blocking *b, int32_t frame) {
    return b->bptr[frame + 1] - b->bptr[frame];
}

/** Frames in level sets; see analysis/schedule/schedule.h. */
typedef struct mpki_levels {
    int32_t count;  /* level sets */
    int32_t *ptr;   /* count + 1 */
    int32_t *frame; /* ptr[count]: level set l is frame[ptr[l]] .. frame[ptr[l+1]-1] */
} mpki_levels;

/** Multiplications and additions of eliminating w columns with m rows below: a column with l
 * entries under its diagonal takes l divisions, l (l + 1) / 2 multiplications and as many
 * additions. */
static inline double mpki_front_flops(double w, double m) {
    /* sum over l = m .. m+w-1 of l^2 + 2 l */
    double b = m + w - 1;
    double squares = (b * (b + 1) * (2 * b + 1) - (m - 1) * m * (2 * m - 1)) / 6;
    return squares + w * (m + b);
}

/** Multiplications and additions of eliminating w rows and columns with m beside them. */
static inline double mpki_square_flops(double w, double m) {
    /* 2 sum of l^2 + sum of l, l = m .. m+w-1, where mpki_front_flops() is sum of l^2 + 2 l */
    const double lines = w * (2 * m + w - 1) / 2;
    return 2 * mpki_front_flops(w, m) - 3 * lines;
}

#endif
