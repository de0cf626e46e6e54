/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_TILE_128_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_TILE_128_CUH
/** Tiles of 128 candidates for the columns of large fronts, in real doubles: the tile of the dense
 *  factorization (engines/cuda/dense/kernels/tile_by_lanes.cuh), of which all pivots are accepted,
 *  or none. Nothing of the front is overwritten before all rows below have passed |l| <= 1/u. Where
 *  one has not, or the tile has no pivot that counts, the front goes on in tiles of 32
 *  (large_front.cuh), which can reject single columns. Until then L of a tile, and N = L^-T above
 *  its diagonal, are kept in rows of W (the array of L D) that no update reads. The kernels of a
 *  tile, in this order: tile_128, rows_128, finish_128, inner_128. */
#include "engines/cuda/dense/kernels/tile_by_lanes.cuh"
#include "../update/large.cuh"

namespace mpki {

static const int TILE_128 = tile_size<double>::B, ROWS_128 = 32;
static const int FINISH_THREADS = 64,
                 FINISH_SHARES = 8; /* finish_128_kernel(): threads, blocks of the same rows */
static_assert(2 * FINISH_THREADS == MPKI_FRONT_ROWS, "two rows a thread");
/* the bound of |l| inside a block of 32 candidates, whose pivots are the largest entries that are
 * left on the diagonal */
static const double MOST_L_128 = 8;
static const int INNER_PIECES_128 = (MPKI_FRONT_BLOCK - MPKI_FRONT_TILE_128) / OUTER,
                 INNER_HALVES_128 = MPKI_FRONT_ROWS / OUTER; /* inner_128_kernel() */
static const int LD_128 = ROWS_128 + 4, LD_N_128 = 20;       /* fragments without bank conflicts */

/** A thread: L D of the tile in work: entry (i, k) at [i + k ldw]. */
__device__ inline double *products_128(const mpki_cuda_front &f, const mpki_cuda_large &l) {
    return products_of<double>(f, l) + (int64_t)(f.p - f.q) * f.ldw;
}
/** A thread: L and N of the tile in work, in W's rows up to the tile's last one. */
__device__ inline double *square_128(const mpki_cuda_front &f, const mpki_cuda_large &l) {
    return products_128(f, l) + (f.p & ~1);
}

/** A thread: do all pivots of the tile in work stand? */
__device__ inline bool stands_128(const mpki_cuda_front &f) {
    return f.b > 0 && f.tile_128 && f.good == f.np;
}

/** Where tile_lanes() writes rows of L and columns of N; nb: columns of the tile. */
struct square_out {
    int nb;
    double *to;
    int64_t ld;
    /** A warp, number `me` of `warps`: rows r0 .. r1 - 1 of L, below the diagonal, go to `to`.
     *  Barriers: none. */
    __device__ void rows(const tile_memory<double> &m, int r0, int r1, int me, int warps) const {
        const int LD = tile_memory<double>::LD, i = r0 + ((int)threadIdx.x & 31);
        if (i >= r1) return;
#pragma unroll 4
        for (int j = me; j < r1; j += warps)
            if (j < i) to[i + j * ld] = m.S[i + j * LD];
    }
    /** A warp, number `me` of `warps`: columns j0 .. j1 - 1 of N go to `to`, with ones on the
     *  diagonal, which are read in 16 bytes with their neighbours. Barriers: none. */
    __device__ void inverse(const tile_memory<double> &m, int j0, int j1, int me, int warps) const {
        const int LD = tile_memory<double>::LD, end = j1 < nb ? j1 : nb;
        for (int j = j0 + me; j < end; j += warps)
            for (int i = (int)threadIdx.x & 31; i <= j; i += 32)
                to[i + j * ld] = i < j ? m.S[i + j * LD] : 1;
    }
};

/** A block of TILE_THREADS threads for each front: factors its next tile; where: the tile's place
 *  in the block of columns. The front is left to tiles of 32 after a tile that failed, in a second
 *  pass, and for a root's last columns, whose complete pivoting shows a matrix that is nearly
 *  singular. Barriers: it meets the block. */
static __global__ void __launch_bounds__(TILE_THREADS, 1)
    tile_128_kernel(mpki_cuda_tree t, mpki_cuda_large large, block_place where) {
    MPKI_SMEM;
    tile_memory<double> &m = *(tile_memory<double> *)smem;
    wait_for_previous();
    mpki_cuda_front &f = large.front[blockIdx.x];
    const panel<double> a(f.a, f.w, f.ld);
    const int tid = (int)threadIdx.x;
    if (f.phase != MPKI_CUDA_IN_TILES) return;
    advance<false>(f, a, t.flags, where != BLOCK_GOES_ON);
    if (f.phase != MPKI_CUDA_IN_TILES || f.tile_128_failed || f.pass > 0) return;
    /* a root's last columns are for complete pivoting, where a matrix that is nearly singular shows
     * it */
    const int p = f.p, left = (f.e < f.nrows ? f.e : f.e - TILE) - p,
              b = left < TILE_128 ? left : TILE_128;
    if (b <= 0) return;
    const pivot_rules<double> rules(t);
    const double tiny = rules.least(), far = 1e300;
    lanes_load(m, b, &a.at(p, p), a.ld);
    tile_begin(m);
    __syncthreads();
    tile_lanes<true>(m, b, b, 1 / rules.u, MOST_L_128, tiny,
                     square_out{b, square_128(f, large), f.ldw});
    next_may_come();
    __syncthreads();
    if (tid < b) {
        const bool second = tid > 0 && m.e[tid > 0 ? tid - 1 : 0] != 0, pair = m.e[tid] != 0;
        const bool counts = pair || second || fabs(m.d[tid]) > tiny;
        if (!counts || m.zero[tid] || !(fabs(m.di[tid]) < far) || !(fabs(m.ei[tid]) < far))
            m.failed = 1;
        a.d[2 * (p + tid)] = m.d[tid], a.d[2 * (p + tid) + 1] = m.e[tid];
        a.dinv[2 * (p + tid)] = m.di[tid], a.dinv[2 * (p + tid) + 1] = m.ei[tid];
        f.order[tid] = m.order[tid];
        if (pair) m.pairs = 2;
    }
    __syncthreads();
    if (tid == 0) {
        f.b = f.np = b, f.good = m.failed ? 0 : b;
        f.quick = f.tile_128 = f.moved = 1, f.pairs = m.pairs == 2;
    }
}

/** Shared memory of rows_128_kernel(). */
struct smem_128 {
    /* N in steps of 16 rows, columns from the diagonal on, one column after the other */
    alignas(16) double B[TILE_128 / 16 * (TILE_128 + 16) / 2 * LD_N_128];
    alignas(16) double A[TILE_128 * LD_128]; /* rows, in the tile's order; then L D */
    double di[TILE_128], ei[TILE_128 + 1];   /* ei[k + 1]: beside di[k] */
    int order[TILE_128];
    /** A thread: step s of N, its rows 16 s .. 16 s + 15. */
    __device__ double *part(int s) { return B + (TILE_128 * s - 8 * s * (s - 1)) * LD_N_128; }
};

/** A block of 256 threads: queues the copies of rows 16 s .. 16 s + 15 of N, columns of the tile's
 *  nb from the diagonal on, to shared memory. Barriers: none; a copy is there after copy_wait() and
 *  a barrier. */
__device__ inline void stage_128(smem_128 &m, const double *N, int64_t ld, int nb, int s) {
    const int columns = (nb + 15) / 16 * 16 - 16 * s;
    for (int e = (int)threadIdx.x; e < 8 * columns; e += 256) {
        const int c = e / 8, k = e % 8 * 2, left = 16 * s + c < nb ? nb - 16 * s - k : 0;
        const int bytes = left <= 0 ? 0 : left == 1 ? 8 : 16;
        copy_async16(m.part(s) + c * LD_N_128 + k,
                     bytes ? N + 16 * s + k + (int64_t)(16 * s + c) * ld : N, bytes);
    }
}
/** A block: sets the square of step s on the diagonal of N to ones and, below them, zeros. A thread
 *  writes what it has copied itself, so copy_wait() is enough before. Barriers: none. */
__device__ inline void unit_diagonal_128(smem_128 &m, int s) {
    const int e = (int)threadIdx.x, c = e / 8, k = e % 8 * 2;
    double *at = m.part(s) + c * LD_N_128 + k;
    if (e >= 128) return;
    if (k >= c) at[0] = k == c;
    if (k + 1 >= c) at[1] = k + 1 == c;
}

/** A block of 256 threads for each 32 rows of each front: W := A N, which is L D, on the rows below
 *  the tile in work, and |L| <= 1 / u is tested; a row that fails sets f.good to 0. A warp has 16
 *  rows and every fourth group of 8 columns. Barriers: it meets the block. */
static __global__ void __launch_bounds__(256, 1)
    rows_128_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    MPKI_SMEM;
    smem_128 &m = *(smem_128 *)smem;
    wait_for_previous();
    int part;
    const int number = (int)blockIdx.x, halves = MPKI_FRONT_ROWS / ROWS_128;
    mpki_cuda_front &f = large.front[front_at(large.rows, large.count, number / halves, &part)];
    const int nb = f.b, p = f.p, first = p + nb, n = f.nrows;
    const int r0 = (part * halves + number % halves) * ROWS_128;
    if (nb <= 0 || !stands_128(f) || r0 + ROWS_128 <= first || r0 >= n) return;
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32, g = lane / 4, t4 = lane % 4;
    const panel<double> a(f.a, f.w, f.ld);
    const double *N = square_128(f, large);
    double *W = products_128(f, large);
    const int PAIRS = ROWS_128 / 2,
              AT_ONCE = 32 / PAIRS; /* columns that a warp goes over together */
    const int steps = (nb + 15) / 16, column = lane / PAIRS, row2 = 2 * (lane % PAIRS),
              row = r0 + row2;
    if (tid < TILE_128) {
        m.order[tid] = tid < nb ? f.order[tid] : 0;
        m.di[tid] = tid < nb ? a.dinv[2 * (p + tid)] : 0;
        m.ei[tid + 1] = tid < nb ? a.dinv[2 * (p + tid) + 1] : 0;
        if (tid == 0) m.ei[0] = 0;
    }
    __syncthreads();
    auto stage = [&](int s) {
        if (s >= steps) return;
        stage_128(m, N, f.ldw, nb, s);
#pragma unroll
        for (int x = column; x < 2; x += AT_ONCE) {
            const int k = 16 * s + 2 * warp + x, left = n - row;
            /* of rows of the tile itself nothing is wanted, and above the diagonal nobody has
             * written */
            const int bytes = k >= nb || left <= 0 || row + 1 < first ? 0 : left == 1 ? 8 : 16;
            copy_async16(m.A + k * LD_128 + row2,
                         bytes ? a.a + row + (int64_t)(p + m.order[k]) * a.ld : a.a, bytes);
        }
    };
#pragma unroll
    for (int s = 0; s < TILE_128 / 16; s += 2) { /* all loads are on their way, in groups */
        stage(s), stage(s + 1);
        copy_commit();
    }
    const int BANDS = ROWS_128 / 16, SETS = 8 / BANDS, GROUPS = TILE_128 / 8 / SETS;
    const int i = 16 * (warp % BANDS) + g, set = warp / BANDS;
    double c[GROUPS][4];
#pragma unroll
    for (int y = 0; y < GROUPS; ++y) c[y][0] = c[y][1] = c[y][2] = c[y][3] = 0;
#pragma unroll
    for (int s = 0; s < TILE_128 / 16; ++s) {
        if (s >= steps) break;
        if (s % 2 == 0) {
            if (s == 0) copy_wait<TILE_128 / 32 - 1>();
            if (s == 2) copy_wait<(TILE_128 > 64 ? TILE_128 / 32 - 2 : 0)>();
            if (s == 4) copy_wait<(TILE_128 > 64 ? 1 : 0)>();
            if (s == 6) copy_wait<0>();
            unit_diagonal_128(m, s);
            if (s + 1 < steps) unit_diagonal_128(m, s + 1);
            __syncthreads();
        }
        const double *A = m.A + (16 * s + t4) * LD_128 + i, *B = m.part(s);
        double l[8];
#pragma unroll
        for (int x = 0; x < 4; ++x)
            l[2 * x] = A[4 * x * LD_128], l[2 * x + 1] = A[4 * x * LD_128 + 8];
#pragma unroll
        for (int y = 0; y < GROUPS; ++y) {
            const int j = 8 * (SETS * y + set) - 16 * s;
            if (j < 0 || j >= 16 * (steps - s)) continue;
            const double *at = B + (j + g) * LD_N_128 + t4;
            const double b[4] = {at[0], at[4], at[8], at[12]};
            mma16(c[y], l, b);
        }
    }
    next_may_come();
    copy_wait<0>();
    __syncthreads();
#pragma unroll
    for (int y = 0; y < GROUPS; ++y)
#pragma unroll
        for (int x = 0; x < 4; ++x)
            m.A[(8 * (SETS * y + set) + 2 * t4 + x % 2) * LD_128 + i + 8 * (x / 2)] = c[y][x];
    __syncthreads();
    const bool in0 = row >= first && row < n, in1 = row + 1 >= first && row + 1 < n;
    const double limit = 1 / t.threshold;
    bool bad = false;
#pragma unroll 4
    for (int k = warp * AT_ONCE + column; k < nb; k += 8 * AT_ONCE) {
        const double *at = m.A + k * LD_128 + row2;
        const two_of<double> w = two_at(at);
        double x = w.a * m.di[k], y = w.b * m.di[k];
        const double after = m.ei[k + 1], before = m.ei[k];
        if (after != 0) x = fma(at[LD_128], after, x), y = fma(at[LD_128 + 1], after, y);
        if (before != 0) x = fma(at[-LD_128], before, x), y = fma(at[1 - LD_128], before, y);
        bad = bad || (in0 && !(fabs(x) <= limit)) || (in1 && !(fabs(y) <= limit));
        double *to = W + row + (int64_t)k * f.ldw;
        if (in0 && (in1 || row + 1 == n)) /* the last row's neighbour, a zero, is read with it */
            *(two_of<double> *)to = w;
        else if (in0)
            to[0] = w.a;
        else if (in1)
            to[1] = w.b;
    }
    if (bad) f.good = 0;
}

/** A warp, number `warp` of `warps`: rows p .. p + nb - 1 of the columns before p follow the tile's
 *  order. Barriers: it meets the warp. */
__device__ inline void order_rows_128(const panel<double> &a, int p, int nb, const int *order,
                                      int warp, int warps) {
    const int EACH = 2, PIECES = TILE_128 / 32, lane = (int)threadIdx.x & 31;
    for (int c = warp; c < p; c += EACH * warps) {
        double y[EACH][PIECES];
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const double *from = a.a + (int64_t)(c + q * warps < p ? c + q * warps : c) * a.ld + p;
#pragma unroll
            for (int x = 0; x < PIECES; ++x)
                y[q][x] = lane + 32 * x < nb ? from[order[lane + 32 * x]] : 0;
        }
        __syncwarp();
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            double *to = a.a + (int64_t)(c + q * warps) * a.ld + p;
#pragma unroll
            for (int x = 0; x < PIECES; ++x)
                if (c + q * warps < p && lane + 32 * x < nb) to[lane + 32 * x] = y[q][x];
        }
    }
}

/** A block of FINISH_THREADS threads, number `share` of FINISH_SHARES of a front: columns share,
 *  share + FINISH_SHARES, ... of L of the tile itself go from `square` to the panel; share 0 puts
 *  the positions of its columns in order. Barriers: it meets the block. */
__device__ inline void finish_tile_128(const mpki_cuda_front &f, const panel<double> &a,
                                       const double *square, const int *order, int share) {
    const int tid = (int)threadIdx.x, nb = f.b, p = f.p;
    if (share == 0) {
        int id[TILE_128 / FINISH_THREADS];
#pragma unroll
        for (int x = 0; x < TILE_128 / FINISH_THREADS; ++x)
            id[x] = tid + FINISH_THREADS * x < nb ? a.id[p + order[tid + FINISH_THREADS * x]] : 0;
        __syncthreads();
#pragma unroll
        for (int x = 0; x < TILE_128 / FINISH_THREADS; ++x)
            if (tid + FINISH_THREADS * x < nb) a.id[p + tid + FINISH_THREADS * x] = id[x];
    }
#pragma unroll 4
    for (int j = share; j < nb; j += FINISH_SHARES)
        for (int i = tid; i < nb; i += FINISH_THREADS)
            if (j < i) a.at(p + i, p + j) = square[i + (int64_t)j * f.ldw];
}

/** A block of FINISH_THREADS threads for each 128 rows and each share of the columns, of each
 *  front: if the tile in work stands, L = W D^-1 of the rows below it goes to the panel, and the
 *  columns before the tile follow its order. Blocks are small, so that they find a place beside
 *  those of an update. last: neither a tile nor inner_128_kernel() follows in this block of columns,
 *  so the block ends with the tile: more columns may be left than the host has counted, where tiles
 *  of 32 in the block before were done once more. closes: the block is noted, too. Barriers: it
 *  meets the block. */
static __global__ void __launch_bounds__(FINISH_THREADS, 16)
    finish_128_kernel(mpki_cuda_tree t, mpki_cuda_large large, int last, int closes) {
    after_previous();
    __shared__ int order[TILE_128];
    int part;
    const int share = (int)blockIdx.x % FINISH_SHARES;
    const int number = front_at(large.rows, large.count, (int)blockIdx.x / FINISH_SHARES, &part);
    mpki_cuda_front &f = large.front[number];
    const int tid = (int)threadIdx.x;
    if (part == 0 && share == 0 && tid == 0) {
        if (last && stands_128(f) && f.p + f.b < f.qe) f.qe = f.e = f.p + f.b;
        if (closes) close_block<double>(f, large.turn);
    }
    if (!stands_128(f)) return;
    const panel<double> a(f.a, f.w, f.ld);
    const int nb = f.b, p = f.p, first = p + nb, n = f.nrows;
    const int parts = large.rows[number + 1] - large.rows[number];
    for (int k = tid; k < TILE_128; k += FINISH_THREADS) order[k] = k < nb ? f.order[k] : 0;
    __syncthreads();
    if (part == 0) finish_tile_128(f, a, square_128(f, large), order, share);
    const int row = part * MPKI_FRONT_ROWS + 2 * tid;
    const bool in0 = row >= first && row < n, in1 = row + 1 >= first && row + 1 < n;
    if (in0 || in1) {
        const double *W = products_128(f, large) + row, *dinv = a.dinv + 2 * p;
        const int64_t ldw = f.ldw;
#pragma unroll 4
        for (int k = share; k < nb; k += FINISH_SHARES) {
            const two_of<double> w = two_at(W + k * ldw);
            const double di = dinv[2 * k];
            double x = w.a * di, y = w.b * di;
            if (f.pairs) {
                const double after = k + 1 < nb ? dinv[2 * k + 1] : 0,
                             before = k > 0 ? dinv[2 * k - 1] : 0;
                if (after != 0) {
                    const two_of<double> v = two_at(W + (k + 1) * ldw);
                    x = fma(v.a, after, x), y = fma(v.b, after, y);
                }
                if (before != 0) {
                    const two_of<double> v = two_at(W + (k - 1) * ldw);
                    x = fma(v.a, before, x), y = fma(v.b, before, y);
                }
            }
            if (in0) a.at(row, p + k) = x;
            if (in1) a.at(row + 1, p + k) = y;
        }
    }
    const int warps = FINISH_THREADS / 32;
    order_rows_128(a, p, nb, order, (part * FINISH_SHARES + share) * warps + tid / 32,
                   parts * FINISH_SHARES * warps);
}

/** A block of MMA_THREADS threads for each 64 x 64 entries of each front: if the tile in work
 *  stands, C -= L W^H on the other columns of its block of columns. Barriers: it meets the
 *  block. */
static __global__ void __launch_bounds__(MMA_THREADS, 3) inner_128_kernel(mpki_cuda_large large) {
    after_previous();
    MPKI_SMEM;
    int part;
    const int number = (int)blockIdx.x / INNER_PIECES_128, halves = INNER_HALVES_128;
    const mpki_cuda_front &f =
        large.front[front_at(large.rows, large.count, number / halves, &part)];
    if (!stands_128(f)) return;
    const int first = f.p + f.b, qe = f.qe, n = f.nrows;
    outer_tile<double> u;
    u.j0 = first + (int)blockIdx.x % INNER_PIECES_128 * OUTER;
    u.i0 = u.j0 + (part * halves + number % halves) * OUTER;
    if (u.j0 >= qe || u.i0 >= n) return;
    u.j1 = u.j0 + OUTER < qe ? u.j0 + OUTER : qe, u.i1 = u.i0 + OUTER < n ? u.i0 + OUTER : n;
    u.ld = f.ld, u.c = (double *)f.a + (int64_t)u.j0 * f.ld;
    const outer_pivots<double> by((const double *)f.a + (int64_t)f.p * f.ld, products_128(f, large),
                                  first, f.b);
    update_tile_mma(f, by, u, (double *)smem);
}

} // namespace mpki
#endif
