/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_META_H
#define MPKI_CPU_BLOCK_FACTOR_META_H
/** A stage of the meta-algorithm, as its parts share it: meta.c walks over level sets, phases_t.c
 *  executes the batches of block operations that a chunk of frames gives or that are pushed,
 * jacobi.c and jacobi_t.c are the schedule of sweeps, grant.c deals out memory. */
#include "analysis/schedule/inspector.h"
#include "core/pool.h"
#include "block_factor.h"

enum { GROUP = 8 }; /* targets in one column that share the right operands of their updates */

/** What a worker owns. A work block holds widest x widest entries. */
typedef struct mpki_meta_worker {
    void *w, *wu;  /* right operands, lower and upper */
    void *work;    /* 4 blocks for kernels */
    void *block;   /* one block */
    int32_t *slot; /* by frame: the item of that frame's block in the column at work; -1: none */
    double flops;
    int64_t perturbed, two_by_two, positive, negative, zero, kept, dropped;
    int64_t dense, bitmap, rows; /* blocks stored in each format */
    double fill_out;             /* sum over stored blocks of kept entries / entries */
    double smallest, largest;    /* pivots */
    mpk_status status;           /* the first failure; its frame */
    int32_t failed_frame;
    int32_t broken_frame; /* LLT: the first frame with a pivot <= 0, or INT32_MAX */
} mpki_meta_worker;

/** What a frame's pivots were; they count once it is accepted. */
typedef struct mpki_pivot_counts {
    int32_t perturbed, two_by_two, positive, negative, zero;
    double smallest, largest;
} mpki_pivot_counts;

static inline void mpki_count_pivots(mpki_meta_worker *me, const mpki_pivot_counts *c) {
    me->perturbed += c->perturbed;
    me->two_by_two += c->two_by_two;
    me->positive += c->positive;
    me->negative += c->negative;
    me->zero += c->zero;
    if (c->smallest < me->smallest) me->smallest = c->smallest;
    if (c->largest > me->largest) me->largest = c->largest;
}

/** A pivot at work: M and N dense (w x w, ld = mpki_block_ld(w)), D and its inverse; n == m unless
 *  LDU. own: 2 ld reals, the squared norms of the columns of L_ii and then of U_ii^T, for option
 *  drop_norm; NULL: not asked for. */
typedef struct mpki_work_pivot {
    void *m, *n, *d, *dinv, *own;
    mpki_pivot_counts counts;
} mpki_work_pivot;

/** A chunk: frames of one level set, and those blocks of their columns that are due. Item: one of
 *  these blocks. Group: items next to each other in one column, computed together. */
typedef struct mpki_chunk_work {
    int32_t count; /* frames */
    const int32_t *frame;
    const mpki_updates *batch; /* targets and, when pulled, their updates */
    mpki_work_pivot *pivot;    /* count; in pivot_memory, except in Jacobi sweeps */
    void *pivot_memory;
    int64_t *first; /* count + 1: items of each frame; its diagonal block first, if due */
    int64_t *at;    /* items + 1: offset of its work block in `flight`, entries */
    int64_t *group, *group_end; /* groups: their first item and the one after the last */
    int32_t *group_frame;       /* groups: index into frame */
    int64_t groups;
    void *flight, *flight_u; /* work blocks, lower and upper */
    void *norm2;             /* groups x 2 widest reals: squared column norms; lower, then upper */
    double *largest;         /* groups */
    int64_t *need;           /* items: entries above the drop tolerance; later: those granted */
    int64_t frames_capacity, items_capacity, groups_capacity, flight_capacity, pivot_capacity;
} mpki_chunk_work;

typedef struct mpki_meta {
    mpk_context *ctx;
    mpki_stages *stages;
    mpki_blocks *bf;
    const void *kernels; /* mpki_<p>_block_kernels of the stored precision */
    int widest;          /* rows of the largest frame, rounded up to a vector */
    mpki_pool *pool;
    int threads;
    mpki_meta_worker *worker;
    _Atomic int64_t leftover; /* entries that earlier blocks did not use */
    double norm1;             /* of the scaled matrix, for the sweeps; < 0: not computed yet */
    int32_t level;            /* of the portion at work */
    mpki_chunk_work chunk;
} mpki_meta;

/** Does the column of the diagonal block count where entries are dropped? */
static inline bool mpki_drops_by_whole(const mpki_stages *s) {
    return s->options->drop_norm == MPK_DROP_NORM_WHOLE && !s->complete &&
           s->options->schedule != MPK_SCHEDULE_JACOBI;
}

/* grant.c */

/** Deal out the chunk's entries, in the order of items: need[item] becomes what the item may keep.
 *  What a block leaves unused goes to `leftover`, and from there to blocks that need more: Thuerck
 *  et al. 2018, algorithm 2, but one item after the other, so that nothing depends on threads. Does
 *  nothing where options.deterministic is off. */
void mpki_grant(mpki_meta *meta);
/** The same for any blocks. need [inout] count */
void mpki_grant_in_order(mpki_meta *meta, int64_t count, const int64_t *block, int64_t *need);
/** Deals out capacity to one item by atomic operations, as in the paper. Any worker calls it when
 *  it stores the block. Returns what the item may keep. */
int64_t mpki_grant_atomically(mpki_meta *meta, int64_t item);

/* meta.c */

/** Set up the chunk for its batch of targets: first, at, groups, and memory. flight false: the work
 * blocks lie elsewhere. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_chunk_lay_out(mpki_meta *meta, bool flight);
/** The workers' failures, recorded in the context. A pivot <= 0 of LLT may be repaired: it is not
 *  recorded, but returned as MPK_ERR_NUMERIC with stages->broken_frame set. The result is the same
 *  for any number of threads. */
mpk_status mpki_meta_failure(mpki_meta *meta);

mpk_status mpki_workers_make(mpki_meta *meta);
void mpki_workers_free(mpki_meta *meta);
void mpki_chunk_free(mpki_meta *meta);
/** A stage by level sets: the slot mpki_block_engine.stage. */
mpk_status mpki_run_levels(mpki_meta *meta);

/* jacobi.c */

/** A stage of sweeps: the slot mpki_block_engine.sweeps. */
mpk_status mpki_run_sweeps(mpki_meta *meta, double push, int32_t *fail);

/* clang-format off */
#define MPKI_META(p)                                                                               \
    /** Before anything else: the kernels of this processor. */                                    \
    void mpki_##p##_meta_begin(mpki_meta *meta);                                                   \
    /** Phase I and II and III on meta->chunk, whose batch holds updates to pull, or whose work    \
     *  blocks hold what was pushed. stages->reject is set for frames that fail. */                \
    void mpki_##p##_meta_chunk(mpki_meta *meta, bool pushed);                                      \
    /** Their parts: load the work blocks of frame f of the chunk with A, or add A to them; gather \
     *  the updates of items t0 .. t1-1 of one column; factor a diagonal work block; gather and    \
     *  solve a group; drop and store all items and accept their frames. */                        \
    void mpki_##p##_meta_load_column(const mpki_meta *meta, int32_t f, bool add, int32_t *slot);   \
    void mpki_##p##_meta_pull(const mpki_meta *meta, mpki_meta_worker *me, int32_t frame,          \
                              int64_t t0, int64_t t1);                                             \
    void mpki_##p##_meta_factor(mpki_meta *meta, mpki_meta_worker *me, int32_t frame,              \
                                mpki_work_pivot *to, void *diagonal);                        \
    void mpki_##p##_meta_solve(mpki_meta *meta, mpki_meta_worker *me, int64_t g, bool pushed);     \
    void mpki_##p##_meta_store(mpki_meta *meta);                                                   \
    /** Downdates of a push batch, on work blocks at `flight` + at[block]. */                      \
    void mpki_##p##_meta_push(mpki_meta *meta, const mpki_updates *batch, const int64_t *at,       \
                              void *flight, void *flight_u, bool atomic);                          \
    /** One sweep of the Jacobi schedule: reads bf->lower, upper and frame, writes the dense       \
     * blocks new_lower, new_upper and the pivots of meta->chunk. */                               \
    void mpki_##p##_meta_sweep(mpki_meta *meta, mpki_block *new_lower, mpki_block *new_upper);     \
    /** The start of the sweeps: lower and upper := A, D := I. */                                  \
    void mpki_##p##_meta_start(mpki_meta *meta);                                                   \
    /** The 1-norm of the scaled matrix, and stages->frame_norm, which is zero before. */          \
    double mpki_##p##_meta_norms(mpki_meta *meta);                                                 \
    /** The pivots of a sweep alone. */                                                            \
    void mpki_##p##_meta_judge(mpki_meta *meta);                                                   \
    /** The only stage of a factorization whose frames all have one row: the slot                  \
     *  mpki_block_engine.stage (scalar_t.c). */                                                   \
    mpk_status mpki_##p##_scalar_stage(mpki_meta *meta);
/* clang-format on */
MPKI_META(s)
MPKI_META(d)
MPKI_META(c)
MPKI_META(z)
#undef MPKI_META

#endif
