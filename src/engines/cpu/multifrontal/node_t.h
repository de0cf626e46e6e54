/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_NODE_T_H
#define MPKI_CPU_MULTIFRONTAL_NODE_T_H
/** One node of a sweep, for one vector of the node's rows: the same sums in the same order wherever
 *  the vector comes from. Included by files that are compiled once for each scalar type. */
#include "engines/cpu/isa/cpu.h"
#include "front_of_t.h"
#include "low_node.h"
#include "multifrontal.h"
#include "tuning.h"

/* y -= A x, or y -= A^T x, for a large panel, by all workers */
typedef struct panel {
    const FN(kernels) * k;
    int64_t rows, lda;
    int32_t cols;
    const T *a, *x;
    T *y;
    int hermitian;
    int64_t each; /* rows, or columns, of an item */
} panel;

/* So many that all workers have some, in whole vectors of every instruction set. */
static inline int64_t rows_each(int64_t rows, mpki_pool *pool) {
    enum { WHOLE = 64, LEAST = 2 * WHOLE };
    const int64_t share = rows / (3 * (int64_t)mpki_pool_threads(pool)) / WHOLE * WHOLE;
    return share < LEAST ? LEAST : share < MPKI_PANEL_ROWS_EACH ? share : MPKI_PANEL_ROWS_EACH;
}

/* The fewer the longer they are, in fours, which the kernel takes together. */
static inline int64_t columns_each(int64_t rows) {
    const int64_t fours = MPKI_PANEL_COLUMNS_ENTRIES / (4 * rows) + 1,
                  most = MPKI_PANEL_COLUMNS_EACH / 4;
    return 4 * (fours < most ? fours : most);
}

static void panel_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    const panel *p = arg;
    const int64_t r0 = item * p->each, left = p->rows - r0;
    p->k->gemv(left < p->each ? left : p->each, p->cols, p->a + r0, p->lda, p->x, p->y + r0);
}

static void panel_item_t(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    const panel *p = arg;
    const int64_t c0 = item * p->each, left = p->cols - c0;
    p->k->gemvt(p->rows, (int)(left < p->each ? left : p->each), p->a + c0 * p->lda, p->lda, p->x,
                p->y + c0, p->hermitian);
}

/* The same by this worker where the panel is small or pool NULL. */
static inline void panel_times(panel *p, mpki_pool *pool, int worker) {
    if (p->rows <= 0 || p->cols <= 0) return;
    if (!pool || p->rows * p->cols < MPKI_PANEL_SHARED) {
        p->k->gemv(p->rows, p->cols, p->a, p->lda, p->x, p->y);
        return;
    }
    p->each = rows_each(p->rows, pool);
    mpki_pool_for(pool, worker, (p->rows + p->each - 1) / p->each, panel_item, p);
}
static inline void panel_times_t(panel *p, mpki_pool *pool, int worker) {
    if (p->rows <= 0 || p->cols <= 0) return;
    if (!pool || p->rows * p->cols < MPKI_PANEL_SHARED) {
        p->k->gemvt(p->rows, p->cols, p->a, p->lda, p->x, p->y, p->hermitian);
        return;
    }
    p->each = columns_each(p->rows);
    mpki_pool_for(pool, worker, (p->cols + p->each - 1) / p->each, panel_item_t, p);
}

/* Begin to read a node that comes soon: nodes are small, and the processor cannot guess where the
 * next one begins. */
static inline void look_ahead(const mpki_node *node) {
    enum { LINE = 64, MOST = 16 * LINE };
    const int64_t bytes = (int64_t)node->nelim * mpki_leading(node->nrows) * (int64_t)sizeof(T);
    const char *a = node->low ? node->low->block->u : node->a;
    for (int64_t k = 0; k < (bytes < MOST ? bytes : MOST); k += LINE) __builtin_prefetch(a + k);
    __builtin_prefetch(id_of(node));
}

/* What a node has for its parent: its rows without pivots, nr numbers each. It stays in the worker's
 * own stack where the parent is of the same task. */
static inline T *parent_part(const mpki_direct_solver *z, int worker, int nr, int32_t s) {
    const int64_t at = z->at[s], each = z->shared + z->own;
    /* of those who are alone the last one's block may be of fewer than another's */
    const int64_t from = z->alone ? worker * each * z->block : 0;
    const int64_t own = z->shared + (z->alone ? 0 : worker * z->own);
    return (T *)z->u + from + nr * (at < 0 ? own + ~at : at);
}

/* What a child subtracts from this node's rows, its rows r0 .. r1-1 below, goes into y for the node's
 * columns, into v for the rows below; nr numbers a row. */
static inline __attribute__((always_inline)) void take_rows(const mpki_direct_solver *z, int worker,
                                                            int nr, int32_t own, int32_t child,
                                                            int64_t r0, int64_t r1, T *y, T *v) {
    const mpki_tree_view *tree = &z->f->tree;
    const mpki_node *node = &z->f->node[child];
    const int32_t *rel = tree->rel + tree->rptr[child], *ridx = tree->ridx + tree->rptr[child];
    const T *u = parent_part(z, worker, nr, child) + (node->w - node->nelim + r0) * nr;
    int64_t r = r0;
    for (; r < r1 && rel[r] < own; r++, u += nr)
        for (int q = 0; q < nr; q++) y[(int64_t)ridx[r] * nr + q] += u[q];
    for (; r < r1; r++, u += nr)
        for (int q = 0; q < nr; q++) v[(int64_t)(rel[r] - own) * nr + q] += u[q];
}

/* The same for what the child has delayed. rows: y is by the rows of a general matrix */
static inline __attribute__((always_inline)) void
take_delayed(const mpki_direct_solver *z, int worker, int nr, int32_t child, bool rows, T *y) {
    const mpki_node *node = &z->f->node[child];
    const int32_t *names = rows ? mpki_square_row(node, sizeof(T)) : names_of(&z->f->tree, node);
    const T *u = parent_part(z, worker, nr, child);
    for (int32_t i = node->nelim; i < node->w; i++, u += nr)
        for (int q = 0; q < nr; q++) y[(int64_t)names[i] * nr + q] += u[q];
}

/* All of all children. */
static inline __attribute__((always_inline)) void take_contributions(const mpki_direct_solver *z,
                                                                     int worker, int nr, int32_t s,
                                                                     bool rows, T *y, T *v) {
    const mpki_tree_view *tree = &z->f->tree;
    const int32_t own = tree->sptr[s + 1] - tree->sptr[s];
    for (int32_t k = tree->child_ptr[s]; k < tree->child_ptr[s + 1]; k++) {
        const int32_t c = tree->child[k];
        take_delayed(z, worker, nr, c, rows, y);
        take_rows(z, worker, nr, own, c, 0, tree->rptr[c + 1] - tree->rptr[c], y, v);
    }
}

/* Columns of a triangle that are solved with one by one: what they have for the others goes by the
 * kernels, of which each row of a dot product would wait for the row before it. */
enum { MPKI_TRIANGLE = 16 };

/* v := L^-1 v, v := op(L)^-T v, for a unit lower triangle of n columns. */
static inline void FN(triangle_forward)(const FN(kernels) * k, int32_t n, const T *l, int64_t ld,
                                        T *v) {
    for (int32_t j0 = 0, j1; j0 < n; j0 = j1) {
        j1 = n - j0 < MPKI_TRIANGLE ? n : j0 + MPKI_TRIANGLE;
        for (int32_t j = j0; j + 1 < j1; j++)
            for (int32_t i = j + 1; i < j1; i++) v[i] -= t_mul(l[i + j * ld], v[j]);
        if (j1 < n) k->gemv(n - j1, j1 - j0, l + j1 + j0 * ld, ld, v + j0, v + j1);
    }
}

static inline void FN(triangle_backward)(const FN(kernels) * k, int32_t n, const T *l, int64_t ld,
                                         int hermitian, T *v) {
    for (int32_t j0 = (n - 1) / MPKI_TRIANGLE * MPKI_TRIANGLE, j1 = n; j1 > 0;
         j1 = j0, j0 -= MPKI_TRIANGLE) {
        if (j1 < n) k->gemvt(n - j1, j1 - j0, l + j1 + j0 * ld, ld, v + j1, v + j0, hermitian);
        for (int32_t j = j1 - 2; j >= j0; j--) {
            T sum = v[j]; /* the entry that comes last is the only one that is waited for */
            for (int32_t i = j1 - 1; i > j; i--)
                sum -= t_mul(conj_if(hermitian, l[i + j * ld]), v[i]);
            v[j] = sum;
        }
    }
}

/* v (nrows) := L^-1 of the node's columns applied to v. pool NULL: by this worker alone */
static inline void FN(node_forward)(const FN(kernels) * k, const mpki_node *node, mpki_pool *pool,
                                    int worker, T *v) {
    const int32_t e = node->nelim;
    const int64_t n = node->nrows, ld0 = mpki_leading(n);
    if (node->low) {
        FN(low_forward)(k, node, pool, worker, v);
        return;
    }
    for (int32_t j0 = 0; j0 < e; j0 += MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = ld0 - j0;
        const T *a = (const T *)node->a + mpki_panel_offset(ld0, j0 / MPKI_PANEL) - j0;
        FN(triangle_forward)(k, j1 - j0, a + j0, ld, v + j0);
        if (n <= j1) continue;
        panel p = {k, n - j1, ld, j1 - j0, a + j1, v + j0, v + j1, 0, 0};
        panel_times(&p, pool, worker);
    }
}

/* v := L^-T (L^-H) of the node's columns applied to v: its first nelim entries change */
static inline void FN(node_backward)(const FN(kernels) * k, const mpki_node *node, int hermitian,
                                     mpki_pool *pool, int worker, T *v) {
    const int32_t e = node->nelim;
    const int64_t n = node->nrows, ld0 = mpki_leading(n);
    if (node->low) {
        FN(low_backward)(k, node, hermitian, v);
        return;
    }
    for (int32_t j0 = (e - 1) / MPKI_PANEL * MPKI_PANEL; e > 0 && j0 >= 0; j0 -= MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = ld0 - j0;
        const T *a = (const T *)node->a + mpki_panel_offset(ld0, j0 / MPKI_PANEL) - j0;
        panel p = {k, n - j1, ld, j1 - j0, a + j1, v + j1, v + j0, hermitian, 0};
        panel_times_t(&p, pool, worker);
        FN(triangle_backward)(k, j1 - j0, a + j0, ld, hermitian, v + j0);
    }
}

#endif
