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

/* sum_i op(a(i)) x(i), in LANES partial sums, so that the order is fixed */
INLINE T dot(int64_t rows, const T *a, const T *x, int conjugate) {
    T sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += t_mul(conj_if(conjugate, a[i + k]), x[i + k]);
    for (; i < rows; i++) sum[0] += t_mul(conj_if(conjugate, a[i]), x[i]);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

#if !MPKI_COMPLEX
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

void ISA_FN(gemvt)(int64_t rows, int cols, const T *restrict a, int64_t lda, const T *restrict x,
                   T *restrict y, int conjugate) {
    int j = 0;
#if !MPKI_COMPLEX
    for (; j + 4 <= cols; j += 4) dot4(rows, a + j * lda, lda, x, y + j);
#endif
    for (; j < cols; j++)
        y[j] -= conjugate ? dot(rows, a + j * lda, x, 1) : dot(rows, a + j * lda, x, 0);
}

const FN(kernels) ISA_FN(table) = {
    MPKI_STRING(MPKI_ISA), NC,           ISA_FN(multiply), ISA_FN(pack),     ISA_FN(apply),
    ISA_FN(tile),          ISA_FN(gemv), ISA_FN(gemvt),    ISA_FN(residual), ISA_FN(residual_rows)};
