/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_TILE_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_TILE_CUH
/** L D L^T of a tile of at most 32 candidates by one warp, a row in each lane's registers. Complete
 *  pivoting inside the tile (Bunch & Parlett 1971) as src/kernels/tile_k.c does it; before it a
 *  quick way without a search. */
#include "kernels/alpha.h"
#include "../common.cuh"

namespace mpki {

/** A thread: 1 / a without a branch, so that other work goes on beside it. For a near the ends of
 *  the range the result is of no use; the caller tests a. */
template <class T> __device__ inline T quick_inverse(T a) {
    return inverse(a);
}
__device__ inline double quick_inverse(double a) {
    const double y = nearly_inverse(a), e = fma(-a, y, 1.0); /* e^3 is less than half a bit */
    return fma(y, fma(e, e, e), y);
}
/** A warp: 1 / a of a number that all lanes have: quick_inverse() where that is right, else
 *  inverse(). */
template <class T> __device__ inline T common_inverse(T a) {
    return inverse(a);
}
__device__ inline double common_inverse(double a) {
    const unsigned k = key(a);
    return k > 0x03000000u && k < 0x7c000000u ? quick_inverse(a) : inverse(a);
}

/** A warp: each lane's x[j], FIRST <= j < FIRST + COUNT, which becomes 0. x is in registers, so j,
 *  which all lanes share, is found by comparisons. */
template <int FIRST, int COUNT, int W, class T> __device__ inline T column_out(T (&x)[W], int j) {
    if constexpr (COUNT == 1) {
        const T u = x[FIRST];
        x[FIRST] = make<T>(0);
        return u;
    } else {
        const int HALF = COUNT / 2;
        return j < FIRST + HALF ? column_out<FIRST, HALF>(x, j)
                                : column_out<FIRST + HALF, HALF>(x, j);
    }
}

/** A thread: x := x - l1 U, and - l2 V with PAIR, for its row x. Returns the key of the largest
 *  entry. */
template <bool PAIR, int W, class T>
__device__ inline unsigned tile_row(T (&x)[W], const T *U, const T *V, T l1, T l2) {
    unsigned most = 0;
#pragma unroll
    for (int j = 0; j < W; j += 2) {
        const two_of<T> u = two_at(U + j);
        nfma(x[j], l1, u.a);
        nfma(x[j + 1], l1, u.b);
        if (PAIR) {
            const two_of<T> v = two_at(V + j);
            nfma(x[j], l2, v.a);
            nfma(x[j + 1], l2, v.b);
        }
        const unsigned a = key(x[j]), c = key(x[j + 1]), k = a > c ? a : c;
        most = k > most ? k : most;
    }
    return most;
}

/** A warp: row `place` of L := this lane's row, in columns below p of the tile S of b columns,
 *  which are written at the places of the original rows. Barriers: it meets the warp. */
template <class T> __device__ inline void order_tile(T *S, int b, int p, int place) {
    const int AT_ONCE = 8, lane = (int)threadIdx.x & 31;
    for (int k0 = 0; k0 < p; k0 += AT_ONCE) {
        T l[AT_ONCE];
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q)
            l[q] = lane < b && k0 + q < p ? S[lane + (k0 + q) * LDS_] : make<T>(0);
        __syncwarp();
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q)
            if (lane < b && k0 + q < p && k0 + q < place) S[place + (k0 + q) * LDS_] = l[q];
        __syncwarp();
    }
}

/** A warp: tile_factor() for at most W columns. A row is a lane's, in registers, and stays there; a
 *  column that is done is 0 in all rows, so that nothing is exchanged before the end. Barriers: it
 *  meets the warp. */
template <bool H, int W, class T>
__device__ int tile_complete(T *S, int b, int *perm, T *d, T *dinv,
                             typename scalar_of<T>::real small, T *work, int begun) {
    typedef typename scalar_of<T>::real R;
    const R alpha = (R)MPKI_ALPHA;
    const unsigned all = 0xffffffffu, none = key((R)INFINITY);
    const int lane = threadIdx.x & 31;
    const unsigned mine = 31u - (unsigned)lane;
    T *U = work, *V = work + TILE, x[W];
    int p = begun > 0 ? begun : 0, place = lane < p ? lane : -1;
    const int order = begun >= 0 && lane < b ? perm[lane] : lane;
    bool live = lane >= p && lane < b;
    unsigned most = 0; /* the key of the largest entry of this lane's row */
#pragma unroll
    for (int j = 0; j < W; ++j) {
        x[j] = live && j >= p && j < b ? S[lane + j * LDS_] : make<T>(0);
        const unsigned k = key(x[j]);
        most = k > most ? k : most;
    }
    T own = live ? diagonal<H>(S[lane + lane * LDS_]) : make<T>(0);
    __syncwarp();
    while (p < b) {
        const unsigned size = live ? key(own) & ~31u : 0;
        const unsigned best = __reduce_max_sync(all, live ? (most & ~31u) | mine : mine);
        const unsigned on = __reduce_max_sync(all, size | mine);
        const R top = unkey<R>(best & ~31u), diag = unkey<R>(on & ~31u);
        if (best >= none || !(top > small)) break;
        if (diag >= alpha * top) {
            const int r = 31 - (int)(on & 31);
            const T dk = shfl(own, r), di = common_inverse(dk);
            const T u = column_out<0, W>(x, r), l = u * di;
            if (lane == r) place = p, live = false;
            U[lane] = live ? cj<H>(u) : make<T>(0);
            if (live) S[lane + p * LDS_] = l;
            __syncwarp();
            if (lane == 0) {
                d[2 * p] = dk, dinv[2 * p] = di;
                d[2 * p + 1] = dinv[2 * p + 1] = make<T>(0);
            }
            most = tile_row<false>(x, U, V, l, l);
            nfma(own, l, cj<H>(u));
            p += 1;
        } else {
            const int r = 31 - (int)(best & 31);
            const T u = column_out<0, W>(x, r);
            const bool may = live && lane != r;
            const unsigned in_row = may ? (key(u) & ~31u) | mine : 0;
            const int c = 31 - (int)(__reduce_max_sync(all, in_row) & 31);
            const T v = column_out<0, W>(x, c), d11 = shfl(own, r), d22 = shfl(own, c);
            const T d21 = cj<H>(shfl(v, r));
            T i11, i21, i22;
            pair_inverse<H>(d11, d21, d22, i11, i21, i22);
            const T l1 = u * i11 + v * i21, l2 = u * cj<H>(i21) + v * i22;
            if (lane == r) place = p, live = false;
            if (lane == c) place = p + 1, live = false, S[lane + p * LDS_] = make<T>(0);
            U[lane] = live ? cj<H>(u) : make<T>(0), V[lane] = live ? cj<H>(v) : make<T>(0);
            if (live) S[lane + p * LDS_] = l1, S[lane + (p + 1) * LDS_] = l2;
            __syncwarp();
            if (lane == 0) {
                d[2 * p] = d11, d[2 * p + 1] = d21, d[2 * p + 2] = d22, d[2 * p + 3] = make<T>(0);
                dinv[2 * p] = i11, dinv[2 * p + 1] = i21, dinv[2 * p + 2] = i22;
                dinv[2 * p + 3] = make<T>(0);
            }
            most = tile_row<true>(x, U, V, l1, l2);
            nfma(own, l1, cj<H>(u));
            nfma(own, l2, cj<H>(v));
            p += 2;
        }
        own = diagonal<H>(own);
        __syncwarp(); /* U and V have been read */
    }
    const unsigned left = __ballot_sync(all, lane < b && place < 0);
    if (place < 0) place = p + __popc(left & ((1u << lane) - 1));
    order_tile(S, b, p, place);
    if (lane < b) perm[place] = order;
    for (int k = p + lane; k < b; k += 32)
        d[2 * k] = d[2 * k + 1] = dinv[2 * k] = dinv[2 * k + 1] = make<T>(0);
    __syncwarp();
    return p;
}

/** A warp: L D L^T = P S P^T by complete pivoting. S holds both triangles of b columns, leading
 *  dimension LDS_. S [out] L below the diagonal of the first columns; perm (b), d and dinv (2 b)
 *  [out]. small: a pivot of at most this size is not taken. work [work] 2 TILE entries, aligned for
 *  two. begun: if it is not negative, so many pivots are done by quick_pivots(), which left S,
 *  perm, d and dinv so. Returns the number of pivots. Sizes are compared by their keys, to 15 bits
 *  and more. Barriers: it meets the warp; the results are visible to all its lanes. */
template <bool H, class T>
__device__ int tile_factor(T *S, int b, int *perm, T *d, T *dinv, typename scalar_of<T>::real small,
                           T *work, int begun = -1) {
    if (b <= 8) return tile_complete<H, 8>(S, b, perm, d, dinv, small, work, begun);
    if (b <= 16) return tile_complete<H, 16>(S, b, perm, d, dinv, small, work, begun);
    return tile_complete<H, 32>(S, b, perm, d, dinv, small, work, begun);
}

/* ---- the quick way: without a search ---- */

enum {
    QUICK_MOST = 8, /* of L in a tile that is done in the quick way, */
    QUICK_EVEN = 2  /* and in one that is done so in part: what is left has hardly grown */
};

/** What a lane has of the column that comes next in the quick way. */
template <class T> struct quick_column {
    T u, dk;      /* this lane's entry; the pivot, in all lanes */
    T d, inverse; /* of the column that has this lane's number */
    bool stopped; /* this column is none for this way */
    bool grows;   /* this lane has met an entry of L above QUICK_EVEN */
};

/** A warp, lane i with row i: eliminates columns k .. until - 1 in their order; x[j]: entry of
 *  column k + j. L goes to S, D and D^-1 to c. small, most: as those of quick_pivots(). The pivot
 *  of the next column is formed in all lanes beside its entries, so that a column waits for one
 *  division and nothing else. Returns the first column that was not eliminated; with c.stopped the
 *  rest of the rows is in S. Barriers: it meets the warp. */
template <bool H, int W, class T>
__device__ inline int quick_columns(T (&x)[W], quick_column<T> &c, T *S, T *work, int b, int k,
                                    int until, typename scalar_of<T>::real small,
                                    typename scalar_of<T>::real most) {
    typedef typename scalar_of<T>::real R;
    const R far = sizeof(R) == 8 ? (R)1e300 : (R)1e37;
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (; k < until; ++k) {
        const T *U = work + (k & 1) * TILE;
        T *next_U = work + (~k & 1) * TILE;
        const R size = abs1(c.dk);
        const bool bad = !(size > small) || !(size > 1 / far) || !(size < far) ||
                         (lane > k && lane < b && !(abs1(c.u) <= most * size));
        const T di = quick_inverse(c.dk), diag = shfl(x[1], (k + 1) & 31);
        c.grows = c.grows || (lane > k && lane < b && !(abs1(c.u) <= QUICK_EVEN * size));
        c.stopped = __any_sync(0xffffffffu, bad);
        if (c.stopped) break;
        __syncwarp();
        two_of<T> v = two_at(U);
        const T l = c.u * di;
        T y = x[1], next = diag;
        nfma(y, l, v.b);
        x[0] = y;
        if (lane > k) next_U[lane - k - 1] = cj<H>(y), S[lane + k * LDS_] = l;
        nfma(next, cj<H>(v.b) * di, v.b);
#pragma unroll
        for (int j = 2; j < W; j += 2) {
            v = two_at(U + j);
            T z = x[j];
            nfma(z, l, v.a);
            x[j - 1] = z;
            z = x[j + 1];
            nfma(z, l, v.b);
            x[j] = z;
        }
        x[W - 1] = make<T>(0);
        c.d = lane == k ? c.dk : c.d, c.inverse = lane == k ? di : c.inverse;
        c.u = y, c.dk = diagonal<H>(next);
    }
    if (c.stopped)
#pragma unroll
        for (int j = 0; j < W; ++j)
            if (lane >= k && lane < b && k + j < b) S[lane + (k + j) * LDS_] = x[j];
    return k;
}

/** A warp: quick_columns() on all columns from k on, with half as many registers of a row from each
 *  half on. Returns the first column that was not eliminated. */
template <bool H, int W, class T>
__device__ inline int quick_from(T (&x)[W], quick_column<T> &c, T *S, T *work, int b, int k,
                                 typename scalar_of<T>::real small,
                                 typename scalar_of<T>::real most) {
    const int until = W == 4 ? b : b - W / 2 > k ? b - W / 2 : k;
    k = quick_columns<H, W>(x, c, S, work, b, k, until, small, most);
    if constexpr (W > 4) {
        if (c.stopped) return k;
        T y[W / 2];
#pragma unroll
        for (int j = 0; j < W / 2; ++j) y[j] = x[j];
        return quick_from<H, W / 2>(y, c, S, work, b, k, small, most);
    }
    return k;
}

/** A warp: as tile_factor(), with pivots of order 1 alone, in the order of the diagonal's sizes at
 *  the start: no entry of L above `most`, no pivot of at most `small`. In place of the search and
 *  of exchanges, which take most of tile_factor()'s time, a column takes one division. Returns the
 *  number of pivots; tile_factor() can go on from there. Returns -1 if entries have grown so that
 *  it should start anew: S is of no use then. work [work] 2 TILE entries, aligned for two.
 *  Barriers: it meets the warp. */
template <bool H, class T>
__device__ int quick_pivots(T *S, int b, int *perm, T *d, T *dinv,
                            typename scalar_of<T>::real small, typename scalar_of<T>::real most,
                            T *work) {
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x & 31;
    const unsigned size = lane < b ? key(S[lane + lane * LDS_]) : 0;
    int rank = 0;
#pragma unroll 8
    for (int j = 0; j < b; ++j) {
        const unsigned other = __shfl_sync(all, size, j);
        rank += other > size || (other == size && j < lane);
    }
    if (lane < b) perm[rank] = lane;
    work[lane] = work[lane + TILE] = make<T>(0);
    __syncwarp();
    const int row = perm[lane < b ? lane : 0];
    T x[TILE];
#pragma unroll
    for (int j = 0; j < TILE; ++j)
        x[j] = j < b && lane < b ? S[row + perm[j < b ? j : 0] * LDS_] : make<T>(0);
    quick_column<T> c;
    c.u = x[0], c.dk = diagonal<H>(shfl(x[0], 0)), c.stopped = c.grows = false;
    c.d = c.inverse = make<T>(0);
    work[lane] = cj<H>(c.u);
    __syncwarp();
    const int done = quick_from<H, TILE>(x, c, S, work, b, 0, small, most);
    if (lane < done) {
        d[2 * lane] = c.d, dinv[2 * lane] = c.inverse;
        d[2 * lane + 1] = dinv[2 * lane + 1] = make<T>(0);
    }
    const bool grown = __any_sync(all, c.grows);
    __syncwarp();
    return done == b || !grown ? done : -1;
}

/** A warp: eliminates all b columns by quick_pivots(). Returns false if it cannot; S, perm, d and
 *  dinv are of no use then. */
template <bool H, class T>
__device__ bool tile_quick(T *S, int b, int *perm, T *d, T *dinv, typename scalar_of<T>::real small,
                           typename scalar_of<T>::real most, T *work) {
    return quick_pivots<H>(S, b, perm, d, dinv, small, most, work) == b;
}

/** A thread: X := A L^-H on one row below the tile: x[k], in the order of the tile, becomes X for
 *  the first `pivots` columns, and for the others what these leave of A. S: the tile, whose entries
 *  are read in twos. Barriers: none. */
template <bool H, int B, class T>
__device__ inline void row_eliminate(T (&x)[B], const T *S, int b, int pivots) {
#pragma unroll
    for (int k = 0; k < B - 1; ++k) {
        if (k >= pivots) break;
#pragma unroll
        for (int j = (k + 1) & ~1; j < B; j += 2) {
            if (j >= b) continue;
            const two_of<T> s = two_at(S + j + k * LDS_);
            if (j > k) nfma(x[j], x[k], cj<H>(s.a));
            nfma(x[j + 1], x[k], cj<H>(s.b)); /* beyond b: of no use, and not used */
        }
    }
}

/** A thread: entry k of L = X D^-1; before, x, after: entries k - 1, k, k + 1 of the row X. */
template <bool H, class T>
__device__ inline T times_inverse(T before, T x, T after, const T *dinv, int k) {
    T l = x * dinv[2 * k];
    pfma(l, after, dinv[2 * k + 1]);
    if (k > 0) pfma(l, before, cj<H>(dinv[2 * k - 1]));
    return l;
}

/** A thread: the first column of its row of L = X D^-1 with an entry above `limit`; `pivots` if
 *  there is none. Barriers: none. */
template <bool H, int B, class T>
__device__ inline int row_test(const T (&x)[B], const T *dinv, int pivots,
                               typename scalar_of<T>::real limit) {
    int good = pivots;
#pragma unroll
    for (int k = B - 1; k >= 0; --k) {
        if (k >= pivots) continue;
        const T l = times_inverse<H>(k ? x[k ? k - 1 : 0] : make<T>(0), x[k],
                                     k + 1 < B ? x[k + 1 < B ? k + 1 : k] : make<T>(0), dinv, k);
        if (!(abs1(l) <= limit)) good = k;
    }
    return good;
}

/** A thread: ne, or one less if pivot ne - 1 is the first column of a pair: a pair stands or falls
 *  as a whole. */
template <class T> __device__ inline int whole_pairs(const T *d, int ne) {
    if (ne <= 0) return ne;
    /* the second of a pair has its off-diagonal entry before it; so count pairs from the begin */
    int k = 0;
    while (k < ne) k += is_zero(d[2 * k + 1]) ? 1 : 2;
    return k == ne ? ne : k - 2;
}

} // namespace mpki
#endif
