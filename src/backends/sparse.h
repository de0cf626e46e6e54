/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BACKEND_SPARSE_H
#define MPKI_BACKEND_SPARSE_H
/** What an engine - the processor's, a device's - offers for sparse matrices: a multifrontal
 *  factorization, an incomplete one on blocks, and the vectors of a Krylov method. factor/ and
 *  solve/ decide (scaling, outer pivoting, rank, stages, refinement) and call; an engine computes.
 *  mpki_engine_of() in factor/engine.c is the only place that chooses one.
 *
 *  Views are arrays of an analysis or of a factorization, borrowed for as long as the engine's
 *  object lives. A slot gets its arguments checked. It records an error with mpki_error() and
 *  returns it. Slots of one object are called one after the other, from one thread.
 *
 *  Words (docs/glossary.md). "Position": index after the permutation, perm[position] = index in the
 *  problem. Vectors named b and x are in the order of the problem, vectors named y in positions;
 *  entries of the scalar type of A, in the engine's memory. */
#include "../core/core.h"
#include <metapack/factor.h>
#include <metapack/krylov.h>
#include <metapack/solve.h>

/* ---- a multifrontal factorization --------------------------------------------------------------
 */

/** Where entries of A go: entry `src` of ax is added at local (row, col)
 *  of the front that owns it, row >= col. */
typedef struct mpki_scatter {
    int64_t src;
    int32_t
        row; /* local row; ~row when the entry must be conjugated (Hermitian, triangle flipped) */
    int32_t col; /* local column, < w */
} mpki_scatter;

/** What an analysis has found; fields as in struct mpk_analysis (analysis/analysis.h). */
typedef struct mpki_tree_view {
    int32_t n, nsuper;
    int64_t nnz;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    const int64_t *ap;
    const int32_t *ai;
    const int32_t *perm;
    const int32_t *sptr, *parent, *child_ptr, *child;
    const int64_t *rptr;
    const int32_t *ridx, *rel;
    const double *flops;
    const int64_t *scatter_ptr;
    const mpki_scatter *scatter;
    /* predictions: what the whole costs, bytes of the factor, rows of the largest front */
    double factor_flops;
    int64_t factor_bytes;
    int32_t max_front;
} mpki_tree_view;

/** What a pivot must be. Sizes are in the units of S A S. */
typedef struct mpki_pivot_rules {
    double threshold; /* |L| <= 1 / threshold */
    double small;     /* a column not above this is a zero pivot */
    double shift;     /* > 0: put in the place of what fails */
    double size;      /* largest entry of S A S */
    int threads;
    double memory_limit; /* as options.memory_limit */
} mpki_pivot_rules;

/** When to give up the order in force: more flops, or more columns rejected. Both are sums that do
 * not depend on who adds first, so the decision is the same for any number of threads. */
typedef struct mpki_stop {
    double flops;
    int64_t rejected;
} mpki_stop;

/** What a factorization did. */
typedef struct mpki_numeric_result {
    int64_t positive, negative, zero, two_by_two, delayed, perturbed; /* pivots; columns delayed */
    double max_d, min_d; /* largest |entry|, smallest nonzero |eigenvalue| of the blocks of D */
    double flops;
    int64_t nnz; /* of L */
    int32_t max_front;
    bool runaway; /* delayed columns made it cost more than `stop` allows, and it stopped */
} mpki_numeric_result;

/** A pivot whose smaller eigenvalue is in doubt. */
typedef struct mpki_weak_pivot {
    int32_t at[2];    /* its positions; the second of a pair alone */
    int64_t place[2]; /* where it is: the engine's own */
    bool pair;
    int sign;         /* +1 or -1, as it was counted */
    double size;      /* |eigenvalue|, relative to rules.size */
    double other;     /* of a pair: the larger eigenvalue */
    double vector[4]; /* the eigenvector: two complex numbers */
} mpki_weak_pivot;

typedef struct mpki_direct mpki_direct;               /* an engine's factor */
typedef struct mpki_direct_solver mpki_direct_solver; /* what the solves with one share */

typedef struct mpki_direct_engine {
    /** Room for factors of this tree, which must outlive *f. Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*make)(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **f);
    /** Give everything back, *f NULL after it; a NULL *f is fine. */
    void (*free)(mpki_direct **f);
    /** Give back the numbers and what they were computed in. */
    void (*clear)(mpki_direct *f);
    /** P S A S P^T = L D L^T.
     *  ax [in] nnz, scale [in] n powers of two, problem order: both must outlive the numbers
     *  stop [in] NULL: whatever it takes
     *  Returns MPK_OK (also: it stopped, result->runaway) | MPK_ERR_MEMORY, _NUMERIC, _CANCELLED */
    mpk_status (*factorize)(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result);
    /** Bytes of the numbers. */
    int64_t (*bytes)(const mpki_direct *f);
    /** MPK_GET_PERM, _D, _LOGDET, as mpk_get() gives them, to host memory. */
    mpk_status (*get)(const mpki_direct *f, mpk_quantity what, void *out);

    /** y := signs in a fixed disorder at the zero pivots, 0 elsewhere. */
    void (*at_zeros)(const mpki_direct *f, void *y);
    /** `most` of the `all` zero pivots, from all over D; returns how many. */
    int (*zeros)(const mpki_direct *f, int64_t all, int most, mpki_weak_pivot *list);
    /** The `most` weakest pivots, smallest first, that are not zero and at most `bound` by size;
     *  returns how many. Not for complex symmetric matrices, whose blocks have no eigenvalues to
     *  speak of. */
    int (*weak)(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list);
    /** Make them zero pivots. */
    void (*to_zero)(mpki_direct *f, const mpki_weak_pivot *list, int count);

    /** columns: most right-hand sides of a call. Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*solver_make)(mpk_context *ctx, const mpki_direct *f, int threads, int32_t columns,
                              mpki_direct_solver **s);
    void (*solver_free)(mpki_direct_solver **s);
    /** x := the part applied to b, columns ldb and ldx apart, b == x allowed: as mpk_solve_part(),
     *  L from the problem's order to positions, D between positions, L^T back, and ALL, ABS.
     *  Zero pivots give 0. */
    mpk_status (*apply)(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                        int64_t ldb, void *x, int64_t ldx);
} mpki_direct_engine;

/* ---- an incomplete factorization on blocks -----------------------------------------------------
 */

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

/** Indexed block CSR; see analysis/block/block.h. */
typedef struct mpki_ibcsr {
    int32_t m;         /* frames */
    int32_t *frame;    /* P: frame at each place */
    int32_t *place;    /* P^-1 */
    int32_t *stage;    /* X: by frame, how often it was pushed back */
    int64_t *ptr;      /* m + 1: the lists, by frame */
    mpki_entry *entry; /* ptr[m] */
    int64_t *diagonal; /* by frame, index into entry */
    int64_t nblocks;
    int32_t *rows, *cols; /* by block: frame of its rows and of its columns, as it was made: the
                  rows' frame stood at the later place then. Block numbers never change */
} mpki_ibcsr;

/** Is block b of the index transposed against how it was made? */
static inline bool mpki_ibcsr_transposed(const mpki_ibcsr *x, int64_t b) {
    return x->place[x->rows[b]] < x->place[x->cols[b]];
}
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

/** Frames in level sets; see analysis/schedule/schedule.h. */
typedef struct mpki_levels {
    int32_t count;
    int32_t *ptr, *frame; /* count + 1, into frame */
} mpki_levels;

/** A factorization by stages, as factor/stages.c has it: what stands in it is read by the engine in
 *  every slot, and changes between them. "By block" is as long as the index has blocks. */
typedef struct mpki_stages {
    mpk_context *ctx;
    mpk_scalar scalar; /* of A; `stored` of the factor */
    mpk_scalar stored;
    mpk_symmetry symmetry;
    int64_t nnz; /* of A's lower triangle */
    const mpk_options *options;
    const mpki_full *a;
    const double *scale; /* n, problem order */
    const mpki_blocking *blocking;
    const int32_t *pair; /* n or NULL, by position: partner of a 2x2 pivot of the matching */
    mpki_ibcsr index;
    mpki_levels levels; /* all stages, one after the other */
    bool ldu, hermitian;
    bool complete;         /* nothing is dropped anywhere */
    bool last;             /* the last stage: nothing is rejected */
    double size;           /* largest entry of the scaled matrix: 1, unless scaling is off */
    double floor;          /* smallest pivot of the scaled matrix */
    double bound;          /* larger entries of L reject their frame; infinity: none */
    double diagonal_shift; /* this part of the diagonal is added to it: after a breakdown */
    int64_t *capacity;     /* by block: entries it may keep; < 0: no bound, and no threshold */
    /* what the engine writes, too */
    unsigned char *final;         /* by frame: accepted */
    unsigned char *reject;        /* by frame, in this stage */
    unsigned char *want;          /* by block: due in this stage; 0 when it has its values */
    unsigned char *stored_blocks; /* by block: has a value that is not zero, in one of its halves */
    int32_t broken_frame;         /* LLT: the first frame with a pivot <= 0; -1: none */
    mpk_block_info info;
} mpki_stages;

/** What the engine counted over all stages. */
typedef struct mpki_block_counts {
    int64_t positive, negative, zero, two_by_two, perturbed;
    int64_t kept, dropped, dense, bitmap, rows; /* entries; blocks stored so */
    double fill_out;                            /* sum over stored blocks of kept / all entries */
    double flops, smallest, largest;            /* pivots */
    int64_t bytes;
} mpki_block_counts;

typedef struct mpki_blocks mpki_blocks;
typedef struct mpki_block_solver mpki_block_solver;

typedef struct mpki_block_engine {
    /** Room for the blocks of the index; the stages must outlive *f. MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*make)(mpki_stages *stages, mpki_blocks **f);
    /** NULL *f is fine. */
    void (*free)(mpk_context *ctx, mpki_blocks **f);
    /** The index has more blocks now; a push-back has permuted its places. */
    mpk_status (*grow)(mpki_blocks *f);
    /** All wanted blocks, by level sets: sets final, want, stored_blocks; frames whose pivots or
     *  columns fail are rejected. MPK_ERR_NUMERIC: a pivot overflowed, or was <= 0 in LLT
     *  (broken_frame; no error is recorded then) | MPK_ERR_MEMORY, _CANCELLED. */
    mpk_status (*stage)(mpki_blocks *f);
    /** The same by sweeps over all blocks at once (Thuerck 2019, algorithm 2). may_reorder: pivots
     *  that the first sweep has to replace reject their frames; *reorder [out] that happened to
     *  some frames, not to all, and nothing is stored. */
    mpk_status (*sweeps)(mpki_blocks *f, bool may_reorder, bool *reorder);
    /** After the last stage: give back what only the factorization needs, and tell. */
    void (*finish)(mpki_blocks *f, mpki_block_counts *counts);
    /** Entries kept in a block below the diagonal; LDU: of L's half. */
    int64_t (*entries)(const mpki_blocks *f, int64_t block);

    /** columns: most right-hand sides that one application takes; *takes [out] how many it will. */
    mpk_status (*solver_make)(mpk_context *ctx, const mpki_blocks *f, int threads, int32_t columns,
                              mpki_block_solver **s, int32_t *takes);
    void (*solver_free)(mpk_context *ctx, mpki_block_solver **s);
    /** x := the part applied to x, nrhs <= *takes columns, ldx apart: orders as in
     *  mpki_direct_engine.apply. */
    void (*apply)(mpki_block_solver *s, mpk_part part, int32_t nrhs, void *x, int64_t ldx);
} mpki_block_engine;

/* ---- the vectors of a Krylov method ------------------------------------------------------------
 */

typedef struct mpki_matrix mpki_matrix; /* an engine's copy of A, in both triangles */

/** r := b - A x, by whatever precision it takes that the error of r, of which *error is a bound in
 *  the 2-norm, is small beside the larger of ||r||_2 and `wanted`; or as small as it can be made.
 */
typedef mpk_status (*mpki_residual_fn)(void *self, const void *x, const void *b, double wanted,
                                       void *r, double *error);

/** What a caller inside the library may add to a task. */
typedef struct mpki_krylov_extra {
    mpki_residual_fn residual; /* NULL: by a product in the task's precision */
    void *self;                /* of residual */
    double a_norm;             /* ||A||, of use with residual; else it is estimated */
    double from, share;        /* this solve is told as progress from .. from + share */
} mpki_krylov_extra;

enum { MPKI_KRYLOV_MESSAGE = 400 };

typedef struct mpki_vector_engine {
    /** A copy of A for products on `threads`. *exponent [out]: it holds 2^-exponent A, where that
     *  brings entries far from 1 near it; *longest [out] entries of a row.
     *  Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*matrix_make)(mpk_context *ctx, const mpk_problem_view *a, int threads,
                              mpki_matrix **m, int *exponent, int32_t *longest);
    void (*matrix_free)(mpk_context *ctx, mpki_matrix **m);
    /** y := A x */
    void (*multiply)(mpki_matrix *m, const void *x, void *y);
    /** r := b - A x; *error [out] a bound of its error as mpki_residual_fn has it, norm: ||A||_inf
     */
    void (*residual)(mpki_matrix *m, double norm, const void *x, const void *b, double wanted,
                     void *r, double *error);
    /** Solve; as mpk_krylov_solve, but for errors: a positive status is not recorded in the
     *  context, message [out] (MPKI_KRYLOV_MESSAGE bytes) has the words. extra may be NULL. */
    mpk_status (*krylov)(mpk_context *ctx, const mpk_krylov_task *task,
                         const mpki_krylov_extra *extra, const void *b, void *x,
                         mpk_krylov_info *info, char *message);
} mpki_vector_engine;

/* ---- an engine ---------------------------------------------------------------------------------
 */

typedef struct mpki_engine {
    /** "cpu-avx512", ...: for reports. */
    const char *(*name)(void);
    mpk_memory memory; /* where its vectors lie */
    const mpki_direct_engine *direct;
    const mpki_block_engine *blocks;
    const mpki_vector_engine *vectors;
} mpki_engine;

/** The processor's: direct/, blocks/, solve/krylov/. */
extern const mpki_direct_engine mpki_cpu_direct;
extern const mpki_block_engine mpki_cpu_blocks;
extern const mpki_vector_engine mpki_cpu_vectors;

#endif
