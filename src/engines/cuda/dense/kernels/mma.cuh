/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_MMA_CUH
#define MPKI_CUDA_DENSE_MMA_CUH
#include "engines/cuda/module/runtime.cuh"

/** Tensor cores for FP64 and 8-bit integers, launches ahead of time, and copies to shared memory that no register waits
 * for. Fragments, with g = lane / 4 and t = lane % 4: A (16 x K): a[2 i] is (g, t + 4 i), a[2 i +
 * 1] is (g + 8, t + 4 i); B (K x 8): b[i] is (t + 4 i, g); C (16 x 8): c[0], c[1] are (g, 2 t), (g,
 * 2 t + 1), c[2], c[3] the same of row g + 8. */
namespace mpki {

/** C += A B, 16 x 4 by 4 x 8, as two products of 8 x 8 x 4, which tensor cores before 9.0 have;
 *  fragments as above. By all lanes of a warp; no barrier. */
__device__ inline void mma4(double (&c)[4], double a0, double a1, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a0), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[2]), "+d"(c[3])
        : "d"(a1), "d"(b));
}

/** C += A B, 16 x 8 by 8 x 8. By all lanes of a warp; no barrier. */
__device__ inline void mma8(double (&c)[4], const double (&a)[4], double b0, double b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    mma4(c, a[0], a[1], b0), mma4(c, a[2], a[3], b1);
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#endif
}

/** C += A B, 16 x 16 by 16 x 8. By all lanes of a warp; no barrier. */
__device__ inline void mma16(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma unroll
    for (int i = 0; i < 4; ++i) mma4(c, a[2 * i], a[2 * i + 1], b[i]);
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
}

/** C += A B of 8-bit integers, 16 x 32 by 32 x 8, sums of 32 bits. Fragments are words of four
 *  entries that follow each other along K, 4 t .. 4 t + 3 and, from the second half, 16 + 4 t ..: A:
 *  a[0] row g, a[1] row g + 8, a[2], a[3] the same of the second half; B: b[0] column g, b[1] of the
 *  second half; C as above. By all lanes of a warp; no barrier. */
__device__ inline void mma32(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** Begins to copy 8 bytes from global to shared memory; zeros unless `in`. By each thread for
 *  itself; no barrier. */
__device__ inline void copy_async8(double *to, const double *from, bool in) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(from),
                 "r"(in ? 8 : 0)
                 : "memory");
}

/** Begins to copy 16 bytes from global to shared memory. By each thread for itself; no barrier. */
__device__ inline void copy_async16(double *to, const double *from) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
/** Begins to copy 16 bytes from global to shared memory, of which the first `bytes` (0, 8 or 16)
 *  count and the rest become zeros. By each thread for itself; no barrier. */
__device__ inline void copy_async16(double *to, const double *from, int bytes) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                 : "memory");
}
/** The next kernel of the stream may be launched. Code for less than 9.0 has no kernels that
 *  overlap; see launch_early(). By each thread for itself; no barrier. */
__device__ inline void launch_next() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/** Waits until the kernel before has ended. By each thread for itself; no barrier. */
__device__ inline void wait_previous() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/** The copies that the thread began form a group. By each thread for itself; no barrier. */
__device__ inline void copy_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Waits until at most `left` of the thread's groups are on their way; other threads' copies
 *  need a barrier. By each thread for itself; no barrier. */
template <int left> __device__ inline void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}
/** A barrier of some warps of a block, THREADS threads in all, that any number of times meet at `m`
 *  in shared memory. One thread begins it, once in a kernel, and a barrier of all follows. phase: a
 *  thread's own, 0 at first. Not bar.sync with a number, which is no slower: racecheck loses count
 *  of the block's barriers beside it (bench/results/dense-gpu.md). */
typedef unsigned long long meeting;

/** Makes the barrier *m for `threads` threads. By one thread; the others need a block barrier. */
__device__ inline void meeting_begin(meeting *m, int threads) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(m);
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(threads) : "memory");
}

/** The THREADS threads of the barrier *m wait for each other; phase: the thread's own, 0 at
 *  first. By each of them. */
template <int THREADS> __device__ inline void some_threads_meet(meeting *m, unsigned &phase) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(m);
    unsigned done = 0;
    asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.shared.b64 t, [%0];\n}" ::"r"(at) : "memory");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define MPKI_WAIT "test_wait"
#else
#define MPKI_WAIT "try_wait" /* sleeps meanwhile */
#endif
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier." MPKI_WAIT
                     ".parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(at), "r"(phase)
                     : "memory");
#undef MPKI_WAIT
    phase ^= 1;
}

/** kernel<<<grid, threads, shared, stream>>>(arguments...); `early`: launched while the kernel
 * before it still runs, where its code is for 9.0 or later, so it must begin with wait_previous().
 * While it waits it occupies a multiprocessor. */
template <class... A, class... B>
static cudaError_t launch_early(const mpki_cuda *cuda, bool early, void (*kernel)(A...), dim3 grid,
                                int threads, size_t shared, cudaStream_t stream, B... arguments) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute ahead[1];
    ahead[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    ahead[0].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = shared;
    config.stream = stream, config.attrs = ahead, config.numAttrs = early && cuda->code >= 90;
    return cudaLaunchKernelEx(&config, kernel, A(arguments)...);
}

} // namespace mpki
#endif
