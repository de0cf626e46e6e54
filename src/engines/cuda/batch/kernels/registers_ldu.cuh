/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_LDU_CUH
#define MPKI_CUDA_BATCH_REGISTERS_LDU_CUH
/** LDU in registers: without pivoting, with pivots given, partial and complete pivoting. */
#include "registers.cuh"

namespace mpki {

/** LDU of a matrix of order at most N; the decisions are general.cuh's, but that complete pivoting
 *  compares sizes by their first 15 bits (single: 18) and places by the bits behind. G: so many
 *  columns are a loop, in which a step shifts the rows by an entry, so that it needs no index; 0:
 *  the code of each step stands on its own (double complex of order 32: 200 KiB). */
template <class T, int N, int G> struct rows_ldu : rows<T, N> {
    MPKI_ROWS(T, N);
    T scale;      /* 1 / d of this row's pivot */
    int col;      /* which column is the pivot's of this number */
    int at;       /* complete pivoting: which column stands in this place */
    unsigned top; /* complete pivoting: the largest entry of this row, and its place */
    static const unsigned PLACE = 31;
    /* 0x7fffffe0, of which the compiler must not know: with two constants ranked() would take two
     * operations of the logic that bounds this kernel */
    const unsigned size_bits;

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ rows_ldu(const part &job_, T *share_)
        : base_(job_, share_), scale(make<T>(0)), col(lane), at(lane), top(0),
          size_bits(0x7fffffe0u | (unsigned)(job_.n >> 31)) {}

    /** Shared memory for a matrix, a multiple of 16. By each thread for itself; no barrier. */
    static __host__ __device__ int bytes() { return (2 * ROOM * (int)sizeof(T) + 15) / 16 * 16; }

    /** The bits of |x| that key() takes, and the sign, which may be anything. By each thread for
     *  itself; no barrier. */
    static __device__ unsigned upper(float x) { return __float_as_uint(x); }
    static __device__ unsigned upper(double x) { return (unsigned)__double2hiint(x); }
    template <class F> static __device__ unsigned upper(cx<F> x) { return upper(abs1(x)); }

    /** An entry's size, and its place where sizes are equal: lower places go first. By each
     *  thread for itself; no barrier. */
    __device__ unsigned ranked(T x, int j) const {
        return (upper(x) & size_bits) | (PLACE - (unsigned)j);
    }

    /** Reads the matrix; given: NULL, or rows, then columns. By all lanes of the matrix;
     *  shuffles. */
    template <bool COMPLETE> __device__ void load(const T *a, long long ld, const int *given) {
        const bool there = lane < n;
        unsigned most = 0;
        R check = 0;
        if (given) {
            const int i = given[there ? lane : 0], mine = given[job.most + (there ? lane : 0)];
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const int c = __shfl_sync(mask, mine, j, L);
                t[j] = base_::read(a, there && j < n, i + c * ld);
            }
        } else {
#pragma unroll
            for (int j = 0; j < N; ++j) t[j] = base_::read(a, there && j < n, lane + j * ld);
        }
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const unsigned k = key(t[j]);
            check += abs1(t[j]) * 0;
            if ((job.pivoting >= 2 || j == lane) && k > most) most = k;
            if (COMPLETE) {
                const unsigned r = ranked(t[j], j);
                top = r > top ? r : top;
            }
        }
        bad = threads::any(!(check == 0));
        base_::set_small(most);
    }

    /** Columns in order; PARTIAL: of each its largest entry is the pivot. By all lanes of the
     *  matrix; contains their barrier. */
    template <bool PARTIAL> __device__ void in_order() {
#pragma unroll
        for (int s = 0; s < N; ++s) {
            if (s >= n) break;
            const R size = abs1(t[s]);
            const int p = PARTIAL ? base_::choose(left ? key(size) + 1 : 0, size) : s;
            const bool mine = lane == p, below = left && !mine;
            T *u = base_::buffer(s);
            if (mine) base_::put(s, u);
            threads::sync();
            const T d = u[s];
            const bool good = abs1(d) > small;
            T r = inverse_at_once(d);
            if (!good) {
                R rest = below ? abs1(t[s]) : 0;
                const R along = lane > s && lane < n ? abs1(u[lane]) : 0;
                r = make<T>(0);
                base_::zero_pivot(d, !(along <= rest) ? along : rest, 1);
            }
            const T x = below ? t[s] * r : make<T>(0);
            base_::template update<false>(s + 1, x, u);
            if (below) t[s] = x;
            if (mine) {
                t[s] = good ? d : make<T>(0);
                scale = r, row = s, left = false;
            }
        }
    }

    /** Exchanges the row's first entry and entry q, by a binary search, since registers have no
     *  indices. By each thread for itself; no barrier. */
    template <int FROM, int TO> __device__ void bring(int q) {
        if constexpr (TO - FROM == 1) {
            const T x = t[FROM];
            t[FROM] = t[0];
            t[0] = x;
        } else {
            const int middle = (FROM + TO) / 2;
            if (q < middle)
                bring<FROM, middle>(q);
            else
                bring<middle, TO>(q);
        }
    }

    /** Complete pivoting: the row *p and the place *q of the next pivot, which comes to the first
     *  place. W: places where it may be. By all lanes of the matrix; shuffles, votes. */
    template <int W> __device__ void choose_complete(int s, int *p, int *q) {
        const unsigned k = left ? top | 0x80000000u : 0, m = base_::most_of(k);
        const bool zeros = (m & size_bits) == 0; /* only those are left */
        *p = base_::first_of(zeros ? left : k == m);
        *q = zeros ? 0 : (int)(PLACE - (m & PLACE));
        bring<0, W>(*q);
        const int mine = __shfl_sync(mask, at, *q, L), first = __shfl_sync(mask, at, 0, L);
        if (lane == s) col = mine;
        at = __shfl_sync(mask, lane == *q ? first : at, lane + 1, L);
    }

    /** This row minus x times that of the buffer, moved by an entry; `last` goes to the end. live:
     *  so many of the W entries were not finished. By each thread for itself; no barrier. */
    template <bool COMPLETE, int W>
    __device__ void update_and_shift(T x, const T *buffer, T last, int live) {
        top = 0;
#pragma unroll
        for (int k = 0; k < (W + base_::STEP - 1) / base_::STEP; ++k) {
            const quarter<T> u = ((const quarter<T> *)buffer)[k];
#pragma unroll
            for (int e = 0; e < base_::STEP; ++e) {
                const int j = k * base_::STEP + e;
                if (j < 1 || j >= W) continue;
                T y = t[j];
                nfma(y, x, u.v[e]);
                t[j - 1] = y;
                if (COMPLETE) {
                    unsigned rank = ranked(y, j - 1);
                    if (j >= W - G && j >= live) rank = 0;
                    top = rank > top ? rank : top;
                }
            }
        }
        t[W - 1] = last;
    }

    /** G columns from s0 on, PIVOTING as rows_ldu_kernel() has it. Of the W = N - s0 entries that
     *  are not finished each step takes the first, and puts what becomes of it behind the others.
     *  By all lanes of the matrix; contains their barrier. */
    template <int PIVOTING, int W> __device__ void segment(int s0) {
#pragma unroll 1
        for (int s = s0; s < s0 + G && s < n; ++s) {
            const int live = N - s;
            int p = s, q = 0;
            if (PIVOTING == 2) {
                const R size = abs1(t[0]);
                p = base_::choose(left ? key(size) + 1 : 0, size);
            }
            if (PIVOTING == 4) choose_complete<W>(s, &p, &q);
            const bool mine = lane == p, below = left && !mine;
            T *u = base_::buffer(s);
            if (mine) {
                base_::template put<W>(0, u);
#pragma unroll 1
                for (int k = live; k < W; ++k) u[k] = make<T>(0);
            }
            threads::sync();
            const T d = u[0];
            const bool good = abs1(d) > small;
            T r = inverse_at_once(d);
            if (!good) {
                r = make<T>(0);
                R rest = 0; /* complete: all that is left is as small */
                if (PIVOTING < 4) {
                    rest = below ? abs1(t[0]) : 0;
                    const R along = lane > s && lane < n ? abs1(u[lane - s]) : 0;
                    rest = !(along <= rest) ? along : rest;
                }
                base_::zero_pivot(d, rest, 1);
            }
            const T x = below ? t[0] * r : make<T>(0);
            const T last = below ? x : mine && !good ? make<T>(0) : t[0];
            if (mine) scale = r, row = s, left = false;
            update_and_shift<PIVOTING == 4, W>(x, u, last, live);
        }
    }

    /** All columns from S0 on, in segments. By all lanes of the matrix; contains their barrier. */
    template <int PIVOTING, int S0> __device__ void segments() {
        segment<PIVOTING, N - S0>(S0);
        if constexpr (S0 + G < N)
            if (S0 + G < n) segments<PIVOTING, S0 + G>();
    }

    /** Eliminates all columns. By all lanes of the matrix; contains their barrier. */
    template <int PIVOTING> __device__ void eliminate() {
        if constexpr (G == 0)
            in_order<PIVOTING == 2>();
        else
            segments<PIVOTING, 0>();
    }

    /** Which column is in entry k, which the compiler knows; n or more, or less than 0: none. By
     *  each thread for itself; no barrier. */
    __device__ int column(int k) const {
        if (G == 0) return k;
        const int g = G > 0 ? G : 1, s0 = (N - 1 - k) / g * g, steps = n - s0 < g ? n - s0 : g;
        const int behind = k - (N - s0 - steps); /* among those of this segment */
        return behind < 0 ? -1 : s0 + behind;
    }

    /** Writes L, D and U in pivots' order. Returns NaN where an entry is not finite. By each
     *  thread for itself; no barrier. */
    __device__ R store(T *a, long long ld) {
        const bool there = lane < n;
        R check = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const int c = column(k);
            const T x = c > row ? t[k] * scale : t[k];
            if (there && c >= 0 && c < n) {
                check += abs1(x) * 0;
                a[row + c * ld] = x;
            }
        }
        return check;
    }
};

/** What is quickest for orders up to N (bench/results/batch-variants.md, "Shapes"). COLUMNS:
 *  rows_ldu's G; BLOCKS: that a multiprocessor must hold, which bounds the registers. */
template <class T, int N, int PIVOTING> struct rows_shape {
    static const int SIZE = (int)sizeof(T), SOME = rows_blocks<T, N>();
    static const bool FULL = PIVOTING == 4, LOOPS = !FULL && SIZE == 16 && N >= 24;
    static const int COLUMNS = LOOPS                  ? 8
                               : !FULL                ? 0
                               : N == 24              ? 8
                               : SIZE == 4 && N == 32 ? 8
                               : SIZE < 16 || N == 32 ? 4
                               : N == 12              ? 12
                                                      : 8;
    static const int BLOCKS = LOOPS                ? 3
                              : !FULL || SIZE != 8 ? SOME
                              : N == 8             ? 6
                              : N == 12 || N == 16 ? 5
                              : N == 32            ? 3
                                                   : SOME;
};

/** LDU of a matrix per L lanes; PIVOTING: 0 none and static, 2 partial, 4 complete. By all lanes
 *  of the matrix; contains their barrier. */
template <class T, int N, int PIVOTING, int G, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) rows_ldu_kernel(const part job) {
    MPKI_SMEM;
    typedef rows_ldu<T, N, G> matrix;
    typedef typename matrix::threads threads;
    const long long place = threads::place();
    if (place >= job.count) return;
    matrix e(job, (T *)(smem + threadIdx.x / matrix::L * matrix::bytes()));
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
    e.template load<PIVOTING == 4>(a, job.a.ld, given);
    typename matrix::R check = 0;
    if (!e.bad && !e.broken) {
        e.template eliminate<PIVOTING>();
        check = e.store(a, job.a.ld);
    }
    const bool none = e.report(b, check);
    if (PIVOTING >= 2 && piv && e.lane < n) {
        piv[none ? e.lane : e.row] = e.lane;
        piv[job.most + e.lane] = none ? e.lane : e.col;
    }
}

} // namespace mpki
#endif
