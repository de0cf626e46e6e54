/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_INVERSE_CUH
#define MPKI_CUDA_DENSE_TILE_INVERSE_CUH
/** The inverse of a tile's unit lower triangle, in place. */
#include "tile_memory.cuh"

namespace mpki {

/** The lower left block of an inverse, from the inverses M11, M22 of the two diagonal blocks of
 *  order h at s: tmp := L21 M11, then S21 := -M22 tmp. S has ones on the diagonal and zeros
 *  above. A warp: 32 or 64 rows, 8 columns. By all threads of a block; contains block barriers. */
template <class T, int h> __device__ void inverse_merge(tile_memory<T> &m) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, LT = tile_memory<T>::LT, Y = 4;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, X = h / 32, pieces = h / Y;
    for (int pass = 0; pass < 2; ++pass) {
        for (int t = warp, turn = 0; t < B / (2 * h) * pieces; t += TILE_THREADS / 32, ++turn) {
            /* short and long columns alternate */
            const int pair = t / pieces, p = t % pieces,
                      piece = turn & 1 ? p / 8 * 8 + 7 - p % 8 : p;
            const int j0 = piece * Y, s = pair * 2 * h;
            T *S = m.S + s * (LD + 1), *tmp = m.tmp + pair * h;
            T c[X][Y];
#pragma unroll
            for (int x = 0; x < X; ++x)
#pragma unroll
                for (int y = 0; y < Y; ++y) c[x][y] = make<T>(0);
            if (pass == 0) {
#pragma unroll 8
                for (int k = j0 / 8 * 8; k < h; ++k) { /* a multiple of 8: no remainder */
                    T l[X];
#pragma unroll
                    for (int x = 0; x < X; ++x) l[x] = S[h + lane + 32 * x + k * LD];
#pragma unroll
                    for (int y = 0; y < Y; ++y) {
                        const T w = S[k + (j0 + y) * LD];
#pragma unroll
                        for (int x = 0; x < X; ++x) pfma(c[x][y], l[x], w);
                    }
                }
#pragma unroll
                for (int x = 0; x < X; ++x)
#pragma unroll
                    for (int y = 0; y < Y; ++y) tmp[lane + 32 * x + (j0 + y) * LT] = c[x][y];
            } else {
#pragma unroll
                for (int part = 0; part < X; ++part) { /* rows of part x have k < 32 (x + 1) */
#pragma unroll 8
                    for (int k = 32 * part; k < 32 * part + 32; ++k) {
                        T w[Y];
#pragma unroll
                        for (int y = 0; y < Y; ++y) w[y] = tmp[k + (j0 + y) * LT];
#pragma unroll
                        for (int x = part; x < X; ++x) {
                            const T l = S[h + lane + 32 * x + (h + k) * LD];
#pragma unroll
                            for (int y = 0; y < Y; ++y) nfma(c[x][y], l, w[y]);
                        }
                    }
                }
#pragma unroll
                for (int x = 0; x < X; ++x)
#pragma unroll
                    for (int y = 0; y < Y; ++y) S[h + lane + 32 * x + (j0 + y) * LD] = c[x][y];
            }
        }
        __syncthreads();
    }
}

/** The lower triangle of S, taken as unit lower triangular, becomes its inverse, in place, with
 *  ones on the diagonal and zeros above. By all threads of a block; contains block barriers. */
template <class T> __device__ void tile_inverse(tile_memory<T> &m) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, warp = threadIdx.x >> 5,
              lane = threadIdx.x & 31;
    if (warp < B / 32) { /* lane j: column j of the inverse of block `warp` */
        T *S = m.S + warp * 32 * (LD + 1);
        T x[32];
#pragma unroll
        for (int i = 0; i < 32; ++i) x[i] = make<T>(i == lane ? 1 : 0);
#pragma unroll
        for (int k = 0; k < 31; ++k) {
#pragma unroll
            for (int i = k + 1; i < 32; ++i) nfma(x[i], S[i + k * LD], x[k]);
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 32; ++i) S[i + lane * LD] = x[i];
    }
    __syncthreads();
    inverse_merge<T, 32>(m);
    if (B == 128) inverse_merge<T, (B == 128 ? 64 : 32)>(m);
}

} // namespace mpki
#endif
