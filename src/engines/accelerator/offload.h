/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ACCELERATOR_OFFLOAD_H
#define MPKI_ACCELERATOR_OFFLOAD_H
/** The engine for factors on blocks whose values lie on an accelerator (metapack/accelerator.h).
 *  The factor that it leaves is the processor's, whose solves take it. */
#include "core/lock.h"
#include "engines/cpu/block_factor/border.h"
#include "engines/cpu/block_factor/meta.h"
#include <metapack/accelerator.h>

/** An accelerator as an engine of a context. */
typedef struct mpki_accelerated {
    mpki_engine engine; /* first: the context knows this alone */
    mpki_block_engine blocks;
    const mpk_accelerator *table; /* own */
    mpk_accelerator own;          /* the caller's, with nothing where his is shorter */
    mpk_accelerator_report report;
    mpki_lock lock; /* of the machine and the report */
} mpki_accelerated;

enum {
    MPKI_KERNEL_F = MPK_ACCELERATOR_FACTORIZE,
    MPKI_KERNEL_S = MPK_ACCELERATOR_SOLVE,
    MPKI_KERNEL_D = MPK_ACCELERATOR_DOWNDATE,
    MPKI_KERNEL_T = MPK_ACCELERATOR_TRANSPOSE,
    MPKI_KERNEL_Z = MPK_ACCELERATOR_ZERO_OUT,
    MPKI_KERNEL_P = MPK_ACCELERATOR_PERMUTE
};

/** Lists of one batch, which grow: tuples as a structure of arrays. */
typedef struct mpki_batch_lists {
    void **block[3], **pivot, **perm, **columns;
    void **buffer[MPK_ACCELERATOR_BUFFERS];
    int64_t *id;           /* block numbers of block[0] */
    int32_t *frame, *rows; /* of the pivot: which it is, its rows */
    unsigned char *half;
    int32_t *trouble; /* results */
    double *largest;
    int64_t count, capacity, first;        /* first: of a part, its place in the whole */
    void **to;                             /* downdates, all of a block one item: the blocks, */
    int64_t *begin, targets, targets_room; /* where their items begin, how many; 0: an item each */
    bool shared;                           /* downdates: several may have one target */
    bool late; /* of frames that were accepted in earlier stages: their L may be large */
} mpki_batch_lists;

/** A half of the factor: blocks below the diagonal; of LDU those of U^T, which are held like
 *  them. */
typedef enum mpki_half { MPKI_HALF_LOWER, MPKI_HALF_UPPER } mpki_half;

/** Where the values are while a factorization runs; of struct mpki_blocks. */
struct mpki_offload {
    mpki_accelerated *on;
    int32_t n; /* of all blocks */
    mpk_scalar scalar;
    int type;       /* mpk_factor_type */
    bool hermitian; /* and complex */
    bool ldu;       /* two halves */
    bool pairs;     /* D may have 2x2 blocks */
    bool defers;    /* the accelerator judges: the host waits at the end of a stage alone */
    bool tasks;     /* the table's `run` is called, not the six functions */
    void **block;   /* by block: its values on the accelerator; NULL: none */
    void **upper;   /* LDU: the other half; of a pivot its transpose. Else == block */
    void **perm;    /* by frame: where it pivots; else NULL */
    void **columns; /* LDU: of the other side. Else NULL */
    void **turn; /* by frame: B^T of the butterfly that its pivot block went through; NULL: none */
    void **buffer[MPK_ACCELERATOR_BUFFERS]; /* the user's, by block or by frame */
    void *minus;                            /* -I: what a product takes for D */
    void *state;                            /* defers: a word for each frame */
    int32_t *words;                         /* m: these, on the host */
    unsigned char *was_final;               /* m: before this stage */
    int64_t capacity;                       /* length of `block` */
    int32_t *number; /* by block, 0 each: of a batch's targets while its downdates are ordered */
    void *staging;   /* n x n values for each block of a column */
    int64_t staging_capacity;
    void **scratch; /* dense blocks, where others rest in the accelerator's own form */
    int64_t scratches;
    mpki_batch_lists batch, other, late;
    /* dropping: what the next call is given */
    double *norm2;
    const double *limit;
    const int64_t *keep;
    int64_t *kept;
    double ended_s; /* of the last kernel of the last stage; 0: there was none */
    struct mpki_offload_solves *solves; /* NULL: the processor has them */
};

/** Blocks that stand for a pivot in a solve: -M; -M^*, of LDU -N^*; -D^-1. */
enum { MPKI_SENT_M, MPKI_SENT_BACK, MPKI_SENT_D, MPKI_SENT };

/** Entries of a block, and their bytes. */
static inline int64_t mpki_offload_entries(const struct mpki_offload *o) {
    return (int64_t)o->n * o->n;
}
static inline int64_t mpki_offload_bytes(const struct mpki_offload *o) {
    return mpki_offload_entries(o) * (int64_t)mpk_scalar_size(o->scalar);
}
/** How many blocks go there or back at a time. */
static inline int64_t mpki_offload_some(const struct mpki_offload *o) {
    const int64_t together = (8 << 20) / mpki_offload_bytes(o);
    return o->on->table->scatter && together > 1 ? together : 1;
}
/** The number of a frame's pivot block. */
static inline int64_t mpki_offload_diagonal(const mpki_ibcsr *x, int32_t frame) {
    return x->entry[x->diagonal[frame]].block;
}
/** Block number k of the staging memory. */
static inline void *mpki_offload_staging(const struct mpki_offload *o, int64_t k) {
    return (char *)o->staging + k * mpki_offload_bytes(o);
}

/* run.c */

/** The status of a call of the accelerator; a failure is recorded, with what it was doing. */
mpk_status mpki_offload_status(mpki_blocks *f, mpk_status status, const char *what);
/** Give back what is not NULL of a list of `count`; nothing of no list. */
void mpki_offload_let_go(const mpk_accelerator *a, void *const *list, int64_t count);
/** A block of the accelerator's memory as they rest there. */
mpk_status mpki_offload_block(mpki_blocks *f, void **p);
mpk_status mpki_offload_put(mpki_blocks *f, void *to, const void *from);
/** `count` blocks, one after the other on the host. */
mpk_status mpki_offload_put_all(mpki_blocks *f, int64_t count, void *const *to, const void *from);
mpk_status mpki_offload_take(mpki_blocks *f, void *to, void *from);
/** `count` blocks into staging memory, from its block number `first` on. */
mpk_status mpki_offload_take_all(mpki_blocks *f, int64_t count, int64_t first, void *const *from);
/** Make staging memory hold so many blocks; what is there stays. */
mpk_status mpki_offload_room(mpki_blocks *f, int64_t blocks);
/** Until results are there that the host asks for. */
mpk_status mpki_offload_wait(mpki_blocks *f);
/** Memory for one more item; block[0] and id are set. frame: of the pivot. */
mpk_status mpki_offload_add(mpki_blocks *f, mpki_batch_lists *list, int64_t block, int32_t frame,
                            mpki_half half);
/** Run a kernel on a list, by way of dense copies where blocks rest in another form. */
mpk_status mpki_offload_run(mpki_blocks *f, int kernel, mpki_batch_lists *list);
/** A larger entry of L in a pivot's own block rejects the frame. */
double mpki_offload_most_inside(const struct mpki_offload *o);
/** Spans of the accelerator into the trace, since the last call; it has been waited for. */
void mpki_offload_trace(mpki_blocks *f);
/** Begin to record them, where there is a trace; and end, forgetting those that are not in it. */
void mpki_offload_trace_begin(mpki_blocks *f);
void mpki_offload_trace_end(mpki_blocks *f);
void mpki_batch_lists_free(mpk_context *ctx, mpki_batch_lists *list);

/** A block of the accelerator's memory, made here: a multiple of I. */
mpk_status mpki_offload_multiple(mpki_blocks *f, double value, void **to);

/* butterfly.c */

/** Each listed block C := C B, B that of its frame: a product into zeroed memory, which then takes
 *  its place; block[2] of the list is B^T. */
mpk_status mpki_offload_turn(mpki_blocks *f, mpki_batch_lists *list);
/** Pivot blocks that were rejected before get a new butterfly, C := B^T C B. */
mpk_status mpki_offload_renew(mpki_blocks *f, const mpki_batch_lists *pivots);

/* drop.c */

/** Drop entries of the list's blocks, the solved ones of a batch. The list is shortened to those of
 *  frames that are not rejected; sets stored_blocks of these. */
mpk_status mpki_offload_drop(mpki_blocks *f, const mpki_updates *batch, mpki_batch_lists *list);

/* solves.c: the factor on the accelerator, for solves */

/** Can this table's machine solve? */
bool mpki_offload_solves_there(const mpki_blocks *f);
/** Memory for the pivots and the vectors; pivots of `count` frames, whose blocks lie one after the
 *  other from place `first` of what is sent on; then, when all pivots are there, the rest. Each may
 *  find no memory. */
mpk_status mpki_offload_solves_make(mpki_blocks *f);
mpk_status mpki_offload_solves_send(mpki_blocks *f, int64_t count, const int64_t *frame,
                                    int64_t first);
/** Place k of what is sent, of mpki_offload_some(); false: the processor solves. */
bool mpki_offload_solves_sent(const mpki_blocks *f, int64_t k, void *to[MPKI_SENT]);
mpk_status mpki_offload_solves_end(mpki_blocks *f);
void mpki_offload_solves_free(mpki_blocks *f);

/* apply.c: slots of mpki_block_engine */

mpk_status mpki_offload_solver_make(mpk_context *ctx, const mpki_blocks *f, int threads,
                                    int32_t columns, mpki_block_solver **s, int32_t *takes);
void mpki_offload_solver_free(mpk_context *ctx, mpki_block_solver **s);
mpk_status mpki_offload_apply(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                              int64_t ldb, void *x, int64_t ldx);

/* stage.c: parts of a stage */

/** All blocks that are due := A, many columns at a time. */
mpk_status mpki_offload_send(mpki_blocks *f);
/** Phases I and II of a portion: pivots, and what stands below them. */
mpk_status mpki_offload_columns(mpki_blocks *f, const mpki_portion *portion);
/** Several downdates of a block at once: where the machine can, unless subsets are asked for. */
bool mpki_offload_by_atomics(const mpki_blocks *f);
/** Else, all downdates of a block as one item: no two are at work on it. */
bool mpki_offload_by_sums(const mpki_blocks *f);
/** Items of a list from `begin` on are downdates of this block. */
mpk_status mpki_offload_add_target(mpki_blocks *f, mpki_batch_lists *list, void *block,
                                   int64_t begin);
/** Where the accelerator judges: before it does, nothing is said of any frame; and after, wait for it,
 *  and find what it rejected. */
mpk_status mpki_offload_forget_verdicts(mpki_blocks *f);
mpk_status mpki_offload_read_verdicts(mpki_blocks *f);

/* stage.c, sweeps.c, collect.c: slots of mpki_block_engine */

mpk_status mpki_offload_stage(mpki_blocks *f);
mpk_status mpki_offload_sweeps(mpki_blocks *f, double push, int32_t *fail);
mpk_status mpki_offload_finish(mpki_blocks *f, mpki_block_counts *counts);
/** Blocks of the border, downloaded into its dense matrix. */
mpk_status mpki_offload_border(mpki_blocks *f);

/** values_t.c: what knows the precision. Staging memory holds blocks of n x n. */
#define MPKI_OFFLOAD_VALUES(p)                                                                     \
    /** Entries of A into the staging memory of a frame's column, half of it; slot: by frame the \
     *  place of its block, or -1. */ \
    void mpki_##p##_offload_fill(const mpki_blocks *f, int32_t frame, mpki_half half,              \
                                 const int32_t *slot);                                             \
    /** `padding` on the diagonal of a staging block, behind its `rows`. */                        \
    void mpki_##p##_offload_pad(const mpki_blocks *f, int64_t slot, int rows, double padding);     \
    bool mpki_##p##_offload_is_zero(const mpki_blocks *f, int64_t slot);                           \
    /** Staging block 0 := -I; := B^T for w rows, the rest I. */                                   \
    void mpki_##p##_offload_minus(const mpki_blocks *f);                                           \
    void mpki_##p##_offload_butterfly(const mpki_blocks *f, uint64_t state, int w);                \
    /** Factor staging block 0, replacing small pivots; false: it overflows. LDU: block 1 is its \
     *  transpose. */ \
    bool mpki_##p##_offload_factor(mpki_blocks *f);                                                \
    /** The pivot of a frame from staging blocks from `at` on, L and D, LDU: the transpose, and \
     *  B^T if `turned`, into the processor's factor: D, its inverse, M; block 0 is work space. \
     *  sent [out] blocks n x n for solves there; NULL: none. */  \
    mpk_status mpki_##p##_offload_keep_pivot(mpki_blocks *f, int32_t frame, int64_t at,            \
                                             const int32_t *perm, const int32_t *columns,          \
                                             bool turned, void *const sent[MPKI_SENT]);            \
    /** Staging block `at` as a block below the diagonal, or U^T. */                               \
    mpk_status mpki_##p##_offload_keep_block(mpki_blocks *f, int64_t block, mpki_half half,        \
                                             int64_t at);                                          \
    /** A frame of the border: M = D = I. */                                                       \
    mpk_status mpki_##p##_offload_keep_unit(mpki_blocks *f, int32_t frame,                         \
                                            void *const sent[MPKI_SENT]);                          \
    /** LLT: D := I, which L has taken. */                                                         \
    void mpki_##p##_offload_take_root(mpki_blocks *f, int32_t frame);                              \
    /** Staging block 0 into the border's matrix. */                                               \
    void mpki_##p##_offload_to_border(mpki_blocks *f, int32_t row, int32_t col);                   \
    /** Right-hand sides of the problem, scaled, times `unit`, a row each in blocks of \
     *  `rows` x n by frames; and back: x. */           \
    void mpki_##p##_offload_enter(const mpki_blocks *f, int rows, const void *b, int64_t ldb,      \
                                  double unit, void *to);                                          \
    void mpki_##p##_offload_leave(const mpki_blocks *f, int rows, const void *from, double unit,   \
                                  void *x, int64_t ldx);                                           \
    /** Rows of the border's frames from or to vectors by position, `columns` of them from \
     *  `first` on. */       \
    void mpki_##p##_offload_border_rows(const mpki_blocks *f, int rows, int first, int columns,    \
                                        bool out, void *blocks, void *y);
MPKI_OFFLOAD_VALUES(s)
MPKI_OFFLOAD_VALUES(d)
MPKI_OFFLOAD_VALUES(c)
MPKI_OFFLOAD_VALUES(z)
#undef MPKI_OFFLOAD_VALUES

#endif
