/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_TILE_CUH
#define MPKI_CUDA_DIRECT_TILE_CUH
/** L D L^T of a tile of at most 32 candidates by one warp, with complete pivoting inside (Bunch &
 *  Parlett 1971), as src/kernels/tile_k.c does it. */
#include "../../../kernels/alpha.h"
#include "common.cuh"

namespace mpki {

/** The lane with the largest value among those that are `in`; values are compared to 15 bits. */
template <class R> __device__ inline int warp_largest(R value, bool in) {
    const unsigned lane = threadIdx.x & 31;
    return 31 - (int)(__reduce_max_sync(0xffffffffu,
                                        in ? ((key(value) & ~31u) | (31 - lane)) : 31 - lane) &
                      31);
}

/** One warp: exchange rows and columns p < q of a tile of b. */
template <class T> __device__ inline void tile_exchange(T *S, int b, int *perm, int p, int q) {
    const int lane = threadIdx.x & 31;
    if (p == q) return;
    if (lane < b) {
        const T t = S[p + lane * LDS_];
        S[p + lane * LDS_] = S[q + lane * LDS_], S[q + lane * LDS_] = t;
    }
    __syncwarp();
    if (lane < b) {
        const T t = S[lane + p * LDS_];
        S[lane + p * LDS_] = S[lane + q * LDS_], S[lane + q * LDS_] = t;
    }
    if (lane == 0) {
        const int t = perm[p];
        perm[p] = perm[q], perm[q] = t;
    }
    __syncwarp();
}

/** One warp: S holds both triangles of b columns, leading dimension LDS_. L below the diagonal of
 *  the first columns, perm (b), d and dinv (2 b) out. No pivot of at most `small` is taken.
 *  work: 2 TILE entries. Returns the number of pivots. */
template <bool H, class T>
__device__ int tile_factor(T *S, int b, int *perm, T *d, T *dinv, typename scalar_of<T>::real small,
                           T *work) {
    typedef typename scalar_of<T>::real R;
    const R alpha = (R)MPKI_ALPHA;
    const int lane = threadIdx.x & 31;
    const unsigned all = 0xffffffffu;
    T *U = work, *V = work + TILE;
    R most = 0;
    bool odd = false;
    if (lane < b) {
        perm[lane] = lane;
        for (int j = 0; j < b; ++j) {
            const R x = abs1(S[lane + j * LDS_]);
            odd |= !is_finite(x);
            most = x > most ? x : most;
        }
    }
    __syncwarp();
    int p = 0;
    while (p < b) {
        const bool live = lane >= p && lane < b;
        if (__any_sync(all, odd)) break;
        const int r = warp_largest(most, live);
        const R size = live ? abs1(S[lane + lane * LDS_]) : (R)0;
        const int dmax = warp_largest(size, live);
        const R top = shfl(most, r), diag = shfl(size, dmax);
        if (!(top > small)) break;
        const bool one = diag >= alpha * top;
        int s = p + 1;
        if (one) {
            tile_exchange(S, b, perm, p, dmax);
        } else {
            const bool may = live && lane != r;
            const int c = warp_largest(may ? abs1(S[r + lane * LDS_]) : (R)0, may);
            __syncwarp();
            tile_exchange(S, b, perm, p, r);
            tile_exchange(S, b, perm, p + 1, c == p ? r : c);
            s = p + 2;
        }
        const bool below = lane >= s && lane < b;
        most = 0;
        if (one) {
            const T dk = diagonal<H>(S[p + p * LDS_]), di = inverse(dk);
            const T u = lane < b ? S[lane + p * LDS_] : make<T>(0), l = u * di;
            U[lane] = cj<H>(u);
            if (lane == 0) {
                d[2 * p] = dk, dinv[2 * p] = di;
                d[2 * p + 1] = dinv[2 * p + 1] = make<T>(0);
            }
            __syncwarp();
            if (below) {
                S[lane + p * LDS_] = l;
#pragma unroll 4
                for (int j = s; j < b; ++j) {
                    T x = S[lane + j * LDS_];
                    nfma(x, l, U[j]);
                    S[lane + j * LDS_] = x;
                    const R y = abs1(x);
                    odd |= !is_finite(y);
                    most = y > most ? y : most;
                }
            }
        } else {
            const T d11 = diagonal<H>(S[p + p * LDS_]);
            const T d22 = diagonal<H>(S[p + 1 + (p + 1) * LDS_]);
            const T d21 = cj<H>(S[p + (p + 1) * LDS_]);
            T i11, i21, i22;
            pair_inverse<H>(d11, d21, d22, i11, i21, i22);
            const T u = lane < b ? S[lane + p * LDS_] : make<T>(0);
            const T v = lane < b ? S[lane + (p + 1) * LDS_] : make<T>(0);
            const T l1 = u * i11 + v * i21, l2 = u * cj<H>(i21) + v * i22;
            U[lane] = cj<H>(u), V[lane] = cj<H>(v);
            __syncwarp();
            if (lane == 0) {
                d[2 * p] = d11, d[2 * p + 1] = d21, d[2 * p + 2] = d22, d[2 * p + 3] = make<T>(0);
                dinv[2 * p] = i11, dinv[2 * p + 1] = i21, dinv[2 * p + 2] = i22;
                dinv[2 * p + 3] = make<T>(0);
                S[p + 1 + p * LDS_] = make<T>(0);
            }
            if (below) {
                S[lane + p * LDS_] = l1, S[lane + (p + 1) * LDS_] = l2;
#pragma unroll 4
                for (int j = s; j < b; ++j) {
                    T x = S[lane + j * LDS_];
                    nfma(x, l1, U[j]);
                    nfma(x, l2, V[j]);
                    S[lane + j * LDS_] = x;
                    const R y = abs1(x);
                    odd |= !is_finite(y);
                    most = y > most ? y : most;
                }
            }
        }
        __syncwarp();
        p = s;
    }
    for (int k = p + lane; k < b; k += 32)
        d[2 * k] = d[2 * k + 1] = dinv[2 * k] = dinv[2 * k + 1] = make<T>(0);
    __syncwarp();
    return p;
}

static const int TILE_WARPS = 4; /* that take a tile's columns in turn */

/** Entries of the second room of a tile of b columns. */
__host__ __device__ inline int tile_other(int b) {
    return (LDS_ + 2 * TILE_WARPS) * b;
}

/** What an exchange of p1 and q1, then one of p2 and q2, brings to place x. */
__device__ inline int from_before(int x, int p1, int q1, int p2, int q2) {
    x = x == p2 ? q2 : x == q2 ? p2 : x;
    return x == p1 ? q1 : x == q1 ? p1 : x;
}

/** All threads of a block of several warps: as tile_factor(), with the same bits. A pivot's exchange and
 *  what it leaves of the others go from one room to the other, so that warps meet once a pivot.
 *  other: tile_other(b) entries. */
template <bool H, class T>
__device__ int tile_factor_shared(T *S, T *other, int b, int *perm, T *d, T *dinv,
                                  typename scalar_of<T>::real small) {
    typedef typename scalar_of<T>::real R;
    const R alpha = (R)MPKI_ALPHA, none = (R)INFINITY;
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32 < TILE_WARPS ? (int)blockDim.x / 32 : TILE_WARPS;
    R *most_of = (R *)(other + LDS_ * b); /* by warp: of its columns, in each row; two of them */
    T *now = S, *next = other;
    int p = 0, turn = 0;
    if (warp < warps && lane < b) {
        R most = 0;
        for (int j = warp; j < b; j += warps) {
            const R x = abs1(now[lane + j * LDS_]);
            most = !is_finite(x) ? none : x > most ? x : most;
        }
        most_of[warp * b + lane] = most;
    }
    if (warp == 0 && lane < b) perm[lane] = lane;
    for (;;) {
        __syncthreads();
        if (p >= b) break;
        const bool live = lane >= p && lane < b;
        R most = 0;
        for (int k = 0; k < warps && live; ++k) {
            const R x = most_of[(turn * TILE_WARPS + k) * b + lane];
            most = x > most ? x : most;
        }
        if (__any_sync(all, !is_finite(most))) break;
        const int r = warp_largest(most, live);
        const R size = live ? abs1(now[lane + lane * LDS_]) : (R)0;
        const int dmax = warp_largest(size, live);
        const R top = shfl(most, r), diag = shfl(size, dmax);
        if (!(top > small)) break;
        const bool one = diag >= alpha * top;
        int p2 = -1, q2 = -1;
        const int q1 = one ? dmax : r, s = one ? p + 1 : p + 2;
        if (!one) {
            const bool may = live && lane != r;
            const int c = warp_largest(may ? abs1(now[r + lane * LDS_]) : (R)0, may);
            p2 = p + 1, q2 = c == p ? r : c;
        }
        turn ^= 1;
        if (warp < warps) {
            const int i = from_before(lane, p, q1, p2, q2);
            const int k1 = from_before(p, p, q1, p2, q2);
            const int k2 = one ? k1 : from_before(p + 1, p, q1, p2, q2);
            const bool in = lane < b, below = in && lane >= s;
            const T u = in ? now[i + k1 * LDS_] : make<T>(0);
            const T v = in ? now[i + k2 * LDS_] : make<T>(0);
            const T d11 = diagonal<H>(now[k1 + k1 * LDS_]), d22 = diagonal<H>(now[k2 + k2 * LDS_]);
            const T d21 = one ? make<T>(0) : cj<H>(now[k1 + k2 * LDS_]);
            T i11, i21 = make<T>(0), i22 = make<T>(0), l1, l2 = make<T>(0);
            if (one) {
                i11 = inverse(d11);
                l1 = u * i11;
            } else {
                pair_inverse<H>(d11, d21, d22, i11, i21, i22);
                l1 = u * i11 + v * i21, l2 = u * cj<H>(i21) + v * i22;
            }
            if (warp == 0 && lane == 0) {
                d[2 * p] = d11, dinv[2 * p] = i11;
                d[2 * p + 1] = d21, dinv[2 * p + 1] = i21;
                if (!one) {
                    d[2 * p + 2] = d22, dinv[2 * p + 2] = i22;
                    d[2 * p + 3] = dinv[2 * p + 3] = make<T>(0);
                }
                int t = perm[p];
                perm[p] = perm[q1], perm[q1] = t;
                if (!one) t = perm[p2], perm[p2] = perm[q2], perm[q2] = t;
            }
            most = 0;
#pragma unroll 4
            for (int j = warp; j < b; j += warps) {
                const int k = from_before(j, p, q1, p2, q2);
                T x = in ? now[i + k * LDS_] : make<T>(0);
                if (j >= s) {
                    nfma(x, l1, cj<H>(now[k + k1 * LDS_]));
                    if (!one) nfma(x, l2, cj<H>(now[k + k2 * LDS_]));
                    const R y = abs1(x);
                    most = !below ? 0 : !is_finite(y) ? none : y > most ? y : most;
                    if (below) next[lane + j * LDS_] = x;
                } else {
                    if (j == p) x = below ? l1 : !one && lane == p + 1 ? make<T>(0) : x;
                    if (j > p) x = below ? l2 : x;
                    if (in) next[lane + j * LDS_] = x;
                }
            }
            if (in) most_of[(turn * TILE_WARPS + warp) * b + lane] = most;
        }
        T *const before = now;
        now = next, next = before;
        p = s;
    }
    if (now != S)
        for (int k = (int)threadIdx.x; k < b * b; k += (int)blockDim.x) {
            const int at = k % b + k / b * LDS_;
            S[at] = now[at];
        }
    for (int k = 2 * p + (int)threadIdx.x; k < 2 * b; k += (int)blockDim.x)
        d[k] = dinv[k] = make<T>(0);
    __syncthreads();
    return p;
}

/** A row below a tile: x[k], in the order of the tile, becomes X = A L^-H of the first `pivots`
 *  columns, and for the others what these leave of it. */
template <bool H, int B, class T>
__device__ inline void row_eliminate(T (&x)[B], const T *S, int b, int pivots) {
#pragma unroll
    for (int k = 0; k < B - 1; ++k) {
        if (k >= pivots) break;
#pragma unroll
        for (int j = k + 1; j < B; ++j)
            if (j < b) nfma(x[j], x[k], cj<H>(S[j + k * LDS_]));
    }
}

/** Entry k of L = X D^-1. */
template <bool H, class T>
__device__ inline T times_inverse(T before, T x, T after, const T *dinv, int k) {
    T l = x * dinv[2 * k];
    pfma(l, after, dinv[2 * k + 1]);
    if (k > 0) pfma(l, before, cj<H>(dinv[2 * k - 1]));
    return l;
}

/** The first column of a row of L with an entry above `limit`; `pivots` where there is none. */
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

/** A pair is accepted as a whole or not at all. */
template <class T> __device__ inline int whole_pairs(const T *d, int ne) {
    if (ne <= 0) return ne;
    /* the second of a pair has its off-diagonal entry before it; so count pairs from the begin */
    int k = 0;
    while (k < ne) k += is_zero(d[2 * k + 1]) ? 1 : 2;
    return k == ne ? ne : k - 2;
}

} // namespace mpki
#endif
