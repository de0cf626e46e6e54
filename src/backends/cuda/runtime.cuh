/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_RUNTIME_CUH
#define MPKI_CUDA_RUNTIME_CUH
/** The device as the module holds it, and errors of CUDA and cuBLAS as statuses. */
#include "api.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

static const int MPKI_RING = 4;

struct mpki_cuda {
    int device, sms;
    size_t shared_max; /* bytes of shared memory a thread block may ask for */
    /* panels (high priority), trailing updates, copies beside them */
    cudaStream_t panel, update, side;
    cublasHandle_t panel_blas, update_blas;
    cudaEvent_t panel_done[MPKI_RING], update_done[MPKI_RING], side_done[MPKI_RING], fork, join;
    int *pinned; /* page-locked, for what the host reads while the device works */
    char text[512];
};

namespace mpki {

/** Records what failed and where; the status it maps to. */
mpk_status fail(mpki_cuda *cuda, cudaError_t error, const char *what);
mpk_status fail(mpki_cuda *cuda, cublasStatus_t error, const char *what);
mpk_status refuse(mpki_cuda *cuda, mpk_status status, const char *format, ...);

#define MPKI_TRY(call)                                                                             \
    do {                                                                                           \
        auto mpki_error_ = (call);                                                                 \
        if (mpki_error_) return mpki::fail(cuda, mpki_error_, #call);                              \
    } while (0)
#define MPKI_PASS(call)                                                                            \
    do {                                                                                           \
        int mpki_status_ = (call);                                                                 \
        if (mpki_status_ < 0) return (mpk_status)mpki_status_;                                     \
    } while (0)

} // namespace mpki

/* the templated files' entries, s d c z */
#define MPKI_CUDA_DECLARE(letter)                                                                  \
    int mpki_##letter##_cuda_factorize(mpki_cuda *cuda, mpki_cuda_dense *d);                       \
    int mpki_##letter##_cuda_workspace(mpki_cuda *cuda, const mpki_cuda_dense *d, int64_t nrhs,    \
                                       int64_t *bytes);                                            \
    int mpki_##letter##_cuda_solve(mpki_cuda *cuda, const mpki_cuda_dense *d, int nrhs, void *B,   \
                                   int64_t ldb);
MPKI_CUDA_DECLARE(s)
MPKI_CUDA_DECLARE(d)
MPKI_CUDA_DECLARE(c)
MPKI_CUDA_DECLARE(z)

#endif
