/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ISAI_PRODUCT_CUH
#define MPKI_CUDA_ISAI_PRODUCT_CUH
/** Products with an approximate inverse, or with what it is the inverse of, by rows. A block takes 256
 *  rows or fewer, a group of lanes each; it reads their entries in order, whatever row they are of,
 *  leaves the products in shared memory, and each group adds those of its row up. The order of a sum
 *  depends on the matrix alone. */
#include "../launch.cuh"
#include "exact.cuh"
#include "isai.h"

namespace mpki {

enum { TIMES_THREADS = 256 };

template <class T> struct times_tile {
    enum { EACH = sizeof(T) == 16 ? 4 : 8, SIZE = EACH * TIMES_THREADS };
};

/** An entry in single precision where T is of double. */
template <class T> struct single_of { typedef T type; };
template <> struct single_of<double> { typedef float type; };
template <> struct single_of<cx<double>> { typedef cx<float> type; };

__device__ inline void widen(float a, float &to) {
    to = a;
}
__device__ inline void widen(float a, double &to) {
    to = a;
}
__device__ inline void widen(double a, double &to) {
    to = a;
}
template <class F, class G> __device__ inline void widen(cx<F> a, cx<G> &to) {
    to = {(G)a.x, (G)a.y};
}

/** The sum over the block, known to all its threads. */
template <class T> __device__ inline T times_sum(T s) {
    __shared__ T part[TIMES_THREADS / 32];
    for (int o = 16; o; o /= 2) s = s + shfl_xor(s, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0];
    for (int w = 1; w < TIMES_THREADS / 32; ++w) s = s + part[w];
    return s;
}

/** Is this tile, a whole one, part of one row? */
__device__ inline bool is_spread(const int64_t *edge, int rows, int64_t tile, int count) {
    int low = 0, high = rows; /* the last row that begins at or before the tile */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (edge[middle] <= tile)
            low = middle;
        else
            high = middle;
    }
    return edge[low + 1] >= tile + count;
}

/** lanes: of each row, a power of two up to 32. */
template <class T, class V, bool CONJUGATE>
__global__ void __launch_bounds__(TIMES_THREADS, sizeof(T) == 16 ? 4 : 6)
    times_kernel(const mpki_isai_times p, int lanes) {
    enum { EACH = times_tile<T>::EACH, TILE = times_tile<T>::SIZE };
    __shared__ T product[TILE];
    __shared__ int64_t edge[TIMES_THREADS + 1];
    const int tid = (int)threadIdx.x, rows = TIMES_THREADS / lanes, own = tid / lanes;
    const int lane = tid % lanes;
    const int64_t row = (int64_t)blockIdx.x * rows, i = row + own;
    for (int k = tid; k <= rows; k += TIMES_THREADS) edge[k] = p.ptr[row + k < p.n ? row + k : p.n];
    __syncthreads();
    const int64_t first = edge[0], end = edge[rows];
    const V *__restrict__ const val = (const V *)p.val;
    const int32_t *__restrict__ const index = p.index;
    for (int64_t r = 0; r < p.nrhs; ++r) {
        const T *__restrict__ const x = (const T *)p.x + r * p.ldx;
        T sum = make<T>(0);
        for (int64_t tile = first; tile < end; tile += TILE) {
            const int count = end - tile < TILE ? (int)(end - tile) : (int)TILE;
            const bool spread = is_spread(edge, rows, tile, count);
            V v[EACH];
            int32_t c[EACH];
#pragma unroll
            for (int u = 0; u < EACH; ++u) {
                const int e = tid + u * TIMES_THREADS;
                if (e >= count) continue;
                v[u] = val[tile + e], c[u] = index[tile + e];
            }
#pragma unroll
            for (int u = 0; u < EACH; ++u) {
                const int e = tid + u * TIMES_THREADS;
                if (e >= count) continue;
                T wide;
                widen(v[u], wide);
                product[e] = cj<CONJUGATE>(wide) * x[c[u]];
            }
            __syncthreads();
            const int64_t from = edge[own] - tile, to = edge[own + 1] - tile;
            if (!spread) {
                const int begin = (int)(from < 0 ? 0 : from < count ? from : count);
                const int last = (int)(to < 0 ? 0 : to < count ? to : count);
                for (int e = begin + lane; e < last; e += lanes) sum = sum + product[e];
            } else { /* a long row: all threads add up what it has in this tile */
                T some = make<T>(0);
                for (int e = tid; e < count; e += TIMES_THREADS) some = some + product[e];
                some = times_sum(some);
                if (lane == 0 && from <= 0 && to >= count) sum = sum + some;
            }
            __syncthreads();
        }
        for (int o = lanes / 2; o; o /= 2) sum = sum + shfl_xor(sum, o);
        if (i >= p.n || lane > 0) continue;
        if (!p.no_diagonal) {
            T d = make<T>(1);
            if (p.diagonal) d = cj<CONJUGATE>(((const T *)p.diagonal)[i]);
            if (p.diagonal && p.inverse_diagonal) d = invert(d);
            sum = sum + d * x[i];
        }
        T *const y = (T *)p.y + r * p.ldy + i;
        if (p.b)
            *y = ((const T *)p.b)[r * p.ldb + i] - sum;
        else
            *y = p.add ? *y + sum : sum;
    }
}

} // namespace mpki

#endif
