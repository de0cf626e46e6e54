/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_INVERSE_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_INVERSE_CUH
/** The inverse of the square of L on the diagonal of a strip, by one block in shared memory. It is
 *  made before the values that the strip waits for are there, so that a product is left to do in
 *  place of a substitution; and it is stored for the sweeps that follow. */
#include "sweep.cuh"

namespace mpki {

static const int SQUARE =
    STRIP + 4; /* leading dimension of a strip's square: no two of a half warp meet */

/** A block: of M, whose diagonal has inverses of order H, those of order 2 H: the part below
 *  becomes -M22 L21 M11. Called by invert_square(). Barriers: it meets the block, also before it
 *  returns. */
template <int H, class T> __device__ inline void double_inverse(T *M) {
    const int EACH = H * STRIP / 2 / SWEEP_THREADS, tid = (int)threadIdx.x;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
        T sum[EACH];
        int to[EACH];
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            const int q = tid + SWEEP_THREADS * u, i = q % H, j = q / H % H,
                      o = q / (H * H) * 2 * H;
            const T *a = step == 0 ? M + o + H + i + o * SQUARE : M + o + H + i + (o + H) * SQUARE;
            const T *b = step == 0 ? M + o + (o + j) * SQUARE : M + o + H + (o + j) * SQUARE;
            to[u] = o + H + i + (o + j) * SQUARE;
            sum[u] = make<T>(0);
#pragma unroll 8
            for (int k = 0; k < H; ++k) pfma(sum[u], a[k * SQUARE], b[k]);
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < EACH; ++u) M[to[u]] = step == 0 ? sum[u] : -sum[u];
        __syncthreads();
    }
}

/** A block: M := M^-1, unit lower triangular of order STRIP; rows and columns from b on are those
 *  of the identity. Barriers: it meets the block, before and after. */
template <class T> __device__ inline void invert_square(T *M, int b) {
    enum { LEAST = 8 };
    const int tid = (int)threadIdx.x;
    __syncthreads();
    if (tid < STRIP) { /* squares of order 8, a column each */
        const int j = tid % LEAST;
        T *square = M + (tid - j) * (SQUARE + 1), x[LEAST];
#pragma unroll
        for (int i = 0; i < LEAST; ++i) {
            T sum = make<T>(i == j);
#pragma unroll
            for (int k = 0; k < i; ++k) nfma(sum, square[i + k * SQUARE], x[k]);
            x[i] = sum;
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < LEAST; ++i) square[i + j * SQUARE] = x[i];
    }
    __syncthreads();
    if (b > 8) double_inverse<8>(M);
    if (b > 16) double_inverse<16>(M);
    if (b > 32) double_inverse<32>(M);
}

/* Inverses that are kept lie by columns of STRIP; 16 bytes of one at a time. */
struct alignas(16) chunk {
    char bytes[16];
};

/** A block: M, an inverse, goes to `to` in global memory. Barriers: none; the caller has met the
 *  block after it made M. */
template <class T> __device__ inline void store_square(const T *M, T *to) {
    const int EACH = (int)(sizeof(chunk) / sizeof(T)), PER = STRIP / EACH;
    for (int k = (int)threadIdx.x; k < STRIP * PER; k += SWEEP_THREADS)
        *(chunk *)(void *)(to + k * EACH) =
            *(const chunk *)(const void *)(M + k % PER * EACH + k / PER * SQUARE);
}

/** A block: queues the copy of an inverse from global memory to M. Barriers: none; M is there after
 *  wait_for_square() and a barrier. */
template <class T> __device__ inline void copy_square_async(const T *from, T *M) {
    const int EACH = (int)(sizeof(chunk) / sizeof(T)), PER = STRIP / EACH;
    for (int k = (int)threadIdx.x; k < STRIP * PER; k += SWEEP_THREADS) {
        const int row = k % PER * EACH, col = k / PER;
        chunk *to = (chunk *)(void *)(M + row + col * SQUARE);
        const chunk *of = (const chunk *)(const void *)(from + k * EACH);
        if (row + EACH <= col) {
            for (int i = 0; i < EACH; ++i) M[row + i + col * SQUARE] = make<T>(0);
            continue;
        }
#ifdef __CUDA_ARCH__
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(to)),
                     "l"(of)
                     : "memory");
#else
        *to = *of;
#endif
    }
}
/** A thread: waits until the copies that it has queued are done. */
__device__ inline void wait_for_square() {
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

} // namespace mpki
#endif
