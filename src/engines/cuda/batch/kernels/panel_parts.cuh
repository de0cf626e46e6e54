/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_PANEL_PARTS_CUH
#define MPKI_CUDA_BATCH_PANEL_PARTS_CUH
/** What elimination by panels (panel.cuh) is built on: its shared memory, sizes as integers, products
 *  of tiles. */
#include "engines/cuda/module/fetch.cuh"
#include "tile.cuh"

namespace mpki {

/** Rows of the packed triangle of a matrix of order n. By each thread for itself; no barrier. */
__host__ __device__ inline int panel_rows(int n) {
    return (n + 7) / 8 * 8;
}

/** Leading dimension of the panel: columns of a fragment lie in different banks. By each thread
 *  for itself; no barrier. */
__host__ __device__ inline int panel_ld(int n) { /* columns of a fragment in different banks */
    return (n + 15) / 16 * 16 + 4;
}

/** Shared memory for a matrix: a triangle, the panel's L and L D, the permutation, votes of the
 *  warps. By each thread for itself; no barrier. */
template <class R> __host__ __device__ inline size_t panel_bytes(int n) {
    const int rows = panel_rows(n);
    return (size_t)(rows * (rows + 1) / 2 + 2 * PANEL * panel_ld(n)) * sizeof(R) + 64 +
           16 * PANEL_WARPS;
}

/** |x| as an integer in the same order: its upper 32 bits. NaN is above all. By each thread for
 *  itself; no barrier. */
__device__ inline unsigned size_key(double x) {
    return (unsigned)__double2hiint(x) & 0x7fffffffu;
}
__device__ inline unsigned size_key(float x) {
    return __float_as_uint(x) & 0x7fffffffu;
}

/** The row with the largest key of a warp, whose lanes have those of rows lane and lane + 32;
 *  the lowest of equal ones; -1: all are 0. By all lanes of a warp, in shuffles; no block
 *  barrier. */
template <int ROWS> __device__ inline int row_of_largest(const unsigned *key) {
    const unsigned all = 0xffffffffu;
    unsigned most = key[0];
    if (ROWS > 1 && key[ROWS - 1] > most) most = key[ROWS - 1];
    most = __reduce_max_sync(all, most);
    if (most == 0) return -1;
    const unsigned first = __ballot_sync(all, key[0] == most);
    if (ROWS == 1 || first) return __ffs((int)first) - 1;
    return 31 + __ffs((int)__ballot_sync(all, key[ROWS - 1] == most));
}

/** c1 := c2. By each thread for itself; no barrier. */
template <int ROWS, class R> __device__ inline void take(R *c1, const R *c2) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) c1[r] = c2[r];
}

/** {x, y} += a 8 x 4 tile times a 4 x 8 one. The lane has (lane / 4, lane % 4) of the first,
 *  (lane % 4, lane / 4) of the second, (lane / 4, 2 (lane % 4)) and the next of the sum. By all
 *  lanes of a warp; no barrier. */
__device__ inline void add_tiles(double &x, double &y, double a, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(x), "+d"(y)
        : "d"(a), "d"(b));
#else
    const int lane = (int)(threadIdx.x % 32);
    for (int k = 0; k < 4; ++k) {
        const double f = __shfl_sync(0xffffffffu, a, lane / 4 * 4 + k);
        x += f * __shfl_sync(0xffffffffu, b, lane % 4 * 8 + k);
        y += f * __shfl_sync(0xffffffffu, b, lane % 4 * 8 + 4 + k);
    }
#endif
}

} // namespace mpki
#endif
