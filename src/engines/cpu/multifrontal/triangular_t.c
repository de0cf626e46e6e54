/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweeps over the nodes of a direct factor: L, D and L^T, for one right-hand side or a
 * block. */
#include "engines/cpu/isa/cpu.h"
#include "multifrontal.h"
#include "node_t.h"
#include "pair_t.h"
#include "tuning.h"
#include "visit.h"

#include <string.h>

void FN(outer_clear)(const mpki_direct *f, int nrhs, void *vy) {
    T *y = (T *)vy + (int64_t)f->tree.n * nrhs;
    memset(y, 0, (size_t)f->tree.outer * (size_t)nrhs * sizeof *y);
}

void FN(outer_in)(const mpki_direct *f, int nrhs, const void *vx, int64_t ldx, void *vy) {
    const T *x = vx;
    T *y = (T *)vy + (int64_t)f->tree.n * nrhs;
    for (int32_t k = 0; k < f->tree.outer; k++) {
        const R s = (R)(1 / f->scale[f->tree.n + k]);
        for (int r = 0; r < nrhs; r++) y[(int64_t)k * nrhs + r] = x[k + r * ldx] * s;
    }
}

void FN(outer_out)(const mpki_direct *f, int nrhs, const void *vy, void *vx, int64_t ldx) {
    T *x = vx;
    const T *y = (const T *)vy + (int64_t)f->tree.n * nrhs;
    for (int32_t k = 0; k < f->tree.outer; k++) {
        const R s = (R)(1 / f->scale[f->tree.n + k]);
        for (int r = 0; r < nrhs; r++) x[k + r * ldx] = y[(int64_t)k * nrhs + r] * s;
    }
}

void FN(outer_take)(const mpki_direct_solver *z, int worker, int nrhs, void *vy) {
    const int32_t last = z->f->tree.nsuper - 1, m = z->f->tree.outer;
    const mpki_node *node = &z->f->node[last];
    const T *u = parent_part(z, worker, nrhs, last) + (node->w - node->nelim) * nrhs;
    memcpy((T *)vy + (int64_t)z->f->tree.n * nrhs, u, (size_t)m * (size_t)nrhs * sizeof *u);
}

/* ---- one right-hand side --------------------------------------------------------------------- */

/* A right-hand side on its way: it comes from b and goes to x, unless these are NULL. Both belong
 * to the nodes, as D does: there is no pass over the vector that one worker would do alone. */
typedef struct column {
    const T *b;
    T *y, *x;
    bool diagonal;
} column;

/* A leaf of one pivot, real: what it has for its parent is its column times one number. The same bits as
 * by the kernels: a product that is rounded once. */
static inline void forward_leaf(const mpki_direct_solver *z, int worker, int32_t s,
                                const column *c) {
    const mpki_direct *f = z->f;
    const mpki_node *node = &f->node[s];
    const int32_t at = f->tree.sptr[s];
    T *y = c->y;
    if (c->b) y[at] = c->b[f->tree.perm[at]] * (R)f->scale[f->tree.perm[at]];
    const T x = y[at], *restrict l = (const T *)node->a + 1;
    T *restrict u = parent_part(z, worker, 1, s);
    for (int64_t i = 0; i + 1 < node->nrows; i++) u[i] = t_make(0, 0) - t_mul(l[i], x);
}

static void forward_node(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                         void *arg) {
    const column *c = arg;
    T *y = c->y;
    const mpki_direct *f = z->f;
    const mpki_tree_view *tree = &f->tree;
    const mpki_node *node = &f->node[s];
    const FN(kernels) *k = z->kernels;
    const int32_t e = node->nelim, w = node->w, *id = id_of(node);
    const int64_t n = node->nrows;
    T *v = z->v[worker];
    if (s + MPKI_SWEEP_AHEAD < tree->nsuper) look_ahead(node + MPKI_SWEEP_AHEAD);
    if (!MPKI_COMPLEX && e == 1 && w == 1 && tree->child_ptr[s] == tree->child_ptr[s + 1]) {
        forward_leaf(z, worker, s, c);
        return;
    }
    for (int32_t i = tree->sptr[s]; c->b && i < tree->sptr[s + 1]; i++)
        y[i] = c->b[tree->perm[i]] * (R)f->scale[tree->perm[i]];
    for (int64_t i = e; i < n; i++) v[i] = t_make(0, 0);
    take_contributions(z, worker, 1, s, false, y, v + w);
    for (int32_t i = 0; i < e; i++) v[i] = y[id[i]];
    FN(node_forward)(k, node, pool, worker, v);
    for (int32_t i = 0; i < e; i++) y[id[i]] = v[i];
    if (n > e) memcpy(parent_part(z, worker, 1, s), v + e, (size_t)(n - e) * sizeof(T));
}

/* A pivot of D^-1 times nr numbers, or pairs of them; true: it is a pair. In one function, compiled
 * once: the bits are the same for one column and for several. */
static __attribute__((noinline)) bool divide_pivot(const T *d, int hermitian, int nr, T *x1,
                                                   T *x2) {
    const bool pair = t_abs1(d[1]) > 0;
    for (int r = 0; pair && r < nr; r++) times_pair(d, hermitian, &x1[r], &x2[r]);
    for (int r = 0; !pair && r < nr; r++) x1[r] = t_mul(d[0], x1[r]);
    return pair;
}

/* v := D^-1 v for a node's pivots k0 .. k1-1, nr numbers each; a pair is of its first. */
static void divide(const mpki_node *node, int hermitian, int nr, int64_t k0, int64_t k1, T *v) {
    const T *d = dinv_of(node);
    if (k0 > 0 && t_abs1(d[2 * k0 - 1]) > 0) k0++;
    for (int64_t k = k0; k < k1; k++) {
        T *x1 = v + k * nr;
        if (!MPKI_COMPLEX && nr == 1 &&
            !(t_abs1(d[2 * k + 1]) > 0)) /* one product: the same bits */
            *x1 *= d[2 * k];
        else
            k += divide_pivot(d + 2 * k, hermitian, nr, x1, x1 + nr);
    }
}

static void backward_node(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                          void *arg) {
    const column *c = arg;
    T *y = c->y;
    const mpki_node *node = &z->f->node[s];
    const mpki_tree_view *tree = &z->f->tree;
    const FN(kernels) *k = z->kernels;
    const int hermitian = tree->symmetry == MPK_HERMITIAN;
    const int32_t e = node->nelim, w = node->w, *id = id_of(node);
    const int32_t *ridx = tree->ridx + tree->rptr[s];
    const int64_t n = node->nrows;
    T *v = z->v[worker];
    if (s >= MPKI_SWEEP_AHEAD) look_ahead(node - MPKI_SWEEP_AHEAD);
    for (int32_t i = 0; i < w; i++) v[i] = y[id[i]];
    for (int64_t i = w; i < n; i++) v[i] = y[ridx[i - w]];
    if (c->diagonal) divide(node, hermitian, 1, 0, e, v);
    FN(node_backward)(k, node, hermitian, pool, worker, v);
    for (int32_t i = 0; i < e; i++) y[id[i]] = v[i];
    for (int32_t i = 0; c->x && i < e; i++) {
        const int32_t at = tree->perm[id[i]];
        c->x[at] = v[i] * (R)z->f->scale[at];
    }
}

void FN(forward)(mpki_direct_solver *z, const void *b, void *y) {
    column c = {.b = b, .y = y};
    z->kernels = FN(cpu_kernels)();
    mpki_visit_up(z, 0, forward_node, &c);
}

void FN(backward)(mpki_direct_solver *z, bool diagonal, void *y, void *x) {
    column c = {.y = y, .x = x, .diagonal = diagonal};
    z->kernels = FN(cpu_kernels)();
    mpki_visit_down(z, 0, backward_node, &c);
}

/* ---- several, in rows of nr ------------------------------------------------------------------- */

typedef struct sides {
    const FN(kernels) * k;
    const T *b; /* by columns, ldb apart */
    T *y, *x;   /* by rows; by columns, ldx apart */
    int64_t ldb, ldx;
    int nr;
} sides;

/* The rows below a panel of the factor, or its columns: as many as a worker takes at a time. */
typedef struct below {
    const FN(kernels) * k;
    int64_t rows, depth;
    const T *a;
    int64_t down, along, each;
    int conjugate, nr;
    const T *x;
    T *y;
} below;

static void below_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const below *p = arg;
    const int64_t r0 = item * p->each, left = p->rows - r0;
    (void)pool, (void)worker;
    p->k->rows(left < p->each ? left : p->each, p->depth, p->a + r0 * p->down, p->down, p->along,
               p->conjugate, p->nr, p->x, p->y + r0 * p->nr);
}

static void times(const below *p, mpki_pool *pool, int worker) {
    if (p->rows <= 0 || p->depth <= 0) return;
    if (!pool || p->rows * p->depth * p->nr < 8 * (int64_t)MPKI_PANEL_SHARED)
        p->k->rows(p->rows, p->depth, p->a, p->down, p->along, p->conjugate, p->nr, p->x, p->y);
    else
        mpki_pool_for(pool, worker, (p->rows + p->each - 1) / p->each, below_item,
                      (void *)(uintptr_t)p);
}

static const T *panel_at(const mpki_node *node, int32_t j0) {
    return (const T *)node->a + mpki_panel_offset(mpki_leading(node->nrows), j0 / MPKI_PANEL) - j0;
}

/* What a node takes and leaves, row by row: by all workers where it is much. */
typedef struct moves {
    const mpki_direct_solver *z;
    const sides *c;
    const mpki_node *node;
    const int32_t *id;
    int32_t s, child;
    int worker; /* whose node it is */
    T *v;
    void (*some)(const struct moves *m, int64_t r0, int64_t r1);
    int64_t count, each;
} moves;

static void moves_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const moves *m = arg;
    const int64_t r0 = item * m->each, r1 = r0 + m->each;
    (void)pool, (void)worker;
    m->some(m, r0, r1 < m->count ? r1 : m->count);
}

static void move(moves *m, mpki_pool *pool, int64_t count,
                 void (*some)(const moves *m, int64_t r0, int64_t r1)) {
    const int nr = m->c->nr;
    if (!pool || count * nr < MPKI_SIDES_MOVED) {
        some(m, 0, count);
        return;
    }
    m->some = some;
    m->count = count;
    m->each = MPKI_SIDES_MOVED_EACH / nr;
    mpki_pool_for(pool, m->worker, (count + m->each - 1) / m->each, moves_item, m);
}

static void take_b(const moves *m, int64_t r0, int64_t r1) {
    const sides *c = m->c;
    const mpki_tree_view *tree = &m->z->f->tree;
    for (int64_t i = tree->sptr[m->s] + r0; i < tree->sptr[m->s] + r1; i++) {
        const R scale = (R)m->z->f->scale[tree->perm[i]];
        const T *b = c->b + tree->perm[i];
        for (int r = 0; r < c->nr; r++) c->y[i * c->nr + r] = b[r * c->ldb] * scale;
    }
}

static void clear_below(const moves *m, int64_t r0, int64_t r1) {
    T *v = m->v + m->node->nelim * (int64_t)m->c->nr;
    memset(v + r0 * m->c->nr, 0, (size_t)(r1 - r0) * (size_t)m->c->nr * sizeof *v);
}

static void take_child(const moves *m, int64_t r0, int64_t r1) {
    const mpki_tree_view *tree = &m->z->f->tree;
    const int nr = m->c->nr;
    const int32_t own = tree->sptr[m->s + 1] - tree->sptr[m->s];
    if (r0 == 0) take_delayed(m->z, m->worker, nr, m->child, false, m->c->y);
    take_rows(m->z, m->worker, nr, own, m->child, r0, r1, m->c->y, m->v + (int64_t)m->node->w * nr);
}

static void take_own(const moves *m, int64_t r0, int64_t r1) {
    const int64_t nr = m->c->nr;
    for (int64_t i = r0; i < r1; i++)
        memcpy(m->v + i * nr, m->c->y + m->id[i] * nr, (size_t)nr * sizeof *m->v);
}

static void leave_own(const moves *m, int64_t r0, int64_t r1) {
    const int64_t nr = m->c->nr;
    for (int64_t i = r0; i < r1; i++)
        memcpy(m->c->y + m->id[i] * nr, m->v + i * nr, (size_t)nr * sizeof *m->v);
}

static void leave_below(const moves *m, int64_t r0, int64_t r1) {
    const int64_t nr = m->c->nr;
    T *u = parent_part(m->z, m->worker, m->c->nr, m->s);
    memcpy(u + r0 * nr, m->v + (m->node->nelim + r0) * nr, (size_t)((r1 - r0) * nr) * sizeof *u);
}

static void forward_sides(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                          void *arg) {
    const sides *c = arg;
    const mpki_direct *f = z->f;
    const mpki_tree_view *tree = &f->tree;
    const mpki_node *node = &f->node[s];
    const FN(kernels) *k = c->k;
    const int32_t e = node->nelim;
    const int64_t n = node->nrows;
    const int nr = c->nr;
    T *v = z->v[worker];
    moves m = {.z = z, .c = c, .node = node, .id = id_of(node), .s = s, .worker = worker, .v = v};
    if (s + MPKI_SWEEP_AHEAD < tree->nsuper) look_ahead(node + MPKI_SWEEP_AHEAD);
    move(&m, pool, tree->sptr[s + 1] - tree->sptr[s], take_b);
    move(&m, pool, n - e, clear_below);
    for (int32_t q = tree->child_ptr[s]; q < tree->child_ptr[s + 1]; q++) {
        m.child = tree->child[q];
        move(&m, pool, tree->rptr[m.child + 1] - tree->rptr[m.child], take_child);
    }
    move(&m, pool, e, take_own);
    if (node->low) FN(low_forward_sides)(k, node, nr, v);
    for (int32_t j0 = node->low ? e : 0; j0 < e; j0 += MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = mpki_leading(n) - j0;
        const T *a = panel_at(node, j0);
        k->lower(j1 - j0, a + j0, ld, nr, v + (int64_t)j0 * nr);
        const below p = {k,
                         n - j1,
                         j1 - j0,
                         a + j1,
                         1,
                         ld,
                         rows_each(n - j1, pool),
                         0,
                         nr,
                         v + (int64_t)j0 * nr,
                         v + (int64_t)j1 * nr};
        times(&p, pool, worker);
    }
    move(&m, pool, e, leave_own);
    if (n > e) move(&m, pool, n - e, leave_below);
}

/* The rows of the node's columns, and those below. */
static void take_all(const moves *m, int64_t r0, int64_t r1) {
    const mpki_tree_view *tree = &m->z->f->tree;
    const int32_t w = m->node->w, *ridx = tree->ridx + tree->rptr[m->s];
    const int64_t nr = m->c->nr;
    for (int64_t i = r0; i < r1; i++) {
        const int64_t from = i < w ? m->id[i] : ridx[i - w];
        memcpy(m->v + i * nr, m->c->y + from * nr, (size_t)nr * sizeof *m->v);
    }
}

static void divide_some(const moves *m, int64_t r0, int64_t r1) {
    divide(m->node, m->z->f->tree.symmetry == MPK_HERMITIAN, m->c->nr, r0, r1, m->v);
}

static void leave_x(const moves *m, int64_t r0, int64_t r1) {
    const sides *c = m->c;
    for (int64_t i = r0; i < r1; i++) {
        const int32_t at = m->z->f->tree.perm[m->id[i]];
        const R scale = (R)m->z->f->scale[at];
        for (int r = 0; r < c->nr; r++) c->x[at + r * c->ldx] = m->v[i * c->nr + r] * scale;
    }
}

static void backward_sides(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                           void *arg) {
    const sides *c = arg;
    const mpki_node *node = &z->f->node[s];
    const FN(kernels) *k = c->k;
    const int hermitian = z->f->tree.symmetry == MPK_HERMITIAN, nr = c->nr;
    const int32_t e = node->nelim;
    const int64_t n = node->nrows;
    T *v = z->v[worker];
    moves m = {.z = z, .c = c, .node = node, .id = id_of(node), .s = s, .worker = worker, .v = v};
    if (s >= MPKI_SWEEP_AHEAD) look_ahead(node - MPKI_SWEEP_AHEAD);
    move(&m, pool, n, take_all);
    move(&m, pool, e, divide_some);
    if (node->low) FN(low_backward_sides)(k, node, hermitian, nr, v);
    for (int32_t j0 = (e - 1) / MPKI_PANEL * MPKI_PANEL; e > 0 && !node->low && j0 >= 0;
         j0 -= MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = mpki_leading(n) - j0;
        const T *a = panel_at(node, j0);
        const below p = {k,
                         j1 - j0,
                         n - j1,
                         a + j1,
                         ld,
                         1,
                         MPKI_SIDES_COLUMNS_EACH,
                         hermitian,
                         nr,
                         v + (int64_t)j1 * nr,
                         v + (int64_t)j0 * nr};
        times(&p, pool, worker);
        k->lower_t(j1 - j0, a + j0, ld, hermitian, nr, v + (int64_t)j0 * nr);
    }
    move(&m, pool, e, leave_own);
    if (c->x) move(&m, pool, e, leave_x);
}

void FN(forward_block)(mpki_direct_solver *z, int worker, int nrhs, const void *b, int64_t ldb,
                       void *y) {
    sides c = {.k = FN(cpu_kernels)(), .b = b, .ldb = ldb, .y = y, .nr = nrhs};
    mpki_visit_up(z, worker, forward_sides, &c);
}

void FN(backward_block)(mpki_direct_solver *z, int worker, int nrhs, void *y, void *x,
                        int64_t ldx) {
    sides c = {.k = FN(cpu_kernels)(), .y = y, .x = x, .ldx = ldx, .nr = nrhs};
    mpki_visit_down(z, worker, backward_sides, &c);
}

/* ---- D ---------------------------------------------------------------------------------------- */

void FN(diagonal)(const mpki_direct *f, void *vy) {
    T *y = vy;
    const int hermitian = f->tree.symmetry == MPK_HERMITIAN;
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
        const T *d = dinv_of(node);
        const int32_t *id = id_of(node);
        for (int32_t k = 0; k < node->nelim; k++) {
            T *x1 = y + id[k], *x2 = k + 1 < node->nelim ? y + id[k + 1] : NULL;
            k += divide_pivot(d + 2 * k, hermitian, 1, x1, x2);
        }
    }
}

/* |B| for B = [a conj(b); b c], a and c real: +-B when B is definite, else the square root of B^2
 * by Cayley and Hamilton, (B^2 + |det| I) / sqrt(tr(B^2) + 2 |det|). */
static void absolute(R *a, T *b, R *c) {
    const double most = fmax(fmax(fabs((double)*a), fabs((double)*c)), (double)t_abs(*b));
    if (!(most > 0)) return;
    const double p = *a / most, q = *c / most, m = (double)t_abs(*b) / most;
    const double det = p * q - m * m;
    if (det >= 0) {
        const int sign = p + q < 0 ? -1 : 1;
        *a *= sign;
        *c *= sign;
        *b *= (R)sign;
        return;
    }
    const double trace = sqrt((p - q) * (p - q) + 4 * m * m); /* of |B| */
    *a = (R)(most * ((p * p + m * m - det) / trace));
    *c = (R)(most * ((q * q + m * m - det) / trace));
    *b *= (R)((p + q) / trace);
}

void FN(diagonal_abs)(const mpki_direct *f, void *vy) {
    T *y = vy;
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
        const T *d = dinv_of(node);
        const int32_t *id = id_of(node);
        for (int32_t k = 0; k < node->nelim; k++) {
            T *x1 = y + id[k], b = d[2 * k + 1];
            R a = t_re(d[2 * k]);
            if (!(t_abs1(b) > 0)) {
                *x1 *= r_abs(a);
                continue;
            }
            T *x2 = y + id[k + 1];
            R c = t_re(d[2 * k + 2]);
            absolute(&a, &b, &c);
            const T u = *x1, v = *x2;
            *x1 = a * u + t_mul(t_conj(b), v);
            *x2 = t_mul(b, u) + c * v;
            k++;
        }
    }
}
