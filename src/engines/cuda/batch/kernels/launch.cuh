/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_LAUNCH_CUH
#define MPKI_CUDA_BATCH_LAUNCH_CUH
/** Launches of batched kernels, and the parts of their table. */
#include "engines/cuda/module/launch.cuh"
#include "batch.h"

namespace mpki {
struct part;
struct product_part;
} // namespace mpki

/** Launch of a factorization that borgc made: strided, or by pointers. */
typedef mpk_status (*mpki_emitted)(mpki_cuda *cuda, const mpki::part &job, void *stream);
typedef mpk_status (*mpki_emitted_product)(mpki_cuda *cuda, const mpki::product_part &job,
                                           void *stream);
#define MPKI_EMITTED_KEY(method, pivoting, n) (((method)*8 + (pivoting)) * 128 + (n))

/** One bin of a factorization or a solve, or a whole product, of this kind of entries. flags: see
 *  part::report(). */
#define MPKI_CUDA_BATCH_RUN(p)                                                                     \
    mpk_status mpki_##p##_cuda_batch_bin(mpki_cuda *cuda, const mpki_cuda_batch *batch,            \
                                         const mpki_cuda_bin *bin, int32_t *flags);                \
    /* are there kernels of batch->kernels for this bin of a factorization? */                     \
    bool mpki_##p##_cuda_batch_has(const mpki_cuda_batch *batch, const mpki_cuda_bin *bin);        \
    mpk_status mpki_##p##_cuda_batch_product(mpki_cuda *cuda, const mpki_cuda_batch *batch);       \
    /* the one for this order, or NULL */                                                          \
    mpki_emitted mpki_##p##_cuda_emitted(int method, int pivoting, int n);                         \
    /* the one for matrices that lie one after the other, aligned to 16 bytes, or NULL */          \
    mpki_emitted mpki_##p##_cuda_emitted_packed(int method, int pivoting, int n);                  \
    mpki_emitted_product mpki_##p##_cuda_emitted_product(int n);
MPKI_CUDA_BATCH_RUN(s)
MPKI_CUDA_BATCH_RUN(d)
MPKI_CUDA_BATCH_RUN(c)
MPKI_CUDA_BATCH_RUN(z)

#endif
