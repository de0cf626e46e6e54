/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_BELOW_CUH
#define MPKI_CUDA_DENSE_TILE_BELOW_CUH
/** What a factored block does to the rest of its tile: the rows below it, the trailing part. */
#include "tile_memory.cuh"

namespace mpki {

/** An entry of a row of L = W D^-1, from the row's entries w, before and after in W and D^-1's
 *  di, ei_before, ei. By each thread for itself; no barrier. */
template <bool H, class T>
__device__ inline T times_dinv(T before, T w, T after, T ei_before, T di, T ei) {
    T l = w * di;
    pfma(l, after, ei);
    pfma(l, before, cj<H>(ei_before));
    return l;
}

/** How many of its 32 candidates a block takes. */
template <bool PIVOT> struct block_step { static const int STEP = PIVOT ? 32 - KEEP : 32; };

/** Rows of the tile below the factored block at c0: L in place, W in tmp, and what the block
 *  kept brought up to date. Rows of finished columns follow the block's order. By all threads of
 *  a block; no barrier. */
template <bool H, bool PIVOT, class T, bool FOLLOW = true>
__device__ void block_below(tile_memory<T> &m, int c0, typename scalar_of<T>::real limit,
                            typename scalar_of<T>::real tiny) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, tid = threadIdx.x;
    const int STEP = block_step<PIVOT>::STEP, LW = B - 32;
    T *S = m.S;
    const int rest = B - c0 - 32;
    if (tid < rest) {
        const int i = c0 + 32 + tid;
        const bool pairs = m.pairs;
        T w[32];
#pragma unroll
        for (int k = 0; k < 32; ++k) w[k] = S[i + (c0 + (PIVOT ? m.from[k] : k)) * LD];
#pragma unroll
        for (int k = 0; k < (STEP < 31 ? STEP : 31); ++k) {
#pragma unroll
            for (int j = k + 1; j < 32; ++j) nfma(w[j], w[k], cj<H>(m.Lt[k * 32 + j]));
        }
        bool bad = false;
#pragma unroll
        for (int k = 0; k < 32; ++k) {
            T l = w[k];
            if (PIVOT && k < STEP && pairs) {
                l = times_dinv<H>(k ? w[k ? k - 1 : 0] : make<T>(0), w[k], w[k < 31 ? k + 1 : 31],
                                  k ? m.ei[c0 + k - 1] : make<T>(0), m.di[c0 + k], m.ei[c0 + k]);
                bad |= !(abs1(l) <= limit) || (m.zero[c0 + k] && !(abs1(w[k]) <= tiny));
            } else if (k < STEP) {
                l = w[k] * m.di[c0 + k];
                if (PIVOT) bad |= !(abs1(l) <= limit);
            }
            S[i + (c0 + k) * LD] = l;
            if (k < STEP) m.tmp[k * LW + tid] = w[k];
        }
        if (PIVOT && bad) m.failed = 1;
    }
    if (PIVOT && FOLLOW && tid >= TILE_THREADS - c0) {
        const int j = tid - (TILE_THREADS - c0);
        T v[32];
#pragma unroll
        for (int k = 0; k < 32; ++k)
            if (c0 + k < B) v[k] = S[c0 + m.from[k] + j * LD];
#pragma unroll
        for (int k = 0; k < 32; ++k)
            if (c0 + k < B) S[c0 + k + j * LD] = v[k];
    }
}

/** 32 rows x 8 columns of the tile's trailing part -= L W^T: rows 32 g and columns 8 h beyond
 *  the block at c0 and the 32 columns after it. By all lanes of a warp; no barrier. */
template <bool H, bool PIVOT, class T>
__device__ inline void trailing_piece(tile_memory<T> &m, int c0, int g, int h) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, LW = B - 32;
    const int STEP = block_step<PIVOT>::STEP, lane = threadIdx.x & 31;
    const int i = c0 + 32 + 32 * g + lane, j0 = c0 + 32 + 8 * h;
    T c[8];
    if (i >= B) return;
#pragma unroll
    for (int y = 0; y < 8; ++y) c[y] = make<T>(0);
    const T *l = m.S + i + c0 * LD, *w = m.tmp + 8 * h;
#pragma unroll 8
    for (int k = 0; k < STEP; ++k) {
        const T lk = l[k * LD];
#pragma unroll
        for (int y = 0; y < 8; ++y) pfma(c[y], lk, cj<H>(w[k * LW + y]));
    }
#pragma unroll
    for (int y = 0; y < 8; ++y)
        if (i >= j0 + y) m.S[i + (j0 + y) * LD] = m.S[i + (j0 + y) * LD] - c[y];
}

/** The trailing part after the block at c0. first: the pieces that the next block needs, by the
 *  first warps; else the others, by all warps but the first. By whole warps; no barrier. */
template <bool H, bool PIVOT, class T>
__device__ void trailing(tile_memory<T> &m, int c0, bool first) {
    const int rest = tile_memory<T>::B - c0 - 32, warp = threadIdx.x >> 5;
    const int STEP = block_step<PIVOT>::STEP, soon = STEP / 8, groups = (rest + 31) / 32;
    if (rest <= 0) return;
    if (first) {
        for (int h = warp; h < soon && 8 * h < rest; h += TILE_THREADS / 32)
            trailing_piece<H, PIVOT>(m, c0, 0, h);
        return;
    }
    int t = 0;
    for (int g = groups - 1; g >= 0; --g)
        for (int h = 0; h < 4 * (g + 1) && 8 * h < rest; ++h) {
            if (g == 0 && h < soon) continue;
            if (t++ % (TILE_THREADS / 32 - 1) == warp - 1) trailing_piece<H, PIVOT>(m, c0, g, h);
        }
}

} // namespace mpki
#endif
