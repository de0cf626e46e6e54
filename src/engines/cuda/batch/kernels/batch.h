/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_BATCH_H
#define MPKI_CUDA_BATCH_BATCH_H
/** Batches of small matrices on the device: what libmetapack asks of its CUDA module. Plain C. All
 *  pointers lie in device memory; arguments have been checked. */
#include "engines/cuda/module/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** mpk_batch_array of a device. data NULL: none. */
typedef struct mpki_cuda_operand {
    void *data;
    int64_t stride;
    int32_t ld, width, layout;
} mpki_cuda_operand;

enum { MPKI_CUDA_FACTORIZE = 0, MPKI_CUDA_SOLVE = 1, MPKI_CUDA_PRODUCT = 2 };

/** Matrices of one order: places first .. first + count - 1 of the order (or of the batch). */
typedef struct mpki_cuda_bin {
    int64_t first, count;
    int32_t n;
} mpki_cuda_bin;

/** A call. Numbers of methods and pivotings are those of metapack/batch.h. */
typedef struct mpki_cuda_batch {
    mpk_scalar scalar;
    int32_t verb, method, pivoting, hermitian;
    int32_t n; /**< the largest order: strides of pivots */
    int64_t count;
    int32_t kernels;       /**< mpk_batch_kernels */
    double zero_tolerance; /**< relative; < 0: 4 n eps of each order */
    mpki_cuda_operand a, b, c, d;
    int32_t nrhs;
    int32_t rows, cols, inner, transpose_b; /**< product: m, n, k */
    double alpha, beta;
    const int32_t *sizes;       /**< product: NULL, or m, n, k of each */
    const int32_t *order;       /**< NULL, or the matrix at each place */
    int32_t *pivots;            /**< NULL: none */
    int32_t *outcome, *inertia; /**< may be NULL */
    const mpki_cuda_bin *bin;   /**< host; factorize, solve */
    int32_t bins;
    int32_t wait; /**< return when all is done; singular and failed are set then */
    void *stream;
    int32_t singular, failed; /**< [out] some matrices were singular, have no result */
} mpki_cuda_batch;

typedef struct mpki_cuda_batch_table {
    /** `bytes` of device memory, 256-aligned, kept with the runtime: what a call may use from now
     *  on in `stream`, after all that calls before it do with it. */
    int (*memory)(mpki_cuda *cuda, int64_t bytes, void *stream, void **ptr);
    int (*run)(mpki_cuda *cuda, mpki_cuda_batch *batch);
    /** Another stream may use the memory when the work queued so far is done. */
    int (*done)(mpki_cuda *cuda, void *stream);
} mpki_cuda_batch_table;

extern const mpki_cuda_batch_table mpki_cuda_batches;

#ifdef __cplusplus
}
#endif
#endif
