/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_SYMMETRIC_CUH
#define MPKI_CUDA_BATCH_SYMMETRIC_CUH
/** LLT and LDLT of small matrices in shared memory, for any order, pivoting and layout: the
 *  algorithms and decisions of src/engines/cpu/batch/symmetric_k.c. Both triangles are kept and
 *  rows never move: a finished row is struck from a set, column p then holds column s of L (and D
 *  on its diagonal), and the permutation is applied when L is written back. */
#include "kernels/alpha.h"
#include "elimination.cuh"

namespace mpki {

/** The inverse of a 2 x 2 pivot D = [d11 conj(d21); d21 d22], as src/engines/cpu/batch/pivot.h
 *  computes it. */
template <class T> struct two {
    typedef typename scalar_of<T>::real R;
    T i11, i21, i12, i22;
    R det;
    bool regular;

    /** Computes it and its determinant; not `regular`: D is singular to rounding. By each thread
     *  for itself; no barrier. */
    __device__ two(T d11, T d21, T d22, int hermitian) {
        R m = abs1(d11);
        regular = false;
        det = 0;
        i11 = i21 = i12 = i22 = make<T>(0);
        if (abs1(d21) > m) m = abs1(d21);
        if (abs1(d22) > m) m = abs1(d22);
        if (!(m > 0) || m * 0 != 0) return;
        const T s = make<T>(1 / (double)m);
        const T e11 = d11 * s, e21 = d21 * s, e22 = d22 * s, e12 = cj(hermitian, e21);
        const T x = e11 * e22, y = e21 * e12, whole = x - y;
        det = re(whole);
        regular = abs1(whole) > 4 * epsilon<R>() * (abs1(x) + abs1(y));
        if (!regular) return;
        const T f = inverse(whole) * s;
        i11 = e22 * f, i22 = e11 * f;
        i21 = -(e21 * f), i12 = -(e12 * f);
    }
};

/** The square root of d; of a complex d the one with a real part >= 0. By each thread for
 *  itself; no barrier. */
__device__ inline float root(float d) {
    return sqrtf(d);
}
__device__ inline double root(double d) {
    return sqrt(d);
}
template <class F> __device__ inline cx<F> root(cx<F> d) {
    const F m = modulus(d), x = root((m + abs1(d.x)) / 2);
    if (!(x > 0)) return {(F)0, (F)0};
    if (d.x >= 0) return {x, d.y / (2 * x)};
    return {abs1(d.y) / (2 * x), d.y < 0 ? -x : x};
}

/** LLT or LDLT of a small matrix; its rows stay where they are. */
template <class T, class TILE> struct symmetric : elimination<T, TILE> {
    typedef elimination<T, TILE> base;
    typedef typename base::R R;
    using base::bad, base::zero, base::at, base::set_small;
    using base::ROWS, base::L, base::W;
    using base::t, base::job, base::n, base::given, base::small, base::singular, base::broken;

    unsigned char *perm; /* shared: old index at each place */
    bits left, pairs;    /* rows that are not finished; places in 2x2 pivots */
    int positive, negative;

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ symmetric(const TILE &tile_, const part &job_, T *w_, unsigned char *perm_)
        : base(tile_, job_, w_), perm(perm_), left(all_below(job_.n)), pairs(0), positive(0),
          negative(0) {}

    /** Is row i not a pivot's yet? By each thread for itself; no barrier. */
    __device__ bool is_left(int i) const { return i < n && (left >> i & 1); }

    /** Reads the lower triangle, mirrors it and sets the zero tolerance. By all threads of the
     *  matrix; contains their barrier. */
    __device__ void load(const view<T> &a) {
        const int all = job.pivoting >= 2;
        R most = 0;
        for (int j = t.warp; j < n; j += W)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i < j || i >= n) continue;
                T x = a(i, j);
                if (i == j && job.hermitian) x = make<T>((double)re(x));
                bad |= !finite(x);
                if ((i == j || all) && abs1(x) > most) most = abs1(x);
                at(i, j) = x;
                at(j, i) = cj(job.hermitian, x);
            }
        most = t.max_of_all(most);
        bad = t.any_of_all(bad);
        set_small(most);
        t.sync();
    }

    /** The row that is left, except `but`, with the largest entry of column p; -1: all are zero.
     *  By all lanes of each warp; shuffles. */
    __device__ int largest(int p, int but, R *value) {
        R most = 0;
        int where = 64;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (!is_left(i) || i == but) continue;
            const R v = abs1(at(i, p));
            if (v > most) most = v, where = i;
        }
        t.largest(most, where);
        *value = most;
        return where == 64 ? -1 : where;
    }

    /** (1 + sqrt(17)) / 8. By each thread for itself; no barrier. */
    static __device__ R alpha() {
        return (R)MPKI_ALPHA;
    }

    /** The next pivot p (and q) by Bunch and Kaufman's choice; returns its order, 0: only zeros
     *  are left. By all lanes of each warp; shuffles. */
    __device__ int choose_partial(int *p, int *q) {
        R lambda, sigma;
        const int r = lowest(left), s = largest(r, r, &lambda);
        const R diag = abs1(at(r, r));
        *p = r;
        if (!(diag > small) && !(lambda > small)) return 0;
        if (s < 0 || diag >= alpha() * lambda) return 1;
        largest(s, s, &sigma);
        if (diag >= alpha() * lambda * (lambda / sigma)) return 1; /* squares could vanish */
        if (abs1(at(s, s)) >= alpha() * sigma) return *p = s, 1;
        *q = s;
        return 2;
    }

    /** The next pivot p (and q) by rook pivoting; returns its order, 0: only zeros are left. By
     *  all lanes of each warp; shuffles. */
    __device__ int choose_rook(int *p, int *q) {
        R lambda, sigma;
        int r = lowest(left), s = largest(r, r, &lambda);
        *p = r;
        if (!(abs1(at(r, r)) > small) && !(lambda > small)) return 0;
        if (s < 0 || abs1(at(r, r)) >= alpha() * lambda) return 1;
        for (int step = 0; step < n; ++step) {
            const int next = largest(s, s, &sigma);
            if (abs1(at(s, s)) >= alpha() * sigma) return *p = s, 1;
            if (next == r || !(sigma > lambda)) break;
            r = s, s = next, lambda = sigma;
        }
        *p = r, *q = s;
        return 2;
    }

    /** The next pivot p (and q) by complete pivoting; each lane searches its own columns.
     *  Returns its order, 0: only zeros are left. By all lanes of each warp; shuffles. */
    __device__ int choose_complete(int *p, int *q) {
        R diag = -1, off = 0;
        int dp = 64, column = 64, row = 64;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int j = t.lane + r * L;
            if (!is_left(j)) continue;
            if (abs1(at(j, j)) > diag) diag = abs1(at(j, j)), dp = j;
            for (bits m = left & ~bit(j); m; m &= m - 1) {
                const int i = lowest(m);
                const R v = abs1(at(i, j));
                if (v > off) off = v, column = j, row = i;
            }
        }
        R most = off;
        int where = column;
        t.largest(diag, dp);
        t.largest(most, where);
        if (dp < 64) *p = dp;
        if (!(diag > small) && !(most > small)) return 0;
        if (where == 64 || diag >= alpha() * most) return 1;
        const int mine = base::row_of_winner(column, where, row);
        *p = mine < where ? mine : where;
        *q = mine < where ? where : mine;
        return 2;
    }

    /** Are columns p and q (-1: none) zero? By all lanes of each warp; shuffles. */
    __device__ bool is_zero_column(int p, int q) {
        R m1, m2 = 0;
        largest(p, -1, &m1);
        if (q >= 0) largest(q, -1, &m2);
        return !(m1 > small) && !(m2 > small);
    }

    /** The pivot of step s as it was given; returns its order, 0: it is zero, as it should be.
     *  By all lanes of each warp; shuffles. */
    __device__ int width_given(int s, int *p, int *q) {
        const int mark = given ? given[s] : s, width = mark < 0 ? 2 : 1;
        *p = mark < 0 ? ~mark : mark;
        if (width == 2) *q = ~given[s + 1];
        R most = abs1(at(*p, *p));
        if (width == 2) {
            const R d21 = abs1(at(*q, *p)), d22 = abs1(at(*q, *q));
            if (d21 > most) most = d21;
            if (d22 > most) most = d22;
        }
        if (most > small) return width;
        if (is_zero_column(*p, width == 2 ? *q : -1)) return 0;
        broken = true;
        return 1;
    }

    /** Row p is the pivot of step s. By each thread for itself; no barrier. */
    __device__ void note(int s, int p) {
        if (t.leads()) perm[s] = (unsigned char)p;
    }

    /** Row p is a zero pivot. By all threads of the matrix; contains their barrier. */
    __device__ void zero_pivot(int s, int p) {
        t.sync();
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (!is_left(i)) continue;
            if (!finite(at(i, p))) bad = true; /* NaN must not pass for a zero */
        }
        t.sync();
        if (t.warp == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (is_left(i)) at(i, p) = make<T>(0);
            }
        note(s, p);
        left &= ~bit(p);
        t.sync();
        ++zero;
        singular = true;
    }

    /** Row p is a pivot of order 1. By all threads of the matrix; contains their barrier. */
    __device__ void eliminate_one(int s, int p) {
        T d = at(p, p), l[ROWS];
        if (job.hermitian) d = make<T>((double)re(d));
        const T r1 = inverse(d);
        left &= ~bit(p);
        bad |= !finite(d);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            l[r] = is_left(i) ? at(i, p) * r1 : make<T>(0);
            bad |= !finite(l[r]);
        }
        int turn = 0;
        for (bits m = left; m; m &= m - 1) {
            const int j = lowest(m);
            if (W > 1 && turn++ % W != t.warp) continue;
            const T c = cj(job.hermitian, at(j, p));
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (is_left(i)) nfma(at(i, j), l[r], c);
            }
        }
        t.sync();
        if (t.warp == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (is_left(i) || i == p) at(i, p) = i == p ? d : l[r];
            }
        note(s, p);
        t.sync();
        if (re(d) > 0)
            ++positive;
        else
            ++negative;
    }

    /** Rows p and q are a pivot of order 2; false: it is singular. By all threads of the matrix;
     *  contains their barrier. */
    __device__ bool eliminate_two(int s, int p, int q) {
        T d11 = at(p, p), d21 = at(q, p), d22 = at(q, q), l1[ROWS], l2[ROWS];
        if (job.hermitian) d11 = make<T>((double)re(d11)), d22 = make<T>((double)re(d22));
        const two<T> z(d11, d21, d22, job.hermitian);
        if (!z.regular) return false;
        left &= ~(bit(p) | bit(q));
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            const bool in = is_left(i);
            const T x1 = in ? at(i, p) : make<T>(0), x2 = in ? at(i, q) : make<T>(0);
            l1[r] = x1 * z.i11 + x2 * z.i21;
            l2[r] = x1 * z.i12 + x2 * z.i22;
            bad |= !finite(l1[r]) || !finite(l2[r]);
        }
        int turn = 0;
        for (bits m = left; m; m &= m - 1) {
            const int j = lowest(m);
            if (W > 1 && turn++ % W != t.warp) continue;
            const T c1 = cj(job.hermitian, at(j, p)), c2 = cj(job.hermitian, at(j, q));
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (!is_left(i)) continue;
                T x = at(i, j);
                nfma(x, l1[r], c1);
                nfma(x, l2[r], c2);
                at(i, j) = x;
            }
        }
        t.sync();
        if (t.warp == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (is_left(i)) at(i, p) = l1[r], at(i, q) = l2[r];
                if (i == p) at(i, p) = d11;
                if (i == q) at(i, p) = d21, at(i, q) = d22;
            }
        note(s, p), note(s + 1, q);
        pairs |= bit(s) | bit(s + 1);
        t.sync();
        if (z.det < 0)
            ++positive, ++negative;
        else if (re(d11) + re(d22) > 0)
            positive += 2;
        else
            negative += 2;
        return true;
    }

    /** Eliminates all columns. By all threads of the matrix; contains their barrier. */
    __device__ void ldlt() {
        for (int s = 0; s < n && !broken;) {
            int p = lowest(left), q = -1, width;
            if (job.pivoting == 2)
                width = choose_partial(&p, &q);
            else if (job.pivoting == 3)
                width = choose_rook(&p, &q);
            else if (job.pivoting == 4)
                width = choose_complete(&p, &q);
            else
                width = width_given(s, &p, &q);
            if (broken) break;
            if (width == 0) {
                zero_pivot(s++, p);
                if (q >= 0)
                    zero_pivot(s++, q); /* a pair that was given: two zero pivots of width
                                                   1 */
            } else if (width == 1) {
                eliminate_one(s++, p);
            } else if (eliminate_two(s, p, q)) {
                s += 2;
            } else {
                broken = true;
            }
        }
    }

    /** Eliminates all columns by pivots of order 1; the square roots are taken in store(). By
     *  all threads of the matrix; contains their barrier. */
    __device__ void llt() {
        for (int s = 0; s < n; ++s) {
            int p = lowest(left);
            if (job.pivoting == 4) {
                R most = -INFINITY;
                int where = 64;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const int i = t.lane + r * L;
                    if (is_left(i) && re(at(i, i)) > most) most = re(at(i, i)), where = i;
                }
                t.largest(most, where);
                if (where < 64) p = where;
            }
            const T d = at(p, p);
            if (!scalar_of<T>::complex || job.hermitian ? re(d) > small : abs1(d) > small) {
                eliminate_one(s, p);
                continue;
            }
            if (!(abs1(d) <= small) || !is_zero_column(p, -1)) {
                broken = true;
                return;
            }
            zero_pivot(s, p);
        }
    }

    /** Writes L (and D) in pivots' order. By all threads of the matrix; no barrier. */
    __device__ void store(const view<T> &a) {
        for (int s = t.warp; s < n; s += W) {
            const int p = perm[s];
            const T d = at(p, p), r1 = job.method == 0 ? root(d) : d;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i < s || i >= n) continue;
                const T x = i == s ? r1 : at(perm[i], p);
                a(i, s) = i > s && job.method == 0 ? x * r1 : x;
            }
        }
    }
};

/** Shared memory for a matrix of order n and its permutation. By each thread for itself; no
 *  barrier. */
template <class T> __host__ __device__ inline size_t symmetric_bytes(int n) {
    return (n * (size_t)shared_ld(n) * sizeof(T) + 15) / 16 * 16 + 64;
}

/** LLT or LDLT of a matrix per tile. By all threads of the matrix; contains their barrier. */
template <class T, class TILE>
__global__ void __launch_bounds__(TILE_BLOCK) symmetric_kernel(const part job) {
    MPKI_SMEM;
    __shared__ double between[TILE::W];
    const TILE t(between);
    const long long place = TILE::place();
    if (place >= job.count) return;
    const size_t each = symmetric_bytes<T>(job.n);
    char *mine = memory_of_matrix<TILE>(smem, each);
    symmetric<T, TILE> e(t, job, (T *)mine, (unsigned char *)mine + each - 64);
    const int n = job.n;
    const long long b = job.matrix(place);
    const view<T> a = view_of<T>(job.a, b);
    int *piv = job.pivots ? job.pivots + b * job.most : NULL;
    if (job.pivoting == 1 && piv) {
        bits marks;
        e.broken = !read_marks(t, n, piv, true, &marks);
        e.given = piv;
    }
    run_elimination(e, a, [&] {
        if (job.method == 0)
            e.llt();
        else
            e.ldlt();
    });
    const bool none = e.none();
    if (piv && job.pivoting >= 2 && t.warp == 0)
        for (int k = t.lane; k < n; k += TILE::L) {
            const int p = none ? k : e.perm[k];
            piv[k] = !none && (e.pairs >> k & 1) ? ~p : p;
        }
    if (t.leads()) {
        const bool counts = !scalar_of<T>::complex || job.hermitian;
        job.report(b, e.outcome(), none || !counts ? 0 : e.positive,
                   none || !counts ? 0 : e.negative, none ? 0 : e.zero);
    }
}

} // namespace mpki
#endif
