/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_META_H
#define MPKI_META_H
/** One run of the meta-algorithm, as its parts share it: meta.c walks over stages and level sets,
 *  phases_t.c executes the batches of block operations that a chunk of frames gives or that are
 *  pushed, jacobi.c and jacobi_t.c are the schedule of sweeps, capacity.c deals out memory. */
#include "../../core/pool.h"
#include "../../problem/full.h"
#include "../../analysis/schedule/inspector.h"
#include "block_factor.h"

enum { GROUP = 8 }; /* targets of one column that share the right operands of their updates */

/** What a worker owns. Work blocks have room for widest x widest entries. */
typedef struct mpki_meta_worker {
    void *w, *wu;  /* right operands, lower and upper */
    void *work;    /* 4 blocks for kernels */
    void *block;   /* one block */
    int32_t *slot; /* frames: item of the frame across in the column at hand; -1 */
    double flops;
    int64_t perturbed, two_by_two, positive, negative, zero, kept, dropped;
    int64_t dense, bitmap, rows; /* blocks stored so */
    double fill_out;             /* sum over stored blocks of kept entries / entries */
    double smallest, largest;    /* pivots */
    mpk_status status;           /* first failure, and where */
    int32_t failed_frame;
    int32_t broken_frame; /* LLT: the first frame with a pivot <= 0, or INT32_MAX */
} mpki_meta_worker;

/** A pivot at work: M and N dense (w x w, ld = mpki_block_ld(w)), D and its inverse; n == m unless
 *  LDU. */
typedef struct mpki_work_pivot {
    void *m, *n, *d, *dinv;
} mpki_work_pivot;

/** A chunk: frames of one level and the blocks of their columns that are due. Item = block. */
typedef struct mpki_chunk_work {
    int32_t count; /* frames */
    const int32_t *frame;
    const mpki_batch *batch; /* targets and, when pulled, their updates */
    mpki_work_pivot *pivot;  /* count; in pivot_memory, but for Jacobi sweeps */
    void *pivot_memory;
    int64_t *first;             /* count + 1: items of each frame; the diagonal one first, if due */
    int64_t *at;                /* items + 1: offset of its work block in `flight`, entries */
    int64_t *group, *group_end; /* groups: their items, neighbours in one column */
    int32_t *group_frame;       /* groups: index into frame */
    int64_t groups;
    void *flight, *flight_u; /* work blocks, lower and upper */
    void *norm2;             /* groups x 2 widest reals: squared column norms; upper: behind */
    double *largest;         /* groups */
    int64_t *need;           /* items: entries above the drop tolerance, and then: granted */
    int64_t frames_room, items_room, groups_room, flight_room, pivot_room;
} mpki_chunk_work;

typedef struct mpki_meta {
    mpk_context *ctx;
    const mpk_analysis *an;
    const mpki_block_analysis *ba;
    const mpk_options *o;
    const mpki_full *full;
    const double *scale; /* n, problem order */
    const void *kernels; /* mpki_<p>_block_kernels of the stored precision */
    mpki_block_factor *bf;
    int widest;                   /* rows of the largest frame, rounded up to a vector */
    int ldu, hermitian, complete; /* complete: nothing is dropped anywhere */
    mpki_pool *pool;
    int threads;
    mpki_meta_worker *worker;
    unsigned char *final;     /* by frame: accepted */
    unsigned char *want;      /* by block: due in this stage */
    unsigned char *of_a;      /* by block: a block of A */
    int64_t *capacity;        /* by block: entries it may keep; < 0: no bound, and no threshold */
    _Atomic int64_t leftover; /* entries that earlier blocks left unused */
    double floor;             /* smallest pivot of the scaled matrix */
    double diagonal_shift;    /* this part of the diagonal is added to it: after a breakdown */
    bool broken;              /* LLT met a pivot <= 0, the first in frame `broken_frame` */
    int32_t broken_frame;
    double bound;          /* 1/u: larger entries of L reject their frame; infinity: none */
    bool last;             /* the last stage: nothing is rejected */
    uint64_t random;       /* state of the butterflies */
    unsigned char *reject; /* by frame, in this stage */
    mpki_chunk_work chunk;
} mpki_meta;

/** Rows and columns of a block of the index, as frames, for its present places. */
static inline int32_t mpki_row_frame(const mpki_ibcsr *x, int64_t b) {
    return mpki_ibcsr_transposed(x, b) ? x->cols[b] : x->rows[b];
}
static inline int32_t mpki_col_frame(const mpki_ibcsr *x, int64_t b) {
    return mpki_ibcsr_transposed(x, b) ? x->rows[b] : x->cols[b];
}
static inline int mpki_frame_rows(const mpki_blocking *b, int32_t frame) {
    return b->bptr[frame + 1] - b->bptr[frame];
}

/* capacity.c */

/** meta->capacity for the blocks that are wanted: fill_factor times the entries of A in the block,
 *  for blocks of fill the mean over the blocks of A in the same column; unbounded where a dense
 *  block is not much larger, on the diagonal, and in the last hundredth of the frames. Thuerck et
 * al. 2018, sec. IV.A. */
mpk_status mpki_capacities(mpki_meta *meta);
/** Deal out the chunk's entries, items in order: need[item] becomes what it may keep; what a block
 *  leaves unused goes to `leftover` and from there to blocks that want more: Thuerck et al. 2018,
 *  algorithm 2, in a deterministic form: one after the other, so that nothing depends on threads.
 *  Nothing is done where options.deterministic is off. */
void mpki_grant(mpki_meta *meta);
/** The same for one item by atomic operations, as the paper has it: called by any worker when the
 *  block is stored; returns what it may keep. */
int64_t mpki_grant_atomically(mpki_meta *meta, int64_t item);

/* meta.c */

/** first, at, groups and memory for the chunk's batch of targets; without flight the work blocks
 * lie elsewhere. */
mpk_status mpki_chunk_lay_out(mpki_meta *meta, bool flight);
/** Push the frames that were not accepted behind all others and compute fill anew. *first [out]
 * place of the first of them; *count how many. */
mpk_status mpki_push_back_rejected(mpki_meta *meta, int32_t *first, int32_t *count);
/** Mark what is due: blocks without values that touch a frame not accepted yet. */
void mpki_want_stage(mpki_meta *meta);

/** What the workers met, told to the context; MPK_OK where all went well. A pivot <= 0 of LLT is
 * not told, for it may be repaired: MPK_ERR_NUMERIC and meta->broken. The same for any number of
 *  threads. */
mpk_status mpki_meta_failure(mpki_meta *meta);

/* jacobi.c */

/** Stages of sweeps: Thuerck 2019, algorithm 2. */
mpk_status mpki_jacobi(mpki_meta *meta);

#define MPKI_META(p)                                                                               \
    /** Before anything else: the kernels of this processor. */                                    \
    void mpki_##p##_meta_begin(mpki_meta *meta);                                                   \
    /** Phase I and II and III on meta->chunk, whose batch holds updates to pull, or whose work    \
     *  blocks hold what was pushed. meta->reject is set for frames that fail. */                  \
    void mpki_##p##_meta_chunk(mpki_meta *meta, bool pushed);                                      \
    /** Their parts: load the work blocks of frame f of the chunk with A, or add A to them; gather \
     *  the updates of items t0 .. t1-1 of one column; factor a diagonal work block; gather and    \
     *  solve a group; drop and store all items and accept their frames. */                        \
    void mpki_##p##_meta_load_column(const mpki_meta *meta, int32_t f, bool add, int32_t *slot);   \
    void mpki_##p##_meta_pull(const mpki_meta *meta, mpki_meta_worker *me, int32_t frame,          \
                              int64_t t0, int64_t t1);                                             \
    void mpki_##p##_meta_factor(mpki_meta *meta, mpki_meta_worker *me, int32_t frame,              \
                                const mpki_work_pivot *to, void *diagonal);                        \
    void mpki_##p##_meta_solve(mpki_meta *meta, mpki_meta_worker *me, int64_t g, bool pushed);     \
    void mpki_##p##_meta_store(mpki_meta *meta);                                                   \
    /** Downdates of a push batch, on work blocks at `flight` + at[block]. */                      \
    void mpki_##p##_meta_push(mpki_meta *meta, const mpki_batch *batch, const int64_t *at,         \
                              void *flight, void *flight_u, bool atomic);                          \
    /** One sweep of the Jacobi schedule: reads bf->lower, upper and frame, writes the dense       \
     * blocks new_lower, new_upper and the pivots of meta->chunk. */                               \
    void mpki_##p##_meta_sweep(mpki_meta *meta, mpki_block *new_lower, mpki_block *new_upper);     \
    /** The start of the sweeps: lower and upper := A, D := I. */                                  \
    void mpki_##p##_meta_start(mpki_meta *meta);                                                   \
    double mpki_##p##_meta_norm1(const mpki_meta *meta);
MPKI_META(s)
MPKI_META(d)
MPKI_META(c)
MPKI_META(z)
#undef MPKI_META

#endif
