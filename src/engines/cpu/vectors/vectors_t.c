/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's vectors of Krylov methods, in one precision: sums and updates
 * (mpki_vector_ops). */
#include "vectors.h"
#include "core/precision.h"
#include "core/random.h"
#include "problem/problem.h"

#include <string.h>

struct mpki_space {
    int32_t n;
    mpk_scalar scalar;
    int64_t count;
    void *v[]; /* count vectors */
};

/* Sums in LANES parts, so that the compiler may use vectors; the order of additions is fixed. */
enum { LANES = 8 };

#if MPKI_COMPLEX

static mpki_product vector_product(mpki_space *s, int hermitian, const void *vx, const void *vy) {
    const int32_t n = s->n;
    const R *x = vx, *y = vy;
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
    return (mpki_product){{re[0], im[0]}, sqrt(xx[0]), sqrt(yy[0])};
}

#else

static mpki_product vector_product(mpki_space *s, int hermitian, const void *vx, const void *vy) {
    const int32_t n = s->n;
    const T *x = vx, *y = vy;
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
    return (mpki_product){{xy[0], 0}, sqrt(xx[0]), sqrt(yy[0])};
}

#endif

static mpki_number dot(mpki_space *s, int hermitian, const void *x, const void *y) {
    return vector_product(s, hermitian, x, y).dot;
}

/* The norm of a real vector of `count` entries; a complex vector of n is one of 2 n. */
static double norm_of(int64_t count, const R *x) {
    double sum[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < count; i++) sum[0] += (double)x[i] * (double)x[i];
    for (int l = 1; l < LANES; l++) sum[0] += sum[l];
    return sqrt(sum[0]);
}

static double norm(mpki_space *s, const void *x) {
    return norm_of((MPKI_COMPLEX ? 2 : 1) * (int64_t)s->n, x);
}

static T to_entry(mpki_number a) {
    return t_make((R)a.re, (R)a.im);
}

static void axpy(mpki_space *s, mpki_number a, const void *vx, void *vy) {
    const T c = to_entry(a), *x = vx;
    T *y = vy;
    for (int32_t i = 0; i < s->n; i++) y[i] += t_mul(c, x[i]);
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
        const double part = norm_of((MPKI_COMPLEX ? 2 : 1) * (int64_t)m, (const R *)v);
        sum += part * part;
    }
    return sqrt(sum);
}

static double axpy_norm(mpki_space *s, mpki_number a, const void *x, void *y) {
    return in_pieces(s->n, to_entry(a), x, t_make(1, 0), 2, y);
}

static double axpby_norm(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y) {
    return in_pieces(s->n, to_entry(a), x, to_entry(b), b.re != 0 || b.im != 0, y);
}

static void scale(mpki_space *s, mpki_number a, const void *vx, void *vy) {
    const T c = to_entry(a), *x = vx;
    T *y = vy;
    for (int32_t i = 0; i < s->n; i++) y[i] = t_mul(c, x[i]);
}

static void axpby(mpki_space *s, mpki_number a, const void *vx, mpki_number b, void *vy) {
    const T c = to_entry(a), d = to_entry(b), *x = vx;
    T *y = vy;
    if (b.re == 0 && b.im == 0)
        scale(s, a, vx, vy);
    else
        for (int32_t i = 0; i < s->n; i++) y[i] = t_mul(c, x[i]) + t_mul(d, y[i]);
}

static void vector_random(mpki_space *s, uint64_t *state, void *vx) {
    T *x = vx;
    for (int32_t i = 0; i < s->n; i++) {
        const double re = mpki_random_signed(state);
        const double im = MPKI_COMPLEX ? mpki_random_signed(state) : 0;
        x[i] = t_make((R)re, (R)im);
    }
}

static void signs(mpki_space *s, void *vx) {
    T *x = vx;
    for (int32_t i = 0; i < s->n; i++) x[i] = t_make((R)mpki_random_sign32((uint32_t)i), 0);
}

static bool vector_finite(mpki_space *s, const void *x) {
    const R *v = x;
    const int64_t count = (MPKI_COMPLEX ? 2 : 1) * (int64_t)s->n;
    R sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) /* 0 for every finite number, else NaN */
        for (int l = 0; l < 8; l++) sum[l] += v[i + l] * 0;
    for (; i < count; i++) sum[0] += v[i] * 0;
    for (int l = 1; l < 8; l++) sum[0] += sum[l];
    return sum[0] == 0;
}

static int64_t first_nonfinite(mpki_space *s, const void *x) {
    return mpki_first_nonfinite(s->scalar, s->n, x);
}

static double largest(mpki_space *s, const void *vx) {
    const T *x = vx;
    double most = 0;
    for (int32_t i = 0; i < s->n; i++) {
        const double size = (double)t_abs1(x[i]);
        most = size <= most ? most : isnan(size) ? INFINITY : size;
    }
    return most;
}

static bool equal(mpki_space *s, const void *x, const void *y) {
    return !memcmp(x, y, (size_t)s->n * sizeof(T));
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void release(mpk_context *ctx, mpki_space **handle) {
    mpki_space *s = *handle;
    if (!s) return;
    for (int64_t k = 0; k < s->count; k++) mpki_release(ctx, s->v[k]);
    mpki_release(ctx, s);
    *handle = NULL;
}

static mpk_status make(mpk_context *ctx, mpk_scalar scalar, int32_t n, int64_t count, void *stream,
                       double limit, mpki_space **out, void **v) {
    (void)stream, (void)limit;
    const int64_t bytes = (int64_t)sizeof(mpki_space) + count * (int64_t)sizeof(void *);
    mpki_space *s = *out = mpki_alloc(ctx, "solve", bytes, 1);
    if (!s) return mpki_failed(ctx);
    s->n = n, s->scalar = scalar, s->count = 0;
    for (int64_t k = 0; k < count; k++, s->count++)
        if (!(v[k] = s->v[k] = mpki_alloc(ctx, "solve", n, sizeof(T)))) break;
    if (s->count < count) release(ctx, out);
    return mpki_failed(ctx);
}

static mpk_status status(const mpki_space *s) {
    (void)s;
    return MPK_OK;
}

static void copy(mpki_space *s, const void *x, void *y) {
    memcpy(y, x, (size_t)s->n * sizeof(T));
}

static void zero(mpki_space *s, void *x) {
    memset(x, 0, (size_t)s->n * sizeof(T));
}

const mpki_vector_ops FN(vector_ops) = {.make = make,
                                        .free = release,
                                        .status = status,
                                        .take = copy,
                                        .give = copy,
                                        .copy = copy,
                                        .zero = zero,
                                        .product = vector_product,
                                        .dot = dot,
                                        .norm = norm,
                                        .axpy = axpy,
                                        .axpy_norm = axpy_norm,
                                        .axpby = axpby,
                                        .axpby_norm = axpby_norm,
                                        .scale = scale,
                                        .random = vector_random,
                                        .signs = signs,
                                        .finite = vector_finite,
                                        .first_nonfinite = first_nonfinite,
                                        .largest = largest,
                                        .equal = equal};
