/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches: the memory that calls share, and a call, which runs its bins one after the other. */
#include "launch.cuh"

using namespace mpki;

/* Kernels of another stream may still use the room: this stream waits for them, on the device. */
static mpk_status follow(mpki_cuda *cuda, cudaStream_t stream) {
    if (!cuda->batch_done)
        MPKI_TRY(cudaEventCreateWithFlags(&cuda->batch_done, cudaEventDisableTiming));
    else if (cuda->batch_stream != stream)
        MPKI_TRY(cudaStreamWaitEvent(stream, cuda->batch_done, 0));
    cuda->batch_stream = stream;
    return MPK_OK;
}

static int reserve(mpki_cuda *cuda, int64_t bytes, void *stream, void **ptr) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    *ptr = NULL;
    if (bytes > cuda->batch_bytes) {
        if (cuda->batch_memory) cudaFree(cuda->batch_memory); /* waits for all that uses it */
        cuda->batch_memory = NULL;
        cuda->batch_bytes = 0;
        bytes = bytes / 4 * 5;
        const cudaError_t error = cudaMalloc(&cuda->batch_memory, (size_t)bytes);
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            return refuse(cuda, MPK_ERR_MEMORY, "%lld bytes of device memory were asked for",
                          (long long)bytes);
        }
        MPKI_TRY(error);
        cuda->batch_bytes = bytes;
    }
    MPKI_PASS(follow(cuda, (cudaStream_t)stream));
    *ptr = cuda->batch_memory;
    return MPK_OK;
}

static int done(mpki_cuda *cuda, void *stream) {
    MPKI_TRY(cudaEventRecord(cuda->batch_done, (cudaStream_t)stream));
    return MPK_OK;
}

typedef mpk_status (*bin_fn)(mpki_cuda *, const mpki_cuda_batch *, const mpki_cuda_bin *,
                             int32_t *);
typedef bool (*has_fn)(const mpki_cuda_batch *, const mpki_cuda_bin *);
typedef mpk_status (*product_fn)(mpki_cuda *, const mpki_cuda_batch *);
static const bin_fn bins[] = {mpki_s_cuda_batch_bin, mpki_d_cuda_batch_bin, mpki_c_cuda_batch_bin,
                              mpki_z_cuda_batch_bin};
static const has_fn has[] = {mpki_s_cuda_batch_has, mpki_d_cuda_batch_has, mpki_c_cuda_batch_has,
                             mpki_z_cuda_batch_has};
static const product_fn products[] = {mpki_s_cuda_batch_product, mpki_d_cuda_batch_product,
                                      mpki_c_cuda_batch_product, mpki_z_cuda_batch_product};

/* Are there the kernels that were asked for, of each order? A matrix of order 0 needs none. */
static mpk_status check_kernels(mpki_cuda *cuda, const mpki_cuda_batch *batch) {
    for (int32_t k = 0; k < batch->bins; ++k)
        if (batch->bin[k].count > 0 && batch->bin[k].n > 0 &&
            !has[batch->scalar](batch, &batch->bin[k]))
            return refuse(cuda, MPK_ERR_UNSUPPORTED,
                          "no kernels of the kind that was asked for (%d) at order %d, for this "
                          "method, pivoting and layout",
                          (int)batch->kernels, (int)batch->bin[k].n);
    return MPK_OK;
}

/* A kernel writes to page-locked memory of the host only when a matrix is singular or has no
 * result: where all goes well nothing is cleared or copied. */
static int run(mpki_cuda *cuda, mpki_cuda_batch *batch) {
    int32_t *flags = NULL;
    MPKI_TRY(be_on_device(cuda));
    if (batch->kernels) MPKI_PASS(check_kernels(cuda, batch));
    if (batch->wait && batch->verb != MPKI_CUDA_PRODUCT) {
        if (!cuda->batch_flags) MPKI_TRY(cudaMallocHost((void **)&cuda->batch_flags, 64));
        flags = cuda->batch_flags;
        flags[0] = flags[1] = 0;
    }
    if (batch->verb == MPKI_CUDA_PRODUCT) {
        MPKI_PASS(products[batch->scalar](cuda, batch));
    } else {
        for (int32_t k = 0; k < batch->bins; ++k)
            if (batch->bin[k].count > 0)
                MPKI_PASS(bins[batch->scalar](cuda, batch, &batch->bin[k], flags));
    }
    if (!batch->wait) return MPK_OK;
    MPKI_TRY(cudaStreamSynchronize((cudaStream_t)batch->stream));
    if (flags) batch->singular = flags[0], batch->failed = flags[1];
    return MPK_OK;
}

const mpki_cuda_batch_table mpki_cuda_batches = {reserve, run, done};
