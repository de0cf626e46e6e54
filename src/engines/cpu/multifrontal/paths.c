/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with few rows of b and x: which nodes are visited, in which order right-hand sides come,
 * and the memory of that. */
#include "paths.h"
#include "core/ascending.h"
#include "tuning.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "solve";

/* ---- where columns were eliminated ----------------------------------------------------------- */

void mpki_places_free(mpki_direct *f) {
    mpki_places *p = f->places;
    if (!p) return;
    mpki_release(f->ctx, p->node);
    mpki_release(f->ctx, p->place);
    mpki_release(f->ctx, p->position);
    mpki_release(f->ctx, p);
    f->places = NULL;
}

static void make_places(mpki_direct *f) {
    const int32_t n = f->tree.n;
    mpki_places *p = MPKI_ZNEW(f->ctx, NULL, 1, mpki_places);
    if (!p) return;
    f->places = p;
    p->node = MPKI_NEW(f->ctx, NULL, n, int32_t);
    p->place = MPKI_NEW(f->ctx, NULL, n, int32_t);
    p->position = MPKI_NEW(f->ctx, NULL, n, int32_t);
    if (!p->node || !p->place || !p->position) {
        mpki_places_free(f);
        return;
    }
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const int32_t *id = mpki_node_names(&f->tree, &f->node[s]);
        p->entries += 2 * f->node[s].nelim * f->node[s].nrows;
        for (int32_t k = 0; k < f->node[s].nelim; k++) {
            p->node[id[k]] = s;
            p->place[id[k]] = k;
        }
    }
    for (int32_t k = 0; k < n; k++) p->position[f->tree.perm[k]] = k;
}

/* Made by the first call that asks, for all that come, in memory of the factor. NULL: none is left,
 * recorded in ctx alone: the factor's context may be in a call of another thread. */
static const mpki_places *places_of(mpk_context *ctx, const mpki_direct *f) {
    mpki_direct *own = (mpki_direct *)(uintptr_t)f; /* what is made is no other for who asks */
    /* half made by a thread that a fork has left behind: of no use */
    if (mpki_lock_take(&own->making)) own->places = NULL;
    if (!own->places) make_places(own);
    const mpki_places *p = own->places;
    mpki_lock_give(&own->making);
    if (!p) mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "out of host memory");
    return p;
}

/* ---- which nodes ----------------------------------------------------------------------------- */

/* Node of a row. */
static int32_t node_of(const mpki_path_call *c, int32_t row) {
    return c->places->node[c->places->position[row]];
}

/* The nodes of s->list in postorder: by sorting them, or where they are many by looking through
 * all. */
static void put_in_order(const mpki_path_call *c, mpki_path_space *s) {
    const int32_t all = c->f->tree.nsuper;
    if (s->count < all / 16) {
        qsort(s->list, (size_t)s->count, sizeof *s->list, mpki_ascending);
        return;
    }
    s->count = 0;
    for (int32_t t = 0; t < all; t++)
        if (s->mask[t]) s->list[s->count++] = t;
}

/* The nodes of a block: those on the paths of its right-hand sides, and where they and the wanted
 * ones lie in its vectors. */
static void find_nodes(const mpki_path_call *c, mpki_path_space *s) {
    const mpki_sparse_sides *sides = c->sides;
    const mpki_node *node = c->f->node;
    s->count = 0;
    for (int r = 0; r < s->nrhs; r++)
        for (int64_t k = sides->bptr[s->side[r]]; k < sides->bptr[s->side[r] + 1]; k++)
            for (int32_t t = node_of(c, sides->brow[k]); t >= 0 && !(s->mask[t] >> r & 1);
                 t = c->f->tree.parent[t]) {
                if (!s->mask[t]) s->list[s->count++] = t;
                s->mask[t] |= (uint8_t)(1 << r);
            }
    put_in_order(c, s);
    s->ny = s->nu = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t t = s->list[i];
        s->y_at[t] = s->ny, s->u_at[t] = s->nu;
        s->ny += node[t].nelim, s->nu += node[t].nrows - node[t].nelim;
    }
    for (int32_t i = 0; i < c->ups; i++) {
        const int32_t t = c->up ? c->up[i] : i;
        if (s->mask[t]) continue;
        s->y_at[t] = s->ny;
        s->ny += node[t].nelim;
    }
}

static bool grow(mpk_context *ctx, void **array, size_t *room, size_t bytes) {
    if (*array && bytes <= *room) return true;
    mpki_release(ctx, *array);
    *room = 0;
    *array = mpki_alloc(ctx, STAGE, (int64_t)(bytes + bytes / 2), 1);
    if (*array) *room = bytes + bytes / 2;
    return *array != NULL;
}

static void block_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const mpki_path_call *c = arg;
    mpki_path_space *s = &c->space[worker];
    const int64_t first = item * MPKI_PATHS_BLOCK, left = c->sides->nrhs - first;
    const mpk_scalar scalar = c->f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    if (mpki_cancelled(c->ctx) || mpk_failed(mpki_failed(c->ctx))) return;
    s->nrhs = left < MPKI_PATHS_BLOCK ? (int)left : MPKI_PATHS_BLOCK;
    s->side = c->order + first;
    find_nodes(c, s);
    if (grow(c->ctx, &s->y, &s->y_room, (size_t)(s->nrhs * s->ny) * size) &&
        grow(c->ctx, &s->u, &s->u_room, (size_t)(s->nrhs * s->nu) * size))
        MPKI_DISPATCH(scalar, paths_block)(c, s);
    for (int32_t i = 0; i < s->count; i++) s->mask[s->list[i]] = 0;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* A right-hand side and its lowest node. */
typedef struct ranked {
    int32_t node;
    int64_t side;
} ranked;

static int by_node(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->side > y->side) - (x->side < y->side);
}

/* c->order: neighbours share most of their paths. */
static void rank_sides(mpki_path_call *c) {
    const mpki_sparse_sides *sides = c->sides;
    ranked *all = MPKI_NEW(c->ctx, STAGE, sides->nrhs, ranked);
    c->order = MPKI_NEW(c->ctx, STAGE, sides->nrhs, int64_t);
    for (int32_t r = 0; all && r < sides->nrhs; r++) {
        all[r] = (ranked){c->f->tree.nsuper, r};
        for (int64_t k = sides->bptr[r]; k < sides->bptr[r + 1]; k++) {
            const int32_t t = node_of(c, sides->brow[k]);
            if (t < all[r].node) all[r].node = t;
        }
    }
    if (all && c->order) {
        qsort(all, (size_t)sides->nrhs, sizeof *all, by_node);
        for (int32_t r = 0; r < sides->nrhs; r++) c->order[r] = all[r].side;
    }
    mpki_release(c->ctx, all);
}

/* The nodes above wanted rows; *wanted, *up [out] both NULL where all rows are. */
static void find_wanted(mpki_path_call *c, uint8_t **wanted, int32_t **up) {
    const mpki_sparse_sides *sides = c->sides;
    const int32_t all = c->f->tree.nsuper;
    c->ups = all;
    if (!sides->row) return;
    *wanted = MPKI_ZNEW(c->ctx, STAGE, all + 1, uint8_t);
    *up = MPKI_NEW(c->ctx, STAGE, all + 1, int32_t);
    if (!*wanted || !*up) return;
    c->ups = 0;
    for (int32_t i = 0; i < sides->wanted; i++)
        for (int32_t t = node_of(c, sides->row[i]); t >= 0 && !(*wanted)[t];
             t = c->f->tree.parent[t]) {
            (*wanted)[t] = 1;
            (*up)[c->ups++] = t;
        }
    qsort(*up, (size_t)c->ups, sizeof **up, mpki_ascending);
    c->wanted = *wanted, c->up = *up;
}

static void make_space(const mpki_path_call *c, mpki_path_space *s) {
    const int32_t all = c->f->tree.nsuper;
    const int block = c->sides->nrhs < MPKI_PATHS_BLOCK ? c->sides->nrhs : MPKI_PATHS_BLOCK;
    s->rows = (int64_t)c->f->max_front + 8;
    s->mask = MPKI_ZNEW(c->ctx, STAGE, all + 1, uint8_t);
    s->list = MPKI_NEW(c->ctx, STAGE, all + 1, int32_t);
    s->y_at = MPKI_NEW(c->ctx, STAGE, all + 1, int64_t);
    s->u_at = MPKI_NEW(c->ctx, STAGE, all + 1, int64_t);
    s->row_at = MPKI_NEW(c->ctx, STAGE, s->rows, int64_t);
    s->v = mpki_alloc(c->ctx, STAGE, s->rows * block, mpk_scalar_size(c->f->tree.scalar));
}

static void free_space(mpk_context *ctx, mpki_path_space *s) {
    mpki_release(ctx, s->mask);
    mpki_release(ctx, s->list);
    mpki_release(ctx, s->y_at);
    mpki_release(ctx, s->u_at);
    mpki_release(ctx, s->row_at);
    mpki_release(ctx, s->v);
    mpki_release(ctx, s->y);
    mpki_release(ctx, s->u);
}

mpk_status mpki_direct_sparse(mpk_context *ctx, const mpki_direct *f, int threads,
                              const mpki_sparse_sides *sides, mpki_sparse_done *done) {
    mpki_path_call c = {.ctx = ctx, .f = f, .sides = sides};
    const int64_t blocks = ((int64_t)sides->nrhs + MPKI_PATHS_BLOCK - 1) / MPKI_PATHS_BLOCK;
    uint8_t *wanted = NULL;
    int32_t *up = NULL;
    *done = (mpki_sparse_done){0};
    c.places = places_of(ctx, f);
    if (!c.places) return mpki_failed(ctx);
    if (blocks < 2 || f->nnz < MPKI_SOLVE_SHARED) threads = 1;
    if (threads > blocks) threads = (int)blocks;
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, blocks + 1) : NULL;
    threads = mpki_pool_threads(pool);
    c.space = MPKI_ZNEW(ctx, STAGE, threads, mpki_path_space);
    rank_sides(&c);
    find_wanted(&c, &wanted, &up);
    for (int t = 0; c.space && t < threads; t++) make_space(&c, &c.space[t]);
    if (!mpk_failed(mpki_failed(ctx))) mpki_pool_for(pool, 0, blocks, block_item, &c);
    done->full = c.places->entries;
    for (int t = 0; c.space && t < threads; t++) {
        done->nodes += c.space[t].nodes;
        done->entries += c.space[t].entries;
        free_space(ctx, &c.space[t]);
    }
    mpki_release(ctx, c.space);
    mpki_release(ctx, c.order);
    mpki_release(ctx, wanted);
    mpki_release(ctx, up);
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    return mpki_cancelled(ctx) ? mpki_stopped(ctx, STAGE) : MPK_OK;
}
