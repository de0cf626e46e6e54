/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_BELOW_CUH
#define MPKI_CUDA_DIRECT_BELOW_CUH
/** Sweeps over the rows below the pivots of one front that is swept in strips, a block for some of them: forward it takes
 *  the pivots strip by strip as they are handed on, back it is for one strip. */
#include "strips.cuh"

namespace mpki {

enum { BELOW_HALVES = MPKI_FRONT_BELOW / MPKI_FRONT_STRIP };

/** A thread: what children give to a row, every GROUPS-th gift from number `group` on. */
template <int NR, class T>
__device__ inline void take_gifts(const mpki_cuda_sweep &s, int64_t at, int group, T (&sum)[NR]) {
    const T *u = (const T *)s.u;
    const int end = s.gift[at + 1];
    for (int k = s.gift[at] + group; k < end;
         k += 2 * GROUPS) { /* two are looked at side by side */
        const bool two = k + GROUPS < end;
        const T *from = u + (int64_t)k * NR, *next = from + (two ? GROUPS * NR : 0);
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            const T p = peek(from + r), q = peek(next + r);
            sum[r] = sum[r] - handed(from + r, p, 60);
            if (two) sum[r] = sum[r] - handed(next + r, q, 60);
        }
    }
}

/** All threads: piece number `piece` of the rows below, me.below of them. A thread has one row of each 64, and a quarter
 *  of each strip's columns. */
template <int NR, class T>
__device__ void forward_below(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                              const mpki_cuda_chain &me, int piece, char *room) {
    __shared__ int64_t
        to[MPKI_FRONT_BELOW]; /* in u; in y for columns that are left to the parent */
    const swept_front<T> top(t, me.top);
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP;
    const int PART = STRIP / GROUPS, AHEAD = 8, CHUNKS = PART / AHEAD, e = top.e, ld = top.a.ld;
    const int i0 = e + piece * me.below, b = top.n - i0 < me.below ? top.n - i0 : me.below;
    const T *handed_on = (const T *)s.handed + me.handed * NR;
    T *y = (T *)s.y, *const part = m.M; /* sums of the groups */
    bring_columns(top.a.a + i0, ld, b, e < 2 * STRIP ? e : 2 * STRIP);
    if (tid < b) {
        const gift_places places(s, me.top);
        const int mine = i0 + tid;
        to[tid] = mine < top.w ? top.a.id[mine] : places.of(mine - top.w);
    }
    wait_for_chain(t, s, me);
    __syncthreads();
    T sum[BELOW_HALVES][NR];
#pragma unroll
    for (int h = 0; h < BELOW_HALVES; ++h) {
        const int i = i0 + h * STRIP + row;
#pragma unroll
        for (int r = 0; r < NR; ++r) sum[h][r] = make<T>(0);
        if (h * STRIP + row >= b) continue;
        const int position = i < top.w ? top.a.id[i] : 0;
        const int at = i < top.w ? position - top.node.first : top.own + i - top.w;
        if (at >= 0 && (i >= top.w || at < top.own)) take_gifts<NR>(s, me.gift + at, group, sum[h]);
        if (i < top.w && group == 0)
#pragma unroll
            for (int r = 0; r < NR; ++r)
                sum[h][r] = sum[h][r] - fresh(&y[(int64_t)position * NR + r]);
    }
    for (int c = 0; c < me.strips; ++c) {
        const int count = e - c * STRIP < STRIP ? e - c * STRIP : STRIP;
        const T *from = top.a.a + i0 + row + (int64_t)(STRIP * c + group * PART) * ld;
        T *values = m.x + (c & 1) * STRIP * NR;
        T l[AHEAD]; /* eight columns of a row are on their way while eight are at work */
        const auto fetch = [&](int z, T(&to_l)[AHEAD]) {
            const int i = z / CHUNKS * STRIP, k0 = z % CHUNKS * AHEAD;
#pragma unroll
            for (int k = 0; k < AHEAD; ++k)
                to_l[k] = i + row < b && group * PART + k0 + k < count
                              ? from[i + (int64_t)(k0 + k) * ld]
                              : make<T>(0);
        };
        fetch(0, l);
        const int next = (c + 2) * STRIP + tid / 4; /* a column that comes after the next ones */
        for (int line = tid % 4 * (LINE / (int)sizeof(T)); next < e && line < b;
             line += 4 * (LINE / (int)sizeof(T)))
            bring(top.a.a + i0 + line + (int64_t)next * ld);
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
            values[k] =
                k < count * NR ? handed(handed_on + (int64_t)c * STRIP * NR + k) : make<T>(0);
        __syncthreads();
#pragma unroll
        for (int z = 0; z < BELOW_HALVES * CHUNKS; ++z) {
            T ahead[AHEAD];
            if (z / CHUNKS * STRIP >= b) break;
            if (z + 1 < BELOW_HALVES * CHUNKS) fetch(z + 1, ahead);
#pragma unroll
            for (int k = 0; k < AHEAD; ++k) {
#pragma unroll
                for (int r = 0; r < NR; ++r)
                    pfma(sum[z / CHUNKS][r], l[k],
                         values[(group * PART + z % CHUNKS * AHEAD + k) * NR + r]);
                l[k] = ahead[k];
            }
        }
    }
#pragma unroll
    for (int h = 0; h < BELOW_HALVES; ++h)
#pragma unroll
        for (int r = 0; r < NR; ++r)
            part[((group * BELOW_HALVES + h) * STRIP + row) * NR + r] = sum[h][r];
    __syncthreads();
    if (tid < b)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            T z = make<T>(0);
#pragma unroll
            for (int g = 0; g < GROUPS; ++g)
                z = z - part[(g * BELOW_HALVES * STRIP + tid) * NR + r];
            if (i0 + tid < top.w)
                y[to[tid] * NR + r] = z;
            else
                hand_on((T *)s.u + to[tid] * NR + r, z);
        }
    if (top.w > e) publish(s.finished + me.top);
}

/** All threads: on the way back, what slice number `slice` > 0 of the rows below takes from strip number `strip`: handed
 *  on to that strip's own block. A warp has 8 columns, a lane every 32nd row. */
template <bool H, int NR, class T>
__device__ void backward_below(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                               const mpki_cuda_chain &me, int strip, int slice, char *room) {
    const swept_front<T> top(t, me.top);
    const strip_room<NR, T> m(room);
    const int COLUMNS = STRIP / (SWEEP_THREADS / 32), e = top.e, ld = top.a.ld;
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int slices = (top.n - e + SWEEP_THREADS - 1) / SWEEP_THREADS;
    const int i0 = e + slice * SWEEP_THREADS, first = strip * STRIP;
    const int count = top.n - i0 < SWEEP_THREADS ? top.n - i0 : SWEEP_THREADS;
    const int b = e - first < STRIP ? e - first : STRIP;
    const T *const a = top.a.a + (int64_t)first * ld + i0;
    bring_columns(a, ld, count, b);
    const int mine = i0 + tid;
    const int at = tid >= count   ? 0
                   : mine < top.w ? top.a.id[mine]
                                  : t.ridx[top.node.ridx + mine - top.w];
    T sum[NR][COLUMNS], l[COLUMNS];
#pragma unroll
    for (int r = 0; r < NR; ++r)
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) sum[r][q] = make<T>(0);
    const auto fetch = [&](int i, T(&to)[COLUMNS]) {
        const T *from = a + (int64_t)(warp * COLUMNS) * ld + i + lane;
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
            to[q] = i + lane < count && warp * COLUMNS + q < b ? cj<H>(from[(int64_t)q * ld])
                                                               : make<T>(0);
    };
    fetch(0, l);
#pragma unroll
    for (int r = 0; r < NR; ++r)
        m.x[tid * NR + r] =
            tid < count ? handed_far((const T *)s.x + (int64_t)at * NR + r) : make<T>(0);
    __syncthreads();
    for (int i = 0; i < count; i += 32) {
        T next[COLUMNS];
        fetch(i + 32, next);
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
#pragma unroll
            for (int r = 0; r < NR; ++r) pfma(sum[r][q], l[q], m.x[(i + lane) * NR + r]);
            l[q] = next[q];
        }
    }
    T *const sums =
        (T *)s.handed_back + me.handed * NR +
        (2 * (int64_t)me.strips + (int64_t)strip * (slices - 1) + slice - 1) * STRIP * NR;
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        const T z = sum_columns(sum[r]);
        if ((lane & 3) == 0) hand_on(sums + (warp * COLUMNS + lane / 4) * NR + r, z);
    }
}

} // namespace mpki
#endif
