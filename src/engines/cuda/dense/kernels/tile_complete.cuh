/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_COMPLETE_CUH
#define MPKI_CUDA_DENSE_TILE_COMPLETE_CUH
/** A tile with complete pivoting (Bunch & Parlett 1971), used where its blocks failed the threshold
 *  test. */
#include "kernels/alpha.h"
#include "tile_memory.cuh"

namespace mpki {

/** The largest k of all threads' (k, where); of equal ones the lowest position. slot: 0 or 1, in
 *  turns. By all threads of a block; one block barrier. */
template <class T>
__device__ void block_argmax(tile_memory<T> &m, int slot, unsigned &k, int &where) {
    for (int o = 16; o; o >>= 1) {
        const unsigned ok = __shfl_xor_sync(0xffffffffu, k, o);
        const int ow = __shfl_xor_sync(0xffffffffu, where, o);
        if (ok > k || (ok == k && ow < where)) k = ok, where = ow;
    }
    if ((threadIdx.x & 31) == 0) {
        m.best[slot][threadIdx.x >> 5] = k;
        m.where[slot][threadIdx.x >> 5] = where;
    }
    __syncthreads();
    k = 0, where = 0x7fffffff;
    for (int w = 0; w < TILE_THREADS / 32; ++w) {
        const unsigned ok = m.best[slot][w];
        const int ow = m.where[slot][w];
        if (ok > k || (ok == k && ow < where)) k = ok, where = ow;
    }
}

/** a and b change their values. By each thread for itself; no barrier. */
template <class T> __device__ inline void swap_values(T &a, T &b) {
    T t = a;
    a = b, b = t;
}

/** L D L^T of the nb columns of the tile, both triangles in S, with complete pivoting. Slow, and
 *  rarely needed. By all threads of a block; contains block barriers. */
template <bool H, class T>
__device__ void tile_complete(tile_memory<T> &m, int nb, int take,
                              typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const int LD = tile_memory<T>::LD, tid = threadIdx.x;
    const R alpha = (R)MPKI_ALPHA;
    T *S = m.S;
    for (int t = tid; t < nb * nb; t += TILE_THREADS) {
        const int i = t % nb, j = t / nb;
        if (i < j) S[i + j * LD] = cj<H>(S[j + i * LD]);
        if (i == j) S[i + j * LD] = diagonal<H>(S[i + j * LD]);
    }
    if (tid < nb) m.order[tid] = tid;
    __syncthreads();
    for (int k = 0; k < take;) {
        unsigned k1 = 0, k0 = 0;
        int w1 = 0x7fffffff, w0 = 0x7fffffff;
        for (int t = tid; t < (nb - k) * (nb - k); t += TILE_THREADS) {
            const int i = k + t % (nb - k), j = k + t / (nb - k);
            if (i < j) continue;
            const unsigned q = key(S[i + j * LD]);
            if (i == j) {
                if (q > k1 || w1 == 0x7fffffff) k1 = q, w1 = i;
            } else if (q > k0) {
                k0 = q, w0 = i + 256 * j;
            }
        }
        block_argmax(m, 0, k1, w1);
        block_argmax(m, 1, k0, w0);
        const bool nothing = unkey<R>(max(k0, k1)) <= tiny;
        const bool one = nothing || k0 == 0 || (k + 1 == take && take < nb) || w0 == 0x7fffffff ||
                         unkey<R>(k1) >= alpha * unkey<R>(k0);
        const int steps = one ? 1 : 2;
        for (int q = 0; q < steps; ++q) { /* bring pivots r > = k + q to the front: columns, rows */
            const int to = k + q, r = one ? w1 : q == 0 ? w0 / 256 : w0 % 256;
            /* the first swap may have moved the second pivot */
            const int from = q == 1 && r == k ? w0 / 256 : r;
            __syncthreads();
            if (from != to) {
                if (tid < nb) swap_values(S[to + tid * LD], S[from + tid * LD]);
                __syncthreads();
                if (tid >= k && tid < nb) swap_values(S[tid + to * LD], S[tid + from * LD]);
                if (tid == 0) swap_values(m.order[to], m.order[from]);
            }
            __syncthreads();
        }
        if (one) {
            const bool none = nothing || is_zero(S[k + k * LD]);
            const T d = none ? make<T>(0) : S[k + k * LD];
            const T di = none ? make<T>(0) : inverse(d);
            if (tid < nb - k - 1) m.tmp[tid] = S[k + 1 + tid + k * LD];
            __syncthreads();
            const int rest = nb - k - 1;
            for (int t = tid; t < rest * rest; t += TILE_THREADS) {
                const int i = t % rest, j = t / rest;
                nfma(S[k + 1 + i + (k + 1 + j) * LD], m.tmp[i] * di, cj<H>(m.tmp[j]));
            }
            if (tid < rest) {
                const T l = m.tmp[tid] * di;
                S[k + 1 + tid + k * LD] = l;
                S[k + 1 + tid + (k + 1 + tid) * LD] =
                    diagonal<H>(S[k + 1 + tid + (k + 1 + tid) * LD]);
            }
            if (tid == 0) {
                m.d[k] = d, m.e[k] = make<T>(0), m.di[k] = di, m.ei[k] = make<T>(0);
                m.zero[k] = none;
            }
        } else {
            const T d1 = S[k + k * LD], b = S[k + 1 + k * LD], d2 = S[k + 1 + (k + 1) * LD];
            T i11, i21, i22;
            inverse2<H>(d1, b, d2, i11, i21, i22);
            const int rest = nb - k - 2;
            if (tid < rest) {
                m.tmp[tid] = S[k + 2 + tid + k * LD];
                m.tmp[128 + tid] = S[k + 2 + tid + (k + 1) * LD];
            }
            __syncthreads();
            for (int t = tid; t < rest * rest; t += TILE_THREADS) {
                const int i = t % rest, j = t / rest;
                const T w1i = m.tmp[i], w2i = m.tmp[128 + i];
                T &c = S[k + 2 + i + (k + 2 + j) * LD];
                nfma(c, w1i * i11 + w2i * i21, cj<H>(m.tmp[j]));
                nfma(c, w1i * cj<H>(i21) + w2i * i22, cj<H>(m.tmp[128 + j]));
                if (i == j) c = diagonal<H>(c);
            }
            if (tid < rest) {
                const T w1i = m.tmp[tid], w2i = m.tmp[128 + tid];
                S[k + 2 + tid + k * LD] = w1i * i11 + w2i * i21;
                S[k + 2 + tid + (k + 1) * LD] = w1i * cj<H>(i21) + w2i * i22;
            }
            if (tid == 0) {
                m.d[k] = d1, m.d[k + 1] = d2, m.e[k] = b, m.e[k + 1] = make<T>(0);
                m.di[k] = i11, m.di[k + 1] = i22, m.ei[k] = i21, m.ei[k + 1] = make<T>(0);
                m.zero[k] = m.zero[k + 1] = 0;
                S[k + 1 + k * LD] = make<T>(0);
            }
        }
        k += steps;
        __syncthreads();
    }
}

} // namespace mpki
#endif
