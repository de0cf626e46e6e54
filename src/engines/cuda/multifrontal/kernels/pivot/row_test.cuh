/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_ROW_TEST_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_ROW_TEST_CUH
/** Rows below a tile of a task's front: X = A L^-H and L = X D^-1, with the test |l| <= 1/u. One
 *  thread does a row; in real doubles, for tiles of more than 8 columns, a warp does 16 rows by
 *  tensor cores. */
#include "../assemble/front.cuh"
#include "tile.cuh"
#ifdef __CUDACC__
#include "engines/cuda/dense/kernels/mma.cuh"
#endif

namespace mpki {

/** What a pass over the rows below a tile does: TRY: X goes to m.X, and L is tested; AGAIN: X goes
 *  to m.X without a test; TEST: L is tested, and nothing is stored; STORE: L, and what the pivots
 *  leave of the other columns, go to the front. */
enum { ROWS_TRY, ROWS_AGAIN, ROWS_TEST, ROWS_STORE };
/** Entries of task_smem.word: 0: the number of pivots that pass; 1: how many the tile has;
 *  WORD_OUT: L of the rows is in the panel; WORD_PAIRS: the tile has pivots of order 2; WORD_QUICK:
 *  columns that were done in the quick way; WORD_REJECTED: columns that failed when they were tried
 *  first. */
enum { WORD_OUT = 2, WORD_PAIRS = 3, WORD_QUICK = 4, WORD_REJECTED = 5 };

/** A block: the rows below a tile of b columns at p: X := A L^-H for its first `pivots` columns,
 *  and what `what` says. limit: 1 / u. m.word[0] [inout] becomes the first column that fails, if
 *  that is less. out: if it is not NULL, L goes there, too, with leading dimension ld. Called by
 *  task_rows_of(). Barriers: none; the caller meets the block before and after. */
template <bool H, int B, class F, class T>
MPKI_APART __device__ void task_rows(F front, int p, int b, int pivots,
                                     typename scalar_of<T>::real limit, int what, T *out, int ld) {
    MPKI_SMEM;
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const bool tested = what == ROWS_TRY || what == ROWS_TEST, single = m.word[WORD_PAIRS] == 0;
#pragma unroll 1
    for (int i = p + b + (int)threadIdx.x; i < f.n; i += (int)blockDim.x) {
        T x[B];
#pragma unroll
        for (int k = 0; k < B; ++k) x[k] = k < b ? f.at(i, p + m.perm[k]) : make<T>(0);
        row_eliminate<H>(x, m.S, b, pivots);
        if (what != ROWS_TEST && i < f.columns)
#pragma unroll
            for (int k = 0; k < B; ++k)
                if (k < b) m.X[i + k * m.ldx] = x[k];
        int good = pivots;
        if (single) {
#pragma unroll
            for (int k = B - 1; k >= 0; --k) {
                if (k >= pivots) continue;
                x[k] = x[k] * m.dinv[2 * k];
                if (!(abs1(x[k]) <= limit)) good = k;
            }
        } else {
            T before = make<T>(0);
            const T beyond = make<T>(0);
#pragma unroll
            for (int k = 0; k < B; ++k) {
                if (k >= pivots) break;
                const T mine = x[k],
                        after = k + 1 < pivots && k + 1 < B ? x[k + 1 < B ? k + 1 : k] : beyond;
                x[k] = times_inverse<H>(before, mine, after, m.dinv, k);
                if (!(abs1(x[k]) <= limit) && k < good) good = k;
                before = mine;
            }
        }
        if (tested && good < pivots) atomicMin(&m.word[0], good);
        if (what != ROWS_STORE && !out) continue;
        T *to = out ? out + i : &f.at(i, p);
#pragma unroll
        for (int k = 0; k < B; ++k) {
            if (k >= b) continue;
            *to = x[k];
            to += out ? ld : f.step(p + k);
        }
    }
}

enum { EIGHT = 8, BY_EIGHTS = 8 /* columns of a tile, beyond which its rows are done by eights */ };

/** A warp: of a tile S of b columns, `pivots` of them eliminated: the inverses of the squares of
 *  order 8 on the diagonal of L, transposed, go above the diagonals of these squares. Barriers: it
 *  meets the warp. */
template <class T> __device__ void invert_eights(T *S, int b, int pivots) {
    const int lane = (int)threadIdx.x & 31, j = lane % EIGHT, o = lane - j;
    T x[EIGHT];
#pragma unroll
    for (int i = 0; i < EIGHT; ++i) {
        x[i] = make<T>(i == j);
#pragma unroll
        for (int k = 0; k < i; ++k)
            nfma(x[i], o + k < pivots && o + i < b ? S[o + i + (o + k) * LDS_] : make<T>(0), x[k]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 1; i < EIGHT; ++i)
        if (i > j) S[o + j + (o + i) * LDS_] = x[i];
}

/** A block: task_rows() of real doubles on up to 8 BLOCKS columns, by tensor cores; invert_eights()
 *  has been called on the tile. A result of a product is used as a factor as it lies: of eight
 *  pivots lane t of four has numbers 2 t and 2 t + 1. Barriers: none of the block; the caller meets
 *  it before and after. */
template <int BLOCKS, class F>
MPKI_APART __device__ void rows_by_eights(F front, int p, int b, int pivots, double limit, int what,
                                          double *out, int ld) {
    MPKI_SMEM;
    const task_smem<double> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const int lane = (int)threadIdx.x & 31, g = lane / 4, t = lane % 4, first = p + b;
    const int warps = (int)blockDim.x / 32;
    const bool single = m.word[WORD_PAIRS] == 0;
    double l[BLOCKS][BLOCKS][2], di[BLOCKS][2];
    const double *from[BLOCKS][2];
#pragma unroll
    for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
        for (int y = 0; y < 2; ++y) {
            const int n = EIGHT * c + g;
#pragma unroll
            for (int d = 0; d < c; ++d) {
                const int k = EIGHT * d + 2 * t + y;
                l[c][d][y] = n < b && k < pivots ? -m.S[n + k * LDS_] : 0.0;
            }
            const int k = EIGHT * c + 2 * t + y;
            l[c][c][y] = n > k ? m.S[k + n * LDS_] : n == k ? 1.0 : 0.0;
            di[c][y] = k < pivots ? m.dinv[2 * k] : 1.0;
            from[c][y] = f.column(p + (k < b ? m.perm[k] : 0));
        }
    for (int i0 = first + 16 * ((int)threadIdx.x / 32); i0 < f.n; i0 += 16 * warps) {
        double x[BLOCKS][4];
#pragma unroll
        for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int i = i0 + g + z / 2 * 8, k = EIGHT * c + 2 * t + z % 2;
                x[c][z] = i < f.n && k < b ? from[c][z % 2][i] : 0.0;
            }
#pragma unroll
        for (int c = 0; c < BLOCKS; ++c) {
#pragma unroll
            for (int d = 0; d < c; ++d) {
                const double a[4] = {x[d][0], x[d][2], x[d][1], x[d][3]};
                mma8(x[c], a, l[c][d][0], l[c][d][1]);
            }
            const double a[4] = {x[c][0], x[c][2], x[c][1], x[c][3]};
            double y[4] = {0, 0, 0, 0};
            mma8(y, a, l[c][c][0], l[c][c][1]);
#pragma unroll
            for (int z = 0; z < 4; ++z) x[c][z] = y[z];
        }
        if (what != ROWS_TEST)
#pragma unroll
            for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
                for (int z = 0; z < 4; ++z) {
                    const int i = i0 + g + z / 2 * 8, k = EIGHT * c + 2 * t + z % 2;
                    if (i < f.columns && k < b) m.X[i + k * m.ldx] = x[c][z];
                }
        if (single) {
#pragma unroll
            for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
                for (int z = 0; z < 4; ++z) x[c][z] *= di[c][z % 2];
        } else {
            double before[BLOCKS][2],
                after[BLOCKS][2]; /* of rows g and g + 8: before 2 t, after 2 t + 1 */
#pragma unroll
            for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
                for (int z = 0; z < 2; ++z) {
                    const double low =
                        t == 3 ? (c > 0 ? x[c > 0 ? c - 1 : 0][2 * z + 1] : 0.0) : x[c][2 * z + 1];
                    const double high =
                        t == 0 ? (c + 1 < BLOCKS ? x[c + 1 < BLOCKS ? c + 1 : c][2 * z] : 0.0)
                               : x[c][2 * z];
                    before[c][z] = shfl(low, 4 * g + (t + 3) % 4);
                    after[c][z] = shfl(high, 4 * g + (t + 1) % 4);
                }
#pragma unroll
            for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
                for (int z = 0; z < 2; ++z) {
                    const int k = EIGHT * c + 2 * t;
                    const double u = x[c][2 * z], v = x[c][2 * z + 1];
                    if (k < pivots)
                        x[c][2 * z] = times_inverse<false>(before[c][z], u,
                                                           k + 1 < pivots ? v : 0.0, m.dinv, k);
                    if (k + 1 < pivots)
                        x[c][2 * z + 1] = times_inverse<false>(
                            u, v, k + 2 < pivots ? after[c][z] : 0.0, m.dinv, k + 1);
                }
        }
        if (what == ROWS_TRY || what == ROWS_TEST) {
            int good = pivots;
#pragma unroll
            for (int c = BLOCKS - 1; c >= 0; --c)
#pragma unroll
                for (int y = 1; y >= 0; --y) {
                    const int k = EIGHT * c + 2 * t + y;
                    if (k < pivots && ((i0 + g < f.n && !(abs1(x[c][y]) <= limit)) ||
                                       (i0 + g + 8 < f.n && !(abs1(x[c][2 + y]) <= limit))))
                        good = k;
                }
            if (good < pivots) atomicMin(&m.word[0], good);
        }
        if (what != ROWS_STORE && !out) continue;
        __syncwarp();
#pragma unroll
        for (int c = 0; c < BLOCKS; ++c)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int i = i0 + g + z / 2 * 8, k = EIGHT * c + 2 * t + z % 2;
                if (i >= f.n || k >= b) continue;
                if (out)
                    out[i + (int64_t)k * ld] = x[c][z];
                else
                    f.at(i, p + k) = x[c][z];
            }
    }
}

/** Are rows below tiles of more than BY_EIGHTS columns done by rows_by_eights()? */
template <class T> struct in_eights {
    static const bool value = sizeof(T) == 8 && !scalar_of<T>::complex;
};

/** A warp: what rows_by_eights() needs of a tile of b columns with so many pivots. Barriers: it
 *  meets the warp; the caller meets the block. */
template <class T> __device__ inline void prepare_rows(T *S, int b, int pivots) {
    if constexpr (in_eights<T>::value) {
        __syncwarp();
        if (b > BY_EIGHTS) invert_eights(S, b, pivots);
    }
}

/** A block: task_rows() or rows_by_eights(), for a tile of b columns. Called by task_factor().
 *  Barriers: none; the caller meets the block before and after. */
template <bool H, class T, class F>
__device__ void task_rows_of(const F &f, int p, int b, int pivots,
                             typename scalar_of<T>::real limit, int what, T *out, int ld) {
    if (b <= 4)
        task_rows<H, 4, F, T>(f, p, b, pivots, limit, what, out, ld);
    else if (b <= 8)
        task_rows<H, 8, F, T>(f, p, b, pivots, limit, what, out, ld);
    else if constexpr (in_eights<T>::value) {
        if (b <= 16)
            rows_by_eights<2>(f, p, b, pivots, limit, what, out, ld);
        else
            rows_by_eights<4>(f, p, b, pivots, limit, what, out, ld);
    } else if (b <= 16)
        task_rows<H, 16, F, T>(f, p, b, pivots, limit, what, out, ld);
    else
        task_rows<H, 32, F, T>(f, p, b, pivots, limit, what, out, ld);
}

} // namespace mpki
#endif
