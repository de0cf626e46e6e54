/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors that A may take to zero: as the factor gives them, and as A itself judges them. */
#include "rank.h"
#include "../core/precision.h"
#include "../core/random.h"
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

void FN(null_sum)(int32_t n, int count, const void *vu, void *vv) {
    const T *u = vu;
    T *v = vv;
    memset(v, 0, (size_t)n * sizeof(T));
    for (int j = 0; j < count; j++) {
        const R times = (R)(1 + mpki_random_unit(mpki_random_at((uint64_t)j)));
        for (int32_t i = 0; i < n; i++) v[i] += u[(int64_t)j * n + i] * times;
    }
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

/* ---- with A ---------------------------------------------------------------------------------- */

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

/* Levels of what may be noise of a vector, relative to its largest entry. */
enum { LEVELS = 3 };
static double noise_level(int32_t n, int level) {
    static const double MOST = 1e-2, STEP = 1e3;
    double least = 1000.0 * n * (double)R_EPS / 2;
    for (; level > 0; level--) least *= STEP;
    return fmin(least, MOST);
}

/* The largest entry of v in A scaled so. */
static double most_of(const double *scale, int32_t n, const T *v) {
    double most = 0;
    for (int32_t i = 0; i < n; i++) most = fmax(most, modulus(v[i]) / scale[i]);
    return most;
}

/* The scales of A's rows, beside those of its columns. */
static const double *rows_of(const mpki_solve_work *work, const double *scale) {
    const mpk_problem_view *a = &work->system.a;
    return a->symmetry == MPK_GENERAL ? scale + a->n : scale;
}

/* What the scaled residual of row i is measured against; work->w holds |A| |v|. */
static double against(const double *scale, const mpki_solve_work *work, int32_t n, double most,
                      int32_t i) {
    const double tiny = 1000.0 * n * (double)R_EPS / 2;
    const double wi = work->w[i] * rows_of(work, scale)[i];
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

/* work->r := -A v, work->w := |A| |v|; v in problem order. */
static void product(mpki_solve_work *work, const T *v) {
    const mpki_system *s = &work->system;
    memset(work->r, 0, (size_t)s->a.n * sizeof(T));
    mpki_residual(&s->a, v, work->r, work->r, work->w, work->sums);
}

/* |r_i| / w_i, with 0/0 = 0; infinite where products may have underflowed. */
static double ratio(const mpki_solve_work *work, int32_t i) {
    static const double LEAST = 1e-280;
    const double ri = modulus(((const T *)work->r)[i]), wi = work->w[i];
    if (ri == 0 && wi == 0) return 0;
    return wi > LEAST && isfinite(wi) && ri == ri ? ri / wi : INFINITY;
}

/* The least eta with |A v| <= eta |A| |v| (Oettli & Prager 1964); and roughly, for the progress of
 * refinement, with rows that v hardly touches measured against all of it. */
static mpki_flatness flatness_of(const double *scale, const mpki_solve_work *work, const T *v) {
    const int32_t n = work->system.a.n;
    const T *r = work->r;
    const double most = most_of(scale, n, v), *rows = rows_of(work, scale);
    mpki_flatness f = {0, 0, 1};
    if (!(most > 0) || !isfinite(most)) return (mpki_flatness){INFINITY, INFINITY, 1};
    for (int32_t i = 0; i < n; i++) {
        const double ri = modulus(r[i]) * rows[i];
        f.eta = mpki_larger(f.eta, ratio(work, i));
        if (ri > 0 || ri != ri)
            f.rough = mpki_larger(f.rough, ri / against(scale, work, n, most, i));
    }
    if (isnan(f.rough)) f.rough = INFINITY;
    return f;
}

/* Has a row of which nothing is left a product that is not 0, but underflowed? */
static bool hidden(const mpki_solve_work *work, const T *v) {
    const mpk_problem_view *a = &work->system.a;
    const T *ax = a->ax;
    const bool both = a->symmetry != MPK_GENERAL; /* an entry is that of two places */
    bool some = false;
    for (int32_t i = 0; i < a->n; i++) some |= work->w[i] == 0;
    if (!some) return false;
    for (int32_t j = 0; j < a->n; j++) {
        const bool alive = modulus(v[j]) > 0, none = both && work->w[j] == 0;
        if (!alive && !none) continue;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            if (!(modulus(ax[k]) > 0)) continue;
            if ((alive && work->w[i] == 0) || (none && modulus(v[i]) > 0)) return true;
        }
    }
    return false;
}

/* The entries in rows over the bound: reach += ||A_i||_1 of these rows, columns scaled; where `v`
 * is there, what is noise of it in these rows becomes 0, and *dropped tells whether some did. */
static void rows_over(const mpk_problem_view *a, const double *scale, const char *over,
                      double *reach, double noise, T *v, bool *dropped) {
    const T *ax = a->ax;
    const bool both = a->symmetry != MPK_GENERAL;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k], pair[] = {j, i};
            if (!(over[i] | (both & over[j]))) continue;
            for (int side = 0; side < 1 + both; side++) { /* row pair[!side], column pair[side] */
                const int32_t at = pair[side];
                if (!over[pair[!side]]) continue;
                if (!v) {
                    if (side == 0 || i != j) reach[pair[!side]] += modulus(ax[k]) * scale[at];
                    continue;
                }
                const double size = modulus(v[at]) / scale[at];
                if (!(size > 0 && size <= noise)) continue;
                v[at] = t_make(0, 0);
                *dropped = true;
            }
        }
}

/* Sets to zero what is noise of v, at most `noise` after scaling, in the rows that are over the
 * bound. False: it is not noise that keeps v from being flat, as there is none, or more than that
 * in such a row. *known [inout]: what these rows reach is there, of the same v */
static bool drop_noise(const double *scale, double noise, double bound, mpki_solve_work *work, T *v,
                       bool *known) {
    const mpk_problem_view *a = &work->system.a;
    double *reach = work->sums;          /* n */
    char *over = (char *)(reach + a->n); /* n */
    bool dropped = false;
    if (!*known) {
        for (int32_t i = 0; i < a->n; i++) over[i] = !(ratio(work, i) <= bound);
        memset(reach, 0, (size_t)a->n * sizeof *reach);
        rows_over(a, scale, over, reach, 0, NULL, NULL);
        *known = true;
    }
    for (int32_t i = 0; i < a->n; i++)
        if (over[i] && !(work->w[i] <= noise * reach[i])) return false;
    rows_over(a, scale, over, reach, noise, v, &dropped);
    return dropped;
}

void FN(null_alike)(const double *scale, int32_t n, const void *vlike, void *vv) {
    const T *like = vlike;
    T *v = vv;
    const double noise = noise_level(n, LEVELS - 1) * most_of(scale, n, v);
    for (int32_t i = 0; i < n; i++)
        if (!(modulus(like[i]) > 0) && modulus(v[i]) / scale[i] <= noise) v[i] = t_make(0, 0);
}

mpki_flatness FN(flatness)(const double *scale, double bound, int most_products,
                           mpki_solve_work *work, void *vv) {
    enum { ROUNDS = 6 };
    const int32_t n = work->system.a.n;
    const double tiny = 1000.0 * n * (double)R_EPS / 2;
    T *v = vv, *before = work->x;
    if (!FN(column_finite)(n, v)) return (mpki_flatness){INFINITY, INFINITY, 0};
    product(work, v);
    mpki_flatness f = flatness_of(scale, work, v);
    const mpki_flatness first = f;
    const double most = most_of(scale, n, v);
    int products = 1;
    bool known = false;
    if (!(f.eta <= bound) && !(f.rough <= fmax(tiny, bound))) return f;
    memcpy(before, v, (size_t)n * sizeof *v);
    for (int k = 0; k < LEVELS && !(f.eta <= bound); k++)
        for (int round = 0; round < ROUNDS && !(f.eta <= bound) && products < most_products;
             round++) {
            if (!drop_noise(scale, noise_level(n, k) * most, bound, work, v, &known)) break;
            product(work, v);
            known = false;
            f = flatness_of(scale, work, v);
            products++;
        }
    f.products = products;
    if (f.eta <= bound && !hidden(work, v)) return f;
    if (products > 1) {
        memcpy(v, before, (size_t)n * sizeof *v);
        product(work, v);
        products++;
    }
    return (mpki_flatness){f.eta <= bound ? INFINITY : first.eta, first.rough, products};
}

/* x with B x = c, by complete pivoting; where B is singular to rounding, 0. */
int FN(null_solve)(int k, void *vb, void *vc) {
    T(*b)[MPKI_WEAK_MOST] = vb, *c = vc;
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
    return rank;
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
    FN(null_solve)(count, b, c);
    for (int j = 0; j < count; j++) {
        const T *uj = u + (int64_t)j * n;
        for (int32_t k = 0; k < n; k++) r[k] -= t_mul(c[j], direction(uj[k])) * (R)w[k];
    }
    return FN(column_finite)(n, r);
}

void FN(trial)(mpki_solve_work *work, bool sized, void *vx, void *vb) {
    const mpk_problem_view *a = &work->system.a;
    T *x = vx, *b = vb;
    FN(column_signs)(a->n, x);
    for (int32_t i = 0; sized && i < a->n; i++)
        x[i] = t_make((R)mpki_random_weight((uint64_t)i), 0);
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
