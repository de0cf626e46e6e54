/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_INDEFINITE_CUH
#define MPKI_CUDA_BATCH_REGISTERS_INDEFINITE_CUH
/** LDLT in registers with pivots of order 1 and 2 that are given, or by Bunch and Kaufman (1977), or,
 *  complete, by Bunch and Parlett (1971). Both triangles are kept, so that row p is column p: columns that a step asks
 *  for come from shared memory, and no register is asked for by a number. The decisions are
 *  symmetric.cuh's. */
#include "registers_symmetric.cuh"

namespace mpki {

/** LDLT of a matrix of order at most N; H: Hermitian. */
template <class T, int N, bool H> struct rows_indefinite : rows_symmetric<T, N, 1, H> {
    MPKI_ROWS(T, N);
    typedef rows_symmetric<T, N, 1, H> symmetric_;
    using base_::positive, base_::negative;
    using symmetric_::l, symmetric_::diag;
    bool mark; /* this row is one of a pair */
    int s;     /* pivots so far */
    T *u, *v;  /* shared: the rows of this step's pivot */

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ rows_indefinite(const part &job_, T *share_)
        : symmetric_(job_, share_), mark(false), s(0), u(share_), v(share_ + ROOM) {
        l = share_ + 4 * ROOM; /* two pairs of buffers take turns */
    }

    /** Shared memory for a matrix, a multiple of 16. By each thread for itself; no barrier. */
    static __host__ __device__ int bytes() {
        return ((4 * ROOM + N * PITCH) * (int)sizeof(T) + 15) / 16 * 16;
    }

    /** (1 + sqrt(17)) / 8. By each thread for itself; no barrier. */
    static __device__ R alpha() { return (R)MPKI_ALPHA; }

    /** Row p to a buffer, with its diagonal entry. By all lanes of the matrix; contains their
     *  barrier. */
    __device__ void show(int p, T *to) {
        if (lane == p) {
            base_::put(0, to);
            to[p] = diag;
        }
        threads::sync();
    }

    /** This lane's entry of the column that is the row of a buffer. By each thread for itself; no
     *  barrier. */
    __device__ T column(const T *row_) const { return cj<H>(row_[lane < N ? lane : 0]); }

    /** The lane that is left, but `but`, with the largest `size`, which goes to *most: 0 where there
     *  is none. By all lanes of the matrix; shuffles. */
    __device__ int largest(R size, int but, R *most) const {
        const bool takes = left && lane != but;
        const int p = base_::choose(takes ? key(size) + 1 : 0, size);
        *most = __shfl_sync(mask, takes ? size : (R)0, p, L);
        return p;
    }

    /** Row p is a pivot of order 1, in a buffer; c: its column. By each thread for itself; no
     *  barrier. */
    __device__ void one(int p, T *row_, T c) {
        const bool mine = lane == p, below = left && !mine;
        const T d = diagonal<H>(row_[p]), x = below ? c * inverse(d) : make<T>(0);
        base_::template update<false>(0, x, row_);
        nfma(diag, x, cj<H>(c));
        diag = diagonal<H>(diag);
        l[s * PITCH + lane] = mine ? d : x;
        if (mine) row = s, left = false;
        symmetric_::count(d);
        ++s;
    }

    /** Rows p (in u) and q (in v) are a pivot of order 2; c1, c2: their columns. By each thread for
     *  itself; no barrier. */
    __device__ void both(int p, int q, T c1, T c2) {
        const bool mine = lane == p || lane == q, below = left && !mine;
        const T d11 = diagonal<H>(u[p]), d21 = v[p], d22 = diagonal<H>(v[q]);
        const two<T> z(d11, d21, d22, H);
        if (!finite(d11) || !finite(d21) || !finite(d22)) bad = true;
        if (!z.regular && !bad) broken = true;
        T x1 = make<T>(0), x2 = make<T>(0);
        if (below) {
            x1 = c1 * z.i11 + c2 * z.i21;
            x2 = c1 * z.i12 + c2 * z.i22;
        }
        base_::template update<false>(0, x1, u);
        base_::template update<false>(0, x2, v);
        nfma(diag, x1, cj<H>(c1));
        nfma(diag, x2, cj<H>(c2));
        diag = diagonal<H>(diag);
        l[s * PITCH + lane] = lane == p ? d11 : lane == q ? d21 : x1;
        l[(s + 1) * PITCH + lane] = lane == q ? d22 : x2;
        if (mine) row = lane == p ? s : s + 1, left = false, mark = true;
        if (z.det < 0) {
            ++positive, ++negative;
        } else {
            symmetric_::count(d11 + d22);
            symmetric_::count(d11 + d22);
        }
        s += 2;
    }

    /** Row p is a zero pivot, of which only numbers as small are left; most: the largest of its
     *  column that this lane has. By all lanes of the matrix; votes. */
    __device__ void none(int p, T d, R most) {
        base_::zero_pivot(d, most, 1);
        l[s * PITCH + lane] = make<T>(0);
        if (lane == p) row = s, left = false;
        ++s;
    }

    /** The next pivot by Bunch and Kaufman. By all lanes of the matrix; contains their barrier. */
    __device__ void partial_step() {
        const int r = base_::first_of(left);
        R lambda, sigma;
        show(r, u);
        const T c = column(u), d = u[r];
        const int q = largest(abs1(c), r, &lambda);
        const R size = abs1(d);
        if (!(size > small) && !(lambda > small)) return none(r, d, lambda);
        if (size >= alpha() * lambda) return one(r, u, c);
        show(q, v);
        const T c2 = column(v);
        largest(abs1(c2), q, &sigma);
        if (size >= alpha() * lambda * (lambda / sigma)) return one(r, u, c);
        if (abs1(v[q]) >= alpha() * sigma) return one(q, v, c2);
        both(r, q, c, c2);
    }

    /** The largest entry of this row in a column that is left, off the diagonal. By each thread for
     *  itself; no barrier. */
    __device__ R largest_of_row(unsigned open) const {
        R most = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const R size = abs1(t[j]);
            if ((open >> j & 1) && j != lane && !(size <= most)) most = size;
        }
        return most;
    }

    /** The next pivot by Bunch and Parlett. By all lanes of the matrix; contains their barrier. */
    __device__ void complete_step() {
        const unsigned open = (__ballot_sync(mask, left) & mask) >> base_::base;
        R on, off, unused;
        int p = largest(abs1(diag), -1, &on);
        /* of the two rows that have the largest entry the lower one, then its column */
        const int first = largest(largest_of_row(open), -1, &off);
        if (!(on > small) && !(off > small)) {
            const R worst = off * 0 != 0 ? off : on;
            return none(p, make<T>((double)worst), worst);
        }
        if (on >= alpha() * off) {
            show(p, u);
            return one(p, u, column(u));
        }
        show(first, u);
        const T c = column(u);
        const int second = largest(abs1(c), first, &unused);
        show(second, v);
        both(first, second, c, column(v));
    }

    /** The pivot that is given; own: this lane's entry of the list. By all lanes of the matrix;
     *  contains their barrier. */
    __device__ void given_step(int own) {
        const int first = __shfl_sync(mask, own, s, L), p = first < 0 ? ~first : first;
        const int second = __shfl_sync(mask, own, s + 1 < n ? s + 1 : s, L);
        const int q = first < 0 ? ~second : p;
        show(p, u);
        const T c = column(u);
        if (first >= 0) {
            if (abs1(u[p]) > small) return one(p, u, c);
            return none(p, u[p], left ? abs1(c) : 0);
        }
        show(q, v);
        const T c2 = column(v);
        if (abs1(u[p]) > small || abs1(v[p]) > small || abs1(v[q]) > small)
            return both(p, q, c, c2);
        none(p, u[p], left ? abs1(c) : 0);
        none(q, v[q], left ? abs1(c2) : 0);
    }

    /** Eliminates all columns. By all lanes of the matrix; contains their barrier. */
    template <int PIVOTING> __device__ void eliminate(int own) {
        int turn = 0;
#pragma unroll 1
        while (s < n && !broken) {
            u = share + turn * 2 * ROOM, v = u + ROOM;
            turn ^= 1;
            if (PIVOTING == 1)
                given_step(own);
            else if (PIVOTING == 2)
                partial_step();
            else
                complete_step();
        }
    }
};

/** LDLT of a matrix per L lanes; PIVOTING: 1 static, 2 partial, 4 complete. By all lanes of the matrix; contains their barrier. */
template <class T, int N, bool H, int PIVOTING, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) rows_indefinite_kernel(const part job) {
    MPKI_SMEM;
    typedef rows_indefinite<T, N, H> matrix;
    typedef typename matrix::threads threads;
    const long long place = threads::place();
    if (place >= job.count) return;
    matrix e(job, (T *)(smem + threadIdx.x / matrix::L * matrix::bytes()));
    const long long b = job.matrix(place);
    T *a = view_of<T>(job.a, b).p;
    int *piv = job.pivots ? job.pivots + b * job.most : NULL;
    int own = e.lane;
    if (PIVOTING == 1 && piv) {
        bits marks;
        e.broken = !read_marks(e, e.n, piv, true, &marks);
        if (e.lane < e.n) own = piv[e.lane];
    }
    e.template load<true>(a, job.a.ld);
    typename matrix::R check = 0;
    if (!e.bad && !e.broken) {
        e.template eliminate<PIVOTING>(own);
        if (!e.broken) check = e.template store<true>(a, job.a.ld);
    }
    const bool none = e.report(b, check);
    if (PIVOTING >= 2 && piv && e.lane < e.n)
        piv[none ? e.lane : e.row] = !none && e.mark ? ~e.lane : e.lane;
}

} // namespace mpki
#endif
