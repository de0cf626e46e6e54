/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors from one pass over A, where all numbers are well inside the range of doubles. */
#include "columns.h"
#include "measure.h"
#include "../core/precision.h"

static const bool SINGLE = sizeof(R) == sizeof(float);

/* ||A|| ||x|| / ||b|| from which on the rounding of the residual's sums, in double or twice that,
 * can be seen beside b. */
static const double LOST = sizeof(R) == sizeof(float) ? 1e13 : 1e28;

static double modulus(T x) {
#if MPKI_COMPLEX
    const double re = (double)t_re(x), im = (double)t_im(x), square = re * re + im * im;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(re, im);
#else
    return fabs((double)x);
#endif
}

static double norm_inf(int32_t n, const T *x) {
#if MPKI_COMPLEX
    double most = 0;
    for (int32_t i = 0; i < n; i++) most = mpki_larger(most, modulus(x[i]));
    return most;
#else
    return FN(column_largest)(n, x);
#endif
}

/* Is a / unit surely no more than this? Without a division; false where that is not sure. */
static bool below(double a, double most, double unit) {
    return a <= most * unit * (1 - 1e-15);
}

/* Is this row sure to change nothing in mpki_row_beside()? */
static bool adds_nothing(double r, double b, double norm, const mpki_by_rows *rows) {
    const double unit = norm > 0 ? norm : 1;
    return below(r, rows->r, unit) && below(b, rows->b, unit) && (!(r > 1e-2 * b) || b == 0);
}

static bool inside(double x) {
    return x == 0 || (x > mpki_nearly_zero(SINGLE) && x < mpki_nearly_infinite(SINGLE));
}

/* omega_1 and omega_2 of Arioli, Demmel & Duff (1989), what is measured by rows, and the largest
 * |r_i| / w_i; false: a row is near the ends. */
static bool componentwise(const mpki_system *s, const T *b, const T *r, const double *w,
                          double x_norm, double omega[2], mpki_by_rows *rows, double *most) {
    const int32_t n = s->a.n;
    const double tiny = 1000.0 * n * (double)R_EPS / 2;
    double omega1 = 0, omega2 = 0, others = 0;
    for (int32_t i = 0; i < n; i++) {
        const double bi = modulus(b[i]), ri = modulus(r[i]);
        const double all = s->row_norm[i] * x_norm + bi;
        if (!inside(all) || !inside(s->row_norm[i]) ||
            (all == 0 && s->row_norm[i] > 0 && x_norm > 0))
            return false;
        if (!adds_nothing(ri, bi, s->row_norm[i], rows))
            mpki_row_beside(ri, bi, w[i], s->row_norm[i], mpki_row_least(SINGLE), rows);
        if (ri == 0) continue;
        if (w[i] > tiny * all) {
            if (below(ri, omega1, w[i])) continue;
            const double q = ri / w[i];
            omega1 = mpki_larger(omega1, q);
        } else {
            const double q = ri / (w[i] - bi + s->row_norm[i] * x_norm);
            omega2 = mpki_larger(omega2, q);
            others = mpki_larger(others, ri / w[i]);
        }
    }
    omega[0] = omega1, omega[1] = omega2;
    *most = mpki_larger(omega1, others);
    return true;
}

bool FN(quality_of)(const mpki_system *s, const mpki_judged *j, mpki_quality *q) {
    *q = (mpki_quality){0};
    if (j->odd || !inside(j->x_norm) || !inside(j->b_norm) || !isfinite(j->r_norm)) return false;
    q->componentwise = j->omega1 + j->omega2;
    if (j->r_norm > 0) q->normwise = j->r_norm / (s->norm_inf * j->x_norm + j->b_norm);
    if (j->r_two > 0) q->relative = j->b_two > 0 ? j->r_two / j->b_two : INFINITY;
    if (j->x_norm > 0) q->growth = j->b_norm > 0 ? s->norm_inf * (j->x_norm / j->b_norm) : INFINITY;
    q->rows = q->relative; /* norms say nothing of single rows */
    return !(q->growth > LOST) || j->b_norm == 0;
}

bool FN(quality)(const mpki_system *s, const void *vx, const void *vb, const void *vr,
                 const double *w, mpki_quality *q) {
    const T *x = vx, *b = vb, *r = vr;
    const int32_t n = s->a.n;
    mpki_judged j = {.x_norm = norm_inf(n, x), .b_norm = norm_inf(n, b), .r_norm = norm_inf(n, r)};
    double omega[2], most;
    mpki_by_rows rows = {0, 0, 0, false};
    *q = (mpki_quality){0};
    if (!inside(j.x_norm) || !inside(j.b_norm) || !isfinite(j.r_norm) ||
        !componentwise(s, b, r, w, j.x_norm, omega, &rows, &most))
        return false;
    j.omega1 = omega[0], j.omega2 = omega[1];
    j.b_two = FN(column_norm)(n, b), j.r_two = FN(column_norm)(n, r);
    if (!FN(quality_of)(s, &j, q)) return false;
    mpki_rows_told(&rows, q);
    q->within = most <= mpki_within(SINGLE ? MPK_S : MPK_D);
    return true;
}

mpki_quality FN(measure)(const mpki_system *s, const void *x, const void *b, void *r, double *w,
                         double *work) {
    mpki_quality q;
    mpki_residual(&s->a, x, b, r, w, work);
    if (s->skew) FN(skew_residual)(s->skew, &s->a, x, r, w);
    if (FN(quality)(s, x, b, r, w, &q)) return q;
    return FN(measure_wide)(s, x, b, r);
}
