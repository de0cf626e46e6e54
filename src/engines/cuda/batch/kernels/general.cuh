/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_GENERAL_CUH
#define MPKI_CUDA_BATCH_GENERAL_CUH
/** LDU of small matrices in shared memory, for any order, pivoting and layout: the algorithms and
 * decisions of src/engines/cpu/batch/general_k.c. Rows and columns never move: those that are
 * finished are struck from two sets, L and U stay where their entries were, and the permutations
 * are applied when they are written. */
#include "elimination.cuh"

namespace mpki {

/** LDU of a small matrix; its rows and columns stay where they are. */
template <class T, class TILE> struct general : elimination<T, TILE> {
    typedef elimination<T, TILE> base;
    typedef typename base::R R;
    using base::bad, base::zero, base::at, base::set_small;
    using base::ROWS, base::L, base::W;
    using base::t, base::job, base::n, base::given, base::small, base::singular, base::broken;

    unsigned char *row, *col; /* shared: old indices at each place */
    bits rows, cols;          /* not finished; `given`: rows, then columns, job.most apart */

    /** Nothing is eliminated yet; lists: 128 bytes of shared memory. By each thread for itself;
     *  no barrier. */
    __device__ general(const TILE &tile_, const part &job_, T *w_, unsigned char *lists)
        : base(tile_, job_, w_), row(lists), col(lists + 64), rows(all_below(job_.n)),
          cols(all_below(job_.n)) {}

    /** Is row i not a pivot's yet? By each thread for itself; no barrier. */
    __device__ bool row_left(int i) const { return i < n && (rows >> i & 1); }
    /** Is column j not a pivot's yet? By each thread for itself; no barrier. */
    __device__ bool col_left(int j) const { return j < n && (cols >> j & 1); }

    /** Reads the matrix and sets the zero tolerance. By all threads of the matrix; contains
     *  their barrier. */
    __device__ void load(const view<T> &a) {
        R most = 0;
        for (int j = t.warp; j < n; j += W)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i >= n) continue;
                const T x = a(i, j);
                bad |= !finite(x);
                if (job.pivoting >= 2 && abs1(x) > most) most = abs1(x);
                at(i, j) = x;
            }
        t.sync();
        if (job.pivoting < 2) /* none, static: the largest entry where pivots may be */
            for (int s = t.lane; s < n; s += L) {
                const R x = abs1(given ? at(given[s], given[job.most + s]) : at(s, s));
                if (x > most) most = x;
            }
        most = t.max_of_all(most);
        bad = t.any_of_all(bad);
        set_small(most);
    }

    /** The row that is left with the largest entry in column q, *value. By all lanes of each
     *  warp; shuffles. */
    __device__ int largest_row(int q, R *value) {
        R most = 0;
        int where = 64;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (!row_left(i)) continue;
            const R v = abs1(at(i, q));
            if (v > most) most = v, where = i;
        }
        t.largest(most, where);
        *value = most;
        return where == 64 ? lowest(rows) : where;
    }

    /** The column that is left with the largest entry in row p, *value. By all lanes of each
     *  warp; shuffles. */
    __device__ int largest_column(int p, R *value) {
        R most = 0;
        int where = 64;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int j = t.lane + r * L;
            if (!col_left(j)) continue;
            const R v = abs1(at(p, j));
            if (v > most) most = v, where = j;
        }
        t.largest(most, where);
        *value = most;
        return where == 64 ? lowest(cols) : where;
    }

    /** The pivot (*p, *q) that is largest in its row and its column. By all lanes of each warp;
     *  shuffles. */
    __device__ void choose_rook(int *p, int *q) {
        R value = 0, next;
        for (bits m = cols; m && !(value > small); m &= m - 1) {
            *q = lowest(m);
            *p = largest_row(*q, &value);
        }
        for (int step = 0; step < n; ++step) {
            const int j = largest_column(*p, &next);
            if (!(next > value)) return;
            *q = j, value = next;
            const int i = largest_row(*q, &next);
            if (!(next > value)) return;
            *p = i, value = next;
        }
    }

    /** The largest entry (*p, *q); each lane searches its own columns. By all lanes of each
     *  warp; shuffles. */
    __device__ void choose_complete(int *p, int *q) {
        R most = -1;
        int column = 64, best = lowest(rows);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int j = t.lane + r * L;
            if (!col_left(j)) continue;
            R value = 0;
            int where = lowest(rows);
            for (bits m = rows; m; m &= m - 1) {
                const int i = lowest(m);
                const R v = abs1(at(i, j));
                if (v > value) value = v, where = i;
            }
            if (value > most) most = value, column = j, best = where;
        }
        int where = column;
        t.largest(most, where);
        *p = base::row_of_winner(column, where, best), *q = where;
    }

    /** The pivot (*p, *q) of step s. By all lanes of each warp; shuffles. */
    __device__ void choose(int s, int *p, int *q) {
        R value;
        if (job.pivoting == 1)
            *p = given[s], *q = given[job.most + s];
        else if (job.pivoting == 2)
            *p = largest_row(*q, &value);
        else if (job.pivoting == 3)
            choose_rook(p, q);
        else if (job.pivoting == 4)
            choose_complete(p, q);
    }

    /** Takes a pivot of 0, which is right if its row and column are zero, too. By all threads of
     *  the matrix; contains their barrier. */
    __device__ void zero_pivot(int p, int q) {
        R down, along;
        largest_row(q, &down);
        largest_column(p, &along);
        if (down > small || along > small) broken = true;
        singular = true;
        ++zero;
        t.sync();
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (row_left(i)) bad |= !finite(at(i, q));
            if (col_left(i)) bad |= !finite(at(p, i));
        }
        t.sync();
        if (t.warp == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (row_left(i)) at(i, q) = make<T>(0);
                if (col_left(i)) at(p, i) = make<T>(0);
            }
    }

    /** L and U of the pivot (p, q), and the update of the rest. By all threads of the matrix;
     *  contains their barrier. */
    __device__ void eliminate(int p, int q) {
        const T d = at(p, q), r1 = inverse(d);
        T l[ROWS], u[ROWS];
        bad |= !finite(d);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            l[r] = row_left(i) && i != p ? at(i, q) * r1 : make<T>(0);
            u[r] = col_left(i) && i != q ? at(p, i) * r1 : make<T>(0);
            bad |= !finite(l[r]) || !finite(u[r]);
        }
        int turn = 0;
        for (bits m = cols & ~bit(q); m; m &= m - 1) {
            const int j = lowest(m);
            if (W > 1 && turn++ % W != t.warp) continue;
            const T x = at(p, j);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (row_left(i) && i != p) nfma(at(i, j), l[r], x);
            }
        }
        t.sync();
        if (t.warp == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (row_left(i) && i != p) at(i, q) = l[r];
                if (col_left(i) && i != q) at(p, i) = u[r];
            }
    }

    /** Eliminates all columns. By all threads of the matrix; contains their barrier. */
    __device__ void ldu() {
        for (int s = 0; s < n && !broken; ++s) {
            int p = lowest(rows), q = lowest(cols);
            choose(s, &p, &q);
            if (abs1(at(p, q)) <= small)
                zero_pivot(p, q);
            else
                eliminate(p, q);
            if (t.leads()) row[s] = (unsigned char)p, col[s] = (unsigned char)q;
            rows &= ~bit(p), cols &= ~bit(q);
            t.sync();
        }
    }

    /** Writes L, D and U in pivots' order. By all threads of the matrix; no barrier. */
    __device__ void store(const view<T> &a) {
        for (int j = t.warp; j < n; j += W)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i < n) a(i, j) = at(row[i], col[j]);
            }
    }
};

/** Shared memory for a matrix of order n. By each thread for itself; no barrier. */
template <class T> __host__ __device__ inline size_t general_bytes(int n) {
    return (n * (size_t)shared_ld(n) * sizeof(T) + 15) / 16 * 16 + 128;
}

/** LDU of a matrix per tile. By all threads of the matrix; contains their barrier. */
template <class T, class TILE>
__global__ void __launch_bounds__(TILE_BLOCK) general_kernel(const part job) {
    MPKI_SMEM;
    __shared__ double between[TILE::W];
    const TILE t(between);
    const long long place = TILE::place();
    if (place >= job.count) return;
    const size_t each = general_bytes<T>(job.n);
    char *mine = memory_of_matrix<TILE>(smem, each);
    general<T, TILE> e(t, job, (T *)mine, (unsigned char *)mine + each - 128);
    const int n = job.n;
    const long long b = job.matrix(place);
    const view<T> a = view_of<T>(job.a, b);
    int *piv = job.pivots ? job.pivots + 2 * b * job.most : NULL;
    if (job.pivoting == 1 && piv) {
        bits marks;
        e.broken = !read_marks(t, n, piv, false, &marks);
        e.broken = !read_marks(t, n, piv + job.most, false, &marks) || e.broken;
        if (!e.broken) e.given = piv;
    }
    run_elimination(e, a, [&] { e.ldu(); });
    const bool none = e.none();
    if (piv && job.pivoting >= 2 && t.warp == 0)
        for (int k = t.lane; k < n; k += TILE::L) {
            piv[k] = none ? k : e.row[k];
            piv[job.most + k] = none ? k : e.col[k];
        }
    if (t.leads()) job.report(b, e.outcome(), none ? 0 : n - e.zero, 0, none ? 0 : e.zero);
}

} // namespace mpki
#endif
