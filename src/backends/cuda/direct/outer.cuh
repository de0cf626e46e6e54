/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_OUTER_CUH
#define MPKI_CUDA_DIRECT_OUTER_CUH
/** The pivots of a block of columns leave the rest of the front: C -= L W^H, on tiles of 64 x 64 of
 *  the panel and of the contribution; of real doubles, by tensor cores, of 128 x 64. */
#include "large.cuh"
#ifdef __CUDACC__
#include "../dense/mma.cuh"
#endif

namespace mpki {

static const int OUTER = MPKI_FRONT_OUTER, DEPTH = 16;

/** What an update does: all of a block of columns that is done, or after columns_kernel(); of a block that the next
 *  one does not wait for to its end the columns that it does wait for, or the others. */
enum { OUTER_ALL, OUTER_COLUMNS, OUTER_NEXT, OUTER_REST };

/** The pivots of an update, and the tiles of the front that it has: number first .. last - 1, by columns, of the panel,
 *  then of the contribution. */
template <class T> struct outer_pivots {
    const T *L, *W; /* of the first pivot */
    int qe, pivots, first, last;
    __device__ outer_pivots(const T *L_, const T *W_, int qe_, int pivots_)
        : L(L_), W(W_), qe(qe_), pivots(pivots_), first(0), last(0) {}
    __device__ outer_pivots(const mpki_cuda_front &f, const mpki_cuda_large &large, int what)
        : qe(f.qe), pivots(0) {
        const int tall = mpki_front_tall(sizeof(T) == 8 && !scalar_of<T>::complex);
        const int m = f.nrows - f.w, below = (m + OUTER - 1) / OUTER;
        const int rows = (f.nrows + OUTER - 1) / OUTER, columns = (f.w + OUTER - 1) / OUTER;
        const int all =
            mpki_front_tiles(rows, columns, tall) + mpki_front_tiles(below, below, tall);
        int q = f.q, next = 0;
        W = products_of<T>(f, large);
        if (what == OUTER_ALL) {
            pivots = pivots_of_block<T>(f);
        } else if (what == OUTER_COLUMNS) {
            if (f.b == -1) pivots = f.p - f.q;
            W = (const T *)f.W;
        } else {
            const mpki_cuda_block &x = f.closed[large.turn & 1];
            q = x.q, qe = x.qe, pivots = x.pivots, next = x.next;
        }
        L = (const T *)f.a + (int64_t)q * f.ld;
        /* tiles that begin before column `next` */
        const int before =
            next > f.w ? all : mpki_front_tiles(rows, (next + OUTER - 1) / OUTER, tall);
        first = what == OUTER_REST ? before : mpki_front_tiles(rows, qe / OUTER, tall);
        last = what == OUTER_NEXT ? before : all;
    }
};

/** A tile: rows i0 .. i1-1, columns j0 .. j1-1; where column j0 lies, so that [i + (j - j0) ld] is
 *  entry (i, j). */
template <class T> struct outer_tile {
    int i0, i1, j0, j1, ld;
    T *c;
    __device__ outer_tile() {}
    __device__ outer_tile(const mpki_cuda_front &f, int part) {
        const int n = f.nrows, w = f.w, m = n - w;
        const int tall = mpki_front_tall(sizeof(T) == 8 && !scalar_of<T>::complex);
        const int rows = (n + OUTER - 1) / OUTER, columns = (w + OUTER - 1) / OUTER;
        const int panels = mpki_front_tiles(rows, columns, tall);
        const bool in_panel = part < panels;
        const int all = in_panel ? rows : (m + OUTER - 1) / OUTER;
        int at = in_panel ? part : part - panels, low = 0, high = all;
        while (high - low > 1) {
            const int k = (low + high) / 2;
            if (mpki_front_tiles(all, k, tall) <= at)
                low = k;
            else
                high = k;
        }
        const int J = low, I = J + (at - mpki_front_tiles(all, J, tall)) * tall,
                  from = in_panel ? 0 : w;
        i0 = from + I * OUTER, j0 = from + J * OUTER;
        i1 = i0 + tall * OUTER < n ? i0 + tall * OUTER : n;
        j1 = j0 + OUTER < (in_panel ? w : n) ? j0 + OUTER : (in_panel ? w : n);
        if (in_panel) {
            ld = f.ld;
            c = (T *)f.a + (int64_t)j0 * ld;
        } else {
            ld = contribution_leading(m, J);
            c = contribution_column((T *)f.c, m, J * OUTER) - w;
        }
    }
};

/** The front of this block, its number there, and how many blocks it has; one front has all of them. */
__device__ inline int front_of_update(const mpki_cuda_large &large, int *part, int *blocks) {
    if (large.count == 1) {
        *part = (int)blockIdx.x, *blocks = (int)gridDim.x;
        return 0;
    }
    const int k = front_of_block(large.outer, large.count, part);
    *blocks = large.outer[k + 1] - large.outer[k];
    return k;
}

/** All threads: one tile. */
template <bool H, class T>
__device__ void update_tile(const mpki_cuda_front &f, const outer_pivots<T> &by,
                            const outer_tile<T> &u) {
    __shared__ T Ls[DEPTH][OUTER + 1], Xs[DEPTH][OUTER + 1];
    const int pivots = by.pivots, qe = by.qe, tid = (int)threadIdx.x;
    const T *L = by.L, *W = by.W;
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
                in && col < u.j1 && col >= qe ? W[col + (int64_t)(k0 + k) * f.ldw] : make<T>(0);
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
            if (j >= qe && j < u.j1 && i >= j && i < u.i1) {
                T &z = u.c[i + (int64_t)(j - u.j0) * u.ld];
                z = z - c[x][y];
            }
        }
    }
}

template <bool H, class T>
__global__ void __launch_bounds__(256) outer_kernel(mpki_cuda_large large, int what) {
    after_previous();
    int part, blocks;
    const mpki_cuda_front &f = large.front[front_of_update(large, &part, &blocks)];
    const outer_pivots<T> by(f, large, what);
    if (by.pivots <= 0) return;
    for (int k = by.first + part; k < by.last; k += blocks) {
        const outer_tile<T> u(f, k);
        if (u.j1 > by.qe) update_tile<H>(f, by, u);
    }
}

static const int MMA_THREADS = 128, MMA_STAGES = 3, MMA_ROWS = 2 * OUTER;
static const int MMA_LD_L = MMA_ROWS + 4, MMA_LD_W = OUTER + 4;
static const int MMA_STAGE = DEPTH * (MMA_LD_L + MMA_LD_W); /* doubles: L, then W */

/** Two entries that lie together, at a multiple of 16 bytes; zeros for those that are not there. */
__device__ inline void mma_copy(double *to, const double *from, bool first, bool second) {
    if (first && second) {
        copy_async16(to, from);
    } else {
        copy_async8(to, first ? from : from + 1, first);
        copy_async8(to + 1, second ? from + 1 : from, second);
    }
}

static const int MMA_LINE = LINE / (int)sizeof(double);

/** What a thread copies of L, or of W: rows `row` and row + 1 of every STEP-th pivot. */
template <int LD, int STEP> struct mma_part {
    const double *from; /* of the first pivot */
    int64_t ld;
    double *to;
    bool first, second;
    int k; /* number of the first pivot */
    /* matrix [in] of the first pivot; row - shift: in the tile */
    __device__ mma_part(const double *matrix, int64_t ld_, double *stage, int row, int i0, int i1,
                        int begin, int k_)
        : ld(ld_), first(row >= i0 && row < i1), second(row + 1 >= i0 && row + 1 < i1), k(k_) {
        from = matrix + k * ld + (first || second ? row : i0 & ~1);
        to = stage + k * LD + row - begin;
    }
    /** DEPTH pivots from number k0 on, of `pivots`. */
    __device__ void load(int offset, int k0, int pivots) const {
#pragma unroll
        for (int s = 0; s < DEPTH; s += STEP) {
            const bool there = k0 + k + s < pivots;
            mma_copy(to + offset + s * LD, there ? from + (k0 + s) * ld : from, there && first,
                     there && second);
        }
    }
};

/** All threads: one tile. Four warps, 64 x 32 each. Rows are copied in twos, of which the first is an even one: the
 *  contribution begins at any row. */
__device__ inline void update_tile_mma(const mpki_cuda_front &f, const outer_pivots<double> &by,
                                       const outer_tile<double> &u, double *stage) {
    const int pivots = by.pivots, qe = by.qe;
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32, g = lane / 4, t = lane % 4;
    const int wi = warp % 2 * 64, wj = warp / 2 * 32, shift = u.i0 & 1;
    const int ib = u.i0 - shift, jb = u.j0 - shift, jf = u.j0 > qe ? u.j0 : qe;
    double *const stage_w = stage + DEPTH * MMA_LD_L;
    const mma_part<MMA_LD_L, 2> L(by.L, f.ld, stage, ib + 2 * (tid % 64), u.i0, u.i1, ib, tid / 64);
    const mma_part<MMA_LD_W, 4> W(by.W, f.ldw, stage_w, jb + 2 * (tid % 32), jf, u.j1, jb,
                                  tid / 32);
    /* the last row, where the first one is odd: a thread a pivot */
    const bool odd = shift && tid < 2 * DEPTH, odd_w = tid >= DEPTH;
    const int last = odd_w ? jb + OUTER : ib + MMA_ROWS;
    const mma_part<0, DEPTH> more(
        odd_w ? by.W : by.L, odd_w ? f.ldw : f.ld,
        odd_w ? stage_w + tid % DEPTH * MMA_LD_W : stage + tid % DEPTH * MMA_LD_L, last,
        odd_w ? jf : u.i0, odd_w ? u.j1 : u.i1, odd_w ? jb : ib, tid % DEPTH);
    const int steps = (pivots + DEPTH - 1) / DEPTH;
    double c[4][4][4];
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z) c[x][y][z] = 0;
    auto load = [&](int s) {
        const int offset = s % MMA_STAGES * MMA_STAGE;
        L.load(offset, s * DEPTH, pivots);
        W.load(offset, s * DEPTH, pivots);
        if (odd) more.load(offset, s * DEPTH, pivots);
    };
#pragma unroll
    for (int s = 0; s < MMA_STAGES - 1; ++s) {
        if (s < steps) load(s);
        copy_commit();
    }
    /* what these leave comes nearer meanwhile */
    for (int s = tid; s < OUTER * MMA_ROWS / MMA_LINE; s += MMA_THREADS) {
        const int j = u.j0 + s / (MMA_ROWS / MMA_LINE),
                  i = u.i0 + s % (MMA_ROWS / MMA_LINE) * MMA_LINE;
        if (j >= qe && j < u.j1 && i + MMA_LINE > j && i < u.i1)
            bring(u.c + i + (int64_t)(j - u.j0) * u.ld);
    }
    for (int s = 0; s < steps; ++s) {
        copy_wait<MMA_STAGES - 2>();
        __syncthreads();
        if (s + MMA_STAGES - 1 < steps) load(s + MMA_STAGES - 1);
        copy_commit();
        const double *A = stage + s % MMA_STAGES * MMA_STAGE + shift + wi + g;
        const double *B = stage_w + s % MMA_STAGES * MMA_STAGE + shift + wj + g;
        double b[4][4];
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int i = 0; i < 4; ++i) b[y][i] = B[(t + 4 * i) * MMA_LD_W + 8 * y];
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            double a[8];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                a[2 * i] = A[(t + 4 * i) * MMA_LD_L + 16 * x];
                a[2 * i + 1] = A[(t + 4 * i) * MMA_LD_L + 16 * x + 8];
            }
#pragma unroll
            for (int y = 0; y < 4; ++y) mma16(c[x][y], a, b[y]);
        }
    }
    copy_wait<0>();
    /* sixteen entries are read before the first is written: each read waits long */
#pragma unroll
    for (int x = 0; x < 4; ++x) {
        double old[4][4];
        double *at = u.c + u.i0 + wi + 16 * x + g;
        const int i = u.i0 + wi + 16 * x + g, j = u.j0 + wj + 2 * t;
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int r = i + z / 2 * 8, k = j + 8 * y + z % 2;
                const bool in = k >= qe && k < u.j1 && r >= k && r < u.i1;
                old[y][z] = in ? at[z / 2 * 8 + (int64_t)(k - u.j0) * u.ld] : 0;
            }
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int r = i + z / 2 * 8, k = j + 8 * y + z % 2;
                const bool in = k >= qe && k < u.j1 && r >= k && r < u.i1;
                if (in) at[z / 2 * 8 + (int64_t)(k - u.j0) * u.ld] = old[y][z] - c[x][y][z];
            }
    }
}

static __global__ void __launch_bounds__(MMA_THREADS, 2)
    outer_mma_kernel(mpki_cuda_large large, int what) {
    after_previous();
    MPKI_ROOM;
    int part, blocks;
    const mpki_cuda_front &f = large.front[front_of_update(large, &part, &blocks)];
    const outer_pivots<double> by(f, large, what);
    if (by.pivots <= 0) return;
    for (int k = by.first + part; k < by.last; k += blocks) {
        const outer_tile<double> u(f, k);
        if (u.j1 > by.qe) update_tile_mma(f, by, u, (double *)room);
        __syncthreads();
    }
}

} // namespace mpki
#endif
