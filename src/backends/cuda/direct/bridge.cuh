/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_BRIDGE_CUH
#define MPKI_CUDA_DIRECT_BRIDGE_CUH
/** How a strip of a chain ends: with M the inverse of its own square, z = M (y - L x) of all strips before it. Of the last two
 *  of these the product is taken apart, M y' - (M L'') x'' - (M L') x', and the bridges M L'' and M L' are kept beside M: then one
 *  product is left to be done when x' comes, and no block meets between x' and z. On the way back likewise (L' M)^T. */
#include "square.cuh"

namespace mpki {

/** Shared memory of a strip that depends on the number of right-hand sides. */
template <int NR, class T> struct strip_room {
    T *M, *y, *x,
        *part; /* the inverse of the strip's square; its own values, those of other rows; sums */
    static __host__ __device__ int64_t entries() {
        return STRIP * SQUARE + SWEEP_THREADS * NR + STRIP * NR + SWEEP_THREADS * NR;
    }
    __device__ strip_room(char *room)
        : M((T *)room), y(M + STRIP * SQUARE), x(y + STRIP * NR), part(x + SWEEP_THREADS * NR) {}
};

/** The sum over four lanes side by side, for all of them. */
template <class T> __device__ inline T quad_sum(T x) {
    x = x + shfl_xor(x, 1);
    return x + shfl_xor(x, 2);
}

/** Entries of a row of a strip that one of its four lanes has. */
static const int BRIDGED = STRIP / 4;

/** The bridges to a strip, from the one beside it and the one after that: as its threads read them, entry k of thread t at
 *  [k SWEEP_THREADS + t], which belongs to row t / 4 and value 4 k + t % 4 of the strip that it comes from. */
template <class T> struct strip_bridge {
    T *tile;   /* NULL: there is none */
    int count; /* of them */
    __device__ strip_bridge(const mpki_cuda_sweep &s, const mpki_cuda_chain &me, int strip,
                            bool back)
        : tile(NULL), count(0) {
        const int beyond = back ? me.strips - 1 - strip : strip; /* strips that it waits for */
        if (!s.bridge || me.bridge < 0 || beyond < 1 || strip >= me.strips) return;
        const int64_t at = (back ? s.bridges : 0) + me.bridge + beyond - 1; /* of strips - 1 */
        tile = (T *)s.bridge + at * MPKI_CUDA_BRIDGES * (int64_t)(STRIP * STRIP);
        count = beyond < MPKI_CUDA_BRIDGES ? beyond : MPKI_CUDA_BRIDGES;
    }
    /** The one from so many strips away: 1, 2. */
    __device__ T *from(int away) const { return tile + (away - 1) * (int64_t)(STRIP * STRIP); }
    __device__ void ahead() const {
        const int EACH = LINE / (int)sizeof(T);
        for (int k = (int)threadIdx.x; k < count * STRIP * STRIP / EACH; k += SWEEP_THREADS)
            bring(tile + k * EACH);
    }
};

/** All threads: the bridge forward, M L: of M the strip's inverse, which is there, and entry(i, k) of the square before it
 *  in its rows. */
template <int NR, class T, class ENTRY>
__device__ inline void make_bridge(const strip_room<NR, T> &m, T *tile, const ENTRY &entry) {
    const int AT_ONCE = 8, LEAD = STRIP + 4; /* columns, which fit where y, x and sums will be */
    const int tid = (int)threadIdx.x, row = tid >> 2, lane = tid & 3;
    T *const l = m.y;
    for (int k0 = 0; k0 < STRIP; k0 += AT_ONCE) {
        T z[AT_ONCE / 4];
        __syncthreads();
        for (int q = tid; q < AT_ONCE * STRIP; q += SWEEP_THREADS)
            l[q % STRIP + q / STRIP * LEAD] = entry(q % STRIP, k0 + q / STRIP);
        __syncthreads();
#pragma unroll
        for (int h = 0; h < AT_ONCE / 4; ++h) z[h] = make<T>(0);
#pragma unroll 4
        for (int q = 0; q < STRIP; ++q)
#pragma unroll
            for (int h = 0; h < AT_ONCE / 4; ++h)
                pfma(z[h], m.M[row + q * SQUARE], l[q + (4 * h + lane) * LEAD]);
#pragma unroll
        for (int h = 0; h < AT_ONCE / 4; ++h) tile[(k0 / 4 + h) * SWEEP_THREADS + tid] = z[h];
    }
    __syncthreads();
}
/** The one on the way back, L M: entry(i, k) of the rows of the strip after it, in its columns. */
template <int NR, class T, class ENTRY>
__device__ inline void make_bridge_back(const strip_room<NR, T> &m, T *tile, const ENTRY &entry) {
    const int AT_ONCE = 8, LEAD = STRIP + 4;
    const int tid = (int)threadIdx.x, row = tid >> 2, lane = tid & 3;
    T *const l = m.y, z[BRIDGED];
#pragma unroll
    for (int k = 0; k < BRIDGED; ++k) z[k] = make<T>(0);
    for (int k0 = 0; k0 < STRIP; k0 += AT_ONCE) {
        __syncthreads();
        for (int q = tid; q < AT_ONCE * STRIP; q += SWEEP_THREADS)
            l[q % STRIP + q / STRIP * LEAD] = entry(q % STRIP, k0 + q / STRIP);
        __syncthreads();
        for (int q = 0; q < AT_ONCE; ++q) {
            const T a = m.M[k0 + q + row * SQUARE];
#pragma unroll
            for (int k = 0; k < BRIDGED; ++k) pfma(z[k], l[4 * k + lane + q * LEAD], a);
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BRIDGED; ++k) tile[k * SWEEP_THREADS + tid] = z[k];
}

/** All threads: y := y - what the groups have summed up; then by four lanes for each row M y, or M^T y, and minus the bridges
 *  times what is handed on by the strips that they come from, each warp as soon as it is there; the first of them gives
 *  it to `take`(row, r, value).
 *  from(away): where the values of the strip so far away lie; count(away): how many there are */
template <int NR, class T, class FROM, class COUNT, class TAKE>
__device__ inline void finish_strip(const strip_room<NR, T> &m, int parts, bool solves, bool back,
                                    bool conjugated, const strip_bridge<T> &bridge, FROM from,
                                    COUNT count, TAKE take) {
    const int tid = (int)threadIdx.x, row = tid >> 2, lane = tid & 3;
    T z[NR], g[BRIDGED];
    const auto load = [&](int away) {
#pragma unroll
        for (int k = 0; k < BRIDGED; ++k) g[k] = bridge.from(away)[k * SWEEP_THREADS + tid];
    };
    if (bridge.count > 0) load(bridge.count);
    square_is_there();
    __syncthreads();
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        z[r] = lane < parts ? m.part[(lane * STRIP + row) * NR + r] : make<T>(0);
        z[r] = m.y[row * NR + r] - quad_sum(z[r]);
    }
    if (solves) {
        __syncwarp();
        if (lane == 0)
#pragma unroll
            for (int r = 0; r < NR; ++r) m.y[row * NR + r] = z[r];
        __syncthreads();
        T odd[NR]; /* two sums are on their way */
#pragma unroll
        for (int r = 0; r < NR; ++r) z[r] = odd[r] = make<T>(0);
#pragma unroll
        for (int k = 0; k < STRIP / 4; ++k) {
            const int at = 4 * k + lane;
            T a = back ? m.M[at + row * SQUARE] : m.M[row + at * SQUARE];
            if (conjugated) a = conj(a);
#pragma unroll
            for (int r = 0; r < NR; ++r) pfma(k % 2 ? odd[r] : z[r], a, m.y[at * NR + r]);
        }
        /* x and sums have been read: each warp has a part of their room */
        T *const values = m.x + tid / 32 * STRIP * NR;
        for (int away = bridge.count; away > 0; --away) {
            const T *of = from(away);
            const int many = count(away) * NR;
            for (int k = tid & 31; k < STRIP * NR; k += 32)
                values[k] = k < many ? handed(of + k) : make<T>(0);
            __syncwarp();
#pragma unroll
            for (int k = 0; k < BRIDGED; ++k)
#pragma unroll
                for (int r = 0; r < NR; ++r)
                    nfma(k % 2 ? odd[r] : z[r], conjugated ? conj(g[k]) : g[k],
                         values[(4 * k + lane) * NR + r]);
            if (away > 1) load(away - 1);
            __syncwarp();
        }
#pragma unroll
        for (int r = 0; r < NR; ++r) z[r] = quad_sum(z[r] + odd[r]);
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane == 0) take(row, r, z[r]);
}

} // namespace mpki
#endif
