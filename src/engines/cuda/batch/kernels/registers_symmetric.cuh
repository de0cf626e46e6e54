/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_SYMMETRIC_CUH
#define MPKI_CUDA_BATCH_REGISTERS_SYMMETRIC_CUH
/** LLT and LDLT in registers: both without pivoting, LDLT with pivots given, LLT with complete
 *  pivoting. The decisions are symmetric.cuh's. */
#include "registers.cuh"
#include "symmetric.cuh"

namespace mpki {

/** LLT or LDLT of a matrix of order at most N; H: Hermitian. */
template <class T, int N, int METHOD, bool H> struct rows_symmetric : rows<T, N> {
    MPKI_ROWS(T, N);
    using base_::positive, base_::negative;
    T *const l; /* shared, complete pivoting: column s of L at PITCH s; first, the matrix */
    bits marks; /* places in 2x2 pivots */
    T diag;     /* complete pivoting: this row's diagonal entry */

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ rows_symmetric(const part &job_, T *share_)
        : base_(job_, share_), l(share_ + 2 * ROOM), marks(0), diag(make<T>(0)) {}

    /** Shared memory for a matrix, a multiple of 16. By each thread for itself; no barrier. */
    static __host__ __device__ int bytes(int pivoting) {
        const int entries =
            (pivoting == 1 ? 4 : 2) * ROOM + (pivoting == 4 ? N * PITCH : 0);
        return (entries * (int)sizeof(T) + 15) / 16 * 16;
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

    /** Reads the lower triangle, up to this lane's entry; given: NULL, or the pivots. By all
     *  lanes of the matrix; shuffles. */
    __device__ void load(const T *a, long long ld, const int *given) {
        const bool there = lane < n;
        int mine = lane;
        if (given && there) mine = given[lane] < 0 ? ~given[lane] : given[lane];
        R check = 0;
        unsigned most = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            T x = make<T>(0);
            if (there && j <= lane) {
                int other = j;
                if (given) other = given[j] < 0 ? ~given[j] : given[j];
                x = mine >= other ? a[mine + other * ld] : cj<H>(a[other + mine * ld]);
                if (j == lane) {
                    x = diagonal<H>(x);
                    most = key(x);
                }
            }
            check += abs1(x) * 0;
            t[j] = x;
        }
        bad = threads::any(!(check == 0));
        base_::set_small(most);
    }

    /** Reads the lower triangle and mirrors it. By all lanes of the matrix; contains their
     *  barrier. */
    __device__ void load_both(const T *a, long long ld) {
        const bool there = lane < n;
        R check = 0;
        unsigned most = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            T x = make<T>(0);
            if (there && j <= lane) x = a[lane + j * ld];
            if (j == lane) x = diag = diagonal<H>(x);
            const unsigned k = key(x);
            most = k > most ? k : most;
            check += abs1(x) * 0;
            t[j] = x;
            l[j * PITCH + lane] = x;
        }
        threads::sync();
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (j > lane && there) t[j] = cj<H>(l[lane * PITCH + j]);
        bad = threads::any(!(check == 0));
        base_::set_small(most); /* shuffles: all have read */
        threads::sync();
    }

    /** Column s, whose entry this lane has in t[s], as a pivot of order 1. By all lanes of the
     *  matrix; contains their barrier. */
    __device__ void one(int s, T *u) {
        if (lane < N) u[lane] = t[s];
        threads::sync();
        const T d = diagonal<H>(u[s]);
        const bool good = is_pivot(d), below = lane > s && lane < n;
        T r = inverse(d), root_ = make<T>(0);
        if (!good) {
            r = make<T>(0);
            base_::zero_pivot(d, lane == s ? excess(d) : below ? abs1(t[s]) : 0, 1);
        } else {
            if (METHOD == 0) root_ = root(d);
            count(d);
        }
        const T x = below ? t[s] * r : make<T>(0);
        base_::template update<H>(s + 1, x, u);
        if (below) t[s] = METHOD == 0 ? x * root_ : x;
        if (lane == s) t[s] = !good ? make<T>(0) : METHOD == 0 ? root_ : d;
    }

    /** Columns s and s + 1 as a pivot of order 2. By all lanes of the matrix; contains their
     *  barrier. */
    __device__ void both(int s, T *u, T *v) {
        const int s2 = s + 1 < N ? s + 1 : s;
        if (lane < N) u[lane] = t[s], v[lane] = t[s2];
        threads::sync();
        const T d11 = diagonal<H>(u[s]), d21 = u[s2], d22 = diagonal<H>(v[s2]);
        const bool below = lane > s2 && lane < n;
        R most = abs1(d11);
        if (abs1(d21) > most) most = abs1(d21);
        if (abs1(d22) > most) most = abs1(d22);
        T x1 = make<T>(0), x2 = make<T>(0);
        if (most > small) {
            const two<T> z(d11, d21, d22, H);
            if (!z.regular && !bad) broken = true;
            if (below) {
                x1 = t[s] * z.i11 + t[s2] * z.i21;
                x2 = t[s] * z.i12 + t[s2] * z.i22;
            }
            if (z.det < 0) {
                ++positive, ++negative;
            } else {
                count(d11 + d22);
                count(d11 + d22);
            }
        } else {
            const R rest = below ? abs1(t[s]) : 0, more = below ? abs1(t[s2]) : 0;
            base_::zero_pivot(d11 + d21 + d22, !(more <= rest) ? more : rest, 2);
            if (lane == s || lane == s2) t[s] = make<T>(0), t[s2] = make<T>(0);
        }
        base_::template update<H>(s2 + 1, x1, u);
        base_::template update<H>(s2 + 1, x2, v);
        if (below) t[s] = x1, t[s2] = x2;
        if (H && lane == s) t[s] = diagonal<H>(t[s]);
        if (H && lane == s2) t[s2] = diagonal<H>(t[s2]);
    }

    /** Columns in order; STATIC: some in pairs. By all lanes of the matrix; contains their
     *  barrier. */
    template <bool STATIC> __device__ void in_order() {
        bool second = false;
        int turn = 0; /* of two pairs of buffers */
#pragma unroll
        for (int s = 0; s < N; ++s) {
            if (s >= n) break;
            if (STATIC && second) {
                second = false;
                continue;
            }
            T *u = STATIC ? share + turn * 2 * ROOM : base_::buffer(s);
            turn ^= 1;
            if (STATIC && (marks >> s & 1)) {
                both(s, u, u + ROOM);
                second = true;
            } else {
                one(s, u);
            }
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
            const bool good = is_pivot(d);
            T r = inverse(d), root_ = make<T>(0);
            if (!good) {
                r = make<T>(0);
                base_::zero_pivot(d, mine ? excess(d) : below ? abs1(c) : 0, 1);
            } else {
                root_ = root(d);
                count(d);
            }
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

/** LLT (METHOD 0) or LDLT of a matrix per L lanes; PIVOTING: 0 none, 1 static, 4 complete. By all
 *  lanes of the matrix; contains their barrier. */
template <class T, int N, int METHOD, int PIVOTING, bool H, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) rows_symmetric_kernel(const part job) {
    MPKI_SMEM;
    typedef rows_symmetric<T, N, METHOD, H> matrix;
    typedef typename matrix::threads threads;
    const long long place = threads::place();
    if (place >= job.count) return;
    matrix e(job, (T *)(smem + threadIdx.x / matrix::L * matrix::bytes(PIVOTING)));
    const int n = job.n;
    const long long b = job.matrix(place);
    T *a = view_of<T>(job.a, b).p;
    int *piv = job.pivots ? job.pivots + b * job.most : NULL;
    const int *given = NULL;
    if (PIVOTING == 1 && piv) {
        e.broken = !read_marks(e, n, piv, true, &e.marks);
        if (!e.broken) given = piv;
    }
    if (PIVOTING == 4)
        e.load_both(a, job.a.ld);
    else
        e.load(a, job.a.ld, given);
    typename matrix::R check = 0;
    if (!e.bad && !e.broken) {
        if (PIVOTING == 4)
            e.complete();
        else
            e.template in_order<PIVOTING == 1>();
        check = e.template store<PIVOTING == 4>(a, job.a.ld);
    }
    const bool none = e.report(b, check);
    if (PIVOTING == 4 && piv && e.lane < n) piv[none ? e.lane : e.row] = e.lane;
}

} // namespace mpki
#endif
