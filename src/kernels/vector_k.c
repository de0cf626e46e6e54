/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix times vector for the solve with one right-hand side, and the table of this instruction
 * set. */
#include "isa.h"
#include "vector.h"

void ISA_FN(gemv)(int64_t rows, int cols, const T *restrict a, int64_t lda, const T *restrict x,
                  T *restrict y) {
    int j = 0;
    for (; j + 4 <= cols; j += 4, a += 4 * lda) {
        T x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3];
        for (int64_t i = 0; i < rows; i++)
            y[i] -= (t_mul(a[i], x0) + t_mul(a[i + lda], x1)) +
                    (t_mul(a[i + 2 * lda], x2) + t_mul(a[i + 3 * lda], x3));
    }
    for (; j < cols; j++, a += lda)
        for (int64_t i = 0; i < rows; i++) y[i] -= t_mul(a[i], x[j]);
}

#if !MPKI_COMPLEX
/* sum_i a(i) x(i), in eight partial sums: a fixed order, whatever the compiler does */
INLINE R dot(int64_t rows, const R *a, const R *x) {
    R sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += a[i + k] * x[i + k];
    for (; i < rows; i++) sum[0] += a[i] * x[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

INLINE R
sum_of(vec x) { /* half added to half: the same order in every build for this instruction set */
    R part[VBYTES / sizeof(R)];
    v_store(part, x);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) part[k] += part[k + width];
    return part[0];
}

/* four columns at once, so that x is read once for four */
static void dot4(int64_t rows, const R *a, int64_t lda, const R *x, R *y) {
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t i = 0;
    for (; i + LANES <= rows; i += LANES) {
        vec xi = v_load(x + i);
        s0 += v_load(a + i) * xi;
        s1 += v_load(a + i + lda) * xi;
        s2 += v_load(a + i + 2 * lda) * xi;
        s3 += v_load(a + i + 3 * lda) * xi;
    }
    if (i < rows) {
        int left = (int)(rows - i);
        vec xi = v_load_n(x + i, left);
        s0 += v_load_n(a + i, left) * xi;
        s1 += v_load_n(a + i + lda, left) * xi;
        s2 += v_load_n(a + i + 2 * lda, left) * xi;
        s3 += v_load_n(a + i + 3 * lda, left) * xi;
    }
    y[0] -= sum_of(s0);
    y[1] -= sum_of(s1);
    y[2] -= sum_of(s2);
    y[3] -= sum_of(s3);
}
#endif

#if MPKI_COMPLEX
/* re + i im of a product with x, for one column: a x lane by lane, and a times x turned by i */
typedef struct pair {
    vec re, im;
} pair;

INLINE void pair_add(pair *s, vec a, vec x, vec turned) {
    s->re += a * x;
    s->im += a * turned;
}

/* op(a)^T x: with (p, q) the sums over the lanes of real and imaginary parts of a. In re, p is
 * re a re x and q im a im x; in im, p is -re a im x and q im a re x. */
INLINE T pair_sum(pair s, int conjugate) {
    R re[VBYTES / sizeof(R)], im[VBYTES / sizeof(R)];
    v_store(re, s.re);
    v_store(im, s.im);
    for (int width = LANES / 2; width >= 2; width /= 2) /* halves onto halves, as sum_of() */
        for (int k = 0; k < width; k++) re[k] += re[k + width], im[k] += im[k + width];
    return conjugate ? t_make(re[0] + re[1], -(im[0] + im[1]))
                     : t_make(re[0] - re[1], im[1] - im[0]);
}

/* `count` columns, 1 or 4, at a time */
INLINE void dots(int count, int64_t rows, const T *va, int64_t lda, const T *vx, T *y,
                 int conjugate) {
    const int step = LANES / 2;
    const R *a = (const R *)va, *x = (const R *)vx;
    pair s[4] = {0};
    int64_t i = 0;
    for (; i + step <= rows; i += step) {
        const vec xi = v_load(x + 2 * i), turned = v_times_i(xi);
        for (int k = 0; k < count; k++) pair_add(&s[k], v_load(a + 2 * (i + k * lda)), xi, turned);
    }
    if (i < rows) {
        const int left = 2 * (int)(rows - i);
        const vec xi = v_load_n(x + 2 * i, left), turned = v_times_i(xi);
        for (int k = 0; k < count; k++)
            pair_add(&s[k], v_load_n(a + 2 * (i + k * lda), left), xi, turned);
    }
    for (int k = 0; k < count; k++) y[k] -= pair_sum(s[k], conjugate);
}
#endif

void ISA_FN(gemvt)(int64_t rows, int cols, const T *restrict a, int64_t lda, const T *restrict x,
                   T *restrict y, int conjugate) {
    int j = 0;
#if MPKI_COMPLEX
    for (; j + 4 <= cols; j += 4) dots(4, rows, a + j * lda, lda, x, y + j, conjugate);
    for (; j < cols; j++) dots(1, rows, a + j * lda, lda, x, y + j, conjugate);
#else
    (void)conjugate;
    for (; j + 4 <= cols; j += 4) dot4(rows, a + j * lda, lda, x, y + j);
    for (; j < cols; j++) y[j] -= dot(rows, a + j * lda, x);
#endif
}

const FN(kernels) ISA_FN(table) = {MPKI_STRING(MPKI_ISA),
                                   NC,
                                   ISA_FN(multiply),
                                   ISA_FN(pack),
                                   ISA_FN(apply),
                                   ISA_FN(tile),
                                   ISA_FN(gemv),
                                   ISA_FN(gemvt),
                                   ISA_FN(rows),
                                   ISA_FN(lower),
                                   ISA_FN(lower_t),
                                   ISA_FN(residual),
                                   ISA_FN(residual_columns),
                                   ISA_FN(residual_rows)};
