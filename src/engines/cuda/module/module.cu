/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's table: opens a device, gives it memory, copies. The verbs are in dense/ and
 * batch/. */
#include "runtime.cuh"

#include "engines/cuda/batch/kernels/batch.h"
#include "engines/cuda/dense/kernels/pivots.cuh"

#include <mutex>
#include <new>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* rooms that were left out of a build (METAPACK_CUDA_ROOMS, bench/device-dense) are NULL */
extern const mpki_cuda_entries mpki_s_cuda_entries __attribute__((weak));
extern const mpki_cuda_entries mpki_d_cuda_entries __attribute__((weak));
extern const mpki_cuda_entries mpki_c_cuda_entries __attribute__((weak));
extern const mpki_cuda_entries mpki_z_cuda_entries __attribute__((weak));
extern "C" const mpki_cuda_batch_table mpki_cuda_batches __attribute__((weak));
extern "C" const struct mpki_cuda_vectors_table mpki_cuda_vectors_functions __attribute__((weak));
extern "C" const struct mpki_cuda_blocks_table mpki_cuda_blocks_functions __attribute__((weak));
extern "C" const struct mpki_cuda_sweeps_table mpki_cuda_sweeps_functions __attribute__((weak));
extern "C" const struct mpki_cuda_isai_table mpki_cuda_isai_functions __attribute__((weak));
extern "C" const struct mpki_cuda_direct_table mpki_cuda_direct_functions __attribute__((weak));
extern "C" const struct mpki_cuda_accelerator_table mpki_cuda_accelerator_functions
    __attribute__((weak));
extern "C" const struct mpki_cuda_systems_table mpki_cuda_systems_functions __attribute__((weak));

namespace mpki {

static mpk_status status_of(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? MPK_ERR_MEMORY : MPK_ERR_DEVICE;
}

mpk_status fail(mpki_cuda *cuda, cudaError_t error, const char *what) {
    snprintf(cuda->text, sizeof cuda->text, "CUDA: %s (%s): %s", cudaGetErrorString(error),
             cudaGetErrorName(error), what);
    cudaGetLastError();
    return status_of(error);
}

mpk_status fail(mpki_cuda *cuda, cublasStatus_t error, const char *what) {
    snprintf(cuda->text, sizeof cuda->text, "cuBLAS: %s: %s", cublasGetStatusName(error), what);
    return error == CUBLAS_STATUS_ALLOC_FAILED ? MPK_ERR_MEMORY : MPK_ERR_DEVICE;
}

mpk_status refuse(mpki_cuda *cuda, mpk_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(cuda->text, sizeof cuda->text, format, list);
    va_end(list);
    return status;
}

mpk_status scratch(mpki_cuda *cuda, int64_t count, double **device, double **host) {
    if (count > cuda->partial_count) {
        if (cuda->partial) cudaFree(cuda->partial);
        if (cuda->partial_host) cudaFreeHost(cuda->partial_host);
        cuda->partial = cuda->partial_host = NULL;
        cuda->partial_count = 0;
        MPKI_TRY(cudaMalloc((void **)&cuda->partial, sizeof(double) * count));
        MPKI_TRY(cudaMallocHost((void **)&cuda->partial_host, sizeof(double) * count));
        cuda->partial_count = count;
    }
    *device = cuda->partial, *host = cuda->partial_host;
    return MPK_OK;
}

static void destroy(mpki_cuda *cuda) {
    if (!cuda) return;
    for (int i = 0; i < MPKI_RING; ++i) {
        if (cuda->panel_done[i]) cudaEventDestroy(cuda->panel_done[i]);
        if (cuda->update_done[i]) cudaEventDestroy(cuda->update_done[i]);
        if (cuda->side_done[i]) cudaEventDestroy(cuda->side_done[i]);
    }
    if (cuda->fork) cudaEventDestroy(cuda->fork);
    if (cuda->join) cudaEventDestroy(cuda->join);
    if (cuda->panel_blas) cublasDestroy(cuda->panel_blas);
    if (cuda->update_blas) cublasDestroy(cuda->update_blas);
    if (cuda->panel) cudaStreamDestroy(cuda->panel);
    if (cuda->update) cudaStreamDestroy(cuda->update);
    if (cuda->side) cudaStreamDestroy(cuda->side);
    if (cuda->pool) cudaMemPoolDestroy(cuda->pool);
    if (cuda->followed) cudaEventDestroy(cuda->followed);
    free(cuda->held);
    if (cuda->sparse) cudaStreamDestroy(cuda->sparse);
    if (cuda->pinned) cudaFreeHost(cuda->pinned);
    if (cuda->partial) cudaFree(cuda->partial);
    if (cuda->partial_host) cudaFreeHost(cuda->partial_host);
    if (cuda->sums) cudaFree(cuda->sums);
    if (cuda->batch_blas) cublasDestroy(cuda->batch_blas);
    if (cuda->batch_done) cudaEventDestroy(cuda->batch_done);
    if (cuda->batch_memory) cudaFree(cuda->batch_memory);
    if (cuda->batch_flags) cudaFreeHost(cuda->batch_flags);
    if (cuda->vectors_report) cudaFreeHost(cuda->vectors_report);
    if (cuda->multifrontal_report) cudaFreeHost(cuda->multifrontal_report);
    for (void *mark : cuda->vectors_marks)
        if (mark) cudaEventDestroy((cudaEvent_t)mark);
    for (int i = 0; i < 2; ++i) {
        if (cuda->blocks_half[i]) cudaFreeHost(cuda->blocks_half[i]);
        if (cuda->blocks_sent[i]) cudaEventDestroy(cuda->blocks_sent[i]);
    }
    delete cuda;
}

/** What the driver takes of the module for this GPU: one of its machine codes, or PTX. */
static mpk_status find_code(mpki_cuda *cuda) {
    cudaFuncAttributes found;
    const cudaError_t error = cudaFuncGetAttributes(&found, pivots_out_kernel);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion ||
        error == cudaErrorInvalidDeviceFunction) {
        cudaGetLastError();
        return refuse(cuda, MPK_ERR_DEVICE,
                      "CUDA device %d has compute capability %d.%d, for which this module has no "
                      "code (METAPACK_CUDA_ARCHITECTURES), or too new a one for the driver (%s)",
                      cuda->device, cuda->capability / 10, cuda->capability % 10,
                      cudaGetErrorName(error));
    }
    MPKI_TRY(error);
    cuda->code = found.ptxVersion;
    return MPK_OK;
}

/** A function of the driver's interface as it was in CUDA 12.0, or NULL. */
static void *of_driver(const char *name) {
    void *found = NULL;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (error) cudaGetLastError();
    return error || result != cudaDriverEntryPointSuccess ? NULL : found;
}

/** A part of the device's memory that a pool keeps where nobody uses it. */
static const size_t KEPT = 32;

static mpk_status make_pool(mpki_cuda *cuda) {
    int there = 0;
    size_t available = 0, all = 0;
    cudaMemPoolProps how = {};
    MPKI_TRY(cudaDeviceGetAttribute(&there, cudaDevAttrMemoryPoolsSupported, cuda->device));
    if (!there) return MPK_OK;
    MPKI_TRY(cudaMemGetInfo(&available, &all));
    unsigned long long keep = all / KEPT;
    how.allocType = cudaMemAllocationTypePinned;
    how.location.type = cudaMemLocationTypeDevice;
    how.location.id = cuda->device;
    MPKI_TRY(cudaMemPoolCreate(&cuda->pool, &how));
    MPKI_TRY(cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return MPK_OK;
}

/** Bytes that the pool keeps though nobody uses them. */
static int64_t idle(mpki_cuda *cuda) {
    unsigned long long held = 0, used = 0;
    if (!cuda->pool) return 0;
    if (cudaMemPoolGetAttribute(cuda->pool, cudaMemPoolAttrReservedMemCurrent, &held) ||
        cudaMemPoolGetAttribute(cuda->pool, cudaMemPoolAttrUsedMemCurrent, &used)) {
        cudaGetLastError();
        return 0;
    }
    return held > used ? (int64_t)(held - used) : 0;
}

static mpk_status prepare(mpki_cuda *cuda) {
    int low, high, value;
    MPKI_TRY(cudaSetDevice(cuda->device));
    cuda->driver_launch = (decltype(cuda->driver_launch))of_driver("cuLaunchKernel");
    cuda->driver_pointer = (decltype(cuda->driver_pointer))of_driver("cuPointerGetAttributes");
    MPKI_PASS(find_code(cuda));
    MPKI_TRY(cudaDeviceGetAttribute(&cuda->sms, cudaDevAttrMultiProcessorCount, cuda->device));
    MPKI_TRY(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, cuda->device));
    cuda->shared_max = (size_t)value;
    MPKI_TRY(
        cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, cuda->device));
    cuda->shared_all = (size_t)value;
    MPKI_TRY(cudaDeviceGetAttribute(&cuda->blocks_most, cudaDevAttrMaxBlocksPerMultiprocessor,
                                    cuda->device));
    MPKI_TRY(cudaDeviceGetStreamPriorityRange(&low, &high));
    MPKI_TRY(cudaStreamCreateWithPriority(&cuda->panel, cudaStreamNonBlocking, high));
    MPKI_TRY(cudaStreamCreateWithPriority(&cuda->update, cudaStreamNonBlocking, low));
    MPKI_TRY(cudaStreamCreateWithPriority(&cuda->side, cudaStreamNonBlocking, low));
    MPKI_TRY(cudaStreamCreateWithPriority(&cuda->sparse, cudaStreamNonBlocking, high));
    MPKI_PASS(make_pool(cuda));
    MPKI_TRY(cublasCreate(&cuda->panel_blas));
    MPKI_TRY(cublasCreate(&cuda->update_blas));
    MPKI_TRY(cublasSetStream(cuda->panel_blas, cuda->panel));
    MPKI_TRY(cublasSetStream(cuda->update_blas, cuda->update));
    MPKI_TRY(cublasSetPointerMode(cuda->panel_blas, CUBLAS_POINTER_MODE_DEVICE));
    MPKI_TRY(cublasSetPointerMode(cuda->update_blas, CUBLAS_POINTER_MODE_DEVICE));
    for (int i = 0; i < MPKI_RING; ++i) {
        MPKI_TRY(cudaEventCreateWithFlags(&cuda->panel_done[i], cudaEventDisableTiming));
        MPKI_TRY(cudaEventCreateWithFlags(&cuda->update_done[i], cudaEventDisableTiming));
        MPKI_TRY(cudaEventCreateWithFlags(&cuda->side_done[i], cudaEventDisableTiming));
    }
    MPKI_TRY(cudaEventCreateWithFlags(&cuda->fork, cudaEventDisableTiming));
    MPKI_TRY(cudaEventCreateWithFlags(&cuda->join, cudaEventDisableTiming));
    MPKI_TRY(cudaMallocHost((void **)&cuda->pinned, 64 * 1024));
    return MPK_OK;
}

static int open(int device, mpki_cuda **out, char *text, size_t size) {
    int count = 0;
    *out = NULL;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error || count == 0) {
        snprintf(text, size, "no CUDA device: %s",
                 error ? cudaGetErrorString(error) : "none is visible");
        return MPK_ERR_DEVICE;
    }
    if (device < 0) cudaGetDevice(&device);
    if (device >= count) {
        snprintf(text, size, "CUDA device %d was asked for; there are %d", device, count);
        return MPK_ERR_DEVICE;
    }
    int major = 0, minor = 0;
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (!error) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (error) {
        snprintf(text, size, "CUDA device %d: %s", device, cudaGetErrorString(error));
        return MPK_ERR_DEVICE;
    }
    mpki_cuda *cuda = new (std::nothrow) mpki_cuda();
    if (!cuda) {
        snprintf(text, size, "out of host memory");
        return MPK_ERR_MEMORY;
    }
    cuda->device = device;
    cuda->capability = 10 * major + minor;
    mpk_status status = prepare(cuda);
    if (mpk_failed(status)) {
        snprintf(text, size, "%s", cuda->text);
        destroy(cuda);
        return status;
    }
    *out = cuda;
    return MPK_OK;
}

static const char *last_error(const mpki_cuda *cuda) {
    return cuda->text;
}

static int describe(mpki_cuda *cuda, char *text, size_t size, int64_t *free_bytes,
                    int64_t *total_bytes) {
    size_t available = 0, all = 0;
    MPKI_TRY(be_on_device(cuda));
    MPKI_TRY(cudaMemGetInfo(&available, &all));
    if (text) { /* which takes longer than all else */
        cudaDeviceProp prop;
        int driver = 0, runtime = 0, blas = 0;
        MPKI_TRY(cudaGetDeviceProperties(&prop, cuda->device));
        MPKI_TRY(cudaDriverGetVersion(&driver));
        MPKI_TRY(cudaRuntimeGetVersion(&runtime));
        MPKI_TRY(cublasGetVersion(cuda->panel_blas, &blas));
        snprintf(text, size, "%s, %d multiprocessors, CUDA driver %d.%d, runtime %d.%d, cuBLAS %d",
                 prop.name, prop.multiProcessorCount, driver / 1000, driver % 1000 / 10,
                 runtime / 1000, runtime % 1000 / 10, blas);
    }
    if (free_bytes) *free_bytes = (int64_t)available + idle(cuda);
    if (total_bytes) *total_bytes = (int64_t)all;
    return MPK_OK;
}

/** Guards lists of held blocks: solves of several threads take and give. */
static std::mutex holding;

/** A block is held. Returns false: there is no memory to note that. */
static bool note(mpki_cuda *cuda, void *ptr, size_t size) {
    const std::lock_guard<std::mutex> mine(holding);
    if (cuda->held_count == cuda->held_most) {
        const int64_t most = 2 * cuda->held_most + 64;
        void *more = realloc(cuda->held, (size_t)most * sizeof *cuda->held);
        if (!more) return false;
        cuda->held = (mpki_cuda::mpki_cuda_block *)more, cuda->held_most = most;
    }
    cuda->held[cuda->held_count].ptr = ptr;
    cuda->held[cuda->held_count++].size = size;
    return true;
}

/** Forget a block; its size. */
static size_t forget(mpki_cuda *cuda, void *ptr) {
    const std::lock_guard<std::mutex> mine(holding);
    for (int64_t k = cuda->held_count - 1; k >= 0; --k) {
        if (cuda->held[k].ptr != ptr) continue;
        const size_t size = cuda->held[k].size;
        cuda->held[k] = cuda->held[--cuda->held_count];
        return size;
    }
    return 0;
}

static mpk_status no_host_memory(mpki_cuda *cuda, void **ptr) {
    *ptr = NULL;
    return refuse(cuda, MPK_ERR_MEMORY, "out of host memory");
}

/** Of the caller's allocator. */
static int take_given(mpki_cuda *cuda, size_t size, void **ptr) {
    const mpki_cuda_allocator *a = &cuda->allocator;
    *ptr = a->alloc(a->user, size, cuda->device, cuda->sparse);
    if (!*ptr)
        return refuse(cuda, MPK_ERR_MEMORY,
                      "the allocator that was set has not %.3f GiB of device memory",
                      (double)size * 0x1p-30);
    if (note(cuda, *ptr, size)) return MPK_OK;
    a->release(a->user, *ptr, size, cuda->device, cuda->sparse);
    return no_host_memory(cuda, ptr);
}

/** Was it the caller's, and is it given back? All work with it is done. */
static bool give_given(mpki_cuda *cuda, void *ptr) {
    const size_t size = forget(cuda, ptr);
    const mpki_cuda_allocator *a = &cuda->allocator;
    if (!a->alloc || size == 0) return false;
    cudaStreamSynchronize(cuda->sparse);
    a->release(a->user, ptr, size, cuda->device, cuda->sparse);
    return true;
}

/** Of the pool, or (pool NULL) of no pool. */
static int take_of(mpki_cuda *cuda, cudaMemPool_t pool, int64_t bytes, void **ptr) {
    const size_t size = bytes > 0 ? (size_t)bytes : 256;
    *ptr = NULL;
    MPKI_TRY(be_on_device(cuda));
    if (cuda->allocator.alloc) return take_given(cuda, size, ptr);
    cudaError_t error = cudaErrorMemoryAllocation;
    for (int tries = 0; error == cudaErrorMemoryAllocation && tries < 2; ++tries) {
        if (tries) { /* what the pool keeps may be enough */
            cudaGetLastError();
            if (idle(cuda) == 0) break;
            MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
            MPKI_TRY(cudaMemPoolTrimTo(cuda->pool, 0));
        }
        error =
            pool ? cudaMallocFromPoolAsync(ptr, size, pool, cuda->sparse) : cudaMalloc(ptr, size);
    }
    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, all = 0;
        cudaGetLastError();
        cudaMemGetInfo(&available, &all);
        return refuse(cuda, MPK_ERR_MEMORY,
                      "%.3f GiB of device memory are needed; %.3f of its %.3f GiB are free",
                      (double)bytes * 0x1p-30, (double)available * 0x1p-30, (double)all * 0x1p-30);
    }
    MPKI_TRY(error);
    if (note(cuda, *ptr, size)) return MPK_OK;
    if (pool)
        cudaFreeAsync(*ptr, cuda->sparse);
    else
        cudaFree(*ptr);
    return no_host_memory(cuda, ptr);
}

static int alloc(mpki_cuda *cuda, int64_t bytes, void **ptr) {
    return take_of(cuda, NULL, bytes, ptr);
}

static void release(mpki_cuda *cuda, void *ptr) {
    if (!ptr) return;
    cudaSetDevice(cuda->device);
    if (!give_given(cuda, ptr)) cudaFree(ptr);
}

static int take(mpki_cuda *cuda, int64_t bytes, void **ptr) {
    return take_of(cuda, cuda->pool, bytes, ptr);
}

static void give(mpki_cuda *cuda, void *ptr) {
    if (!ptr) return;
    if (!cuda->pool) return release(cuda, ptr);
    cudaSetDevice(cuda->device);
    if (!give_given(cuda, ptr)) cudaFreeAsync(ptr, cuda->sparse);
}

static int set_allocator(mpki_cuda *cuda, const mpki_cuda_allocator *allocator) {
    if (cuda->held_count > 0)
        return refuse(
            cuda, MPK_ERR_ARGUMENT,
            "%lld blocks of device memory are held: an allocator is set before the first, "
            "or when all have ended",
            (long long)cuda->held_count);
    cuda->allocator = allocator ? *allocator : mpki_cuda_allocator();
    return MPK_OK;
}

static int follow(mpki_cuda *cuda, void *stream) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    MPKI_TRY(be_on_device(cuda));
    MPKI_TRY(cudaStreamIsCapturing((cudaStream_t)stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        return refuse(
            cuda, MPK_ERR_UNSUPPORTED,
            "the stream is being captured, and the host decides on pivots in the midst of "
            "a call: calls of sparse matrices cannot be part of a graph");
    if (!cuda->followed)
        MPKI_TRY(cudaEventCreateWithFlags(&cuda->followed, cudaEventDisableTiming));
    MPKI_TRY(cudaEventRecord(cuda->followed, (cudaStream_t)stream));
    MPKI_TRY(cudaStreamWaitEvent(cuda->sparse, cuda->followed, 0));
    return MPK_OK;
}

static void *own_stream(mpki_cuda *cuda) {
    return cuda->sparse;
}

/** Of memory that is no managed memory the driver says it at once. */
static int is_device(mpki_cuda *cuda, const void *ptr) {
    cudaPointerAttributes a;
    unsigned type = 0;
    void *data = &type;
    int memory_type = 2;  /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
    const int device = 2; /* CU_MEMORYTYPE_DEVICE */
    if (cuda->driver_pointer &&
        !cuda->driver_pointer(1, &memory_type, &data, (unsigned long long)(uintptr_t)ptr) &&
        type == device)
        return 1;
    if (!ptr || be_on_device(cuda) || cudaPointerGetAttributes(&a, ptr)) {
        cudaGetLastError();
        return 0;
    }
    return a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged;
}

static int copy(mpki_cuda *cuda, void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                int64_t width, int64_t columns, int to_device, void *stream) {
    if (width <= 0 || columns <= 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemcpy2DAsync(
        to, (size_t)to_pitch, from, (size_t)from_pitch, (size_t)width, (size_t)columns,
        to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, (cudaStream_t)stream));
    return MPK_OK;
}

static int synchronize(mpki_cuda *cuda, void *stream) {
    MPKI_TRY(cudaStreamSynchronize((cudaStream_t)stream));
    return MPK_OK;
}

static int settle(mpki_cuda *cuda) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaDeviceSynchronize());
    return MPK_OK;
}

static int pivots_out(mpki_cuda *cuda, int n, int upper, const int *perm, const int *kind,
                      int *pivots, void *stream) {
    pivots_out_kernel<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(n, upper, perm, kind,
                                                                         pivots);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int pivots_in(mpki_cuda *cuda, int n, int upper, const int *pivots, int *perm, int *kind,
                     void *stream) {
    pivots_in_kernel<<<1, 1024, 0, (cudaStream_t)stream>>>(n, upper, pivots, perm, kind);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int capability(const mpki_cuda *cuda) {
    return cuda->capability;
}

/* what the build compiled for (cmake/cuda.cmake); bench/device-dense says nothing */
#ifndef MPKI_CUDA_LEAST
#define MPKI_CUDA_LEAST 80
#endif

static const mpki_cuda_table table = {
    MPKI_CUDA_VERSION,
    open,
    destroy,
    last_error,
    describe,
    alloc,
    release,
    is_device,
    copy,
    synchronize,
    settle,
    pivots_out,
    pivots_in,
    {&mpki_s_cuda_entries, &mpki_d_cuda_entries, &mpki_c_cuda_entries, &mpki_z_cuda_entries},
    &mpki_cuda_batches,
    &mpki_cuda_vectors_functions,
    &mpki_cuda_blocks_functions,
    &mpki_cuda_sweeps_functions,
    &mpki_cuda_direct_functions,
    capability,
    MPKI_CUDA_LEAST,
    &mpki_cuda_isai_functions,
    take,
    give,
    &mpki_cuda_accelerator_functions,
    &mpki_cuda_systems_functions,
    follow,
    own_stream,
    set_allocator};

} // namespace mpki

extern "C" __attribute__((visibility("default"))) const mpki_cuda_table *mpki_cuda_module(void);
extern "C" const mpki_cuda_table *mpki_cuda_module(void) {
    return &mpki::table;
}
