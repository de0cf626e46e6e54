/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors that A may take to zero: as the factor gives them, and as A itself judges them. */
#include "rank.h"
#include "../core/precision.h"
#include "../problem/columns.h"

#include <string.h>

static T entry(const double *pair) {
    return t_make((R)pair[0], (R)pair[1]);
}

void FN(null_of_weak)(const mpki_weak_pivot *p, int32_t n, void *vy) {
    T *y = vy;
    memset(y, 0, (size_t)n * sizeof(T));
    y[p->at[0]] = entry(p->vector);
    if (p->pair) y[p->at[1]] = entry(p->vector + 2);
}

void FN(null_project)(const mpki_weak_pivot *list, int count, void *vy) {
    T *y = vy;
    for (int w = 0; w < count; w++) {
        const mpki_weak_pivot *p = &list[w];
        if (!p->pair) {
            y[p->at[0]] = t_make(0, 0);
            continue;
        }
        const T q0 = entry(p->vector), q1 = entry(p->vector + 2);
        const T along = t_mul(t_conj(q0), y[p->at[0]]) + t_mul(t_conj(q1), y[p->at[1]]);
        y[p->at[0]] -= t_mul(q0, along);
        y[p->at[1]] -= t_mul(q1, along);
    }
}

/* ---- with A ------------------------------------------------------------------------------------
 */

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

/* The largest entry of v in A scaled so. */
static double most_of(const double *scale, int32_t n, const T *v) {
    double most = 0;
    for (int32_t i = 0; i < n; i++) most = fmax(most, modulus(v[i]) / scale[i]);
    return most;
}

/* What the scaled residual of row i is measured against; work->w holds |A| |v|. */
static double against(const double *scale, const mpki_solve_work *work, int32_t n, double most,
                      int32_t i) {
    const double tiny = 1000.0 * n * (double)R_EPS / 2, wi = work->w[i] * scale[i];
    return wi > tiny * most ? wi : wi + most;
}

double FN(null_least)(const double *scale, const mpki_solve_work *work, const void *vv) {
    const int32_t n = work->system.a.n;
    const T *v = vv, *r = work->r;
    const double most = most_of(scale, n, v);
    T part = t_make(0, 0);
    double sum = 0;
    for (int32_t i = 0; i < n; i++) {
        part += t_mul(t_conj(v[i]), r[i]);
        sum += modulus(v[i]) * (against(scale, work, n, most, i) / scale[i]);
    }
    const double least = modulus(part) / sum;
    return isfinite(least) ? least : 0;
}

/* Flatness in one scaling; r holds -A v, work->w |A| |v|. */
static double flat_in(const double *scale, const mpki_solve_work *work, int32_t n, const T *v) {
    const T *r = work->r;
    const double most = most_of(scale, n, v);
    double eta = 0;
    if (!(most > 0) || !isfinite(most)) return INFINITY;
    for (int32_t i = 0; i < n; i++) {
        const double ri = modulus(r[i]) * scale[i];
        const double q = ri / against(scale, work, n, most, i);
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

/* x with B x = c, by complete pivoting; where B is singular to rounding, 0. */
static void small_solve(int k, T (*b)[MPKI_WEAK_MOST], T *c) {
    int column[MPKI_WEAK_MOST];
    double first = 0;
    int rank = 0;
    for (int j = 0; j < k; j++) column[j] = j;
    for (; rank < k; rank++) {
        int pi = rank, pj = rank;
        for (int i = rank; i < k; i++)
            for (int j = rank; j < k; j++)
                if (modulus(b[i][j]) > modulus(b[pi][pj])) pi = i, pj = j;
        if (rank == 0) first = modulus(b[pi][pj]);
        if (!(modulus(b[pi][pj]) > 100 * (double)R_EPS * first)) break;
        for (int j = 0; j < k; j++) {
            const T t = b[pi][j];
            b[pi][j] = b[rank][j], b[rank][j] = t;
        }
        const T t = c[pi];
        c[pi] = c[rank], c[rank] = t;
        for (int i = 0; i < k; i++) {
            const T y = b[i][pj];
            b[i][pj] = b[i][rank], b[i][rank] = y;
        }
        const int at = column[pj];
        column[pj] = column[rank], column[rank] = at;
        for (int i = rank + 1; i < k; i++) {
            const T m = t_mul(b[i][rank], t_inv(b[rank][rank]));
            for (int j = rank; j < k; j++) b[i][j] -= t_mul(m, b[rank][j]);
            c[i] -= t_mul(m, c[rank]);
        }
    }
    T x[MPKI_WEAK_MOST] = {0};
    for (int i = rank - 1; i >= 0; i--) {
        T y = c[i];
        for (int j = i + 1; j < rank; j++) y -= t_mul(b[i][j], x[column[j]]);
        x[column[i]] = t_mul(y, t_inv(b[i][i]));
    }
    memcpy(c, x, (size_t)k * sizeof *x);
}

/* e^(i arg x), 0 for 0 */
static T direction(T x) {
    const double a = modulus(x);
    return a > 0 && isfinite(a) ? t_make((R)((double)t_re(x) / a), (R)((double)t_im(x) / a))
                                : t_make(0, 0);
}

bool FN(null_share)(int32_t n, int count, const void *vu, const double *w, void *vr) {
    const T *u = vu;
    T *r = vr, b[MPKI_WEAK_MOST][MPKI_WEAK_MOST], c[MPKI_WEAK_MOST];
    for (int i = 0; i < count; i++) {
        const T *ui = u + (int64_t)i * n;
        c[i] = t_make(0, 0);
        for (int32_t k = 0; k < n; k++) c[i] += t_mul(t_conj(ui[k]), r[k]);
        for (int j = 0; j < count; j++) {
            const T *uj = u + (int64_t)j * n;
            T sum = t_make(0, 0);
            for (int32_t k = 0; k < n; k++) sum += t_mul(t_conj(ui[k]), direction(uj[k])) * (R)w[k];
            b[i][j] = sum;
        }
    }
    small_solve(count, b, c);
    for (int j = 0; j < count; j++) {
        const T *uj = u + (int64_t)j * n;
        for (int32_t k = 0; k < n; k++) r[k] -= t_mul(c[j], direction(uj[k])) * (R)w[k];
    }
    return FN(column_finite)(n, r);
}

void FN(trial)(mpki_solve_work *work, void *vx, void *vb) {
    const mpk_problem_view *a = &work->system.a;
    T *x = vx, *b = vb;
    FN(column_signs)(a->n, x);
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
