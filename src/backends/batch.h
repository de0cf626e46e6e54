/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BACKEND_BATCH_H
#define MPKI_BACKEND_BATCH_H
/** What a device offers for batches of small matrices. batch/batch.c checks all arguments, finds
 * the place by the memory that the operands lie in, and calls; the processor's part is batch/
 * itself. */
#include "../core/core.h"
#include <metapack/batch.h>

/** A verb of metapack/batch.h with its arguments. A product: `product` is given; a solve: b. */
typedef struct mpki_batch_call {
    mpk_batch batch; /* full */
    mpk_batch_method method;
    const mpk_batch_array *a, *b, *c, *d; /* in the device's memory; NULL: none */
    const mpk_batch_product *product;
    int32_t *pivots; /* NULL: none; in solves only read */
    int32_t nrhs;
    mpk_batch_results results; /* pointers may be NULL */
} mpki_batch_call;

typedef struct mpki_batch_place {
    /** MPK_OK, MPK_SINGULAR, MPK_PARTIAL, or an error recorded with mpki_error() before anything
     * was written (but MPK_ERR_DEVICE: kernels that fail). */
    mpk_status (*run)(mpk_context *ctx, const mpki_batch_call *call);
} mpki_batch_place;

/** Of backends/cuda, where it is built (MPKI_HAVE_CUDA): its table, or NULL and MPK_ERR_DEVICE
 *  recorded: no driver, no such device, ... */
const mpki_batch_place *mpki_cuda_batch_place(mpk_context *ctx, int device);

#endif
