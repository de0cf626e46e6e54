/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with A, residuals and row sums by its columns, in one precision: of the lower triangle,
 * or all of a general matrix. */
#include "product.h"
#include "../engines/cpu/isa/cpu.h"

#include <string.h>

static void multiply_general(const mpk_problem_view *a, const T *x, T *y) {
    const T *ax = a->ax;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) y[a->ai[k]] += t_mul(ax[k], x[j]);
}

/* y = A x: each stored entry serves its column (scatter) and, mirrored, its row (gather). */
static void multiply(const mpk_problem_view *a, const void *xv, void *yv) {
    const T *ax = a->ax, *x = xv;
    T *y = yv;
    const bool hermitian = a->symmetry == MPK_HERMITIAN;
    memset(y, 0, (size_t)a->n * sizeof *y);
    if (a->symmetry == MPK_GENERAL) {
        multiply_general(a, x, y);
        return;
    }
    for (int32_t j = 0; j < a->n; j++) {
        const T xj = x[j];
        T sum = 0;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            if (i != j) y[i] += t_mul(ax[k], xj);
            sum += t_mul(i != j ? conj_if(hermitian, ax[k]) : ax[k], x[i]);
        }
        y[j] += sum;
    }
}

/* Moduli in double, so that float entries do not overflow; hypot() only where squares might. */
static inline double modulus(T x) {
#if MPKI_COMPLEX
    const double re = t_re(x), im = t_im(x), square = re * re + im * im;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(re, im);
#else
    return fabs((double)x);
#endif
}

static void residual(const mpk_problem_view *a, const void *x, const void *b, void *r, double *w,
                     double *work) {
    if (a->symmetry == MPK_GENERAL)
        FN(cpu_kernels)()->residual_columns(a->n, a->ap, a->ai, a->ax, x, b, r, w, work);
    else
        FN(cpu_kernels)
    ()->residual(a->n, a->ap, a->ai, a->ax, a->symmetry == MPK_HERMITIAN, x, b, r, w, work);
}

static void row_sums(const mpk_problem_view *a, int32_t begin, int32_t end, double *sums) {
    const T *ax = a->ax;
    const bool general = a->symmetry == MPK_GENERAL;
    for (int32_t j = begin; j < end; j++) {
        double sum = 0;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            double m = modulus(ax[k]);
            if (i != j || general) sums[i] += m;
            sum += m;
        }
        if (!general) sums[j] += sum;
    }
}

const mpki_product_table FN(product) = {multiply, residual, row_sums};
