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

void FN(permute_in)(const mpki_direct *f, int nrhs, const void *vx, int64_t ldx, void *vy) {
    const T *x = vx;
    T *y = vy;
    const int32_t *perm = f->tree.perm;
    for (int32_t k = 0; k < f->tree.n; k++) {
        R s = (R)f->scale[perm[k]];
        for (int r = 0; r < nrhs; r++) y[(int64_t)k * nrhs + r] = x[perm[k] + r * ldx] * s;
    }
}

void FN(permute_out)(const mpki_direct *f, int nrhs, const void *vy, void *vx, int64_t ldx) {
    T *x = vx;
    const T *y = vy;
    const int32_t *perm = f->tree.perm;
    for (int32_t k = 0; k < f->tree.n; k++) {
        R s = (R)f->scale[perm[k]];
        for (int r = 0; r < nrhs; r++) x[perm[k] + r * ldx] = y[(int64_t)k * nrhs + r] * s;
    }
}

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

void FN(outer_take)(const mpki_direct_solver *z, void *vy) {
    const int32_t last = z->f->tree.nsuper - 1, m = z->f->tree.outer;
    memcpy((T *)vy + z->f->tree.n, (const T *)z->u + z->at[last + 1] - m, (size_t)m * sizeof(T));
}

/* ---- one right-hand side --------------------------------------------------------------------- */

/* A right-hand side on its way: it comes from b and goes to x, unless these are NULL. Both belong
 * to the nodes, as D does: there is no pass over the vector that one worker would do alone. */
typedef struct column {
    const T *b;
    T *y, *x;
    bool diagonal;
} column;

static void forward_node(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t s,
                         void *arg) {
    const column *c = arg;
    T *y = c->y;
    const mpki_direct *f = z->f;
    const mpki_tree_view *tree = &f->tree;
    const mpki_node *node = &f->node[s];
    const FN(kernels) *k = z->kernels;
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    T *v = z->v[worker];
    if (s + MPKI_SWEEP_AHEAD < tree->nsuper) look_ahead(node + MPKI_SWEEP_AHEAD);
    for (int32_t i = tree->sptr[s]; c->b && i < tree->sptr[s + 1]; i++)
        y[i] = c->b[tree->perm[i]] * (R)f->scale[tree->perm[i]];
    for (int64_t i = e; i < n; i++) v[i] = t_make(0, 0);
    take_contributions(z, s, false, y, v + w);
    for (int32_t i = 0; i < e; i++) v[i] = y[node->id[i]];
    FN(node_forward)(k, node, pool, worker, v);
    for (int32_t i = 0; i < e; i++) y[node->id[i]] = v[i];
    if (n > e) memcpy((T *)z->u + z->at[s], v + e, (size_t)(n - e) * sizeof(T));
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

/* v := D^-1 v for a node's pivots, nr numbers each. */
static void divide(const mpki_node *node, int hermitian, int nr, T *v) {
    const T *d = node->dinv;
    for (int32_t k = 0; k < node->nelim; k++) {
        T *x1 = v + (int64_t)k * nr;
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
    const int32_t e = node->nelim, w = node->w, *ridx = tree->ridx + tree->rptr[s];
    const int64_t n = node->nrows;
    T *v = z->v[worker];
    if (s >= MPKI_SWEEP_AHEAD) look_ahead(node - MPKI_SWEEP_AHEAD);
    for (int32_t i = 0; i < w; i++) v[i] = y[node->id[i]];
    for (int64_t i = w; i < n; i++) v[i] = y[ridx[i - w]];
    if (c->diagonal) divide(node, hermitian, 1, v);
    FN(node_backward)(k, node, hermitian, pool, worker, v);
    for (int32_t i = 0; i < e; i++) y[node->id[i]] = v[i];
    for (int32_t i = 0; c->x && i < e; i++) {
        const int32_t at = tree->perm[node->id[i]];
        c->x[at] = v[i] * (R)z->f->scale[at];
    }
}

void FN(forward)(mpki_direct_solver *z, const void *b, void *y) {
    column c = {.b = b, .y = y};
    z->kernels = FN(cpu_kernels)();
    mpki_visit_up(z, forward_node, &c);
}

void FN(backward)(mpki_direct_solver *z, bool diagonal, void *y, void *x) {
    column c = {.y = y, .x = x, .diagonal = diagonal};
    z->kernels = FN(cpu_kernels)();
    mpki_visit_down(z, backward_node, &c);
}

/* ---- a block of right-hand sides, rows of nr ------------------------------------------------- */

static void forward_block(const FN(kernels) * k, const mpki_node *node, const int32_t *ridx, int nr,
                          T *y, T *v) {
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    T *packed = v + (n + 8) * nr;
    /* v is stored by columns here, as C of the kernel; the solved rows are packed as its right
     * factor */
    for (int r = 0; r < nr; r++) {
        for (int32_t i = 0; i < e; i++) v[i + r * n] = y[(int64_t)node->id[i] * nr + r];
        for (int64_t i = e; i < n; i++) v[i + r * n] = t_make(0, 0);
    }
    if (node->low) FN(low_forward_block)(k, node, nr, v, packed);
    for (int32_t j0 = node->low ? e : 0; j0 < e; j0 += MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = node->ld0 - j0;
        const T *a = (const T *)node->a + mpki_panel_offset(node->ld0, j0 / MPKI_PANEL) - j0;
        for (int r = 0; r < nr; r++)
            for (int32_t j = j0; j + 1 < j1; j++) {
                const T *l = a + (j - j0) * ld, x = v[j + r * n];
                for (int32_t i = j + 1; i < j1; i++) v[i + r * n] -= t_mul(l[i], x);
            }
        if (n <= j1) continue;
        for (int32_t j = j0; j < j1; j++) /* rows of nr, in slivers of nc */
            for (int r = 0; r < nr; r += k->nc)
                for (int c = 0; c < k->nc; c++)
                    packed[(int64_t)r * (j1 - j0) + (int64_t)(j - j0) * k->nc + c] =
                        r + c < nr ? v[j + (r + c) * n] : t_make(0, 0);
        k->multiply(n - j1, nr, j1 - j0, a + j1, ld, packed, v + j1, n, 0, INT64_MAX / 2);
    }
    for (int r = 0; r < nr; r++) {
        for (int32_t i = 0; i < e; i++) y[(int64_t)node->id[i] * nr + r] = v[i + r * n];
        for (int32_t i = e; i < w; i++) y[(int64_t)node->id[i] * nr + r] += v[i + r * n];
        for (int64_t i = w; i < n; i++) y[(int64_t)ridx[i - w] * nr + r] += v[i + r * n];
    }
}

static void backward_block(const mpki_node *node, const int32_t *ridx, int hermitian, int nr, T *y,
                           T *v) {
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    for (int32_t i = 0; i < w; i++)
        memcpy(v + (int64_t)i * nr, y + (int64_t)node->id[i] * nr, nr * sizeof(T));
    for (int64_t i = w; i < n; i++)
        memcpy(v + i * nr, y + (int64_t)ridx[i - w] * nr, nr * sizeof(T));
    if (node->low) FN(low_backward_block)(node, hermitian, nr, v);
    for (int32_t j = node->low ? -1 : e - 1; j >= 0; j--) {
        const int32_t j0 = j / MPKI_PANEL * MPKI_PANEL;
        const T *l = (const T *)node->a + mpki_panel_offset(node->ld0, j0 / MPKI_PANEL) +
                     (j - j0) * (node->ld0 - j0) - j0;
        T *x = v + (int64_t)j * nr;
        for (int64_t i = j + 1; i < n; i++) {
            T m = conj_if(hermitian, l[i]);
            const T *z = v + i * nr;
            for (int r = 0; r < nr; r++) x[r] -= t_mul(m, z[r]);
        }
    }
    for (int32_t i = 0; i < e; i++)
        memcpy(y + (int64_t)node->id[i] * nr, v + (int64_t)i * nr, nr * sizeof(T));
}

void FN(forward_sweep)(const mpki_direct_solver *z, int worker, int nrhs, void *y) {
    const mpki_tree_view *tree = &z->f->tree;
    const FN(kernels) *k = FN(cpu_kernels)();
    mpki_asking asking = {z->ctx, "solve", 0};
    for (int32_t s = 0; s < tree->nsuper; s++) {
        if (mpki_asks(&asking, mpki_node_entries(&z->f->node[s]) * nrhs)) return;
        forward_block(k, &z->f->node[s], tree->ridx + tree->rptr[s], nrhs, y, z->v[worker]);
    }
}

void FN(backward_sweep)(const mpki_direct_solver *z, int worker, int nrhs, void *y) {
    const mpki_tree_view *tree = &z->f->tree;
    const int hermitian = tree->symmetry == MPK_HERMITIAN;
    mpki_asking asking = {z->ctx, "solve", 0};
    for (int32_t s = tree->nsuper - 1; s >= 0; s--) {
        if (mpki_asks(&asking, mpki_node_entries(&z->f->node[s]) * nrhs)) return;
        backward_block(&z->f->node[s], tree->ridx + tree->rptr[s], hermitian, nrhs, y,
                       z->v[worker]);
    }
}

void FN(sweep_block)(const mpki_direct_solver *z, int worker, int nrhs, void *y) {
    FN(forward_sweep)(z, worker, nrhs, y);
    FN(diagonal)(z->f, nrhs, y);
    FN(outer_clear)(z->f, nrhs, y);
    FN(backward_sweep)(z, worker, nrhs, y);
}

void FN(diagonal)(const mpki_direct *f, int nrhs, void *vy) {
    T *y = vy;
    const int hermitian = f->tree.symmetry == MPK_HERMITIAN;
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
        const T *d = node->dinv;
        for (int32_t k = 0; k < node->nelim; k++) {
            T *x1 = y + (int64_t)node->id[k] * nrhs;
            T *x2 = k + 1 < node->nelim ? y + (int64_t)node->id[k + 1] * nrhs : NULL;
            k += divide_pivot(d + 2 * k, hermitian, nrhs, x1, x2);
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
        const T *d = node->dinv;
        for (int32_t k = 0; k < node->nelim; k++) {
            T *x1 = y + node->id[k], b = d[2 * k + 1];
            R a = t_re(d[2 * k]);
            if (!(t_abs1(b) > 0)) {
                *x1 *= r_abs(a);
                continue;
            }
            T *x2 = y + node->id[k + 1];
            R c = t_re(d[2 * k + 2]);
            absolute(&a, &b, &c);
            const T u = *x1, v = *x2;
            *x1 = a * u + t_mul(t_conj(b), v);
            *x2 = t_mul(b, u) + c * v;
            k++;
        }
    }
}
