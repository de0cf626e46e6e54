/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_MULTIFRONTAL_H
#define MPKI_INTERFACE_MULTIFRONTAL_H
/** A multifrontal factorization (Duff & Reid 1983, ACM TOMS 9(3)) as an engine offers it; what
 *  holds for every slot stands in engine.h. */
#include "core/archive.h"
#include "core/pool.h"
#include "engines/interface/views.h"
#include <metapack/factor.h>
#include <metapack/solve.h>

/** What a pivot must be. Sizes are in the units of S A S. */
typedef struct mpki_pivot_rules {
    double threshold; /* |L| <= 1 / threshold */
    double small;     /* a column whose entries are all at most this is a zero pivot */
    double shift;     /* > 0: replaces a pivot that fails; 0: none is replaced */
    double size;      /* largest entry of S A S */
    int threads;
    double memory_limit;        /* as options.memory_limit */
    double device_memory_limit; /* as options.device_memory_limit */
    bool keep; /* what the next values need, so that only fronts that they touch are done anew */
    double low_rank; /* as options.low_rank_tolerance; an engine without `low_rank` ignores it */
    mpk_switch fp64_emulation; /* as options.fp64_emulation; the processor's ignores it */
} mpki_pivot_rules;

/** Rounding of updates by emulated doubles, of one entry: the bound over that of doubles, 2^-51 for
 *  2^-53 (docs/design/cuda-direct.md). */
enum { MPKI_EMULATED_NOISE = 4 };

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
    int64_t rejected;                 /* columns that failed, counted as `stop` counts them */
    double max_d, min_d; /* largest |entry|, smallest nonzero |eigenvalue| of the blocks of D */
    double flops;
    int64_t nnz; /* of L */
    int32_t max_front;
    bool runaway;     /* it cost more than `stop` allows and was given up: there are no numbers */
    int64_t broken;   /* zero pivots with entries in the outer rows: there is no Schur complement */
    int threads;      /* at work; 0: as many as were asked for */
    int64_t emulated; /* fronts whose updates went by emulated doubles */
    /* with rules.keep: bytes that are kept; nodes whose numbers stayed, and their flops */
    int64_t kept_bytes;
    int32_t untouched;
    double untouched_flops;
    /* with rules.low_rank: numbers of L that are held, of nnz, and what was done, of `flops` */
    int64_t low_nnz;
    double low_flops;
} mpki_numeric_result;

/** A pivot whose smaller eigenvalue is in doubt: it may be nothing but rounding. */
typedef struct mpki_weak_pivot {
    int32_t at[2];     /* its positions; at[1] for a pair only */
    int64_t handle[2]; /* where the engine finds it again */
    bool pair;         /* 2x2 */
    int sign;          /* +1 or -1: how the eigenvalue was counted */
    double size;       /* |eigenvalue|, relative to rules.size */
    double other;      /* of a pair: the larger eigenvalue; 0: that is in doubt, too */
    double vector[4];  /* the eigenvector: two complex numbers */
} mpki_weak_pivot;

typedef struct mpki_direct mpki_direct;               /* an engine's factor */
typedef struct mpki_direct_solver mpki_direct_solver; /* work space that its solves share */

/** Vectors of A's kernel after scaling, of length 1 and orthogonal (factor/deflate.h). */
typedef struct mpki_kernel_vectors {
    uint64_t stamp; /* vectors with the same one are the same, and more of them begin with these; 0:
                       it says nothing */
    int32_t count;
    const void *v; /* count x n, in host memory; NULL: not asked for */
} mpki_kernel_vectors;

/** Where refinement with a singular A has them from. */
typedef struct mpki_kernel_source {
    void *self;
    /** all [in] those of each zero pivot, too, as far as these are looked for. vectors [in] *out is
     *  to have them, for as long as nothing else is asked for.
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE, _CANCELLED */
    mpk_status (*give)(void *self, bool all, bool vectors, mpki_kernel_vectors *out);
    int32_t steps; /* at most, with residuals that lie in A's range, until the errors are at most */
    double accuracy; /* this */
    double within;   /* b is in A's range where its part along v is no more than this of |v|^T w */
} mpki_kernel_source;

/** How nearly A takes a vector to zero, as mpki_flatness (factor/rank.h) says it; NAN: not known.
 *  least: what eta is at least, whatever noise the vector loses. */
typedef struct mpki_near_zero {
    double rough, eta, least;
} mpki_near_zero;

/** It may be the large entries of a vector that A takes to zero: how small those are that are left
 *  out, beside the largest. */
enum { MPKI_CUTS = 3 };
static const double MPKI_CUT[MPKI_CUTS] = {1e-6, 1e-4, 1e-2};

/** What is known of a solution: mpki_quality (problem/measure.h) and more. */
typedef struct mpki_reached {
    double componentwise, normwise, relative, growth, rows, unresolved;
    bool missed;
    double correction;                  /* as in mpk_solve_info */
    bool outside;                       /* a vector of the kernel is against b being in A's range */
    mpki_near_zero near[1 + MPKI_CUTS]; /* x itself, and its large entries */
} mpki_reached;

/** What is asked of a refinement. */
typedef struct mpki_refine_wish {
    int32_t steps;
    double accuracy;
    double doubt; /* ||A|| ||x|| / ||b|| from which on the host has to do it */
    /* that, and b in rows that x does not resolve, from which on `each` is to say how nearly A takes
     * x to zero; of the latter also how nearly its large entries, unless x has no more eta than */
    double large, lost, flat;
    /* of a singular A: where steps do not reach the accuracy, others follow without the part of
     * residuals that A's range has not. NULL: no kernel is known */
    const mpki_kernel_source *kernel;
    mpki_reached *each; /* [out] of each right-hand side that is done; NULL: not wanted */
} mpki_refine_wish;

/** Values as a caller has them, in the memory of an engine's device or of the host; the lists are in
 *  host memory. */
typedef struct mpki_given_view {
    const void *values;
    int64_t count;
    /* count: mpki_place() of each (problem/given.h); NULL: value k is entry k of ax */
    const void *place;
    bool wide; /* places of 64 bits */
    /* how they are scaled: by mpki_equilibrate(), then to powers of two */
    const double *scale; /* n: the scaling to begin with; NULL: 1 */
    int32_t sweeps;
    bool begin; /* if they are taken, nothing is asked of the last numbers: the next may begin */
} mpki_given_view;

/** Right-hand sides that are refined together, at most. */
enum { MPKI_REFINE_TOGETHER = 64 };

/** What it reached, the worst of all right-hand sides; fields as in mpk_solve_info. */
typedef struct mpki_refined {
    /* right-hand sides, the first ones; 0: something is unusual (numbers near the ends of the
     * range, not finite, growth that hides b, x may be in A's kernel, no memory), and the host has
     * to do it */
    int32_t done;
    int32_t iterations;
    double componentwise, normwise, unrefined, relative_residual, correction;
} mpki_refined;

/** What is wanted of an inverse. */
typedef struct mpki_selected_wish {
    void *diagonal; /* n, problem order; NULL: not wanted */
    void *pattern;  /* nnz, in the order of the tree's ap and ai; NULL: not wanted */
    int threads;
    double memory_limit; /* as options.memory_limit */
} mpki_selected_wish;

/** What was done for it. */
typedef struct mpki_selected_done {
    double flops;
    int threads; /* at work */
} mpki_selected_done;

/** Which way over the outer rows of a tree. */
typedef enum mpki_outer_part { MPKI_CONDENSE, MPKI_EXPAND } mpki_outer_part;

/** Right-hand sides with few rows, as mpk_solve_sparse() has them; x in host memory. */
typedef struct mpki_sparse_sides {
    int32_t nrhs;
    const int64_t *bptr; /* nrhs + 1 */
    const int32_t *brow; /* bptr[nrhs]: rows, those of one side in any order, also more than once */
    const void *bval;
    int32_t wanted;
    const int32_t *row; /* wanted: rows of x; NULL: all n */
    void *x;            /* wanted x nrhs */
    int64_t ldx;
} mpki_sparse_sides;

/** What such solves took: visits to nodes, and entries of L that these read, for each vector; and
 *  what a solve of one vector in all rows reads. */
typedef struct mpki_sparse_done {
    int64_t nodes, entries, full;
} mpki_sparse_done;

typedef struct mpki_direct_engine {
    /** Memory for factors of this tree, which must outlive *f. Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*make)(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **f);
    /** Release everything; *f is NULL afterwards. A NULL *f is fine. */
    void (*free)(mpki_direct **f);
    /** Release the numbers and their work space; *f can be factorized again. */
    void (*clear)(mpki_direct *f);
    /** P S A S P^T = L D L^T; numbers of an earlier call are overwritten.
     *  ax     [in]  nnz values, in the order of the tree's ap and ai, then those of the outer rows;
     *               NULL: those taken last
     *  scale  [in]  n powers of two, problem order: S, then those of the outer rows. Must outlive
     *               the numbers; NULL with ax
     *  stop   [in]  NULL: never give up
     *  result [out] what was done
     *  Returns MPK_OK (also where it was given up: result->runaway) | MPK_ERR_MEMORY, _NUMERIC,
     *  _CANCELLED: there are no numbers then */
    mpk_status (*factorize)(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result);
    /** Bytes that the numbers take. */
    int64_t (*bytes)(const mpki_direct *f);
    /** Bytes beside them that solves have left for later ones; NULL: they leave none. By any
     *  thread. */
    int64_t (*beside)(const mpki_direct *f);
    /** Where columns have found their pivots. NULL: fronts are not so small that it is of any
     *  interest. Returns whether there are numbers, and some columns were delayed, unless there is no
     *  memory for D, which is recorded.
     *  where [out] n: by position, the supernode that has eliminated it */
    bool (*late)(mpki_direct *f, int32_t *where);
    /** f's tree becomes this one, of the same matrix, which must outlive f: there are no numbers then, but
     *  values that were taken are. NULL where `late` is. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE: f is
     *  as it was. */
    mpk_status (*retree)(mpki_direct *f, const mpki_tree_view *tree);
    /** MPK_GET_PERM, _D or _LOGDET as mpk_get() gives them, to host memory. */
    mpk_status (*get)(const mpki_direct *f, mpk_quantity what, void *out);
    /** node (n) [out] by position: the node of the tree that eliminated the column, itself or an
     *  ancestor. NULL: the engine does not say. */
    void (*nodes)(const mpki_direct *f, int32_t *node);

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
     *  emulation as options.fp64_emulation
     *  bytes, delayed_bytes, time_s [out] delayed_bytes: of `bytes`, may be done without; time_s 0:
     *                                     not known
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*estimate)(mpk_context *ctx, const mpki_tree_view *tree, mpk_switch emulation,
                           int64_t *bytes, int64_t *delayed_bytes, double *time_s);
    /** x := A^-1 b with refinement as factor/refine_t.c has it, of the first of nrhs right-hand
     *  sides, at most MPKI_REFINE_TOGETHER, in the device's memory; only numbers come to the host,
     *  and x where it lies there. x == b is allowed. NULL: the engine has none.
     *  reached [out] reached->done == 0: x is undefined, but as it was where x == b
     *  Returns MPK_OK (also where it was not done) | MPK_ERR_DEVICE | a failure of
     *  wish->kernel->give */
    mpk_status (*refine)(mpk_context *ctx, const mpki_direct *f, mpki_direct_solver *s,
                         const mpki_refine_wish *wish, int32_t nrhs, const void *b, int64_t ldb,
                         void *x, int64_t ldx, mpki_refined *reached);
    /** Take values that lie in the device's memory, or are copied there, for the next factorization,
     *  and scale them. NULL: the engine has none.
     *  taken [out] false: it has to be done on the host (there are no numbers yet, several values
     *              for an entry, some that are not finite, triangles that differ, no memory); the
     *              numbers and values that were there are as they were. true: there are no numbers,
     *              if given->begin, until the next factorization
     *  Returns MPK_OK (also where they were not taken) | MPK_ERR_DEVICE */
    mpk_status (*take)(mpki_direct *f, const mpki_given_view *given, bool *taken);
    /** How nearly A takes v to zero, with the values and the scaling that were factorized last.
     *  NULL: the engine does not say.
     *  v     [in]  n, in host memory
     *  stamp [in]  of v: the same v has come, or will come again, with it; no other one has; 0: it
     *              has none
     *  r     [out] n, in host memory: -A v if it was told; NULL: not wanted
     *  told  [out] false: there is no memory for it, or v's numbers are near the ends of the range
     *  Returns MPK_OK (also where it was not told) | MPK_ERR_DEVICE */
    mpk_status (*flatness)(mpki_direct *f, const void *v, uint64_t stamp, void *r,
                           mpki_near_zero *near, bool *told);
    /** The values that were taken last, nnz in the order of the tree's, and their scaling, n in
     *  problem order, to host memory; either may be NULL. By any thread. Returns MPK_OK |
     *  MPK_ERR_DEVICE */
    mpk_status (*give)(const mpki_direct *f, void *ax, double *scale);
    /** Entries of S P^T (L D L^T)^-1 P S; there is no zero pivot. NULL: the engine has none.
     *  ctx [in] any context
     *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED: what was asked for is undefined */
    mpk_status (*selected_inverse)(mpk_context *ctx, const mpki_direct *f,
                                   const mpki_selected_wish *wish, mpki_selected_done *done);
    /** c := -A_21 A_11^-1 A_12 in A's scale, 2 being the tree's outer rows: its lower triangle.
     *  NULL, and so is the next one: the engine takes no tree with outer rows.
     *  c [out] outer columns, ldc apart */
    void (*schur)(const mpki_direct *f, void *c, int64_t ldc);
    /** MPKI_CONDENSE: x2 := -A_21 A_11^-1 b. MPKI_EXPAND: x := A_11^-1 (b - A_12 x2). By a solver
     *  that was made for as many columns.
     *  b, x [in/out] n x nrhs; x == b is allowed. x2 [in/out] outer x nrhs
     *  Returns MPK_OK | MPK_ERR_CANCELLED */
    mpk_status (*outer)(mpki_direct_solver *s, mpki_outer_part part, int32_t nrhs, const void *b,
                        int64_t ldb, void *x2, int64_t ldx2, void *x, int64_t ldx);
    /** x := rows of A^-1 b without refinement, visiting what lies between these rows, those of b
     *  and the roots; the bits of apply() with one vector, for any number of threads. NULL: the
     *  engine has none.
     *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED: x is undefined */
    mpk_status (*sparse)(mpk_context *ctx, const mpki_direct *f, int threads,
                         const mpki_sparse_sides *sides, mpki_sparse_done *done);
    /** Of a general matrix, P R Q A C P'^T = L U with R and C the scales of rows and columns, whose
     *  `apply` has MPK_PART_ALL alone: x := A^-T b likewise. NULL, and so is the next one: the
     *  engine takes no general matrix. */
    mpk_status (*transposed)(mpki_direct_solver *s, int32_t nrhs, const void *b, int64_t ldb,
                             void *x, int64_t ldx);
    /** x (n) := a vector that L U, or its transpose, takes to zero: 1 or -1 at each zero pivot,
     *  signs that look random. Returns MPK_OK | MPK_ERR_CANCELLED */
    mpk_status (*null_vector)(mpki_direct_solver *s, bool transposed, void *x);
    /** Has the tree fronts whose L may be kept in low rank? NULL: the engine keeps none so. */
    bool (*low_rank)(const mpki_tree_view *tree);
    /** Write the numbers to a file that is open; failures are the archive's. NULL, and so is the
     *  next one: the engine has none for that. */
    void (*save)(const mpki_direct *f, mpki_archive *to);
    /** Numbers of a factor of the same tree from a file, for a factor that has none yet; they are
     *  checked as far as anybody's would have to be.
     *  scale, size [in] as of the numbers that were saved; scale as in `factorize`
     *  Returns MPK_OK | the archive's failure: there are no numbers then */
    mpk_status (*load)(mpki_direct *f, mpki_archive *from, const double *scale, double size,
                       int threads);
} mpki_direct_engine;

#endif
