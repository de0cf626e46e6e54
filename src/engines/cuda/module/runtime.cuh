/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_RUNTIME_CUH
#define MPKI_CUDA_MODULE_RUNTIME_CUH
/** The device as the module holds it; errors of CUDA and cuBLAS turned into statuses. */
#include "api.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

static const int MPKI_RING = 4, MPKI_KNOWN = 64;

struct mpki_cuda {
    int device, sms;
    int capability;    /* 90 for 9.0 */
    int code;          /* what the kernels that run here were compiled for, 80 for compute_80 */
    size_t shared_max; /* bytes of shared memory a thread block may ask for */
    /* panels (high priority), trailing updates, copies beside them */
    cudaStream_t panel, update, side;
    cudaStream_t sparse; /* all engines for sparse matrices queue here, one after the other */
    cublasHandle_t panel_blas, update_blas;
    cudaEvent_t panel_done[MPKI_RING], update_done[MPKI_RING], side_done[MPKI_RING], fork, join;
    double *partial, *partial_host; /* see scratch() */
    int64_t partial_count;
    void *sums; /* device: partial sums of norms */
    int64_t sums_bytes;
    int *pinned; /* page-locked, for what the host reads while the device works */
    /* for batches: memory for the lists of a call, its last user (an event and its stream), and
     * flags that kernels set */
    void *batch_memory;
    int64_t batch_bytes;
    cudaEvent_t batch_done;
    cudaStream_t batch_stream;
    int *batch_flags; /* page-locked */
    cublasHandle_t batch_blas;
    /* for vectors of Krylov methods: page-locked, what reductions report; how many there were */
    void *vectors_report;
    double vectors_sequence;
    void *vectors_marks[4];    /* cudaEvent_t */
    void *multifrontal_report; /* page-locked: an mpki_cuda_report */
    int32_t ticket;            /* number of the last report that the host waited for */
    /* for factors on blocks: two halves of page-locked memory through which values are sent */
    void *blocks_half[2];
    cudaEvent_t blocks_sent[2];
    /* of a multiprocessor: bytes of shared memory, thread blocks that it holds */
    size_t shared_all;
    int blocks_most;
    /* of the driver's interface, NULL where it cannot be had; a kernel as it knows it, kept by the
     * address that the runtime knows it by (launch.cuh) */
    int (*driver_launch)(void *kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned bytes, void *stream, void **parameters, void **extra);
    int (*driver_pointer)(unsigned count, int *what, void **values, unsigned long long address);
    struct {
        const void *ours;
        void *theirs;
    } known[MPKI_KNOWN];
    char text[512];
    cudaMemPool_t pool;   /* memory of engines for sparse matrices; NULL: the device has none */
    cudaEvent_t followed; /* of a caller's stream; NULL: none was followed yet */
    mpki_cuda_allocator allocator; /* without functions: CUDA */
    struct mpki_cuda_block {       /* what alloc and take have given out and not got back */
        void *ptr;
        size_t size;
    } * held;
    int64_t held_count, held_most;
};

namespace mpki {

/** Record what failed and where; returns the status that stands for it. */
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
        mpk_status mpki_status_ = (mpk_status)(call);                                              \
        if (mpk_failed(mpki_status_)) return mpki_status_;                                         \
    } while (0)

/** Work on this runtime's device: asking is cheaper than setting. */
inline cudaError_t be_on_device(mpki_cuda *cuda) {
    int current = -1;
    if (!cudaGetDevice(&current) && current == cuda->device) return cudaSuccess;
    return cudaSetDevice(cuda->device);
}

} // namespace mpki

/** `count` doubles of device memory for partial results, and the same on the host, page-locked;
 *  they live with the runtime. */
namespace mpki {
mpk_status scratch(mpki_cuda *cuda, int64_t count, double **device, double **host);
}

/* the templated files' tables, s d c z */
extern const mpki_cuda_entries mpki_s_cuda_entries, mpki_d_cuda_entries, mpki_c_cuda_entries,
    mpki_z_cuda_entries;

#endif
