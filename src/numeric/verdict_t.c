/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors that A may take to zero, found through the factor and measured with A itself. */
#include "verdict.h"
#include "../core/precision.h"
#include "../problem/columns.h"

#include <string.h>

/* ---- through the factor ------------------------------------------------------------------------
 */

static double sign_of(uint64_t k) { /* a fixed disorder */
    k = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (k ^ (k >> 29)) >> 32 & 1 ? 1 : -1;
}

static T entry(const double *pair) {
    return t_make((R)pair[0], (R)pair[1]);
}

/* v := S P^T L^-T y for y in work->y */
static void back(const mpk_factor *fac, mpki_solve_work *work, void *v) {
    FN(backward)(&work->sweeps, work->y);
    FN(permute_out)(fac, 1, work->y, v, fac->an->n);
}

void FN(null_of_zeros)(const mpk_factor *fac, mpki_solve_work *work, void *v) {
    const mpk_analysis *an = fac->an;
    T *y = work->y;
    memset(y, 0, (size_t)an->n * sizeof *y);
    for (int32_t s = 0; s < an->nsuper; s++) {
        const mpki_node *node = &fac->node[s];
        const T *d = node->d;
        for (int32_t k = 0; k < node->nelim; k++) {
            const bool pair = t_abs1(d[2 * k + 1]) > 0;
            if (!pair && !(t_abs1(d[2 * k]) > 0))
                y[node->id[k]] = t_make((R)sign_of((uint64_t)node->id[k]), 0);
            k += pair;
        }
    }
    back(fac, work, v);
}

static void put(const mpk_factor *fac, const mpki_weak_pivot *p, T *y) {
    const int32_t *id = fac->node[p->node].id + p->k;
    y[id[0]] = entry(p->vector);
    if (p->pair) y[id[1]] = entry(p->vector + 2);
}

void FN(null_of_weak)(const mpk_factor *fac, const mpki_weak_pivot *list, int which,
                      mpki_solve_work *work, void *v) {
    memset(work->y, 0, (size_t)fac->an->n * sizeof(T));
    put(fac, &list[which], work->y);
    back(fac, work, v);
}

/* y without its part along the eigenvectors of the weak pivots */
static void project(const mpk_factor *fac, const mpki_weak_pivot *list, int count, T *y) {
    for (int w = 0; w < count; w++) {
        const mpki_weak_pivot *p = &list[w];
        const int32_t *id = fac->node[p->node].id + p->k;
        if (!p->pair) {
            y[id[0]] = t_make(0, 0);
            continue;
        }
        const T q0 = entry(p->vector), q1 = entry(p->vector + 2);
        const T along = t_mul(t_conj(q0), y[id[0]]) + t_mul(t_conj(q1), y[id[1]]);
        y[id[0]] -= t_mul(q0, along);
        y[id[1]] -= t_mul(q1, along);
    }
}

void FN(null_refine)(const mpk_factor *fac, const mpki_weak_pivot *list, int count,
                     mpki_solve_work *work, void *v) {
    FN(permute_in)(fac, 1, work->r, fac->an->n, work->y);
    FN(forward)(&work->sweeps, work->y);
    project(fac, list, count, work->y); /* before D^-1, which would make it all there is, */
    FN(diagonal)(fac, 1, work->y);
    project(fac, list, count, work->y); /* and after it what that made of rounding */
    back(fac, work, work->r);
    FN(column_add)(fac->an->n, 0, work->r, v);
}

/* ---- with A ------------------------------------------------------------------------------------
 */

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

/* In one scaling; r holds -A v, work->w |A| |v|. */
static double flat_in(const double *scale, const mpki_solve_work *work, int32_t n, const T *v) {
    const T *r = work->r;
    const double tiny = 1000.0 * n * (double)R_EPS / 2;
    double most = 0, eta = 0;
    for (int32_t i = 0; i < n; i++) most = fmax(most, modulus(v[i]) / scale[i]);
    if (!(most > 0) || !isfinite(most)) return INFINITY;
    for (int32_t i = 0; i < n; i++) {
        const double ri = modulus(r[i]) * scale[i], wi = work->w[i] * scale[i];
        const double q = ri / (wi > tiny * most ? wi : wi + most);
        if (ri > 0 || ri != ri) eta = mpki_larger(eta, q);
    }
    return isnan(eta) ? INFINITY : eta;
}

double FN(flatness)(const double *scale, const double *other, mpki_solve_work *work,
                    const void *v) {
    const mpki_system *s = &work->system;
    const int32_t n = s->a.n;
    if (!FN(column_finite)(n, v)) return INFINITY;
    memset(work->r, 0, (size_t)n * sizeof(T));
    mpki_residual(&s->a, v, work->r, work->r, work->w, work->sums);
    const double eta = flat_in(scale, work, n, v);
    return other ? mpki_larger(eta, flat_in(other, work, n, v)) : eta;
}

void FN(signs)(int32_t n, void *vx) {
    T *x = vx;
    for (int32_t i = 0; i < n; i++) x[i] = t_make((R)sign_of((uint64_t)i), 0);
}

void FN(trial)(mpki_solve_work *work, void *vx, void *vb) {
    const mpk_problem_view *a = &work->system.a;
    T *x = vx, *b = vb;
    FN(signs)(a->n, x);
    memset(b, 0, (size_t)a->n * sizeof *b);
    mpki_residual(a, x, b, b, work->w, work->sums);
    for (int32_t i = 0; i < a->n; i++) b[i] = -b[i];
}

void FN(missed)(mpki_solve_work *work, const void *x, double accuracy, char *missed) {
    const mpk_problem_view *a = &work->system.a;
    const T *r = work->r;
    mpki_residual(a, x, work->b, work->r, work->w, work->sums);
    for (int32_t i = 0; i < a->n; i++) missed[i] = !(modulus(r[i]) <= accuracy * work->w[i]);
}

/* ---- pivots in doubt ---------------------------------------------------------------------------
 */

/* The smaller eigenvalue in modulus of [a conj(b); b c], a and c real, by the determinant: size,
 * sign, eigenvector; and the other one. */
static void look_at_pair(const T *d, mpki_weak_pivot *p) {
    const double a = (double)t_re(d[0]), c = (double)t_re(d[2]), b = modulus(d[1]);
    const double mean = (a + c) / 2, large = fabs(mean) + hypot((a - c) / 2, b);
    const double least = (a / large) * c - (b / large) * b, small = mean > 0 ? least : -least;
    const bool first =
        hypot(a - small, b) >= hypot(b, c - small); /* orthogonal to the longer row */
    const double length = first ? hypot(a - small, b) : hypot(b, c - small);
    const double re = (double)t_re(d[1]) / length, im = (double)t_im(d[1]) / length;
    p->size = fabs(least);
    p->sign = (least > 0) == (mean > 0) ? 1 : -1;
    p->other = mean > 0 ? large : -large;
    p->vector[0] = first ? re : (c - small) / length;
    p->vector[1] = first ? -im : 0;
    p->vector[2] = first ? -(a - small) / length : -re;
    p->vector[3] = first ? 0 : -im;
}

int FN(weak_pivots)(const mpk_factor *fac, double bound, int most, mpki_weak_pivot *list) {
    const mpk_analysis *an = fac->an;
    int count = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        const mpki_node *node = &fac->node[s];
        const T *d = node->d;
        for (int32_t k = 0; k < node->nelim; k++) {
            mpki_weak_pivot p = {.node = s, .k = k, .vector = {1, 0, 0, 0}};
            p.pair = t_abs1(d[2 * k + 1]) > 0;
            p.size = modulus(d[2 * k]);
            p.sign = t_re(d[2 * k]) > 0 ? 1 : -1;
            if (p.pair) look_at_pair(d + 2 * k, &p);
            p.size /= fac->size;
            k += p.pair;
            if (!(p.size <= bound) || p.size == 0) continue;
            int at = count < most ? count++ : most;
            for (; at > 0 && list[at - 1].size > p.size; at--)
                if (at < most) list[at] = list[at - 1];
            if (at < most) list[at] = p;
        }
    }
    return count;
}

int FN(zero_pivots)(const mpk_factor *fac, int most, mpki_weak_pivot *list) {
    const mpk_analysis *an = fac->an;
    const int64_t all = fac->info.inertia.zero, step = all > most ? all / most : 1;
    int64_t seen = 0;
    int count = 0;
    for (int32_t s = 0; s < an->nsuper && count < most; s++) {
        const mpki_node *node = &fac->node[s];
        const T *d = node->d;
        for (int32_t k = 0; k < node->nelim && count < most; k++) {
            const bool pair = t_abs1(d[2 * k + 1]) > 0;
            if (!pair && !(t_abs1(d[2 * k]) > 0) && seen++ % step == 0)
                list[count++] = (mpki_weak_pivot){.node = s, .k = k, .vector = {1, 0, 0, 0}};
            k += pair;
        }
    }
    return count;
}

void FN(weak_to_zero)(mpk_factor *fac, const mpki_weak_pivot *list, int count) {
    for (int w = 0; w < count; w++) {
        const mpki_weak_pivot *p = &list[w];
        T *d = (T *)fac->node[p->node].d + 2 * p->k,
          *dinv = (T *)fac->node[p->node].dinv + 2 * p->k;
        if (!p->pair) {
            d[0] = dinv[0] = t_make(0, 0);
        } else { /* what is left of the pair: other u u^H, u orthogonal to the vector */
            const T u0 = t_conj(entry(p->vector + 2)), u1 = -t_conj(entry(p->vector));
            const T part[3] = {t_mul(u0, t_conj(u0)), t_mul(u1, t_conj(u0)), t_mul(u1, t_conj(u1))};
            for (int k = 0; k < 3; k++) {
                d[k] = part[k] * (R)p->other;
                dinv[k] = part[k] * (R)(1 / p->other);
            }
        }
        if (p->sign > 0)
            fac->info.inertia.positive--;
        else
            fac->info.inertia.negative--;
        fac->info.inertia.zero++;
        fac->info.inertia.certified = 0;
    }
}
