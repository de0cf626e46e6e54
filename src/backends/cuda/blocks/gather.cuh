/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCKS_GATHER_CUH
#define MPKI_CUDA_BLOCKS_GATHER_CUH
/** Updates pulled into a work block in shared memory by a warp: C -= L_ik (D_k L_jk^T) for each
 *  frame k in the lists of both i and j before j, in the order of places. No list of updates: the
 *  lists of rows i and j, which are sorted by place, are intersected 32 entries at a time. */
#include "packed.cuh"

namespace mpki {

/** w (depth x ., ld) := D B^T (D B^H) of the packed block (cols of w: rows of B). */
template <class T>
__device__ inline void right_operand(const uint32_t *words, int cols, int depth, const T *d,
                                     int hermitian, int ld, T *w) {
    const int lane = (int)(threadIdx.x % 32);
    T one = make<T>(0), two = make<T>(0);
    int other = lane;
    if (lane < depth) {
        one = d[2 * lane];
        const T next = d[2 * lane + 1], before = lane ? d[2 * lane - 1] : make<T>(0);
        if (lane + 1 < depth && abs1(next) > 0)
            two = cj(hermitian, next), other = lane + 1;
        else if (lane && abs1(before) > 0)
            two = before, other = lane - 1;
    }
    const bool pairs = __any_sync(WARP, other != lane);
    packed<T> b(words);
    for (int c = 0; c < cols; ++c) {
        T x = make<T>(0);
        if (b.rows >> c & 1) {
            const unsigned m = *b.mask++;
            if (m >> lane & 1) x = cj(hermitian, b.value[b.at + __popc(m & below(lane))]);
            b.at += __popc(m);
        }
        T y = x * one;
        if (pairs) {
            const T z = shfl(x, other);
            if (other != lane) y = y + z * two;
        }
        if (lane < depth) w[lane * ld + c] = y;
    }
    __syncwarp();
}

/** c (. x cols, ld) -= A w of a packed A. */
template <class T>
__device__ inline void minus_product(const uint32_t *words, int cols, int ld, const T *w, T *c) {
    const int lane = (int)(threadIdx.x % 32);
    if (lane < cols) {
        packed<T> a(words);
        for (unsigned rows = a.rows; rows; rows &= rows - 1) {
            T *const to = c + (__ffs((int)rows) - 1) * ld + lane;
            unsigned m = *a.mask++;
            T sum = make<T>(0);
            while (m) { /* four at a time, so that loads overlap */
                int k[4];
                T v[4];
#pragma unroll
                for (int u = 0; u < 4; ++u) {
                    k[u] = m ? __ffs((int)m) - 1 : -1;
                    m &= m - 1;
                }
#pragma unroll
                for (int u = 0; u < 4; ++u)
                    v[u] = k[u] >= 0 ? a.value[a.at + u] : make<T>(0);
#pragma unroll
                for (int u = 0; u < 4; ++u)
                    if (k[u] >= 0) pfma(sum, v[u], w[k[u] * ld + lane]), ++a.at;
            }
            *to = *to - sum;
        }
    }
    __syncwarp();
}

/** Entries of a list that a warp holds, 32 at a time. */
struct window {
    int64_t at, end; /* of the list */
    int place;       /* of the lane's entry; INT32_MAX: none */
    __device__ void load(const int32_t *there) {
        const int64_t e = at + (int)(threadIdx.x % 32);
        place = e < end ? there[e] : 0x7fffffff;
    }
};

/** All updates of block (i, j) from `from`, half 0: C = A_ij - sum L_ik D_k U_kj; half 1 of LDU: the
 *  transposed other half. Returns the flops. all: empty blocks count too. */
template <class T>
__device__ inline unsigned long long pull_updates(const mpki_cuda_stage &b, int half, int i, int j,
                                                  int ld, T *w, T *c) {
    const int lane = (int)(threadIdx.x % 32);
    const int64_t *const left = half ? b.from.upper : b.from.lower;
    const int64_t *const right = half ? b.from.lower : b.from.upper;
    const int cols = b.bptr[j + 1] - b.bptr[j], rows = b.bptr[i + 1] - b.bptr[i];
    unsigned long long flops = 0;
    window x = {b.ptr[i], b.diagonal[i], 0}, y = {b.ptr[j], b.diagonal[j], 0};
    x.load(b.there), y.load(b.there);
    while (x.at < x.end && y.at < y.end) {
        /* each lane looks for its entry of j among those of i */
        int at = 0;
#pragma unroll
        for (int h = 16; h; h /= 2) {
            const int p = __shfl_sync(WARP, x.place, at + h - 1);
            if (p < y.place) at += h;
        }
        const int found = __shfl_sync(WARP, x.place, at);
        bool both = y.place != 0x7fffffff && found == y.place;
        int64_t l = -1, r = -1;
        int k = 0;
        if (both) {
            l = left[b.block[x.at + at]], r = right[b.block[y.at + lane]];
            k = b.other[y.at + lane];
        }
        for (unsigned m = __ballot_sync(WARP, both && l >= 0 && r >= 0); m; m &= m - 1) {
            const int who = __ffs((int)m) - 1;
            const int64_t lw = __shfl_sync(WARP, l, who), rw = __shfl_sync(WARP, r, who);
            const int kk = __shfl_sync(WARP, k, who);
            const int depth = b.bptr[kk + 1] - b.bptr[kk];
            right_operand<T>(b.from.words + rw, cols, depth,
                             (const T *)b.from.d + 2 * (int64_t)b.bptr[kk], b.hermitian && !half,
                             ld, w);
            minus_product<T>(b.from.words + lw, cols, ld, w, c);
            flops += 2ull * rows * depth * cols;
        }
        if (b.sweep) { /* a sweep's blocks are dense: it counts what is zero as well */
            for (unsigned m = __ballot_sync(WARP, both && !(l >= 0 && r >= 0)); m; m &= m - 1) {
                const int kk = __shfl_sync(WARP, k, __ffs((int)m) - 1);
                flops += 2ull * rows * (b.bptr[kk + 1] - b.bptr[kk]) * cols;
            }
        }
        const int px = __shfl_sync(WARP, x.place, 31), py = __shfl_sync(WARP, y.place, 31);
        if (px <= py) x.at += 32, x.load(b.there);
        if (py <= px) y.at += 32, y.load(b.there);
    }
    return flops;
}

} // namespace mpki
#endif
