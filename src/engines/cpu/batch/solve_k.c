/* SPDX-License-Identifier: BSD-3-Clause */
/* X := A^-1 B from the factors of one small matrix after the other: all right-hand sides advance
 * together, so that a column of L is read once. */
#include "kernels.h"
#include "kernels/isa.h"
#include "kernels/vector.h"
#include "pivot.h"

enum { LD = MPKI_BATCH_LD };

/* A step with column s of L, whose entries begin at row `from`: y(i) -= l(i) y(s); backward: y(s)
 * -= sum l(i) y(i). */
static void forward(int n, int s, int from, const T *restrict l, T *restrict y) {
    T x = y[s];
    for (int i = from; i < n; i++) y[i] -= t_mul(l[i], x);
}

static void backward(int n, int s, int from, const T *restrict l, int conjugate, T *restrict y) {
    T sum = t_make(0, 0);
    for (int i = from; i < n; i++) sum += t_mul(conj_if(conjugate, l[i]), y[i]);
    y[s] -= sum;
}

/* y := D^-1 y; returns 1 for a zero pivot. */
static int divide(T d, T *y) {
    int zero = t_abs1(d) == 0;
    *y = zero ? t_make(0, 0) : t_mul(*y, t_inv(d));
    return zero;
}

static int llt(int n, int nrhs, const T *a, int64_t ld, int hermitian, T *y) {
    int zero = 0;
    for (int s = 0; s < n; s++)
        for (int r = 0; r < nrhs; r++) {
            zero |= divide(a[s + s * ld], &y[s + r * LD]);
            forward(n, s, s + 1, a + s * ld, y + r * LD);
        }
    for (int s = n - 1; s >= 0; s--)
        for (int r = 0; r < nrhs; r++) {
            backward(n, s, s + 1, a + s * ld, hermitian, y + r * LD);
            divide(a[s + s * ld], &y[s + r * LD]);
        }
    return zero;
}

static int divide_two(T d11, T d21, T d22, int hermitian, int nrhs, T *y) {
    FN(two) z = FN(two_invert)(d11, d21, d22, hermitian);
    for (int r = 0; r < nrhs; r++) {
        T y1 = y[r * LD], y2 = y[1 + r * LD];
        y[r * LD] = t_mul(z.i11, y1) + t_mul(z.i12, y2);
        y[1 + r * LD] = t_mul(z.i21, y1) + t_mul(z.i22, y2);
    }
    return !z.regular;
}

static int ldlt(int n, int nrhs, const T *a, int64_t ld, const int32_t *piv, int hermitian, T *y) {
    int zero = 0, below[LD]; /* the row at which each column of L begins */
    for (int s = 0; s < n; s++) {
        below[s] = s + 1;
        if (piv && piv[s] < 0 && s + 1 < n) below[s] = s + 2, below[s + 1] = s + 2, s++;
    }
    for (int s = 0; s < n; s++)
        for (int r = 0; r < nrhs; r++) forward(n, s, below[s], a + s * ld, y + r * LD);
    for (int s = 0; s < n; s++) {
        if (piv && piv[s] < 0 && s + 1 < n) {
            zero |= divide_two(a[s + s * ld], a[s + 1 + s * ld], a[s + 1 + (s + 1) * ld], hermitian,
                               nrhs, y + s);
            s++;
            continue;
        }
        for (int r = 0; r < nrhs; r++) zero |= divide(a[s + s * ld], &y[s + r * LD]);
    }
    for (int s = n - 1; s >= 0; s--)
        for (int r = 0; r < nrhs; r++) backward(n, s, below[s], a + s * ld, hermitian, y + r * LD);
    return zero;
}

static int ldu(int n, int nrhs, const T *a, int64_t ld, T *y) {
    int zero = 0;
    for (int s = 0; s < n; s++)
        for (int r = 0; r < nrhs; r++) {
            forward(n, s, s + 1, a + s * ld, y + r * LD);
            zero |= divide(a[s + s * ld], &y[s + r * LD]);
        }
    for (int s = n - 1; s > 0; s--)
        for (int r = 0; r < nrhs; r++)
            for (int i = 0; i < s; i++) y[i + r * LD] -= t_mul(a[i + s * ld], y[s + r * LD]);
    return zero;
}

static int place(const int32_t *piv, int k) {
    return !piv ? k : piv[k] < 0 ? ~piv[k] : piv[k];
}

static void all(mpk_batch_method method, int64_t count, int n, int nrhs, const T *a, int64_t ld,
                int64_t stride, const int32_t *piv, T *b, int64_t ldb, int64_t stride_b,
                int32_t *info, int hermitian, T *y) {
    const int width = method == MPK_BATCH_LDU ? 2 : 1;
    for (int64_t k = 0; k < count; k++) {
        const T *ak = a + k * stride;
        const int32_t *rows = piv ? piv + k * n * width : NULL;
        const int32_t *out = rows && width == 2 ? rows + n : rows;
        T *bk = b + k * stride_b, sum = t_make(0, 0);
        int zero = 0;
        for (int r = 0; r < nrhs; r++)
            for (int i = 0; i < n; i++) y[i + r * LD] = bk[place(rows, i) + r * ldb];
        if (method == MPK_BATCH_LLT)
            zero = llt(n, nrhs, ak, ld, hermitian, y);
        else if (method == MPK_BATCH_LDLT)
            zero = ldlt(n, nrhs, ak, ld, rows, hermitian, y);
        else
            zero = ldu(n, nrhs, ak, ld, y);
        for (int r = 0; r < nrhs; r++)
            for (int i = 0; i < n; i++) {
                sum += y[i + r * LD] * (R)0;
                bk[place(out, i) + r * ldb] = y[i + r * LD];
            }
        info[k * MPKI_BATCH_INFO] = t_abs1(sum) != 0 ? MPK_BATCH_NOT_FINITE
                                    : zero           ? MPK_BATCH_SINGULAR
                                                     : MPK_BATCH_OK;
    }
}

void ISA_FN(batch_llt_solve)(int64_t count, int n, int nrhs, const T *a, int64_t ld, int64_t stride,
                             const int32_t *piv, T *b, int64_t ldb, int64_t stride_b, int32_t *info,
                             int hermitian, T *work) {
    all(MPK_BATCH_LLT, count, n, nrhs, a, ld, stride, piv, b, ldb, stride_b, info, hermitian, work);
}
void ISA_FN(batch_ldlt_solve)(int64_t count, int n, int nrhs, const T *a, int64_t ld,
                              int64_t stride, const int32_t *piv, T *b, int64_t ldb,
                              int64_t stride_b, int32_t *info, int hermitian, T *work) {
    all(MPK_BATCH_LDLT, count, n, nrhs, a, ld, stride, piv, b, ldb, stride_b, info, hermitian,
        work);
}
void ISA_FN(batch_ldu_solve)(int64_t count, int n, int nrhs, const T *a, int64_t ld, int64_t stride,
                             const int32_t *piv, T *b, int64_t ldb, int64_t stride_b, int32_t *info,
                             int hermitian, T *work) {
    all(MPK_BATCH_LDU, count, n, nrhs, a, ld, stride, piv, b, ldb, stride_b, info, hermitian, work);
}
