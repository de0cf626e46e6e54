/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_INVERSE_H
#define MPKI_INTERFACE_INVERSE_H
/** Approximate inverses of a matrix (metapack/isai.h) as a device offers them: isai/ has the
 *  processor's and calls this where the matrix lies on a device. What holds for every slot stands
 *  in engine.h. */
#include "core/core.h"
#include <metapack/isai.h>

typedef struct mpki_inverse mpki_inverse; /* an engine's approximate inverse */

typedef struct mpki_inverse_engine {
    /** As mpk_isai_create(), and so are the others; scalars, n, ptr != NULL, and the options have
     *  been checked, but not what arrays hold. Arrays and vectors lie in host or in device memory,
     *  each as it may be. *s is NULL after a failure */
    mpk_status (*make)(mpk_context *ctx, mpk_scalar scalar, int32_t n, const int64_t *ptr,
                       const int32_t *row, const void *val, const mpk_isai_options *options,
                       mpki_inverse **s);
    mpk_status (*update)(mpk_context *ctx, const void *val, mpki_inverse *s);
    mpk_status (*apply)(mpk_context *ctx, mpki_inverse *s, mpk_isai_side side, int32_t nrhs,
                        const void *b, int64_t ldb, void *x, int64_t ldx);
    mpk_status (*get)(mpk_context *ctx, mpki_inverse *s, int64_t *ptr, int32_t *row, void *val);
    const mpk_isai_info *(*info)(const mpki_inverse *s);
    /** NULL *s is fine. */
    void (*free)(mpk_context *ctx, mpki_inverse **s);
} mpki_inverse_engine;

/** The device's, where the build has one (MPKI_HAVE_CUDA). NULL, with MPK_ERR_DEVICE and the reason
 *  recorded: no module, no driver, no such device, or the context has another one open. */
const mpki_inverse_engine *mpki_cuda_inverse_engine(mpk_context *ctx, int device);

#endif
