/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a direct factor or a part of it: work space, and the order of the sweeps. */
#include "general.h"
#include "solve.h"
#include "tuning.h"

#include <string.h>

/* Right-hand sides of a sweep, at most and, where workers are to have some each, at least; of a
 * general matrix, whose bits depend on it, always the least. */
enum { LEAST = 8 };

void mpki_direct_solver_free(mpki_direct_solver **handle) {
    mpki_direct_solver *s = *handle;
    if (!s) return;
    for (int t = 0; s->v && t < s->threads; t++) mpki_release(s->ctx, s->v[t]);
    mpki_release(s->ctx, s->v);
    mpki_release(s->ctx, s->y);
    mpki_release(s->ctx, s->pivot);
    mpki_release(s->ctx, s->at);
    mpki_release(s->ctx, s->u);
    mpki_release(s->ctx, s->child_ptr);
    mpki_release(s->ctx, s->child);
    mpki_release(s->ctx, (void *)s->waits);
    mpki_release(s->ctx, s);
    *handle = NULL;
}

/* Rows of a vector by positions. */
static int64_t rows_of(const mpki_tree_view *tree) {
    return (int64_t)tree->n + tree->outer;
}

/* The pool once more, for another solver with the same context may have asked for a larger one, or
 * the process has forked. Returns how many its team was. */
static int take_team(mpki_direct_solver *s) {
    if (s->pool) s->pool = mpki_context_pool(s->ctx, s->all, s->f->memory.sweeps.count + 1);
    return mpki_pool_set_team(s->pool, s->threads);
}

/* Places in u: a node's part lies on the stack of the worker that does its task, where the parent
 * takes it from the top; of the last of a task, in the memory that all see. */
static void place(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const mpki_tree_view *tree = &f->tree;
    const mpki_tasks *tasks = &f->memory.sweeps;
    const mpki_task all = {.first = 0, .last = tree->nsuper - 1};
    for (int32_t k = 0; k < (s->threads > 1 ? tasks->count : 1); k++) {
        const mpki_task *t = s->threads > 1 ? &tasks->task[k] : &all;
        int64_t top = 0;
        for (int32_t c = t->first; c <= t->last; c++) {
            const int64_t rows = f->node[c].nrows - f->node[c].nelim;
            for (int32_t q = tree->child_ptr[c]; q < tree->child_ptr[c + 1]; q++) {
                const mpki_node *child = &f->node[tree->child[q]];
                if (s->at[tree->child[q]] < 0) top -= child->nrows - child->nelim;
            }
            if (tree->parent[c] < 0 || tree->parent[c] > t->last) {
                s->at[c] = s->shared;
                s->shared += rows;
            } else {
                s->at[c] = ~top;
                top += rows;
                if (top > s->own) s->own = top;
            }
        }
    }
}

static void fill(mpki_direct_solver *s, int threads) {
    const mpki_tree_view *tree = &s->f->tree;
    const mpki_tasks *tasks = &s->f->memory.sweeps;
    const size_t size = mpk_scalar_size(tree->scalar);
    s->at = MPKI_NEW(s->ctx, "solve", (int64_t)tree->nsuper + 1, int64_t);
    s->v = MPKI_ZNEW(s->ctx, "solve", s->threads, void *);
    if (!s->at || !s->v) return;
    place(s);
    const int64_t rows =
        s->apart ? s->threads * (s->shared + s->own) : s->shared + s->threads * s->own;
    s->u = mpki_alloc(s->ctx, "solve", rows * s->block, size);
    for (int t = 0; t < s->threads; t++)
        s->v[t] = mpki_alloc(s->ctx, "solve",
                             ((int64_t)s->f->max_front + 8) * s->block +
                                 (tree->symmetry == MPK_GENERAL ? MPKI_PANEL * (s->block + 16) : 0),
                             size);
    if (s->threads > 1 && !mpk_failed(mpki_failed(s->ctx))) {
        mpki_tasks_children(s->ctx, "solve", tasks, &s->child_ptr, &s->child);
        s->waits = mpki_alloc(s->ctx, "solve", tasks->count + 1, sizeof *s->waits);
        s->pool = mpki_context_pool(s->ctx, threads, tasks->count + 1);
    }
    const int vectors = tree->symmetry == MPK_GENERAL ? 2 : 1; /* equations, and unknowns */
    s->y = mpki_alloc(s->ctx, "solve",
                      vectors * rows_of(tree) * s->block * (s->apart ? s->threads : 1), size);
}

static int least(int64_t a, int64_t b) {
    return (int)(a < b ? a : b);
}

mpk_status mpki_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                   int32_t columns, mpki_direct_solver **out) {
    mpki_direct_solver *s = MPKI_ZNEW(ctx, "solve", 1, mpki_direct_solver);
    const bool general = f->tree.symmetry == MPK_GENERAL;
    *out = s;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->f = f;
    s->block = columns < 2 ? 1 : least(columns, general ? LEAST : MPKI_SIDES);
    s->threads = 1;
    const mpki_useful *useful = &f->memory.useful;
    const int all = mpki_context_threads(ctx, threads);
    if (f->memory.sweeps.count > 1)
        s->threads = least(s->block > 1 && !general ? useful->sides : useful->solve, all);
    if (s->block > 1 && f->nnz * s->block >= MPKI_SOLVE_SHARED) {
        const int64_t apart = least((columns + LEAST - 1) / LEAST, all);
        s->apart = apart > s->threads;
        if (s->apart) s->threads = (int)apart;
    }
    if (s->apart) s->block = LEAST;
    s->apart = s->apart || general;
    s->all = all;
    fill(s, all);
    if (mpk_failed(mpki_failed(ctx))) mpki_direct_solver_free(out);
    return mpki_failed(ctx);
}

/* ---- X := A^-1 B, blocks of columns ----------------------------------------------------------- */

typedef struct columns {
    mpki_direct_solver *s;
    const char *b;
    char *x;
    int64_t ldb, ldx;
    int32_t nrhs;
    char *x2; /* of the outer rows: outer_item() */
    int64_t ldx2;
    mpki_outer_part part;
} columns;

static char *room_of(const mpki_direct_solver *s, int worker) {
    const int64_t size = (int64_t)mpk_scalar_size(s->f->tree.scalar);
    return (char *)s->y + (s->alone ? worker : 0) * rows_of(&s->f->tree) * s->block * size;
}

/* One block after the other over the tree, or each by a worker. */
static void each_block(columns *c, mpki_task_fn item) {
    mpki_direct_solver *s = c->s;
    const int64_t blocks = (c->nrhs + s->block - 1) / s->block;
    s->alone = s->apart;
    if (s->apart) mpki_pool_for(s->pool, 0, blocks, item, c);
    for (int64_t k = 0; !s->apart && k < blocks; k++) item(NULL, 0, c, k);
    s->alone = false;
}

static void block_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const columns *c = arg;
    const mpki_direct *f = c->s->f;
    const mpk_scalar scalar = f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int64_t r0 = item * c->s->block;
    const int block = least(c->nrhs - r0, c->s->block);
    if (mpki_cancelled(c->s->ctx)) return;
    char *y = room_of(c->s, worker);
    MPKI_DISPATCH(scalar, forward_block)
    (c->s, worker, block, c->b + (size_t)(r0 * c->ldb) * size, c->ldb, y);
    MPKI_DISPATCH(scalar, outer_clear)(f, block, y);
    MPKI_DISPATCH(scalar, backward_block)
    (c->s, worker, block, y, c->x + (size_t)(r0 * c->ldx) * size, c->ldx);
}

/* ---- a part of it, on one column ------------------------------------------------------------- */

mpk_status mpki_direct_by_pivots(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    if (s->pivot || !(s->pivot = MPKI_NEW(s->ctx, "solve", f->tree.n, int32_t)))
        return mpki_failed(s->ctx);
    int32_t next = 0;
    for (int32_t k = 0; k < f->tree.nsuper; k++)
        for (int32_t j = 0; j < f->node[k].nelim; j++)
            s->pivot[mpki_node_names(&f->tree, &f->node[k])[j]] = next++;
    return MPK_OK;
}

/* From and to a caller's vector between two parts. */
static void take_between(const mpki_direct_solver *s, size_t size, const char *b, char *y) {
    const int32_t n = s->f->tree.n;
    if (!s->pivot) memcpy(y, b, (size_t)n * size);
    for (int32_t k = 0; s->pivot && k < n; k++)
        memcpy(y + (size_t)k * size, b + (size_t)s->pivot[k] * size, size);
}
static void give_between(const mpki_direct_solver *s, size_t size, const char *y, char *x) {
    const int32_t n = s->f->tree.n;
    if (!s->pivot) memcpy(x, y, (size_t)n * size);
    for (int32_t k = 0; s->pivot && k < n; k++)
        memcpy(x + (size_t)s->pivot[k] * size, y + (size_t)k * size, size);
}

static void apply_column(mpki_direct_solver *s, mpk_part part, const void *b, void *x) {
    const mpki_direct *f = s->f;
    const mpk_scalar scalar = f->tree.scalar;
    const bool all = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const size_t size = mpk_scalar_size(scalar);
    const bool abs = part == MPK_PART_ABS, divides = part == MPK_PART_ALL;
    if (all || part == MPK_PART_L)
        MPKI_DISPATCH(scalar, forward)(s, b, s->y);
    else
        take_between(s, size, b, s->y);
    if (abs) MPKI_DISPATCH(scalar, diagonal_abs)(f, s->y);
    if (part == MPK_PART_D) MPKI_DISPATCH(scalar, diagonal)(f, s->y);
    if (all || part == MPK_PART_LT) {
        MPKI_DISPATCH(scalar, outer_clear)(f, 1, s->y);
        MPKI_DISPATCH(scalar, backward)(s, divides, s->y, x);
    } else {
        give_between(s, size, s->y, x);
    }
}

/* ---- of a general matrix --------------------------------------------------------------------- */

typedef struct general {
    columns c;
    bool transposed;
} general;

static void general_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const general *g = arg;
    mpki_direct_solver *s = g->c.s;
    const mpki_direct *f = s->f;
    const mpk_scalar scalar = f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int64_t r0 = item * s->block, n = f->tree.n;
    const int block = g->c.nrhs - r0 < s->block ? (int)(g->c.nrhs - r0) : s->block;
    if (mpki_cancelled(s->ctx)) return;
    char *y = (char *)s->y + (size_t)(worker * 2 * n * s->block) * size;
    char *x = y + (size_t)(n * s->block) * size;
    MPKI_DISPATCH(scalar, general_in)
    (f, g->transposed, block, g->c.b + (size_t)(r0 * g->c.ldb) * size, g->c.ldb, y);
    if (s->block == 1)
        MPKI_DISPATCH(scalar, general_solve)(s, g->transposed, y, x);
    else
        MPKI_DISPATCH(scalar, general_block)(s, worker, block, g->transposed, y, x);
    MPKI_DISPATCH(scalar, general_out)
    (f, g->transposed, block, x, g->c.x + (size_t)(r0 * g->c.ldx) * size, g->c.ldx);
}

static mpk_status apply_general(mpki_direct_solver *s, bool transposed, int32_t nrhs, const void *b,
                                int64_t ldb, void *x, int64_t ldx) {
    general g = {{.s = s, .b = b, .x = x, .ldb = ldb, .ldx = ldx, .nrhs = nrhs}, transposed};
    if (nrhs == 0 || s->f->tree.n == 0) return MPK_OK;
    const int team = take_team(s);
    if (s->block > 1) mpki_pool_for(s->pool, 0, (nrhs + s->block - 1) / s->block, general_item, &g);
    for (int32_t r = 0; s->block == 1 && r < nrhs; r++) general_item(NULL, 0, &g, r);
    mpki_pool_set_team(s->pool, team);
    return mpki_cancelled(s->ctx) ? mpki_stopped(s->ctx, "solve") : MPK_OK;
}

mpk_status mpki_direct_transposed(mpki_direct_solver *s, int32_t nrhs, const void *b, int64_t ldb,
                                  void *x, int64_t ldx) {
    return apply_general(s, true, nrhs, b, ldb, x, ldx);
}

mpk_status mpki_direct_null(mpki_direct_solver *s, bool transposed, void *x) {
    const mpki_direct *f = s->f;
    const mpk_scalar scalar = f->tree.scalar;
    char *v = (char *)s->y + (size_t)f->tree.n * mpk_scalar_size(scalar);
    const int team = take_team(s);
    MPKI_DISPATCH(scalar, general_null)(s, transposed, s->y, v);
    mpki_pool_set_team(s->pool, team);
    MPKI_DISPATCH(scalar, general_out)(f, transposed, 1, v, x, f->tree.n);
    return mpki_cancelled(s->ctx) ? mpki_stopped(s->ctx, "solve") : MPK_OK;
}

/* ---- of any ---------------------------------------------------------------------------------- */

mpk_status mpki_direct_apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx) {
    const size_t size = mpk_scalar_size(s->f->tree.scalar);
    if (nrhs == 0 || s->f->tree.n == 0) return MPK_OK;
    if (s->f->tree.symmetry == MPK_GENERAL) return apply_general(s, false, nrhs, b, ldb, x, ldx);
    const int team = take_team(s);
    if (part == MPK_PART_ALL && nrhs > 1 && s->block > 1) {
        columns c = {.s = s, .b = b, .x = x, .ldb = ldb, .ldx = ldx, .nrhs = nrhs};
        each_block(&c, block_item);
    } else {
        for (int32_t r = 0; r < nrhs && !mpki_cancelled(s->ctx); r++)
            apply_column(s, part, (const char *)b + (size_t)(r * ldb) * size,
                         (char *)x + (size_t)(r * ldx) * size);
    }
    mpki_pool_set_team(s->pool, team);
    return mpki_cancelled(s->ctx) ? mpki_stopped(s->ctx, "solve") : MPK_OK;
}

/* ---- over the outer rows --------------------------------------------------------------------- */

static void outer_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const columns *c = arg;
    const mpki_direct *f = c->s->f;
    const mpk_scalar scalar = f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int64_t r0 = item * c->s->block;
    const int block = least(c->nrhs - r0, c->s->block);
    if (mpki_cancelled(c->s->ctx)) return;
    char *y = room_of(c->s, worker);
    char *x2 = c->x2 ? c->x2 + (size_t)(r0 * c->ldx2) * size : NULL;
    const bool one = c->s->block == 1;
    const char *b = c->b + (size_t)(r0 * c->ldb) * size;
    char *x = c->part == MPKI_CONDENSE ? NULL : c->x + (size_t)(r0 * c->ldx) * size;
    if (one)
        MPKI_DISPATCH(scalar, forward)(c->s, b, y);
    else
        MPKI_DISPATCH(scalar, forward_block)(c->s, worker, block, b, c->ldb, y);
    if (c->part == MPKI_CONDENSE) {
        MPKI_DISPATCH(scalar, outer_take)(c->s, worker, block, y);
        MPKI_DISPATCH(scalar, outer_out)(f, block, y, x2, c->ldx2);
        return;
    }
    MPKI_DISPATCH(scalar, outer_in)(f, block, x2, c->ldx2, y);
    if (one)
        MPKI_DISPATCH(scalar, backward)(c->s, true, y, x);
    else
        MPKI_DISPATCH(scalar, backward_block)(c->s, worker, block, y, x, c->ldx);
}

mpk_status mpki_direct_outer(mpki_direct_solver *s, mpki_outer_part part, int32_t nrhs,
                             const void *b, int64_t ldb, void *x2, int64_t ldx2, void *x,
                             int64_t ldx) {
    columns c = {s, b, x, ldb, ldx, nrhs, x2, ldx2, part};
    const int team = take_team(s);
    each_block(&c, outer_item);
    mpki_pool_set_team(s->pool, team);
    return mpki_cancelled(s->ctx) ? mpki_stopped(s->ctx, "solve") : MPK_OK;
}
