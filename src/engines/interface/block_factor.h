/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_BLOCK_FACTOR_H
#define MPKI_INTERFACE_BLOCK_FACTOR_H
/** A factorization on blocks, complete or incomplete (Thuerck 2021, Meta-algorithm 12), as an
 *  engine offers it; what holds for every slot stands in engine.h. */
#include "core/pool.h"
#include "engines/interface/views.h"
#include <metapack/factor.h>
#include <metapack/solve.h>

/** Where row g of the matrix that is factorized stands in the problem. */
#define MPKI_ROW(stages, g) ((stages)->row_of ? (stages)->row_of[g] : (g))

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
    /* schedule jacobi, by frame: the largest 1-norm of its columns of the scaled matrix, zero until
     * an engine's first sweeps of these values need it here; else NULL */
    double *frame_norm;
    bool by_frame;         /* floor is relative to frame_norm */
    double bound;          /* an entry of L above this rejects its frame; infinity: no bound */
    double diagonal_shift; /* the diagonal is multiplied by 1 + this: after a breakdown */
    /* where the engine may keep, and find again, what depends on index, levels and schedule alone;
     * NULL in a stage whose index or levels will not come again */
    struct mpki_block_plan **plan;
    int32_t *counts; /* by block: entries of A in it, until the index changes; NULL: not counted */
    int64_t *capacity; /* by block: entries it may keep; < 0: all, and no threshold applies */
    /* in the first stage: the capacity is that of older values, with whose index this one is */
    bool same_capacity;
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

/** The smallest pivot allowed in a frame. */
static inline double mpki_floor_of(const mpki_stages *s, int32_t frame) {
    return s->by_frame ? s->floor * s->frame_norm[frame] : s->floor;
}

/** reject := 1 for the frames of this stage, too, that have an update from one that is rejected. */
static inline void mpki_reject_dependents(const mpki_stages *s) {
    const mpki_ibcsr *x = &s->index;
    for (int32_t place = 0; place < x->m; place++) {
        const int32_t f = x->frame[place];
        for (int64_t e = x->ptr[f]; e < x->diagonal[f] && !s->final[f] && !s->reject[f]; e++)
            s->reject[f] = s->reject[x->entry[e].other];
    }
}

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
    /* entries of L that are held by scalar rows, not in blocks; 0: all in blocks */
    int64_t by_rows;
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
    /** Memory for the blocks of the index; the stages must outlive *f.
     *  Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*make)(mpki_stages *stages, mpki_blocks **f);
    /** Release everything; *f is NULL afterwards. A NULL *f is fine. */
    void (*free)(mpk_context *ctx, mpki_blocks **f);
    /** After a push-back, which gave frames new places and the index more blocks: allocate
     *  their memory. Returns MPK_OK | MPK_ERR_MEMORY. */
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
    /** Computes a stage by sweeps over all blocks at once (Thuerck 2019, algorithm 2), but those of
     *  frames that are final: they stay.
     *  push  [in]  frames with a pivot up to this times their norm are rejected, before the first
     *              sweep or, by options.jacobi_judge, before the last; < 0: none is
     *  *fail [out] how many were, of all that were due. Where it is some of these, a push-back must
     *              follow: reject says of whom, and stored and final are those alone that depend on
     *              none of them (judge first: none). Else everything is stored.
     *  Returns as `stage`. */
    mpk_status (*sweeps)(mpki_blocks *f, double push, int32_t *fail);
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

    /** Bytes beside the factor that applications have left for later ones; NULL: they leave none.
     *  By any thread. */
    int64_t (*beside)(const mpki_blocks *f);
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

#endif
