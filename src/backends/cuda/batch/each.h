/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_EACH_H
#define MPKI_CUDA_BATCH_EACH_H
/** LDLT with pivoting, a real matrix in each thread (each.cuh): of matrices, and pivots, that lie one after the other. */
#include "launch.cuh"

#define MPKI_CUDA_EACH(p)                                                                          \
    /* the one for this order, or NULL */                                                          \
    mpki_emitted mpki_##p##_cuda_each(int method, int pivoting, int n);
MPKI_CUDA_EACH(s)
MPKI_CUDA_EACH(d)

#endif
