/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_UPDATE_LARGE_CUH
#define MPKI_CUDA_MULTIFRONTAL_UPDATE_LARGE_CUH
/** The update of a large front by the pivots of a block of columns: C -= L W^H with W = L D, on
 *  tiles of 64 x 64 of the panel and of the contribution; of real doubles by tensor cores. */
#include "../pivot/large_front.cuh"
#ifdef __CUDACC__
#include "engines/cuda/dense/kernels/mma.cuh"
#endif

namespace mpki {

static const int OUTER = MPKI_FRONT_OUTER, DEPTH = 16;

/** Which columns of the front an update takes. Where the next block of columns waits for all of it:
 *  those of a block of columns that is done (ALL), or of the pivots of columns_kernel() (COLUMNS).
 *  Else: those that the next block waits for (NEXT), and beside that block the others (REST). */
enum { OUTER_ALL, OUTER_COLUMNS, OUTER_NEXT, OUTER_REST };

/* Tiles of so many columns are taken row by row: what is at work at one time shares rows of L and W
 * in the cache. */
static const int OUTER_GROUP = 8;

/** A thread: the tile number `at` of the first `columns` columns of tiles of a lower triangle that
 *  is `rows` tiles high: row *I and column *J. They are counted by groups of OUTER_GROUP columns,
 *  row by row in a group. Barriers: none. */
__device__ inline void outer_place(int rows, int columns, int at, int *I, int *J) {
    int low = 0, high = (columns + OUTER_GROUP - 1) / OUTER_GROUP;
    while (high - low > 1) {
        const int k = (low + high) / 2;
        if (mpki_front_tiles(rows, k * OUTER_GROUP) <= at)
            low = k;
        else
            high = k;
    }
    const int from = low * OUTER_GROUP, left = columns - from,
              w = left < OUTER_GROUP ? left : OUTER_GROUP;
    at -= mpki_front_tiles(rows, from);
    if (at >= w * (w + 1) / 2) { /* below the triangle on the diagonal */
        at -= w * (w + 1) / 2;
        *I = from + w + at / w, *J = from + at % w;
        return;
    }
    int row = 0;
    while (at > row) at -= ++row;
    *I = from + row, *J = from + at;
}

/** The pivots of an update, and the tiles of the front that it has: `panels` in columns begin ..
 *  end - 1 of the panel's tiles, then the contribution's; `all` of them. Entries (i, k) of L and W
 *  lie at [i + k ld] of f.ld and f.ldw. */
template <class T> struct outer_pivots {
    const T *L, *W; /* of the first pivot */
    int qe, pivots, begin, end, panels, all;
    /** A thread: the pivots of a tile of 128, for the other columns of its block. */
    __device__ outer_pivots(const T *L_, const T *W_, int qe_, int pivots_)
        : L(L_), W(W_), qe(qe_), pivots(pivots_), begin(0), end(0), panels(0), all(0) {}
    /** A thread: the pivots of a block of columns of front f; what: which update it is. */
    __device__ outer_pivots(const mpki_cuda_front &f, const mpki_cuda_large &large, int what)
        : qe(f.qe), pivots(0) {
        const int below = (f.nrows - f.w + OUTER - 1) / OUTER;
        const int rows = (f.nrows + OUTER - 1) / OUTER, columns = (f.w + OUTER - 1) / OUTER;
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
        const bool split = next <= f.w; /* else OUTER_NEXT has all */
        const int middle = (next + OUTER - 1) / OUTER;
        if (what == OUTER_REST && !split) pivots = 0;
        begin = what == OUTER_REST ? middle : qe / OUTER;
        end = what == OUTER_NEXT && split ? middle : columns;
        panels = end > begin ? mpki_front_tiles(rows - begin, end - begin) : 0;
        all = panels + (what == OUTER_NEXT && split ? 0 : mpki_front_tiles(below, below));
    }
};

/** A tile of an update: rows i0 .. i1 - 1, columns j0 .. j1 - 1; entry (i, j) lies at c[i + (j -
 *  j0) ld]. */
template <class T> struct outer_tile {
    int i0, i1, j0, j1, ld;
    T *c;
    __device__ outer_tile() {}
    __device__ outer_tile(const mpki_cuda_front &f, const outer_pivots<T> &by, int part) {
        const int n = f.nrows, w = f.w, m = n - w, below = (m + OUTER - 1) / OUTER;
        const bool in_panel = part < by.panels;
        int I, J;
        if (in_panel) {
            outer_place((n + OUTER - 1) / OUTER - by.begin, by.end - by.begin, part, &I, &J);
            I += by.begin, J += by.begin;
        } else {
            outer_place(below, below, part - by.panels, &I, &J);
        }
        const int from = in_panel ? 0 : w, end = in_panel ? w : n;
        i0 = from + I * OUTER, j0 = from + J * OUTER;
        i1 = i0 + OUTER < n ? i0 + OUTER : n;
        j1 = j0 + OUTER < end ? j0 + OUTER : end;
        if (in_panel) {
            ld = f.ld;
            c = (T *)f.a + (int64_t)j0 * ld;
        } else {
            ld = contribution_leading(m, J);
            c = contribution_column((T *)f.c, m, J * OUTER) - w;
        }
    }
};

/** A warp, each of a block for itself: the number of the front that this block has, *part, the
 *  block's number there, and *blocks, how many the front has: one for each `share` tiles, and
 *  one more. The lanes search 32 fronts at once, since a read waits long. Barriers: it meets the
 *  warp. */
__device__ inline int front_of_update(const mpki_cuda_large &large, int share, int *part,
                                      int *blocks) {
    const int me = (int)blockIdx.x, lane = (int)threadIdx.x & 31;
    const auto before = [&](int k) { return large.outer[k] / share + k; };
    int low = 0, high = large.count;
    while (high - low > 1) {
        const int step = (high - low + 31) / 32, k = low + lane * step;
        const unsigned not_after = __ballot_sync(~0u, k < high && before(k) <= me);
        low += (__popc(not_after) - 1) * step;
        if (low + step < high) high = low + step;
    }
    const int from = before(low);
    *part = me - from, *blocks = before(low + 1) - from;
    return low;
}

/** A block of 256 threads: C -= L W^H on tile u, entries i >= j of columns by.qe and on. A thread
 *  has 4 x 4 entries. Called by outer_kernel(). Barriers: it meets the block. */
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

/** A block for each `share` tiles of the update `what` of each large front. Barriers: it meets the
 *  block. */
template <bool H, class T>
__global__ void __launch_bounds__(256) outer_kernel(mpki_cuda_large large, int what, int share) {
    after_previous();
    int part, blocks;
    const mpki_cuda_front &f = large.front[front_of_update(large, share, &part, &blocks)];
    const outer_pivots<T> by(f, large, what);
    if (by.pivots <= 0) return;
    for (int k = part; k < by.all; k += blocks) {
        const outer_tile<T> u(f, by, k);
        if (u.j1 > by.qe) update_tile<H>(f, by, u);
    }
}

static const int MMA_THREADS = 128, MMA_STAGES = 3;
static const int MMA_LD = OUTER + 4;             /* fragments without bank conflicts */
static const int MMA_STAGE = 2 * DEPTH * MMA_LD; /* doubles: L, then W */

/** A block of 128 threads: C -= L W^H on tile u, entries i >= j of columns by.qe and on, in real
 *  doubles by tensor cores: four warps, 32 x 32 entries each. stage [work] MMA_STAGES steps of 16
 *  pivots of L and W. Rows are copied in twos, of which the first is even, since a contribution
 *  begins at any row. Rows outside the tile give entries that are not stored; pivots beyond the
 *  last one are zeros. The sums begin with -C, which is read while the first copies are under way.
 *  Called by outer_mma_kernel() and inner_128_kernel(). Barriers: it meets the block; the caller
 *  meets it before the next tile. */
__device__ inline void update_tile_mma(const mpki_cuda_front &f, const outer_pivots<double> &by,
                                       const outer_tile<double> &u, double *stage) {
    const int pivots = by.pivots, qe = by.qe;
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32, g = lane / 4, t = lane % 4;
    const int wi = warp % 2 * 32, wj = warp / 2 * 32, shift = u.i0 & 1;
    const int ib = u.i0 - shift, jb = u.j0 - shift, steps = (pivots + DEPTH - 1) / DEPTH;
    const int row = ib + 2 * lane < f.ld ? ib + 2 * lane : f.ld - 2;
    const int column = jb + 2 * lane < f.ldw ? jb + 2 * lane : f.ldw - 2;
    double *const stage_w = stage + DEPTH * MMA_LD;
    double *const to = stage + warp * MMA_LD + 2 * lane;
    const double *L = by.L + row + (int64_t)warp * f.ld, *W = by.W + column + (int64_t)warp * f.ldw;
    /* the last row, where the first one is odd: a thread a pivot */
    const bool odd = shift && tid < 2 * DEPTH;
    const int which = tid % DEPTH, end = (tid < DEPTH ? ib : jb) + OUTER,
              ld = tid < DEPTH ? f.ld : f.ldw;
    const double *const more = (tid < DEPTH ? by.L : by.W) + (end < ld ? end : ld - 1);
    auto load = [&](int s) {
        double *const at = to + s % MMA_STAGES * MMA_STAGE;
        const int left = pivots - s * DEPTH - warp;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 4, L += 4 * (int64_t)f.ld)
            copy_async16(at + k * MMA_LD, L, k < left ? 16 : 0);
#pragma unroll
        for (int k = 0; k < DEPTH; k += 4, W += 4 * (int64_t)f.ldw)
            copy_async16(at + (DEPTH + k) * MMA_LD, W, k < left ? 16 : 0);
        if (odd) {
            const int k = s * DEPTH + which;
            copy_async8(stage + s % MMA_STAGES * MMA_STAGE + tid * MMA_LD + OUTER,
                        more + (int64_t)(k < pivots ? k : 0) * ld, k < pivots);
        }
    };
#pragma unroll
    for (int s = 0; s < MMA_STAGES - 1; ++s) {
        if (s < steps) load(s);
        copy_commit();
    }
    double c[2][4][4];
    /* of the warp: rows i .. i + 31, columns j .. j + 31 */
    const int i = u.i0 + wi, j = u.j0 + wj;
    const bool whole = j >= qe && j + 32 <= u.j1 && i >= j + 31 && i + 32 <= u.i1;
    const int from = j > qe ? j : qe;
    const bool none = i >= u.i1 || from >= u.j1 || from >= j + 32 || i + 31 < from;
    double *const at = u.c + i + g + (int64_t)(wj + 2 * t) * u.ld;
    const auto each = [&](auto of) {
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int x = 0; x < 2; ++x)
#pragma unroll
                for (int z = 0; z < 4; ++z) {
                    const int r = 16 * x + z / 2 * 8, k = 8 * y + z % 2;
                    of(c[x][y][z], at + r + (int64_t)k * u.ld, i + g + r, j + 2 * t + k);
                }
    };
    const auto stored = [&](int r, int k) { return k >= qe && k < u.j1 && r >= k && r < u.i1; };
    if (whole)
        each([&](double &x, const double *y, int, int) { x = -*y; });
    else
        each([&](double &x, const double *y, int r, int k) { x = stored(r, k) ? -*y : 0; });
    for (int s = 0; s < steps; ++s) {
        copy_wait<MMA_STAGES - 2>();
        __syncthreads();
        if (s + MMA_STAGES - 1 < steps) load(s + MMA_STAGES - 1);
        copy_commit();
        if (none) continue;
        const double *A = stage + s % MMA_STAGES * MMA_STAGE + shift + wi + g;
        const double *B = stage_w + s % MMA_STAGES * MMA_STAGE + shift + wj + g;
        double b[4][4];
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int k = 0; k < 4; ++k) b[y][k] = B[(t + 4 * k) * MMA_LD + 8 * y];
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            double a[8];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                a[2 * k] = A[(t + 4 * k) * MMA_LD + 16 * x];
                a[2 * k + 1] = A[(t + 4 * k) * MMA_LD + 16 * x + 8];
            }
#pragma unroll
            for (int y = 0; y < 4; ++y) mma16(c[x][y], a, b[y]);
        }
    }
    copy_wait<0>();
    if (whole)
        each([&](double x, double *y, int, int) { *y = -x; });
    else
        each([&](double x, double *y, int r, int k) {
            if (stored(r, k)) *y = -x;
        });
}

/** A block for each `share` tiles of the update `what` of each large front, in real doubles.
 *  Barriers: it meets the block. */
static __global__ void __launch_bounds__(MMA_THREADS, 3)
    outer_mma_kernel(mpki_cuda_large large, int what, int share) {
    after_previous();
    MPKI_SMEM;
    int part, blocks;
    const mpki_cuda_front &f = large.front[front_of_update(large, share, &part, &blocks)];
    for (int k = part;;
         k += blocks) { /* one tile in most cases: nothing is kept for the next one */
        const outer_pivots<double> by(f, large, what);
        if (by.pivots <= 0 || k >= by.all) return;
        const outer_tile<double> u(f, by, k);
        if (u.j1 > by.qe) update_tile_mma(f, by, u, (double *)smem);
        __syncthreads();
    }
}

} // namespace mpki
#endif
