/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_LANES_CUH
#define MPKI_CUDA_DENSE_TILE_LANES_CUH
/** The tile of real doubles: what tile.cuh does, with L^-1 formed beside L and all products on
 *  tensor cores. M = L^-1 stands above the diagonal: M(i, j) at S[j + i LD], j < i. While the first
 *  warp factors a block of 32, the others bring the rows beyond it up to date, those of L^-1 too,
 *  so that nothing is left to invert at the end. */
#include "tile_lanes_block.cuh"

namespace mpki {

/* while the first warp factors a block the others help, except the one that shares its scheduler */
static const int HELPERS = TILE_THREADS / 32 - 2;

/** The number of this warp among the helpers, 0 .. HELPERS - 1; -1: it is none. By each thread
 *  for itself; no barrier. */
__device__ inline int helper() { /* 0 .. HELPERS - 1, or -1 */
    const int warp = threadIdx.x >> 5;
    return warp == 0 || warp == 4 ? -1 : warp < 4 ? warp - 1 : warp - 2;
}

/** Rows below a block without pairs: W = S M^T to tmp, L = W D^-1 in place; what is kept is up
 *  to date. A warp takes 16 rows. By all threads of a block; __syncwarp(), no block barrier. */
template <bool PIVOT, class T>
__device__ void lanes_below(tile_memory<T> &m, const T *Mx, int c0, T limit) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, STEP = PIVOT ? 32 - KEEP : 32;
    const int LW = B - 32, warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane / 4,
              t = lane % 4, r0 = c0 + 32 + 16 * warp;
    if (r0 >= B) return;
    const int i0 = r0 + g, i1 = min(r0 + g + 8, B - 1);
    const bool two = r0 + g + 8 < B;
    T a[4][4], c[4][4];
#pragma unroll
    for (int s = 0; s < 4; ++s)
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            const int k = 8 * s + t + 4 * x, from = PIVOT ? m.from[k] : k;
            const T *col = m.S + (c0 + from) * LD;
            a[s][2 * x] = col[i0], a[s][2 * x + 1] = col[i1];
        }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0;
#pragma unroll
        for (int s = 0; s <= n; ++s) {
            const T *b = Mx + (8 * n + g) * MX + 8 * s + t;
            mma8(c[n], a[s], b[0], b[4]);
        }
    }
    __syncwarp();
    bool bad = false;
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            const int k = 8 * n + 2 * t + x;
            const bool pivot = 8 * n < STEP;
            const T di = pivot ? m.di[c0 + k] : (T)1, l0 = c[n][x] * di, l1 = c[n][x + 2] * di;
            if (pivot) {
                m.tmp[k * LW + i0 - c0 - 32] = c[n][x];
                if (two) m.tmp[k * LW + i1 - c0 - 32] = c[n][x + 2];
                if (PIVOT) bad |= !(abs1(l0) <= limit) || !(abs1(l1) <= limit);
            }
            m.S[i0 + (c0 + k) * LD] = l0;
            if (two) m.S[i1 + (c0 + k) * LD] = l1;
        }
    if (PIVOT && bad) m.failed = 1;
}

/** All threads: the rows of L and of L^-1 before the block follow its order, in two steps with a
 *  barrier between them. */
template <class T> struct rows_moved { T l[12], x[12]; };

/** v := the rows of L and of L^-1 before the block at c0, in the block's order; rows_put()
 *  follows after a block barrier. By all threads of a block; no barrier. */
template <class T> __device__ void rows_take(const tile_memory<T> &m, int c0, rows_moved<T> &v) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, warp = threadIdx.x >> 5,
              lane = threadIdx.x & 31;
    const T *S = m.S + c0 + m.from[lane];
#pragma unroll
    for (int y = 0; y < 12; ++y)
        if (warp + 8 * y < c0 && c0 + lane < B) v.l[y] = S[(warp + 8 * y) * LD];
#pragma unroll
    for (int y = 0; y < 4; ++y) {
        const T *X = m.S + (c0 + m.from[warp + 8 * y]) * LD + lane;
#pragma unroll
        for (int x = 0; x < 3; ++x)
            if (lane + 32 * x < c0 && c0 + warp + 8 * y < B) v.x[3 * y + x] = X[32 * x];
    }
}

/** These rows := v. By all threads of a block; no barrier. */
template <class T> __device__ void rows_put(tile_memory<T> &m, int c0, const rows_moved<T> &v) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, warp = threadIdx.x >> 5,
              lane = threadIdx.x & 31;
    T *S = m.S + c0 + lane;
#pragma unroll
    for (int y = 0; y < 12; ++y)
        if (warp + 8 * y < c0 && c0 + lane < B) S[(warp + 8 * y) * LD] = v.l[y];
#pragma unroll
    for (int y = 0; y < 4; ++y) {
        T *X = m.S + (c0 + warp + 8 * y) * LD + lane;
#pragma unroll
        for (int x = 0; x < 3; ++x)
            if (lane + 32 * x < c0 && c0 + warp + 8 * y < B) X[32 * x] = v.x[3 * y + x];
    }
}

/** Piece (y, h), 16 x 8, of the trailing part after the block at c0, -= L W^T. By all lanes of a
 *  warp; no barrier. */
template <bool PIVOT, class T>
__device__ inline void piece(tile_memory<T> &m, int c0, int y, int h) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, STEP = PIVOT ? 32 - KEEP : 32;
    const int LW = B - 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
    const int i0 = c0 + 32 + 16 * y + g, i1 = min(i0 + 8, B - 1), j = c0 + 32 + 8 * h + 2 * t;
    const T *A0 = m.S + (c0 + t) * LD + i0, *A1 = m.S + (c0 + t) * LD + i1,
            *W = m.tmp + t * LW + 8 * h + g;
    T *C = m.S + j * LD;
    T c[4] = {C[i0], C[LD + i0], C[i1], C[LD + i1]}, a[STEP / 8][4], b[STEP / 8][2];
#pragma unroll
    for (int s = 0; s < STEP / 8; ++s) {
        a[s][0] = -A0[8 * s * LD], a[s][1] = -A1[8 * s * LD];
        a[s][2] = -A0[(8 * s + 4) * LD], a[s][3] = -A1[(8 * s + 4) * LD];
        b[s][0] = W[8 * s * LW], b[s][1] = W[(8 * s + 4) * LW];
    }
#pragma unroll
    for (int s = 0; s < STEP / 8; ++s) mma8(c, a[s], b[s][0], b[s][1]);
    if (i0 >= j) C[i0] = c[0];
    if (i0 >= j + 1) C[LD + i0] = c[1];
    if (i0 + 8 < B) {
        if (i1 >= j) C[i1] = c[2];
        if (i1 >= j + 1) C[LD + i1] = c[3];
    }
}

/** The trailing part after the block at c0. first: the pieces that the next block needs, one for
 *  each warp; else the others, by all warps but the first. By whole warps; no barrier. */
template <bool PIVOT, class T>
__device__ void lanes_trailing(tile_memory<T> &m, int c0, bool first) {
    const int rest = tile_memory<T>::B - c0 - 32, soon = (PIVOT ? 32 - KEEP : 32) / 8,
              warp = threadIdx.x >> 5;
    if (first) {
        const int y = warp >= 2, h = warp - 2 * y;
        if (h < soon && 16 * y < rest && 8 * h < rest) piece<PIVOT>(m, c0, y, h);
        return;
    }
    const int me = helper();
    int turn = 0;
    for (int y = 0; 16 * y < rest; ++y)
        for (int h = y < 2 ? soon : 0; h <= 2 * y + 1 && 8 * h < rest; ++h) {
            if (turn == me) piece<PIVOT>(m, c0, y, h);
            turn = turn == HELPERS - 1 ? 0 : turn + 1;
        }
}

/** The rows of L^-1 of the block at c0: its own columns are Mx, those before it M(b, :) = Mx
 *  X(b, :). By `warps` warps with 8 columns each, of which this is number `me`; contains
 *  __syncwarp(). */
template <class T>
__device__ void inverse_rows(tile_memory<T> &m, const T *Mx, int c0, int me, int warps) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, lane = threadIdx.x & 31, g = lane / 4,
              t = lane % 4;
    for (int k = me; k < 32; k += warps) {
        const int j = lane;
        if (j < k && c0 + k < B) m.S[c0 + j + (c0 + k) * LD] = Mx[k * MX + j];
    }
    for (int h = me; 8 * h < c0; h += warps) {
        const T *X = m.S + 8 * h + g + c0 * LD;
        T b[8];
#pragma unroll
        for (int x = 0; x < 8; ++x) b[x] = c0 + t + 4 * x < B ? X[(t + 4 * x) * LD] : (T)0;
        T c[2][4];
#pragma unroll
        for (int y = 0; y < 2; ++y) {
            c[y][0] = c[y][1] = c[y][2] = c[y][3] = 0;
#pragma unroll
            for (int s = 0; s < 2 * (y + 1); ++s) {
                const T *p = Mx + (16 * y + g) * MX + 8 * s + t, *q = p + 8 * MX;
                const T a[4] = {p[0], q[0], p[4], q[4]};
                mma8(c[y], a, b[2 * s], b[2 * s + 1]);
            }
        }
        __syncwarp();
#pragma unroll
        for (int y = 0; y < 2; ++y)
#pragma unroll
            for (int x = 0; x < 4; ++x) {
                const int k = c0 + 16 * y + g + 8 * (x / 2);
                if (k < B) m.S[8 * h + 2 * t + x % 2 + k * LD] = c[y][x];
            }
    }
}

/** The rows of L^-1 beyond the block -= L(:, b) M(b, :). By the helpers; no barrier. */
template <bool PIVOT, class T> __device__ void inverse_update(tile_memory<T> &m, int c0) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, STEP = PIVOT ? 32 - KEEP : 32;
    const int rest = B - c0 - 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4,
              columns = (c0 + STEP) / 8, pieces = (rest + 15) / 16 * columns;
    for (int p = helper(); p < pieces; p += HELPERS) {
        const int i0 = c0 + 32 + 16 * (p / columns) + g, i1 = min(i0 + 8, B - 1),
                  j = 8 * (p % columns);
        T *X0 = m.S + j + 2 * t + i0 * LD, *X1 = m.S + j + 2 * t + i1 * LD;
        T c[4] = {X0[0], X0[1], X1[0], X1[1]};
        const T *A0 = m.S + c0 * LD + i0, *A1 = m.S + c0 * LD + i1;
#pragma unroll
        for (int s = 0; s < STEP; s += 8) {
            const T a[4] = {-A0[(s + t) * LD], -A1[(s + t) * LD], -A0[(s + t + 4) * LD],
                            -A1[(s + t + 4) * LD]};
            T b[2];
#pragma unroll
            for (int x = 0; x < 2; ++x) {
                const int k = c0 + s + t + 4 * x, n = j + g;
                b[x] = n < k ? m.S[n + k * LD] : (T)(n == k);
            }
            mma8(c, a, b[0], b[1]);
        }
        X0[0] = c[0], X0[1] = c[1];
        if (i0 + 8 < B) X1[0] = c[2], X1[1] = c[3];
    }
}

/** Where L and N go in the dense factorization. */
template <class T> struct tile_out {
    int take;
    T *L;
    int64_t ldl;
    const int *orig;
    T *N;
    /** Rows r0 .. r1 - 1 (at most 32) of L, with D on the diagonal and beside it, to the rows
     *  that orig names. By `warps` warps, of which this is number `me`; no barrier. */
    __device__ void rows(const tile_memory<T> &m, int r0, int r1, int me, int warps) const {
        const int LD = tile_memory<T>::LD, i = r0 + (threadIdx.x & 31);
        if (i >= r1) return;
        T *to = L + orig[m.order[i]];
        const int end = min(take, r1);
#pragma unroll 4
        for (int j = me; j < end; j += warps) { /* no branch: both paths would run in turn */
            const T l = m.S[i + min(j, i) * LD], e = m.e[j], d = m.d[j];
            const T v = j == i - 1 && !is_zero(e) ? e : l;
            if (j <= i) to[j * ldl] = j == i ? d : v;
        }
    }
    /** Columns j0 .. j1 - 1 of N, which are rows of L^-1: of N, panels read squares of 16 on the
     *  diagonal and what is above them. By `warps` warps, of which this is number `me`; no
     *  barrier. */
    __device__ void inverse(const tile_memory<T> &m, int j0, int j1, int me, int warps) const {
        const int B = tile_memory<T>::B, LD = tile_memory<T>::LD;
        for (int j = j0 + me; j < j1; j += warps)
            for (int i = 2 * (threadIdx.x & 31); i < j / 16 * 16 + 16; i += 64) {
                const double2 v = *(const double2 *)(m.S + i + j * LD);
                *(double2 *)(N + i + j * B) =
                    double2{i < j ? v.x : (T)(i == j), i + 1 < j ? v.y : (T)(i + 1 == j)};
            }
    }
};

} // namespace mpki
#endif
