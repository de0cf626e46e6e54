/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_GATHER_CUH
#define MPKI_CUDA_INVERSE_GATHER_CUH
/** A finished factor on blocks (block_factor/store.h) as a unit triangle of numbers and pivot
 *  blocks: of engines/cpu/block_factor/inverse_t.c of the processor what a device needs. */
#include "engines/cuda/block_factor/kernels/packed.cuh"
#include "engines/cuda/module/launch.cuh"
#include "inverse.h"

namespace mpki {

enum { GATHER_WARPS = 2 };

/** The strict columns of L^ = I + N, N_ik = L_ik M_k (half 1: U_ik^T N_k): counts into
 *  ptr[column + 1], or, where g has memory for them, the entries. A warp takes a frame, a lane a
 *  column; __syncwarp(). */
template <class T>
__global__ void __launch_bounds__(32 * GATHER_WARPS) gather_kernel(const mpki_isai_gathering g) {
    __shared__ T pivots[GATHER_WARPS][32 * 33];
    const mpki_cuda_store &s = g.store;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t f = (int64_t)blockIdx.x * GATHER_WARPS + warp;
    if (f >= s.m) return;
    T *const m = pivots[warp];
    const int w = s.bptr[f + 1] - s.bptr[f];
    const int64_t *const place = g.half ? s.upper : s.lower;
    const int64_t pivot = (g.half ? s.pivot_n : s.pivot)[f];
    unpack(pivot < 0 ? (const uint32_t *)0 : s.words + pivot, w, 33, true, m);
    __syncwarp();
    const int64_t column = g.start[f] + lane;
    int64_t at = g.fill && lane < w ? g.to_ptr[column] : 0;
    for (int64_t e = s.diagonal[f] + 1; e < s.ptr[f + 1]; ++e) {
        const int64_t where = place[s.block[e]];
        if (where < 0) continue;
        packed<T> b(s.words + where);
        const int32_t first = g.start[s.other[e]];
        for (unsigned rows = b.rows; rows; rows &= rows - 1) {
            T sum = make<T>(0);
            for (unsigned columns = *b.mask++; columns; columns &= columns - 1) {
                const T l = b.value[b.at++];
                if (lane < w) sum = sum + l * m[(__ffs((int)columns) - 1) * 33 + lane];
            }
            if (lane >= w || is_zero(sum)) continue;
            if (g.fill) {
                g.to_index[at] = first + __ffs((int)rows) - 1;
                ((T *)g.to_val)[at] = sum;
            }
            ++at;
        }
    }
    if (!g.fill && lane < w) g.to_ptr[column + 1] = at;
}

/** *mixed := 1 where a frame's M or N is not the identity. A thread takes a frame; an atomic
 *  maximum. */
template <class T> __global__ void identity_kernel(const mpki_isai_gathering g) {
    const mpki_cuda_store &s = g.store;
    const int64_t f = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= s.m) return;
    const int w = s.bptr[f + 1] - s.bptr[f];
    for (int half = 0; half < 2; ++half) {
        const int64_t where = (half ? s.pivot_n : s.pivot)[f];
        bool same = where >= 0;
        if (same) {
            packed<T> b(s.words + where);
            same = b.rows == low_bits(w);
            for (int r = 0; r < w && same; ++r) {
                same = b.mask[r] == 1u << r;
                if (same) same = is_zero(b.value[r] + make<T>(1));
            }
        }
        if (!same) atomicMax(g.mixed, 1);
    }
}

/** x := M_f x, or backward N_f^T x (N_f^H), for all frames. A warp takes a frame, a lane a row;
 *  shuffles. */
template <class T>
__global__ void __launch_bounds__(32 * GATHER_WARPS)
    pivot_kernel(const mpki_isai_gathering g, int backward, T *x) {
    const mpki_cuda_store &s = g.store;
    const int lane = (int)(threadIdx.x % 32);
    const int64_t f = (int64_t)blockIdx.x * GATHER_WARPS + threadIdx.x / 32;
    if (f >= s.m) return;
    const int w = s.bptr[f + 1] - s.bptr[f];
    const int64_t where = (backward ? s.pivot_n : s.pivot)[f];
    T *const at = x + g.start[f];
    const T own = lane < w ? at[lane] : make<T>(0);
    T to = make<T>(0);
    if (where >= 0) {
        packed<T> b(s.words + where);
        for (int r = 0; r < w; ++r) {
            if (!(b.rows >> r & 1)) continue;
            const unsigned columns = *b.mask++;
            T v = make<T>(0);
            if (columns >> lane & 1) v = b.value[b.at + __popc(columns & below(lane))];
            b.at += __popc(columns);
            if (backward) {
                const T there = shfl(own, r);
                to = to - (s.hermitian ? conj(v) : v) * there;
            } else {
                T sum = v * own;
                for (int o = 16; o; o /= 2) sum = sum + shfl_xor(sum, o);
                if (lane == r) to = -sum;
            }
        }
    }
    if (lane < w) at[lane] = to;
}

} // namespace mpki

#endif
