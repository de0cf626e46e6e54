/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BACKEND_BATCH_H
#define MPKI_BACKEND_BATCH_H
/** What a place - the processor, a device - offers for batches of small matrices. batch/batch.c
 *  checks all arguments, finds the place by the memory that the operands lie in, and calls. */
#include "../batch/batch.h"

typedef struct mpki_batch_place {
    /** The call that the job describes: operands, pivots and results of the place's memory, or
     *  pivots and results in host memory. MPK_OK, MPK_SINGULAR, MPK_PARTIAL, or an error recorded
     *  with mpki_error() before anything was written (but MPK_ERR_DEVICE: kernels that fail). */
    mpk_status (*run)(mpk_context *ctx, mpki_batch_job *job);
} mpki_batch_place;

/** Of backends/cuda, where it is built (MPKI_HAVE_CUDA): its table, or NULL and MPK_ERR_DEVICE
 *  recorded: no driver, no such device, ... */
const mpki_batch_place *mpki_cuda_batch_place(mpk_context *ctx, int device);

#endif
