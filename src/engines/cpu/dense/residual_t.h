/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_DENSE_RESIDUAL_T_H
#define MPKI_CPU_DENSE_RESIDUAL_T_H
/** Residuals from one triangle of a matrix, with |A| |x|; sums are in double in every precision. */
#include "host.h"

#include <math.h>

#define PARTS (MPKI_COMPLEX ? 2 : 1)

/** engines/interface/dense.h: residual; one column by one pass over A, more by products. */
mpk_status FN(dense_residual)(mpki_dense_call *call, int32_t nrhs, const void *x, int64_t ldx,
                              const void *b, int64_t ldb, void *r, int64_t ldr,
                              mpki_dense_error *error, char *work);
int64_t FN(dense_residual_bytes)(const mpki_dense_call *call, int32_t nrhs);

/** Of one column. *error: omega and r_inf become the larger of what they are and this column's;
 *  r_inf is infinite where numbers are far from 1. */
void FN(dense_residual_one)(const mpki_dense_call *call, const T *x, const T *b, T *r,
                            mpki_dense_error *error, char *work);
int64_t FN(dense_residual_one_bytes)(const mpki_dense_call *call);

/** The parts of Y -= A X that are in double whatever the precision; made for doubles alone.
 *  a rows x depth, ld apart; packed depth x cols, slivers of `sliver` columns; y rows x cols,
 *  overwritten with -A X where first. Both are double, or double complex. */
void mpki_d_wide_product(int64_t rows, int cols, int depth, const void *a, int64_t lda,
                         const void *packed, void *y, int64_t ldy, bool first);
void mpki_z_wide_product(int64_t rows, int cols, int depth, const void *a, int64_t lda,
                         const void *packed, void *y, int64_t ldy, bool first);
int mpki_d_wide_sliver(void);
int mpki_z_wide_sliver(void);

/* |x|; by hypot, which costs ten times as much, only where squares leave the range */
static inline double FN(modulus)(T x) {
#if MPKI_COMPLEX
    const double re = fabs((double)t_re(x)), im = fabs((double)t_im(x)), most = re > im ? re : im;
    if (most < 1e150 && most > 1e-150) return sqrt(re * re + im * im);
#endif
    return (double)t_abs(x);
}

static inline void FN(add)(double *sum, T a, T x) {
    sum[0] += (double)t_re(a) * (double)t_re(x) - (double)t_im(a) * (double)t_im(x);
    if (MPKI_COMPLEX)
        sum[PARTS - 1] += (double)t_re(a) * (double)t_im(x) + (double)t_im(a) * (double)t_re(x);
}

#endif
