/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of blocks.h: chooses by the kind of entries. */
#include "engines/cuda/module/launch.cuh"
#include "launch.cuh"

#define DISPATCH(scalar, name)                                                                     \
    ((scalar) == MPK_S   ? mpki_s_cuda_blocks_##name                                               \
     : (scalar) == MPK_D ? mpki_d_cuda_blocks_##name                                               \
     : (scalar) == MPK_C ? mpki_c_cuda_blocks_##name                                               \
                         : mpki_z_cuda_blocks_##name)

static void *stream(mpki_cuda *cuda) {
    return cuda->sparse;
}

static int set(mpki_cuda *cuda, void *ptr, int value, int64_t bytes) {
    if (bytes > 0) MPKI_TRY(cudaMemsetAsync(ptr, value, (size_t)bytes, cuda->sparse));
    return MPK_OK;
}

static int move(mpki_cuda *cuda, void *to, const void *from, int64_t bytes) {
    if (bytes > 0)
        MPKI_TRY(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, cuda->sparse));
    return MPK_OK;
}

#ifdef __CUDACC__
static const int64_t HALF = 16 << 20;
#else
static const int64_t HALF = 4096; /* so that tests on a host see several */
#endif

static int half_of(mpki_cuda *cuda, int half, void **memory, int64_t *bytes) {
    *memory = NULL, *bytes = HALF;
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (!cuda->blocks_half[half]) {
        MPKI_TRY(cudaEventCreateWithFlags(&cuda->blocks_sent[half], cudaEventDisableTiming));
        MPKI_TRY(cudaMallocHost(&cuda->blocks_half[half], (size_t)HALF));
    } else {
        MPKI_TRY(cudaEventSynchronize(cuda->blocks_sent[half]));
    }
    *memory = cuda->blocks_half[half];
    return MPK_OK;
}

static int send(mpki_cuda *cuda, int half, void *to, int64_t bytes) {
    MPKI_TRY(cudaMemcpyAsync(to, cuda->blocks_half[half], (size_t)bytes, cudaMemcpyHostToDevice,
                             cuda->sparse));
    MPKI_TRY(cudaEventRecord(cuda->blocks_sent[half], cuda->sparse));
    return MPK_OK;
}

static int64_t pivot_stride(const mpki_cuda_stage *b) {
    return DISPATCH(b->scalar, stride)(b);
}

static int64_t sum_bytes(void) {
    return mpki_s_cuda_blocks_sum_bytes();
}

static int place(mpki_cuda *cuda, const mpki_cuda_stage *b) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return DISPATCH(b->scalar, place)(cuda, b);
}

static int run(mpki_cuda *cuda, const mpki_cuda_stage *b, int32_t begin, int32_t end) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return DISPATCH(b->scalar, run)(cuda, b, begin, end);
}

static int start(mpki_cuda *cuda, const mpki_cuda_stage *b) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return DISPATCH(b->scalar, start)(cuda, b);
}

static int norm(mpki_cuda *cuda, const mpki_cuda_stage *b, double *norm) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return DISPATCH(b->scalar, norm)(cuda, b, norm);
}

static int sum(mpki_cuda *cuda, const mpki_cuda_stage *b, mpki_cuda_held *held,
               mpki_cuda_pivots_of *pivots) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return DISPATCH(b->scalar, sum)(cuda, b, held, pivots);
}

static int invert(mpki_cuda *cuda, mpk_scalar scalar, int32_t n, const void *l, void *v) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return DISPATCH(scalar, invert)(cuda, n, l, v);
}

extern "C" const mpki_cuda_blocks_table mpki_cuda_blocks_functions = {
    stream, set, move,  half_of, send, pivot_stride, sum_bytes,
    place,  run, start, norm,    sum,  invert};
