/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BACKEND_SPARSE_H
#define MPKI_BACKEND_SPARSE_H
/** What an engine - the processor's, a device's - offers for sparse matrices: a multifrontal
 *  factorization, an incomplete one on blocks, and the vectors of a Krylov method. factor/ and
 *  solve/ decide (scaling, outer pivoting, rank, stages, refinement) and call; an engine computes.
 *  Only mpki_engine_of() in factor/engine.c chooses one.
 *
 *  What holds for every slot:
 *  Arguments  have been checked. A view is a set of arrays of an analysis or of a factorization,
 *             in host memory, borrowed for as long as the engine's object lives.
 *  Memory     Vectors have entries of the scalar type of A. The engine of a device takes each of
 *             them where it lies, in host memory or in the device's, and finds that out by itself;
 *             the processor's takes host memory alone. Values of A, scales and views lie in host
 *             memory; so does what a slot tells (results, lists, bytes).
 *  Order      Vectors named b and x are in the order of the problem, vectors named y by position:
 *             perm[position] = index in the problem (docs/reference/glossary.md).
 *  Errors     A slot that fails records why with mpki_error() and returns that status; what it
 *             made on the way is released or belongs to the object.
 *  Threads    Slots of one object are called one after the other, from one thread. An engine may
 *             use as many threads as it is told to; the bits of a result must not depend on how
 *             many.
 *
 *  Refinement and the estimate of a condition number are the same for every engine
 *  (factor/refine_t.c, factor/rank.c), with residuals of A on the host in twice the precision and
 *  solves through `apply`. An engine may have a refinement of its own for vectors that lie with it
 *  (`refine`). */
#include "../core/core.h"
#include "../core/pool.h"
#include <metapack/factor.h>
#include <metapack/isai.h>
#include <metapack/krylov.h>
#include <metapack/problem.h>
#include <metapack/solve.h>

/* ---- a multifrontal factorization: Duff & Reid 1983, ACM TOMS 9(3); direct/ has the processor's --- */

/** Where an entry of A goes: entry `src` of ax is added at (row, col) of the front that owns it,
 *  both local to the front, row >= col. */
typedef struct mpki_scatter {
    int64_t src;
    int32_t row; /* ~row: the entry is conjugated (Hermitian, from the other triangle) */
    int32_t col; /* less than the supernode's columns */
} mpki_scatter;

/** The assembly tree that an analysis has found; fields as in struct mpk_analysis
 *  (analysis/analysis.h), where they are described in full. */
typedef struct mpki_tree_view {
    int32_t n, nsuper; /* order; supernodes, in postorder */
    int64_t nnz;       /* entries of the lower triangle of A: the size of ax */
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    const int64_t *ap;                /* n + 1: A's lower triangle by columns, problem order */
    const int32_t *ai;                /* nnz */
    const int32_t *perm;              /* n */
    const int32_t *sptr;              /* nsuper + 1: first position of each supernode */
    const int32_t *parent;            /* nsuper; -1: a root */
    const int32_t *child_ptr, *child; /* nsuper + 1, and the children in increasing order */
    const int64_t *rptr;              /* nsuper + 1 */
    const int32_t *ridx;              /* rptr[nsuper]: positions of the rows below */
    const int32_t *rel;               /* rptr[nsuper]: local row of ridx[k] in the parent's front */
    const double *flops;              /* nsuper: of each front */
    const int64_t *scatter_ptr;       /* nsuper + 1 */
    const mpki_scatter *scatter;      /* scatter_ptr[nsuper], by supernode */
    /* predictions, without delayed columns */
    double factor_flops;  /* of all fronts */
    int64_t factor_bytes; /* of the factor */
    int32_t max_front;    /* rows of the largest front */
    int32_t failing; /* pivots that a trial elimination gave up; 0: also where there was none */
} mpki_tree_view;

/** What a pivot must be. Sizes are in the units of S A S. */
typedef struct mpki_pivot_rules {
    double threshold; /* |L| <= 1 / threshold */
    double small;     /* a column whose entries are all at most this is a zero pivot */
    double shift;     /* > 0: replaces a pivot that fails; 0: none is replaced */
    double size;      /* largest entry of S A S */
    int threads;
    double memory_limit;        /* as options.memory_limit */
    double device_memory_limit; /* as options.device_memory_limit */
} mpki_pivot_rules;

/** When to give up the order in force: when more flops than this were done, or more columns were
 *  rejected. Both are sums that do not depend on who adds first, so the decision is the same for
 *  any number of threads. */
typedef struct mpki_stop {
    double flops;
    int64_t rejected;
} mpki_stop;

/** What a factorization did. */
typedef struct mpki_numeric_result {
    int64_t positive, negative, zero; /* eigenvalues of D by sign */
    int64_t two_by_two, perturbed;    /* pivots */
    int64_t delayed;                  /* columns, counted again in each front that delays them */
    double max_d, min_d; /* largest |entry|, smallest nonzero |eigenvalue| of the blocks of D */
    double flops;
    int64_t nnz; /* of L */
    int32_t max_front;
    bool runaway; /* it cost more than `stop` allows and was given up: there are no numbers */
} mpki_numeric_result;

/** A pivot whose smaller eigenvalue is in doubt: it may be nothing but rounding. */
typedef struct mpki_weak_pivot {
    int32_t at[2];     /* its positions; at[1] for a pair only */
    int64_t handle[2]; /* where the engine finds it again */
    bool pair;         /* 2x2 */
    int sign;          /* +1 or -1: how the eigenvalue was counted */
    double size;       /* |eigenvalue|, relative to rules.size */
    double other;      /* of a pair: the larger eigenvalue */
    double vector[4];  /* the eigenvector: two complex numbers */
} mpki_weak_pivot;

typedef struct mpki_direct mpki_direct;               /* an engine's factor */
typedef struct mpki_direct_solver mpki_direct_solver; /* work space that its solves share */

/** What is asked of a refinement. */
typedef struct mpki_refine_wish {
    int32_t steps;
    double accuracy;
    double doubt; /* ||A|| ||x|| / ||b|| from which on x is looked at: may it be in A's kernel? */
    double flat;  /* it may where A takes it to no more than this, relatively */
} mpki_refine_wish;

/** Values as a caller has them, in the memory of an engine's device; the lists are in host
 *  memory. */
typedef struct mpki_given_view {
    const void *values;
    int64_t count;
    const void
        *place; /* count: mpki_place() of each (problem/given.h); NULL: value k is entry k of ax */
    bool wide;  /* places of 64 bits */
    /* how they are scaled: by mpki_equilibrate(), then to powers of two */
    const double *scale; /* n: the scaling to begin with; NULL: 1 */
    int32_t sweeps;
} mpki_given_view;

/** Right-hand sides that are refined together, at most. */
enum { MPKI_REFINE_TOGETHER = 8 };

/** What it reached, the worst of all right-hand sides; fields as in mpk_solve_info. */
typedef struct mpki_refined {
    int32_t
        done; /* right-hand sides, the first ones; 0: something is unusual (numbers near the ends of
                      the range, not finite, growth that hides b, x may be in A's kernel, no memory), and
                      the host has to do it */
    int32_t iterations;
    double componentwise, normwise, unrefined, relative_residual;
} mpki_refined;

typedef struct mpki_direct_engine {
    /** Room for factors of this tree, which must outlive *f. Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*make)(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **f);
    /** Release everything; *f is NULL afterwards. A NULL *f is fine. */
    void (*free)(mpki_direct **f);
    /** Release the numbers and their work space; *f can be factorized again. */
    void (*clear)(mpki_direct *f);
    /** P S A S P^T = L D L^T; numbers of an earlier call are overwritten.
     *  ax     [in]  nnz values, in the order of the tree's ap and ai; NULL: those taken last
     *  scale  [in]  n powers of two, problem order: S. Must outlive the numbers; NULL with ax
     *  stop   [in]  NULL: never give up
     *  result [out] what was done
     *  Returns MPK_OK (also where it was given up: result->runaway) | MPK_ERR_MEMORY, _NUMERIC,
     *  _CANCELLED: there are no numbers then */
    mpk_status (*factorize)(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result);
    /** Bytes that the numbers take. */
    int64_t (*bytes)(const mpki_direct *f);
    /** MPK_GET_PERM, _D or _LOGDET as mpk_get() gives them, to host memory. */
    mpk_status (*get)(const mpki_direct *f, mpk_quantity what, void *out);

    /** y (n) := 1 or -1 at the zero pivots, 0 elsewhere; the signs look random and are the same in
     *  every run (core/random.h). */
    void (*at_zeros)(const mpki_direct *f, void *y);
    /** At most `most` of the `all` zero pivots, spread evenly over D; returns how many.
     *  list [out] `most` entries */
    int (*zeros)(const mpki_direct *f, int64_t all, int most, mpki_weak_pivot *list);
    /** The weakest pivots, smallest first, at most `most` of them: size > 0 and at most `bound`.
     *  Returns how many. Not for complex symmetric matrices, whose pivots have no real eigenvalues.
     *  list [out] `most` entries */
    int (*weak)(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list);
    /** Make the doubtful eigenvalue of each of these pivots zero, in D and D^-1. */
    void (*to_zero)(mpki_direct *f, const mpki_weak_pivot *list, int count);

    /** Work space for applications of f on `threads`, to at most `columns` vectors at once; f must
     *  outlive it. Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*solver_make)(mpk_context *ctx, const mpki_direct *f, int threads, int32_t columns,
                              mpki_direct_solver **s);
    void (*solver_free)(mpki_direct_solver **s);
    /** From now on the vectors between L, D and L^T are in the order of pivots, as get() gives D
     *  and the permutation; before, by the tree's positions. Returns MPK_OK | MPK_ERR_MEMORY,
     *  _DEVICE */
    mpk_status (*by_pivots)(mpki_direct_solver *s);
    /** x := the part applied to b, as mpk_solve_part() has the parts: L from the problem's order to
     *  positions, D between positions, L^T back. Zero pivots give 0.
     *  b [in], x [out] n x nrhs, leading dimensions ldb and ldx; b == x is allowed. No
     *                  refinement */
    mpk_status (*apply)(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                        int64_t ldb, void *x, int64_t ldx);
    /** What factors of this tree will take in the device's memory, with the solves of one
     *  right-hand side, and as many delayed columns as the analysis expects; before anything is
     *  allocated there. NULL: not known before `make`; so it is for the processor, whose
     *  predictions the analysis has.
     *  bytes, delayed_bytes, time_s [out] delayed_bytes: of `bytes`, may be done without; time_s 0:
     *                                     not known
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*estimate)(mpk_context *ctx, const mpki_tree_view *tree, int64_t *bytes,
                           int64_t *delayed_bytes, double *time_s);
    /** x := A^-1 b with refinement as factor/refine_t.c has it, of the first of nrhs right-hand
     *  sides, at most MPKI_REFINE_TOGETHER, in the device's memory; only numbers come to the host,
     *  and x where it lies there. x == b is allowed. NULL: the engine has none.
     *  told [out] told->done == 0: x is undefined, but as it was where x == b
     *  Returns MPK_OK (also where it was not done) | MPK_ERR_DEVICE */
    mpk_status (*refine)(mpk_context *ctx, const mpki_direct *f, mpki_direct_solver *s,
                         const mpki_refine_wish *wish, int32_t nrhs, const void *b, int64_t ldb,
                         void *x, int64_t ldx, mpki_refined *told);
    /** Take values that lie in the device's memory for the next factorization, and scale them.
     *  NULL: the engine has none.
     *  taken [out] false: it has to be done on the host (there are no numbers yet, several values
     *              for an entry, some that are not finite, triangles that differ, no memory); the
     *              numbers and values that were there are as they were
     *  Returns MPK_OK (also where they were not taken) | MPK_ERR_DEVICE */
    mpk_status (*take)(mpki_direct *f, const mpki_given_view *given, bool *taken);
    /** The values that were taken last, nnz in the order of the tree's, and their scaling, n in
     *  problem order, to host memory; either may be NULL. By any thread. Returns MPK_OK |
     *  MPK_ERR_DEVICE */
    mpk_status (*give)(const mpki_direct *f, void *ax, double *scale);
} mpki_direct_engine;

/* ---- a factorization on blocks, complete or incomplete: Thuerck 2021, Meta-algorithm 12; blocks/
 * has the processor's
 * -------------------------------------------------------------------------------- */

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

/** Where row g of the matrix that is factorized stands in the problem. */
#define MPKI_ROW(stages, g) ((stages)->row_of ? (stages)->row_of[g] : (g))

/** Frames in level sets; see analysis/schedule/schedule.h. */
typedef struct mpki_levels {
    int32_t count;  /* level sets */
    int32_t *ptr;   /* count + 1 */
    int32_t *frame; /* ptr[count]: level set l is frame[ptr[l]] .. frame[ptr[l+1]-1] */
} mpki_levels;

/** A factorization by stages, which factor/stages.c owns. The engine reads it in every slot;
 *  between slots factor/stages.c may change it. "By block": index.nblocks entries; "by frame":
 *  index.m. Host memory. */
struct mpki_dense_pivot;

typedef struct mpki_stages {
    mpk_context *ctx;
    mpk_scalar scalar; /* of A */
    mpk_scalar stored; /* of the factor */
    mpk_symmetry symmetry;
    int64_t nnz; /* of A's lower triangle; MPK_GENERAL: of all of A */
    const mpk_options *options;
    const mpki_full *a;         /* MPK_GENERAL: Q A, where Q brings row row_of[j] to place j */
    struct mpki_matrix *matrix; /* a's values are the engine's, and a->val is NULL; else NULL */
    const mpki_full *at;        /* MPK_GENERAL: its transpose; else NULL */
    const double *scale;        /* n, problem order; MPK_GENERAL: of columns */
    const double *row_scale;    /* n, of rows in the problem's order; else NULL */
    const int32_t *row_of;      /* n; NULL: Q = I */
    const mpki_blocking *blocking;
    const int32_t *pair; /* n or NULL, by position: partner of a 2x2 pivot of the matching */
    mpki_ibcsr index;
    mpki_levels levels; /* of all stages so far, one after the other */
    int32_t due; /* place of the first frame that `levels` does not have yet; index.m: has all */
    bool ldu, hermitian;
    bool relaxed;          /* SSOR: nothing is updated */
    bool lifted;           /* a 1x1 pivot that is replaced becomes `size`, with its sign */
    double omega;          /* the relaxation of SSOR; 1 elsewhere */
    bool complete;         /* nothing is dropped anywhere */
    mpk_pivoting pivoting; /* inside the frames of this stage */
    bool last;             /* the last stage: nothing is rejected */
    int32_t border;        /* place of the first frame of the dense pivot that ends the stages;
                              index.m: there is none */
    double size;           /* largest entry of the scaled matrix: 1, unless scaling is off */
    double floor;          /* the smallest pivot allowed, for the scaled matrix */
    double bound;          /* an entry of L above this rejects its frame; infinity: no bound */
    double diagonal_shift; /* the diagonal is multiplied by 1 + this: after a breakdown */
    /* where the engine may keep, and find again, what depends on index, levels and schedule alone;
     * NULL in a stage whose index or levels will not come again */
    struct mpki_block_plan **plan;
    int32_t *counts; /* by block: entries of A in it, until the index changes; NULL: not counted */
    int64_t *capacity; /* by block: entries it may keep; < 0: all, and no threshold applies */
    bool
        same_capacity; /* in the first stage: it is that of older values, with whose index this one is */
    /* what the engine writes as well; `finds_levels`: levels and due, too */
    unsigned char *final;         /* by frame: accepted */
    unsigned char *reject;        /* by frame: rejected in this stage */
    unsigned char *want;          /* by block: due in this stage; set to 0 when it is computed */
    unsigned char *stored_blocks; /* by block: it has nonzero values; LDU: in either half */
    int32_t broken_frame;         /* LLT: the first frame with a pivot <= 0; -1: none */
    /* Factors what all frames of the border leave, on the host: for engines that have it elsewhere.
     * Returns MPK_OK | MPK_ERR_NUMERIC: it is not finite, or overflows | MPK_ERR_MEMORY. */
    mpk_status (*dense_pivot)(const struct mpki_stages *s, struct mpki_dense_pivot *p);
    mpk_block_info info;
} mpki_stages;

/** The dense pivot that ends the stages: S = P^T L D L^T P. Host memory, numbers of `stored`. */
typedef struct mpki_dense_pivot {
    int32_t rows;
    void *s;         /* rows x rows by columns, lower triangle: S; then L and D */
    void *dinv;      /* 2 rows [out], as frames have it */
    int32_t *pivots; /* rows [out], as mpk_dense_factor has them */
    /* [out] what its pivots are */
    int64_t positive, negative, zero, two_by_two, perturbed;
    double smallest, largest;
} mpki_dense_pivot;

/** What the engine counted over all stages. */
typedef struct mpki_block_counts {
    int64_t positive, negative, zero, two_by_two, perturbed; /* pivots */
    int64_t kept, dropped;                                   /* entries of L (and U) */
    int64_t dense, bitmap, rows; /* blocks stored as a whole, by bit mask, by rows */
    double fill_out;             /* sum over stored blocks of kept entries / all entries */
    double flops;
    double smallest, largest; /* moduli of pivots */
    int64_t bytes;            /* of the factor */
    int64_t
        by_rows; /* entries of L that are held by scalar rows, not in blocks; 0: all in blocks */
    mpk_isai_info isai; /* options.triangular isai; else zero */
} mpki_block_counts;

typedef struct mpki_blocks mpki_blocks;             /* an engine's factor on blocks */
typedef struct mpki_block_plan mpki_block_plan;     /* what an engine keeps for other values */
typedef struct mpki_block_solver mpki_block_solver; /* work space that its applications share */

typedef struct mpki_block_engine {
    /** It has no pivoting inside frames, so rejected ones get a new butterfly in each stage,
     *  whatever options.butterfly says: a stage that accepts nothing is followed by others. */
    bool renews;
    /** Most rows of a frame, 0: as option block has it. Wider ones are cut (factor/cutting.c). */
    int32_t widest;
    /** Release what was kept; *plan is NULL afterwards. NULL *plan is fine. */
    void (*plan_free)(mpk_context *ctx, mpki_block_plan **plan);
    /** Room for the blocks of the index; the stages must outlive *f.
     *  Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*make)(mpki_stages *stages, mpki_blocks **f);
    /** Release everything; *f is NULL afterwards. A NULL *f is fine. */
    void (*free)(mpk_context *ctx, mpki_blocks **f);
    /** After a push-back, which gave frames new places and the index more blocks: make room.
     *  Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*grow)(mpki_blocks *f);
    /** Compute all wanted blocks, by level sets. Sets final, want and stored_blocks, and reject for
     *  frames whose pivots or columns fail. Frames from place stages->border on, the last level
     *  set, are one dense pivot, pivoted over all their rows; never with LDU. Returns MPK_OK |
     *  MPK_ERR_NUMERIC: a pivot overflowed; or, in LLT, was <= 0: broken_frame says which, and no
     *  error is recorded, for a shift may repair it | MPK_ERR_MEMORY, _CANCELLED. */
    mpk_status (*stage)(mpki_blocks *f);
    /** `stage` finds the level sets of the frames from place stages->due on itself, beside its work
     *  on those before, and appends them to stages->levels; false: they are there already. */
    bool finds_levels;
    /** The same by sweeps over all blocks at once (Thuerck 2019, algorithm 2). may_reorder: frames
     *  whose pivots the first sweep would have to replace are rejected. *reorder [out] some frames
     *  were, but not all: nothing is stored, and a push-back must follow. Returns as `stage`. */
    mpk_status (*sweeps)(mpki_blocks *f, bool may_reorder, bool *reorder);
    /** After the last stage: release what only the factorization needs, bring the factor into the
     *  form that is applied fastest, and report.
     *  counts [out]
     *  Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*finish)(mpki_blocks *f, mpki_block_counts *counts);
    /** Of options.triangular auto, after `finish`, which leaves exact solves: approximate inverses
     *  beside them, which solvers made from then on apply. NULL: the engine has none.
     *  counts [out] isai
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE, _CANCELLED | MPK_ERR_ARGUMENT, _NUMERIC: a column
     *  is over the limit, or overflows. Solves are exact as before after a failure. */
    mpk_status (*invert)(mpki_blocks *f, mpki_block_counts *counts);
    /** Then, with no solver there: keep the inverses, if there are any, or what is exact; release
     *  the
     *  other. counts [inout] isai, bytes. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
    mpk_status (*settle)(mpki_blocks *f, bool inverses, mpki_block_counts *counts);
    /** Entries kept in a block below the diagonal; LDU: those of L alone. */
    int64_t (*entries)(const mpki_blocks *f, int64_t block);

    /** Work space for applications of f on `threads`; f must outlive it.
     *  columns [in]  vectors that the caller would like to apply it to at once
     *  takes   [out] how many one application takes, 1 <= *takes
     *  Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*solver_make)(mpk_context *ctx, const mpki_blocks *f, int threads, int32_t columns,
                              mpki_block_solver **s, int32_t *takes);
    void (*solver_free)(mpk_context *ctx, mpki_block_solver **s);
    /** x := the part applied to b; parts and orders as in mpki_direct_engine.apply.
     *  b [in], x [out] n x nrhs, nrhs <= *takes, leading dimensions ldb and ldx; b == x is allowed
     *  Returns MPK_OK | MPK_ERR_DEVICE */
    mpk_status (*apply)(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                        int64_t ldb, void *x, int64_t ldx);
} mpki_block_engine;

/* ---- the vectors of a Krylov method ---------------------------------------------------------- */

typedef struct mpki_matrix mpki_matrix; /* an engine's copy of A, in both triangles */
typedef struct mpki_space mpki_space;   /* where an engine holds vectors and forms sums */
typedef struct mpki_scaler mpki_scaler; /* an engine's copy of a scaling */

/** r := b - A x, in a precision high enough that the error of r is small beside the larger of
 *  ||r||_2 and `wanted`; where none is, as accurately as can be.
 *  x, b [in], r [out] n entries; *error [out] a bound of the 2-norm of the error of r */
typedef mpk_status (*mpki_residual_fn)(void *self, const void *x, const void *b, double wanted,
                                       void *r, double *error);

/** What a caller inside the library may add to a task. */
typedef struct mpki_krylov_extra {
    mpki_residual_fn residual; /* NULL: by a product in the task's precision */
    void *self;                /* of residual */
    double a_norm;             /* ||A||, used with `residual`; without that it is estimated */
    double from, share;        /* the solve reports its progress as from .. from + share */
    mpki_matrix *matrix;       /* the task's A is a product with this; NULL: it is not */
    bool queued;               /* all that the task's operators do is to queue work on the device */
    double limit;              /* most bytes of device memory; 0: what the device has */
    const char *asked;         /* for in words, where that is not the task's tolerance; or NULL */
    struct mpki_floats
        *theirs; /* in which a caller's operators compute (core/floats.h); else NULL */
} mpki_krylov_extra;

enum { MPKI_KRYLOV_MESSAGE = 400 }; /* bytes */

/** A scalar of a method: in double always; im is 0 where entries are real. */
typedef struct mpki_number {
    double re, im;
} mpki_number;

/** The product of two vectors with their norms: |dot| beside norm_x norm_y tells whether it is more
 *  than rounding. */
typedef struct mpki_product {
    mpki_number dot;
    double norm_x, norm_y;
} mpki_product;

/** How a batch of iterations ended: at what the method's file would have found at the same
 *  place. */
typedef enum mpki_batch_end {
    MPKI_BATCH_GO = 0,
    MPKI_BATCH_REACHED,    /* the last residual is at most the target */
    MPKI_BATCH_A_BAD,      /* a product with A is not finite */
    MPKI_BATCH_M_BAD,      /* nor what the preconditioner made */
    MPKI_BATCH_OVERFLOW,   /* of a coefficient or a norm */
    MPKI_BATCH_A_VANISHES, /* q^T A q */
    MPKI_BATCH_M_VANISHES, /* r^T M^-1 r */
    MPKI_BATCH_A_UNFIT,    /* A or M is not definite */
    MPKI_BATCH_M_UNFIT,
    MPKI_BATCH_SECOND_A_BAD, /* bicgstab: of the iteration's second product, */
    MPKI_BATCH_SECOND_M_BAD, /* its second preconditioner */
    MPKI_BATCH_OMEGA,        /* bicgstab: omega vanishes */
    MPKI_BATCH_HALF,         /* bicgstab: half a step sufficed for the last residual */
    MPKI_BATCH_INVARIANT,    /* gmres: so is the Krylov space */
    MPKI_BATCH_A_FAILED,     /* an operator returned a failure: the status of the batch */
    MPKI_BATCH_M_FAILED
} mpki_batch_end;

/** Iterations of sqmr, cg, minres, bicgstab, gmres or fgmres that an engine does without asking the
 *  host in between. */
typedef struct mpki_batch {
    mpk_krylov method;
    int hermitian;
    const mpk_operator *a, *m;
    mpki_matrix *matrix; /* and queued: as in mpki_krylov_extra */
    bool queued;
    void *const *v; /* the method's vectors, as its file numbers them */
    void *x;
    double b_norm, target; /* it ends when the residual's norm / b_norm <= target */
    bool first;            /* of a cycle: it begins with these */
    mpki_number rho;       /* r^T M^-1 r, and v holds M^-1 r; sqmr. The shadow's with r; bicgstab */
    double tau;            /* ||r||; sqmr */
    double beta; /* (r^H M^-1 r)^1/2, and v holds M^-1 r; minres. ||r||, and v the basis's first
                              vector twice; gmres */
    int32_t cycle, unit; /* gmres: steps of a cycle; of which a graph is made, if one is */
    bool repeats;        /* others with as many steps will follow, or did */
    int32_t steps;       /* iterations to do at most; [out] how many were done */
    int32_t called;      /* [out] products and preconditioners: after the end they were in vain */
    mpki_batch_end end;
    const double *recurred, *quasi;   /* [out] norms after each step; till the next batch */
    double a_norm;                    /* [out] largest ||A q|| / ||q|| */
    double product_s, precondition_s; /* [out] what one of these took, where it was measured */
} mpki_batch;

/** What the methods (solve/krylov/) ask of an engine: operations on vectors of n entries of one
 *  scalar type, in the engine's memory. x, y: vectors of the space, or others there. Sums are
 *  formed in double, in an order that depends on n alone. A slot that cannot fail on the processor
 *  may on a device: what it returns then is NaN (or false, or 0), and `status` tells it. A device
 *  may still be at work when a slot returns that gives nothing back. */
typedef struct mpki_vector_ops {
    /** `count` vectors of n entries, whatever they hold.
     *  stream [in] where a device shall work (CUDA's: cudaStream_t); NULL: the engine's own
     *  limit [in] most bytes of device memory; 0: what the device has
     *  *s, v [out] the space; its vectors, which live as long
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE: *s is NULL then */
    mpk_status (*make)(mpk_context *ctx, mpk_scalar scalar, int32_t n, int64_t count, void *stream,
                       double limit, mpki_space **s, void **v);
    /** NULL *s is fine. */
    void (*free)(mpk_context *ctx, mpki_space **s);
    /** The first failure since `make`. */
    mpk_status (*status)(const mpki_space *s);
    /** x := a vector of the caller's, and the reverse: that one lies in host memory or in the
     *  engine's, and may be used at once when the slot returns. */
    void (*take)(mpki_space *s, const void *b, void *x);
    void (*give)(mpki_space *s, const void *x, void *out);
    /** y := x */
    void (*copy)(mpki_space *s, const void *x, void *y);
    /** x := 0 */
    void (*zero)(mpki_space *s, void *x);
    /** sum x_i y_i, the first factor conjugated when hermitian. */
    mpki_product (*product)(mpki_space *s, int hermitian, const void *x, const void *y);
    mpki_number (*dot)(mpki_space *s, int hermitian, const void *x, const void *y);
    double (*norm)(mpki_space *s, const void *x);
    /** y += a x; `axpy_norm` returns the norm of y */
    void (*axpy)(mpki_space *s, mpki_number a, const void *x, void *y);
    double (*axpy_norm)(mpki_space *s, mpki_number a, const void *x, void *y);
    /** y := a x + b y; `axpby_norm` returns the norm of y. b == 0 does not read y */
    void (*axpby)(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y);
    double (*axpby_norm)(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y);
    /** y := a x; x == y is allowed */
    void (*scale)(mpki_space *s, mpki_number a, const void *x, void *y);
    /** Entries in [-1, 1], complex ones in the square: the next numbers of the stream
     *  (mpki_random_signed(), core/random.h). */
    void (*random)(mpki_space *s, uint64_t *state, void *x);
    /** x_i := mpki_random_sign32(i) */
    void (*signs)(mpki_space *s, void *x);
    bool (*finite)(mpki_space *s, const void *x);
    /** Index of the first entry that is NaN or infinite; -1: there is none. */
    int64_t (*first_nonfinite)(mpki_space *s, const void *x);
    /** Largest |re| + |im|; infinity where there is a NaN. */
    double (*largest)(mpki_space *s, const void *x);
    /** Are all bits the same? */
    bool (*equal)(mpki_space *s, const void *x, const void *y);
    /** Gram-Schmidt of w against v[0] .. v[count-1], count > 0, in groups whose products are formed
     *  at once: w := w - sum h_i v_i, with h_i = v_i^H w, where w is what the groups before have
     *  left. NULL: the method does it one vector after the other, with the slots above.
     *  h [out] count; before [out] ||w||. Returns ||w|| after it */
    double (*project)(mpki_space *s, int32_t count, void *const *v, void *w, mpki_number *h,
                      double *before);
    /** y := x + sum c_k v_k of vectors that `make` gave one after the other, 0 < count; x NULL: 0.
     *  y is none of them. NULL: as with project */
    void (*combine)(mpki_space *s, int32_t count, void *const *v, const mpki_number *c,
                    const void *x, void *y);
    /** At most batch->steps iterations. NULL: the method does them one by one, with the slots
     *  above.
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE, or what an operator returned */
    mpk_status (*batch)(mpki_space *s, mpki_batch *batch);
    /** Most steps of a cycle of gmres that `batch` does; 0: none. */
    int32_t cycle_most;
    /** After batches of gmres or fgmres: the right-hand side, rotated, and the first `count`
     *  columns of R, each of cycle + 1 numbers, one after the other. */
    void (*columns)(mpki_space *s, int32_t count, mpki_number *out);
} mpki_vector_ops;

/** What the rows of a residual say of a solution (problem/measure.h). */
typedef struct mpki_judged {
    double x_norm, b_norm,
        r_norm;            /* largest moduli of x, b and r; infinite where one is not finite */
    double b_two, r_two;   /* 2-norms */
    double omega1, omega2; /* largest errors of rows of either kind */
    bool odd;              /* some row is near the ends of what numbers hold */
} mpki_judged;
/** Smaller moduli may have lost digits to underflow, larger ones are near overflow. */
static inline double mpki_nearly_zero(bool single) {
    return single ? 1e-30 : 1e-270;
}
static inline double mpki_nearly_infinite(bool single) {
    return single ? 1e37 : 1e300;
}

typedef struct mpki_vector_engine {
    /** A for products.
     *  full  [inout] A in both triangles, or 2^-exponent A; its arrays are the engine's afterwards
     *                or released, also where it fails, and *full is empty
     *  pool  [in] for products of the processor's; may be NULL
     *  limit [in] most bytes of device memory; 0: what the device has
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
    mpk_status (*matrix_make)(mpk_context *ctx, mpki_full *full, mpki_pool *pool, double limit,
                              mpki_matrix **m);
    /** A symmetric or Hermitian A for products, whose pattern the engine gets in both triangles and
     *  its values in one: it mirrors them itself. NULL: the engine has matrix_make alone.
     *  a     [in] the lower triangle by columns, rows ascending; only its pattern is read
     *  full  [in] its pattern in both triangles, which stays the caller's; only read here
     *  pool, limit, and what it returns: as matrix_make has them. It has no values yet */
    mpk_status (*matrix_of)(mpk_context *ctx, const mpk_problem_view *a, const mpki_full *full,
                            mpki_pool *pool, double limit, mpki_matrix **m);
    /** Its values, from those of the lower triangle: the first ones, or others.
     *  ax [in] as many as ai has in matrix_of, in that order; host memory; may be used at once when
     *          the slot returns
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE: it then has no values */
    mpk_status (*matrix_values)(mpki_matrix *m, mpki_pool *pool, double limit, const void *ax);
    /** What is computed with the values of such a matrix, where its entries are real; both with the
     *  bits of the processor's. sums, scale: n, host memory.
     *  row_sums    sums [out] of moduli, as mpki_row_sums() has them (problem/problem.h)
     *  equilibrate scale [inout] as mpki_equilibrate() has it (analysis/analysis.h)
     *  Return MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*row_sums)(mpki_matrix *m, double *sums);
    mpk_status (*equilibrate)(mpki_matrix *m, int sweeps, double *scale);
    void (*matrix_free)(mpk_context *ctx, mpki_matrix **m);
    /** Bytes of device memory that it takes. */
    int64_t (*matrix_bytes)(const mpki_matrix *m);
    /** y := A x, with A as the copy holds it; both in the order of the problem.
     *  Returns MPK_OK | MPK_ERR_DEVICE, and so do the next two */
    mpk_status (*multiply)(mpki_matrix *m, const void *x, void *y);
    /** r := b - A x as mpki_residual_fn has it; norm: ||A||_inf of the copy. */
    mpk_status (*residual)(mpki_matrix *m, double norm, const void *x, const void *b, double wanted,
                           void *r, double *error);
    /** r := b - A x and w := |A| |x| + |b| as mpki_residual() has them (problem/problem.h), and
     *  what they say of x, for real entries; all in host memory. NULL: that function is as good
     *  w        [out] NULL: not wanted
     *  row_norm [in]  sums of moduli of rows; NULL: `judged` is not wanted
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*measure)(mpki_matrix *m, const void *x, const void *b, void *r, double *w,
                          const double *row_norm, mpki_judged *judged);
    /** y := 2^exponent x; x == y is allowed. */
    mpk_status (*shift)(mpki_matrix *m, int exponent, const void *x, void *y);
    /** Diagonal matrices R and C and a permutation, to be applied as x_j := R_ii C_jj b_i, i =
     *  from_j. NULL: the engine's vectors lie in host memory, where anybody can do that.
     *  rows, columns [in] n: R, C; host memory, like from
     *  from [in] n; NULL: i = j
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*scales_make)(mpk_context *ctx, mpk_scalar scalar, int32_t n, const double *rows,
                              const double *columns, const int32_t *from, mpki_scaler **s);
    void (*scales_free)(mpk_context *ctx, mpki_scaler **s);
    /** with_rows, with_columns: false: that factor is I, and without R no row changes its place.
     *  b, x [in, out] in host memory or the device's; b == x is allowed
     *  Returns MPK_OK | MPK_ERR_DEVICE */
    mpk_status (*scales_apply)(mpki_scaler *s, bool with_rows, bool with_columns, const void *b,
                               void *x);
    const mpki_vector_ops *ops[4]; /* by scalar: s d c z */
} mpki_vector_engine;

/* ---- approximate inverses of a matrix (metapack/isai.h); isai/ has the processor's, and calls a
 * device's where the matrix lies there
 * -------------------------------------------------------------- */

typedef struct mpki_inverse mpki_inverse; /* an engine's approximate inverse */

typedef struct mpki_inverse_engine {
    /** As mpk_isai_create(), and so are the others; scalars, n, ptr != NULL, and the options have
     *  been checked, but not what arrays hold. Arrays and vectors lie in host or in device memory,
     *  each as it may be. *s is NULL after a failure */
    mpk_status (*make)(mpk_context *ctx, mpk_scalar scalar, int32_t n, const int64_t *ptr,
                       const int32_t *row, const void *val, const mpk_isai_options *options,
                       mpki_inverse **s);
    mpk_status (*update)(mpk_context *ctx, const void *val, mpki_inverse *s);
    mpk_status (*apply)(mpk_context *ctx, mpki_inverse *s, mpk_isai_side side, int32_t nrhs,
                        const void *b, int64_t ldb, void *x, int64_t ldx);
    mpk_status (*get)(mpk_context *ctx, mpki_inverse *s, int64_t *ptr, int32_t *row, void *val);
    const mpk_isai_info *(*info)(const mpki_inverse *s);
    /** NULL *s is fine. */
    void (*free)(mpk_context *ctx, mpki_inverse **s);
} mpki_inverse_engine;

/** The device's, where the build has one (MPKI_HAVE_CUDA). NULL, with MPK_ERR_DEVICE and the reason
 *  recorded: no module, no driver, no such device, or the context has another one open. */
const mpki_inverse_engine *mpki_cuda_inverse_engine(mpk_context *ctx, int device);

/* ---- an engine ------------------------------------------------------------------------------- */

typedef struct mpki_engine {
    /** "cpu-avx512", "cuda: NVIDIA H200", ...: for reports. Lives as long as ctx. */
    const char *(*name)(const mpk_context *ctx);
    mpk_memory memory; /* where vectors lie that need not be copied */
    const mpki_direct_engine *direct;
    const mpki_block_engine *blocks;
    const mpki_vector_engine *vectors;
    /** Does p lie in the device's memory? NULL: the engine has no device. */
    bool (*is_here)(mpk_context *ctx, const void *p);
    /** Columns of `width` bytes from one memory to the other, after all work that was queued on the
     *  device, in whatever stream. Returns MPK_OK | MPK_ERR_DEVICE. */
    mpk_status (*copy)(mpk_context *ctx, void *to, int64_t to_pitch, const void *from,
                       int64_t from_pitch, int64_t width, int64_t columns, bool to_device);
    /** Until all work that was queued on the device, in whatever stream, is done.
     *  Returns MPK_OK | MPK_ERR_DEVICE. */
    mpk_status (*settle)(mpk_context *ctx);
    /** Open in ctx the device that `of` has. NULL: the engine has no device. Returns MPK_OK |
     *  MPK_ERR_DEVICE. */
    mpk_status (*join)(mpk_context *ctx, const mpk_context *of);
} mpki_engine;

/** The processor's: direct/, blocks/, solve/krylov/. */
extern const mpki_direct_engine mpki_cpu_direct;
extern const mpki_block_engine mpki_cpu_blocks;
extern const mpki_vector_engine mpki_cpu_vectors;

/** The device's, where the build has one (MPKI_HAVE_CUDA); backends/cuda has it. NULL, with
 *  MPK_ERR_DEVICE and the reason recorded: no module, no driver, no such device, or the context has
 *  another one open. What the engine makes belongs to the device that ctx has open. A table that is
 *  NULL: the device has no such engine. */
const mpki_engine *mpki_cuda_engine(mpk_context *ctx, int device);

#endif
