/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_FACTOR_H
#define MPKI_FACTOR_H
/** Inside of mpk_factor, as numeric/ makes it and solve/ reads it. */
#include "../analysis/analysis.h"
#include "../problem/measure.h"
#include "tree.h"
#include "../core/pool.h"
#include "../dense/front.h"
#include <metapack/factor.h>
#include <pthread.h>

/** One supernode after its elimination: the storage of its front (dense/front.h), entries of the
 * factor's scalar type. Rows of the front: the w columns id[0..w-1] (positions of the analysis; the
 * first nelim eliminated here, the others delayed to the parent), then the supernode's ridx. */
typedef struct mpki_node {
    void *a, *d, *dinv;
    int32_t *id;
    int64_t nrows, ld0;
    int32_t w, nelim;
    int32_t delayed; /* columns that came from children; w = own columns + delayed */
} mpki_node;

/** Memory of the nodes: a first chunk of the predicted size, more only when delayed pivots ask for
 * it. */
typedef struct mpki_chunk {
    struct mpki_chunk *link;
    int64_t size;
    _Atomic int64_t used;
    char *base;
} mpki_chunk;

typedef struct mpki_arena {
    mpk_context *ctx;
    _Atomic(mpki_chunk *) current;
    pthread_mutex_t mutex;
    int64_t step;    /* size of a further chunk */
    double limit;    /* bytes that may be held beyond `before`; 0: what the machine has free */
    int64_t before;  /* held by the context without this arena's blocks and what came after them */
    int64_t unasked; /* bytes taken beyond the first chunk since the machine was asked */
} mpki_arena;

/** bytes [in] of the first chunk, which is taken at once; limit [in] as in options.memory_limit,
 *  for what comes after it */
mpk_status mpki_arena_init(mpk_context *ctx, int64_t bytes, double limit, mpki_arena *arena);
/** 64-byte aligned; NULL on MPK_ERR_MEMORY. Thread-safe. */
void *mpki_arena_alloc(mpki_arena *arena, int64_t bytes);
/** Forget all blocks, keep the first chunk. */
void mpki_arena_reset(mpki_arena *arena);
void mpki_arena_free(mpki_arena *arena);
/** Each gets the other's blocks. Both are initialised, and nobody allocates meanwhile. */
void mpki_arena_exchange(mpki_arena *a, mpki_arena *b);
int64_t mpki_arena_bytes(const mpki_arena *arena);

/** What the walk over the tree works in; kept from one factorization to the next. */
typedef struct mpki_walk_memory {
    int threads; /* asked for; 0: not made yet */
    int workers; /* made: one where the work is too little to share */
    mpki_tree tree;
    _Atomic int32_t *waits; /* tree.count */
    void **contribution;    /* nsuper */
    void **bench;           /* threads: a worker's blocks (dense/front.h) */
    void **runs;            /* threads: a child's rows as runs */
} mpki_walk_memory;

void mpki_walk_memory_free(mpk_context *ctx, mpki_walk_memory *memory);

struct mpk_factor {
    mpk_context *ctx;
    const mpk_analysis *base; /* the caller's */
    const mpk_analysis *an;   /* the one in force: the caller's, or own after outer pivoting */
    mpk_analysis *own;
    mpk_options options;
    double patience;     /* with an analysis of older values; doubles when a new one did not pay */
    bool rescaled;       /* the other scaling did better on these or older values */
    bool raised;         /* the usual bound of zero pivots left noise that overflowed */
    bool lowered;        /* zero pivots of the usual size were none: likewise */
    bool valid;          /* holds a factorization */
    mpki_values *values; /* in the order of the analysis' ai; shared where they are the problem's */
    const void *ax;      /* what they hold */
    double *row_norm;    /* n: sums of moduli of A's rows, problem order */
    double norm_inf;     /* the largest of them */
    double size;         /* largest entry after scaling: 1, unless that is off */
    double *scale;       /* n, problem order, powers of two */
    mpki_node *node;     /* nsuper */
    mpki_arena arena;
    bool have_arena;
    mpki_walk_memory memory;
    struct mpki_block_factor *block; /* methods on blocks (block/block_factor.h): then no nodes */
    mpk_factor_info info;
};

/** The system that a factor is of. */
static inline mpki_system mpki_system_of(mpk_context *ctx, const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    return (mpki_system){.ctx = ctx,
                         .a = {an->n, an->nnz, an->scalar, an->symmetry, an->ap, an->ai, fac->ax},
                         .row_norm = fac->row_norm,
                         .norm_inf = fac->norm_inf};
}

/** When to give up the order in force: more flops, or more columns rejected. Both are sums that do
 * not depend on who adds first, so the decision is the same for any number of threads. */
typedef struct mpki_stop {
    double flops;
    int64_t rejected;
} mpki_stop;

/** The numeric phase for one precision, until `stop` (NULL: never): fills fac->node from the scaled
 * values sax (nnz); zero pivots below `small`, perturbed ones of `shift`, in the units of sax.
 * Counts go to pivots, flops and max_front. *runaway: delayed columns made it cost far more than
 * predicted, and it stopped. */
typedef struct mpki_numeric_result {
    mpki_pivots pivots;
    double flops;
    int64_t nnz;
    int32_t max_front;
    bool runaway;
} mpki_numeric_result;

/** The scaling for these values: the analysis' own, brought up to date by a sweep of equilibration,
 *  or where it has none equilibration. rescaled: the other one, which is equilibration where that
 * is far from the matching's, and levels (mpki_level) otherwise. options.scaling off: a power of
 * two for all rows, 1 unless entries are near the ends of the range. scale [out] n, problem order,
 * powers of two size  [out] the largest entry after scaling, which thresholds are relative to: 1,
 * unless scaling is off */
mpk_status mpki_find_scaling(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                             const void *ax, bool rescaled, double *scale, double *size);

/** One factorization with the analysis and the scaling in force. stop NULL: whatever it takes. */
mpk_status mpki_factorize_once(mpk_factor *fac, const mpki_stop *stop, mpki_numeric_result *result);
/** What a factorization is given up for: far more work than was predicted. */
mpki_stop mpki_fresh_stop(const mpk_analysis *an);
/** fac->info, but for rank, from what the numeric phase counted. */
void mpki_factor_describe(mpk_factor *fac, const mpki_numeric_result *result);
/** A pivot of this size or less may be no more than rounding, relative to the largest entry. */
double mpki_pivot_noise(const mpk_factor *fac);
/** What is left of a column that should have cancelled counts as zero below this, in a matrix
 * scaled to 1. */
double mpki_default_zero_tolerance(mpk_scalar scalar);

#define MPKI_NUMERIC(p)                                                                            \
    mpk_status mpki_##p##_numeric(mpk_factor *fac, const void *sax, double small, double shift,    \
                                  const mpki_stop *stop, mpki_numeric_result *result);             \
    void mpki_##p##_scale_values(const mpk_analysis *an, const void *ax, const double *scale,      \
                                 void *sax);                                                       \
    void mpki_##p##_moduli(int64_t nnz, const void *ax, double *absval);                           \
    void mpki_##p##_get_d(const mpk_factor *fac, void *d);                                         \
    void mpki_##p##_get_logdet(const mpk_factor *fac, double *out);
MPKI_NUMERIC(s)
MPKI_NUMERIC(d)
MPKI_NUMERIC(c)
MPKI_NUMERIC(z)
#undef MPKI_NUMERIC

/** Call the function of the precision `scalar`. */
#define MPKI_DISPATCH(scalar, name)                                                                \
    ((scalar) == MPK_S   ? mpki_s_##name                                                           \
     : (scalar) == MPK_D ? mpki_d_##name                                                           \
     : (scalar) == MPK_C ? mpki_c_##name                                                           \
                         : mpki_z_##name)

#endif
