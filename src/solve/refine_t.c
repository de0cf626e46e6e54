/* SPDX-License-Identifier: BSD-3-Clause */
#include "refine.h"
#include "../core/precision.h"

#include <string.h>

static mpk_problem_view view_of(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    return (mpk_problem_view){an->n, an->nnz, an->scalar, an->symmetry, an->ap, an->ai, fac->ax};
}

/* x := A^-1 x through the factor, no refinement */
static void apply_inverse(const mpk_factor *fac, mpki_solve_work *work, T *x) {
    FN(permute_in)(fac, 1, x, fac->an->n, work->y);
    FN(forward)(&work->sweeps, work->y);
    FN(diagonal)(fac, 1, work->y);
    FN(backward)(&work->sweeps, work->y);
    FN(permute_out)(fac, 1, work->y, x, fac->an->n);
}

static double norm_inf(int32_t n, const T *x) {
    double most = 0;
    for (int32_t i = 0; i < n; i++) {
        double a = (double)t_abs(x[i]);
        if (!(a <= most)) most = a; /* NaN stays */
    }
    return most;
}

static double norm2(int32_t n, const T *x, double most) {
    if (!(most > 0) || !isfinite(most)) return most;
    const double unit = 1 / most;
    double sum = 0;
    if (!isfinite(unit)) return most; /* denormal: the modulus will do */
    for (int32_t i = 0; i < n; i++) {
        double re = (double)t_re(x[i]) * unit, im = (double)t_im(x[i]) * unit;
        sum += re * re + im * im;
    }
    return most * sqrt(sum);
}

static void row_norms(const mpk_factor *fac, mpki_solve_work *work) {
    const mpk_analysis *an = fac->an;
    const T *ax = fac->ax;
    if (work->have_row_norm) return;
    for (int32_t i = 0; i < an->n; i++) work->row_norm[i] = 0;
    for (int32_t j = 0; j < an->n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++) {
            double a = (double)t_abs(ax[k]);
            int32_t i = an->ai[k];
            work->row_norm[i] += a;
            if (i != j) work->row_norm[j] += a;
        }
    work->have_row_norm = true;
}

/* omega_1 + omega_2 of Arioli, Demmel & Duff (1989), from r = b - A x and w = |A| |x| + |b| */
static double componentwise(int32_t n, const T *b, const T *r, const double *w,
                            const double *row_norm, double x_norm) {
    double omega1 = 0, omega2 = 0;
    const double tiny = 1000.0 * n * (double)R_EPS / 2;
    for (int32_t i = 0; i < n; i++) {
        double ri = (double)t_abs(r[i]),
               bound = tiny * (row_norm[i] * x_norm + (double)t_abs(b[i]));
        if (ri == 0) continue;
        if (w[i] > bound) {
            double q = ri / w[i];
            if (!(q <= omega1)) omega1 = q;
        } else {
            double q = ri / (w[i] - (double)t_abs(b[i]) + row_norm[i] * x_norm);
            if (!(q <= omega2)) omega2 = q;
        }
    }
    return omega1 + omega2;
}

mpki_quality FN(quality)(int32_t n, const void *x, const void *b, const void *r, const double *w,
                         const double *row_norm, double a_norm) {
    double x_norm = norm_inf(n, x), b_norm = norm_inf(n, b), r_norm = norm_inf(n, r);
    double b2 = norm2(n, b, b_norm), r2 = norm2(n, r, r_norm);
    mpki_quality q = {componentwise(n, b, r, w, row_norm, x_norm), 0, 0};
    if (!(r_norm == 0)) q.normwise = r_norm / (a_norm * x_norm + b_norm);
    if (!(r2 == 0)) q.relative = b2 > 0 ? r2 / b2 : INFINITY;
    if (!isfinite(x_norm)) q.componentwise = q.normwise = q.relative = INFINITY;
    return q;
}

/* exact: with the compensated residual (double precision; single has its sums in double anyway) */
static mpki_quality measure(const mpk_factor *fac, mpki_solve_work *work, const T *x, bool exact) {
    mpk_problem_view a = view_of(fac);
    mpki_residual(&a, x, work->b, work->r, work->w, work->wide);
    if (exact) mpki_residual_compensated(&a, x, work->b, work->r, work->wide);
    row_norms(fac, work);
    return FN(quality)(fac->an->n, x, work->b, work->r, work->w, work->row_norm, work->norm_inf);
}

void FN(refine)(const mpk_factor *fac, int steps, double accuracy, mpki_solve_work *work, void *vx,
                mpk_solve_info *info) {
    const int32_t n = fac->an->n;
    T *x = vx, *best = work->x;
    const bool wide = sizeof(R) == sizeof(double);
    bool exact = false;
    mpki_quality q = measure(fac, work, x, false), kept = q;
    int step = 0;
    info->unrefined = q.componentwise > info->unrefined || isnan(q.componentwise) ? q.componentwise
                                                                                  : info->unrefined;
    while (!(q.componentwise <= accuracy) && isfinite(q.componentwise)) {
        /* from the first step's failure on, residuals that rounding does not blur */
        if (!exact && wide && (step > 0 || step == steps)) {
            exact = true;
            q = measure(fac, work, x, true);
            continue;
        }
        if (step == steps) break;
        memcpy(best, x, (size_t)n * sizeof(T));
        kept = q;
        T *r = work->r;
        apply_inverse(fac, work, r);
        for (int32_t i = 0; i < n; i++) x[i] += r[i];
        q = measure(fac, work, x, exact);
        step++;
        if (!(q.componentwise < kept.componentwise)) { /* worse: keep what was */
            memcpy(x, best, (size_t)n * sizeof(T));
            q = kept;
            if (exact || !wide) break;
        }
        if ((exact || !wide) && !(q.componentwise <= 0.5 * kept.componentwise))
            break; /* stagnates */
    }
#define WORST(field, value)                                                                        \
    if (!(value <= info->field)) info->field = value
    WORST(componentwise, q.componentwise);
    WORST(normwise, q.normwise);
    WORST(relative_residual, q.relative);
#undef WORST
    if (step > info->iterations) info->iterations = step;
}

double FN(inverse_norm1)(const mpk_factor *fac, mpki_solve_work *work) {
    const int32_t n = fac->an->n;
    T *x = work->x, *sign = work->b;
    double estimate = 0;
    int32_t last = -1;
    if (n == 0) return 0;
    for (int32_t i = 0; i < n; i++) x[i] = t_make((R)1 / (R)n, 0);
    for (int round = 0; round < 5; round++) {
        apply_inverse(fac, work, x);
        double sum = 0;
        for (int32_t i = 0; i < n; i++) sum += (double)t_abs(x[i]);
        if (round > 0 && !(sum > estimate)) break;
        estimate = sum;
        for (int32_t i = 0; i < n; i++) {
            R a = t_abs(x[i]);
            sign[i] = a > 0 ? x[i] / a : t_make(1, 0);
        }
        memcpy(x, sign, (size_t)n * sizeof(T));
        /* A^-H sign: A^-1 when real or Hermitian; conj(A^-1 conj(sign)) when complex symmetric */
        const int turn = fac->an->symmetry != MPK_HERMITIAN;
        for (int32_t i = 0; turn && i < n; i++) x[i] = t_conj(x[i]);
        apply_inverse(fac, work, x);
        int32_t place = 0;
        for (int32_t i = 1; i < n; i++)
            if (t_abs(x[i]) > t_abs(x[place])) place = i;
        if (place == last) break;
        last = place;
        for (int32_t i = 0; i < n; i++) x[i] = t_make(i == place, 0);
    }
    /* Higham's second guess catches what the first one misses */
    for (int32_t i = 0; i < n; i++)
        x[i] = t_make((R)((i % 2 ? -1.0 : 1.0) * (1.0 + (n > 1 ? (double)i / (n - 1) : 0.0))), 0);
    apply_inverse(fac, work, x);
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)t_abs(x[i]);
    sum = 2 * sum / (3.0 * n);
    return sum > estimate ? sum : estimate;
}
