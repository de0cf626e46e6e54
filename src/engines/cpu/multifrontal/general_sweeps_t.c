/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweeps over the nodes of L U, and of its transpose. Up the tree a vector is in the order of
 * the equations, down it in that of the unknowns: rows and columns, or the other way round for the
 * transpose. */
#include "general.h"
#include "core/random.h"
#include "node_t.h"
#include "square_of_t.h"
#include "visit.h"

#include <string.h>

enum { B = MPKI_TILE }; /* columns that are solved for before the rest is updated */

/* ---- a node, v of its rows ------------------------------------------------------------------- */

typedef struct at_node {
    const FN(kernels) * k;
    FN(square) f;
    mpki_pool *pool;
    int worker;
} at_node;

static void times(const at_node *g, int64_t rows, int64_t cols, const T *a, int64_t lda, const T *x,
                  T *y) {
    panel p = {g->k, rows, lda, (int32_t)cols, a, x, y, 0, 0};
    panel_times(&p, g->pool, g->worker);
}
static void times_t(const at_node *g, int64_t rows, int64_t cols, const T *a, int64_t lda,
                    const T *x, T *y) {
    panel p = {g->k, rows, lda, (int32_t)cols, a, x, y, 0, 0};
    panel_times_t(&p, g->pool, g->worker);
}

/* v := L^-1 v */
static void forward_l(const at_node *g, T *v) {
    const FN(square) *f = &g->f;
    for (int64_t j0 = 0; j0 < f->nelim; j0 += B) {
        const int64_t j1 = f->nelim - j0 < B ? f->nelim : j0 + B;
        for (int64_t j = j0; j + 1 < j1; j++) {
            const T *l = f->a + j * f->ld, x = v[j];
            for (int64_t i = j + 1; i < j1; i++) v[i] -= t_mul(l[i], x);
        }
        times(g, f->nrows - j1, j1 - j0, f->a + j1 + j0 * f->ld, f->ld, v + j0, v + j1);
    }
}

/* v := U^-T v */
static void forward_ut(const at_node *g, T *v) {
    const FN(square) *f = &g->f;
    const int64_t m = f->nrows - f->w;
    for (int64_t j0 = 0; j0 < f->nelim; j0 += B) {
        const int64_t j1 = f->nelim - j0 < B ? f->nelim : j0 + B;
        for (int64_t j = j0; j < j1; j++) {
            const T *u = f->a + j * f->ld;
            T sum = v[j];
            for (int64_t i = j0; i < j; i++) sum -= t_mul(u[i], v[i]);
            v[j] = t_mul(sum, f->dinv[j]);
        }
        times_t(g, j1 - j0, f->w - j1, f->a + j0 + j1 * f->ld, f->ld, v + j0, v + j1);
        times(g, m, j1 - j0, f->u + j0 * f->ldu, f->ldu, v + j0, v + f->w);
    }
}

/* The first nelim entries of v := U^-1 v; null: those of zero pivots stay, which are else 0 */
static void backward_u(const at_node *g, bool null, T *v) {
    const FN(square) *f = &g->f;
    const int64_t m = f->nrows - f->w;
    for (int64_t j0 = (f->nelim - 1) / B * B; f->nelim > 0 && j0 >= 0; j0 -= B) {
        const int64_t j1 = f->nelim - j0 < B ? f->nelim : j0 + B;
        times_t(g, m, j1 - j0, f->u + j0 * f->ldu, f->ldu, v + f->w, v + j0);
        times(g, j1 - j0, f->w - j1, f->a + j0 + j1 * f->ld, f->ld, v + j1, v + j0);
        for (int64_t j = j1 - 1; j >= j0; j--) {
            const T *u = f->a + j * f->ld;
            if (!null || t_abs1(f->dinv[j]) > 0) v[j] = t_mul(v[j], f->dinv[j]);
            for (int64_t i = j0; i < j; i++) v[i] -= t_mul(u[i], v[j]);
        }
    }
}

/* The same of L^-T v */
static void backward_lt(const at_node *g, T *v) {
    const FN(square) *f = &g->f;
    for (int64_t j0 = (f->nelim - 1) / B * B; f->nelim > 0 && j0 >= 0; j0 -= B) {
        const int64_t j1 = f->nelim - j0 < B ? f->nelim : j0 + B;
        times_t(g, f->nrows - j1, j1 - j0, f->a + j1 + j0 * f->ld, f->ld, v + j1, v + j0);
        for (int64_t j = j1 - 2; j >= j0; j--) {
            const T *l = f->a + j * f->ld;
            T sum = v[j];
            for (int64_t i = j + 1; i < j1; i++) sum -= t_mul(l[i], v[i]);
            v[j] = sum;
        }
    }
}

/* ---- one right-hand side --------------------------------------------------------------------- */

typedef struct vectors {
    T *y, *x; /* by equations, and by unknowns */
    bool transposed, null;
} vectors;

static const int32_t *equations(const mpki_node *node, bool transposed) {
    return transposed ? mpki_square_id(node, sizeof(T)) : mpki_square_row(node, sizeof(T));
}
static const int32_t *unknowns(const mpki_node *node, bool transposed) {
    return transposed ? mpki_square_row(node, sizeof(T)) : mpki_square_id(node, sizeof(T));
}

static at_node look_at(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s) {
    return (at_node){FN(cpu_kernels)(), square_of(&z->f->node[s]), pool, worker};
}

static void forward_node(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                         void *arg) {
    const vectors *p = arg;
    const at_node g = look_at(z, pool, worker, s);
    const int32_t *names = equations(&z->f->node[s], p->transposed), e = g.f.nelim;
    const int64_t n = g.f.nrows;
    T *v = z->v[worker];
    for (int64_t i = e; i < n; i++) v[i] = t_make(0, 0);
    take_contributions(z, worker, 1, s, !p->transposed, p->y, v + g.f.w);
    for (int32_t i = 0; i < e; i++) v[i] = p->y[names[i]];
    if (p->transposed)
        forward_ut(&g, v);
    else
        forward_l(&g, v);
    for (int32_t i = 0; i < e; i++) p->y[names[i]] = v[i];
    if (n > e) memcpy(parent_part(z, worker, 1, s), v + e, (size_t)(n - e) * sizeof(T));
}

/* From the equations' order, for e pivots, to the unknowns'. */
static void backward_vector(const at_node *g, const mpki_node *node, const int32_t *ridx,
                            const vectors *p, T *v) {
    const int32_t *from = equations(node, p->transposed), *to = unknowns(node, p->transposed);
    const int32_t e = g->f.nelim, w = g->f.w;
    for (int32_t i = 0; i < e; i++) v[i] = p->y[from[i]];
    for (int32_t i = e; i < w; i++) v[i] = p->x[to[i]];
    for (int64_t i = w; i < g->f.nrows; i++) v[i] = p->x[ridx[i - w]];
    if (p->transposed)
        backward_lt(g, v);
    else
        backward_u(g, p->null, v);
    for (int32_t i = 0; i < e; i++) p->x[to[i]] = v[i];
}

static void backward_node(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                          void *arg) {
    const mpki_tree_view *tree = &z->f->tree;
    const at_node g = look_at(z, pool, worker, s);
    backward_vector(&g, &z->f->node[s], tree->ridx + tree->rptr[s], arg, z->v[worker]);
}

void FN(general_solve)(mpki_direct_solver *z, bool transposed, void *y, void *x) {
    vectors p = {y, x, transposed, false};
    mpki_visit_up(z, 0, forward_node, &p);
    mpki_visit_down(z, 0, backward_node, &p);
}

void FN(general_null)(mpki_direct_solver *z, bool transposed, void *vy, void *x) {
    vectors p = {vy, x, transposed, true};
    for (int32_t k = 0; k < z->f->tree.n; k++) p.y[k] = t_make(0, 0);
    for (int32_t s = 0; s < z->f->tree.nsuper; s++) {
        const mpki_node *node = &z->f->node[s];
        const T *dinv = node->d;
        for (int32_t k = 0; k < node->nelim; k++)
            if (!(t_abs1(dinv[k]) > 0)) {
                const int32_t at = equations(node, transposed)[k];
                p.y[at] = t_make(mpki_random_at((uint64_t)at) >> 63 ? (R)-1 : (R)1, 0);
            }
    }
    mpki_visit_down(z, 0, backward_node, &p);
}

/* ---- several, one after the other at each node ----------------------------------------------- */

void FN(general_block)(const mpki_direct_solver *z, int worker, int nrhs, bool transposed, void *vy,
                       void *vx) {
    const mpki_tree_view *tree = &z->f->tree;
    const int64_t n = tree->n;
    T *y = vy, *x = vx, *v = z->v[worker];
    mpki_asking asking = {z->ctx, "solve", 0};
    for (int32_t s = 0; s < tree->nsuper; s++) {
        const mpki_node *node = &z->f->node[s];
        const at_node g = look_at(z, NULL, worker, s);
        const int32_t *names = equations(node, transposed), *ridx = tree->ridx + tree->rptr[s];
        if (mpki_asks(&asking, mpki_node_entries(node) * nrhs)) return;
        for (int r = 0; r < nrhs; r++) {
            T *yr = y + r * n;
            for (int32_t i = 0; i < g.f.nelim; i++) v[i] = yr[names[i]];
            for (int64_t i = g.f.nelim; i < g.f.nrows; i++) v[i] = t_make(0, 0);
            if (transposed)
                forward_ut(&g, v);
            else
                forward_l(&g, v);
            for (int32_t i = 0; i < g.f.nelim; i++) yr[names[i]] = v[i];
            for (int32_t i = g.f.nelim; i < g.f.w; i++) yr[names[i]] += v[i];
            for (int64_t i = g.f.w; i < g.f.nrows; i++) yr[ridx[i - g.f.w]] += v[i];
        }
    }
    for (int32_t s = tree->nsuper - 1; s >= 0; s--) {
        const mpki_node *node = &z->f->node[s];
        const at_node g = look_at(z, NULL, worker, s);
        if (mpki_asks(&asking, mpki_node_entries(node) * nrhs)) return;
        for (int r = 0; r < nrhs; r++) {
            const vectors p = {y + r * n, x + r * n, transposed, false};
            backward_vector(&g, node, tree->ridx + tree->rptr[s], &p, v);
        }
    }
}

/* ---- from and to the problem's order --------------------------------------------------------- */

/* Row of the diagonal at position k, and its scale; or the column. */
static inline int32_t place(const mpki_direct *f, bool rows, int32_t k, R *scale) {
    const int32_t j = f->tree.perm[k], i = rows && f->tree.row_of ? f->tree.row_of[j] : j;
    *scale = (R)f->scale[rows ? f->tree.n + i : i];
    return i;
}

void FN(general_in)(const mpki_direct *f, bool transposed, int nrhs, const void *vb, int64_t ldb,
                    void *vy) {
    const T *b = vb;
    T *y = vy;
    R s;
    for (int32_t k = 0; k < f->tree.n; k++) {
        const int32_t i = place(f, !transposed, k, &s);
        for (int r = 0; r < nrhs; r++) y[k + r * (int64_t)f->tree.n] = b[i + r * ldb] * s;
    }
}

void FN(general_out)(const mpki_direct *f, bool transposed, int nrhs, const void *vy, void *vx,
                     int64_t ldx) {
    const T *y = vy;
    T *x = vx;
    R s;
    for (int32_t k = 0; k < f->tree.n; k++) {
        const int32_t i = place(f, transposed, k, &s);
        for (int r = 0; r < nrhs; r++) x[i + r * ldx] = y[k + r * (int64_t)f->tree.n] * s;
    }
}

/* ---- what a caller may ask of the pivots ----------------------------------------------------- */

void FN(general_get_d)(const mpki_direct *f, void *out) {
    T *d = out;
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const FN(square) g = square_of(&f->node[s]);
        for (int32_t k = 0; k < g.nelim; k++, d += 2) d[0] = g.a[k + k * g.ld], d[1] = t_make(0, 0);
    }
}

/* -1 or 1: is the permutation `to` (n) odd? It is used up. */
static int parity(int32_t n, int32_t *to) {
    int sign = 1;
    for (int32_t k = 0; k < n; k++)
        while (to[k] != k) {
            const int32_t next = to[k];
            to[k] = to[next], to[next] = next;
            sign = -sign;
        }
    return sign;
}

void FN(general_get_logdet)(const mpki_direct *f, int32_t *work, double *out) {
    const mpki_tree_view *tree = &f->tree;
    double log_abs = 0;
    double complex phase = 1;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        const FN(square) g = square_of(&f->node[s]);
        for (int32_t k = 0; k < g.nelim; k++) {
            const T d = g.a[k + k * g.ld];
            const double complex x = (double)t_re(d) + (double)t_im(d) * I;
            const double size = cabs(x);
            const int32_t i = tree->perm[g.row[k]];
            work[tree->perm[g.col[k]]] = tree->row_of ? tree->row_of[i] : i;
            if (size == 0) continue;
            log_abs += log(size);
            phase *= x / size;
        }
    }
    for (int64_t j = 0; j < 2 * (int64_t)tree->n; j++) log_abs -= log(f->scale[j]);
    phase *= parity(tree->n, work);
    out[0] = log_abs, out[1] = creal(phase), out[2] = cimag(phase);
}
