/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_LARGE_FRONT_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_LARGE_FRONT_CUH
/** Large fronts of a step, each by many thread blocks. A block of columns is done tile by tile,
 *  each tile by three kernels: tile_kernel (one block a front), rows_kernel (the rows below it),
 *  inner_kernel (the other columns of the block). Then the rest of the front gets its update
 *  (update/large.cuh), and what tiles could not eliminate is done column by column
 *  (columns_kernel). */
#include "engines/cuda/module/launch.cuh"
#include "threshold.cuh"
#include "tile.cuh"

namespace mpki {

static const int LARGE_THREADS = 256;

/** A panel in global memory as a front. */
template <class T> struct panel_front {
    T *a;
    int ld;
    __device__ T &at(int i, int j) const { return a[i + (int64_t)j * ld]; }
};

/** A thread: the front k to which block b of a kernel belongs: list[k] <= b < list[k + 1]. *part
 *  [out] the block's number in that front. Barriers: none. */
__device__ inline int front_at(const int32_t *list, int count, int b, int *part) {
    int low = 0, high = count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (list[middle] <= b)
            low = middle;
        else
            high = middle;
    }
    *part = b - list[low];
    return low;
}
/** A thread: front_at() of its own block. */
__device__ inline int front_of_block(const int32_t *list, int count, int *part) {
    return front_at(list, count, (int)blockIdx.x, part);
}

/** A thread: L D of the block of columns in work: one of two spaces, by turns, where updates go on
 *  beside the next block. */
template <class T>
__device__ inline T *products_of(const mpki_cuda_front &f, const mpki_cuda_large &l) {
    return (T *)f.W + (l.ahead ? (int64_t)(l.turn & 1) * f.ldw * f.block : 0);
}

/* ---- a tile ---- */

/** Where in its block of columns a kernel is: after a tile of it; at its first tile, so that what
 *  the block before has left is put in its place; behind its last one, with nothing else to do. */
enum block_place { BLOCK_GOES_ON = 0, BLOCK_BEGINS = 1, BLOCK_DONE = 2 };

/** A tile that rows_below() and rest_of_block() work on: columns p .. p + b - 1, np pivots of which
 *  the first `good` pass, its L and L D, and L D of the rows below in W. */
template <class T> struct tile_in_work {
    int p, b, np, good;
    bool pairs, moved, quick;
    const int32_t *order;
    int32_t *passed; /* where `good` is */
    const T *L, *X;
    T *W; /* L D of the rows below */
    __device__ tile_in_work(mpki_cuda_front &f, const mpki_cuda_large &l)
        : p(f.p), b(f.b), np(f.np), good(f.good), pairs(f.pairs), moved(f.moved), quick(f.quick),
          order(f.order), passed(&f.good), L((const T *)f.tile), X(L + TILE * TILE),
          W(products_of<T>(f, l) + (int64_t)(p - f.q) * f.ldw) {}
    __device__ tile_in_work(mpki_cuda_tile &x, const T *L_, T *W_)
        : p(x.p), b(x.b), np(x.np), good(x.good), pairs(x.pairs), moved(x.moved), quick(x.quick),
          order(x.order), passed(&x.good), L(L_), X(L_ + TILE * TILE), W(W_) {}
};

/** A thread: how many of a tile's np pivots at p stand, `good` of which pass: all; else none if
 *  they were found in the quick way; else without half a pair. */
template <class T>
__device__ inline int standing(const panel<T> &a, int p, int np, int good, bool quick) {
    if (good >= np) return np;
    return quick ? 0 : whole_pairs(a.d + 2 * p, good);
}
/** A warp: standing() of a tile of at most 32 columns, by all lanes at once. Barriers: it meets the
 *  warp. */
template <class T>
__device__ inline int standing_by_warp(const panel<T> &a, int p, int np, int good, bool quick) {
    if (good >= np || quick || good <= 0) return good >= np ? np : quick ? 0 : good;
    const int lane = (int)threadIdx.x & 31;
    const unsigned pairs =
        __ballot_sync(0xffffffffu, lane < good && !is_zero(a.d[2 * (p + lane) + 1]));
    int k = 0;
    while (k < good) k += pairs >> k & 1 ? 2 : 1;
    return k == good ? good : k - 2;
}

/** A thread: how many pivots of the front's tile in work stand. */
template <class T> __device__ inline int standing(const mpki_cuda_front &f, const panel<T> &a) {
    return standing(a, f.p, f.np, f.good, f.quick != 0);
}

/** A block: puts in order what the last tile of front f has left: its columns that failed go behind
 *  the block's untried ones. begins: the front begins a block of columns, so those that failed in
 *  the block before go behind all others, and the pass, or the phase, may end. Called by
 *  next_tile() and tile_128_kernel(). Barriers: it meets the block, also before it returns. */
template <bool H, class T>
__device__ void advance(mpki_cuda_front &f, const panel<T> &a, mpki_cuda_flags *flags,
                        bool begins) {
    const panel_front<T> at = {a.a, a.ld};
    int p = f.p, e = f.e, end = f.end, rejected = 0;
    const bool failed = f.b > 0 && f.quick && f.good < f.np; /* once more, the other way */
    if (f.b > 0 && !failed) {
        const int ne = standing_by_warp(a, p, f.np, f.good, f.quick != 0);
        const int left = f.b - ne, untried = e - (p + f.b);
        const int count = left < untried ? left : untried;
        if (count > 0) front_exchange_all<H>(at, a.id, f.nrows, p + ne, e - 1, count);
        p += ne, e -= left, rejected = f.pass == 0 ? left : 0;
    }
    int q = f.q, qe = f.qe, pass = f.pass, start = f.start, phase = f.phase;
    if (begins) {
        const int left = qe - e, untried = end - qe;
        const int count = left < untried ? left : untried;
        if (count > 0) front_exchange_all<H>(at, a.id, f.nrows, e, end - 1, count);
        end -= left;
        if (p == end) {
            const int rest = f.w - p;
            const bool poor = pass > 0 && p - start < (rest + p - start) / 8 + 1;
            if (rest == 0)
                phase = MPKI_CUDA_ELIMINATED;
            else if (poor || rest <= 4)
                phase = MPKI_CUDA_BY_COLUMNS;
            else
                end = f.w, start = p, ++pass;
        }
        q = p;
        qe = end - p < f.block ? end : p + f.block;
        e = qe;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        f.p = p, f.e = e, f.end = end, f.q = q, f.qe = qe, f.pass = pass, f.start = start;
        f.phase = phase, f.search = p;
        f.b = 0;
        if (failed && f.tile_128) f.tile_128_failed = 1, ++f.misses;
        if ((failed && !f.tile_128) || pass > 0) f.slow = MPKI_FRONT_MISSES;
        if (rejected) atomicAdd(&flags->rejected, (unsigned long long)rejected);
    }
    __syncthreads();
}

/** Shared memory of next_tile(). */
template <class T> struct tile_space {
    alignas(16) T S[LDS_ * MPKI_FRONT_TILE], work[4 * MPKI_FRONT_TILE];
    T d[2 * MPKI_FRONT_TILE], dinv[2 * MPKI_FRONT_TILE];
    int perm[MPKI_FRONT_TILE], pivots;
};

/** A block: factors the next tile of front f: L of it, and L D behind that, go to L (TILE x TILE
 *  entries each), D, D^-1, positions and order to the panel and to f. where: the tile's place in
 *  the block of columns. update(i, j, x): brings entry x of the tile up to date, here and in the
 *  panel, before it is used. The quick way is tried first, unless it has failed MPKI_FRONT_MISSES
 *  times. Returns false if there is no further tile. Called by tile_kernel() and queue_kernel().
 *  Barriers: it meets the block; the caller ends, or meets it, before others read L. */
template <bool H, class T, class F>
__device__ inline bool next_tile(const mpki_cuda_tree &t, mpki_cuda_front &f, block_place where,
                                 T *L, tile_space<T> &s, F update) {
    T *const S = s.S, *const d = s.d, *const dinv = s.dinv;
    int *const perm = s.perm;
    const panel<T> a(f.a, f.w, f.ld);
    const int tid = (int)threadIdx.x;
    if (f.phase != MPKI_CUDA_IN_TILES) return false;
    advance<H>(f, a, t.flags, where != BLOCK_GOES_ON);
    if (f.phase != MPKI_CUDA_IN_TILES || where == BLOCK_DONE) return false;
    const int p = f.p, b = f.e - p < TILE ? f.e - p : TILE;
    if (b <= 0) return false;
    bool quick = f.slow < MPKI_FRONT_MISSES;
    for (bool again = false;; again = true, quick = false) {
        const int EACH = 4; /* read before the first is written: a read waits long */
        for (int k0 = tid; k0 < TILE * TILE; k0 += EACH * (int)blockDim.x) {
            T x[EACH];
#pragma unroll
            for (int q = 0; q < EACH; ++q) {
                const int k = k0 + q * (int)blockDim.x, i = k % TILE, j = k / TILE;
                x[q] = i >= j && i < b ? a.at(p + i, p + j) : make<T>(0);
            }
#pragma unroll
            for (int q = 0; q < EACH; ++q) {
                const int k = k0 + q * (int)blockDim.x, i = k % TILE, j = k / TILE;
                if (i < j || i >= b) continue;
                if (!again) update(i, j, x[q]);
                S[i + j * LDS_] = x[q];
                if (i > j) S[j + i * LDS_] = cj<H>(x[q]);
            }
        }
        __syncthreads();
        if (tid < 32) {
            typedef typename scalar_of<T>::real R;
            const pivot_rules<R> rules(t);
            const R limit = 1 / rules.u, most = limit < (R)QUICK_MOST ? limit : (R)QUICK_MOST;
            const int np =
                quick ? (tile_quick<H>(S, b, perm, d, dinv, rules.least(), most, s.work) ? b : -1)
                      : tile_factor<H>(S, b, perm, d, dinv, rules.least(), s.work);
            if (tid == 0) s.pivots = np;
        }
        __syncthreads();
        if (s.pivots >= 0) break;
        __syncthreads();
    }
    const int np = s.pivots;
    T *X = L + TILE * TILE; /* by columns */
    for (int z = tid; z < TILE * TILE; z += (int)blockDim.x) {
        const int i = z % TILE, k = z / TILE;
        T l = make<T>(0), x = make<T>(0);
        if (i < b && k < np && i > k) {
            l = S[i + k * LDS_];
            x = l * d[2 * k];
            if (k + 1 < np && i > k + 1) pfma(x, S[i + (k + 1) * LDS_], d[2 * k + 1]);
            if (k > 0) pfma(x, S[i + (k - 1) * LDS_], cj<H>(d[2 * k - 1]));
        }
        L[z] = l, X[z] = x;
    }
    for (int k = tid; k < 2 * b; k += (int)blockDim.x) {
        a.d[2 * p + k] = d[k];
        a.dinv[2 * p + k] = dinv[k];
    }
    const int id = tid < b ? a.id[p + perm[tid]] : 0;
    const int away = __any_sync(0xffffffffu, tid < b && perm[tid] != tid);
    const int pairs = __any_sync(0xffffffffu, tid < np && !is_zero(d[2 * (tid & 31) + 1]));
    __syncthreads();
    if (tid < b) a.id[p + tid] = id;
    if (tid < TILE) f.order[tid] = tid < b ? perm[tid] : tid;
    if (tid == 0) {
        f.b = b, f.np = f.good = np, f.moved = away, f.pairs = pairs, f.quick = quick;
        f.tile_128 = f.tile_128_failed = 0;
        if (f.slow < MPKI_FRONT_MISSES) f.slow = quick ? 0 : f.slow + 1;
    }
    return true;
}

/** A block for each front: the next tile, if it has one. */
template <bool H, class T>
__global__ void __launch_bounds__(256)
    tile_kernel(mpki_cuda_tree t, mpki_cuda_large large, block_place where) {
    after_previous();
    __shared__ tile_space<T> space;
    mpki_cuda_front &f = large.front[blockIdx.x];
    next_tile<H>(t, f, where, (T *)f.tile, space, [](int, int, T &) {});
}

/** A warp, number `warp` of `warps`: rows p .. p + b - 1 of the columns before p follow the tile's
 *  order. Some columns are read before the first is written, since a read waits long. Barriers: it
 *  meets the warp. */
template <class T>
__device__ inline void order_rows(const panel<T> &a, int p, int b, const int *order, int warp,
                                  int warps) {
    const int EACH = sizeof(T) > 8 ? 4 : 8, lane = (int)threadIdx.x & 31;
    const int from = lane < b ? order[lane] : 0;
    for (int c = warp; c < p; c += EACH * warps) {
        T y[EACH];
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const int64_t column = c + q * warps < p ? c + q * warps : c;
            y[q] = lane < b ? a.a[column * a.ld + p + from] : make<T>(0);
        }
        __syncwarp();
#pragma unroll
        for (int q = 0; q < EACH; ++q)
            if (lane < b && c + q * warps < p)
                a.a[(c + (int64_t)q * warps) * a.ld + p + lane] = y[q];
    }
}

/** Shared memory of rows_below(). */
template <class T> struct rows_space {
    alignas(16) T S[LDS_ * MPKI_FRONT_TILE];
    T dinv[2 * MPKI_FRONT_TILE];
    int order[MPKI_FRONT_TILE], good;
};

/** A block of THREADS threads: rows number `part` of the front, 128 of them, as far as they lie
 *  below the tile z: X = A L^-H goes to z.W, which is L D, and L = X D^-1 is tested against 1 / u;
 *  *z.passed becomes the first column that fails, if that is less. Called by rows_kernel() and
 *  queue_kernel(). Barriers: it meets the block. */
template <bool H, int THREADS, class T>
__device__ inline void rows_below(const mpki_cuda_tree &t, const mpki_cuda_front &f,
                                  const tile_in_work<T> &z, int part, rows_space<T> &s) {
    typedef typename scalar_of<T>::real R;
    T *const S = s.S, *const dinv = s.dinv;
    const int *const order = s.order;
    const int tid = (int)threadIdx.x, b = z.b, p = z.p, np = z.np;
    const panel<T> a(f.a, f.w, f.ld);
    T mine_of_L[TILE * TILE / THREADS]; /* read before the first is written */
#pragma unroll
    for (int k = 0; k < TILE * TILE / THREADS; ++k) mine_of_L[k] = z.L[tid + k * THREADS];
#pragma unroll
    for (int k = 0; k < TILE * TILE / THREADS; ++k) {
        const int at = tid + k * THREADS;
        S[at % TILE + at / TILE * LDS_] = mine_of_L[k];
    }
    if (tid < TILE) s.order[tid] = z.order[tid];
    if (tid < 2 * TILE) dinv[tid] = tid < 2 * np ? a.dinv[2 * p + tid] : make<T>(0);
    if (tid == 0) s.good = np;
    __syncthreads();
    const int i = part * MPKI_FRONT_ROWS + tid;
    if (tid < MPKI_FRONT_ROWS && i >= p + b && i < f.nrows) {
        T x[MPKI_FRONT_TILE];
#pragma unroll
        for (int k = 0; k < TILE; ++k) x[k] = k < b ? a.at(i, p + order[k]) : make<T>(0);
        row_eliminate<H>(x, S, TILE, np);
        const R limit = (R)1 / (R)t.threshold;
        int mine = np;
        if (z.pairs) {
            mine = row_test<H>(x, dinv, np, limit);
        } else {
#pragma unroll
            for (int k = TILE - 1; k >= 0; --k)
                if (k < np && !(abs1(x[k] * dinv[2 * k]) <= limit)) mine = k;
        }
        if (mine < np) atomicMin(&s.good, mine);
        T *W = z.W + i;
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            if (k < np) W[(int64_t)k * f.ldw] = x[k];
    }
    __syncthreads();
    if (tid == 0 && s.good < np) atomicMin(z.passed, s.good);
}

/** A block of 128 threads for each 128 rows of each front: rows_below() of the tile in work; the
 *  columns before the tile follow its order. Barriers: it meets the block. */
template <bool H, class T>
__global__ void __launch_bounds__(MPKI_FRONT_ROWS)
    rows_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    after_previous();
    __shared__ rows_space<T> space;
    int part;
    const int k0 = front_of_block(large.rows, large.count, &part), each = MPKI_FRONT_ROWS / 32;
    mpki_cuda_front &f = large.front[k0];
    if (f.b <= 0) return;
    if (f.moved)
        order_rows(panel<T>(f.a, f.w, f.ld), f.p, f.b, f.order, part * each + (int)threadIdx.x / 32,
                   (large.rows[k0 + 1] - large.rows[k0]) * each);
    rows_below<H, MPKI_FRONT_ROWS>(t, f, tile_in_work<T>(f, large), part, space);
}

/** A block: the tile z itself, ne of its pivots stand: L of these goes to the panel, and its other
 *  columns are brought up to date. rest [work] TILE x TILE entries. Called by rest_of_block().
 *  Barriers: it meets the block. */
template <bool H, class T>
__device__ inline void finish_tile(const tile_in_work<T> &z, const panel<T> &a, int ne, T *rest) {
    const int tid = (int)threadIdx.x, b = z.b, p = z.p;
    const T *L = z.L, *X = z.X;
    for (int s = tid; s < TILE * TILE; s += (int)blockDim.x) {
        const int i = s % TILE, j = s / TILE;
        if (i >= b || i < j || j < ne) continue;
        const int gi = p + z.order[i], gj = p + z.order[j];
        T x = gi >= gj ? a.at(gi, gj) : cj<H>(a.at(gj, gi));
        for (int k = 0; k < ne; ++k) nfma(x, L[i + k * TILE], cj<H>(X[j + k * TILE]));
        rest[s] = x;
    }
    __syncthreads();
    for (int s = tid; s < TILE * TILE; s += (int)blockDim.x) {
        const int i = s % TILE, j = s / TILE;
        if (i >= b || i < j) continue;
        if (j >= ne)
            a.at(p + i, p + j) = rest[s];
        else if (i > j)
            a.at(p + i, p + j) = L[s];
    }
}

/** A thread: how many pivots a block of columns has, when its last tile is done. */
template <class T> __device__ inline int pivots_of_block(const mpki_cuda_front &f) {
    if (f.phase != MPKI_CUDA_IN_TILES) return 0;
    return f.p - f.q + (f.b > 0 ? standing(f, panel<T>(f.a, f.w, f.ld)) : 0);
}

/** A thread: notes the block of columns number `turn` of front f, whose last tile is done, for its
 *  update. Those columns after it that the next block has are updated first; they are known only if
 *  no column has failed. */
template <class T> __device__ inline void close_block(mpki_cuda_front &f, int turn) {
    const int pivots = pivots_of_block<T>(f), to = f.qe + f.block;
    mpki_cuda_block &x = f.closed[turn & 1];
    x.q = f.q, x.qe = f.qe, x.pivots = pivots;
    x.next = f.end < f.w || pivots < f.qe - f.q ? f.nrows : to < f.w ? to : f.w;
}

/** Shared memory of rest_of_block(). */
template <class T> struct inner_space {
    static const int LD = MPKI_FRONT_INNER + 1;
    T Ls[LD * MPKI_FRONT_TILE], Xs[LD * MPKI_FRONT_TILE]; /* by pivots */
    T dinv[2 * MPKI_FRONT_TILE];
    int order[MPKI_FRONT_TILE];
};

/** A block of LARGE_THREADS threads: piece number `part` of what follows from the tile z. Piece 0
 *  is the tile itself (finish_tile()). The others have 64 rows and 64 columns each: F -= L X^H on
 *  the other columns of the block; the first ones of a row write L of the rows below, and bring the
 *  columns that failed up to date. ahead: if all of the tile stands, the square of the next tile is
 *  left to that tile. Called by inner_kernel() and queue_kernel(). Barriers: it meets the block. */
template <bool H, class T>
__device__ inline void rest_of_block(const mpki_cuda_front &f, const tile_in_work<T> &z, int part,
                                     bool ahead, inner_space<T> &s) {
    const int N = MPKI_FRONT_INNER, LD = inner_space<T>::LD;
    T *const Ls = s.Ls, *const Xs = s.Xs, *const dinv = s.dinv;
    const int *const order = s.order;
    const int tid = (int)threadIdx.x, b = z.b, p = z.p, n = f.nrows, qe = f.qe;
    const panel<T> a(f.a, f.w, f.ld);
    const int ne = standing_by_warp(a, z.p, z.np, z.good, z.quick);
    if (part == 0) {
        finish_tile<H>(z, a, ne, Ls);
        return;
    }
    const int pieces = (f.block + N - 1) / N; /* of columns */
    const int i0 = (part - 1) / pieces * N, piece = (part - 1) % pieces;
    const int j0 = p + b + piece * N, first = p + b;
    const int square = !ahead || ne < b ? first : f.e - first < TILE ? f.e : first + TILE;
    if (i0 + N <= first || i0 >= n) return;
    if (piece > 0 && (j0 >= qe || i0 + N <= j0)) return;
    const T *W = z.W;
    if (tid < TILE) s.order[tid] = z.order[tid];
    for (int k = tid; k < 2 * TILE; k += LARGE_THREADS)
        dinv[k] = k < 2 * ne ? a.dinv[2 * p + k] : make<T>(0);
    const int EACH = N * TILE / LARGE_THREADS;
    {
        T l[EACH], v[EACH]; /* read before the first is written: a read waits long */
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = tid + e * LARGE_THREADS, i = at % N, k = at / N, row = i0 + i,
                      col = j0 + i;
            const T *from = W + (int64_t)k * f.ldw;
            l[e] = k < ne && row >= first && row < n ? from[row] : make<T>(0);
            v[e] = k < ne && col < qe ? from[col] : make<T>(0);
        }
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = tid + e * LARGE_THREADS, i = at % N, k = at / N;
            Ls[i + k * LD] = l[e], Xs[i + k * LD] = v[e];
        }
    }
    /* 4 x 4 entries a thread: rows x, x + 16, ...; columns 4 y .. */
    const int x0 = tid % 16, y0 = tid / 16 * 4;
    T old[4][4];
#pragma unroll
    for (int y = 0; y < 4; ++y)
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            const int i = i0 + x0 + 16 * x, j = j0 + y0 + y;
            old[x][y] = j < qe && i >= j && i < n ? a.at(i, j) : make<T>(0);
        }
    __syncthreads();
    T raw[EACH]; /* of the columns that failed, as they were */
    if (piece == 0 && ne < b) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = tid + e * LARGE_THREADS, i = at % N, k = at / N, row = i0 + i;
            if (k >= ne && k < b && row >= first && row < n) raw[e] = a.at(row, p + order[k]);
        }
    }
    if (!z.pairs) { /* X D^-1 */
        for (int e = tid; e < N * ne; e += LARGE_THREADS)
            Ls[e % N + e / N * LD] = Ls[e % N + e / N * LD] * dinv[2 * (e / N)];
    } else {
        T l[EACH];
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = tid + e * LARGE_THREADS, i = at % N, k = at / N;
            const T *x = Ls + i + k * LD;
            l[e] = k < ne ? times_inverse<H>(k > 0 ? x[k > 0 ? -LD : 0] : make<T>(0), x[0],
                                             k + 1 < ne ? x[LD] : make<T>(0), dinv, k)
                          : make<T>(0);
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = tid + e * LARGE_THREADS, i = at % N, k = at / N;
            if (k < ne) Ls[i + k * LD] = l[e];
        }
    }
    __syncthreads();
    if (piece == 0) {
        const T *X = z.X;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = tid + e * LARGE_THREADS, i = at % N, k = at / N, row = i0 + i;
            if (k >= b || row < first || row >= n) continue;
            T x;
            if (k < ne) {
                x = Ls[i + k * LD];
            } else {
                x = raw[e];
                for (int c = 0; c < ne; ++c) nfma(x, Ls[i + c * LD], cj<H>(X[k + c * TILE]));
            }
            a.at(row, p + k) = x;
        }
    }
    if (j0 >= qe || i0 + N <= j0) return;
    T c[4][4];
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y) c[x][y] = make<T>(0);
    for (int k = 0; k < ne; ++k) {
        T l[4], v[4];
#pragma unroll
        for (int x = 0; x < 4; ++x) l[x] = Ls[x0 + 16 * x + k * LD];
#pragma unroll
        for (int y = 0; y < 4; ++y) v[y] = cj<H>(Xs[y0 + y + k * LD]);
#pragma unroll
        for (int x = 0; x < 4; ++x)
#pragma unroll
            for (int y = 0; y < 4; ++y) pfma(c[x][y], l[x], v[y]);
    }
#pragma unroll
    for (int y = 0; y < 4; ++y) {
        const int j = j0 + y0 + y;
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            const int i = i0 + x0 + 16 * x;
            if (j < qe && i >= j && i < n && i >= square) a.at(i, j) = old[x][y] - c[x][y];
        }
    }
}

/** A block of LARGE_THREADS threads for each piece of each front: rest_of_block() of the tile in
 *  work. closes: it is the last tile of its block of columns. Barriers: it meets the block. */
template <bool H, class T>
__global__ void __launch_bounds__(LARGE_THREADS, sizeof(T) > 8 ? 1 : 3)
    inner_kernel(mpki_cuda_tree, mpki_cuda_large large, int closes) {
    after_previous();
    MPKI_SMEM;
    int part;
    const int k0 = front_of_block(large.inner, large.count, &part);
    mpki_cuda_front &f = large.front[k0];
    if (closes && part == 0 && threadIdx.x == 0) close_block<T>(f, large.turn);
    if (f.b > 0)
        rest_of_block<H>(f, tile_in_work<T>(f, large), part, false,
                         *(inner_space<T> *)(void *)smem);
}

/* ---- column by column ---- */

/** A block for each front in MPKI_CUDA_BY_COLUMNS: eliminates a block of columns by
 *  threshold_columns(), and L D of the new pivots goes to W for the update that follows. Barriers:
 *  it meets the block. */
template <bool H, class T>
__global__ void __launch_bounds__(1024) columns_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    typedef typename scalar_of<T>::real R;
    __shared__ search_space<R> space;
    mpki_cuda_front &f = large.front[blockIdx.x];
    if (f.phase != MPKI_CUDA_BY_COLUMNS) {
        if (f.phase == MPKI_CUDA_ELIMINATED && threadIdx.x == 0) f.b = 0;
        return;
    }
    const panel<T> a(f.a, f.w, f.ld);
    const panel_front<T> at = {a.a, a.ld};
    const pivot_rules<R> rules(t);
    const int q = f.p, n = f.nrows, most = f.block;
    int search = f.search;
    bool over;
    const int p = threshold_columns<H, T>(at, a.d, a.dinv, a.id, n, f.w, f.w, q, most, n == f.w,
                                          rules, t.flags, &search, &over, &space);
    for (int i = f.w + (int)threadIdx.x; i < n; i += (int)blockDim.x)
        for (int k = q; k < p; ++k) {
            T x = at.at(i, k) * a.d[2 * k];
            if (k + 1 < p) pfma(x, at.at(i, k + 1), a.d[2 * k + 1]);
            if (k > q) pfma(x, at.at(i, k - 1), cj<H>(a.d[2 * k - 1]));
            ((T *)f.W)[i + (int64_t)(k - q) * f.ldw] = x;
        }
    __syncthreads();
    if (threadIdx.x == 0) {
        f.q = q, f.qe = f.w, f.p = p, f.b = -1, f.search = search;
        if (over) f.phase = MPKI_CUDA_ELIMINATED;
    }
}

/** A thread for each large front, when all of them are done: publishes its state. Barriers:
 *  none. */
static __global__ void finish_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k >= large.count) return;
    const mpki_cuda_front &f = large.front[k];
    const mpki_cuda_node &node = t.node[f.index];
    const mpki_cuda_front_state state = {
        f.a, f.w, f.own > 0 ? f.p : 0, f.ld, MPKI_CUDA_DONE, node.parts, node.parts_up};
    t.state[f.index] = state;
    if (state.nelim < state.w) t.flags->delayed = 1;
}

} // namespace mpki
#endif
