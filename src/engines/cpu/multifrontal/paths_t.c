/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweeps over the paths of one block of right-hand sides. Each vector is swept as if it were
 * alone, with the sums of a solve that visits all nodes; together they read a node once. */
#include "node_t.h"
#include "pair_t.h"
#include "paths.h"

#include <string.h>

/* Where the column at this position lies in a vector of the block. */
static int64_t place_of(const mpki_path_call *c, const mpki_path_space *s, int32_t position) {
    return s->y_at[c->places->node[position]] + c->places->place[position];
}

static T *vector(void *all, int64_t length, int r) {
    return (T *)all + r * length;
}

/* y := P S b, on the nodes of b's rows; entries of the same row are added. */
static void take(const mpki_path_call *c, const mpki_path_space *s) {
    const mpki_sparse_sides *sides = c->sides;
    const T *b = sides->bval;
    memset(s->y, 0, (size_t)(s->nrhs * s->ny) * sizeof(T));
    for (int r = 0; r < s->nrhs; r++) {
        T *y = vector(s->y, s->ny, r);
        for (int64_t k = sides->bptr[s->side[r]]; k < sides->bptr[s->side[r] + 1]; k++)
            y[place_of(c, s, c->places->position[sides->brow[k]])] +=
                b[k] * (R)c->f->scale[sides->brow[k]];
    }
}

static void give(const mpki_path_call *c, const mpki_path_space *s) {
    const mpki_sparse_sides *sides = c->sides;
    for (int r = 0; r < s->nrhs; r++) {
        const T *y = vector(s->y, s->ny, r);
        T *x = (T *)sides->x + s->side[r] * sides->ldx;
        for (int32_t i = 0; i < sides->wanted; i++) {
            const int32_t row = sides->row ? sides->row[i] : i;
            x[i] = y[place_of(c, s, c->places->position[row])] * (R)c->f->scale[row];
        }
    }
}

/* What the children of node t subtract goes into y for its columns, into v for the rows below. */
static void take_from_children(const mpki_path_call *p, const mpki_path_space *s, int32_t t) {
    const mpki_tree_view *tree = &p->f->tree;
    const int32_t own = tree->sptr[t + 1] - tree->sptr[t], w = p->f->node[t].w;
    for (int32_t k = tree->child_ptr[t]; k < tree->child_ptr[t + 1]; k++) {
        const int32_t c = tree->child[k];
        const mpki_node *node = &p->f->node[c];
        const int32_t *rel = tree->rel + tree->rptr[c], *ridx = tree->ridx + tree->rptr[c];
        const int32_t m = (int32_t)(node->nrows - node->w), late = node->w - node->nelim;
        const int32_t *id = id_of(node) + node->nelim;
        int64_t *at = s->row_at;
        int32_t mine = 0;
        if (!s->mask[c]) continue;
        for (int32_t i = 0; i < late; i++) at[i] = place_of(p, s, id[i]);
        for (; mine < m && rel[mine] < own; mine++) at[late + mine] = place_of(p, s, ridx[mine]);
        for (int r = 0; r < s->nrhs; r++) {
            if (!(s->mask[c] >> r & 1)) continue;
            const T *u = vector(s->u, s->nu, r) + s->u_at[c];
            T *y = vector(s->y, s->ny, r), *v = vector(s->v, s->rows, r) + w - own;
            for (int32_t i = 0; i < late + mine; i++) y[at[i]] += u[i];
            for (int32_t i = mine; i < m; i++) v[rel[i]] += u[late + i];
        }
    }
}

static void forward(const mpki_path_call *c, mpki_path_space *s, const FN(kernels) * k, int32_t t) {
    const mpki_node *node = &c->f->node[t];
    const int32_t e = node->nelim;
    const int64_t n = node->nrows;
    for (int r = 0; r < s->nrhs; r++) {
        T *v = vector(s->v, s->rows, r);
        if (s->mask[t] >> r & 1) memset(v + e, 0, (size_t)(n - e) * sizeof(T));
    }
    take_from_children(c, s, t);
    for (int r = 0; r < s->nrhs; r++) {
        if (!(s->mask[t] >> r & 1)) continue;
        T *v = vector(s->v, s->rows, r), *y = vector(s->y, s->ny, r) + s->y_at[t];
        memcpy(v, y, (size_t)e * sizeof(T));
        FN(node_forward)(k, node, NULL, 0, v);
        memcpy(y, v, (size_t)e * sizeof(T));
        memcpy(vector(s->u, s->nu, r) + s->u_at[t], v + e, (size_t)(n - e) * sizeof(T));
        s->nodes++, s->entries += node->nelim * n;
    }
}

/* y := D^-1 y of the node's columns */
static void diagonal(const mpki_path_call *c, const mpki_path_space *s, int32_t t) {
    const mpki_node *node = &c->f->node[t];
    const int hermitian = c->f->tree.symmetry == MPK_HERMITIAN;
    const T *d = dinv_of(node);
    for (int r = 0; r < s->nrhs; r++) {
        T *y = vector(s->y, s->ny, r) + s->y_at[t];
        for (int32_t k = 0; k < node->nelim; k++) {
            if (t_abs1(d[2 * k + 1]) > 0) {
                times_pair(d + 2 * k, hermitian, &y[k], &y[k + 1]);
                k++;
            } else {
                y[k] = t_mul(d[2 * k], y[k]);
            }
        }
    }
}

static void backward(const mpki_path_call *c, mpki_path_space *s, const FN(kernels) * k,
                     int32_t t) {
    const mpki_node *node = &c->f->node[t];
    const mpki_tree_view *tree = &c->f->tree;
    const int hermitian = tree->symmetry == MPK_HERMITIAN;
    const int32_t e = node->nelim, w = node->w, *id = id_of(node);
    const int32_t *ridx = tree->ridx + tree->rptr[t];
    const int64_t n = node->nrows;
    int64_t *at = s->row_at;
    for (int32_t i = e; i < w; i++) at[i] = place_of(c, s, id[i]);
    for (int64_t i = w; i < n; i++) at[i] = place_of(c, s, ridx[i - w]);
    for (int r = 0; r < s->nrhs; r++) {
        T *v = vector(s->v, s->rows, r), *y = vector(s->y, s->ny, r);
        memcpy(v, y + s->y_at[t], (size_t)e * sizeof(T));
        for (int64_t i = e; i < n; i++) v[i] = y[at[i]];
        FN(node_backward)(k, node, hermitian, NULL, 0, v);
        memcpy(y + s->y_at[t], v, (size_t)e * sizeof(T));
        s->nodes++, s->entries += node->nelim * n;
    }
}

void FN(paths_block)(const mpki_path_call *c, mpki_path_space *s) {
    const FN(kernels) *k = FN(cpu_kernels)();
    const mpki_node *node = c->f->node;
    mpki_asking asking = {c->ctx, "solve", 0};
    take(c, s);
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t t = s->list[i];
        if (mpki_asks(&asking, node[t].nelim * node[t].nrows * s->nrhs)) return;
        if (i + 1 < s->count) look_ahead(&node[s->list[i + 1]]);
        forward(c, s, k, t);
    }
    for (int32_t i = 0; i < s->count; i++)
        if (!c->wanted || c->wanted[s->list[i]]) diagonal(c, s, s->list[i]);
    for (int32_t i = c->ups - 1; i >= 0; i--) {
        const int32_t t = c->up ? c->up[i] : i;
        if (mpki_asks(&asking, node[t].nelim * node[t].nrows * s->nrhs)) return;
        if (i > 0) look_ahead(&node[c->up ? c->up[i - 1] : i - 1]);
        backward(c, s, k, t);
    }
    give(c, s);
}
