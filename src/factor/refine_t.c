/* SPDX-License-Identifier: BSD-3-Clause */
/* Refinement of one right-hand side, and the estimate of the inverse's norm. */
#include "refine.h"
#include "../core/precision.h"
#include "../core/random.h"
#include "../problem/columns.h"

#include <string.h>

/* The worst over all right-hand sides. */
static void tell(mpk_solve_info *info, const mpki_quality *q, double unrefined, int steps) {
    info->componentwise = fmax(info->componentwise, q->componentwise);
    info->normwise = fmax(info->normwise, q->normwise);
    info->relative_residual = fmax(info->relative_residual, q->relative);
    info->unrefined = fmax(info->unrefined, unrefined);
    if (steps > info->iterations) info->iterations = steps;
}

/* ||S^-1 d|| / ||S^-1 x|| for the step 2^exponent d, in the maximum norm; entries that are NaN are
 * left to others. */
static double compare(int32_t n, const double *scale, int exponent, const T *d, const T *x) {
    enum { AT_ONCE = 4 }; /* of these the processor compares several at a time */
    double d_most[AT_ONCE] = {0}, x_most[AT_ONCE] = {0};
    for (int32_t i = 0; i < n; i += AT_ONCE)
        for (int k = 0; k < AT_ONCE && i + k < n; k++) {
            const double s = 1 / scale[i + k];
            const double dk = (double)t_abs1(d[i + k]) * s, xk = (double)t_abs1(x[i + k]) * s;
            d_most[k] = dk > d_most[k] ? dk : d_most[k];
            x_most[k] = xk > x_most[k] ? xk : x_most[k];
        }
    for (int k = 1; k < AT_ONCE; k++) {
        d_most[0] = fmax(d_most[0], d_most[k]);
        x_most[0] = fmax(x_most[0], x_most[k]);
    }
    return d_most[0] > 0 ? ldexp(d_most[0] / x_most[0], exponent) : 0;
}

/* Steps whose residuals have nothing of what no change of x removes: rounding puts it there, and
 * solves blow it up, since zero pivots are not all of the kernel's rounding. From the x of quality
 * *q, which is left where none is better. Returns how many steps were taken. */
static int refine_deflated(mpki_solve_work *work, double accuracy, T *x, mpki_quality *q) {
    const mpki_system *s = &work->system;
    const mpk_factor *fac = work->m.fac;
    const int32_t n = s->a.n;
    const bool symmetric = MPKI_COMPLEX && s->a.symmetry == MPK_SYMMETRIC;
    T *best = work->x;
    int step = 0;
    if (!work->kernel->whole && mpk_failed(mpki_basis_make(work, true, work->kernel))) return 0;
    if (work->kernel->count == 0) return 0;
    *q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
    while (!(q->componentwise <= MPKI_DEFLATED_ENOUGH * accuracy) && isfinite(q->componentwise) &&
           step < MPKI_DEFLATED_STEPS) {
        const mpki_quality kept = *q;
        memcpy(best, x, (size_t)n * sizeof(T));
        FN(deflate)(n, fac->scale, symmetric, work->kernel, work->r);
        mpki_apply_inverse(work, work->r);
        FN(column_add)(n, -q->exponent, work->r, x);
        *q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
        step++;
        if (!(q->componentwise < kept.componentwise)) { /* no better: keep the one before */
            memcpy(x, best, (size_t)n * sizeof(T));
            *q = kept;
            break;
        }
        if (!(q->componentwise <= 0.5 * kept.componentwise)) break; /* stagnation */
    }
    return step;
}

/* r_i := 0 where |r_i| is rounding of (|A| |x| + |b|)_i. */
static void leave_resolved(mpki_solve_work *work, const mpki_quality *q) {
    T *r = work->r;
    if (q->exponent != 0) return; /* work->w has nothing of it */
    for (int32_t i = 0; i < work->system.a.n; i++)
        if ((double)t_abs(r[i]) <= (double)R_EPS / 2 * work->w[i]) r[i] = t_make(0, 0);
}

/* Is each row solved, as far as its errors tell? */
static bool resolved(const mpki_quality *q, double accuracy) {
    return q->componentwise <= accuracy && !q->missed;
}

mpki_contraction FN(refine_narrow)(mpki_solve_work *work, int steps, double accuracy, double rate,
                                   void *vx, mpki_quality *q) {
    const mpki_system *s = &work->system;
    const int32_t n = s->a.n;
    T *x = vx, *best = work->x;
    mpki_contraction c = {.held = true};
    double before = 1;  /* x itself */
    bool apart = false; /* rows that are not resolved, by themselves */
    while (c.steps < steps && isfinite(q->componentwise)) {
        const mpki_quality kept = *q;
        if (apart) leave_resolved(work, q);
        mpki_apply_inverse(work, work->r);
        const double d = compare(n, work->scale, -q->exponent, work->r, x);
        const bool less = d <= rate * before;
        if (!apart) c.held &= less || d <= 4 * (double)R_EPS;
        memcpy(best, x, (size_t)n * sizeof(T));
        FN(column_add)(n, -q->exponent, work->r, x);
        *q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
        c.steps++;
        const bool better =
            q->componentwise < kept.componentwise || (apart && q->componentwise <= accuracy);
        if (!isfinite(q->componentwise) || ((apart || !less) && !better)) {
            memcpy(x, best, (size_t)n * sizeof(T));
            *q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
            c.steps--;
            if (apart || c.steps == 0 || resolved(q, accuracy)) break;
            apart = true;
            continue;
        }
        if (c.steps == 1) c.first = d;
        if (!apart) c.next = d * fmin(d / before, 1);
        before = d;
        if (d > 0 && c.next > (double)R_EPS / 2) continue;
        if (resolved(q, accuracy)) break;
        apart = true;
    }
    return c;
}

bool FN(refine)(mpki_solve_work *work, int steps, double accuracy, void *vx, mpk_solve_info *info) {
    const int32_t n = work->system.a.n;
    T *x = vx, *best = work->x;
    const mpki_system *s = &work->system;
    mpki_quality q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
    const double unrefined = q.componentwise;
    int step = 0;
    work->correction = 0;
    if (work->m.fac->narrow) {
        const mpki_contraction c = FN(refine_narrow)(work, steps, accuracy, 0.5, x, &q);
        step = c.steps, steps = 0;
        work->correction = c.first;
    }
    while (!(q.componentwise <= accuracy) && isfinite(q.componentwise) && step < steps) {
        const mpki_quality kept = q;
        memcpy(best, x, (size_t)n * sizeof(T));
        mpki_apply_inverse(work, work->r);
        if (step == 0) work->correction = compare(n, work->scale, -q.exponent, work->r, x);
        FN(column_add)(n, -q.exponent, work->r, x);
        q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
        step++;
        if (!(q.componentwise < kept.componentwise)) { /* no better: keep the one before */
            memcpy(x, best, (size_t)n * sizeof(T));
            q = kept;
            break;
        }
        if (!(q.componentwise <= 0.5 * kept.componentwise)) break; /* stagnation */
    }
    if (work->kernel && steps > 0 && !(q.componentwise <= accuracy) && isfinite(q.componentwise))
        step += refine_deflated(work, accuracy, x, &q);
    tell(info, &q, unrefined, step);
    work->last = q;
    info->correction = fmax(info->correction, work->correction);
    return FN(column_finite)(n, x);
}

/* Hager's ascent from work->x, a vector of norm 1, by at most so many columns of A^-1; those that
 * gave `estimate` are not sought again. */
static double ascend(mpki_solve_work *work, int rounds, double estimate, int32_t *last) {
    const int32_t n = work->system.a.n;
    T *x = work->x, *sign = work->b;
    for (int round = 0; round <= rounds; round++) {
        mpki_apply_inverse(work, x);
        double sum = 0;
        for (int32_t i = 0; i < n; i++) sum += (double)t_abs(x[i]);
        if (round > 0 && !(sum > estimate)) break;
        if (sum > estimate) estimate = sum;
        if (round == rounds) break;
        for (int32_t i = 0; i < n; i++) {
            R a = t_abs(x[i]);
            sign[i] = a > 0 ? x[i] / a : t_make(1, 0);
        }
        memcpy(x, sign, (size_t)n * sizeof(T));
        /* A^-H sign: A^-1 when real or Hermitian; conj(A^-1 conj(sign)) when complex symmetric, and
         * with A^-T in its place else */
        const int turn = work->system.a.symmetry != MPK_HERMITIAN;
        const bool general = work->system.a.symmetry == MPK_GENERAL;
        for (int32_t i = 0; turn && i < n; i++) x[i] = t_conj(x[i]);
        work->m.transposed ^= general;
        mpki_apply_inverse(work, x);
        work->m.transposed ^= general;
        int32_t place = 0;
        for (int32_t i = 1; i < n; i++)
            if (t_abs(x[i]) > t_abs(x[place])) place = i;
        if (place == *last) break;
        *last = place;
        for (int32_t i = 0; i < n; i++) x[i] = t_make(i == place, 0);
    }
    return estimate;
}

double FN(inverse_norm1)(mpki_solve_work *work) {
    const int32_t n = work->system.a.n;
    T *x = work->x;
    int32_t last = -1;
    uint64_t state = 1;
    double sum = 0;
    if (n == 0) return 0;
    for (int32_t i = 0; i < n; i++) x[i] = t_make((R)1 / (R)n, 0);
    const double estimate = ascend(work, 4, 0, &last);
    /* two rows that are nearly equal answer nothing to 1 in both, and little to Higham's second
     * vector, +-(1 + i / (n - 1)): with random sizes it shows their column, which is then looked
     * at */
    for (int32_t i = 0; i < n; i++) {
        const double size = mpki_random_unit(mpki_random_next(&state)) + 1e-3;
        x[i] = t_make((R)(i % 2 ? -size : size), 0);
        sum += size;
    }
    for (int32_t i = 0; i < n; i++) x[i] /= (R)sum;
    return ascend(work, 1, estimate, &last);
}
