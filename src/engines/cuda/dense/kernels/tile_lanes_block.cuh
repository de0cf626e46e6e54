/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_LANES_BLOCK_CUH
#define MPKI_CUDA_DENSE_TILE_LANES_BLOCK_CUH
/** Real doubles: a block of 32 candidates by one warp, with the inverse of its L. Updates by eight
 *  pivots at a time go through tensor cores. */
#ifdef __CUDACC__
#include "mma.cuh"
#endif
#include "tile_memory.cuh"

namespace mpki {

static const int MX = 36; /* leading dimension of a block's inverse, by rows */

/** G (a row for each lane, leading dimension 33) -= the product of a group's eight multipliers
 *  (in Lc) and its pivots' columns (in Wst), for columns from 8 max(FROM, first) on. anew(row):
 *  the row is set to 0 before. By one warp, on tensor cores; the caller needs __syncwarp()
 *  around it. */
template <int FROM, class T, class F>
__device__ inline void group_update(tile_memory<T> &m, T *G, int first, F anew) {
    const int lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
    const int LG = 33, WL = tile_memory<T>::WL, LC = 36;
    T c[8][4], b[4][2];
#pragma unroll
    for (int n = FROM; n < 4; ++n) {
        if (n < first) continue;
        const T *B = m.Wst + (8 * n + g) * WL + t;
        b[n][0] = B[0], b[n][1] = B[4];
#pragma unroll
        for (int y = 0; y < 2; ++y) {
            const T *C = G + (16 * y + g) * LG + 8 * n + 2 * t;
            T(&to)[4] = c[2 * n + y];
            to[0] = C[0], to[1] = C[1], to[2] = C[8 * LG], to[3] = C[8 * LG + 1];
        }
    }
#pragma unroll
    for (int y = 0; y < 2; ++y) {
        const T *A = m.Lc + t * LC + 16 * y + g;
        const T f[4] = {-A[0], -A[8], -A[4 * LC], -A[4 * LC + 8]};
        const bool new0 = anew(16 * y + g), new1 = anew(16 * y + g + 8);
#pragma unroll
        for (int n = FROM; n < 4; ++n) {
            if (n < first) continue;
            T(&to)[4] = c[2 * n + y];
            if (new0) to[0] = to[1] = 0;
            if (new1) to[2] = to[3] = 0;
            mma8(to, f, b[n][0], b[n][1]);
        }
    }
#pragma unroll
    for (int n = 2 * FROM; n < 8; ++n) {
        if (n / 2 < first) continue;
        T *C = G + (16 * (n & 1) + g) * LG + n / 2 * 8 + 2 * t;
        C[0] = c[n][0], C[1] = c[n][1], C[8 * LG] = c[n][2], C[8 * LG + 1] = c[n][3];
    }
}

/** All 32 columns at c0 are pivots, in the order given; only the residual tests them. As
 *  block_lanes() below, but the columns of a group are brought up to date as soon as one is
 *  known, by shuffles: from one pivot to the next it takes a reciprocal and two products. False:
 *  a pivot was out of the quick reciprocal's range; nothing was written. By one warp; contains
 *  __syncwarp(). */
template <bool QUICK, class T>
__device__ bool block_given(tile_memory<T> &m, T *Mx, int c0, int nb) {
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD;
    const int LG = 33, CHUNK = 8, WL = tile_memory<T>::WL, LC = 36;
    T *S = m.S + c0 + c0 * LD, *G = m.Lt, *mine_of_G = G + lane * LG;
#pragma unroll 8
    for (int j = 0; j < 32; ++j) {
        const T v = S[lane + j * LD];
        if (j <= lane) mine_of_G[j] = v, G[j * LG + lane] = v;
    }
    T my_d = 0, my_di = 0;
    bool odd = false;
    __syncwarp();
#pragma unroll 1
    for (int k0 = 0; k0 < 32; k0 += CHUNK) {
        T a[CHUNK], l[CHUNK];
#pragma unroll
        for (int q = 0; q < CHUNK; ++q) a[q] = mine_of_G[k0 + q];
#pragma unroll
        for (int q = 0; q < CHUNK; ++q) {
            const int k = k0 + q;
            const T s = a[q], d = shfl(s, k);
            T x, e = 0, w[CHUNK];
            if (QUICK) { /* see block_lanes() */
                const int exponent = __double2hiint(d) >> 20 & 0x7ff;
                odd |= exponent < 64 || exponent > 1983;
                x = nearly_inverse(d);
            } else {
                x = is_zero(d) ? (T)0 : inverse(d);
            }
#pragma unroll
            for (int p = q + 1; p < CHUNK; ++p) w[p] = shfl(s, k0 + p);
            if (QUICK) {
                e = fma(-d, x, (T)1);
                e = fma(e, e, e);
            }
            const bool self = lane == k;
            const T sx = s * x, lk = QUICK ? fma(sx, e, sx) : sx, di = QUICK ? fma(x, e, x) : x;
            l[q] = self ? di : lk;
#pragma unroll
            for (int p = q + 1; p < CHUNK; ++p) {
                if (self) a[p] = 0;
                nfma(a[p], l[q], w[p]);
            }
            if (self) my_d = d, my_di = di;
            m.Wst[lane * WL + q] = s;
            m.Lb[k * 33 + lane] = lk;
            if (lane < k) Mx[k * MX + lane] = s;
        }
        if (k0 + CHUNK == 32) break;
            /* a lane that became a pivot takes no part in earlier steps */
#pragma unroll
        for (int q = 0; q < CHUNK; ++q)
            m.Lc[q * LC + lane] = k0 + q < lane && lane < k0 + CHUNK ? (T)0 : l[q];
        __syncwarp();
        const int first = k0 / CHUNK + 1;
        group_update<1>(m, G, first, [&](int row) { return row / 8 * 8 == k0; });
        __syncwarp();
    }
    if (QUICK && __any_sync(all, odd)) return false;
    m.d[c0 + lane] = my_d, m.e[c0 + lane] = m.ei[c0 + lane] = 0;
    m.di[c0 + lane] = my_di, m.zero[c0 + lane] = is_zero(my_d) && lane < nb;
#pragma unroll 8
    for (int q = 0; q < 32; ++q) {
        if (q < lane) S[lane + q * LD] = m.Lb[q * 33 + lane];
        if (q <= lane) Mx[q * MX + lane] = q == lane;
    }
    return true;
}

/** One warp: of the 32 candidates at c0, STEP (32 - KEEP, or all) pivots of order 1, each the
 *  largest entry left on the diagonal.
 *
 *  The choice needs only the diagonal, so columns are computed late, from the columns before them
 *  (left-looking) within a group of CHUNK; then tensor cores bring the square G up to date. Lane i
 *  keeps row i of L; once i is a pivot, it goes on with column i of L^-1, whose entries follow from
 *  the same products: its row of G starts again from zero. Loops are not unrolled: code that runs
 *  once takes longer to fetch than to run. Mx: the block's inverse, rows in pivots' order, what is
 *  kept included. False: some |l| > `most`, or a pivot out of the quick reciprocal's range; nothing
 *  was written. */
template <int STEP, class T>
__device__ bool block_lanes(tile_memory<T> &m, T *Mx, int c0, T tiny, unsigned most) {
    const unsigned all = 0xffffffffu, tiny_key = key(tiny);
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD;
    const int LG = 33, CHUNK = 8, WL = tile_memory<T>::WL, LC = 36;
    T *S = m.S + c0 + c0 * LD, *G = m.Lt, *mine_of_G = G + lane * LG;
#pragma unroll 8
    for (int j = 0; j < 32; ++j) {
        const T v = S[lane + j * LD];
        if (j <= lane) mine_of_G[j] = v, G[j * LG + lane] = v;
    }
    T dg = S[lane + lane * LD], my_di = 0;
    const int mine = m.order[c0 + lane];
    bool live = true, odd = false;
    int pos = lane;
    unsigned top = 0;
    __syncwarp();
#pragma unroll 1
    for (int k0 = 0; k0 < STEP; k0 += CHUNK) {
        T l[CHUNK];
        bool chosen = false; /* this lane is a pivot of this group */
#pragma unroll
        for (int q = 0; q < CHUNK; ++q) {
            const int k = k0 + q;
            /* the lane's number in the last bits of its key */
            const unsigned best = __reduce_max_sync(all, live ? (key(dg) & ~31u) | lane : 0);
            const int r = best & 31;
            odd |= best <= (tiny_key | 31);
            const T *wr = m.Wst + r * WL;
            T s0 = mine_of_G[r], s1 = 0;
            const T d = shfl(dg, r);
            /* 1 / d is x (1 + e), l = s x (1 + e): the approximation x, 2^-23 off, and a step of
               the third order */
            T x, e;
            const int exponent = __double2hiint(d) >> 20 & 0x7ff;
            odd |= exponent < 64 || exponent > 1983;
            x = nearly_inverse(d);
            e = fma(-d, x, (T)1);
            e = fma(e, e, e);
            if (chosen) s0 = 0;
#pragma unroll
            for (int p = 0; p < q; p += 2) {
                const double2 v = *(const double2 *)(wr + p);
                nfma(s0, l[p], v.x);
                if (p + 1 < q) nfma(s1, l[p + 1 < CHUNK ? p + 1 : p], v.y);
            }
            s0 += s1;
            const bool self = lane == r, on = live && !self;
            const T sx = s0 * x, lk = fma(sx, e, sx), less = fma(-lk, s0, dg), di = fma(x, e, x);
            l[q] = self ? di : lk;
            dg = on ? less : dg;
            m.Wst[lane * WL + q] = s0;
            m.Lb[k * 33 + lane] = lk;
            top = max(top, on ? key(lk) : 0);
            if (!live) Mx[k * MX + pos] = s0;
            if (self) {
                live = false, chosen = true, pos = k, my_di = di;
#pragma unroll
                for (int p = 0; p < q; ++p) l[p] = 0;
            }
            __syncwarp();
        }
        if (__any_sync(all, odd || !(top <= most))) return false;
        const unsigned fresh = __ballot_sync(all, chosen);
#pragma unroll
        for (int q = 0; q < CHUNK; ++q) m.Lc[q * LC + lane] = l[q];
        __syncwarp();
        group_update<0>(m, G, 0, [&](int row) { return fresh >> row & 1; });
        __syncwarp();
    }
    const unsigned left = __ballot_sync(all, live);
    if (live) {
        pos = STEP + __popc(left & ((1u << lane) - 1));
    } else {
        m.d[c0 + pos] = dg, m.e[c0 + pos] = m.ei[c0 + pos] = 0;
        m.di[c0 + pos] = my_di, m.zero[c0 + pos] = 0;
    }
    m.order[c0 + pos] = mine, m.from[pos] = lane;
#pragma unroll 8
    for (int q = 0; q < STEP; ++q) {
        if (q < pos) S[pos + q * LD] = m.Lb[q * 33 + lane];
        if (q <= pos) Mx[q * MX + pos] = q == pos;
    }
    unsigned rest = left;
#pragma unroll
    for (int p = 0; p < 32 - STEP; ++p) {
        const int q = STEP + p;
        const T v = mine_of_G[(__ffs(rest) - 1) & 31];
        rest &= rest - 1;
        if (pos > q) S[pos + q * LD] = v;
        if (pos == q) S[pos + q * LD] = dg;
        Mx[q * MX + pos] = live ? (T)(pos == q) : v;
    }
    return true;
}

/** Mx := the inverse of the block's L in Lt, of which `step` columns are used. By one warp;
 *  contains __syncwarp(). */
template <class T> __device__ void block_invert(tile_memory<T> &m, T *Mx, int step) {
    const int lane = threadIdx.x & 31;
    T x[32];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = i == lane;
#pragma unroll
    for (int k = 0; k < 31; ++k)
        if (k < step) {
#pragma unroll
            for (int i = k + 1; i < 32; ++i) nfma(x[i], m.Lt[k * 32 + i], x[k]);
        }
#pragma unroll
    for (int i = 0; i < 32; ++i) Mx[i * MX + lane] = x[i];
}

} // namespace mpki
#endif
