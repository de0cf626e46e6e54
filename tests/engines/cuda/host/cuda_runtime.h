/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CUDA_HOST_RUNTIME_H
#define TESTS_CUDA_HOST_RUNTIME_H
/** What the device's kernels for batches need to run on a host, so that they are tested where there
 *  is no GPU: a block's threads are contexts that take turns and meet where a warp's or a block's
 *  do. Memory of the device is memory of the host that is known to have been asked for as such.
 *  Wrong use stops the process: threads that wait for ever, a value of a thread that takes no part,
 *  threads of one mask in different operations. Shared memory is NaN before each block. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __host__
#define __device__
#define __global__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static /* blocks come one after the other */
#define MPKI_SMEM char *const smem = host_room

typedef struct host_place {
    unsigned x;
} host_place;

enum { HOST_MOST = 1024, HOST_SHARED = 232 * 1024 };
enum { HOST_CLUSTER_MOST = 8 }; /* blocks that are at work at once */
enum host_op {
    HOST_SHFL = 1,
    HOST_BALLOT,
    HOST_MAX,
    HOST_SUM,
    HOST_OR,
    HOST_SYNC,
    HOST_BLOCK,
    HOST_CLUSTER
};

extern host_place threadIdx, blockIdx, blockDim, gridDim;
extern char *host_room; /* dynamic shared memory of the block */

/** The caller's part in an operation of all threads of the mask. */
uint64_t host_meet(host_op op, unsigned mask, uint64_t value, unsigned source);
/** call, by all threads of all blocks, `cluster` of which are at work at once. */
void host_launch(unsigned blocks, unsigned threads, size_t bytes, void (*call)(void *), void *arg,
                 unsigned cluster = 1);

template <class F> void host_call(void *f) {
    (*(F *)f)();
}
template <class F>
void host_run(unsigned blocks, unsigned threads, size_t bytes, F f, unsigned cluster = 1) {
    host_launch(blocks, threads, bytes, host_call<F>, &f, cluster);
}
#define MPKI_LAUNCH(kernel, blocks, threads, bytes, stream, ...)                                   \
    ((void)(stream), host_run((unsigned)(blocks), threads, bytes, [&] { kernel(__VA_ARGS__); }))
#define MPKI_LOAD(kernel) ((void)&kernel, cudaSuccess)
#define MPKI_LAUNCH_SHORT(cuda, kernel, blocks, threads, stream, argument)                         \
    (MPKI_LAUNCH(kernel, blocks, threads, 0, stream, argument), cudaGetLastError())
#define MPKI_LAUNCH_TOGETHER MPKI_LAUNCH_NEXT /* a kernel with one block may wait for nothing */
#define MPKI_LAUNCH_NEXT(cuda, kernel, blocks, threads, bytes, ...)                                \
    (MPKI_LAUNCH(kernel, blocks, threads, bytes, (cuda)->sparse, __VA_ARGS__), cudaSuccess)
#define MPKI_LAUNCH_CLUSTERS(cuda, kernel, blocks, each, threads, bytes, ...)                      \
    ((void)(cuda),                                                                                 \
     host_run((unsigned)(blocks), (unsigned)(threads), bytes, [&] { kernel(__VA_ARGS__); },        \
              (unsigned)(each)),                                                                   \
     cudaSuccess)
namespace mpki {
inline void cluster_meet() {
    host_meet(HOST_CLUSTER, 0, 0, 0);
}
inline void after_previous() {}
inline void wait_for_previous() {}
inline void next_may_come() {}
} // namespace mpki

template <class T> uint64_t host_bits(T x) {
    uint64_t y = 0;
    memcpy(&y, &x, sizeof x);
    return y;
}
template <class T> T host_value(uint64_t x) {
    T y;
    memcpy(&y, &x, sizeof y);
    return y;
}
template <class T> T __shfl_xor_sync(unsigned mask, T x, int h) {
    return host_value<T>(host_meet(HOST_SHFL, mask, host_bits(x), threadIdx.x % 32 ^ (unsigned)h));
}
template <class T> T __shfl_sync(unsigned mask, T x, int lane, int width = 32) {
    const unsigned w = (unsigned)width, base = threadIdx.x % 32 / w * w;
    return host_value<T>(host_meet(HOST_SHFL, mask, host_bits(x), base + (unsigned)lane % w));
}
inline unsigned __ballot_sync(unsigned mask, bool x) {
    return (unsigned)host_meet(HOST_BALLOT, mask, x, 0);
}
template <class T> T __shfl_up_sync(unsigned mask, T x, unsigned d, int width = 32) {
    const unsigned lane = threadIdx.x % 32, w = (unsigned)width, at = lane % w;
    return host_value<T>(host_meet(HOST_SHFL, mask, host_bits(x), at >= d ? lane - d : lane));
}
template <class T> T __shfl_down_sync(unsigned mask, T x, unsigned d, int width = 32) {
    const unsigned lane = threadIdx.x % 32, w = (unsigned)width, at = lane % w;
    return host_value<T>(host_meet(HOST_SHFL, mask, host_bits(x), at + d < w ? lane + d : lane));
}
inline int __any_sync(unsigned mask, bool x) {
    return host_meet(HOST_BALLOT, mask, x, 0) != 0;
}
inline int __all_sync(unsigned mask, bool x) {
    return host_meet(HOST_BALLOT, mask, !x, 0) == 0;
}
inline void __syncwarp(unsigned mask = ~0u) {
    host_meet(HOST_SYNC, mask, 0, 0);
}
inline void __syncthreads() {
    host_meet(HOST_BLOCK, 0, 0, 0);
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline unsigned __float_as_uint(float x) {
    return (unsigned)host_bits(x);
}
inline float __uint_as_float(unsigned x) {
    return host_value<float>(x);
}
inline int __double2hiint(double x) {
    return (int)(host_bits(x) >> 32);
}
inline double __hiloint2double(int high, int low) {
    return host_value<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

/* ---- what borgc's kernels ask for ---- */

inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned x) {
    return (unsigned)host_meet(HOST_SUM, mask, x, 0);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned x) {
    return (unsigned)host_meet(HOST_OR, mask, x, 0);
}
inline int __reduce_max_sync(unsigned mask, int x) {
    return (int)host_meet(HOST_MAX, mask, (uint32_t)x ^ 0x80000000u, 0) ^ (int)0x80000000;
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned x) {
    return (unsigned)host_meet(HOST_MAX, mask, x, 0);
}
inline double __longlong_as_double(long long x) {
    return host_value<double>((uint64_t)x);
}
inline long long __double_as_longlong(double x) {
    return (long long)host_bits(x);
}
#define HOST_ARITHMETIC(T, p)                                                                      \
    inline T __##p##add_rn(T x, T y) {                                                             \
        return x + y;                                                                              \
    }                                                                                              \
    inline T __##p##sub_rn(T x, T y) {                                                             \
        return x - y;                                                                              \
    }                                                                                              \
    inline T __##p##mul_rn(T x, T y) {                                                             \
        return x * y;                                                                              \
    }                                                                                              \
    inline T __##p##div_rn(T x, T y) {                                                             \
        return x / y;                                                                              \
    }                                                                                              \
    inline T __##p##rcp_rn(T x) {                                                                  \
        return 1 / x;                                                                              \
    }
HOST_ARITHMETIC(double, d)
HOST_ARITHMETIC(float, f)
inline double __dsqrt_rn(double x) {
    return sqrt(x);
}
inline float __fsqrt_rn(float x) {
    return sqrtf(x);
}
inline double __fma_rn(double x, double y, double z) {
    return fma(x, y, z);
}
inline float __fmaf_rn(float x, float y, float z) {
    return fmaf(x, y, z);
}
inline float __fdividef(float x, float y) {
    return x / y;
}
inline int __syncthreads_or(int x) {
    return host_meet(HOST_BLOCK, 0, x != 0, 0) != 0;
}

/* ---- what kernels for sparse matrices ask for. Threads take turns, so that every operation on
 * memory is atomic; a block runs to its end before the next one begins, so a kernel may wait for
 * what blocks before it do, and for nothing else ---- */

template <class T, class U> T atomicAdd(T *p, U x) {
    const T old = *p;
    *p = (T)(old + (T)x);
    return old;
}
template <class T, class U> T atomicMax(T *p, U x) {
    const T old = *p;
    if ((T)x > old) *p = (T)x;
    return old;
}
template <class T, class U> T atomicMin(T *p, U x) {
    const T old = *p;
    if ((T)x < old) *p = (T)x;
    return old;
}
template <class T, class U> T atomicOr(T *p, U x) {
    const T old = *p;
    *p = old | (T)x;
    return old;
}
template <class T, class U> T atomicExch(T *p, U x) {
    const T old = *p;
    *p = (T)x;
    return old;
}
template <class T, class U, class V> T atomicCAS(T *p, U compare, V x) {
    const T old = *p;
    if (old == (T)compare) *p = (T)x;
    return old;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
template <class T> T __ldg(const T *p) {
    return *p;
}
template <class T> T __ldcg(const T *p) {
    return *p;
}
template <class T> T __ldcs(const T *p) {
    return *p;
}
template <class T> void __stcg(T *p, T x) {
    *p = x;
}
struct float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};

/* What the multifrontal engine asks for: copies that a block waits for later, and tensor cores
 * (dense/kernels/mma.cuh). The lanes of a warp lay their parts out, meet, and each computes its own. */
namespace mpki {
inline void copy_async8(double *to, const double *from, bool in) {
    *to = in ? *from : 0;
}
inline void copy_async16(double *to, const double *from) {
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16) abort();
    to[0] = from[0], to[1] = from[1];
}
inline void copy_async16(double *to, const double *from, int bytes) {
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16) abort();
    to[0] = bytes ? from[0] : 0, to[1] = bytes == 16 ? from[1] : 0;
}
inline void copy_commit() {}
template <int left> void copy_wait() {}
inline void mma8(double (&c)[4], const double (&a)[4], double b0, double b1) {
    static double A[32][32][4], B[32][32][2];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    memcpy(A[warp][lane], a, sizeof a);
    B[warp][lane][0] = b0, B[warp][lane][1] = b1;
    __syncwarp();
    for (unsigned k = 0; k < 8; ++k)
        for (unsigned o = 0; o < 4; ++o)
            c[o] += A[warp][g * 4 + k % 4][k / 4 * 2 + o / 2] *
                    B[warp][(2 * t + o % 2) * 4 + k % 4][k / 4];
    __syncwarp();
}
inline void mma16(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
    static double A[32][32][8], B[32][32][4];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    memcpy(A[warp][lane], a, sizeof a);
    memcpy(B[warp][lane], b, sizeof b);
    __syncwarp();
    for (unsigned k = 0; k < 16; ++k)
        for (unsigned o = 0; o < 4; ++o)
            c[o] += A[warp][g * 4 + k % 4][k / 4 * 2 + o / 2] *
                    B[warp][(2 * t + o % 2) * 4 + k % 4][k / 4];
    __syncwarp();
}
inline void mma32(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static signed char A[32][16][32], B[32][8][32]; /* by rows; by columns */
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (unsigned k = 0; k < 4; ++k) memcpy(&A[warp][g + k % 2 * 8][k / 2 * 16 + 4 * t], &a[k], 4);
    for (unsigned k = 0; k < 2; ++k) memcpy(&B[warp][g][k * 16 + 4 * t], &b[k], 4);
    __syncwarp();
    for (unsigned o = 0; o < 4; ++o) {
        int sum = 0;
        for (unsigned k = 0; k < 32; ++k)
            sum += A[warp][g + o / 2 * 8][k] * B[warp][2 * t + o % 2][k];
        c[o] = (int)((unsigned)c[o] + (unsigned)sum); /* they wrap around */
    }
    __syncwarp();
}
} // namespace mpki

/* Some warps of a block, THREADS threads in all, wait for each other: who has arrived, how often
 * all had. */
namespace mpki {
struct meeting {
    unsigned there, round;
};
inline void meeting_begin(meeting *m, int) {
    *m = meeting{0, 0};
}
template <int THREADS> void some_threads_meet(meeting *m, unsigned &phase) {
    if (++m->there == THREADS) m->there = 0, ++m->round;
    ++phase;
    while (!__all_sync(~0u, m->round >= phase)) {}
}
} // namespace mpki

/* What dense tiles of large fronts ask for. */
template <class T> T min(T x, T y) {
    return y < x ? y : x;
}
template <class T> T max(T x, T y) {
    return x < y ? y : x;
}

/* ---- the runtime, as far as batches ask for it ---- */

typedef struct host_stream *cudaStream_t;
typedef struct host_event *cudaEvent_t;
typedef enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNotReady = 600,
    cudaErrorLaunchFailure = 719,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotSupported = 801
} cudaError_t;
typedef enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone = 0 } cudaStreamCaptureStatus;
enum {
    cudaEventDisableTiming = 2,
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

typedef void *cudaMemPool_t; // the module's; not at work here
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t = nullptr) {
    memmove(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t = nullptr) {
    memset(p, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *now, size_t *all) {
    const char *limit = getenv("METAPACK_CUDA_HOST_LIMIT");
    *now = *all = limit ? (size_t)atoll(limit) : (size_t)1 << 32;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
    return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) {
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return cudaSuccess;
}
cudaError_t cudaGetLastError(); /* METAPACK_CUDA_HOST_FAIL=k: the k-th from now on is a failure */
inline cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) {
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, int) {
    *event = (cudaEvent_t)1;
    return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) {
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
    return cudaSuccess;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
/* not ready every other time; of three times in turn the second is the shortest */
inline cudaError_t cudaEventQuery(cudaEvent_t) {
    static unsigned turn;
    return turn++ % 2 ? cudaSuccess : cudaErrorNotReady;
}
inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) {
    static unsigned turn;
    *ms = (float)(3 + (turn++ + 2) % 3);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}
/* What the module was compiled for: 9.0, but 8.6 where a block has less than there;
 * METAPACK_CUDA_HOST_CODE=90 beside METAPACK_CUDA_HOST_SHARED: only plans take a block to have so
 * little. */
inline int host_code() {
    const char *told = getenv("METAPACK_CUDA_HOST_CODE");
    return told ? atoi(told) : getenv("METAPACK_CUDA_HOST_SHARED") ? 86 : 90;
}
/* What a block may have: as on 9.0, or what a test says, but no less than every GPU from 8.0 on
 * gives. */
inline size_t host_shared_most() {
    const char *said = host_code() < 90 ? getenv("METAPACK_CUDA_HOST_SHARED") : NULL;
    const size_t least = 99 * 1024, most = said ? (size_t)atoll(said) : HOST_SHARED - 5 * 1024;
    return most < least ? least : most;
}
/* What a test says of a kernel's shape, or what is there. */
inline int64_t host_told(const char *name, int64_t otherwise) {
    const char *told = getenv(name);
    return told ? atoll(told) : otherwise;
}
/* of single precision to double, METAPACK_CUDA_HOST_RATIO; an H200's */
enum { cudaDevAttrSingleToDoublePrecisionPerfRatio = 87 };
inline cudaError_t cudaDeviceGetAttribute(int *value, int, int) {
    *value = (int)host_told("METAPACK_CUDA_HOST_RATIO", 2);
    return cudaSuccess;
}
template <class K> cudaError_t cudaFuncSetAttribute(K, int, int bytes) {
    if ((size_t)bytes > host_shared_most()) {
        fprintf(stderr, "%d bytes of shared memory\n", bytes);
        abort();
    }
    return cudaSuccess;
}

/* ---- what vectors of Krylov methods ask for. There are no graphs: a capture is refused ---- */

inline void __threadfence_system() {}
inline cudaError_t cudaStreamQuery(cudaStream_t) {
    return cudaSuccess;
}
enum { cudaEventDefault = 0 };
typedef struct host_graph *cudaGraph_t;
typedef struct host_graph_exec *cudaGraphExec_t;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    return cudaErrorNotSupported;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *) {
    return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long) {
    return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t) {
    return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
    return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
    return cudaErrorNotSupported;
}

#endif
