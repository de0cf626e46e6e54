/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_FRONT_FRONT_H
#define MPKI_CPU_FRONT_FRONT_H
/** A front: w fully summed columns over nrows rows, factored by tile LDL^T with a-posteriori
 *  threshold pivoting (docs/design/factorization.md; the scheme of Hogg, Ovtchinnikov & Scott
 *  2016, ACM TOMS 42(4), and Duff, Hogg & Lopez 2020, SIAM J. Sci. Comput. 42(2), and the thesis'
 *  outer pivoting with column granularity).
 *
 *  Storage: a trapezoid of panels of 128 columns. Panel k holds rows 128 k .. nrows-1 with leading
 *  dimension ld0 - 128 k, ld0 = mpki_leading(nrows); the upper triangles of the diagonal blocks
 *  are not used. `flat`: a whole matrix instead, in the lower triangle of columns ld0 apart. */
#include "core/pool.h"
#include "kernels/kernels.h"
#include "storage.h"

/** What the pivoting did; summed over fronts. */
typedef struct mpki_pivots {
    int64_t positive, negative, zero, two_by_two, rejected, perturbed;
    double max_d, min_d; /* largest |entry| and smallest nonzero |eigenvalue| of the blocks of D */
    int64_t broken;      /* zero pivots of a front that is `last`, with entries in the rows below */
} mpki_pivots;

typedef struct FN(front) {
    int64_t nrows;
    int32_t w;     /* fully summed columns */
    int64_t free;  /* the last rows, whose variables are never eliminated: no pivot of theirs gains
                      by a delay, and L may exceed 1/u there */
    int32_t nelim; /* [out] columns eliminated; they come first after the permutation */
    int64_t ld0;
    T *a;        /* mpki_trapezoid(nrows, w) entries, and 64 bytes after them that may be read */
    int32_t *id; /* w: names of the columns, permuted with them */
    T *d, *dinv; /* 2 w each: D and D^-1; [2k] diagonal, [2k+1] subdiagonal, not 0 only in a 2x2
                    pivot */
    int flat;    /* columns ld0 apart instead of panels: cpu/dense/ */
    T *right;    /* flat: (128 + 16) w entries, 64-byte aligned, for packed operands; or NULL */
    struct FN(low_rank) * low; /* low_rank.h: blocks of finished panels, compressed; or NULL */
    struct FN(tiles) * tiles;  /* tiles.h: its leading panels by tasks; or NULL */
    bool last; /* all columns must be eliminated here, as those of a root, though rows are below:
                    by complete pivoting among the fully summed ones where the test fails */
} FN(front);

/** Work space of one worker. */
typedef struct FN(front_work) {
    T *packed;     /* 128 x 128, or n x n where n is less; likewise the next three */
    T *packed2;    /* 128 x 128: the block's own L, shared by the rows below it */
    T *block;      /* 128 x 128: a diagonal block being factored */
    T *backup;     /* 128 x 128 */
    int32_t *perm; /* 2 x 128 */
    T *inner;      /* the same for the recursion into a block: 3 x 32 x 128 */
    T *dd;         /* 4 x 128: D and D^-1 of the recursion */
    T *low;        /* FN(low_space)(), where a front has `low` */
} FN(front_work);

typedef struct FN(front_rules) {
    const FN(kernels) * k;
    int hermitian;
    R u;     /* threshold: |L| <= 1/u */
    R small; /* a column whose entries are all at most this is a zero pivot */
    R shift; /* > 0: replaces a pivot that fails; 0: none is replaced */
    R noise; /* a tile does not see the rows below it: it takes no pivot of at most this either, for
                L could overflow beyond repair */
    bool (*cancelled)(void *self); /* asked from time to time: does the caller want to stop, now and
                                      from then on? NULL: never */
    void *self;
} FN(front_rules);

/** Is it to be stopped? Little work, in operations, is done without asking. */
static inline bool FN(front_stopped)(const FN(front_rules) * rules, double work) {
    return work > 1e6 && rules->cancelled && rules->cancelled(rules->self);
}

/** Entries of the single allocation that FN(front_work_set) cuts up, for fronts of at most n rows.
 */
int64_t FN(front_work_size)(int64_t n);
void FN(front_work_set)(FN(front_work) * work, int64_t n, T *memory);

/** Factor as many of the w columns as pass the threshold test; the others end up last, updated.
 *  With nrows == w (a root), or f->last, all pass.
 *  pool   [in]    may be NULL
 *  pivots [inout] statistics are added
 *  Returns MPK_OK | MPK_ERR_NUMERIC: a NaN or Inf was met | MPK_ERR_CANCELLED. */
mpk_status FN(front_factor)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                            mpki_pool *pool, int worker, mpki_pivots *pivots);

/** The same of a front of one column, as most are in very sparse problems: the same test on a shorter
 *  way. False: it needs the long way, and is as it was. */
bool FN(front_single)(FN(front) * f, const FN(front_rules) * rules, mpki_pivots *pivots);

/** The tiles of front_factor alone: eliminate what passes, in as many passes as pay. Sets f->nelim,
 * d and dinv (which the caller has zeroed); the columns that fail stand last, up to date. */
void FN(front_passes)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                      mpki_pool *pool, int worker, bool again, mpki_pivots *pivots);

/** c := -L21 D L21^T for the rows w .. nrows-1: a trapezoid of nrows - w rows and columns. Where
 *  rules->cancelled says so c is left unfinished. What tiles have done of it is not done again.
 *  works [in] one for each worker of the pool */
void FN(front_update)(const FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works,
                      T *c, mpki_pool *pool, int worker);

/** Address of entry (i, j); i is not above the first row of j's panel. */
static inline T *FN(front_at)(const FN(front) * f, int64_t i, int64_t j) {
    if (j < MPKI_PANEL || f->flat) return f->a + j * f->ld0 + i;
    int64_t k = j / MPKI_PANEL, first = k * MPKI_PANEL;
    return f->a + mpki_panel_offset(f->ld0, k) + (j - first) * (f->ld0 - first) + (i - first);
}
static inline int64_t FN(front_ld)(const FN(front) * f, int64_t j) {
    return f->flat ? f->ld0 : f->ld0 - j / MPKI_PANEL * MPKI_PANEL;
}

/** Try the columns nelim .. w-1 of f, all up to date, one by one against their whole columns
 * (threshold partial pivoting, Duff & Reid 1983): the last resort. root: all must be eliminated;
 * where nothing is left of the fully summed part but entries below it, these are dropped with a
 * zero pivot, and counted as broken. */
mpk_status FN(front_threshold)(FN(front) * f, const FN(front_rules) * rules, int root,
                               mpki_pivots *pivots);

/** Exchange rows and columns i < j of the fully summed part. */
void FN(front_swap)(FN(front) * f, int hermitian, int64_t i, int64_t j);

#endif
