/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a factor to a file and back: for all nodes how many columns each has and how many
 * it eliminated, then node by node L's panels, D, D^-1 and the names of the columns. */
#include "multifrontal.h"

#include <string.h>

/* What of a node is not known from the tree. */
typedef struct counts {
    int32_t w, nelim;
} counts;

/* Entries of the panels that columns of L are in: those that the node delayed come after them, and
 * are its parent's. */
static int64_t panels(const mpki_node *node) {
    return mpki_trapezoid(node->nrows, node->nelim);
}

/* Bytes of all that a file has of a node. */
static int64_t bytes_of(const mpki_node *node, size_t size) {
    return (panels(node) + 4 * (int64_t)node->nelim) * (int64_t)size +
           node->w * (int64_t)sizeof(int32_t);
}

/* And in memory, where D and its inverse have places for all columns. */
static int64_t room_of(const mpki_node *node, size_t size) {
    return bytes_of(node, size) + 4 * (int64_t)(node->w - node->nelim) * (int64_t)size;
}

void mpki_direct_save(const mpki_direct *f, mpki_archive *to) {
    const size_t size = mpk_scalar_size(f->tree.scalar);
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const counts c = {f->node[s].w, f->node[s].nelim};
        mpki_archive_put(to, &c, 1, sizeof c);
    }
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
        mpki_archive_put(to, node->a, panels(node), size);
        mpki_archive_put(to, node->d, 2 * (int64_t)node->nelim, size);
        mpki_archive_put(to, mpki_node_dinv(node, size), 2 * (int64_t)node->nelim, size);
        mpki_archive_put(to, mpki_node_id(node, size), node->w, sizeof(int32_t));
    }
}

/* How many columns each node has: its own and those that its children delayed; a root eliminates
 * all. *room [out] bytes that the nodes take, no more than follow in the file but for 64 each */
static bool get_counts(mpki_direct *f, mpki_archive *from, int64_t *room) {
    const mpki_tree_view *tree = &f->tree;
    const size_t size = mpk_scalar_size(tree->scalar);
    int64_t bytes = 0;
    *room = 4096;
    f->nnz = 0;
    f->max_front = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        mpki_node *node = &f->node[s];
        int64_t delayed = 0;
        counts c;
        if (!mpki_archive_get(from, &c, 1, sizeof c)) return false;
        for (int32_t k = tree->child_ptr[s]; k < tree->child_ptr[s + 1]; k++)
            delayed += f->node[tree->child[k]].w - f->node[tree->child[k]].nelim;
        const int64_t w = tree->sptr[s + 1] - tree->sptr[s] + delayed;
        if (c.w != w || c.nelim < 0 || c.nelim > w || (tree->parent[s] < 0 && c.nelim < w))
            return mpki_archive_damaged(from, "columns of a front");
        *node = (mpki_node){.w = c.w, .nelim = c.nelim};
        node->nrows = w + tree->rptr[s + 1] - tree->rptr[s];
        if (node->nrows > f->max_front) f->max_front = (int32_t)node->nrows;
        f->nnz += c.nelim * node->nrows - (int64_t)c.nelim * (c.nelim - 1) / 2;
        bytes += bytes_of(node, size);
        *room += (room_of(node, size) + 63) & ~(int64_t)63;
        if (bytes > from->left)
            return mpki_archive_damaged(from, "it is shorter than what it tells of");
    }
    return true;
}

/* Is the entry other than 0, and no NaN? */
static bool is_entry(mpk_scalar scalar, const void *d, int64_t k) {
    const float *f = d;
    const double *x = d;
    switch (scalar) {
    case MPK_S:
        return f[k] < 0 || f[k] > 0;
    case MPK_D:
        return x[k] < 0 || x[k] > 0;
    case MPK_C:
        return f[2 * k] < 0 || f[2 * k] > 0 || f[2 * k + 1] < 0 || f[2 * k + 1] > 0;
    default:
        return x[2 * k] < 0 || x[2 * k] > 0 || x[2 * k + 1] < 0 || x[2 * k + 1] > 0;
    }
}

/* A pair of pivots has two columns: the last one begins none. */
static bool pairs_are_whole(const mpki_node *node, mpk_scalar scalar, const void *d) {
    for (int32_t k = 0; k < node->nelim; k++) {
        if (!is_entry(scalar, d, 2 * (int64_t)k + 1)) continue;
        if (++k == node->nelim) return false;
    }
    return true;
}

/* Its columns are its own and those that its children delayed, in any order. mark (n) [inout] the
 * last node that may have the column, by position */
static bool names_are_right(const mpki_direct *f, int32_t s, int32_t *mark) {
    const mpki_tree_view *tree = &f->tree;
    const mpki_node *node = &f->node[s];
    const size_t size = mpk_scalar_size(tree->scalar);
    const int32_t *id = mpki_node_id(node, size);
    for (int32_t k = tree->sptr[s]; k < tree->sptr[s + 1]; k++) mark[k] = s;
    for (int32_t q = tree->child_ptr[s]; q < tree->child_ptr[s + 1]; q++) {
        const mpki_node *child = &f->node[tree->child[q]];
        for (int32_t k = child->nelim; k < child->w; k++) mark[mpki_node_id(child, size)[k]] = s;
    }
    for (int32_t k = 0; k < node->w; k++) {
        const int32_t i = id[k];
        if (i < 0 || i >= tree->n || mark[i] != s) return false;
        mark[i] = -1;
    }
    return true;
}

static bool get_node(mpki_direct *f, mpki_archive *from, int32_t s, int32_t *mark) {
    mpki_node *node = &f->node[s];
    const mpk_scalar scalar = f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    char *memory = mpki_arena_alloc(&f->arena, room_of(node, size));
    if (!memory) {
        from->status = mpki_failed(f->ctx);
        return false;
    }
    node->a = memory;
    node->d = memory + (size_t)panels(node) * size;
    void *dinv = mpki_node_dinv(node, size);
    if (!mpki_archive_get(from, node->a, panels(node), size) ||
        !mpki_archive_get(from, node->d, 2 * (int64_t)node->nelim, size) ||
        !mpki_archive_get(from, dinv, 2 * (int64_t)node->nelim, size) ||
        !mpki_archive_get(from, mpki_node_id(node, size), node->w, sizeof(int32_t)))
        return false;
    if (!pairs_are_whole(node, scalar, node->d) || !pairs_are_whole(node, scalar, dinv))
        return mpki_archive_damaged(from, "pivots of a front");
    return names_are_right(f, s, mark) || mpki_archive_damaged(from, "columns of a front");
}

mpk_status mpki_direct_load(mpki_direct *f, mpki_archive *from, const double *scale, double size,
                            int threads) {
    mpk_context *ctx = f->ctx;
    int64_t room;
    f->scale = scale;
    f->size = size;
    if (!get_counts(f, from, &room)) return from->status;
    int32_t *mark = MPKI_NEW(ctx, from->stage, f->tree.n, int32_t);
    mpk_status status = mark ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) {
        status = mpki_memory_check(ctx, from->stage, "the factor", (double)room, 0);
        if (!mpk_failed(status)) status = mpki_arena_init(ctx, room, 0, &f->arena);
        f->have_arena = !mpk_failed(status);
    }
    if (!mpk_failed(status)) status = mpki_walk_memory_make(f, threads);
    if (mpk_failed(status)) from->status = status;
    for (int32_t k = 0; mark && k < f->tree.n; k++) mark[k] = -1;
    for (int32_t s = 0; !mpk_failed(from->status) && s < f->tree.nsuper; s++)
        get_node(f, from, s, mark);
    mpki_release(ctx, mark);
    return from->status;
}
