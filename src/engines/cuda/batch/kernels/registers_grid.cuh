/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_GRID_CUH
#define MPKI_CUDA_BATCH_REGISTERS_GRID_CUH
/** LDU of a matrix whose entries all 32 lanes of a warp share: lane (g, h) of 8 x 4 has rows g, g +
 *  8, ... and columns h, h + 4, ... A row a lane, as registers_ldu.cuh has it, leaves 12 of 32
 *  lanes idle at order 20, and its pivot's row goes to shared memory from one lane and is read
 *  whole by each; here four lanes write it, and a lane reads a quarter of it and a piece of the
 *  pivot's column. */
#include "registers_ldu.cuh"

namespace mpki {

/** a if `first`, else b; of values, since an address of one of two registers has neither. By each
 *  thread for itself; no barrier. */
template <class F> __device__ inline F either(bool first, F a, F b) {
    return first ? a : b;
}
template <class F> __device__ inline cx<F> either(bool first, cx<F> a, cx<F> b) {
    return {first ? a.x : b.x, first ? a.y : b.y};
}

/** LDU of order at most N; pivots in order (given ones, too) or partial pivoting, with the
 *  decisions of general.cuh. */
template <class T, int N> struct grid_ldu : tile<32, 1, 1> {
    typedef typename scalar_of<T>::real R;
    typedef tile<32, 1, 1> threads;
    static const int GROUPS = 8, SIDES = 4, ROWS = (N + GROUPS - 1) / GROUPS,
                     COLUMNS = (N + SIDES - 1) / SIDES, ROOM = GROUPS * ROWS;
    const part &job;
    const int n, g, h;
    T *const share;
    T t[ROWS][COLUMNS];
    R small;
    unsigned places; /* of this lane's rows, a byte each: which pivot they are */
    unsigned left;   /* rows that are none yet, a bit each */
    bool bad, broken;
    int zero;

    /** Nothing is eliminated yet. share_: 16-aligned. By each thread for itself; no barrier. */
    __device__ grid_ldu(const part &job_, T *share_)
        : threads(NULL), job(job_), n(job_.n), g(lane % GROUPS), h(lane / GROUPS), share(share_),
          small(0), places(0), left(0), bad(false), broken(false), zero(0) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
            if (row(i) < n) left |= 1u << i;
    }

    /** Shared memory of a matrix: two pivots' rows and columns, and what rows are scaled with. By
     *  each thread for itself; no barrier. */
    static __host__ __device__ int bytes() {
        return (5 * ROOM * (int)sizeof(T) + 15) / 16 * 16;
    }
    __device__ int row(int i) const {
        return g + GROUPS * i;
    }
    __device__ int column(int j) const {
        return h + SIDES * j;
    }
    __device__ T *row_buffer(int s) const {
        return share + (s & 1) * (2 * ROOM);
    }
    __device__ T *scales() const {
        return share + 4 * ROOM;
    }

    /** Reads the matrix; given: NULL, or rows, then columns. By all lanes; shuffles, a vote. */
    __device__ void load(const T *a, long long ld, const int *given) {
        unsigned most = 0;
        R check = 0;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            const int c = column(j), from = given && c < n ? given[job.most + c] : c;
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const int r = row(i), at = given && r < n ? given[r] : r;
                const bool there = r < n && c < n;
                const T x = a[there ? at + from * ld : 0];
                t[i][j] = there ? x : make<T>(0);
            }
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const unsigned k = key(t[i][j]);
                check += abs1(t[i][j]) * 0;
                if ((job.pivoting >= 2 || row(i) == column(j)) && k > most) most = k;
            }
        bad = threads::any(!(check == 0));
        const double relative = job.tolerance < 0 ? 4 * n * (double)epsilon<R>() : job.tolerance;
        small = (R)relative * unkey<R>(__reduce_max_sync(mask, most));
    }

    /** The row with the largest entry of column s, which is number J of its lanes: of equal ones
     *  the first. By all lanes; shuffles, votes. */
    template <int J> __device__ int choose(int s) const {
        unsigned k = 0;
        int mine = 0;
        R size = 0;
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const R x = abs1(t[i][J]);
            if ((left >> i & 1) == 0 || h != s % SIDES || (k != 0 && !(x > size))) continue;
            k = key(x) + 1, size = x, mine = row(i);
        }
        const unsigned m = __reduce_max_sync(mask, k);
        bool first = k == m;
        unsigned who = __ballot_sync(mask, first);
        if ((who & (who - 1)) != 0) {
            const unsigned low = first ? rows<T, 32>::lower(size) : 0;
            const unsigned most = __reduce_max_sync(mask, low);
            first = first && low == most;
            const unsigned place = first ? (unsigned)(ROOM - mine) : 0;
            who = __ballot_sync(mask, place == __reduce_max_sync(mask, place));
        }
        return __shfl_sync(mask, mine, __ffs((int)who) - 1);
    }

    /** Row p from column J of its lanes on, and this step's column, to shared memory. By all
     *  lanes; no barrier. */
    template <int J> __device__ void put(int s, int p) {
        T *const u = row_buffer(s), *const c = u + ROOM;
        if (h == s % SIDES) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) c[row(i)] = t[i][J];
        }
        if (g != p % GROUPS) return;
#pragma unroll
        for (int j = J; j < COLUMNS; ++j) {
            T x = t[0][j];
#pragma unroll
            for (int i = 1; i < ROWS; ++i) x = either(p / GROUPS == i, t[i][j], x);
            u[column(j)] = x;
        }
    }

    /** A pivot that counts as zero: what its row and column have must, too. By all lanes; votes. */
    __device__ void zero_pivot(T d, int s, int p, const T *u) {
        R rest = lane > s && lane < n ? abs1(u[lane]) : 0;
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const R x = (left >> i & 1) != 0 && row(i) != p ? abs1(u[ROOM + row(i)]) : 0;
            rest = !(x <= rest) ? x : rest;
        }
        if (threads::any(!finite(d) || rest * 0 != 0)) bad = true;
        if (threads::any(rest > small) && !bad) broken = true;
        ++zero;
    }

    /** Columns 4 J to 4 J + 3. By all lanes; contains their barrier. */
    template <bool PARTIAL, int J> __device__ void segment() {
#pragma unroll 1
        for (int s = SIDES * J; s < SIDES * J + SIDES && s < n; ++s) {
            const int p = PARTIAL ? choose<J>(s) : s;
            put<J>(s, p);
            __syncwarp();
            const T *const u = row_buffer(s), *const c = u + ROOM;
            const T d = u[s];
            const bool good = abs1(d) > small;
            T r = inverse_at_once(d);
            if (!good) {
                r = make<T>(0);
                zero_pivot(d, s, p, u);
            }
            if (lane == 0) scales()[s] = r;
            const bool later = h > s % SIDES, now = h == s % SIDES;
            T x[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const bool mine = row(i) == p, below = (left >> i & 1) != 0 && !mine;
                x[i] = below ? c[row(i)] * r : make<T>(0);
                if (mine) places |= (unsigned)s << 8 * i, left &= ~(1u << i);
            }
#pragma unroll
            for (int j = J; j < COLUMNS; ++j) {
                T y = u[column(j)];
                if (j == J && !later) y = make<T>(0);
#pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    nfma(t[i][j], x[i], y);
                    if (j > J || !now) continue;
                    if ((left >> i & 1) != 0) t[i][J] = x[i];
                    if (row(i) == p && !good) t[i][J] = make<T>(0);
                }
            }
        }
    }

    /** All columns from number J of the lanes' on. By all lanes; contains their barrier. */
    template <bool PARTIAL, int J> __device__ void eliminate() {
        segment<PARTIAL, J>();
        if constexpr (J + 1 < COLUMNS)
            if (SIDES * (J + 1) < n) eliminate<PARTIAL, J + 1>();
    }

    __device__ int place(int i) const {
        return (int)(places >> 8 * i & 255);
    }

    /** Writes L, D and U in pivots' order. Returns NaN where an entry is not finite. By all lanes;
     *  contains their barrier. */
    __device__ R store(T *a, long long ld) {
        R check = 0;
        __syncwarp(); /* the scales are there */
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const bool there = row(i) < n;
            const T r = scales()[there ? place(i) : 0];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const int c = column(j);
                const T x = c > place(i) ? t[i][j] * r : t[i][j];
                if (!there || c >= n) continue;
                check += abs1(x) * 0;
                a[place(i) + c * ld] = x;
            }
        }
        return check;
    }
};

/** Blocks that a multiprocessor must hold, which bounds the registers. */
template <class T, int N> constexpr int grid_blocks() {
    const int bytes = grid_ldu<T, N>::ROWS * grid_ldu<T, N>::COLUMNS * (int)sizeof(T);
    return bytes > 448 ? 2 : bytes > 288 ? 3 : bytes > 240 ? 4 : 5;
}

/** Orders that are quicker so than a row a lane (bench/results/batch-variants.md, "What bounds
 *  LDU"): kernels for 20 and 24. */
template <class T> constexpr bool on_grid(int pivoting, int n) {
    return sizeof(T) == 16 && pivoting <= 2 && n > 16 && n <= 24;
}

/** LDU of a matrix a warp; PIVOTING: 0 none and static, 2 partial. By all lanes of the matrix;
 *  contains their barrier. */
template <class T, int N, int PIVOTING, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) grid_ldu_kernel(const part job) {
    MPKI_SMEM;
    typedef grid_ldu<T, N> matrix;
    const long long place = matrix::threads::place();
    if (place >= job.count) return;
    matrix e(job, (T *)(smem + threadIdx.x / 32 * matrix::bytes()));
    const int n = job.n;
    const long long b = job.matrix(place);
    T *a = view_of<T>(job.a, b).p;
    int *piv = job.pivots ? job.pivots + 2 * b * job.most : NULL;
    const int *given = NULL;
    if (PIVOTING == 0 && job.pivoting == 1 && piv) {
        bits marks;
        e.broken = !read_marks(e, n, piv, false, &marks);
        e.broken = !read_marks(e, n, piv + job.most, false, &marks) || e.broken;
        if (!e.broken) given = piv;
    }
    e.load(a, job.a.ld, given);
    typename matrix::R check = 0;
    if (!e.bad && !e.broken) {
        e.template eliminate<PIVOTING == 2, 0>();
        if (!e.broken) check = e.store(a, job.a.ld);
    }
    if (!e.broken && e.any(!(check == 0))) e.bad = true;
    const int how = e.bad ? 3 : e.broken ? 2 : e.zero > 0 ? 1 : 0;
    const bool none = how > 1;
    if (e.lane == 0) job.report(b, how, none ? 0 : n - e.zero, 0, none ? 0 : e.zero);
    if (PIVOTING == 2 && piv) {
#pragma unroll
        for (int i = 0; i < matrix::ROWS; ++i)
            if (e.h == 0 && e.row(i) < n) piv[none ? e.row(i) : e.place(i)] = e.row(i);
        if (e.lane < n) piv[job.most + e.lane] = e.lane;
    }
}

} // namespace mpki
#endif
