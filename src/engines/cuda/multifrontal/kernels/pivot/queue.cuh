/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_QUEUE_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_QUEUE_CUH
/** A block of columns of a large front by one kernel, in place of three for each tile of 32
 *  (large_front.cuh). Pieces are the tile, the rows below it and the rest of the block; a thread
 *  block does the same pieces of every tile, so that their code stays in its caches. A piece waits,
 *  by counters in global memory, for pieces before it alone; so all thread blocks have to be at
 *  work at the same time (a cooperative launch), unless a front has only one. If all pivots of a
 *  tile pass, the next tile does not wait for the update of the rest of the block: it updates its
 *  own square by itself. */
#include "../assemble/children.cuh"
#include "large_front.cuh"

namespace mpki {

enum { QUEUE_OVER = 1 << 28 /* in place of a count: there is no further tile */ };

static const int QUEUE_LD = TILE + 1;

/** Shared memory of a tile: its own, and rows of L and of L D of the tile before it. */
template <class T> struct ahead_space {
    tile_space<T> tile;
    T L[QUEUE_LD * TILE], X[QUEUE_LD * TILE];
};
template <class T> union queue_space {
    ahead_space<T> tile;
    rows_space<T> rows;
    inner_space<T> inner;
};

/** A front's pieces of one tile, in this order: the tile; rows below it; the rest of the block;
 *  `moved`: groups of columns before the tile, whose rows follow the tile's order, 8 columns a
 *  warp. */
struct queue_pieces {
    int rows, rest, moved;
    __device__ queue_pieces(const mpki_cuda_large &l, const mpki_cuda_front &f, int front)
        : rows(l.rows[front + 1] - l.rows[front]), rest(l.inner[front + 1] - l.inner[front]),
          moved((f.w + 63) / 64) {}
    __device__ int all() const { return 1 + rows + rest + moved; }
    __device__ bool in_rows(int piece) const { return piece >= 1 && piece <= rows; }
    __device__ bool in_rest(int piece) const { return piece > rows && piece <= rows + rest; }
};

/** A thread: waits until *counter is `goal` or more. Returns false if there is no further tile.
 *  Barriers: none. */
__device__ inline bool queue_reaches(const int32_t *counter, int goal) {
    int there;
    while ((there = load_acquire(counter)) < goal) {}
    return there < QUEUE_OVER;
}

/** A thread: do all pivots of tile x stand, and has the block columns after it? */
__device__ inline bool queue_goes_on(const mpki_cuda_front &f, const mpki_cuda_tile &x) {
    return x.np == x.b && x.good >= x.np && x.p + x.b < f.e;
}

/** A thread: waits until this piece of tile number `tile` may begin. Returns false if there is no
 *  further tile. The rest of a block waits for the rows of its tile; rows wait for their tile and
 *  for the rest of the tile before; a tile waits for the rows of the tile before it, and for its
 *  rest where it does not stand. Barriers: none; the caller meets the block. */
__device__ inline bool queue_wait(const mpki_cuda_front &f, const queue_pieces &of, int tile,
                                  int piece) {
    const int others = of.rest + of.moved;
    if (of.in_rest(piece)) return queue_reaches(&f.queue_rows, (tile + 1) * of.rows);
    if (piece > 0)
        return queue_reaches(&f.queue_tiles, tile + 1) &&
               queue_reaches(&f.queue_rest, tile * others);
    if (tile == 0) return true;
    return queue_reaches(&f.queue_rows, tile * of.rows) &&
           (queue_goes_on(f, f.queue_tile[~tile & 1]) ||
            queue_reaches(&f.queue_rest, tile * others));
}

/** A block of LARGE_THREADS threads: s.X and s.L := the rows of X and of L = X D^-1 of the tile z,
 *  which stands, that belong to the next tile. Barriers: it meets the block, also before it
 *  returns. */
template <bool H, class T>
__device__ inline void load_previous_tile(const mpki_cuda_front &f, const tile_in_work<T> &z,
                                          ahead_space<T> &s) {
    const panel<T> a(f.a, f.w, f.ld);
    const int tid = (int)threadIdx.x, first = z.p + z.b, EACH = TILE * TILE / LARGE_THREADS;
    const T *W = z.W, *dinv = a.dinv + 2 * z.p;
    T x[EACH], own[EACH], after[EACH], before[EACH]; /* D^-1 of a column; beside the diagonal */
    /* the square itself comes nearer meanwhile */
    if (tid < 4 * TILE && first + tid / 4 < f.e)
        prefetch_l1(a.a + first + (int64_t)(first + tid / 4) * a.ld + tid % 4 * (TILE / 4));
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = tid + e * LARGE_THREADS, i = at % TILE, k = at / TILE;
        x[e] = k < z.b && first + i < f.e ? W[first + i + (int64_t)k * f.ldw] : make<T>(0);
        own[e] = k < z.b ? dinv[2 * k] : make<T>(0);
        after[e] = k + 1 < z.b ? dinv[2 * k + 1] : make<T>(0);
        before[e] = k > 0 && k < z.b ? dinv[2 * k - 1] : make<T>(0);
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = tid + e * LARGE_THREADS, i = at % TILE, k = at / TILE;
        s.X[i + k * QUEUE_LD] = x[e];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = tid + e * LARGE_THREADS, i = at % TILE, k = at / TILE;
        const T *X = s.X + i + k * QUEUE_LD;
        if (k >= z.b) continue;
        T l = x[e] * own[e];
        if (z.pairs) {
            pfma(l, k + 1 < z.b ? X[QUEUE_LD] : make<T>(0), after[e]);
            if (k > 0) pfma(l, X[k > 0 ? -QUEUE_LD : 0], cj<H>(before[e]));
        }
        s.L[i + k * QUEUE_LD] = l;
    }
    __syncthreads();
}

/** Thread blocks b, b + large.count, ... for front b: its pieces of at most `tiles` tiles; there
 *  are fewer tiles if no column is left before. begins: the block of columns begins with the first
 *  tile. The last of a front's thread blocks to leave resets the counters and closes the block of
 *  columns. Barriers: it meets the block; between blocks by the counters. */
template <bool H, class T>
__global__ void __launch_bounds__(LARGE_THREADS, 1)
    queue_kernel(mpki_cuda_tree t, mpki_cuda_large large, int begins, int tiles) {
    after_previous();
    MPKI_SMEM;
    queue_space<T> &space = *(queue_space<T> *)(void *)smem;
    __shared__ int goes;
    const int number = (int)blockIdx.x % large.count, blocks = (int)gridDim.x / large.count;
    const int tid = (int)threadIdx.x;
    mpki_cuda_front &f = large.front[number];
    const queue_pieces of(large, f, number);
    T *const tile_at = (T *)f.tile;
    /* of a root that is one block nothing but the next tile asks for L D: of two tiles, by turns */
    const bool alone = f.nrows == f.w && f.block >= f.w;
    const auto in_work = [&](mpki_cuda_tile &x, int turn) {
        const int at = alone ? turn * TILE : x.p - f.q;
        return tile_in_work<T>(x, tile_at + turn * 2 * TILE * TILE,
                               products_of<T>(f, large) + (int64_t)at * f.ldw);
    };
    /* the first block has the tiles, the others all else */
    const int own = (int)blockIdx.x / large.count;
    const int step = blocks == 1 ? 1 : own == 0 ? of.all() : blocks - 1;
    for (int tile = 0, piece = own; tile < tiles; piece += step) {
        if (piece >= of.all()) {
            ++tile, piece = own - step;
            continue;
        }
        if (tid == 0) goes = queue_wait(f, of, tile, piece);
        __syncthreads();
        if (!goes) break;
        const int turn = tile & 1;
        mpki_cuda_tile &x = f.queue_tile[turn];
        T *const L = tile_at + turn * 2 * TILE * TILE;
        int said = 1;
        if (piece == 0) {
            ahead_space<T> &s = space.tile;
            int before = 0;   /* pivots of the tile before that have not reached this one, */
            T *square = NULL; /* and where it lies */
            if (tile > 0) {
                mpki_cuda_tile &last = f.queue_tile[turn ^ 1];
                if (queue_goes_on(f, last)) {
                    before = last.b;
                    square = (T *)f.a + (last.p + before) * (int64_t)(f.ld + 1);
                    load_previous_tile<H>(f, in_work(last, turn ^ 1), s);
                }
                if (tid == 0) f.good = last.good;
                __syncthreads();
            }
            const auto update = [&](int i, int j, T &y) {
                if (before == 0) return;
                T c = make<T>(0);
                for (int k = 0; k < before; ++k)
                    pfma(c, s.L[i + k * QUEUE_LD], cj<H>(s.X[j + k * QUEUE_LD]));
                y = y - c;
                *(square + i + (int64_t)j * f.ld) = y;
            };
            const bool is = next_tile<H>(t, f, begins && tile == 0 ? BLOCK_BEGINS : BLOCK_GOES_ON,
                                         L, s.tile, update);
            said = is ? 1 : QUEUE_OVER;
            if (is && tid < TILE) x.order[tid] = f.order[tid];
            if (is && tid == 0) {
                x.p = f.p, x.b = f.b, x.np = f.np, x.good = f.good, x.pairs = f.pairs;
                x.moved = f.moved, x.quick = f.quick;
            }
        } else {
            const tile_in_work<T> z = in_work(x, turn);
            if (of.in_rows(piece)) {
                rows_below<H, LARGE_THREADS>(t, f, z, piece - 1, space.rows);
            } else if (of.in_rest(piece)) {
                rest_of_block<H>(f, z, piece - 1 - of.rows, tile + 1 < tiles, space.inner);
            } else if (z.moved) {
                order_rows(panel<T>(f.a, f.w, f.ld), z.p, z.b, z.order,
                           (piece - 1 - of.rows - of.rest) * (LARGE_THREADS / 32) + tid / 32,
                           of.moved * (LARGE_THREADS / 32));
            }
        }
        __syncthreads();
        if (tid == 0) {
            __threadfence();
            if (piece == 0 || said == QUEUE_OVER) atomicAdd(&f.queue_tiles, said);
            if (of.in_rows(piece) || said == QUEUE_OVER) atomicAdd(&f.queue_rows, said);
            if (piece > of.rows || said == QUEUE_OVER) atomicAdd(&f.queue_rest, said);
        }
    }
    if (tid != 0) return;
    __threadfence();
    if ((int)atomicAdd(&f.queue_left, 1) != blocks - 1) return;
    __threadfence(); /* all have left */
    if (f.b > 0) f.good = f.queue_tile[(tiles - 1) & 1].good;
    if (large.ahead) close_block<T>(f, large.turn);
    f.queue_tiles = f.queue_rows = f.queue_rest = f.queue_left = 0;
}

} // namespace mpki
#endif
