/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_SOLVE_CUH
#define MPKI_CUDA_BATCH_SOLVE_CUH
/** X := A^-1 B from the factors of small matrices (src/engines/cpu/batch/solve_k.c): the factors
 *  lie in shared memory; a warp (or part of one) takes one right-hand side after the other, a row
 *  in each lane.
 *  */
#include "symmetric.cuh"

namespace mpki {

/** The factors of a matrix in shared memory, and a right-hand side y of each warp. */
template <class T, class TILE> struct solver {
    typedef typename scalar_of<T>::real R;
    static const int ROWS = TILE::ROWS, L = TILE::L, W = TILE::W;

    const TILE &t;
    const part &job;
    const int n, ld;
    const T *w; /* shared: the factors */
    T *y;       /* shared: this warp's right-hand side */
    bits marks; /* places of 2x2 pivots */

    /** Entry (i, j) of the factors. By each thread for itself; no barrier. */
    __device__ const T &at(int i, int j) const { return w[i + j * ld]; }
    /** Is s the first of a 2 x 2 pivot? By each thread for itself; no barrier. */
    __device__ bool is_first(int s) const { /* of a 2x2 pivot */
        return (marks >> s & 1) && __popcll(marks & (bit(s) - 1)) % 2 == 0;
    }
    /** Is s the second of a 2 x 2 pivot? By each thread for itself; no barrier. */
    __device__ bool is_second(int s) const {
        return (marks >> s & 1) && __popcll(marks & (bit(s) - 1)) % 2 == 1;
    }
    /** The lanes of one right-hand side wait for each other; other warps do not wait. A warp's
     *  barrier. */
    __device__ void sync() const { __syncwarp(t.mask); }

    /** x / d; 0 where d is zero. By each thread for itself; no barrier. */
    __device__ T divided(T d, T x) const { return is_zero(d) ? make<T>(0) : x * inverse(d); }

    /** y := L^-1 y; `roots`: y(s) is divided by the diagonal before. By all lanes of a warp;
     *  contains __syncwarp(). */
    __device__ void forward(bool roots) {
        for (int s = 0; s < n; ++s) {
            if (roots) {
                if (t.lane == s % L) y[s] = divided(at(s, s), y[s]);
                sync();
            }
            const T x = y[s];
            const int below = is_first(s) ? s + 2 : s + 1;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i >= below && i < n) nfma(y[i], at(i, s), x);
            }
            sync();
        }
    }

    /** y := L^-T y (L^-H); `roots` as in forward(). By all lanes of a warp; contains
     *  __syncwarp(). */
    __device__ void backward(bool roots) {
        for (int s = n - 1; s >= 0; --s) {
            if (roots) {
                if (t.lane == s % L) y[s] = divided(at(s, s), y[s]);
                sync();
            }
            const T x = y[s];
            const bool second = is_second(s);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i < s && !(second && i == s - 1)) nfma(y[i], cj(job.hermitian, at(s, i)), x);
            }
            sync();
        }
    }

    /** y := D^-1 y. By all lanes of a warp; contains __syncwarp(). */
    __device__ void diagonal() {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (i >= n || is_second(i)) continue;
            if (!is_first(i)) {
                y[i] = divided(at(i, i), y[i]);
                continue;
            }
            const two<T> z(at(i, i), at(i + 1, i), at(i + 1, i + 1), job.hermitian);
            const T y1 = y[i], y2 = y[i + 1];
            y[i] = z.i11 * y1 + z.i12 * y2;
            y[i + 1] = z.i21 * y1 + z.i22 * y2;
        }
        sync();
    }

    /** y := U^-1 y for a unit upper U. By all lanes of a warp; contains __syncwarp(). */
    __device__ void upper() {
        for (int s = n - 1; s > 0; --s) {
            const T x = y[s];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = t.lane + r * L;
                if (i < s) nfma(y[i], at(i, s), x);
            }
            sync();
        }
    }

    /** Is a pivot zero, or a 2 x 2 pivot singular? By all lanes of a warp; a vote. */
    __device__ bool singular() const {
        bool found = false;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (i >= n || is_second(i)) continue;
            if (is_first(i)) {
                const two<T> z(at(i, i), at(i + 1, i), at(i + 1, i + 1), job.hermitian);
                found |= !z.regular;
            } else {
                found |= is_zero(at(i, i));
            }
        }
        return t.any(found);
    }

    /** Solves for column c of b; returns in each lane whether X is finite. rows, out:
     *  permutations, or NULL. By all lanes of a warp; contains __syncwarp(). */
    __device__ bool one(const view<T> &b, int c, const int *rows, const int *out) {
        bool good = true;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (i >= n) continue;
            const int p = rows ? rows[i] : i;
            y[i] = b(p < 0 ? ~p : p, c);
        }
        sync();
        if (job.method == 2) {
            forward(false);
            diagonal();
            upper();
        } else {
            forward(job.method == 0);
            if (job.method == 1) diagonal();
            backward(job.method == 0);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t.lane + r * L;
            if (i >= n) continue;
            const int p = out ? out[i] : i;
            good = good && finite(y[i]);
            b(p < 0 ? ~p : p, c) = y[i];
        }
        sync();
        return good;
    }
};

/** Shared memory for the factors of order n and a right-hand side per warp. By each thread for
 *  itself; no barrier. */
template <class T> __host__ __device__ inline size_t solve_bytes(int n, int warps) {
    return ((n * (size_t)shared_ld(n) + (size_t)warps * n) * sizeof(T) + 15) / 16 * 16;
}

/** X := A^-1 B from the factors, a matrix per tile. By all threads of the matrix; contains their
 *  barrier. */
template <class T, class TILE>
__global__ void __launch_bounds__(TILE_BLOCK) solve_kernel(const part job) {
    MPKI_SMEM;
    __shared__ double between[TILE::W];
    const TILE t(between);
    const long long place = TILE::place();
    if (place >= job.count) return;
    const int n = job.n, ld = shared_ld(n);
    const long long at = job.matrix(place);
    T *w = (T *)(smem + (TILE::W == 1 ? threadIdx.x / TILE::L : 0) * solve_bytes<T>(n, TILE::W));
    const view<T> a = view_of<T>(job.a, at), b = view_of<T>(job.b, at);
    const int lists = job.method == 2 ? 2 : 1;
    const int *rows = job.pivots ? job.pivots + at * job.most * lists : NULL;
    const int *out = rows && lists == 2 ? rows + job.most : rows;
    bits marks = 0, none;
    bool good = true;
    if (rows) good = read_marks(t, n, rows, job.method == 1, &marks);
    if (rows && lists == 2) good = read_marks(t, n, out, false, &none) && good;
    if (!good) {
        if (t.leads()) job.report(at, 2, 0, 0, 0);
        return;
    }
    for (int j = t.warp; j < n; j += TILE::W)
#pragma unroll
        for (int r = 0; r < TILE::ROWS; ++r) {
            const int i = t.lane + r * TILE::L;
            if (i < n && (i >= j || job.method == 2)) w[i + j * ld] = a(i, j);
        }
    t.sync();
    solver<T, TILE> e = {t, job, n, ld, w, w + n * ld + t.warp * n, marks};
    for (int c = t.warp; c < job.nrhs; c += TILE::W) good = e.one(b, c, rows, out) && good;
    const bool bad = t.any_of_all(!good), singular = job.nrhs > 0 && e.singular();
    if (t.leads()) job.report(at, bad ? 3 : singular ? 1 : 0, 0, 0, 0);
}

} // namespace mpki
#endif
