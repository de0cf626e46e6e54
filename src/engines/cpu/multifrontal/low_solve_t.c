/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with a node whose L is in low rank. */
#include "low_node.h"
#include "tuning.h"

#include <string.h>

enum { MOST = MPKI_PANEL / 2 }; /* of a rank */

/* A panel of the node: its columns, and its blocks from the diagonal one on. */
typedef struct panel {
    const FN(kernels) * k;
    const mpki_node *node;
    const mpki_low_block *block;
    int64_t number, count, p; /* p: its first column */
    int cols;
    T *v;
} panel;

static panel panel_of(const FN(kernels) * k, const mpki_node *node, int64_t number, T *v) {
    const int64_t count = mpki_low_blocks(node->nrows, node->w), p = number * MPKI_PANEL;
    const int64_t left = node->nelim - p;
    return (panel){k,     node, node->low->block + number * count,          number,
                   count, p,    left < MPKI_PANEL ? (int)left : MPKI_PANEL, v};
}
static int64_t panels_of(const mpki_node *node) {
    return ((int64_t)node->nelim + MPKI_PANEL - 1) / MPKI_PANEL;
}
static int64_t rows_in(const mpki_node *node, int64_t i) {
    return mpki_low_end(node->nrows, node->w, i) - mpki_low_first(node->w, i);
}

/* ---- one vector ------------------------------------------------------------------------------ */

/* The rows of block i := those minus L times the panel's. */
static void block_times(const panel *p, int64_t i) {
    const mpki_low_block *b = &p->block[i];
    const int64_t rows = rows_in(p->node, i);
    T *y = p->v + mpki_low_first(p->node->w, i), t[MOST];
    if (b->rank == 0) return;
    if (b->rank < 0) {
        p->k->gemv(rows, p->cols, b->u, rows, p->v + p->p, y);
        return;
    }
    for (int r = 0; r < b->rank; r++) t[r] = t_make(0, 0);
    p->k->gemv(b->rank, p->cols, b->z, b->rank, p->v + p->p, t);
    for (int r = 0; r < b->rank; r++) t[r] = -t[r];
    p->k->gemv(rows, b->rank, b->u, rows, t, y);
}

static void block_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    enum { EACH = 8 };
    const panel *p = arg;
    const int64_t i0 = p->number + 1 + item * EACH, i1 = i0 + EACH;
    (void)pool, (void)worker;
    for (int64_t i = i0; i < i1 && i < p->count; i++) block_times(p, i);
}

void FN(low_forward)(const FN(kernels) * k, const mpki_node *node, mpki_pool *pool, int worker,
                     T *v) {
    for (int64_t q = 0; q < panels_of(node); q++) {
        const panel p = panel_of(k, node, q, v);
        const int64_t ld = rows_in(node, q), blocks = p.count - q - 1;
        const T *l = p.block[q].u;
        T *x = v + p.p;
        for (int j = 0; j + 1 < p.cols; j++)
            for (int i = j + 1; i < p.cols; i++) x[i] -= t_mul(l[i + j * ld], x[j]);
        if (ld > p.cols) k->gemv(ld - p.cols, p.cols, l + p.cols, ld, x, x + p.cols);
        const bool shared = blocks * MPKI_PANEL * MPKI_PANEL / 4 >= MPKI_PANEL_SHARED;
        mpki_pool_for(shared ? pool : NULL, worker, (blocks + 7) / 8, block_item,
                      (void *)(uintptr_t)&p);
    }
}

void FN(low_backward)(const FN(kernels) * k, const mpki_node *node, int hermitian, T *v) {
    for (int64_t q = panels_of(node) - 1; q >= 0; q--) {
        const panel p = panel_of(k, node, q, v);
        const int64_t ld = rows_in(node, q);
        const T *l = p.block[q].u;
        T *x = v + p.p, t[MOST];
        for (int64_t i = q + 1; i < p.count; i++) {
            const mpki_low_block *b = &p.block[i];
            if (b->rank == 0) continue;
            const int64_t rows = rows_in(node, i);
            const T *y = v + mpki_low_first(node->w, i);
            if (b->rank < 0) {
                k->gemvt(rows, p.cols, b->u, rows, y, x, hermitian);
                continue;
            }
            for (int r = 0; r < b->rank; r++) t[r] = t_make(0, 0);
            k->gemvt(rows, b->rank, b->u, rows, y, t, hermitian);
            for (int r = 0; r < b->rank; r++) t[r] = -t[r];
            k->gemvt(b->rank, p.cols, b->z, b->rank, t, x, hermitian);
        }
        if (ld > p.cols) k->gemvt(ld - p.cols, p.cols, l + p.cols, ld, x + p.cols, x, hermitian);
        for (int j = p.cols - 2; j >= 0; j--) {
            T sum = x[j];
            for (int i = j + 1; i < p.cols; i++)
                sum -= t_mul(conj_if(hermitian, l[i + j * ld]), x[i]);
            x[j] = sum;
        }
    }
}

/* ---- several, in rows of nr ------------------------------------------------------------------- */

static void negate(int64_t count, T *t) {
    for (int64_t i = 0; i < count; i++) t[i] = -t[i];
}

void FN(low_forward_sides)(const FN(kernels) * k, const mpki_node *node, int nr, T *v) {
    T t[MOST * MPKI_SIDES];
    for (int64_t q = 0; q < panels_of(node); q++) {
        const panel p = panel_of(k, node, q, v);
        const int64_t ld = rows_in(node, q);
        const T *l = p.block[q].u;
        T *x = v + p.p * nr;
        k->lower(p.cols, l, ld, nr, x);
        k->rows(ld - p.cols, p.cols, l + p.cols, 1, ld, 0, nr, x, x + (int64_t)p.cols * nr);
        for (int64_t i = q + 1; i < p.count; i++) {
            const mpki_low_block *b = &p.block[i];
            if (b->rank == 0) continue;
            const int64_t rows = rows_in(node, i);
            T *y = v + mpki_low_first(node->w, i) * nr;
            if (b->rank < 0) {
                k->rows(rows, p.cols, b->u, 1, rows, 0, nr, x, y);
                continue;
            }
            memset(t, 0, (size_t)(b->rank * nr) * sizeof *t);
            k->rows(b->rank, p.cols, b->z, 1, b->rank, 0, nr, x, t);
            negate(b->rank * nr, t);
            k->rows(rows, b->rank, b->u, 1, rows, 0, nr, t, y);
        }
    }
}

void FN(low_backward_sides)(const FN(kernels) * k, const mpki_node *node, int hermitian, int nr,
                            T *v) {
    T t[MOST * MPKI_SIDES];
    for (int64_t q = panels_of(node) - 1; q >= 0; q--) {
        const panel p = panel_of(k, node, q, v);
        const int64_t ld = rows_in(node, q);
        const T *l = p.block[q].u;
        T *x = v + p.p * nr;
        for (int64_t i = q + 1; i < p.count; i++) {
            const mpki_low_block *b = &p.block[i];
            if (b->rank == 0) continue;
            const int64_t rows = rows_in(node, i);
            const T *y = v + mpki_low_first(node->w, i) * nr;
            if (b->rank < 0) {
                k->rows(p.cols, rows, b->u, rows, 1, hermitian, nr, y, x);
                continue;
            }
            memset(t, 0, (size_t)(b->rank * nr) * sizeof *t);
            k->rows(b->rank, rows, b->u, rows, 1, hermitian, nr, y, t);
            negate(b->rank * nr, t);
            k->rows(p.cols, b->rank, b->z, b->rank, 1, hermitian, nr, t, x);
        }
        k->rows(p.cols, ld - p.cols, l + p.cols, ld, 1, hermitian, nr, x + (int64_t)p.cols * nr, x);
        k->lower_t(p.cols, l, ld, hermitian, nr, x);
    }
}
