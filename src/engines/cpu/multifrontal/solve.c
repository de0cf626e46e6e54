/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a direct factor or a part of it: work space, and the order of the sweeps. */
#include "general.h"
#include "solve.h"
#include "tuning.h"

#include <string.h>

enum { BLOCK = 8 /* right-hand sides of a sweep; fixed, so that bits do not depend on threads */ };

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
    if (s->pool) s->pool = mpki_context_pool(s->ctx, s->all, s->f->memory.tasks.count + 1);
    return mpki_pool_set_team(s->pool, s->threads);
}

static void fill(mpki_direct_solver *s, int threads) {
    const mpki_tree_view *tree = &s->f->tree;
    const mpki_tasks *tasks = &s->f->memory.tasks;
    const size_t size = mpk_scalar_size(tree->scalar);
    s->at = MPKI_NEW(s->ctx, "solve", (int64_t)tree->nsuper + 1, int64_t);
    s->v = MPKI_ZNEW(s->ctx, "solve", s->threads, void *);
    if (!s->at || !s->v) return;
    s->at[0] = 0;
    for (int32_t k = 0; k < tree->nsuper; k++)
        s->at[k + 1] = s->at[k] + s->f->node[k].nrows - s->f->node[k].nelim;
    s->u = mpki_alloc(s->ctx, "solve", s->at[tree->nsuper], size);
    for (int t = 0; t < s->threads; t++) {
        const int64_t rows = (int64_t)s->f->max_front + 8;
        s->v[t] = mpki_alloc(s->ctx, "solve",
                             rows * s->block + MPKI_PANEL * (int64_t)(s->block + 16), size);
    }
    if (s->threads > 1 && !mpk_failed(mpki_failed(s->ctx))) {
        mpki_tasks_children(s->ctx, "solve", tasks, &s->child_ptr, &s->child);
        s->waits = mpki_alloc(s->ctx, "solve", tasks->count + 1, sizeof *s->waits);
        s->pool = mpki_context_pool(s->ctx, threads, tasks->count + 1);
    }
    const int vectors = tree->symmetry == MPK_GENERAL ? 2 : 1; /* equations, and unknowns */
    s->y = mpki_alloc(s->ctx, "solve", vectors * rows_of(tree) * s->block * s->threads, size);
}

mpk_status mpki_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                   int32_t columns, mpki_direct_solver **out) {
    mpki_direct_solver *s = MPKI_ZNEW(ctx, "solve", 1, mpki_direct_solver);
    *out = s;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->f = f;
    s->block = columns < 2 ? 1 : columns < BLOCK ? columns : BLOCK;
    s->threads = 1;
    const int all = mpki_context_threads(ctx, threads), planned = f->memory.useful.solve;
    if (f->memory.tasks.count > 1) /* a column over the tree, as it was cut to be factorized */
        s->threads = planned < all ? planned : all;
    if (s->block > 1 && f->nnz * s->block >= MPKI_SOLVE_SHARED) {
        const int64_t blocks = (columns + BLOCK - 1) / BLOCK, most = blocks < all ? blocks : all;
        if (s->threads < most) s->threads = (int)most;
    }
    s->all = all;
    fill(s, all);
    if (mpk_failed(mpki_failed(ctx))) mpki_direct_solver_free(out);
    return mpki_failed(ctx);
}

/* ---- X := A^-1 B, blocks of columns, a worker for each --------------------------------------- */

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
    return (char *)s->y + worker * rows_of(&s->f->tree) * s->block * size;
}

static void block_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const columns *c = arg;
    const mpki_direct *f = c->s->f;
    const mpk_scalar scalar = f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int64_t r0 = item * BLOCK;
    const int block = c->nrhs - r0 < BLOCK ? (int)(c->nrhs - r0) : BLOCK;
    if (mpki_cancelled(c->s->ctx)) return;
    char *y = room_of(c->s, worker);
    MPKI_DISPATCH(scalar, permute_in)(f, block, c->b + (size_t)(r0 * c->ldb) * size, c->ldb, y);
    MPKI_DISPATCH(scalar, outer_clear)(f, block, y);
    MPKI_DISPATCH(scalar, sweep_block)(c->s, worker, block, y);
    MPKI_DISPATCH(scalar, permute_out)(f, block, y, c->x + (size_t)(r0 * c->ldx) * size, c->ldx);
}

/* ---- a part of it, on one column ------------------------------------------------------------- */

mpk_status mpki_direct_by_pivots(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    if (s->pivot || !(s->pivot = MPKI_NEW(s->ctx, "solve", f->tree.n, int32_t)))
        return mpki_failed(s->ctx);
    int32_t next = 0;
    for (int32_t k = 0; k < f->tree.nsuper; k++)
        for (int32_t j = 0; j < f->node[k].nelim; j++) s->pivot[f->node[k].id[j]] = next++;
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
    if (part == MPK_PART_D) MPKI_DISPATCH(scalar, diagonal)(f, 1, s->y);
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
        mpki_pool_for(s->pool, 0, (nrhs + BLOCK - 1) / BLOCK, block_item, &c);
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
    const int block = c->nrhs - r0 < c->s->block ? (int)(c->nrhs - r0) : c->s->block;
    if (mpki_cancelled(c->s->ctx)) return;
    char *y = room_of(c->s, worker);
    char *x2 = c->x2 ? c->x2 + (size_t)(r0 * c->ldx2) * size : NULL;
    const bool alone = c->s->block == 1; /* one right-hand side goes over the tree in parallel */
    const char *b = c->b + (size_t)(r0 * c->ldb) * size;
    char *x = c->part == MPKI_CONDENSE ? NULL : c->x + (size_t)(r0 * c->ldx) * size;
    MPKI_DISPATCH(scalar, outer_clear)(f, block, y);
    if (alone) {
        MPKI_DISPATCH(scalar, forward)(c->s, b, y);
        MPKI_DISPATCH(scalar, outer_take)(c->s, y);
    } else {
        MPKI_DISPATCH(scalar, permute_in)(f, block, b, c->ldb, y);
        MPKI_DISPATCH(scalar, forward_sweep)(c->s, worker, block, y);
    }
    if (c->part == MPKI_CONDENSE) {
        MPKI_DISPATCH(scalar, outer_out)(f, block, y, x2, c->ldx2);
        return;
    }
    MPKI_DISPATCH(scalar, outer_in)(f, block, x2, c->ldx2, y);
    if (alone) {
        MPKI_DISPATCH(scalar, backward)(c->s, true, y, x);
        return;
    }
    MPKI_DISPATCH(scalar, diagonal)(f, block, y);
    MPKI_DISPATCH(scalar, backward_sweep)(c->s, worker, block, y);
    MPKI_DISPATCH(scalar, permute_out)(f, block, y, x, c->ldx);
}

mpk_status mpki_direct_outer(mpki_direct_solver *s, mpki_outer_part part, int32_t nrhs,
                             const void *b, int64_t ldb, void *x2, int64_t ldx2, void *x,
                             int64_t ldx) {
    columns c = {s, b, x, ldb, ldx, nrhs, x2, ldx2, part};
    const int team = take_team(s);
    if (s->block > 1) mpki_pool_for(s->pool, 0, (nrhs + s->block - 1) / s->block, outer_item, &c);
    for (int32_t r = 0; s->block == 1 && r < nrhs; r++) outer_item(NULL, 0, &c, r);
    mpki_pool_set_team(s->pool, team);
    return mpki_cancelled(s->ctx) ? mpki_stopped(s->ctx, "solve") : MPK_OK;
}
