/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_MULTIFRONTAL_H
#define MPKI_CPU_MULTIFRONTAL_MULTIFRONTAL_H
/** The processor's multifrontal engine from inside: its factor, and the sweeps over it. Everything
 *  lies in host memory. */
#include "engines/interface/engine.h"
#include "core/arena.h"
#include "core/lock.h"
#include "core/pool.h"
#include "engines/cpu/front/front.h"
#include "kept.h"
#include "recycle.h"
#include "tasks.h"
#include "workers.h"

/** L in low rank, in place of a node's `a`. */
typedef struct mpki_low_node {
    mpki_low_block *block; /* panels times blocks of rows, as FN(low_rank) has them, those on the
                              diagonal whole */
    void *rest;    /* what the parent gathers of delayed columns, (nrows - nelim) x (w - nelim) */
    void *at_work; /* the front's FN(low_rank), as long as it is there */
} mpki_low_node;

/** One supernode after its elimination: the storage of its front (engines/cpu/front/front.h),
 *  entries of the factor's scalar type. Rows of the front: first the w columns id[0..w-1]
 *  (positions of the analysis; the first nelim were eliminated here, the others delayed to the
 *  parent), then the supernode's ridx. There may be as many nodes as columns, so what can be told
 *  from the rest is not kept. */
typedef struct mpki_node {
    void *a; /* of a general matrix: the columns, then the rows beside */
    void *
        d; /* then D^-1, 2 w entries each, then id: w; of a general matrix: D^-1, w entries, id, names
                of the rows, and exchanges */
    mpki_low_node *low; /* NULL: L is in a */
    int64_t nrows;
    int32_t w, nelim;
} mpki_node;

/** Where the parts of a node are; size: of an entry. */
static inline void *mpki_node_dinv(const mpki_node *node, size_t size) {
    return (char *)node->d + 2 * (size_t)node->w * size;
}
static inline int32_t *mpki_node_id(const mpki_node *node, size_t size) {
    return (int32_t *)(void *)((char *)node->d + 4 * (size_t)node->w * size);
}
/** The same of a general matrix (engines/cpu/front/square.h). */
static inline int32_t *mpki_square_id(const mpki_node *node, size_t size) {
    return (int32_t *)(void *)((char *)node->d + (size_t)node->w * size);
}
static inline int32_t *mpki_square_row(const mpki_node *node, size_t size) {
    return mpki_square_id(node, size) + node->w;
}

/** The node of the outer rows: what it has for its parent is the Schur complement. */
static inline bool mpki_is_outer(const mpki_tree_view *tree, int32_t s) {
    return tree->outer > 0 && s == tree->nsuper - 1;
}

/** Consecutive rows of a child's contribution that are consecutive in the parent's front too. */
typedef struct mpki_run {
    int32_t from, count, to;
} mpki_run;

/** What the walk over the tree works in, kept from one factorization to the next. */
typedef struct mpki_walk_memory {
    int threads;        /* as asked for; 0: nothing is allocated yet */
    mpki_useful useful; /* of these, by the plan */
    int workers;        /* of a factorization: the same, or fewer by what the last ones showed */
    mpki_tasks tasks;   /* for these workers, with the heaviest of its children for each */
    mpki_tasks sweeps;  /* for those of a solve */
    _Atomic int32_t *waits;   /* tasks.count */
    void **contribution;      /* nsuper */
    void **space;             /* workers: work space for blocks (engines/cpu/front/front.h) */
    void **runs;              /* workers: a child's rows, as runs */
    mpki_small_blocks *small; /* workers: of small contributions; empty between walks */
    int64_t bytes;            /* of all this, but for what `small` takes */
} mpki_walk_memory;

typedef struct mpki_places mpki_places; /* paths.h */

struct mpki_direct {
    mpk_context *ctx;
    mpki_tree_view tree;
    const double *scale; /* n, problem order: S of these numbers */
    double size;         /* largest entry of S A S */
    int64_t nnz;         /* of L */
    int32_t max_front;
    mpki_node *node; /* nsuper */
    mpki_arena arena;
    bool have_arena;
    mpki_walk_memory memory;
    mpki_pace pace;
    double limited; /* memory_limit for which that is one worker; 0: it is not for a limit */
    void *schur;    /* outer rows: the contribution of the last node, a trapezoid; NULL: none yet */
    mpki_kept *kept;     /* rules.keep: for the next values; NULL: nothing */
    mpki_lock making;    /* of: */
    mpki_places *places; /* for solves along paths; NULL until the first one */
    int most;            /* workers that memory_limit has work space for; 0: there is no limit */
};

/** Bytes of a node's storage, w and nrows being set: its panels, D, D^-1, names of its columns. */
static inline int64_t mpki_node_bytes(const mpki_node *node, size_t size) {
    return (mpki_trapezoid(node->nrows, node->w) + 4 * (int64_t)node->w) * (int64_t)size +
           node->w * (int64_t)sizeof(int32_t);
}
/** Lay it out in that many bytes. */
static inline void mpki_node_place(mpki_node *node, size_t size, void *memory) {
    node->a = memory;
    node->d = (char *)memory + (size_t)mpki_trapezoid(node->nrows, node->w) * size;
}
/** Names of its columns. */
static inline const int32_t *mpki_node_names(const mpki_tree_view *tree, const mpki_node *node) {
    const size_t size = mpk_scalar_size(tree->scalar);
    return tree->symmetry == MPK_GENERAL ? mpki_square_id(node, size) : mpki_node_id(node, size);
}
/** Columns that came from the children of supernode s. */
static inline int32_t mpki_node_delayed(const mpki_tree_view *tree, const mpki_node *node,
                                        int32_t s) {
    return node->w - (tree->sptr[s + 1] - tree->sptr[s]);
}

/** Is a front of the tree so large that its L may be kept in low rank? */
static inline bool mpki_direct_low(const mpki_tree_view *tree) {
    for (int32_t s = 0; s < tree->nsuper; s++) {
        const int64_t w = tree->sptr[s + 1] - tree->sptr[s];
        if (mpki_low_pays(w + tree->rptr[s + 1] - tree->rptr[s], w)) return true;
    }
    return false;
}

/** Work space of a factorization, and the order of the sweeps: f->memory, unless it is left from
 *  the last one. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_walk_memory_make(mpki_direct *f, int threads);
void mpki_walk_memory_free(mpk_context *ctx, mpki_walk_memory *m);
/** The slots of mpki_direct_engine. */
void mpki_direct_save(const mpki_direct *f, mpki_archive *to);
mpk_status mpki_direct_load(mpki_direct *f, mpki_archive *from, const double *scale, double size,
                            int threads);

/** Work space that the solves with one factor share. Right-hand sides go over the tree in parallel,
 *  one, or a block of them: what a node subtracts from its ancestors travels from child to parent
 *  (in u), so that no two threads write the same entry and the order of every sum is fixed. Where
 *  the tree has work for few, each worker takes blocks of its own over the whole tree; their bits are
 *  the same. */
struct mpki_direct_solver {
    mpk_context *ctx;
    const mpki_direct *f;
    const void *kernels; /* of the factor's precision */
    int threads;
    int block;       /* most right-hand sides swept together */
    bool apart;      /* blocks go to a worker each; else over the tree by all workers */
    bool alone;      /* now: this is under way */
    mpki_pool *pool; /* NULL: the calling thread alone */
    /* where a node's part of u begins, in rows of so many numbers as there are sides: >= 0: of the
     * `shared` ones, for a parent in another task; ~at: of the worker's `own`, a stack */
    int64_t *at, shared, own;
    void *u;
    void *y;                    /* (n + outer) * block, by position, for each who is alone */
    int32_t *pivot;             /* n: number of the pivot at each position; NULL: not asked for */
    void **v;                   /* threads: rows of a node */
    int32_t *child_ptr, *child; /* of the tasks: who waits for whom in the backward sweep */
    _Atomic int32_t *waits;
    int all; /* threads that the pool was asked for */
};

/* clang-format off */
#define MPKI_DIRECT(p)                                                                             \
    /** Fill f->node from the values ax (nnz), or from the scaled ones, sax, in f->memory. */       \
    mpk_status mpki_##p##_walk(mpki_direct *f, const void *ax, const void *sax,                    \
                               const mpki_pivot_rules *rules, const mpki_stop *stop,               \
                               mpki_numeric_result *result);                                       \
    /** Entries of a worker's space for fronts of at most n rows. */                               \
    int64_t mpki_##p##_walk_space(int64_t n);                                                      \
    /** sax := S A S, entry by entry; pool may be NULL */                                          \
    void mpki_##p##_scale_values(const mpki_tree_view *tree, const void *ax, const double *scale,  \
                                 void *sax, mpki_pool *pool);                                      \
    void mpki_##p##_get_d(const mpki_direct *f, void *d);                                          \
    void mpki_##p##_get_logdet(const mpki_direct *f, double *out);                                 \
    void mpki_##p##_at_zeros(const mpki_direct *f, void *y);                                       \
    int mpki_##p##_zero_pivots(const mpki_direct *f, int64_t all, int most,                        \
                               mpki_weak_pivot *list);                                             \
    int mpki_##p##_weak_pivots(const mpki_direct *f, double bound, int most,                       \
                               mpki_weak_pivot *list);                                             \
    void mpki_##p##_weak_to_zero(mpki_direct *f, const mpki_weak_pivot *list, int count);          \
    /** Vectors in positions, nrhs of them row by row: entry (position, r) at                      \
     *  [position * nrhs + r].  y := L^-1 y, one right-hand side, all workers. b: y is this, in    \
     *  the problem's order and to be scaled, node by node; NULL: it is there */                   \
    void mpki_##p##_forward(mpki_direct_solver *s, const void *b, void *y);                        \
    /** y := L^-T y (L^-H when Hermitian), of D^-1 y where `diagonal`, one right-hand side, all    \
     *  workers. x: likewise the result, node by node; NULL: it is not wanted there */             \
    void mpki_##p##_backward(mpki_direct_solver *s, bool diagonal, void *y, void *x);              \
    /** The same for nrhs right-hand sides, y in rows of nrhs, b and x by columns; backward of       \
     *  D^-1 y. By all workers, or by this one where the solver says that each is alone. */          \
    void mpki_##p##_forward_block(mpki_direct_solver *s, int worker, int nrhs, const void *b,      \
                                  int64_t ldb, void *y);                                           \
    void mpki_##p##_backward_block(mpki_direct_solver *s, int worker, int nrhs, void *y, void *x,  \
                                   int64_t ldx);                                                   \
    /** c := the contribution of the outer rows, unscaled: the lower triangle */                   \
    void mpki_##p##_get_schur(const mpki_direct *f, void *c, int64_t ldc);                         \
    /** The outer rows of y := 0, := what they are of x2, or x2 := what they are of y */           \
    void mpki_##p##_outer_clear(const mpki_direct *f, int nrhs, void *y);                          \
    void mpki_##p##_outer_in(const mpki_direct *f, int nrhs, const void *x2, int64_t ldx2,         \
                             void *y);                                                             \
    void mpki_##p##_outer_out(const mpki_direct *f, int nrhs, const void *y, void *x2,             \
                              int64_t ldx2);                                                       \
    /** After forward() or forward_block(): what the sweep subtracts from the outer rows */         \
    void mpki_##p##_outer_take(const mpki_direct_solver *s, int worker, int nrhs, void *y);        \
    /** y := D^-1 y for one right-hand side, zero pivots give 0 */                                 \
    void mpki_##p##_diagonal(const mpki_direct *f, void *y);                                       \
    /** y := |D|^-1 y for one right-hand side, 2x2 blocks by their eigenvalues (real, Hermitian)   \
     */                                                                                            \
    void mpki_##p##_diagonal_abs(const mpki_direct *f, void *y);                                   \
    /** The slot of mpki_direct_engine. */                                                         \
    mpk_status mpki_##p##_selected_inverse(mpk_context *ctx, const mpki_direct *f,                 \
                                           const mpki_selected_wish *wish,                         \
                                           mpki_selected_done *done);
/* clang-format on */
MPKI_DIRECT(s)
MPKI_DIRECT(d)
MPKI_DIRECT(c)
MPKI_DIRECT(z)
#undef MPKI_DIRECT

#endif
