/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on single columns, too small for threads. */
#include "columns.h"
#include "../core/precision.h"
#include "../core/random.h"

#include <float.h>

enum { REALS = sizeof(T) / sizeof(R) };

/* Of so many entries side by side, for no operation waits for the one before. */
enum { AT_ONCE = 4 };

static double largest(int64_t count, const R *x) {
    double most[AT_ONCE] = {0};
    int64_t i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        for (int k = 0; k < AT_ONCE; k++) most[k] = mpki_larger(most[k], fabs((double)x[i + k]));
    for (; i < count; i++) most[0] = mpki_larger(most[0], fabs((double)x[i]));
    return mpki_larger(mpki_larger(most[0], most[1]), mpki_larger(most[2], most[3]));
}

static double squares(int64_t count, const R *x, double unit) {
    double sum[AT_ONCE] = {0};
    int64_t i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        for (int k = 0; k < AT_ONCE; k++) {
            const double a = (double)x[i + k] * unit;
            sum[k] += a * a;
        }
    for (; i < count; i++) {
        const double a = (double)x[i] * unit;
        sum[0] += a * a;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double FN(column_norm)(int32_t n, const void *x) {
    const double most = largest(REALS * (int64_t)n, x);
    if (!(most > 0) || !isfinite(most)) return most;
    int exponent;
    frexp(most, &exponent);
    if (exponent < -1000) exponent = -1000;
    return ldexp(sqrt(squares(REALS * (int64_t)n, x, ldexp(1, -exponent))), exponent);
}

double FN(column_subtract)(int32_t n, const void *vb, void *vy) {
    const R *b = vb;
    R *y = vy;
    for (int64_t i = 0; i < REALS * (int64_t)n; i++) y[i] = b[i] - y[i];
    return FN(column_norm)(n, y);
}

void FN(column_add)(int32_t n, int exponent, const void *vd, void *vx) {
    const R *d = vd;
    R *x = vx;
    if (exponent == 0)
        for (int64_t i = 0; i < REALS * (int64_t)n; i++) x[i] += d[i];
    else
        for (int64_t i = 0; i < REALS * (int64_t)n; i++)
            x[i] = (R)((double)x[i] + ldexp((double)d[i], exponent));
}

double FN(column_largest)(int64_t n, const void *x) {
    return largest(REALS * n, x);
}

void FN(column_shift)(int64_t n, int exponent, void *vx) {
    R *x = vx;
    for (int64_t i = 0; i < REALS * n; i++) x[i] = (R)ldexp((double)x[i], exponent);
}

bool FN(column_finite)(int32_t n, const void *vx) {
    const R *x = vx;
    for (int64_t i = 0; i < REALS * (int64_t)n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

void FN(column_signs)(int32_t n, void *vx) {
    T *x = vx;
    for (int32_t i = 0; i < n; i++) x[i] = t_make((R)mpki_random_sign((uint64_t)i), 0);
}

void FN(column_moduli)(int64_t count, const void *vx, double *absval) {
    const T *x = vx;
    for (int64_t k = 0; k < count; k++) {
        absval[k] = (double)t_abs(x[k]);
        if (MPKI_COMPLEX && !isfinite(absval[k])) /* beyond the type, of parts that are not */
            absval[k] = fmin(hypot((double)t_re(x[k]), (double)t_im(x[k])), DBL_MAX);
    }
}
