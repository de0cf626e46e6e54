/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_OUTER_CUH
#define MPKI_CUDA_DIRECT_OUTER_CUH
/** The pivots of a block of columns leave the rest of the front: C -= L W^H, on tiles of 64 x 64 of
 *  the panel and of the contribution. Real doubles by tensor cores. */
#include "large.cuh"
#ifdef __CUDACC__
#include "../dense/mma.cuh"
#endif

namespace mpki {

static const int OUTER = MPKI_FRONT_OUTER, DEPTH = 16;

/** A tile: rows i0 .. i1-1, columns j0 .. j1-1; where column j0 lies, so that [i + (j - j0) ld] is
 *  entry (i, j). */
template <class T> struct outer_tile {
    int i0, i1, j0, j1, ld;
    T *c;
    bool work;
    __device__ outer_tile(const mpki_cuda_front &f, int part) : work(false) {
        const int n = f.nrows, w = f.w, m = n - w;
        const int rows = (n + OUTER - 1) / OUTER, columns = (w + OUTER - 1) / OUTER;
        const int panels = columns * rows - columns * (columns - 1) / 2;
        const bool in_panel = part < panels;
        const int all = in_panel ? rows : (m + OUTER - 1) / OUTER;
        int at = in_panel ? part : part - panels, low = 0, high = all;
        while (high - low > 1) { /* column k begins at k all - k (k - 1) / 2 */
            const int k = (low + high) / 2;
            if (k * all - k * (k - 1) / 2 <= at)
                low = k;
            else
                high = k;
        }
        const int J = low, I = J + at - (J * all - J * (J - 1) / 2), from = in_panel ? 0 : w;
        i0 = from + I * OUTER, j0 = from + J * OUTER;
        i1 = i0 + OUTER < n ? i0 + OUTER : n;
        j1 = j0 + OUTER < (in_panel ? w : n) ? j0 + OUTER : (in_panel ? w : n);
        if (j1 <= f.qe) return;
        work = true;
        if (in_panel) {
            ld = f.ld;
            c = (T *)f.a + (int64_t)j0 * ld;
        } else {
            ld = contribution_leading(m, J);
            c = contribution_column((T *)f.c, m, J * OUTER) - w;
        }
    }
};

/** How many pivots of this block there are; 0: nothing to do. columns: after columns_kernel(). */
template <class T> __device__ inline int outer_pivots(const mpki_cuda_front &f, bool columns) {
    if (columns) return f.b == -1 ? f.p - f.q : 0;
    if (f.phase != 0) return 0;
    return f.p - f.q + (f.b > 0 ? standing(f, panel<T>(f.a, f.w, f.ld)) : 0);
}

template <bool H, class T>
__global__ void __launch_bounds__(256) outer_kernel(mpki_cuda_large large, int columns) {
    after_previous();
    __shared__ T Ls[DEPTH][OUTER + 1], Xs[DEPTH][OUTER + 1];
    int part;
    const mpki_cuda_front &f = large.front[front_of_block(large.outer, large.count, &part)];
    const int pivots = outer_pivots<T>(f, columns != 0), tid = (int)threadIdx.x;
    if (pivots <= 0) return;
    const outer_tile<T> u(f, part);
    if (!u.work) return;
    const T *L = (const T *)f.a + (int64_t)f.q * f.ld, *W = (const T *)f.W;
    const int x0 = tid % 16, y0 = tid / 16 * 4;
    T c[4][4];
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y) c[x][y] = make<T>(0);
    for (int k0 = 0; k0 < pivots; k0 += DEPTH) {
        for (int s = tid; s < DEPTH * OUTER; s += 256) {
            const int i = s % OUTER, k = s / OUTER, row = u.i0 + i, col = u.j0 + i;
            const bool in = k0 + k < pivots;
            Ls[k][i] = in && row < u.i1 ? L[row + (int64_t)(k0 + k) * f.ld] : make<T>(0);
            Xs[k][i] =
                in && col < u.j1 && col >= f.qe ? W[col + (int64_t)(k0 + k) * f.ldw] : make<T>(0);
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < DEPTH; ++k) {
            T l[4], v[4];
#pragma unroll
            for (int x = 0; x < 4; ++x) l[x] = Ls[k][x0 + 16 * x];
#pragma unroll
            for (int y = 0; y < 4; ++y) v[y] = cj<H>(Xs[k][y0 + y]);
#pragma unroll
            for (int x = 0; x < 4; ++x)
#pragma unroll
                for (int y = 0; y < 4; ++y) pfma(c[x][y], l[x], v[y]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < 4; ++y) {
        const int j = u.j0 + y0 + y;
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            const int i = u.i0 + x0 + 16 * x;
            if (j >= f.qe && j < u.j1 && i >= j && i < u.i1) {
                T &z = u.c[i + (int64_t)(j - u.j0) * u.ld];
                z = z - c[x][y];
            }
        }
    }
}

static const int MMA_THREADS = 128, MMA_STAGES = 3, MMA_LD = OUTER + 4;
static const int MMA_STAGE = 2 * DEPTH * MMA_LD; /* doubles: L, then W */

/** One stage: DEPTH pivots, of which `left` are there, from where L and W point to: row i of a tile
 *  and every second pivot are this thread's. in, in_w: the row is one of the tile. */
__device__ inline void mma_load(double *to, const double *L, int64_t step, const double *W,
                                int64_t step_w, bool in, bool in_w, int left) {
#pragma unroll 4
    for (int k = 0; k < DEPTH; k += 2) {
        const bool there = k < left;
        copy_async8(to + k * MMA_LD, there && in ? L : (const double *)W, there && in);
        copy_async8(to + (DEPTH + k) * MMA_LD, W, there && in_w);
        if (k + 2 < left) L += step, W += step_w;
    }
}

/** Four warps, 32 x 32 each. */
static __global__ void __launch_bounds__(MMA_THREADS, 3)
    outer_mma_kernel(mpki_cuda_large large, int columns) {
    after_previous();
    MPKI_ROOM;
    double *stage = (double *)room;
    int part;
    const mpki_cuda_front &f = large.front[front_of_block(large.outer, large.count, &part)];
    const int pivots = outer_pivots<double>(f, columns != 0);
    if (pivots <= 0) return;
    const outer_tile<double> u(f, part);
    if (!u.work) return;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32, g = lane / 4,
              t = lane % 4;
    const int wi = warp % 2 * 32, wj = warp / 2 * 32;
    /* this thread copies row i of a tile, of every second pivot */
    const int i = (int)threadIdx.x % OUTER, k = (int)threadIdx.x / OUTER;
    const bool in = u.i0 + i < u.i1, in_w = u.j0 + i < u.j1 && u.j0 + i >= f.qe;
    const int64_t ld = f.ld, ldw = f.ldw;
    const double *L = (const double *)f.a + (f.q + k) * ld + u.i0 + (in ? i : 0);
    const double *W = (const double *)f.W + k * ldw + u.j0 + (in_w ? i : 0);
    double *const to = stage + k * MMA_LD + i;
    const int steps = (pivots + DEPTH - 1) / DEPTH;
    double c[2][4][4];
#pragma unroll
    for (int x = 0; x < 2; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z) c[x][y][z] = 0;
#pragma unroll
    for (int s = 0; s < MMA_STAGES - 1; ++s) {
        if (s < steps)
            mma_load(to + s * MMA_STAGE, L, 2 * ld, W, 2 * ldw, in, in_w, pivots - k - s * DEPTH);
        copy_commit();
        L += DEPTH * ld, W += DEPTH * ldw;
    }
    for (int s = 0; s < steps; ++s) {
        copy_wait<MMA_STAGES - 2>();
        __syncthreads();
        const int next = s + MMA_STAGES - 1;
        if (next < steps)
            mma_load(to + next % MMA_STAGES * MMA_STAGE, L, 2 * ld, W, 2 * ldw, in, in_w,
                     pivots - k - next * DEPTH);
        copy_commit();
        L += DEPTH * ld, W += DEPTH * ldw;
        const double *A = stage + s % MMA_STAGES * MMA_STAGE + wi + g;
        const double *B = stage + s % MMA_STAGES * MMA_STAGE + DEPTH * MMA_LD + wj + g;
        double a[2][8];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int x = 0; x < 2; ++x) {
                a[x][2 * i] = A[(t + 4 * i) * MMA_LD + 16 * x];
                a[x][2 * i + 1] = A[(t + 4 * i) * MMA_LD + 16 * x + 8];
            }
#pragma unroll
        for (int y = 0; y < 4; ++y) { /* one column of B at a time: registers are scarce */
            double b[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) b[i] = B[(t + 4 * i) * MMA_LD + 8 * y];
            mma16(c[0][y], a[0], b);
            mma16(c[1][y], a[1], b);
        }
    }
    copy_wait<0>();
#pragma unroll
    for (int x = 0; x < 2; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int i = u.i0 + wi + 16 * x + g + z / 2 * 8;
                const int j = u.j0 + wj + 8 * y + 2 * t + z % 2;
                if (j >= f.qe && j < u.j1 && i >= j && i < u.i1)
                    u.c[i + (int64_t)(j - u.j0) * u.ld] -= c[x][y][z];
            }
}

} // namespace mpki
#endif
