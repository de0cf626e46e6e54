/* SPDX-License-Identifier: BSD-3-Clause */
#include "full.h"
#include "../core/precision.h"

#include <string.h>

/* What sums of residuals are held in, and a product of two entries in it. */
#if MPKI_COMPLEX
typedef double complex W;
static inline W wide(double re, double im) {
    W w;
    ((double *)&w)[0] = re;
    ((double *)&w)[1] = im;
    return w;
}
static inline W wide_mul(T a, T x) {
    const double ar = t_re(a), ai = t_im(a), xr = t_re(x), xi = t_im(x);
    return wide(ar * xr - ai * xi, ar * xi + ai * xr);
}
static inline T narrow(W w) {
    return t_make((R)((const double *)&w)[0], (R)((const double *)&w)[1]);
}
static inline double modulus(T x) {
    const double re = t_re(x), im = t_im(x), square = re * re + im * im;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(re, im);
}
#else
typedef double W;
static inline W wide(double re, double im) {
    return (void)im, re;
}
static inline W wide_mul(T a, T x) {
    return (double)a * (double)x;
}
static inline T narrow(W w) {
    return (T)w;
}
static inline double modulus(T x) {
    return fabs((double)x);
}
#endif

static void scatter(const mpk_problem_view *a, int32_t c0, int32_t c1, int32_t *next,
                    mpki_full *full) {
    const T *ax = a->ax;
    T *val = full->val;
    const int hermitian = a->symmetry == MPK_HERMITIAN;
    for (int32_t j = c0; j < c1; j++) {
        int64_t end = full->ptr[j + 1] - (a->ap[j + 1] - a->ap[j]);
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            full->col[end] = i;
            val[end++] = i == j ? ax[k] : conj_if(hermitian, ax[k]);
            if (i == j) continue;
            const int64_t slot = full->ptr[i] + next[i]++;
            full->col[slot] = j;
            val[slot] = ax[k];
        }
    }
}

/* The entries some rows ahead, which the hardware's own look-ahead loses where rows are short. */
static inline void fetch(const T *val, const int32_t *col) {
    __builtin_prefetch(val + 2048 / sizeof(T));
    __builtin_prefetch(col + 2 * 2048 / sizeof(T));
}

/* Four sums, so that a long row does not wait for its own additions; their order is fixed. */
static void multiply(const mpki_full *full, int32_t r0, int32_t r1, const void *vx, void *vy) {
    const T *val = full->val, *x = vx;
    const int32_t *col = full->col;
    T *y = vy;
    for (int32_t i = r0; i < r1; i++) {
        int64_t k = full->ptr[i];
        const int64_t end = full->ptr[i + 1];
        T s0 = t_make(0, 0), s1 = s0, s2 = s0, s3 = s0;
        for (; k + 4 <= end; k += 4) {
            fetch(val + k, col + k);
            s0 += t_mul(val[k], x[col[k]]);
            s1 += t_mul(val[k + 1], x[col[k + 1]]);
            s2 += t_mul(val[k + 2], x[col[k + 2]]);
            s3 += t_mul(val[k + 3], x[col[k + 3]]);
        }
        for (; k < end; k++) s0 += t_mul(val[k], x[col[k]]);
        y[i] = (s0 + s1) + (s2 + s3);
    }
}

static void denominator(const mpki_full *full, int32_t r0, int32_t r1, const T *x, const T *b,
                        double *w) {
    const T *val = full->val;
    for (int32_t i = r0; i < r1; i++) {
        double sum = modulus(b[i]);
        for (int64_t k = full->ptr[i]; k < full->ptr[i + 1]; k++)
            sum += modulus(val[k]) * modulus(x[full->col[k]]);
        w[i] = sum;
    }
}

static void residual(const mpki_full *full, int32_t r0, int32_t r1, const void *vx, const void *vb,
                     void *vr, double *w) {
    const T *val = full->val, *x = vx, *b = vb;
    const int32_t *col = full->col;
    T *r = vr;
    if (w) denominator(full, r0, r1, x, b, w); /* before r, which may be b, is written */
    for (int32_t i = r0; i < r1; i++) {
        int64_t k = full->ptr[i];
        const int64_t end = full->ptr[i + 1];
        W s0 = wide(t_re(b[i]), t_im(b[i])), s1 = wide(0, 0);
        for (; k + 2 <= end; k += 2) {
            fetch(val + k, col + k);
            s0 -= wide_mul(val[k], x[col[k]]);
            s1 -= wide_mul(val[k + 1], x[col[k + 1]]);
        }
        if (k < end) s0 -= wide_mul(val[k], x[col[k]]);
        r[i] = narrow(s0 + s1);
    }
}

static void row_sums(const mpki_full *full, int32_t r0, int32_t r1, double *sums) {
    const T *val = full->val;
    for (int32_t i = r0; i < r1; i++) {
        double sum = 0;
        for (int64_t k = full->ptr[i]; k < full->ptr[i + 1]; k++) sum += modulus(val[k]);
        sums[i] = sum;
    }
}

const mpki_full_table FN(full) = {scatter, multiply, residual, row_sums};
