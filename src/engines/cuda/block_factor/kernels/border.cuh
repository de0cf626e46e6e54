/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_BORDER_CUH
#define MPKI_CUDA_BLOCK_FACTOR_BORDER_CUH
/** The dense pivot that ends the stages (engines/cpu/block_factor/border.h): what the accepted
 *  frames leave of its rows, and the inverse of its L. A triangular solve with a dense L of some
 *  thousands of rows is a chain of as many steps; products with L^-1 are two passes over memory
 *  (accuracy as that of solves with the condition of L, which pivots bound). */
#include "stage.cuh"

namespace mpki {

/** S := S - sum of updates, of the portion's work blocks on the dense pivot's rows; they are 0
 *  afterwards. A block takes a work block; block barriers. */
template <class T>
__global__ void __launch_bounds__(32 * WARPS)
    border_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    MPKI_SMEM;
    if (b.notes->stop) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t t = (int64_t)blockIdx.x, e = b.entry[po.first_item + t];
    const int frame = b.who[b.item_who[po.first_item + t]], row = b.other[e];
    const int w = b.bptr[frame + 1] - b.bptr[frame], rows = b.bptr[row + 1] - b.bptr[row];
    const gather_memory<T> s(smem + (size_t)warp * gather_memory<T>::bytes(b.largest), b.largest);
    const gather_memory<T> first(smem, b.largest);
    T *const work = (T *)b.work + b.slot[e];
    unsigned long long flops = 0;
    if (warp == 0)
        for_rows(rows, w, w, work, [&](int r, T x) {
            if (lane >= w) return;
            s.c[r * s.ld + lane] = x;
            work[r * w + lane] = make<T>(0);
        });
    __syncthreads();
    if (!b.relaxed) flops = pull_together<WARPS>(b, 0, row, frame, s, smem);
    T *const to = (T *)b.border_s + b.border_start[row];
    for (int k = warp; k < w; k += WARPS)
        if (lane < rows && (row != frame || lane >= k))
            to[lane + (int64_t)(b.border_start[frame] + k) * b.border] = first.c[lane * s.ld + k];
    if (lane != 0) return;
    if (warp == 0) b.need[t] = 0;
    if (flops) atomicAdd(&b.notes->flops, flops);
}

/** M = D = I for the portion's frames; the host counts their pivots. A warp takes a frame; no
 *  barrier. */
template <class T>
__global__ void __launch_bounds__(32)
    border_frame_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    if (b.notes->stop) return;
    const int lane = (int)threadIdx.x, frame = b.who[po.first + (int)blockIdx.x];
    const int w = b.bptr[frame + 1] - b.bptr[frame];
    const at_pivot<T> to(b, (int)blockIdx.x);
    if (lane < w) {
        for (int r = 0; r < w; ++r) to.m[0][r * w + lane] = make<T>(r == lane);
        to.d[2 * lane] = to.dinv[2 * lane] = make<T>(1);
        to.d[2 * lane + 1] = to.dinv[2 * lane + 1] = make<T>(0);
    }
    if (lane != 0) return;
    mpki_cuda_pivots_of none = {};
    none.smallest = INFINITY;
    b.pivots[frame] = none;
}

/* ---- L^-1 ------------------------------------------------------------------------------------ */

enum { TILE = 32, INVERT_WARPS = 8, INVERT_ROWS = TILE / INVERT_WARPS, TILE_LD = TILE + 1 };

/** 32 columns of V = L^-1 by tiles of rows: V_i = L_ii^-1 (E_i - sum_k L_ik V_k). A block takes
 *  32 columns; block barriers. */
template <class T>
__global__ void __launch_bounds__(32 * INVERT_WARPS) invert_kernel(int n, const T *l, T *v) {
    MPKI_SMEM;
    T *const a = (T *)smem, *const x = a + TILE * TILE_LD;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int j0 = TILE * (int)blockIdx.x, column = j0 + lane;
    for (int i0 = j0; i0 < n; i0 += TILE) {
        T sum[INVERT_ROWS];
#pragma unroll
        for (int u = 0; u < INVERT_ROWS; ++u) sum[u] = make<T>(0);
        for (int k0 = j0; k0 < i0; k0 += TILE) {
            for (int k = warp; k < TILE; k += INVERT_WARPS) {
                const int row = i0 + lane;
                a[lane * TILE_LD + k] = row < n ? l[row + (int64_t)(k0 + k) * n] : make<T>(0);
                x[k * TILE_LD + lane] =
                    k0 + k > column ? v[(int64_t)(k0 + k) * n + column] : make<T>(k0 + k == column);
            }
            __syncthreads();
            for (int k = 0; k < TILE; ++k)
#pragma unroll
                for (int u = 0; u < INVERT_ROWS; ++u)
                    pfma(sum[u], a[(INVERT_ROWS * warp + u) * TILE_LD + k], x[k * TILE_LD + lane]);
            __syncthreads();
        }
#pragma unroll
        for (int u = 0; u < INVERT_ROWS; ++u) {
            const int r = INVERT_ROWS * warp + u;
            x[r * TILE_LD + lane] = make<T>(i0 + r == column) - sum[u];
        }
        for (int k = warp; k < TILE; k += INVERT_WARPS)
            if (i0 + lane < n && i0 + k < n)
                a[lane * TILE_LD + k] = l[i0 + lane + (int64_t)(i0 + k) * n];
        __syncthreads();
        if (warp == 0) /* each lane its column */
            for (int r = 1; r < TILE && i0 + r < n; ++r) {
                T y = make<T>(0);
                for (int k = 0; k < r; ++k) pfma(y, a[r * TILE_LD + k], x[k * TILE_LD + lane]);
                x[r * TILE_LD + lane] = x[r * TILE_LD + lane] - y;
            }
        __syncthreads();
        for (int r = warp; r < TILE; r += INVERT_WARPS)
            if (i0 + r < n && column < i0 + r)
                v[(int64_t)(i0 + r) * n + column] = x[r * TILE_LD + lane];
        __syncthreads();
    }
}

/** The upper triangle of V := the transposed lower one, with 0 on the diagonal. A block takes a
 *  tile; one block barrier. */
template <class T> __global__ void __launch_bounds__(32 * INVERT_WARPS) mirror_kernel(int n, T *v) {
    MPKI_SMEM;
    T *const a = (T *)smem;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int tiles = (n + TILE - 1) / TILE;
    const int i0 = TILE * (int)(blockIdx.x / tiles), j0 = TILE * (int)(blockIdx.x % tiles);
    if (i0 < j0) return;
    for (int r = warp; r < TILE; r += INVERT_WARPS)
        a[r * TILE_LD + lane] =
            i0 + r < n && j0 + lane < i0 + r ? v[(int64_t)(i0 + r) * n + j0 + lane] : make<T>(0);
    __syncthreads();
    for (int c = warp; c < TILE; c += INVERT_WARPS)
        if (j0 + c <= i0 + lane && i0 + lane < n)
            v[(int64_t)(j0 + c) * n + i0 + lane] = a[lane * TILE_LD + c];
}

} // namespace mpki
#endif
