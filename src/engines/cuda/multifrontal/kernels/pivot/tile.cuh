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

/** Two columns that come next in the quick way: pivots a and d2 with their inverses, which all lanes
 *  have; a lane's entries of L; what its row loses: m1 of the first column and l2 of the second. */
template <class T> struct quick_pair { T a, d2, a_inverse, d2_inverse, l1, l2, m1; };

/** Sizes that the quick way takes, as keys: of a pivot, of a product of two, of L. */
template <class R> struct quick_limits {
    /** What a factor of QUICK_EVEN adds to a key. */
    static const unsigned EVEN = key_quarter<R>::value / 2;
    /** What a factor of 2^-20 takes from a key. */
    static const unsigned FALL = 10 * key_quarter<R>::value;
    unsigned pivot, pivot_end, product, product_end, l;
    /** small: a pivot of at most this size is none; most: of L. */
    __device__ quick_limits(R small, R most) {
        const R far = sizeof(R) == 8 ? (R)1e140 : (R)1e17; /* products of two are in the range */
        const R least = small > 1 / far ? small : 1 / far;
        pivot = key(least), pivot_end = key(far);
        product = key(1 / (far * far)), product_end = key(far * far);
        l = key(most);
    }
};

/** What is known between steps of the quick way: the next pair; bits that all lanes have: 1: its
 *  first column is none for this way, 2: its second one; has this lane met an entry of L above
 *  QUICK_EVEN, is there one among those of the pair (bits 1, 2)? */
template <class T> struct quick_state {
    quick_pair<T> next;
    unsigned stop, grows, growing;
};

/** A warp: columns k and k + 1 of b come next, lane i with entries u and v of row i. No branch here
 *  or in quick_columns() is taken by some lanes alone: where one is, the warp meets slowly.
 *  Barriers: it meets the warp. */
template <bool H, class T>
__device__ inline void quick_step(quick_state<T> &c, T u, T v, int k, int b,
                                  const quick_limits<typename scalar_of<T>::real> &limits) {
    const int lane = (int)threadIdx.x & 31;
    quick_pair<T> &q = c.next;
    const T beside = shfl(u, (k + 1) & 31), last = diagonal<H>(shfl(v, (k + 1) & 31));
    q.a = diagonal<H>(shfl(u, k & 31));
    T det = q.a * last;
    nfma(det, beside, cj<H>(beside));
    det = diagonal<H>(det);
    q.a_inverse = quick_inverse(q.a);
    q.d2_inverse = q.a * quick_inverse(det), q.d2 = det * q.a_inverse;
    q.l1 = u * q.a_inverse;
    T w = v; /* less what the first column takes from it */
    nfma(w, q.l1, cj<H>(beside));
    q.l2 = w * q.d2_inverse, q.m1 = q.l1;
    nfma(q.m1, q.l2, cj<H>(q.a_inverse) * beside);
    const unsigned l1 = key(q.l1), l2 = key(q.l2), size1 = key(q.a), size2 = key(q.d2);
    const unsigned product = key(det);
    const bool row1 = lane > k && lane<b, row2 = lane> k + 1 && lane < b;
    const bool good1 = size1 > limits.pivot && size1 < limits.pivot_end;
    const bool good2 = size2 > limits.pivot && size2 < limits.pivot_end &&
                       product > limits.product && product < limits.product_end;
    const unsigned bits = (!good1 || (row1 && l1 > limits.l) ? 1u : 0u) |
                          ((!good2 || (row2 && l2 > limits.l)) && k + 1 < b ? 2u : 0u);
    const unsigned even = quick_limits<typename scalar_of<T>::real>::EVEN;
    c.growing =
        (row1 && key(u) > size1 + even ? 1u : 0u) | (row2 && key(w) > size2 + even ? 2u : 0u);
    c.stop = __reduce_or_sync(0xffffffffu, k < b ? bits : 0u);
}

/** A warp: L, D and D^-1 of column k, the first or the second of the pair; which: 1 or 2. Barriers:
 *  none. */
template <class T>
__device__ inline void quick_store(quick_state<T> &c, T *S, T *d, T *dinv, int k, unsigned which) {
    const int lane = (int)threadIdx.x & 31;
    const quick_pair<T> &q = c.next;
    if (lane > k) S[lane + k * LDS_] = which == 1 ? q.l1 : q.l2; /* beyond b: of no use */
    d[2 * k] = which == 1 ? q.a : q.d2, dinv[2 * k] = which == 1 ? q.a_inverse : q.d2_inverse;
    c.grows |= c.growing & which;
}

/** A warp, lane i with row i: eliminates columns k .. until - 1, two at a time; x[j]: entry of
 *  column k + j, of which all lanes have U[j], V[j] of the two columns, conjugated. What decides
 *  about the next two columns is found beside what is left to be done to the others. Returns the
 *  first column that was not eliminated; with c.stop that is one that cannot be, and the rest of
 *  the rows is in S. d, dinv [inout] of an even number of columns. work [inout] 4 TILE entries.
 *  Barriers: it meets the warp. */
template <bool H, int W, class T>
__device__ inline int quick_columns(T (&x)[W], quick_state<T> &c, T *S, T *d, T *dinv, T *work,
                                    int b, int k, int until,
                                    const quick_limits<typename scalar_of<T>::real> &limits) {
    const int lane = (int)threadIdx.x & 31;
#pragma unroll 1
    while (!c.stop && k < until) {
        const T *const U = work + (k & 2) * TILE, *const V = U + TILE;
        T *const next_U = work + (~k & 2) * TILE, *const next_V = next_U + TILE;
        const T m1 = c.next.m1, l2 = c.next.l2;
        quick_store(c, S, d, dinv, k, 1);
        quick_store(c, S, d, dinv, k + 1, 2);
        k += 2;
#pragma unroll
        for (int j = 2; j < W; j += 2) {
            const two_of<T> u = two_at(U + j), v = two_at(V + j);
            T y = x[j], z = x[j + 1];
            nfma(y, m1, u.a), nfma(z, m1, u.b);
            nfma(y, l2, v.a), nfma(z, l2, v.b);
            x[j - 2] = y, x[j - 1] = z;
            if (j > 2) continue;
            next_U[(lane - k) & 31] = cj<H>(y), next_V[(lane - k) & 31] = cj<H>(z);
            quick_step<H>(c, y, z, k, b, limits);
        }
        x[W - 2] = x[W - 1] = make<T>(0);
        __syncwarp();
    }
    if (!c.stop) return k;
    const T *const U = work + (k & 2) * TILE;
    const int alone = c.stop & 1 ? 0 : 1; /* the first of the two is eliminated */
    if (alone) quick_store(c, S, d, dinv, k, 1);
    c.grows |= c.growing & 1; /* also where the first one is too small beside its column */
#pragma unroll
    for (int j = 0; j < W; ++j) {
        if (j < alone || k + j >= b) continue;
        if (alone) nfma(x[j], c.next.l1, U[j]);
        if (lane >= k + alone && lane < b) S[lane + (k + j) * LDS_] = x[j];
    }
    return k + alone;
}

/** A warp: quick_columns() on all columns from k on, with half as many registers of a row from each
 *  half on. Returns the first column that was not eliminated. */
template <bool H, int W, class T>
__device__ inline int quick_from(T (&x)[W], quick_state<T> &c, T *S, T *d, T *dinv, T *work, int b,
                                 int k, const quick_limits<typename scalar_of<T>::real> &limits) {
    k = quick_columns<H, W>(x, c, S, d, dinv, work, b, k, W == 8 ? b : b - W / 2, limits);
    if constexpr (W > 8) {
        if (c.stop || k >= b) return k < b ? k : b;
        T y[W / 2];
#pragma unroll
        for (int j = 0; j < W / 2; ++j) y[j] = x[j];
        return quick_from<H, W / 2>(y, c, S, d, dinv, work, b, k, limits);
    }
    return k < b ? k : b;
}

/** A warp: as tile_factor(), with pivots of order 1 alone, in the order of the diagonal's sizes at
 *  the start: no entry of L above `most`, no pivot of at most `small`. In place of the search and
 *  of exchanges, which take most of tile_factor()'s time, two columns take two divisions side by
 *  side. Returns the number of pivots; tile_factor() can go on from there. Returns -1 if entries
 *  have grown so that it should start anew: S is of no use then. work [work] 4 TILE entries,
 *  aligned for two. Barriers: it meets the warp. */
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
    __syncwarp();
    const int row = perm[lane < b ? lane : 0];
    T x[TILE]; /* beyond b those of the identity, so that columns go in twos */
#pragma unroll
    for (int j = 0; j < TILE; ++j)
        x[j] = j < b && lane < b ? S[row + perm[j < b ? j : 0] * LDS_] : make<T>(lane == j);
    work[lane] = cj<H>(x[0]), work[TILE + lane] = cj<H>(x[1]);
    d[2 * lane + 1] = dinv[2 * lane + 1] = make<T>(0);
    const quick_limits<typename scalar_of<T>::real> limits(small, most);
    quick_state<T> c;
    c.grows = 0;
    quick_step<H>(c, x[0], x[1], 0, b, limits);
    __syncwarp();
    const int done = quick_from<H, TILE>(x, c, S, d, dinv, work, b, 0, limits);
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
