/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of A's kernel beside right-hand sides and residuals. */
#include "deflate.h"
#include "../core/precision.h"
#include "../core/random.h"

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

/* sum of conj(u_i) y_i, of complex symmetric A u_i y_i */
static void product(int32_t n, bool symmetric, const T *u, const T *y, const double *scale,
                    double sum[2]) {
    sum[0] = sum[1] = 0;
    for (int32_t i = 0; i < n; i++) {
        const double s = scale ? scale[i] : 1;
        const double ur = (double)t_re(u[i]) * s,
                     ui = (symmetric ? 1 : -1) * (double)t_im(u[i]) * s;
        const double yr = (double)t_re(y[i]), yi = (double)t_im(y[i]);
        sum[0] += ur * yr - ui * yi;
        sum[1] += ur * yi + ui * yr;
    }
}

/* y := y - S^-1 u sum, u conjugated where A = A^T */
static void subtract(int32_t n, bool symmetric, const T *u, const double *scale,
                     const double sum[2], T *y) {
    for (int32_t i = 0; i < n; i++) {
        const double s = scale ? 1 / scale[i] : 1;
        const double ur = (double)t_re(u[i]) * s,
                     ui = (symmetric ? -1 : 1) * (double)t_im(u[i]) * s;
        y[i] -= t_make((R)(ur * sum[0] - ui * sum[1]), (R)(ur * sum[1] + ui * sum[0]));
    }
}

/* The length of v, which is scaled to 1. */
static double to_unit(int32_t n, T *v) {
    double most = 0, sum = 0;
    for (int32_t i = 0; i < n; i++) most = fmax(most, modulus(v[i]));
    if (!(most > 0) || !isfinite(most)) return 0;
    for (int32_t i = 0; i < n; i++) {
        const double a = modulus(v[i]) / most;
        sum += a * a;
    }
    const double length = most * sqrt(sum);
    for (int32_t i = 0; i < n; i++)
        v[i] = t_make((R)((double)t_re(v[i]) / length), (R)((double)t_im(v[i]) / length));
    return length;
}

void FN(basis_mix)(int32_t n, void *vy) {
    T *y = vy;
    for (int32_t i = 0; i < n; i++) y[i] *= (R)(1 + mpki_random_unit(mpki_random_at((uint64_t)i)));
}

bool FN(basis_join)(int32_t n, const double *scale, int count, const void *basis, void *vv) {
    static const double LEAST = 1e-4; /* of its length; less is another's */
    const T *u = basis;
    T *v = vv;
    for (int32_t i = 0; i < n; i++)
        v[i] = t_make((R)((double)t_re(v[i]) / scale[i]), (R)((double)t_im(v[i]) / scale[i]));
    if (!(to_unit(n, v) > 0)) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < count; j++) {
            double sum[2];
            product(n, false, u + (int64_t)j * n, v, NULL, sum);
            subtract(n, false, u + (int64_t)j * n, NULL, sum, v);
        }
        if (!(to_unit(n, v) > LEAST)) return false;
    }
    return true;
}

void FN(deflate)(int32_t n, const double *scale, bool symmetric, const mpki_basis *basis, void *r) {
    for (int j = 0; j < basis->count; j++) {
        const T *u = (const T *)basis->v + (int64_t)j * n;
        double sum[2];
        product(n, symmetric, u, r, scale, sum);
        subtract(n, symmetric, u, scale, sum, r);
    }
}

bool FN(consistent)(int32_t n, const double *scale, bool symmetric, const mpki_basis *basis,
                    const void *b, const double *w) {
    const double bound = mpki_range_bound(sizeof(R) == sizeof(float) ? MPK_S : MPK_D);
    for (int j = 0; j < basis->count; j++) {
        const T *u = (const T *)basis->v + (int64_t)j * n;
        double sum[2], all = 0;
        product(n, symmetric, u, b, scale, sum);
        for (int32_t i = 0; i < n; i++) all += modulus(u[i]) * scale[i] * w[i];
        if (!(hypot(sum[0], sum[1]) <= bound * all)) return false;
    }
    return true;
}
