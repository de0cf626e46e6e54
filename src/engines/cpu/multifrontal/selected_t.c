/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of A^-1 on the pattern of L (Takahashi, Fagan & Chin 1973; Erisman & Tinney 1975), on the
 * supernodal tree (as Lin et al. 2011), from the roots to the leaves. With E the columns that a
 * front eliminates, R its other rows, and Z = (L D L^T)^-1,
 *
 *     Y = L_RE L_EE^-1,   Z_RE = -Z_RR Y,   Z_EE = L_EE^-T D^-1 L_EE^-1 - Y^T Z_RE,
 *
 * and every row of R is one of the parent's front, from where Z_RR is copied. E is taken
 * panel by panel, the last one first, as if each were a front of its own. Z of a front is kept as a
 * square with both triangles, as the left factor of a product, until its last child has copied its
 * part. The arithmetic of a front depends on its own data alone, and every sum has its order: so
 * the bits are the same for any number of threads. */
#include "engines/cpu/isa/cpu.h"
#include "core/scaled.h"
#include "front_of_t.h"
#include "multifrontal.h"
#include "pair_t.h"
#include "recycle.h"
#include "tuning.h"

#include <string.h>

static const char STAGE[] = "inverse";

enum { ALL = INT32_MAX /* rows of a product below its diagonal: it is needed whole */ };

typedef struct worker_state {
    T *space; /* of a front's blocks; grows */
    int64_t room;
    T *chunk;     /* a panel's rows by a block's columns */
    int32_t *row; /* max_front: where each row of R is in the parent's front */
    mpki_run *runs;
    mpki_small_blocks small;
} worker_state;

typedef struct selected {
    mpk_context *ctx;
    const mpki_direct *f;
    const mpki_tree_view *tree;
    const FN(kernels) * k;
    int hermitian;
    bool near; /* see mpki_scales_near */
    const mpki_selected_wish *out;
    T **z;                      /* nsuper: of each front, while a child may need it */
    int32_t *at;                /* n: row of each position in the front that is its own */
    _Atomic int32_t *left;      /* nsuper: children that have not copied their part yet */
    int32_t *child_ptr, *child; /* of the tasks */
    worker_state *state;
    mpki_recycler recycler;
    double all;
    _Atomic double done;
    _Atomic int status;
} selected;

static void fail(selected *q, mpk_status status) {
    int ok = MPK_OK;
    atomic_compare_exchange_strong(&q->status, &ok, status);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t leading(int64_t rows) {
    return rows <= 16 ? rows : mpki_leading(rows);
}

static int64_t z_bytes(const mpki_node *node) {
    return (leading(node->nrows) * node->nrows + 8) * (int64_t)sizeof(T);
}

static T *new_z(selected *q, int worker, int32_t s) {
    const int64_t bytes = z_bytes(&q->f->node[s]);
    return bytes <= MPKI_SMALL ? mpki_small_get(&q->state[worker].small, bytes)
                               : mpki_recycler_get(&q->recycler, bytes);
}

static void release_z(selected *q, int worker, int32_t s) {
    const int64_t bytes = z_bytes(&q->f->node[s]);
    if (!q->z[s]) return;
    if (bytes <= MPKI_SMALL)
        mpki_small_put(&q->state[worker].small, q->z[s], bytes);
    else
        mpki_recycler_put(&q->recycler, q->z[s], bytes);
    q->z[s] = NULL;
}

static T *space_of(selected *q, int worker, int64_t entries) {
    worker_state *state = &q->state[worker];
    if (entries <= state->room) return state->space;
    mpki_release(q->ctx, state->space);
    state->room = entries + entries / 4;
    state->space = mpki_alloc(q->ctx, STAGE, state->room, sizeof(T));
    if (!state->space) state->room = 0;
    return state->space;
}

/* ---- from the parent ------------------------------------------------------------------------- */

typedef struct gather {
    const T *from;
    T *to; /* entry (0, 0) of Z_RR */
    int64_t ld_from, ld_to, rows, step;
    const int32_t *row;
    const mpki_run *runs; /* NULL: rows one by one */
    int32_t run_count;
} gather;

static void gather_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    const gather *g = arg;
    const int64_t c1 = (item + 1) * g->step < g->rows ? (item + 1) * g->step : g->rows;
    for (int64_t j = item * g->step; j < c1; j++) {
        const T *restrict x = g->from + g->row[j] * g->ld_from;
        T *restrict y = g->to + j * g->ld_to;
        if (g->runs)
            for (int32_t r = 0; r < g->run_count; r++)
                memcpy(y + g->runs[r].from, x + g->runs[r].to,
                       (size_t)g->runs[r].count * sizeof(T));
        else
            for (int64_t i = 0; i < g->rows; i++) y[i] = x[g->row[i]];
    }
}

/* Rows of R in the parent's front: a column that is fully summed there is where the parent's pivots
 * have brought it, the others follow in their order. */
static void find_rows(const selected *q, int32_t s, int32_t *row) {
    const mpki_tree_view *tree = q->tree;
    const mpki_node *node = &q->f->node[s], *parent = &q->f->node[tree->parent[s]];
    const int32_t delayed = mpki_node_delayed(q->tree, parent, q->tree->parent[s]);
    const int32_t own = parent->w - delayed, m = (int32_t)(node->nrows - node->w);
    const int32_t *rel = tree->rel + tree->rptr[s], *ridx = tree->ridx + tree->rptr[s];
    for (int32_t i = node->nelim; i < node->w; i++) *row++ = q->at[id_of(node)[i]];
    for (int32_t i = 0; i < m; i++) row[i] = rel[i] < own ? q->at[ridx[i]] : rel[i] + delayed;
}

static void gather_parent(selected *q, int32_t s, mpki_pool *pool, int worker) {
    const int32_t p = q->tree->parent[s];
    const mpki_node *node = &q->f->node[s];
    const int64_t e = node->nelim, ld = leading(node->nrows);
    const int32_t rows = (int32_t)(node->nrows - e);
    worker_state *state = &q->state[worker];
    if (p < 0) return;
    if (rows > 0) {
        find_rows(q, s, state->row);
        gather g = {.from = q->z[p],
                    .to = q->z[s] + e + e * ld,
                    .ld_from = leading(q->f->node[p].nrows),
                    .ld_to = ld,
                    .rows = rows,
                    .step = 64,
                    .row = state->row};
        if (rows >= 32) {
            for (int32_t i = 0; i < rows; i++) {
                mpki_run *last = g.run_count ? state->runs + g.run_count - 1 : NULL;
                if (last && last->to + last->count == state->row[i])
                    last->count++;
                else
                    state->runs[g.run_count++] = (mpki_run){i, 1, state->row[i]};
            }
            if (rows >= 8 * g.run_count) g.runs = state->runs;
        }
        mpki_pool *const help = (int64_t)rows * rows < MPKI_GATHER_SHARED ? NULL : pool;
        mpki_pool_for(help, worker, (rows + g.step - 1) / g.step, gather_item, &g);
    }
    if (atomic_fetch_sub(&q->left[p], 1) == 1) release_z(q, worker, p);
}

/* ---- a block of columns ---------------------------------------------------------------------- */

/* Columns j0 .. j1-1 of a front, and the rows below them. Right factors are packed in slivers of nc
 * columns (kernels/kernels.h); a sliver is at the same time the left factor of a product,
 * transposed: nc rows, nc apart. */
typedef struct block {
    const selected *q;
    FN(front) f;
    T *z;
    int64_t ld, r; /* of z; rows below */
    int32_t j0, j1, b, wide;
    T *l, *inv;  /* b x b: L of the block, its inverse */
    T *left;     /* inv packed */
    T *right;    /* -D^-1 inv packed, conjugated where Hermitian */
    T *parts;    /* inv packed by the panels in which the block's columns lie */
    int32_t cut; /* columns in the first of these panels */
    T *s;        /* b x b: Z of the block, conjugated where Hermitian */
    T *y, *zr;   /* packed by chunks of MPKI_PANEL rows: Y; Z_RE, conjugated where Hermitian */
} block;

/* Pack a `depth` x b matrix of columns ld apart, times sign. */
static void pack(const block *k, int32_t depth, const T *a, int64_t ld, R sign, int conjugate,
                 T *packed) {
    const int nc = k->q->k->nc;
    for (int32_t j = 0; j < k->wide; j++) {
        T *to = packed + (int64_t)(j - j % nc) * depth + j % nc;
        const T *from = a + j * ld;
        if (j >= k->b)
            for (int32_t i = 0; i < depth; i++) to[(int64_t)i * nc] = t_make(0, 0);
        else
            for (int32_t i = 0; i < depth; i++)
                to[(int64_t)i * nc] = sign * conj_if(conjugate, from[i]);
    }
}

/* inv := L^-1 of the block, by columns; rows in steps, the rows below a step by a product. */
static void invert_triangle(const block *k, T *packed) {
    enum { STEP = 16 };
    const int32_t b = k->b;
    const int nc = k->q->k->nc;
    for (int32_t j = 0; j < b; j++) {
        const T *from = FN(front_at)(&k->f, k->j0 + j, k->j0 + j);
        memset(k->inv + (int64_t)j * b, 0, (size_t)b * sizeof(T));
        k->inv[j + (int64_t)j * b] = t_make(1, 0);
        memcpy(k->l + j + (int64_t)j * b, from, (size_t)(b - j) * sizeof(T));
    }
    for (int32_t i0 = 0, i1; i0 < b; i0 = i1) {
        i1 = i0 + STEP < b ? i0 + STEP : b;
        for (int32_t c = 0; c < i1; c++) {
            T *x = k->inv + (int64_t)c * b;
            for (int32_t i = i0; i + 1 < i1; i++) {
                const T *l = k->l + (int64_t)i * b, xi = x[i];
                for (int32_t t = i + 1; t < i1; t++) x[t] -= t_mul(l[t], xi);
            }
        }
        if (i1 == b) break;
        for (int32_t c = 0; c < i1; c += nc)
            for (int32_t i = i0; i < i1; i++)
                for (int h = 0; h < nc; h++)
                    packed[(int64_t)c * (i1 - i0) + (i - i0) * nc + h] =
                        c + h < i1 ? k->inv[i + (int64_t)(c + h) * b] : t_make(0, 0);
        k->q->k->multiply(b - i1, i1, i1 - i0, k->l + i1 + (int64_t)i0 * b, b, packed, k->inv + i1,
                          b, 0, ALL);
    }
}

/* right := -D^-1 inv, packed; k->l is used up. */
static void pack_right(const block *k) {
    const int32_t b = k->b;
    const int hermitian = k->q->hermitian;
    const T *d = k->f.dinv + 2 * k->j0;
    for (int32_t c = 0; c < b; c++) {
        const T *x = k->inv + (int64_t)c * b;
        T *y = k->l + (int64_t)c * b;
        for (int32_t i = 0; i < b; i++) {
            if (i + 1 < b && t_abs1(d[2 * i + 1]) > 0) {
                y[i] = x[i], y[i + 1] = x[i + 1];
                times_pair(d + 2 * i, hermitian, &y[i], &y[i + 1]);
                i++;
            } else {
                y[i] = t_mul(d[2 * i], x[i]);
            }
        }
    }
    pack(k, b, k->l, b, -1, hermitian, k->right);
}

static int32_t chunk_rows(const block *k, int64_t c) {
    const int64_t left = k->r - c * MPKI_PANEL;
    return left < MPKI_PANEL ? (int32_t)left : MPKI_PANEL;
}

/* Chunk `item` of Y := L_RE L^-1, packed. */
static void y_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const block *k = arg;
    const int32_t rows = chunk_rows(k, item);
    T *chunk = k->q->state[worker].chunk;
    for (int32_t c0 = 0, c1 = k->cut; c0 < k->b; c0 = c1, c1 = k->b)
        k->q->k->multiply(rows, k->b, c1 - c0,
                          FN(front_at)(&k->f, k->j1 + item * MPKI_PANEL, k->j0 + c0),
                          FN(front_ld)(&k->f, k->j0 + c0), k->parts + (int64_t)c0 * k->wide, chunk,
                          MPKI_PANEL, c0 == 0, ALL);
    pack(k, rows, chunk, MPKI_PANEL, -1, 0, k->y + item * MPKI_PANEL * k->wide);
}

enum { STRIP = 192 /* rows: a multiple of every register tile */ };

/* Rows of Z_RE := -Z_RR Y, and Z_ER. */
static void z_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    enum { SIDE = 8 };
    (void)pool;
    (void)worker;
    const block *k = arg;
    const int64_t r0 = item * STRIP, rows = k->r - r0 < STRIP ? k->r - r0 : STRIP, ld = k->ld;
    const T *a = k->z + k->j1 + r0 + k->j1 * ld;
    T *z = k->z + k->j1 + r0 + k->j0 * ld, *turned = k->z + k->j0 + (k->j1 + r0) * ld;
    if (mpki_cancelled(k->q->ctx)) return;
    for (int64_t c = 0; c * MPKI_PANEL < k->r; c++)
        k->q->k->multiply(rows, k->b, chunk_rows(k, c), a + c * MPKI_PANEL * ld, ld,
                          k->y + c * MPKI_PANEL * k->wide, z, ld, c == 0, ALL);
    for (int64_t i0 = 0; i0 < rows; i0 += SIDE) {
        const int64_t i1 = i0 + SIDE < rows ? i0 + SIDE : rows;
        for (int32_t j = 0; j < k->b; j++)
            for (int64_t i = i0; i < i1; i++)
                turned[j + i * ld] = conj_if(k->q->hermitian, z[i + j * ld]);
    }
}

static void pack_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    const block *k = arg;
    pack(k, chunk_rows(k, item), k->z + k->j1 + item * MPKI_PANEL + k->j0 * k->ld, k->ld, 1,
         k->q->hermitian, k->zr + item * MPKI_PANEL * k->wide);
}

/* Sliver `item` of the rows of L^-T D^-1 L^-1 - Y^T Z_RE, up to the diagonal. */
static void s_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    const block *k = arg;
    const FN(kernels) *kernels = k->q->k;
    const int nc = kernels->nc;
    const int32_t i0 = (int32_t)item * nc, rows = k->b - i0 < nc ? k->b - i0 : nc;
    const int64_t first = (int64_t)i0 * nc; /* L^-1 has zeros above */
    for (int32_t j = 0; j <= i0; j += nc)
        kernels->multiply(
            rows, k->b - j < nc ? k->b - j : nc, k->b - i0, k->left + (int64_t)i0 * k->b + first,
            nc, k->right + (int64_t)j * k->b + first, k->s + i0 + (int64_t)j * k->b, k->b, 1, ALL);
    for (int64_t c = 0; c * MPKI_PANEL < k->r; c++)
        kernels->multiply(rows, i0 + rows, chunk_rows(k, c),
                          k->y + c * MPKI_PANEL * k->wide + (int64_t)i0 * chunk_rows(k, c), nc,
                          k->zr + c * MPKI_PANEL * k->wide, k->s + i0, k->b, 0, ALL);
}

static void put_block(const block *k) {
    const int hermitian = k->q->hermitian;
    T *z = k->z + k->j0 + k->j0 * k->ld;
    for (int32_t j = 0; j < k->b; j++) {
        const T d = k->s[j + (int64_t)j * k->b];
        z[j + j * k->ld] = hermitian ? t_make(t_re(d), 0) : d;
        for (int32_t i = j + 1; i < k->b; i++) {
            const T x = k->s[i + (int64_t)j * k->b];
            z[i + j * k->ld] = conj_if(hermitian, x);
            z[j + i * k->ld] = x;
        }
    }
}

static mpk_status invert_block(selected *q, const mpki_node *node, T *z, int32_t j0, int32_t j1,
                               mpki_pool *pool, int worker) {
    const int nc = q->k->nc;
    const int32_t b = j1 - j0, wide = (b + nc - 1) / nc * nc;
    const int64_t r = node->nrows - j1, square = mpki_leading((int64_t)b * wide),
                  tall = mpki_leading(r * wide);
    T *space = space_of(q, worker, 6 * square + 2 * tall + 64);
    if (!space) return MPK_ERR_MEMORY;
    block k = {.q = q,
               .f = front_of(node),
               .z = z,
               .ld = leading(node->nrows),
               .r = r,
               .j0 = j0,
               .j1 = j1,
               .b = b,
               .wide = wide,
               .l = space,
               .inv = space + square,
               .left = space + 2 * square,
               .right = space + 3 * square,
               .s = space + 4 * square,
               .parts = space + 5 * square,
               .y = space + 6 * square,
               .zr = space + 6 * square + tall};
    const int32_t edge = (j0 / MPKI_PANEL + 1) * MPKI_PANEL - j0;
    k.cut = edge < b ? edge : b;
    if ((double)r * (double)r * b < MPKI_INVERSE_SHARED) pool = NULL;
    invert_triangle(&k, k.parts);
    pack(&k, b, k.inv, b, 1, 0, k.left);
    if (k.cut == b) {
        k.parts = k.left;
    } else {
        pack(&k, k.cut, k.inv, b, 1, 0, k.parts);
        pack(&k, b - k.cut, k.inv + k.cut, b, 1, 0, k.parts + (int64_t)k.cut * wide);
    }
    pack_right(&k);
    const int64_t chunks = (r + MPKI_PANEL - 1) / MPKI_PANEL;
    mpki_pool_for(pool, worker, chunks, y_item, &k);
    mpki_pool_for(pool, worker, (r + STRIP - 1) / STRIP, z_item, &k);
    mpki_pool_for(pool, worker, chunks, pack_item, &k);
    mpki_pool_for(pool, worker, wide / nc, s_item, &k);
    put_block(&k);
    return MPK_OK;
}

/* A single column, without packing. */
static void invert_column(const selected *q, const mpki_node *node, T *z) {
    const int64_t r = node->nrows - 1, ld = leading(node->nrows);
    const T *l = (const T *)node->a + 1, *dinv = dinv_of(node);
    T sum = dinv[0];
    for (int64_t i = 1; i <= r; i++) z[i] = t_make(0, 0);
    if (r > 0) q->k->gemv(r, (int)r, z + 1 + ld, ld, l, z + 1);
    for (int64_t i = 0; i < r; i++) {
        z[(i + 1) * ld] = conj_if(q->hermitian, z[i + 1]);
        sum -= t_mul(conj_if(q->hermitian, l[i]), z[i + 1]);
    }
    z[0] = q->hermitian ? t_make(t_re(sum), 0) : sum;
}

/* ---- a front --------------------------------------------------------------------------------- */

static T unscaled(T x, double s, double t, bool near) {
    const double re = (double)t_re(x), im = (double)t_im(x);
    return near ? t_make((R)(re * (s * t)), (R)(im * (s * t)))
                : t_make((R)mpki_scaled(re, s, t), (R)mpki_scaled(im, s, t));
}

/* What is asked for of the entries that this front has first. */
static void put_out(const selected *q, int32_t s) {
    const mpki_tree_view *tree = q->tree;
    const mpki_node *node = &q->f->node[s];
    const double *scale = q->f->scale;
    const int32_t delayed = mpki_node_delayed(tree, node, s), own = node->w - delayed;
    const int32_t *perm = tree->perm;
    const int32_t *ridx = tree->ridx + tree->rptr[s], *at = q->at + tree->sptr[s];
    const int64_t ld = leading(node->nrows);
    const T *z = q->z[s];
    T *diagonal = q->out->diagonal, *pattern = q->out->pattern;
    for (int32_t j = 0; diagonal && j < node->nelim; j++) {
        const int32_t i = perm[id_of(node)[j]];
        diagonal[i] = unscaled(z[j + j * ld], scale[i], scale[i], q->near);
    }
    for (int64_t k = tree->scatter_ptr[s]; pattern && k < tree->scatter_ptr[s + 1]; k++) {
        const mpki_scatter e = mpki_scatter_at(&tree->scatter, k);
        const int32_t row = e.row < 0 ? ~e.row : e.row;
        const int64_t i = row < own ? at[row] : row + delayed;
        const T x =
            unscaled(z[i + at[e.col] * ld], scale[perm[tree->sptr[s] + e.col]],
                     scale[perm[row < own ? tree->sptr[s] + row : ridx[row - own]]], q->near);
        pattern[e.src] = e.row < 0 ? t_conj(x) : x;
    }
}

static double work_of(const mpki_node *node) {
    const double e = node->nelim, r = (double)node->nrows - e;
    return 2 * (e * r * r + e * e * r + e * e * e / 3);
}

static double done_share(selected *q) {
    return fmin(atomic_load(&q->done) / (q->all + 1), 0.999);
}

static bool is_pair(const mpki_node *node, int32_t k) {
    return t_abs1(((const T *)node->d)[2 * k + 1]) > 0;
}

static mpk_status do_node(selected *q, int32_t s, mpki_pool *pool, int worker) {
    const mpki_node *node = &q->f->node[s];
    T *z = q->z[s] = new_z(q, worker, s);
    if (!z) return MPK_ERR_MEMORY;
    gather_parent(q, s, pool, worker);
    for (int32_t i = 0; i < node->w; i++) q->at[id_of(node)[i]] = i;
    if (node->nelim == 1) {
        invert_column(q, node, z);
    } else {
        for (int32_t j1 = node->nelim, j0; j1 > 0; j1 = j0) {
            j0 = (j1 - 1) / MPKI_PANEL * MPKI_PANEL;
            if (j0 > 0 && is_pair(node, j0 - 1)) j0--; /* one that two panels share */
            const mpk_status status = invert_block(q, node, z, j0, j1, pool, worker);
            if (mpk_failed(status)) return status;
            if (j0 > 0 && mpki_progress(q->ctx, STAGE, done_share(q))) return MPK_ERR_CANCELLED;
        }
    }
    put_out(q, s);
    if (q->tree->child_ptr[s] == q->tree->child_ptr[s + 1]) release_z(q, worker, s);
    const double work = work_of(node);
    if (work > MPKI_FLOPS_COUNTED) {
        double done = atomic_load(&q->done);
        while (!atomic_compare_exchange_weak(&q->done, &done, done + work)) {}
        if (mpki_progress(q->ctx, STAGE, done_share(q))) return MPK_ERR_CANCELLED;
    }
    return MPK_OK;
}

static bool do_nodes(selected *q, int32_t first, int32_t last, mpki_pool *pool, int worker) {
    mpki_asking asking = {q->ctx, STAGE, 0};
    for (int32_t s = last; s >= first; s--) {
        if (atomic_load(&q->status) != MPK_OK) return false;
        const int64_t rows = q->f->node[s].nrows;
        const mpk_status status =
            mpki_asks(&asking, rows * rows) ? MPK_ERR_CANCELLED : do_node(q, s, pool, worker);
        if (!mpk_failed(status)) continue;
        fail(q, status);
        return false;
    }
    return true;
}

static void run_task(mpki_pool *pool, int worker, void *arg, int64_t item) {
    selected *q = arg;
    const mpki_task *all = q->f->memory.tasks.task;
    for (; item >= 0; item = all[item].heavy) { /* as in visit.c */
        const mpki_task *t = &all[item];
        if (!do_nodes(q, t->first, t->last, t->top ? pool : NULL, worker)) return;
        for (int32_t k = q->child_ptr[item]; k < q->child_ptr[item + 1]; k++) {
            const int32_t child = q->child[k];
            if (child != t->heavy) mpki_pool_push(pool, all[child].priority, run_task, q, child);
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Bytes that one thread holds at most, of all fronts. */
static double peak_bytes(const selected *q) {
    const mpki_tree_view *tree = q->tree;
    double now = 0, peak = 0;
    for (int32_t s = tree->nsuper - 1; s >= 0; s--) {
        const int32_t p = tree->parent[s];
        const double own = (double)z_bytes(&q->f->node[s]);
        now += own;
        if (now > peak) peak = now;
        if (p >= 0 && tree->child[tree->child_ptr[p]] == s) now -= (double)z_bytes(&q->f->node[p]);
        if (tree->child_ptr[s] == tree->child_ptr[s + 1]) now -= own;
    }
    return peak;
}

static void prepare(selected *q, int threads) {
    const mpki_tree_view *tree = q->tree;
    const int64_t block = MPKI_PANEL * (int64_t)(MPKI_PANEL + 2 * q->k->nc);
    q->z = MPKI_ZNEW(q->ctx, STAGE, (int64_t)tree->nsuper + 1, T *);
    q->at = MPKI_NEW(q->ctx, STAGE, tree->n, int32_t);
    q->left = mpki_alloc(q->ctx, STAGE, (int64_t)tree->nsuper + 1, sizeof *q->left);
    q->state = MPKI_ZNEW(q->ctx, STAGE, threads, worker_state);
    if (mpk_failed(mpki_failed(q->ctx))) return;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        atomic_init(&q->left[s], tree->child_ptr[s + 1] - tree->child_ptr[s]);
        q->all += work_of(&q->f->node[s]);
    }
    for (int t = 0; t < threads; t++) {
        worker_state *state = &q->state[t];
        state->small = (mpki_small_blocks){.ctx = q->ctx, .stage = STAGE};
        state->chunk = mpki_alloc(q->ctx, STAGE, block, sizeof(T));
        state->row = MPKI_NEW(q->ctx, STAGE, q->f->max_front + 1, int32_t);
        state->runs = MPKI_NEW(q->ctx, STAGE, q->f->max_front + 1, mpki_run);
    }
    mpki_memory_check(q->ctx, STAGE, "the selected inverse", peak_bytes(q), q->out->memory_limit);
}

static void clean_up(selected *q, int threads) {
    for (int32_t s = 0; q->z && q->state && s < q->tree->nsuper; s++) release_z(q, 0, s);
    for (int t = 0; q->state && t < threads; t++) {
        mpki_small_free(&q->state[t].small);
        mpki_release(q->ctx, q->state[t].space);
        mpki_release(q->ctx, q->state[t].chunk);
        mpki_release(q->ctx, q->state[t].row);
        mpki_release(q->ctx, q->state[t].runs);
    }
    mpki_recycler_free(&q->recycler);
    mpki_release(q->ctx, q->state);
    mpki_release(q->ctx, q->z);
    mpki_release(q->ctx, q->at);
    mpki_release(q->ctx, (void *)q->left);
    mpki_release(q->ctx, q->child_ptr);
    mpki_release(q->ctx, q->child);
}

mpk_status FN(selected_inverse)(mpk_context *ctx, const mpki_direct *f,
                                const mpki_selected_wish *out, mpki_selected_done *done) {
    const mpki_tasks *tasks = &f->memory.tasks;
    const int threads =
        f->memory.workers > 1 && tasks->count > 1 ? mpki_context_threads(ctx, out->threads) : 1;
    selected q = {.ctx = ctx,
                  .f = f,
                  .tree = &f->tree,
                  .k = FN(cpu_kernels)(),
                  .hermitian = f->tree.symmetry == MPK_HERMITIAN,
                  .near = mpki_scales_near(f->tree.n, f->scale),
                  .out = out};
    if (mpk_failed(mpki_recycler_init(ctx, STAGE, &q.recycler))) return mpki_failed(ctx);
    prepare(&q, threads);
    mpki_pool *pool = NULL;
    if (threads > 1 && !mpk_failed(mpki_failed(ctx)) &&
        !mpk_failed(mpki_tasks_children(ctx, STAGE, tasks, &q.child_ptr, &q.child)))
        pool = mpki_context_pool(ctx, threads, tasks->count + 1);
    if (!mpk_failed(mpki_failed(ctx))) {
        if (threads == 1) {
            do_nodes(&q, 0, f->tree.nsuper - 1, NULL, 0);
        } else {
            for (int32_t k = 0; k < tasks->count; k++)
                if (tasks->task[k].parent < 0)
                    mpki_pool_push(pool, tasks->task[k].priority, run_task, &q, k);
            mpki_pool_run(pool);
        }
    }
    if (atomic_load(&q.status) == MPK_ERR_CANCELLED || mpki_cancelled(ctx))
        mpki_stopped(ctx, STAGE);
    *done = (mpki_selected_done){q.all, threads};
    clean_up(&q, threads);
    return mpki_failed(ctx);
}
