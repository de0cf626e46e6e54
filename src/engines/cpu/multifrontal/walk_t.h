/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_WALK_T_H
#define MPKI_CPU_MULTIFRONTAL_WALK_T_H
/** The walk over the tree from inside: what all nodes share, and what depends on whether A is
 *  symmetric. Included by files that are compiled once for each scalar type. */
#include "core/scaled.h"
#include "engines/cpu/isa/cpu.h"
#include "multifrontal.h"
#include "tickets.h"
#include "tuning.h"

typedef struct worker_state {      /* in cache lines of its own */
    _Alignas(64) mpki_tally tally; /* of its nodes, where nothing is kept */
    mpki_run *runs;
    mpki_small_blocks *small;
    char *slab; /* memory of small nodes' numbers */
    int64_t slab_used;
} worker_state;

struct FN(node_kind);

typedef struct walk {
    mpki_direct *f;
    const mpki_tree_view *tree;
    const struct FN(node_kind) * kind;
    const T *sax; /* S A S; NULL: of A and S, entry by entry */
    const T *ax;
    int16_t *exponent; /* then: of S, by position; NULL: some are too far from 1 for that */
    FN(front_rules) rules;
    FN(front_work) * works;
    worker_state *state;
    mpki_recycler recycler;
    mpki_tickets tickets; /* where memory is limited; else empty */
    T **contribution;     /* nsuper: of each node; NULL: not there yet, or used up */
    _Atomic(T **) lent;   /* nsuper: a front at work, then columns that it left; NULL: none yet */
    mpki_kept *kept;      /* the contributions and the tallies are there; NULL: nothing is kept */
    bool whole;           /* every node is done */
    _Atomic int status;
    _Atomic double done_flops;
    double stop_flops;
    _Atomic bool runaway;
    _Atomic int64_t rejected; /* columns, as often as they were tried */
    _Atomic int64_t late;     /* columns that nodes of this walk have left to their parents */
    int64_t stop_rejected;
    R low_tolerance; /* > 0: large fronts are kept in low rank (low_rank.h) */
    T **low_space;   /* then: of each worker */
} walk;

/** A node in low rank: room for its front; what stays of it, once its parent's share is made; the
 *  front's room again, where it was not left. */
mpk_status FN(low_storage)(walk *z, mpki_node *node, mpki_pool *pool, int worker);
mpk_status FN(low_leave)(walk *z, mpki_node *node, mpki_tally *tally, mpki_pool *pool, int worker);
void FN(low_release)(walk *z, mpki_node *node);

/** What is done to a node. own: the supernode's columns; delayed: those that its children left. */
typedef struct FN(node_kind) {
    /** All of a leaf of one column, if it is small and its pivot stands; NULL: there is no such way.
     *  assembled [out] if not: is it ready to be eliminated? */
    bool (*leaf)(walk *z, int32_t s, int worker, bool *assembled);
    /** Entries of a contribution of m rows. */
    int64_t (*contribution)(int64_t m);
    /** Room for the node's numbers, zeros.
     *  room [inout] bytes at node->a from an older factorization, used where they do
     *  MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
    mpk_status (*storage)(walk *z, mpki_node *node, int64_t *room, mpki_pool *pool, int worker);
    /** Entries of A, delayed columns, and the children's contributions as far as they come into the
     *  fully summed part. */
    void (*assemble)(walk *z, int32_t s, int32_t own, int32_t delayed, mpki_pool *pool, int worker);
    /** Eliminate; node->nelim [out]. c := what the pivots leave of the rows below, unless c is NULL.
     *  As front_factor(). */
    mpk_status (*eliminate)(walk *z, int32_t s, T *c, mpki_pool *pool, int worker,
                            mpki_pivots *pivots);
    /** c += the rest of the children's contributions. m: rows of c */
    void (*gather)(const walk *z, int32_t s, int32_t own, int32_t delayed, T *c, int64_t m,
                   mpki_pool *pool, int worker);
    /** The columns that node s was to eliminate and has not are taken out of it, for its parent, and it is
     *  where it stays; NULL: they remain in it. MPK_OK | MPK_ERR_MEMORY */
    mpk_status (*leave)(walk *z, int32_t s, int worker);
    /** Of e pivots with l rows after them. */
    double (*flops)(double e, double l);
    int64_t (*entries)(int64_t e, int64_t rows);
} FN(node_kind);

extern const FN(node_kind) FN(symmetric_node), FN(general_node);

/* 2^exponent, which is a normal number. */
static inline double power_of_two(int exponent) {
    const union {
        uint64_t bits;
        double number;
    } p = {(uint64_t)(1023 + exponent) << 52};
    return p.number;
}

/* x by a power of two that may not fit a float, though the product does. near: see
 * mpki_scales_near */
static inline T scaled(T x, double s, double t, bool near) {
    const double re = (double)t_re(x), im = (double)t_im(x);
    return near ? t_make((R)(re * (s * t)), (R)(im * (s * t)))
                : t_make((R)mpki_scaled(re, s, t), (R)mpki_scaled(im, s, t));
}

/* A leaf of a symmetric matrix with a pivot or two makes no contribution: its parent takes the product
 * of its numbers. There may be as many as columns, and all wait for one parent. */
static inline bool FN(is_small_leaf)(const walk *z, int32_t s) {
    const mpki_tree_view *tree = z->tree;
    return tree->symmetry != MPK_GENERAL && mpki_is_small_leaf(tree->sptr, tree->child_ptr, s);
}

/* The rows of a child's contribution in its parent's front, from row `first` on, as runs. */
static inline int32_t make_runs(const mpki_tree_view *tree, int32_t child, int32_t first,
                                int32_t own, int32_t delayed, mpki_run *runs) {
    const int32_t *rel = tree->rel + tree->rptr[child];
    int32_t m = (int32_t)(tree->rptr[child + 1] - tree->rptr[child]), count = 0;
    for (int32_t r = first; r < m; r++) {
        int32_t to = rel[r] < own ? rel[r] : rel[r] + delayed;
        if (count && runs[count - 1].to + runs[count - 1].count == to)
            runs[count - 1].count++;
        else
            runs[count++] = (mpki_run){r, 1, to};
    }
    return count;
}

/* New memory of a node's numbers: of small ones from the worker's own slab, for all workers would ask the
 * arena thousands of times at once. Not where memory outlives the walk: what is left of slabs is lost. */
static inline void *new_memory(const walk *z, int worker, int64_t bytes) {
    worker_state *s = &z->state[worker];
    if (z->kept || z->f->memory.workers == 1 || bytes > MPKI_NUMBERS_SLAB / 8)
        return mpki_arena_alloc(&z->f->arena, bytes);
    if (!s->slab || mpki_arena_next(s->slab_used, bytes) > MPKI_NUMBERS_SLAB) {
        s->slab = mpki_arena_alloc(&z->f->arena, MPKI_NUMBERS_SLAB);
        s->slab_used = 0;
        if (!s->slab) return mpki_arena_alloc(&z->f->arena, bytes);
    }
    s->slab_used = mpki_arena_next(s->slab_used, bytes);
    return s->slab + s->slab_used - mpki_arena_next(0, bytes);
}

/* The node keeps `has` bytes of `had`, where nothing else was taken since. */
static inline void cut_memory(const walk *z, int worker, void *memory, int64_t had, int64_t has) {
    worker_state *s = &z->state[worker];
    const int64_t end = s->slab ? (char *)memory - s->slab + mpki_arena_next(0, had) : 0;
    if (s->slab && end == s->slab_used)
        s->slab_used = (char *)memory - s->slab + mpki_arena_next(0, has);
    else
        mpki_arena_cut(&z->f->arena, memory, had, has);
}

/* Memory that is wanted for a time: of a contribution, of columns that come late, of fronts of these. */
static inline T *lent_get(walk *z, int worker, int64_t bytes) {
    return bytes <= MPKI_SMALL ? mpki_small_get(z->state[worker].small, bytes)
                               : mpki_recycler_get(&z->recycler, bytes);
}
static inline void lent_put(walk *z, int worker, T *block, int64_t bytes) {
    if (bytes <= MPKI_SMALL)
        mpki_small_put(z->state[worker].small, block, bytes);
    else
        mpki_recycler_put(&z->recycler, block, bytes);
}

/* Columns that a node has left: all of its rows that were not eliminated, without gaps. */
static inline int64_t rest_bytes(const mpki_node *node) {
    return (node->nrows - node->nelim) * (node->w - node->nelim) * (int64_t)sizeof(T);
}
static inline void release_lent(walk *z, int worker, int32_t s) {
    T **lent = atomic_load(&z->lent);
    const mpki_node *node = &z->f->node[s];
    if (!lent || !lent[s]) return;
    const bool front = lent[s] == node->a;
    lent_put(z, worker, lent[s], front ? mpki_node_bytes(node, sizeof(T)) : rest_bytes(node));
    lent[s] = NULL;
}

/* What the node has, if that is enough. */
static inline void *node_memory(const walk *z, const mpki_node *node, int worker, int64_t bytes,
                                int64_t *room) {
    if (node->a && *room >= bytes) return node->a;
    *room = bytes;
    return new_memory(z, worker, bytes);
}

/* Zeros in a node's new memory: by all workers where it is much, each its own pages. */
static inline mpk_status clear_node(const walk *z, void *memory, size_t bytes, mpki_pool *pool,
                                    int worker) {
    return mpki_clear_shared(z->f->ctx, "factorize", memory, bytes, pool, worker)
               ? MPK_ERR_CANCELLED
               : MPK_OK;
}

#endif
