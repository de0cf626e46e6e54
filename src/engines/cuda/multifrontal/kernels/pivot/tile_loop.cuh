/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_TILE_LOOP_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_TILE_LOOP_CUH
/** L D L^T of the tile of a task's front by one warp, with rows in shared memory: the same results
 *  as tile.cuh's, from a loop in place of unrolled code: by itself tile.cuh's search is faster, in the kernel
 *  of a task it is not (bench/journal/2026-11-29-small-systems.md). */
#include "tile.cuh"

namespace mpki {

enum { LOOP_COLUMNS = 8 /* of a row that are read before the first is written */ };

/** A warp: 1 / a of a number that all lanes have; quick: quick_inverse(a), which is taken where it
 *  is right. */
template <class T> __device__ inline T own_inverse(T, T quick) {
    return quick;
}
__device__ inline double own_inverse(double a, double quick) {
    const unsigned k = key(a);
    return k > 0x03000000u && k < 0x7c000000u ? quick : inverse(a);
}

/** A thread: row[j LDS_] -= l1 U[j], and l2 V[j] with PAIR, for columns first .. b - 1. Returns the
 *  key of the largest entry. Barriers: none. */
template <bool PAIR, class T>
__device__ inline unsigned loop_row(T *row, int first, int b, const T *U, const T *V, T l1, T l2) {
    const int AT_ONCE = LOOP_COLUMNS;
    unsigned most = 0;
#pragma unroll 1
    for (int j = first; j < b; j += AT_ONCE) {
        T x[AT_ONCE], u[AT_ONCE], v[AT_ONCE];
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const int at = j + q < b ? j + q : j;
            x[q] = row[at * LDS_], u[q] = U[at];
            if (PAIR) v[q] = V[at];
        }
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            nfma(x[q], l1, u[q]);
            if (PAIR) nfma(x[q], l2, v[q]);
        }
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const unsigned k = key(x[q]);
            most = k > most ? k : most;
            if (j + q < b) row[(j + q) * LDS_] = x[q];
        }
    }
    return most;
}

/** A warp: L D L^T = P S P^T by complete pivoting, as tile_factor() of tile.cuh. S holds both
 *  triangles of b columns, leading dimension LDS_. S [out] L below the diagonal of the first
 *  columns; perm (b), d and dinv (2 b) [out]. small: a pivot of at most this size is not taken.
 *  work [work] 2 TILE entries, aligned for two. begun: if it is not negative, so many pivots are
 *  done by quick_pivots(). Returns the number of pivots. A row stays with its lane; where a column is
 *  eliminated, the first one that is left moves to its place, and L is written where that one was.
 *  Barriers: it meets the warp; the results are visible to all its lanes. */
template <bool H, class T>
__device__ int loop_factor(T *S, int b, int *perm, T *d, T *dinv, typename scalar_of<T>::real small,
                           T *work, int begun = -1) {
    typedef typename scalar_of<T>::real R;
    const R alpha = (R)MPKI_ALPHA;
    const unsigned all = 0xffffffffu, none = key((R)INFINITY);
    const int lane = threadIdx.x & 31;
    const unsigned mine = 31u - (unsigned)lane;
    T *U = work, *V = work + TILE, *const row = S + lane;
    int p = begun > 0 ? begun : 0, place = lane < p ? lane : -1;
    int col = lane; /* where this row's column is */
    const int order = begun >= 0 && lane < b ? perm[lane] : lane;
    bool live = lane >= p && lane < b;
    unsigned most = 0; /* the key of the largest entry of this lane's row */
#pragma unroll 4
    for (int j = p; j < b; ++j) {
        const unsigned k = key(row[j * LDS_]);
        most = k > most ? k : most;
    }
    T own = live ? diagonal<H>(row[lane * LDS_]) : make<T>(0);
    __syncwarp();
#pragma unroll 1
    while (p < b) {
        const unsigned size = live ? key(own) & ~31u : 0;
        const T mine_inverse = quick_inverse(own); /* if it is the one */
        const unsigned best = __reduce_max_sync(all, live ? (most & ~31u) | mine : mine);
        const unsigned on = __reduce_max_sync(all, size | mine);
        const R top = unkey<R>(best & ~31u), diag = unkey<R>(on & ~31u);
        if (best >= none || !(top > small)) break;
        const bool pair = !(diag >= alpha * top);
        const int r = 31 - (int)((pair ? best : on) & 31), at = __shfl_sync(all, col, r);
        const T u = row[at * LDS_], dk = shfl(own, r);
        /* that column's place is for the first one that is left */
        if (at != p) row[at * LDS_] = row[p * LDS_];
        if (col == p) col = at;
        if (!pair) {
            const T di = own_inverse(dk, shfl(mine_inverse, r)), l = u * di;
            if (lane == r) place = p, live = false;
            if (live) U[col] = cj<H>(u), row[p * LDS_] = l;
            __syncwarp();
            if (lane == 0) {
                d[2 * p] = dk, dinv[2 * p] = di;
                d[2 * p + 1] = dinv[2 * p + 1] = make<T>(0);
            }
            nfma(own, l, cj<H>(u));
            p += 1;
            most = loop_row<false>(row, p, b, U, V, l, l);
        } else {
            const bool may = live && lane != r;
            const unsigned in_row = may ? (key(u) & ~31u) | mine : 0;
            const int c = 31 - (int)(__reduce_max_sync(all, in_row) & 31);
            const int other = __shfl_sync(all, col, c);
            const T v = row[other * LDS_], d22 = shfl(own, c), d21 = cj<H>(shfl(v, r));
            if (other != p + 1) row[other * LDS_] = row[(p + 1) * LDS_];
            if (col == p + 1) col = other;
            T i11, i21, i22;
            pair_inverse<H>(dk, d21, d22, i11, i21, i22);
            const T l1 = u * i11 + v * i21, l2 = u * cj<H>(i21) + v * i22;
            if (lane == r) place = p, live = false;
            if (lane == c) place = p + 1, live = false, row[p * LDS_] = make<T>(0);
            if (live) {
                U[col] = cj<H>(u), V[col] = cj<H>(v);
                row[p * LDS_] = l1, row[(p + 1) * LDS_] = l2;
            }
            __syncwarp();
            if (lane == 0) {
                T *e = d + 2 * p, *f = dinv + 2 * p;
                e[0] = dk, e[1] = d21, e[2] = d22, e[3] = make<T>(0);
                f[0] = i11, f[1] = i21, f[2] = i22, f[3] = make<T>(0);
            }
            nfma(own, l1, cj<H>(u));
            nfma(own, l2, cj<H>(v));
            p += 2;
            most = loop_row<true>(row, p, b, U, V, l1, l2);
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

} // namespace mpki
#endif
