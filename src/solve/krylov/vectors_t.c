/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and updates of vectors in one precision. */
#include "vectors.h"
#include "../../core/random.h"

/* Sums in LANES parts, so that the compiler may use vectors; the order of additions is fixed. */
enum { LANES = 8 };

#if MPKI_COMPLEX

product FN(vec_product)(int32_t n, int hermitian, const T *vx, const T *vy) {
    const R *x = (const R *)vx, *y = (const R *)vy;
    const double sign = hermitian ? -1 : 1; /* of the first factor's imaginary part */
    double re[LANES] = {0}, im[LANES] = {0}, xx[LANES] = {0}, yy[LANES] = {0};
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const double a = x[2 * (i + l)], b = sign * x[2 * (i + l) + 1], c = y[2 * (i + l)],
                         d = y[2 * (i + l) + 1];
            re[l] += a * c - b * d;
            im[l] += a * d + b * c;
            xx[l] += a * a + b * b;
            yy[l] += c * c + d * d;
        }
    for (; i < n; i++) {
        const double a = x[2 * i], b = sign * x[2 * i + 1], c = y[2 * i], d = y[2 * i + 1];
        re[0] += a * c - b * d;
        im[0] += a * d + b * c;
        xx[0] += a * a + b * b;
        yy[0] += c * c + d * d;
    }
    for (int l = 1; l < LANES; l++) re[0] += re[l], im[0] += im[l], xx[0] += xx[l], yy[0] += yy[l];
    return (product){w_make(re[0], im[0]), sqrt(xx[0]), sqrt(yy[0])};
}

#else

product FN(vec_product)(int32_t n, int hermitian, const T *x, const T *y) {
    double xy[LANES] = {0}, xx[LANES] = {0}, yy[LANES] = {0};
    int32_t i = 0;
    (void)hermitian;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const double a = x[i + l], b = y[i + l];
            xy[l] += a * b;
            xx[l] += a * a;
            yy[l] += b * b;
        }
    for (; i < n; i++) {
        const double a = x[i], b = y[i];
        xy[0] += a * b;
        xx[0] += a * a;
        yy[0] += b * b;
    }
    for (int l = 1; l < LANES; l++) xy[0] += xy[l], xx[0] += xx[l], yy[0] += yy[l];
    return (product){xy[0], sqrt(xx[0]), sqrt(yy[0])};
}

#endif

W FN(vec_dot)(int32_t n, int hermitian, const T *x, const T *y) {
    return FN(vec_product)(n, hermitian, x, y).dot;
}

/* The norm of a real vector of `count` entries; a complex vector of n is one of 2 n. */
static double norm(int64_t count, const R *x) {
    double sum[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < count; i++) sum[0] += (double)x[i] * (double)x[i];
    for (int l = 1; l < LANES; l++) sum[0] += sum[l];
    return sqrt(sum[0]);
}

double FN(vec_norm)(int32_t n, const T *x) {
    return norm((MPKI_COMPLEX ? 2 : 1) * (int64_t)n, (const R *)x);
}

void FN(vec_axpy)(int32_t n, W a, const T *x, T *y) {
    const T c = narrow(a);
    for (int32_t i = 0; i < n; i++) y[i] += t_mul(c, x[i]);
}

/* Entries of a piece: it stays in the first-level cache between the two loops. */
enum { PIECE = 1024 };

static double in_pieces(int32_t n, T a, const T *x, T b, int keep, T *y) {
    double sum = 0;
    for (int32_t i0 = 0; i0 < n; i0 += PIECE) {
        const int32_t m = n - i0 < PIECE ? n - i0 : PIECE;
        const T *u = x + i0;
        T *v = y + i0;
        if (keep == 2)
            for (int32_t i = 0; i < m; i++) v[i] += t_mul(a, u[i]);
        else if (keep)
            for (int32_t i = 0; i < m; i++) v[i] = t_mul(a, u[i]) + t_mul(b, v[i]);
        else
            for (int32_t i = 0; i < m; i++) v[i] = t_mul(a, u[i]);
        const double part = FN(vec_norm)(m, v);
        sum += part * part;
    }
    return sqrt(sum);
}

double FN(vec_axpy_norm)(int32_t n, W a, const T *x, T *y) {
    return in_pieces(n, narrow(a), x, t_make(1, 0), 2, y);
}

double FN(vec_axpby)(int32_t n, W a, const T *x, W b, T *y) {
    return in_pieces(n, narrow(a), x, narrow(b), w_abs(b) != 0, y);
}

void FN(vec_scale)(int32_t n, W a, const T *x, T *y) {
    const T c = narrow(a);
    for (int32_t i = 0; i < n; i++) y[i] = t_mul(c, x[i]);
}

void FN(vec_random)(int32_t n, uint64_t *state, T *x) {
    for (int32_t i = 0; i < n; i++) {
        const double re = mpki_random_signed(state);
        const double im = MPKI_COMPLEX ? mpki_random_signed(state) : 0;
        x[i] = t_make((R)re, (R)im);
    }
}
