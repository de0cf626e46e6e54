/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_REFINE_H
#define MPKI_CUDA_REFINE_H
/** Residuals and backward errors on the device. Plain C. */
#include "../api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Errors of one solution, in device memory while they are formed. Moduli are kept as the bits of doubles
 *  that are not negative, whose order is that of integers: NaN is the largest of all. */
typedef struct mpki_cuda_errors {
    unsigned long long x_norm, b_norm, r_norm,
        norm_inf;                      /**< largest entries; largest row sum of |A| */
    unsigned long long omega1, omega2; /**< Arioli, Demmel & Duff 1989, eq. 2.13 */
    unsigned long long odd;            /**< not 0: a row's numbers are near the ends of the range */
    double r2, b2; /**< sums of squares of r and b, each entry divided by b_norm */
} mpki_cuda_errors;

/** A by rows, in both triangles, as places in ax: a row's own entries and those from the other
 *  triangle. All in device memory. */
typedef struct mpki_cuda_refine {
    int32_t n;
    int hermitian;
    const int64_t *ptr; /**< n + 1 */
    const int32_t *col; /**< ptr[n] */
    const int32_t *src; /**< ptr[n]: entry of ax; ~entry: from the other triangle, conjugated where
                             Hermitian */
    const void *ax;
    double *partial; /**< 2 for each block: MPKI_CUDA_REFINE_ROWS rows */
    mpki_cuda_errors *errors;
} mpki_cuda_refine;

enum { MPKI_CUDA_REFINE_ROWS = 8 };

/** For one kind of entries; all vectors n long, in device memory. */
typedef struct mpki_cuda_refine_kind {
    /** r := b - A x with sums in twice the precision of double, and the errors, to host memory.
     *  tiny [in] 1000 n u: below that share of ||A_i|| ||x|| + |b_i| a row's denominator counts as 0
     *  r may be neither x nor b */
    int (*measure)(mpki_cuda *cuda, const mpki_cuda_refine *a, double tiny, const void *x,
                   const void *b, void *r, mpki_cuda_errors *out);
    /** x := x + d */
    int (*add)(mpki_cuda *cuda, int32_t n, const void *d, void *x);
    /** to := from */
    int (*move)(mpki_cuda *cuda, int32_t n, const void *from, void *to);
} mpki_cuda_refine_kind;

extern const mpki_cuda_refine_kind mpki_s_cuda_refine, mpki_d_cuda_refine, mpki_c_cuda_refine,
    mpki_z_cuda_refine;

#ifdef __cplusplus
}
#endif
#endif
