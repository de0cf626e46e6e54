/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists by which a block does a system, made once and sent to the device. */
#include "state.h"

#include <string.h>

static const char STAGE[] = "systems";

/* Lists in one piece of host memory, and where each of them begins. */
typedef struct lists {
    int64_t bytes;
    char *p;
} lists;

static int64_t reserve(lists *x, int64_t count, size_t size) {
    const int64_t at = x->bytes;
    x->bytes += (count * (int64_t)size + 255) / 256 * 256;
    return at;
}

/* What the parts of a plan take, and where they begin. */
typedef struct layout {
    int64_t contributed, children, entries, below, full, given;
    int64_t front, entry, child, place, rows, perm, pair, matched, ptr, col, from, gather_ptr,
        gather_mirror, gather, diagonal;
} layout;

static int64_t rows_below(const mpki_tree_view *t, int32_t s) {
    return t->rptr[s + 1] - t->rptr[s];
}

static layout count(const mpki_systems_view *view, lists *x) {
    const mpki_tree_view *t = &view->tree;
    layout y = {.children = t->child_ptr[t->nsuper],
                .entries = t->scatter_ptr[t->nsuper],
                .below = t->rptr[t->nsuper],
                .given = view->gather ? view->gather_ptr[t->nnz] : 0};
    for (int32_t s = 0; s < t->nsuper; s++)
        y.contributed += rows_below(t, s) * (rows_below(t, s) + 1) / 2;
    y.full = 2 * t->nnz; /* at most */
    y.front = reserve(x, t->nsuper, sizeof(mpki_cuda_systems_front));
    y.entry = reserve(x, y.entries, sizeof(mpki_cuda_systems_entry));
    y.child = reserve(x, y.children, sizeof(mpki_cuda_systems_child));
    y.place = reserve(x, y.contributed, sizeof(int32_t));
    y.rows = reserve(x, y.below, sizeof(int32_t));
    y.perm = reserve(x, t->n, sizeof(int32_t));
    y.pair = reserve(x, t->n, 1);
    y.matched = view->matched ? reserve(x, t->n, sizeof(double)) : -1;
    y.ptr = reserve(x, (int64_t)t->n + 1, sizeof(int32_t));
    y.col = reserve(x, y.full, sizeof(int32_t));
    y.from = reserve(x, y.full, sizeof(int32_t));
    y.diagonal = reserve(x, t->n, sizeof(int32_t));
    y.gather_ptr = view->gather ? reserve(x, t->nnz + 1, sizeof(int32_t)) : -1;
    y.gather_mirror = view->gather ? reserve(x, t->nnz, sizeof(int32_t)) : -1;
    y.gather = view->gather ? reserve(x, y.given, sizeof(int32_t)) : -1;
    return y;
}

/* Number of row i of column j in a front of r rows. */
static int64_t number(int64_t r, int64_t i, int64_t j) {
    return i + j * (r - 1) - j * (j - 1) / 2;
}

static void fill_front(const mpki_systems_view *view, const layout *y, const lists *x, int32_t s,
                       int64_t *child, int64_t *placed) {
    const mpki_tree_view *t = &view->tree;
    const int32_t w = t->sptr[s + 1] - t->sptr[s], r = w + (int32_t)rows_below(t, s);
    mpki_cuda_systems_front *front = (void *)(x->p + y->front);
    mpki_cuda_systems_entry *entry = (void *)(x->p + y->entry);
    mpki_cuda_systems_child *children = (void *)(x->p + y->child);
    int32_t *place = (void *)(x->p + y->place);
    front[s] =
        (mpki_cuda_systems_front){.first = t->sptr[s],
                                  .w = w,
                                  .r = r,
                                  .entry = (int32_t)t->scatter_ptr[s],
                                  .entries = (int32_t)(t->scatter_ptr[s + 1] - t->scatter_ptr[s]),
                                  .child = (int32_t)*child,
                                  .children = t->child_ptr[s + 1] - t->child_ptr[s],
                                  .row = (int32_t)t->rptr[s],
                                  .l = view->l[s],
                                  .c = view->c[s]};
    for (int64_t k = t->scatter_ptr[s]; k < t->scatter_ptr[s + 1]; k++) {
        const mpki_scatter *e = &t->scatter[k];
        const int32_t row = e->row < 0 ? ~e->row : e->row;
        const int32_t at = row < w ? t->sptr[s] + row : t->ridx[t->rptr[s] + row - w];
        const int32_t to = (int32_t)number(r, row, e->col);
        entry[k] = (mpki_cuda_systems_entry){.from = (int32_t)e->src,
                                             .to = e->row < 0 ? ~to : to,
                                             .i = t->perm[at],
                                             .j = t->perm[t->sptr[s] + e->col]};
    }
    for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++) {
        const int32_t c = t->child[k];
        const int64_t m = rows_below(t, c);
        const int32_t *rel = t->rel + t->rptr[c];
        children[(*child)++] = (mpki_cuda_systems_child){view->c[c], *placed, m * (m + 1) / 2};
        for (int64_t j = 0; j < m; j++)
            for (int64_t i = j; i < m; i++) place[(*placed)++] = (int32_t)number(r, rel[i], rel[j]);
    }
}

/* A in both triangles by rows, columns in increasing order. */
static void fill_rows(const mpki_tree_view *t, const layout *y, const lists *x) {
    int32_t *ptr = (void *)(x->p + y->ptr), *col = (void *)(x->p + y->col),
            *from = (void *)(x->p + y->from), *diagonal = (void *)(x->p + y->diagonal);
    const bool conjugated = t->symmetry == MPK_HERMITIAN && t->scalar >= MPK_C;
    memset(ptr, 0, ((size_t)t->n + 1) * sizeof *ptr);
    for (int32_t j = 0; j < t->n; j++)
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            ptr[t->ai[k] + 1]++;
            if (t->ai[k] != j) ptr[j + 1]++;
        }
    for (int32_t i = 0; i < t->n; i++) ptr[i + 1] += ptr[i], diagonal[i] = -1;
    /* rows' lower parts come by column j, and column j's own rows follow its row's lower part */
    for (int32_t j = 0; j < t->n; j++)
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            const int32_t i = t->ai[k], at = ptr[i]++;
            col[at] = j, from[at] = (int32_t)k;
            if (i == j) {
                diagonal[i] = (int32_t)k;
                continue;
            }
            const int32_t other = ptr[j]++;
            col[other] = i, from[other] = conjugated ? ~(int32_t)k : (int32_t)k;
        }
    for (int32_t i = t->n; i > 0; i--) ptr[i] = ptr[i - 1];
    ptr[0] = 0;
}

static void place_home(mpki_many *many, const mpki_systems_view *view) {
    const mpki_tree_view *t = &view->tree;
    const int64_t size = (int64_t)mpk_scalar_size(many->scalar),
                  real = many->scalar >= MPK_C ? size / 2 : size, n = t->n;
    mpki_cuda_systems_home *home = &many->plan.home;
    int64_t at = 0;
    home->values = at, at += t->nnz * size;
    home->l = at, at += view->l[t->nsuper] * size;
    home->d = at, at += 2 * n * size;
    home->dinv = at, at += 2 * n * size;
    home->scale = at, at += n * real;
    home->norm = at, at += n * real;
    home->bytes = (at + 127) / 128 * 128;
}

mpk_status mpki_cuda_systems_plan_make(mpk_context *ctx, mpki_many *many,
                                       const mpki_systems_view *view) {
    const mpki_tree_view *t = &view->tree;
    mpki_cuda_systems_plan *plan = &many->plan;
    lists x = {0};
    if (t->nnz > INT32_MAX / 2 || t->rptr[t->nsuper] > INT32_MAX || view->given > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, t->nnz,
                          "a pattern of that size is not for many systems on a GPU");
    const layout y = count(view, &x);
    int64_t child = 0, placed = 0;
    x.p = mpki_calloc(ctx, STAGE, x.bytes, 1);
    if (!x.p) return mpki_failed(ctx);
    for (int32_t s = 0; s < t->nsuper; s++) fill_front(view, &y, &x, s, &child, &placed);
    fill_rows(t, &y, &x);
    memcpy(x.p + y.rows, t->ridx, (size_t)y.below * sizeof(int32_t));
    memcpy(x.p + y.perm, t->perm, (size_t)t->n * sizeof(int32_t));
    memcpy(x.p + y.pair, view->pair, (size_t)t->n);
    if (view->matched) memcpy(x.p + y.matched, view->matched, (size_t)t->n * sizeof(double));
    if (view->gather) {
        memcpy(x.p + y.gather_ptr, view->gather_ptr, ((size_t)t->nnz + 1) * sizeof(int32_t));
        memcpy(x.p + y.gather_mirror, view->gather_mirror, (size_t)t->nnz * sizeof(int32_t));
        memcpy(x.p + y.gather, view->gather, (size_t)y.given * sizeof(int32_t));
    }
    mpk_status status = mpki_cuda_room_make(ctx, many, &many->lists, x.bytes);
    if (!mpk_failed(status))
        status = mpki_cuda_systems_copy(ctx, many, many->lists.p, x.p, x.bytes, true);
    if (!mpk_failed(status)) {
        const mpki_device *d = many->device;
        status = mpki_cuda_status(ctx, STAGE, d->table->systems->wait(d->cuda));
    }
    mpki_release(ctx, x.p);
    if (mpk_failed(status)) return status;
    const char *at = many->lists.p;
    *plan = (mpki_cuda_systems_plan){
        .n = t->n,
        .nsuper = t->nsuper,
        .max_front = t->max_front,
        .hermitian = t->symmetry == MPK_HERMITIAN && t->scalar >= MPK_C,
        .nnz = (int32_t)t->nnz,
        .given = (int32_t)view->given,
        .front = (const void *)(at + y.front),
        .entry = (const void *)(at + y.entry),
        .child = (const void *)(at + y.child),
        .place = (const void *)(at + y.place),
        .rows = (const void *)(at + y.rows),
        .perm = (const void *)(at + y.perm),
        .pair = (const void *)(at + y.pair),
        .matched = view->matched ? (const void *)(at + y.matched) : NULL,
        .ptr = (const void *)(at + y.ptr),
        .col = (const void *)(at + y.col),
        .from = (const void *)(at + y.from),
        .gather_ptr = view->gather ? (const void *)(at + y.gather_ptr) : NULL,
        .gather_mirror = view->gather ? (const void *)(at + y.gather_mirror) : NULL,
        .gather = view->gather ? (const void *)(at + y.gather) : NULL,
        .symmetry_noise = view->symmetry_noise,
        .diagonal = (const void *)(at + y.diagonal),
        .contributions = view->contributions};
    place_home(many, view);
    return MPK_OK;
}
