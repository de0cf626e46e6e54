/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_LDU_CUH
#define MPKI_CUDA_BATCH_REGISTERS_LDU_CUH
/** LDU in registers: without pivoting, with pivots given, partial and complete pivoting. */
#include "registers.cuh"

namespace mpki {

/** LDU of a matrix of order at most N; the decisions are general.cuh's, but that complete pivoting
 *  compares sizes by their first 15 bits (single: 18) and columns by the bits behind. */
template <class T, int N> struct rows_ldu : rows<T, N> {
    MPKI_ROWS(T, N);
    T scale;      /* 1 / d of this row's pivot */
    int col;      /* where column `lane` goes */
    T *const l;   /* shared, complete pivoting: column s of L at PITCH s */
    bool null;    /* complete pivoting: this row's pivot counts as zero */
    unsigned top; /* complete pivoting: the largest entry of this row, and its column */
    static const unsigned COLUMN = 31;
    /* 0x7fffffe0, of which the compiler must not know: with two constants ranked() would take two
     * operations of the logic that bounds this kernel */
    const unsigned size_bits;

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ rows_ldu(const part &job_, T *share_)
        : base_(job_, share_), scale(make<T>(0)), col(lane), l(share_ + 2 * ROOM), null(false),
          top(0), size_bits(0x7fffffe0u | (unsigned)(job_.n >> 31)) {}

    /** Shared memory for a matrix, a multiple of 16. By each thread for itself; no barrier. */
    static __host__ __device__ int bytes(bool complete) {
        const int entries = 2 * ROOM + (complete ? N * PITCH : 0);
        return (entries * (int)sizeof(T) + 15) / 16 * 16;
    }

    /** The bits of |x| that key() takes, and the sign, which may be anything. By each thread for
     *  itself; no barrier. */
    static __device__ unsigned upper(float x) { return __float_as_uint(x); }
    static __device__ unsigned upper(double x) { return (unsigned)__double2hiint(x); }
    template <class F> static __device__ unsigned upper(cx<F> x) { return upper(abs1(x)); }

    /** An entry's size, and its column where sizes are equal: lower columns go first. By each
     *  thread for itself; no barrier. */
    __device__ unsigned ranked(T x, int j) const {
        return (upper(x) & size_bits) | (COLUMN - (unsigned)j);
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
            T r = inverse(d);
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

    /** Entry q of this row, by a binary search, since registers have no indices; clear: 0 takes
     *  its place. By each thread for itself; no barrier. */
    template <int FROM, int TO> __device__ T take(int q, bool clear) {
        if constexpr (TO - FROM == 1) {
            const T x = t[FROM];
            if (clear) t[FROM] = make<T>(0);
            return x;
        } else {
            const int middle = (FROM + TO) / 2;
            if (q < middle) return take<FROM, middle>(q, clear);
            return take<middle, TO>(q, clear);
        }
    }

    /** Pivots of all that is left. What is finished of a row that is not leaves the registers, so
     *  that every step is the same code: L goes to shared memory, and 0 takes its place. By all
     *  lanes of the matrix; contains their barrier. */
    __device__ void complete() {
        unsigned open = n == 32 ? ~0u : (1u << n) - 1; /* columns */
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            const unsigned k = left ? top | 0x80000000u : 0, m = base_::most_of(k);
            int q = (int)(COLUMN - (m & COLUMN)), p;
            if ((m & size_bits) == 0) { /* only zeros, those of finished columns, too */
                q = __ffs((int)open) - 1;
                p = base_::first_of(left);
            } else {
                p = base_::first_of(k == m);
            }
            const bool mine = lane == p, below = left && !mine;
            T *u = base_::buffer(s);
            const T c = take<0, N>(q, below);
            if (mine) {
                base_::put(0, u);
                u[q] = make<T>(0);
                l[s * PITCH + lane] = c;
            }
            threads::sync();
            const T d = l[s * PITCH + p];
            const bool good = abs1(d) > small;
            T r = inverse(d);
            if (!good) {
                r = make<T>(0);
                base_::zero_pivot(d, 0, 1); /* all that is left is as small */
            }
            const T x = below ? c * r : make<T>(0);
            if (!mine)
                l[s * PITCH + lane] = x;
            else
                scale = r, row = s, left = false, null = !good;
            if (lane == q) col = s;
            open &= ~(1u << q);
            base_::template update<false>(0, x, u);
            top = 0;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const unsigned rank = ranked(t[j], j);
                top = rank > top ? rank : top;
            }
        }
    }

    /** Writes L, D and U in pivots' order. Returns NaN where an entry is not finite. By all lanes
     *  of the matrix; shuffles. */
    template <bool COMPLETE> __device__ R store(T *a, long long ld) {
        const bool there = lane < n;
        R check = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const int c = COMPLETE ? __shfl_sync(mask, col, j, L) : j;
            const T x = c > row ? t[j] * scale : t[j];
            if (there && j < n && (!COMPLETE || c > row)) {
                check += abs1(x) * 0;
                a[row + c * ld] = x;
            }
        }
        if constexpr (COMPLETE)
#pragma unroll 4
            for (int s = 0; s <= row && there; ++s) {
                T x = l[s * PITCH + lane];
                if (row == s && null) x = make<T>(0);
                check += abs1(x) * 0;
                a[row + s * ld] = x;
            }
        return check;
    }
};

/** LDU of a matrix per L lanes; PIVOTING: 0 none and static, 2 partial, 4 complete. By all lanes
 *  of the matrix; contains their barrier. */
template <class T, int N, int PIVOTING, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) rows_ldu_kernel(const part job) {
    MPKI_SMEM;
    typedef rows_ldu<T, N> matrix;
    typedef typename matrix::threads threads;
    const long long place = threads::place();
    if (place >= job.count) return;
    const bool COMPLETE = PIVOTING == 4;
    matrix e(job, (T *)(smem + threadIdx.x / matrix::L * matrix::bytes(COMPLETE)));
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
    e.template load<COMPLETE>(a, job.a.ld, given);
    typename matrix::R check = 0;
    if (!e.bad && !e.broken) {
        if (COMPLETE)
            e.complete();
        else
            e.template in_order<PIVOTING == 2>();
        check = e.template store<COMPLETE>(a, job.a.ld);
    }
    const bool none = e.report(b, check);
    if (PIVOTING >= 2 && piv && e.lane < n) {
        piv[none ? e.lane : e.row] = e.lane;
        piv[job.most + (none ? e.lane : e.col)] = e.lane;
    }
}

} // namespace mpki
#endif
