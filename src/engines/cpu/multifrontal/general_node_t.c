/* SPDX-License-Identifier: BSD-3-Clause */
/* A node of a general matrix: its front is gathered from entries of A on both sides of the diagonal
 * and its children's contributions, whole squares, and factored with exchanges of rows. */
#include "square_of_t.h"
#include "walk_t.h"

#include <string.h>

static mpk_status storage(walk *z, mpki_node *node, int64_t *room, mpki_pool *pool, int worker) {
    const int64_t w = node->w, size = sizeof(T);
    const int64_t entries = mpki_square_size(node->nrows, w) * size, names = w * sizeof(int32_t);
    char *at = node_memory(z, node, worker, entries + w * size + 3 * names, room);
    if (!at) return MPK_ERR_MEMORY;
    node->a = at;
    node->d = at + entries;
    return clear_node(z, node->a, (size_t)entries, pool, worker);
}

/* ---- assembly -------------------------------------------------------------------------------- */

/* Entry (row, col) of a front, in local indices: col or row is less than w. */
static inline T *at(const FN(square) * f, int64_t row, int64_t col) {
    return col < f->w ? f->a + row + col * f->ld : f->u + (col - f->w) + row * f->ldu;
}

static void scatter_entries(const walk *z, int32_t s, const FN(square) * f, int32_t own,
                            int32_t delayed) {
    const mpki_tree_view *tree = z->tree;
    for (int64_t k = tree->scatter_ptr[s]; k < tree->scatter_ptr[s + 1]; k++) {
        const mpki_scatter e = mpki_scatter_at(&tree->scatter, k);
        *at(f, e.row < own ? e.row : e.row + delayed, e.col < own ? e.col : e.col + delayed) +=
            z->sax[e.src];
    }
}

/* Rows and columns that a child delayed become own + offset .. of the parent. */
static void gather_delayed(const walk *z, int32_t child, const FN(square) * f, int32_t own,
                           int32_t delayed, int32_t offset) {
    const mpki_node *node = &z->f->node[child];
    const FN(square) g = square_of(node);
    const int32_t *rel = z->tree->rel + z->tree->rptr[child], e = g.nelim;
    const int64_t m = g.nrows - g.w, first = own + offset - e;
    for (int32_t t = e; t < g.w; t++) {
        f->col[first + t] = g.col[t];
        f->row[first + t] = g.row[t];
        for (int32_t i = e; i < g.w; i++) *at(f, first + i, first + t) += g.a[i + t * g.ld];
        for (int64_t r = 0; r < m; r++) {
            const int64_t there = rel[r] < own ? rel[r] : rel[r] + delayed;
            *at(f, there, first + t) += g.a[g.w + r + t * g.ld];
            *at(f, first + t, there) += g.u[r + t * g.ldu];
        }
    }
}

/* A child's contribution on its way into its parent: columns c0 .. c1-1 of it. */
typedef struct gather {
    const walk *z;
    const T *from;
    int64_t ldm;
    const mpki_run *runs;
    int32_t run_count, rows, split, step; /* split: the first row that is not fully summed */
    const int32_t *rel;
    int32_t own, delayed;
    FN(square) f;
    T *c; /* NULL: into the front; else into the parent's own contribution, */
    int64_t w, ldc;
} gather;

/* The rows of column j from `first` on, added to a column that begins at `to` for row 0. */
static void add_rows(const gather *g, int32_t j, int32_t first, T *restrict to) {
    const T *restrict from = g->from + j * g->ldm;
    for (int32_t r = 0; r < g->run_count; r++) {
        const mpki_run *u = &g->runs[r];
        T *restrict y = to + u->to;
        const T *restrict x = from + u->from;
        for (int32_t i = u->from < first ? first - u->from : 0; i < u->count; i++) y[i] += x[i];
    }
}

/* Its fully summed rows, into the rows beside the block. */
static void add_beside(const gather *g, int32_t j) {
    const T *from = g->from + j * g->ldm;
    T *to = g->f.u + g->rel[j] + g->delayed - g->w;
    for (int32_t r = 0; r < g->split; r++) to[g->rel[r] * g->f.ldu] += from[r];
}

static void gather_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const gather *g = arg;
    const int32_t c0 = (int32_t)item * g->step, c1 = c0 + g->step;
    (void)pool, (void)worker;
    if (FN(front_stopped)(&g->z->rules, (double)g->rows * g->step)) return;
    for (int32_t j = c0; j < c1 && j < g->rows; j++) {
        if (!g->c && j < g->split)
            add_rows(g, j, 0, g->f.a + g->rel[j] * g->f.ld);
        else if (!g->c)
            add_beside(g, j);
        else if (j >= g->split)
            add_rows(g, j, g->split, g->c + (g->rel[j] + g->delayed - g->w) * g->ldc - g->w);
    }
}

static void gather_child(const walk *z, int32_t s, int32_t child, int32_t own, int32_t delayed,
                         T *c, int64_t m, mpki_pool *pool, int worker) {
    const mpki_tree_view *tree = z->tree;
    const int32_t rows = (int32_t)(tree->rptr[child + 1] - tree->rptr[child]);
    gather g = {.z = z,
                .from = z->contribution[child],
                .ldm = mpki_leading(rows),
                .runs = z->state[worker].runs,
                .rows = rows,
                .step = 64,
                .rel = tree->rel + tree->rptr[child],
                .own = own,
                .delayed = delayed,
                .f = square_of(&z->f->node[s]),
                .c = c,
                .w = own + delayed,
                .ldc = mpki_leading(m)};
    while (g.split < rows && g.rel[g.split] < own) g.split++;
    if (c ? g.split == rows : g.split == 0) return;
    g.run_count = make_runs(tree, child, 0, own, delayed, z->state[worker].runs);
    const bool shared = pool && (int64_t)rows * rows >= MPKI_GATHER_SHARED;
    mpki_pool_for(shared ? pool : NULL, worker, (rows + g.step - 1) / g.step, gather_item, &g);
}

static void assemble(walk *z, int32_t s, int32_t own, int32_t delayed, mpki_pool *pool,
                     int worker) {
    const mpki_tree_view *tree = z->tree;
    const mpki_node *nodes = z->f->node;
    const FN(square) f = square_of(&nodes[s]);
    for (int32_t j = 0; j < own; j++) f.col[j] = f.row[j] = tree->sptr[s] + j;
    scatter_entries(z, s, &f, own, delayed);
    int32_t offset = 0;
    for (int32_t k = tree->child_ptr[s]; k < tree->child_ptr[s + 1]; k++) {
        const int32_t c = tree->child[k], count = nodes[c].w - nodes[c].nelim;
        if (count) gather_delayed(z, c, &f, own, delayed, offset);
        offset += count;
        if (z->contribution[c]) gather_child(z, s, c, own, delayed, NULL, 0, pool, worker);
    }
}

static void gather_rest(const walk *z, int32_t s, int32_t own, int32_t delayed, T *c, int64_t m,
                        mpki_pool *pool, int worker) {
    const mpki_tree_view *tree = z->tree;
    for (int32_t k = tree->child_ptr[s]; k < tree->child_ptr[s + 1]; k++)
        if (z->contribution[tree->child[k]])
            gather_child(z, s, tree->child[k], own, delayed, c, m, pool, worker);
}

/* ---- elimination ----------------------------------------------------------------------------- */

static mpk_status eliminate(walk *z, int32_t s, T *c, mpki_pool *pool, int worker,
                            mpki_pivots *pivots) {
    mpki_node *node = &z->f->node[s];
    FN(square) f = square_of(node);
    const mpk_status status = FN(square_factor)(&f, &z->rules, z->works, pool, worker, pivots);
    node->nelim = f.nelim;
    if (!mpk_failed(status) && c) FN(square_update)(&f, &z->rules, z->works, c, pool, worker);
    return status;
}

static int64_t entries(int64_t e, int64_t rows) {
    return e * (2 * rows - e);
}

const FN(node_kind) FN(general_node) = {.contribution = mpki_square_contribution,
                                        .storage = storage,
                                        .assemble = assemble,
                                        .eliminate = eliminate,
                                        .gather = gather_rest,
                                        .flops = mpki_square_flops,
                                        .entries = entries};
