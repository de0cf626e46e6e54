/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_BATCH_H
#define MPKI_INTERFACE_BATCH_H
/** What a device's engine offers for batches of small matrices. batch/batch.c checks all arguments,
 *  chooses the engine by the memory that the operands lie in, and calls; what the processor does is
 *  batch/ itself.
 *
 *  Arrays lie in the device's memory, laid out as their mpk_batch_array says; pivots and results in
 *  batch.pivots_memory and batch.results_memory. A call works in batch.stream and returns when its
 *  results are there, unless batch.asynchronous. One thread at a time for each context. */
#include "core/core.h"
#include <metapack/batch.h>

/** A verb of metapack/batch.h with its arguments: a product where `product` is given, else a solve
 *  where b is, else a factorization. */
typedef struct mpki_batch_call {
    mpk_batch batch;                      /* checked; fields that the caller lacked have defaults */
    mpk_batch_method method;              /* of the factorization, or of the factors of a solve */
    const mpk_batch_array *a, *b, *c, *d; /* as the verb has them; NULL: none */
    const mpk_batch_product *product;     /* NULL: no product */
    int32_t *pivots;                      /* NULL: none; only read in solves */
    int32_t nrhs;                         /* of a solve */
    mpk_batch_results results;            /* pointers may be NULL */
} mpki_batch_call;

typedef struct mpki_batch_engine {
    /** Returns MPK_OK | MPK_SINGULAR, MPK_PARTIAL: as the verbs do | MPK_ERR_ARGUMENT, _SIZE,
     *  _MEMORY, _DEVICE, recorded with mpki_error(). Nothing was written then, but by kernels that
     *  fail on the way (MPK_ERR_DEVICE). */
    mpk_status (*run)(mpk_context *ctx, const mpki_batch_call *call);
} mpki_batch_engine;

/** The engine of a CUDA device, where the build has one (MPKI_HAVE_CUDA). NULL, with MPK_ERR_DEVICE
 *  and the reason recorded: no module, no driver, no such device. */
const mpki_batch_engine *mpki_cuda_batch_engine(mpk_context *ctx, int device);

#endif
