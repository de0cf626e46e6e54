/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_SUMS_CUH
#define MPKI_CUDA_INVERSE_SUMS_CUH
/** Sums over the threads of a block. */
#include "engines/cuda/module/scalar.cuh"

namespace mpki {

enum { TURN_THREADS = 256 };

typedef unsigned long long counter; /* of int64_t numbers that are not negative */

/** The x of the lane d before this one. By all lanes of a warp; a shuffle. */
__device__ inline int64_t shfl_up(int64_t x, int d) {
    return (int64_t)__shfl_up_sync(0xffffffffu, (long long)x, (unsigned)d);
}

/** The sum of x over this thread and those before it; *all: over the block. By all threads of a
 *  block; ends with a block barrier. */
__device__ inline int64_t block_sum_before(int64_t x, int64_t *all) {
    __shared__ int64_t part[TURN_THREADS / 32];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    for (int d = 1; d < 32; d *= 2) {
        const int64_t y = shfl_up(x, d);
        if (lane >= d) x += y;
    }
    __syncthreads();
    if (lane == 31) part[warp] = x;
    __syncthreads();
    *all = 0;
    for (int w = 0; w < TURN_THREADS / 32; ++w) {
        if (w < warp) x += part[w];
        *all += part[w];
    }
    return x;
}

} // namespace mpki

#endif
