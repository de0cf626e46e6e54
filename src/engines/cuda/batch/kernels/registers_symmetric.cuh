/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_SYMMETRIC_CUH
#define MPKI_CUDA_BATCH_REGISTERS_SYMMETRIC_CUH
/** LLT and LDLT in registers, without pivoting, and LLT with complete pivoting. The decisions are
 *  symmetric.cuh's. */
#include "registers.cuh"
#include "symmetric.cuh"

namespace mpki {

/** LLT or LDLT of a matrix of order at most N; H: Hermitian. */
template <class T, int N, int METHOD, bool H> struct rows_symmetric : rows<T, N> {
    MPKI_ROWS(T, N);
    using base_::positive, base_::negative;
    T *l;   /* shared, complete pivoting: column s of L at PITCH s; first, the matrix */
    T diag; /* complete pivoting: this row's diagonal entry */

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ rows_symmetric(const part &job_, T *share_)
        : base_(job_, share_), l(share_ + 2 * ROOM), diag(make<T>(0)) {}

    /** Shared memory for a matrix, a multiple of 16. By each thread for itself; no barrier. */
    static __host__ __device__ int bytes(bool complete) {
        return ((2 * ROOM + (complete ? N * PITCH : 0)) * (int)sizeof(T) + 15) / 16 * 16;
    }

    /** Can d be a pivot of LLT or LDLT? By each thread for itself; no barrier. */
    __device__ bool is_pivot(T d) const {
        if (METHOD == 0 && (!scalar_of<T>::complex || H)) return re(d) > small;
        return abs1(d) > small;
    }

    /** Counts the sign of the pivot d. By each thread for itself; no barrier. */
    __device__ void count(T d) {
        if (re(d) > 0)
            ++positive;
        else
            ++negative;
    }

    /** What counts against a pivot that is_pivot() refuses: its own size, where only its sign is
     *  wrong. By each thread for itself; no barrier. */
    __device__ R excess(T d) const { return METHOD == 0 ? abs1(d) : (R)0; }

    /** Decides on the pivot d: returns whether it is one. r := 1 / d, root_ := the root of LLT;
     *  else both are 0, and zero_pivot() is told. mine: this lane's row is the pivot's; below: it
     *  is still to be eliminated, and `entry` is what it has in the pivot's column. By all lanes
     *  of the matrix; votes. */
    __device__ bool decide(T d, bool mine, bool below, T entry, T &r, T &root_) {
        r = inverse(d), root_ = make<T>(0);
        if (is_pivot(d)) {
            if (METHOD == 0) root_ = root(d);
            count(d);
            return true;
        }
        r = make<T>(0);
        base_::zero_pivot(d, mine ? excess(d) : below ? abs1(entry) : 0, 1);
        return false;
    }

    /** Reads the lower triangle, up to this lane's entry; `both`: mirrors it, too. By all lanes of
     *  the matrix; contains their barrier. */
    template <bool BOTH> __device__ void load(const T *a, long long ld) {
        R check = 0;
        unsigned most = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) t[j] = base_::read(a, lane < n && j <= lane, lane + j * ld);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (j == lane) t[j] = diag = diagonal<H>(t[j]);
            const unsigned k = key(t[j]);
            if ((j == lane || job.pivoting >= 2) && k > most) most = k;
            check += abs1(t[j]) * 0;
            if (BOTH) l[j * PITCH + lane] = t[j];
        }
        bad = threads::any(!(check == 0));
        base_::set_small(most);
        if (!BOTH) return;
        threads::sync();
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const T x = cj<H>(l[(lane < N ? lane : 0) * PITCH + j]);
            if (j > lane) t[j] = x;
        }
        threads::sync();
    }

    /** Column s, whose entry this lane has in t[s], as a pivot of order 1. By all lanes of the
     *  matrix; contains their barrier. */
    __device__ void one(int s, T *u) {
        if (lane < N) u[lane] = t[s];
        threads::sync();
        const T d = diagonal<H>(u[s]);
        const bool below = lane > s && lane < n;
        T r, root_;
        const bool good = decide(d, lane == s, below, t[s], r, root_);
        const T x = below ? t[s] * r : make<T>(0);
        base_::template update<H>(s + 1, x, u);
        if (below) t[s] = METHOD == 0 ? x * root_ : x;
        if (lane == s) t[s] = !good ? make<T>(0) : METHOD == 0 ? root_ : d;
    }

    /** Columns in order. By all lanes of the matrix; contains their barrier. */
    __device__ void in_order() {
#pragma unroll
        for (int s = 0; s < N; ++s) {
            if (s >= n) break;
            one(s, base_::buffer(s));
        }
    }

    /** Pivots of LLT, the largest of what is left of the diagonal. Row p is column p: so no entry
     *  of a row is asked for by a number that is known only then. By all lanes of the matrix;
     *  contains their barrier. */
    __device__ void complete() {
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            const R size = re(diag);
            const unsigned k = !left ? 0 : size > 0 ? key(size) | 0x80000000u : size == 0 ? 2 : 1;
            const int p = base_::choose(k, size > 0 ? size : 0);
            const bool mine = lane == p, below = left && !mine;
            T *u = base_::buffer(s);
            if (mine) base_::put(0, u);
            if (mine) u[p] = diag;
            threads::sync();
            const T d = u[p], c = cj<H>(u[lane < N ? lane : 0]);
            T r, root_;
            decide(d, mine, below, c, r, root_);
            const T x = below ? c * r : make<T>(0);
            base_::template update<false>(0, x, u);
            nfma(diag, x, cj<H>(c));
            if (H) diag = diagonal<H>(diag);
            l[s * PITCH + lane] = mine ? root_ : x * root_;
            if (mine) row = s, left = false;
        }
    }

    /** Writes L (and D). Returns NaN where an entry is not finite. By each thread for itself; no
     *  barrier. */
    template <bool COMPLETE> __device__ R store(T *a, long long ld) {
        R check = 0;
        if (lane >= n) return check;
        if constexpr (COMPLETE) {
#pragma unroll 4
            for (int s = 0; s <= row; ++s) {
                const T x = l[s * PITCH + lane];
                check += abs1(x) * 0;
                a[row + s * ld] = x;
            }
        } else {
#pragma unroll
            for (int j = 0; j < N; ++j)
                if (j <= lane) {
                    check += abs1(t[j]) * 0;
                    a[lane + j * ld] = t[j];
                }
        }
        return check;
    }
};

/** LLT (METHOD 0) or LDLT of a matrix per L lanes, without pivoting, or (LLT) with complete. By all
 *  lanes of the matrix; contains their barrier. */
template <class T, int N, int METHOD, bool COMPLETE, bool H, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) rows_symmetric_kernel(const part job) {
    MPKI_SMEM;
    typedef rows_symmetric<T, N, METHOD, H> matrix;
    typedef typename matrix::threads threads;
    const long long place = threads::place();
    if (place >= job.count) return;
    matrix e(job, (T *)(smem + threadIdx.x / matrix::L * matrix::bytes(COMPLETE)));
    const long long b = job.matrix(place);
    T *a = view_of<T>(job.a, b).p;
    int *piv = job.pivots ? job.pivots + b * job.most : NULL;
    e.template load<COMPLETE>(a, job.a.ld);
    typename matrix::R check = 0;
    if (!e.bad) {
        if (COMPLETE)
            e.complete();
        else
            e.in_order();
        check = e.template store<COMPLETE>(a, job.a.ld);
    }
    const bool none = e.report(b, check);
    if (COMPLETE && piv && e.lane < e.n) piv[none ? e.lane : e.row] = e.lane;
}

} // namespace mpki
#endif
