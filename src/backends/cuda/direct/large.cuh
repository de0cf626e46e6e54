/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_LARGE_CUH
#define MPKI_CUDA_DIRECT_LARGE_CUH
/** Large fronts of a step, all of them a step at a time: assembly; a tile (one block a front), the
 *  rows below it, the rest of the block of columns; then the rest of the front (outer.cuh). */
#include "../launch.cuh"
#include "threshold.cuh"
#include "tile.cuh"

namespace mpki {

static const int LARGE_THREADS = 256;

/** A panel in global memory. */
template <class T> struct panel_front {
    T *a;
    int ld;
    __device__ T &at(int i, int j) const { return a[i + (int64_t)j * ld]; }
};

/** The front k of number b: list[k] <= b < list[k + 1]. *part [out] the number there */
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
/** Of this block. */
__device__ inline int front_of_block(const int32_t *list, int count, int *part) {
    return front_at(list, count, (int)blockIdx.x, part);
}

/** L D of the block of columns in work. */
template <class T>
__device__ inline T *products_of(const mpki_cuda_front &f, const mpki_cuda_large &l) {
    return (T *)f.W + (l.ahead ? (int64_t)(l.turn & 1) * f.ldw * f.block : 0);
}

/* ---- a tile ---- */

/** Pivots of the tile in work that stand: none of those that were found in the quick way, if one does not. */
template <class T> __device__ inline int standing(const mpki_cuda_front &f, const panel<T> &a) {
    if (f.quick) return f.good < f.np ? 0 : f.np;
    return whole_pairs(a.d + 2 * f.p, f.good);
}

/** All threads: what the tile before left is put in its place; then, at the begin of a block, what
 *  the block before left, and the pass. */
template <bool H, class T>
__device__ void advance(mpki_cuda_front &f, const panel<T> &a, mpki_cuda_flags *flags, bool begin) {
    const panel_front<T> at = {a.a, a.ld};
    int p = f.p, e = f.e, end = f.end, rejected = 0;
    const bool failed = f.b > 0 && f.quick && f.good < f.np; /* once more, the other way */
    if (f.b > 0 && !failed) {
        const int ne = standing(f, a), left = f.b - ne, untried = e - (p + f.b);
        for (int k = 0; k < left && k < untried; ++k)
            front_exchange<H>(at, a.id, f.nrows, p + ne + k, e - 1 - k);
        p += ne, e -= left, rejected = f.pass == 0 ? left : 0;
    }
    int q = f.q, qe = f.qe, pass = f.pass, start = f.start, phase = f.phase;
    if (begin) {
        const int left = qe - e, untried = end - qe;
        for (int k = 0; k < left && k < untried; ++k)
            front_exchange<H>(at, a.id, f.nrows, e + k, end - 1 - k);
        end -= left;
        if (p == end) {
            const int rest = f.w - p;
            const bool poor = pass > 0 && p - start < (rest + p - start) / 8 + 1;
            if (rest == 0)
                phase = 2;
            else if (poor || rest <= 4)
                phase = 1;
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
        if (failed && f.wide) f.narrow = 1, ++f.misses;
        if ((failed && !f.wide) || pass > 0) f.slow = MPKI_FRONT_MISSES;
        if (rejected) atomicAdd(&flags->rejected, (unsigned long long)rejected);
    }
    __syncthreads();
}

/** A block for each front. begin: 1 at the begin of a block of columns, 2 at its end. */
template <bool H, class T>
__global__ void __launch_bounds__(256)
    tile_kernel(mpki_cuda_tree t, mpki_cuda_large large, int begin) {
    after_previous();
    alignas(16) __shared__ T S[LDS_ * MPKI_FRONT_TILE], work[2 * MPKI_FRONT_TILE];
    __shared__ T d[2 * MPKI_FRONT_TILE], dinv[2 * MPKI_FRONT_TILE];
    __shared__ int perm[MPKI_FRONT_TILE], pivots;
    mpki_cuda_front &f = large.front[blockIdx.x];
    const panel<T> a(f.a, f.w, f.ld);
    const int tid = (int)threadIdx.x;
    if (f.phase != 0) return;
    advance<H>(f, a, t.flags, begin != 0);
    if (f.phase != 0 || begin == 2) return;
    const int p = f.p, b = f.e - p < TILE ? f.e - p : TILE;
    if (b <= 0) return;
    bool quick = f.slow < MPKI_FRONT_MISSES;
    for (;; quick = false) {
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
                quick ? (tile_quick<H>(S, b, perm, d, dinv, rules.least(), most, work) ? b : -1)
                      : tile_factor<H>(S, b, perm, d, dinv, rules.least(), work);
            if (tid == 0) pivots = np;
        }
        __syncthreads();
        if (pivots >= 0) break;
        __syncthreads();
    }
    const int np = pivots;
    T *L = (T *)f.tile, *X = L + TILE * TILE; /* by columns */
    for (int s = tid; s < TILE * TILE; s += (int)blockDim.x) {
        const int i = s % TILE, k = s / TILE;
        T l = make<T>(0), x = make<T>(0);
        if (i < b && k < np && i > k) {
            l = S[i + k * LDS_];
            x = l * d[2 * k];
            if (k + 1 < np && i > k + 1) pfma(x, S[i + (k + 1) * LDS_], d[2 * k + 1]);
            if (k > 0) pfma(x, S[i + (k - 1) * LDS_], cj<H>(d[2 * k - 1]));
        }
        L[s] = l, X[s] = x;
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
        f.wide = f.narrow = 0;
        if (f.slow < MPKI_FRONT_MISSES) f.slow = quick ? 0 : f.slow + 1;
    }
}

/** A warp, one of several: rows p .. p + b - 1 of the columns before them follow the tile's order. Eight columns are
 *  read before the first is written: a read waits long. */
template <class T>
__device__ inline void order_rows(const panel<T> &a, int p, int b, const int *order, int warp,
                                  int warps) {
    const int EACH = sizeof(T) > 8 ? 4 : 8, lane = (int)threadIdx.x & 31;
    for (int c = warp; c < p; c += EACH * warps) {
        T y[EACH];
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const int64_t column = c + q * warps < p ? c + q * warps : c;
            y[q] = lane < b ? a.a[column * a.ld + p + order[lane]] : make<T>(0);
        }
        __syncwarp();
#pragma unroll
        for (int q = 0; q < EACH; ++q)
            if (lane < b && c + q * warps < p)
                a.a[(c + (int64_t)q * warps) * a.ld + p + lane] = y[q];
    }
}

/** Rows below the tile: X goes to W, and is tested; rows of finished columns follow the tile's
 *  order. */
template <bool H, class T>
__global__ void __launch_bounds__(MPKI_FRONT_ROWS)
    rows_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    after_previous();
    typedef typename scalar_of<T>::real R;
    alignas(16) __shared__ T S[LDS_ * MPKI_FRONT_TILE];
    __shared__ T dinv[2 * MPKI_FRONT_TILE];
    __shared__ int order[MPKI_FRONT_TILE], good;
    int part;
    const int k0 = front_of_block(large.rows, large.count, &part);
    mpki_cuda_front &f = large.front[k0];
    const int tid = (int)threadIdx.x, b = f.b, p = f.p, np = f.np;
    if (b <= 0) return;
    const panel<T> a(f.a, f.w, f.ld);
    const T *L = (const T *)f.tile;
    T mine_of_L[TILE * TILE / MPKI_FRONT_ROWS]; /* read before the first is written */
#pragma unroll
    for (int z = 0; z < TILE * TILE / MPKI_FRONT_ROWS; ++z)
        mine_of_L[z] = L[tid + z * MPKI_FRONT_ROWS];
#pragma unroll
    for (int z = 0; z < TILE * TILE / MPKI_FRONT_ROWS; ++z) {
        const int s = tid + z * MPKI_FRONT_ROWS;
        S[s % TILE + s / TILE * LDS_] = mine_of_L[z];
    }
    if (tid < TILE) order[tid] = f.order[tid];
    if (tid < 2 * TILE) dinv[tid] = tid < 2 * np ? a.dinv[2 * p + tid] : make<T>(0);
    if (tid == 0) good = np;
    __syncthreads();
    const int warp = part * (MPKI_FRONT_ROWS / 32) + tid / 32;
    const int warps = (large.rows[k0 + 1] - large.rows[k0]) * (MPKI_FRONT_ROWS / 32);
    if (f.moved) order_rows(a, p, b, order, warp, warps);
    const int i = part * MPKI_FRONT_ROWS + tid;
    if (i >= p + b && i < f.nrows) {
        T x[MPKI_FRONT_TILE];
#pragma unroll
        for (int k = 0; k < TILE; ++k) x[k] = k < b ? a.at(i, p + order[k]) : make<T>(0);
        row_eliminate<H>(x, S, TILE, np);
        const R limit = (R)1 / (R)t.threshold;
        int mine = np;
        if (f.pairs) {
            mine = row_test<H>(x, dinv, np, limit);
        } else {
#pragma unroll
            for (int k = TILE - 1; k >= 0; --k)
                if (k < np && !(abs1(x[k] * dinv[2 * k]) <= limit)) mine = k;
        }
        if (mine < np) atomicMin(&good, mine);
        T *W = products_of<T>(f, large) + i + (int64_t)(p - f.q) * f.ldw;
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            if (k < np) W[(int64_t)k * f.ldw] = x[k];
    }
    __syncthreads();
    if (tid == 0 && good < np) atomicMin(&f.good, good);
}

/** One block: the tile itself: L of the pivots that passed, the rest up to date. */
template <bool H, class T>
__device__ void finish_tile(const mpki_cuda_front &f, const panel<T> &a, int ne) {
    __shared__ T rest[MPKI_FRONT_TILE * MPKI_FRONT_TILE];
    const int tid = (int)threadIdx.x, b = f.b, p = f.p;
    const T *L = (const T *)f.tile, *X = L + TILE * TILE;
    for (int s = tid; s < TILE * TILE; s += (int)blockDim.x) {
        const int i = s % TILE, j = s / TILE;
        if (i >= b || i < j || j < ne) continue;
        const int gi = p + f.order[i], gj = p + f.order[j];
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

/** How many pivots a block of columns has when its last tile is done. */
template <class T> __device__ inline int pivots_of_block(const mpki_cuda_front &f) {
    if (f.phase != 0) return 0;
    return f.p - f.q + (f.b > 0 ? standing(f, panel<T>(f.a, f.w, f.ld)) : 0);
}

/** A thread, when the last tile of a block of columns is done: only where no column has failed are those after
 *  the block's the next one's. */
template <class T> __device__ inline void close_block(mpki_cuda_front &f, int turn) {
    const int pivots = pivots_of_block<T>(f), to = f.qe + f.block;
    mpki_cuda_block &x = f.closed[turn & 1];
    x.q = f.q, x.qe = f.qe, x.pivots = pivots;
    x.next = f.end < f.w || pivots < f.qe - f.q ? f.nrows : to < f.w ? to : f.w;
}

/** L of the rows below, the columns that failed, and the other columns of the block: 64 rows and 64
 *  columns a thread block; the first of a front does the tile. closes: it is the block's last one */
template <bool H, class T>
__global__ void __launch_bounds__(LARGE_THREADS, sizeof(T) > 8 ? 1 : 3)
    inner_kernel(mpki_cuda_tree t, mpki_cuda_large large, int closes) {
    after_previous();
    const int N = MPKI_FRONT_INNER, LD = N + 1;
    MPKI_ROOM;
    T *Ls = (T *)room, *Xs = Ls + LD * TILE; /* by pivots */
    T *dinv = Xs + LD * TILE;
    __shared__ int order[MPKI_FRONT_TILE];
    int part;
    const int k0 = front_of_block(large.inner, large.count, &part);
    const mpki_cuda_front &f = large.front[k0];
    const int tid = (int)threadIdx.x, b = f.b, p = f.p, n = f.nrows, qe = f.qe;
    if (closes && part == 0 && tid == 0) close_block<T>(large.front[k0], large.turn);
    if (b <= 0) return;
    const panel<T> a(f.a, f.w, f.ld);
    const int ne = standing(f, a);
    if (part == 0) {
        finish_tile<H>(f, a, ne);
        return;
    }
    const int pieces = (f.block + N - 1) / N; /* of columns */
    const int i0 = (part - 1) / pieces * N, piece = (part - 1) % pieces;
    const int j0 = p + b + piece * N, first = p + b;
    if (i0 + N <= first || i0 >= n) return;
    if (piece > 0 && (j0 >= qe || i0 + N <= j0)) return;
    const T *W = products_of<T>(f, large) + (int64_t)(p - f.q) * f.ldw;
    if (tid < TILE) order[tid] = f.order[tid];
    for (int k = tid; k < 2 * TILE; k += LARGE_THREADS)
        dinv[k] = k < 2 * ne ? a.dinv[2 * p + k] : make<T>(0);
    const int EACH = N * TILE / LARGE_THREADS;
    {
        T l[EACH], v[EACH]; /* read before the first is written: a read waits long */
#pragma unroll
        for (int z = 0; z < EACH; ++z) {
            const int s = tid + z * LARGE_THREADS, i = s % N, k = s / N, row = i0 + i, col = j0 + i;
            const T *from = W + (int64_t)k * f.ldw;
            l[z] = k < ne && row >= first && row < n ? from[row] : make<T>(0);
            v[z] = k < ne && col < qe ? from[col] : make<T>(0);
        }
#pragma unroll
        for (int z = 0; z < EACH; ++z) {
            const int s = tid + z * LARGE_THREADS, i = s % N, k = s / N;
            Ls[i + k * LD] = l[z], Xs[i + k * LD] = v[z];
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
        for (int z = 0; z < EACH; ++z) {
            const int s = tid + z * LARGE_THREADS, i = s % N, k = s / N, row = i0 + i;
            if (k >= ne && k < b && row >= first && row < n) raw[z] = a.at(row, p + order[k]);
        }
    }
    if (!f.pairs) { /* X D^-1 */
        for (int s = tid; s < N * ne; s += LARGE_THREADS)
            Ls[s % N + s / N * LD] = Ls[s % N + s / N * LD] * dinv[2 * (s / N)];
    } else if (tid < N) {
        T before = make<T>(0), x = Ls[tid];
        for (int k = 0; k < ne; ++k) {
            const T after = k + 1 < ne ? Ls[tid + (k + 1) * LD] : make<T>(0);
            Ls[tid + k * LD] = times_inverse<H>(before, x, after, dinv, k);
            before = x, x = after;
        }
    }
    __syncthreads();
    if (piece == 0) {
        const T *X = (const T *)f.tile + TILE * TILE;
#pragma unroll
        for (int z = 0; z < EACH; ++z) {
            const int s = tid + z * LARGE_THREADS, i = s % N, k = s / N, row = i0 + i;
            if (k >= b || row < first || row >= n) continue;
            T x;
            if (k < ne) {
                x = Ls[i + k * LD];
            } else {
                x = raw[z];
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
            if (j < qe && i >= j && i < n) a.at(i, j) = old[x][y] - c[x][y];
        }
    }
}

/* ---- column by column ---- */

/** A block for each front: what tiles could not eliminate. X of the new pivots goes to W. */
template <bool H, class T>
__global__ void __launch_bounds__(1024) columns_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    typedef typename scalar_of<T>::real R;
    __shared__ search_space<R> space;
    mpki_cuda_front &f = large.front[blockIdx.x];
    if (f.phase != 1) {
        if (f.phase == 2 && threadIdx.x == 0) f.b = 0;
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
        if (over) f.phase = 2;
    }
}

/** A thread for each front that is done. */
static __global__ void finish_kernel(mpki_cuda_tree t, mpki_cuda_large large) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k >= large.count) return;
    const mpki_cuda_front &f = large.front[k];
    const mpki_cuda_node &node = t.node[f.index];
    const mpki_cuda_now now = {f.a, f.w, f.own > 0 ? f.p : 0, f.ld, 1, node.parts, node.parts_up};
    t.now[f.index] = now;
    if (now.nelim < now.w) t.flags->late = 1;
}

} // namespace mpki
#endif
