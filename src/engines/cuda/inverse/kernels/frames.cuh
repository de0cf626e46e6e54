/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_FRAMES_CUH
#define MPKI_CUDA_INVERSE_FRAMES_CUH
/** Columns of approximate inverses whose pattern is one of frames: those of a frame have the same
 *  rows, and share one system. */
#include "fused.cuh"

namespace mpki {

/** As streamed_kernel() for the portions `list`, up to C columns of a frame each: a row is read
 *  once for all of them. The triangle's diagonal is 1. Shuffles, no barrier. */
template <class T, int W, int R, int C, bool UPPER>
__global__ void __launch_bounds__(ISAI_THREADS)
    framed_kernel(const mpki_isai_inversion v, const mpki_isai_portions g, const int32_t *list,
                  int64_t count) {
    const int lane = (int)(threadIdx.x % W);
    const int64_t group = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / W;
    const bool there = group < count;
    const int32_t portion = there ? list[group] : 0;
    const int32_t j = g.first[portion], columns = there ? g.columns[portion] : 0;
    const int64_t begin = v.m.ptr[j];
    const int have = there ? (int)(v.m.ptr[j + 1] - begin) : 0;
    const int steps = W == 1 ? 1 : __reduce_max_sync(0xffffffffu, have);
    bool good = true;
    reader<T, UPPER> row[R];
    int32_t key[R];
    T x[R][C];
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = lane + W * r;
        const int32_t i = t < have ? v.m.index[begin + place_of<UPPER>(have, t)] : -1;
        key[r] = i < 0 ? INT_MIN : key_of<UPPER>(i);
        row[r].open(v.rows, i, key_of<UPPER>(UPPER ? j + columns - 1 : j));
#pragma unroll
        for (int k = 0; k < C; ++k) { /* what is farther from the diagonal comes first */
            const int c = UPPER ? C - 1 - k : k;
            x[r][c] = make<T>(0);
            if (c < columns && row[r].reach(key_of<UPPER>(j + c)))
                x[r][c] = subtract(x[r][c], row[r].take(), make<T>(1));
        }
    }
#pragma unroll
    for (int q = 0; q < R; ++q) {
        const int end = steps - W * q < W ? steps - W * q : W;
        for (int k = 0; k < end; ++k) {
            const int32_t want = of_lane<W>(key[q], k);
            T known[C];
#pragma unroll
            for (int c = 0; c < C; ++c) known[c] = of_lane<W>(x[q][c], k);
#pragma unroll
            for (int r = q; r < R; ++r) {
                if (!((r > q || lane > k) && row[r].reach(want))) continue;
                const T entry = row[r].take();
#pragma unroll
                for (int c = 0; c < C; ++c) x[r][c] = subtract(x[r][c], entry, known[c]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = lane + W * r;
        if (t >= have) continue;
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (c >= columns) continue;
            good = good && is_finite(x[r][c]);
            ((T *)v.m.val)[v.m.ptr[j + c] + place_of<UPPER>(have, t)] = x[r][c];
        }
    }
    if (!good) atomicMin(v.bad, j);
}

/** As framed_kernel() for portions of more entries, a block each: up to R rows a thread. One block
 *  barrier a step. */
template <class T, int R, int C, bool UPPER>
__global__ void __launch_bounds__(ISAI_BLOCK)
    framed_block_kernel(const mpki_isai_inversion v, const mpki_isai_portions g,
                        const int32_t *list) {
    __shared__ int32_t wanted[2];
    __shared__ T known[2][C];
    const int32_t portion = list[blockIdx.x], j = g.first[portion], columns = g.columns[portion];
    const int64_t begin = v.m.ptr[j];
    const int have = (int)(v.m.ptr[j + 1] - begin), tid = (int)threadIdx.x;
    bool good = true;
    reader<T, UPPER> row[R];
    int32_t index[R];
    T x[R][C];
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = tid + ISAI_BLOCK * r;
        index[r] = t < have ? v.m.index[begin + place_of<UPPER>(have, t)] : -1;
        row[r].open(v.rows, index[r], key_of<UPPER>(UPPER ? j + columns - 1 : j));
#pragma unroll
        for (int k = 0; k < C; ++k) { /* what is farther from the diagonal comes first */
            const int c = UPPER ? C - 1 - k : k;
            x[r][c] = make<T>(0);
            if (c < columns && row[r].reach(key_of<UPPER>(j + c)))
                x[r][c] = subtract(x[r][c], row[r].take(), make<T>(1));
        }
    }
#pragma unroll
    for (int q = 0; q < R; ++q) {
        const int end = have - ISAI_BLOCK * q < ISAI_BLOCK ? have - ISAI_BLOCK * q : ISAI_BLOCK;
        for (int k = 0; k < end; ++k) {
            if (tid == k) {
#pragma unroll
                for (int c = 0; c < C; ++c) known[k % 2][c] = x[q][c];
                wanted[k % 2] = key_of<UPPER>(index[q]);
            }
            __syncthreads();
#pragma unroll
            for (int r = q; r < R; ++r) {
                if (!((r > q || tid > k) && row[r].reach(wanted[k % 2]))) continue;
                const T entry = row[r].take();
#pragma unroll
                for (int c = 0; c < C; ++c) x[r][c] = subtract(x[r][c], entry, known[k % 2][c]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = tid + ISAI_BLOCK * r;
        if (t >= have) continue;
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (c >= columns) continue;
            good = good && is_finite(x[r][c]);
            ((T *)v.m.val)[v.m.ptr[j + c] + place_of<UPPER>(have, t)] = x[r][c];
        }
    }
    if (!good) atomicMin(v.bad, j);
}

} // namespace mpki

#endif
