/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TILE_LANES_CUH
#define MPKI_CUDA_TILE_LANES_CUH
/** The tile of real doubles: what tile.cuh does, with L^-1 made beside L and all products on tensor
 *  cores. M = L^-1 stands above the diagonal: M(i, j) at S[j + i LD], j < i. While a block of 32 is
 *  factored by the first warp, the others bring the rows beyond it up to date, those of L^-1 too,
 *  so that nothing is left to invert at the end. */
#include "mma.cuh"

namespace mpki {

static const int MX = 36; /* leading dimension of a block's inverse, by rows */

/* while the first warp is at a block, the others help, but for the one that shares its scheduler */
static const int HELPERS = TILE_THREADS / 32 - 2;
__device__ inline int helper() { /* 0 .. HELPERS - 1, or -1 */
    const int warp = threadIdx.x >> 5;
    return warp == 0 || warp == 4 ? -1 : warp < 4 ? warp - 1 : warp - 2;
}

/** One warp: of the 32 columns at c0 all are pivots in the order given, tested by nobody but the
 *  residual. As block_lanes() below, but columns of a group are brought up to date as soon as one is
 *  known, by shuffles: the chain from pivot to pivot is a reciprocal and two products. False: a pivot
 *  was out of the quick reciprocal's range; nothing was written. */
template <bool QUICK, class T>
__device__ bool block_given(tile_memory<T> &m, T *Mx, int c0, int nb) {
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD, g = lane / 4, t = lane % 4;
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
                asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(d));
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
        /* a lane that became a pivot takes no part in what came before it */
#pragma unroll
        for (int q = 0; q < CHUNK; ++q)
            m.Lc[q * LC + lane] = k0 + q < lane && lane < k0 + CHUNK ? (T)0 : l[q];
        __syncwarp();
        const int first = k0 / CHUNK + 1;
        T c[8][4], b[4][2];
#pragma unroll
        for (int n = 1; n < 4; ++n) {
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
            const bool new0 = 16 * y == k0, new1 = 16 * y + 8 == k0; /* their rows start again */
#pragma unroll
            for (int n = 1; n < 4; ++n) {
                if (n < first) continue;
                T(&to)[4] = c[2 * n + y];
                if (new0) to[0] = to[1] = 0;
                if (new1) to[2] = to[3] = 0;
                mma8(to, f, b[n][0], b[n][1]);
            }
        }
#pragma unroll
        for (int n = 2; n < 8; ++n) {
            if (n / 2 < first) continue;
            T *C = G + (16 * (n & 1) + g) * LG + n / 2 * 8 + 2 * t;
            C[0] = c[n][0], C[1] = c[n][1], C[8 * LG] = c[n][2], C[8 * LG + 1] = c[n][3];
        }
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

/** One warp: of the 32 candidates at c0, 32 - KEEP pivots of order 1, each the largest entry left
 * on the diagonal.
 *
 *  The choice needs the diagonal alone, so columns come late, from the columns before them
 *  (left-looking) within a group of CHUNK; then tensor cores bring the square G up to date. Lane i
 *  keeps row i of L; once i is a pivot, it goes on with column i of L^-1, whose entries follow from
 *  the same products: its row of G starts again at zero. Loops are short: code that runs once is
 *  fetched more slowly than it runs. Mx: the block's inverse, rows in pivots' order, what is kept
 *  included. False: some |l| > 4 or a pivot out of the quick reciprocal's range; nothing was written.
 */
template <class T> __device__ bool block_lanes(tile_memory<T> &m, T *Mx, int c0, T tiny) {
    const unsigned all = 0xffffffffu, most = key((T)4), tiny_key = key(tiny);
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD, STEP = 32 - KEEP;
    const int g = lane / 4, t = lane % 4, LG = 33, CHUNK = 8, WL = tile_memory<T>::WL, LC = 36;
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
        bool now = false; /* a pivot of this group */
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
            asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(d));
            e = fma(-d, x, (T)1);
            e = fma(e, e, e);
            if (now) s0 = 0;
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
                live = false, now = true, pos = k, my_di = di;
#pragma unroll
                for (int p = 0; p < q; ++p) l[p] = 0;
            }
            __syncwarp();
        }
        if (__any_sync(all, odd || !(top <= most))) return false;
        const unsigned fresh = __ballot_sync(all, now);
#pragma unroll
        for (int q = 0; q < CHUNK; ++q) m.Lc[q * LC + lane] = l[q];
        __syncwarp();
        T c[8][4], b[4][2];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
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
            const T a[4] = {-A[0], -A[8], -A[4 * LC], -A[4 * LC + 8]};
            const bool new0 = fresh >> (16 * y + g) & 1, new1 = fresh >> (16 * y + g + 8) & 1;
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                T(&to)[4] = c[2 * n + y];
                if (new0) to[0] = to[1] = 0;
                if (new1) to[2] = to[3] = 0;
                mma8(to, a, b[n][0], b[n][1]);
            }
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) {
            T *C = G + (16 * (n & 1) + g) * LG + n / 2 * 8 + 2 * t;
            C[0] = c[n][0], C[1] = c[n][1], C[8 * LG] = c[n][2], C[8 * LG + 1] = c[n][3];
        }
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
    for (int p = 0; p < KEEP; ++p) {
        const int q = STEP + p;
        const T v = mine_of_G[(__ffs(rest) - 1) & 31];
        rest &= rest - 1;
        if (pos > q) S[pos + q * LD] = v;
        if (pos == q) S[pos + q * LD] = dg;
        Mx[q * MX + pos] = live ? (T)(pos == q) : v;
    }
    return true;
}

/** One warp: Mx from the block's L in Lt, of which `step` columns count. */
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

/** All threads: rows below a block without pairs: W = S M^T to tmp, L = W D^-1 in place; what is
 * kept is up to date. A warp: 16 rows. */
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

/** All threads: the block's rows of L and of L^-1 before it follow its order, in two steps with a
 *  barrier between them. */
template <class T> struct rows_moved { T l[12], x[12]; };
template <class T> __device__ void rows_take(const tile_memory<T> &m, int c0, rows_moved<T> &v) {
    const int LD = tile_memory<T>::LD, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const T *S = m.S + c0 + m.from[lane];
#pragma unroll
    for (int y = 0; y < 12; ++y)
        if (warp + 8 * y < c0) v.l[y] = S[(warp + 8 * y) * LD];
#pragma unroll
    for (int y = 0; y < 4; ++y) {
        const T *X = m.S + (c0 + m.from[warp + 8 * y]) * LD + lane;
#pragma unroll
        for (int x = 0; x < 3; ++x)
            if (lane + 32 * x < c0) v.x[3 * y + x] = X[32 * x];
    }
}
template <class T> __device__ void rows_put(tile_memory<T> &m, int c0, const rows_moved<T> &v) {
    const int LD = tile_memory<T>::LD, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    T *S = m.S + c0 + lane;
#pragma unroll
    for (int y = 0; y < 12; ++y)
        if (warp + 8 * y < c0) S[(warp + 8 * y) * LD] = v.l[y];
#pragma unroll
    for (int y = 0; y < 4; ++y) {
        T *X = m.S + (c0 + warp + 8 * y) * LD + lane;
#pragma unroll
        for (int x = 0; x < 3; ++x)
            if (lane + 32 * x < c0) X[32 * x] = v.x[3 * y + x];
    }
}

/** One warp: piece (y, h), 16 x 8, of the trailing part after the block at c0. */
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

/** The trailing part after the block at c0. first: the pieces that the next block needs, one a
 * warp; else the others, by all warps but the first. */
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

/** Rows of L^-1 of the block at c0: its own columns are Mx, those before it M(b, :) = Mx X(b, :).
 * By `warps` warps, of which this is `me`, each 8 columns. */
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

/** Rows of L^-1 beyond the block lose L(:, b) M(b, :). By the helpers. */
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

/** Rows r0 .. r1 - 1 (at most 32) of L, D on the diagonal and beside it, to where orig says. By
 *  `warps` warps, of which this is `me`. */
template <class T>
__device__ void rows_out(const tile_memory<T> &m, int r0, int r1, int take, T *L, int64_t ldl,
                         const int *orig, int me, int warps) {
    const int LD = tile_memory<T>::LD, i = r0 + (threadIdx.x & 31);
    if (i >= r1) return;
    T *to = L + orig[m.order[i]];
    const int end = min(take, r1);
#pragma unroll 4
    for (int j = me; j < end; j += warps) { /* no branch: their paths would follow one another */
        const T l = m.S[i + min(j, i) * LD], e = m.e[j], d = m.d[j];
        const T v = j == i - 1 && !is_zero(e) ? e : l;
        if (j <= i) to[j * ldl] = j == i ? d : v;
    }
}

/** Columns j0 .. j1 - 1 of N, rows of L^-1; of N the panels read squares of 16 on the diagonal and
 *  what is above. */
template <class T>
__device__ void inverse_out(const tile_memory<T> &m, int j0, int j1, T *N, int me, int warps) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD;
    for (int j = j0 + me; j < j1; j += warps)
        for (int i = 2 * (threadIdx.x & 31); i < j / 16 * 16 + 16; i += 64) {
            const double2 v = *(const double2 *)(m.S + i + j * LD);
            *(double2 *)(N + i + j * B) =
                make_double2(i < j ? v.x : i == j, i + 1 < j ? v.y : i + 1 == j);
        }
}

__device__ inline void helpers_barrier() {
    asm volatile("bar.sync 1, %0;" ::"n"(HELPERS * 32) : "memory");
}

} // namespace mpki
#endif
