// SPDX-License-Identifier: BSD-3-Clause
// A CUDA module without a device: batches and sparse matrices, their kernels on the host
// (cuda_runtime.h). For tests.
#include "engines/cuda/batch/kernels/launch.cuh"

#include <map>
#include <stdarg.h>

#include "turns.h"

// ---- memory ----

static std::map<char *, size_t> *memory; // of the "device"

static long refused; // allocations, by METAPACK_CUDA_HOST_FULL

// METAPACK_CUDA_HOST_FULL=k: the k-th allocation from now on fails, of the device's memory or page-locked.
static bool full() {
    static long calls;
    const char *at = getenv("METAPACK_CUDA_HOST_FULL");
    calls = at ? calls + 1 : 0;
    if (!at || calls != atol(at)) return false;
    ++refused;
    return true;
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    const char *limit = getenv("METAPACK_CUDA_HOST_LIMIT");
    if (limit && bytes > (size_t)atoll(limit)) return cudaErrorMemoryAllocation;
    if (full()) return cudaErrorMemoryAllocation;
    if (!memory) memory = new std::map<char *, size_t>;
    *p = malloc(bytes ? bytes : 1);
    if (!*p) return cudaErrorMemoryAllocation;
    memset(*p, 0xff, bytes);
    (*memory)[(char *)*p] = bytes ? bytes : 1;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p) {
    if (!memory->erase((char *)p)) wrong("memory that is not the device's");
    free(p);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t bytes) {
    if (full()) return cudaErrorMemoryAllocation;
    *p = malloc(bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p) {
    free(p);
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    static long calls;
    const char *at = getenv("METAPACK_CUDA_HOST_FAIL");
    calls = at ? calls + 1 : 0;
    return at && calls == atol(at) ? cudaErrorLaunchFailure : cudaSuccess;
}

static int is_device(mpki_cuda *, const void *p) {
    if (!memory) return 0;
    auto next = memory->upper_bound((char *)p);
    if (next == memory->begin()) return 0;
    --next;
    return (char *)p < next->first + next->second;
}

namespace mpki {
mpk_status fail(mpki_cuda *cuda, cudaError_t error, const char *what) {
    snprintf(cuda->text, sizeof cuda->text, "error %d: %s", (int)error, what);
    return error == cudaErrorMemoryAllocation ? MPK_ERR_MEMORY : MPK_ERR_DEVICE;
}
mpk_status fail(mpki_cuda *cuda, cublasStatus_t error, const char *what) {
    snprintf(cuda->text, sizeof cuda->text, "cuBLAS %d: %s", (int)error, what);
    return MPK_ERR_DEVICE;
}
mpk_status refuse(mpki_cuda *cuda, mpk_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(cuda->text, sizeof cuda->text, format, list);
    va_end(list);
    return status;
}
} // namespace mpki

// ---- the table ----

static int open(int device, mpki_cuda **cuda, char *text, size_t size) {
    *cuda = NULL;
    if (device != 0) {
        snprintf(text, size, "device %d was asked for; there is one", device);
        return MPK_ERR_DEVICE;
    }
    if (getenv(
            "METAPACK_CUDA_HOST_BUSY")) { // as the driver tells of a GPU that another process has to itself
        snprintf(text, size, "error 46: CUDA-capable device(s) is/are busy or unavailable");
        return MPK_ERR_DEVICE;
    }
    *cuda = new mpki_cuda();
    const char *shared = getenv("METAPACK_CUDA_HOST_SHARED"); // bytes a block may have
    (*cuda)->shared_max = shared ? (size_t)atoll(shared) : 0;
    (*cuda)->code = host_code();
    return MPK_OK;
}

static void close(mpki_cuda *cuda) {
    if (cuda->batch_memory) cudaFree(cuda->batch_memory);
    free(cuda->batch_flags);
    if (cuda->vectors_report) cudaFreeHost(cuda->vectors_report);
    if (cuda->multifrontal_report) cudaFreeHost(cuda->multifrontal_report);
    for (int i = 0; i < 2; ++i) cudaFreeHost(cuda->blocks_half[i]);
    delete cuda;
}

static const char *last_error(const mpki_cuda *cuda) {
    return cuda->text;
}

// A caller's allocator gives memory that cudaMalloc made here, through host_device_alloc().
static int alloc(mpki_cuda *cuda, int64_t bytes, void **p) {
    const mpki_cuda_allocator *a = &cuda->allocator;
    *p = NULL;
    if (a->alloc) {
        *p = a->alloc(a->user, bytes > 0 ? (size_t)bytes : 256, cuda->device, cuda->sparse);
        if (!*p)
            snprintf(cuda->text, sizeof cuda->text, "the allocator that was set has no memory");
    } else if (cudaMalloc(p, (size_t)bytes)) {
        *p = NULL;
    }
    cuda->held_count += *p != NULL;
    return *p ? MPK_OK : MPK_ERR_MEMORY;
}

static void release_memory(mpki_cuda *cuda, void *p) {
    const mpki_cuda_allocator *a = &cuda->allocator;
    if (!p) return;
    --cuda->held_count;
    if (a->alloc)
        a->release(a->user, p, (*memory)[(char *)p], cuda->device, cuda->sparse);
    else
        cudaFree(p);
}

static int set_allocator(mpki_cuda *cuda, const mpki_cuda_allocator *a) {
    if (cuda->held_count > 0) {
        snprintf(cuda->text, sizeof cuda->text, "blocks of device memory are held");
        return MPK_ERR_ARGUMENT;
    }
    cuda->allocator = a ? *a : mpki_cuda_allocator();
    return MPK_OK;
}

static int copy(mpki_cuda *cuda, void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                int64_t width, int64_t columns, int to_device, void *) {
    if (width <= 0 || columns <= 0) return MPK_OK;
    if (!is_device(cuda, to_device ? to : from) || is_device(cuda, to_device ? from : to))
        wrong("a copy between other places than it says");
    for (int64_t c = 0; c < columns; ++c)
        memcpy((char *)to + c * to_pitch, (const char *)from + c * from_pitch, (size_t)width);
    return MPK_OK;
}

static int synchronize(mpki_cuda *, void *) {
    return MPK_OK;
}

// ---- what tests in other languages have instead of a producer's library ----

static void (*queued)(void *);
static void *queued_for;

// Memory of the "device"; NULL: none is left (METAPACK_CUDA_HOST_LIMIT).
extern "C" __attribute__((visibility("default"))) void *host_device_alloc(size_t bytes) {
    void *p = NULL;
    return cudaMalloc(&p, bytes) ? NULL : p;
}

extern "C" __attribute__((visibility("default"))) void host_device_free(void *p) {
    cudaFree(p);
}

// Bytes of the "device" in use; allocations that METAPACK_CUDA_HOST_FULL has refused.
extern "C" __attribute__((visibility("default"))) void host_device_memory(int64_t *held,
                                                                          int64_t *of) {
    *held = 0, *of = refused;
    if (memory)
        for (const auto &piece : *memory) *held += (int64_t)piece.second;
}

// Work that was queued on the "device": it is done when somebody waits for that, once.
extern "C" __attribute__((visibility("default"))) void host_device_queue(void (*work)(void *),
                                                                         void *self) {
    queued = work, queued_for = self;
}

static int settle(mpki_cuda *) {
    void (*const work)(void *) = queued;
    queued = NULL;
    if (work) work(queued_for);
    return MPK_OK;
}

// Work that is queued is in stream `queued_in`; NULL: in no caller's stream.
static void *queued_in;

extern "C" __attribute__((visibility("default"))) void
host_device_queue_in(void *stream, void (*work)(void *), void *self) {
    queued = work, queued_for = self, queued_in = stream;
}

// A stream that is `host_device_captured` is being captured.
extern "C" __attribute__((visibility("default"))) int host_device_captured;
int host_device_captured;

static int follow(mpki_cuda *cuda, void *stream) {
    if (stream == (void *)&host_device_captured) {
        snprintf(cuda->text, sizeof cuda->text, "the stream is being captured");
        return MPK_ERR_UNSUPPORTED;
    }
    if (stream != queued_in) return MPK_OK; // another stream's work is not waited for
    queued_in = NULL;
    return settle(cuda);
}

static void *own_stream(mpki_cuda *) {
    return NULL;
}

extern "C" const struct mpki_cuda_vectors_table mpki_cuda_vectors_functions __attribute__((weak));
extern "C" const struct mpki_cuda_blocks_table mpki_cuda_blocks_functions __attribute__((weak));
extern "C" const struct mpki_cuda_sweeps_table mpki_cuda_sweeps_functions __attribute__((weak));
extern "C" const struct mpki_cuda_isai_table mpki_cuda_isai_functions __attribute__((weak));
extern "C" const struct mpki_cuda_direct_table mpki_cuda_direct_functions __attribute__((weak));
extern "C" const struct mpki_cuda_accelerator_table mpki_cuda_accelerator_functions
    __attribute__((weak));
extern "C" const struct mpki_cuda_systems_table mpki_cuda_systems_functions __attribute__((weak));

static int describe(mpki_cuda *, char *text, size_t size, int64_t *free_bytes,
                    int64_t *total_bytes) {
    const char *limit = getenv("METAPACK_CUDA_HOST_LIMIT");
    const int64_t all = limit ? atoll(limit) : (int64_t)1 << 32;
    snprintf(text, size, "host, one thread");
    if (free_bytes) *free_bytes = all;
    if (total_bytes) *total_bytes = all;
    return MPK_OK;
}

// Any GPU that is said to be here, and a module for some of them.
static int capability(const mpki_cuda *) {
    const char *told = getenv("METAPACK_CUDA_HOST_CAPABILITY");
    return told ? atoi(told) : 90;
}

extern "C" __attribute__((visibility("default"))) const mpki_cuda_table *mpki_cuda_module(void);
extern "C" const mpki_cuda_table *mpki_cuda_module(void) {
    static mpki_cuda_table table;
    table.version = MPKI_CUDA_VERSION;
    table.open = open, table.close = close, table.last_error = last_error;
    table.alloc = table.take = alloc, table.release = table.give = release_memory;
    table.is_device = is_device;
    table.copy = copy, table.synchronize = synchronize, table.settle = settle;
    table.describe = describe;
    table.batch = &mpki_cuda_batches;
    table.vectors = &mpki_cuda_vectors_functions;
    table.blocks = &mpki_cuda_blocks_functions;
    table.sweeps = &mpki_cuda_sweeps_functions;
    table.isai = &mpki_cuda_isai_functions;
    table.direct = &mpki_cuda_direct_functions;
    table.accelerator = &mpki_cuda_accelerator_functions;
    table.systems = &mpki_cuda_systems_functions;
    table.capability = capability;
    table.least = 80;
    table.follow = follow, table.own_stream = own_stream, table.set_allocator = set_allocator;
    return &table;
}
