/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_BLOCK_CUH
#define MPKI_CUDA_DENSE_TILE_BLOCK_CUH
/** A block of 32 candidates by one warp, a row in the registers of each lane. Pivots by rook
 *  search, by the largest diagonal entry alone, or in the order given. */
#include "kernels/alpha.h"
#include "tile_memory.cuh"

namespace mpki {

/** Of the nb <= 32 candidates at c0, `take` pivots by rook search; what is left follows them,
 *  with its Schur complement. While rows are updated, the next candidate and its reciprocal are
 *  sought. The largest diagonal entry needs no search if it is at least a quarter of the largest
 *  of its row. By one warp; contains __syncwarp(). */
template <bool H, class T>
__device__ void block_rook(tile_memory<T> &m, int c0, int nb, int take,
                           typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const unsigned all = 0xffffffffu, tiny_key = key(tiny), quarter = key_quarter<R>::value;
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD;
    const R alpha = (R)MPKI_ALPHA;
    T a[32];
    T *S = m.S + c0 + c0 * LD;
    const bool in = lane < nb;
#pragma unroll
    for (int j = 0; j < 32; ++j)
        a[j] = in && j < nb ? (j <= lane ? S[lane + j * LD] : cj<H>(S[j + lane * LD])) : make<T>(0);
    T dg = in ? diagonal<H>(S[lane + lane * LD]) : make<T>(0);
    const int mine = in ? m.order[c0 + lane] : 0;
    bool live = in, zero = false;
    int pos = lane, k = 0;
    T my_e = make<T>(0), my_di = make<T>(0), my_ei = make<T>(0);
    diagonal_candidate c = largest_diagonal(live, key(dg));
    bool odd = false;
    T d = shfl(dg, c.r & 31), di = quick_inverse(d, odd);
    while (k < take) {
        int r = c.r, s = -1, buf = 0;
        publish(m.rows[0], a, lane, r);
        T wr = cj<H>(m.rows[0][lane]), ws = wr;
        unsigned kr = live && lane != r ? key(wr) : 0;
        unsigned m0 = __reduce_max_sync(all, kr);
        const bool none = max(c.m1, m0) <= tiny_key;
        const bool two = k + 1 < take || take == nb; /* does a pivot of order 2 fit? */
        if (!none && two && c.m1 + quarter < m0) {
            for (int turn = 0;; ++turn) {
                s = __ffs(__ballot_sync(all, live && lane != r && kr == m0)) - 1;
                publish(m.rows[buf ^ 1], a, lane, s);
                ws = cj<H>(m.rows[buf ^ 1][lane]);
                const unsigned ks = live && lane != s ? key(ws) : 0;
                const unsigned m2 = __reduce_max_sync(all, ks);
                const unsigned ds = __shfl_sync(all, c.kd, s);
                if (unkey<R>(ds) >= alpha * unkey<R>(m2)) { /* s alone */
                    r = s, wr = ws, buf ^= 1, s = -1;
                    d = shfl(dg, r);
                    odd = true;
                    break;
                }
                if (m2 <= m0 || turn == 32) break; /* r and s together */
                r = s, wr = ws, kr = ks, m0 = m2, buf ^= 1;
            }
        }
        if (s < 0) {
            const bool gone = none || is_zero(d);
            if (odd || gone) di = gone ? make<T>(0) : inverse(d);
            const T l = live && lane != r ? wr * di : make<T>(0);
            const T *row = m.rows[buf];
            nfma(dg, l, row[lane]);
            dg = diagonal<H>(dg);
            if (lane == r) {
                live = false, pos = k, zero = gone;
                my_di = di;
                if (gone) dg = make<T>(0);
            }
            ++k;
            odd = false;
            c = largest_diagonal(live, key(dg));
            d = shfl(dg, c.r & 31), di = quick_inverse(d, odd);
#pragma unroll
            for (int j = 0; j < 32; ++j) nfma(a[j], l, row[j]);
            m.Lb[(k - 1) * 33 + lane] = l;
        } else {
            const T *row1 = m.rows[buf], *row2 = m.rows[buf ^ 1];
            const T d1 = shfl(dg, r), d2 = shfl(dg, s), b = cj<H>(row1[s]);
            T i11, i21, i22;
            inverse2<H>(d1, b, d2, i11, i21, i22);
            const bool on = live && lane != r && lane != s;
            const T l1 = on ? wr * i11 + ws * i21 : make<T>(0);
            const T l2 = on ? wr * cj<H>(i21) + ws * i22 : make<T>(0);
            nfma(dg, l1, row1[lane]);
            nfma(dg, l2, row2[lane]);
            dg = diagonal<H>(dg);
            m.Lb[k * 33 + lane] = l1, m.Lb[(k + 1) * 33 + lane] = l2;
            if (lane == r || lane == s) {
                live = false, pos = k + (lane == s);
                my_e = lane == r ? b : make<T>(0);
                my_di = lane == r ? i11 : i22, my_ei = lane == r ? i21 : make<T>(0);
            }
            k += 2;
            odd = false;
            c = largest_diagonal(live, key(dg));
            d = shfl(dg, c.r & 31), di = quick_inverse(d, odd);
#pragma unroll
            for (int j = 0; j < 32; ++j) {
                nfma(a[j], l1, row1[j]);
                nfma(a[j], l2, row2[j]);
            }
        }
        __syncwarp();
    }
    if (in && !live) {
        m.d[c0 + pos] = dg, m.e[c0 + pos] = my_e;
        m.di[c0 + pos] = my_di, m.ei[c0 + pos] = my_ei;
        m.zero[c0 + pos] = zero;
    }
    const unsigned left = __ballot_sync(all, live);
    if (live) pos = take + __popc(left & ((1u << lane) - 1));
    if (in) m.order[c0 + pos] = mine;
    m.from[pos] = lane;
#pragma unroll 8
    for (int q = 0; q < take; ++q) {
        const T l = in && q < pos ? m.Lb[q * 33 + lane] : make<T>(0);
        m.Lt[q * 32 + pos] = l;
        if (in && q < pos) S[pos + q * LD] = l;
    }
    if (left) { /* the Schur complement of what is kept: at most KEEP rows of 32 */
        __syncwarp();
        T *kept = m.Lb;
        if (live) {
#pragma unroll
            for (int j = 0; j < 32; ++j) kept[(pos - take) * 33 + j] = a[j];
        }
        __syncwarp();
        if (live) {
            for (int q = take; q < pos; ++q) S[pos + q * LD] = kept[(pos - take) * 33 + m.from[q]];
            S[pos + pos * LD] = dg;
        }
    }
}

/** Entry r of a lane's row, r the same for all lanes; by repeated halving, since registers have
 *  no index. By each thread for itself; no barrier. */
template <class T> __device__ inline T select_entry(const T (&a)[32], int r) {
    T b[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) b[j] = r & 16 ? a[j + 16] : a[j];
#pragma unroll
    for (int j = 0; j < 8; ++j) b[j] = r & 8 ? b[j + 8] : b[j];
#pragma unroll
    for (int j = 0; j < 4; ++j) b[j] = r & 4 ? b[j + 4] : b[j];
#pragma unroll
    for (int j = 0; j < 2; ++j) b[j] = r & 2 ? b[j + 2] : b[j];
    return r & 1 ? b[1] : b[0];
}

/** Of the 32 candidates at c0, 32 - KEEP pivots of order 1, each the largest entry left on the
 *  diagonal; no rook search as long as |l| <= 4. False: some |l| was larger, and nothing was
 *  written. By one warp; contains __syncwarp(). */
template <bool H, class T>
__device__ bool block_diagonal(tile_memory<T> &m, int c0, typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const unsigned all = 0xffffffffu, most = key((R)4);
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD, STEP = 32 - KEEP;
    T a[32];
    T *S = m.S + c0 + c0 * LD;
#pragma unroll
    for (int j = 0; j < 32; ++j) a[j] = j <= lane ? S[lane + j * LD] : cj<H>(S[j + lane * LD]);
    T dg = diagonal<H>(S[lane + lane * LD]);
    const int mine = m.order[c0 + lane];
    const unsigned tiny_key = key(tiny);
    bool live = true, odd = false;
    int pos = lane;
    unsigned top = 0;
    T my_di = make<T>(0);
#pragma unroll 1
    for (int k = 0; k < STEP; ++k) {
        const diagonal_candidate c = largest_diagonal(live, key(dg));
        const int r = c.r & 31;
        odd |= c.m1 <= tiny_key;
        const T d = shfl(dg, r), di = quick_inverse(d, odd);
        const T w = select_entry(a, r); /* a(lane, r); the row of r is its conjugate */
        T *row = m.rows[k & 1];
        row[lane] = cj<H>(w);
        const bool on = live && lane != r;
        const T l = on ? w * di : make<T>(0);
        nfma(dg, l, cj<H>(w));
        dg = diagonal<H>(dg);
        if (lane == r) live = false, pos = k, my_di = di;
        top = max(top, key(l));
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 32; ++j) nfma(a[j], l, row[j]);
        m.Lb[k * 33 + lane] = l;
        if ((k & 7) == 7 && __any_sync(all, odd || !(top <= most))) return false;
    }
    if (!live) {
        m.d[c0 + pos] = dg, m.e[c0 + pos] = m.ei[c0 + pos] = make<T>(0);
        m.di[c0 + pos] = my_di, m.zero[c0 + pos] = 0;
    }
    const unsigned left = __ballot_sync(all, live);
    if (live) pos = STEP + __popc(left & ((1u << lane) - 1));
    m.order[c0 + pos] = mine;
    m.from[pos] = lane;
    __syncwarp();
#pragma unroll
    for (int q = 0; q < STEP; ++q) {
        const T l = q < pos ? m.Lb[q * 33 + lane] : make<T>(0);
        m.Lt[q * 32 + pos] = l;
        if (q < pos) S[pos + q * LD] = l;
    }
    __syncwarp();
    if (live) {
#pragma unroll
        for (int j = 0; j < 32; ++j) m.Lb[(pos - STEP) * 33 + j] = a[j];
    }
    __syncwarp();
    if (live) {
#pragma unroll
        for (int q = 0; q < KEEP; ++q)
            if (STEP + q < pos)
                S[pos + (STEP + q) * LD] = m.Lb[(pos - STEP) * 33 + m.from[STEP + q]];
        S[pos + pos * LD] = dg;
    }
    return true;
}

/** Pivots of order 1 in the order given, which only the residual tests. While the columns beyond
 *  a pivot are updated, the reciprocal of the next is computed. False: a pivot was out of the
 *  quick reciprocal's range, and nothing was written. By one warp; contains __syncwarp(). */
template <bool H, bool QUICK, class T>
__device__ bool block_plain(tile_memory<T> &m, int c0, int nb) {
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD;
    T a[32];
    T *S = m.S + c0 + c0 * LD;
    bool odd = false, none = false;
    T my_d = make<T>(0), my_di = make<T>(0);
#pragma unroll
    for (int j = 0; j < 32; ++j) a[j] = j <= lane ? S[lane + j * LD] : make<T>(0);
    auto reciprocal = [&](T d) {
        T x;
        if (QUICK)
            x = quick_inverse(d, odd);
        else
            x = is_zero(d) ? make<T>(0) : inverse(d);
        return x;
    };
    T d = diagonal<H>(shfl(a[0], 0));
    m.rows[0][lane] = cj<H>(a[0]);
    T di = reciprocal(d);
#pragma unroll
    for (int k = 0; k < 32; ++k) {
        const T *w = m.rows[k & 1];
        __syncwarp();
        if (lane == k) my_d = d, my_di = di;
        const T l = lane > k ? a[k] * di : make<T>(0);
        a[k] = l;
        if (k < 31) {
            nfma(a[k < 31 ? k + 1 : 31], l, w[k < 31 ? k + 1 : 31]);
            d = diagonal<H>(shfl(a[k < 31 ? k + 1 : 31], k + 1));
            m.rows[(k + 1) & 1][lane] = cj<H>(a[k < 31 ? k + 1 : 31]);
            if (k < 31) di = reciprocal(d);
#pragma unroll
            for (int j = k + 2; j < 32; ++j) nfma(a[j], l, w[j]);
        }
        m.Lt[k * 32 + lane] = l;
    }
    none = is_zero(my_d) && lane < nb;
    if (QUICK && __any_sync(0xffffffffu, odd || !(abs1(my_d) >= 0))) return false;
    m.d[c0 + lane] = my_d, m.di[c0 + lane] = is_zero(my_d) ? make<T>(0) : my_di;
    m.e[c0 + lane] = m.ei[c0 + lane] = make<T>(0);
    m.zero[c0 + lane] = none;
#pragma unroll
    for (int k = 0; k < 32; ++k)
        if (k < lane) S[lane + k * LD] = a[k];
    return true;
}

} // namespace mpki
#endif
