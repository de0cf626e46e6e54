/* SPDX-License-Identifier: BSD-3-Clause */
/* Refinement of one right-hand side, and the estimate of the inverse's norm. */
#include "measured.h"
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

/* Right-hand sides at work: the residual of number[k] is column k of r. */
typedef struct together {
    mpki_solve_work *work;
    mpki_refine_column *column;
    mpki_quality kept[MPKI_REFINED_TOGETHER]; /* of number[k] before the step */
    T *r;
    int32_t *number;
    int32_t active;
    bool several;
} together;

/* M^-1 of the residuals of those at work. Of one vector alone it sums up in another order than of
 * several, so one of several that is left has zeros beside it. */
static void apply_inverse(const together *t) {
    const int64_t n = t->work->system.a.n;
    const int32_t count = t->several && t->active == 1 ? 2 : t->active;
    if (mpki_measured(t->work->m.fac)) { /* by themselves */
        for (int32_t k = 0; k < t->active; k++) mpki_measured_apply(&t->work->m, t->r + k * n);
        return;
    }
    if (count > t->active) memset(t->r + n, 0, (size_t)n * sizeof(T));
    mpki_apply(&t->work->m, MPK_PART_ALL, count, t->r, n, t->r, n);
}

/* Measures one of those at work. */
static void measure_item(mpki_pool *pool, int worker, void *arg, int64_t k) {
    together *t = arg;
    mpki_refine_column *y = &t->column[t->number[k]];
    (void)pool;
    y->q = FN(measure)(&t->work->system, y->x, y->b, t->r + k * t->work->system.a.n, y->w,
                       mpki_refine_sums(t->work, worker));
}

/* The same after a step, which stands where the residual goes. */
static void step_item(mpki_pool *pool, int worker, void *arg, int64_t k) {
    together *t = arg;
    const int32_t n = t->work->system.a.n;
    mpki_refine_column *y = &t->column[t->number[k]];
    const T *step = t->r + k * n;
    t->kept[k] = y->q;
    memcpy(y->best, y->x, (size_t)n * sizeof(T));
    if (y->step == 0) y->correction = compare(n, t->work->scale, -y->q.exponent, step, y->x);
    FN(column_add)(n, -y->q.exponent, step, y->x);
    measure_item(pool, worker, arg, k);
}

/* Number k stays at work, if its errors ask for another step. */
static void sift(together *t, int32_t k, double accuracy) {
    const mpki_refine_column *y = &t->column[t->number[k]];
    const int64_t n = t->work->system.a.n;
    const double omega = y->q.componentwise;
    if (omega <= accuracy || !isfinite(omega) || y->step >= y->most) return;
    t->number[t->active] = t->number[k];
    if (t->active < k) memcpy(t->r + t->active * n, t->r + k * n, (size_t)n * sizeof(T));
    t->active++;
}

/* Judges those at work, and leaves there who need steps. */
static void measure_all(together *t, double accuracy) {
    const int32_t all = t->active;
    mpki_refine_each(t->work, all, measure_item, t);
    t->active = 0;
    for (int32_t k = 0; k < all; k++) {
        mpki_refine_column *y = &t->column[t->number[k]];
        if (y->step == 0) y->unrefined = y->q.componentwise;
        sift(t, k, accuracy);
    }
}

/* Steps of those at work until none is left: x of before one that is no better. kernel: residuals
 * lose what no change of x removes. NULL: they do not. */
static void take_steps(together *t, double accuracy, const mpki_basis *kernel) {
    mpki_solve_work *work = t->work;
    const mpki_system *s = &work->system;
    const mpk_factor *fac = work->m.fac;
    const int64_t n = s->a.n;
    const bool symmetric = MPKI_COMPLEX && s->a.symmetry == MPK_SYMMETRIC;
    while (t->active > 0) {
        const int32_t all = t->active;
        for (int32_t k = 0; kernel && k < all; k++)
            FN(deflate)(s->a.n, fac->scale, symmetric, kernel, t->r + k * n);
        apply_inverse(t);
        mpki_refine_each(work, all, step_item, t);
        t->active = 0;
        for (int32_t k = 0; k < all; k++) {
            mpki_refine_column *y = &t->column[t->number[k]];
            const mpki_quality kept = t->kept[k];
            y->step++;
            if (!(y->q.componentwise < kept.componentwise)) { /* no better: keep the one before */
                memcpy(y->x, y->best, (size_t)n * sizeof(T));
                y->q = kept;
            } else if (y->q.componentwise <= 0.5 * kept.componentwise) { /* else stagnation */
                sift(t, k, accuracy);
            }
        }
    }
}

/* Steps of those that have not reached the accuracy, whose residuals have nothing of what no change
 * of x removes: rounding puts it there, and solves blow it up, since zero pivots are not all of the
 * kernel's rounding. */
static void refine_deflated(together *t, int32_t count, double accuracy) {
    mpki_basis *kernel = t->work->kernel;
    bool any = false;
    for (int32_t c = 0; c < count; c++) {
        const double omega = t->column[c].q.componentwise;
        any |= !(omega <= accuracy) && isfinite(omega);
    }
    if (!any) return;
    if (!kernel->whole && mpk_failed(mpki_basis_make(t->work, true, kernel))) return;
    if (kernel->count == 0) return;
    t->active = 0;
    for (int32_t c = 0; c < count; c++) {
        mpki_refine_column *y = &t->column[c];
        if (y->q.componentwise <= accuracy || !isfinite(y->q.componentwise)) continue;
        y->most = y->step + MPKI_DEFLATED_STEPS;
        t->number[t->active++] = c;
    }
    measure_all(t, MPKI_DEFLATED_ENOUGH * accuracy);
    take_steps(t, MPKI_DEFLATED_ENOUGH * accuracy, kernel);
}

void FN(refine_together)(mpki_solve_work *work, int steps, double accuracy, int32_t count,
                         bool several, mpki_refine_column *column, void *r, mpk_solve_info *info) {
    int32_t number[MPKI_REFINED_TOGETHER];
    together t = {.work = work, .column = column, .r = r, .number = number, .several = several};
    for (int32_t c = 0; c < count; c++) {
        mpki_refine_column *y = &column[c];
        y->step = 0, y->most = steps, y->correction = 0;
        number[t.active++] = c;
    }
    measure_all(&t, accuracy);
    take_steps(&t, accuracy, NULL);
    if (work->kernel && steps > 0) refine_deflated(&t, count, accuracy);
    for (int32_t c = 0; c < count; c++) {
        tell(info, &column[c].q, column[c].unrefined, column[c].step);
        info->correction = fmax(info->correction, column[c].correction);
    }
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
    const mpki_system *s = &work->system;
    if (mpki_lossy(work->m.fac)) {
        mpki_quality q = FN(measure)(s, vx, work->b, work->r, work->w, work->sums);
        const double unrefined = q.componentwise;
        const mpki_contraction c = FN(refine_narrow)(work, steps, accuracy, 0.5, vx, &q);
        tell(info, &q, unrefined, c.steps);
        work->last = q;
        work->correction = c.first;
        info->correction = fmax(info->correction, work->correction);
    } else {
        const void *b = work->given ? work->given : work->b;
        mpki_refine_column one = {.b = b, .x = vx, .best = work->x, .w = work->w};
        /* the residual where its sums were, numbers of the same type (mpki_solve_work_lean): each is there before the
         * row is wanted that lies there */
        void *const r = work->r ? work->r : work->sums;
        FN(refine_together)(work, steps, accuracy, 1, false, &one, r, info);
        work->last = one.q;
        work->correction = one.correction;
    }
    return FN(column_finite)(s->a.n, vx);
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
