/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_DENSE_METHODS_T_H
#define MPKI_CPU_DENSE_METHODS_T_H
/** What host.c calls in each precision: a table of methods and operations on vectors. */
#include "engines/interface/dense.h"

typedef struct mpki_host_methods {
    mpki_dense_method method[MPK_DENSE_COUNT];
    mpk_status (*largest)(mpki_dense_call *call, double *max, double *norm_inf);
    void (*convert)(int64_t rows, int64_t cols, mpk_scalar from, const void *src, int64_t lds,
                    void *dst, int64_t ldd, const double *scale);
    mpk_status (*axpy)(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *x,
                       int64_t ldx, void *y, int64_t ldy);
    mpk_status (*dot)(mpki_dense_call *call, int64_t cols, const void *x, int64_t ldx,
                      const void *y, int64_t ldy, double *result);
    mpk_status (*residual)(mpki_dense_call *call, int32_t nrhs, const void *x, int64_t ldx,
                           const void *b, int64_t ldb, void *r, int64_t ldr,
                           mpki_dense_error *error, char *work);
    int64_t (*residual_bytes)(const mpki_dense_call *call, int32_t nrhs);
} mpki_host_methods;

extern const mpki_host_methods mpki_s_host, mpki_d_host, mpki_c_host, mpki_z_host;

#endif
