/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_FACTOR_LDU_CUH
#define MPKI_CUDA_BLOCK_FACTOR_FACTOR_LDU_CUH
/** L D U of a diagonal block with separate pivoting of rows and columns, by a warp: the algorithm
 *  and the decisions of kernels/block_ldu_k.c. */
#include "factor.cuh"

namespace mpki {

/** An elimination with separate pivoting of rows and columns by a warp. */
template <class T> struct warp_ldu {
    typedef typename scalar_of<T>::real R;
    const int lane, w, ld;
    const R floor, nothing; /* MPKI_NOTHING of the floor */
    T *const c, *const lt;
    unsigned char *const row, *const col;
    pivot_report<R> &report;

    /** w candidates in c (shared, ld); lt: w x ld, shared. By all lanes of a warp; ends with
     *  __syncwarp(). */
    __device__ warp_ldu(int w_, int ld_, R floor_, T *c_, T *lt_, pivot_lists *lists,
                        pivot_report<R> &report_)
        : lane((int)(threadIdx.x % 32)), w(w_), ld(ld_), floor(floor_),
          nothing(floor_ * (R)MPKI_NOTHING(sizeof(R))), c(c_), lt(lt_), row(lists->perm),
          col(lists->col), report(report_) {
        row[lane] = col[lane] = (unsigned char)lane;
        __syncwarp();
    }

    /** Entry (i, j) of C. By each thread for itself; no barrier. */
    __device__ T &at(int i, int j) const { return c[i * ld + j]; }

    /** The lane from p on whose `here` is largest, the first of equal ones (MPKI_TIE); `but`
     *  where that is nothing, or no more than `size`, the entry seen last. By all lanes of a
     *  warp, in shuffles; no block barrier. */
    __device__ int largest(R here, int p, int but, R size) const {
        const bool counts = lane >= p && lane < w;
        const R top = warp_max(counts && here > 0 ? here : (R)0);
        const R least = top * (1 - (R)MPKI_TIE(sizeof(R)));
        const unsigned first = __ballot_sync(WARP, counts && here >= least);
        return top > nothing && least > size && first ? __ffs((int)first) - 1 : but;
    }
    /** The row from p on with the largest entry in column j; see largest(). By all lanes of a
     *  warp, in shuffles; no block barrier. */
    __device__ int largest_row(int j, int p, int but, R size) const {
        return largest(lane < w ? abs1(at(lane, j)) : (R)0, p, but, size);
    }
    /** The column from p on with the largest entry in row i; see largest(). By all lanes of a
     *  warp, in shuffles; no block barrier. */
    __device__ int largest_col(int i, int p, int but, R size) const {
        return largest(lane < w ? abs1(at(i, lane)) : (R)0, p, but, size);
    }

    /** Row *i and column *j of the next pivot. By all lanes of a warp, in shuffles; no block
     *  barrier. */
    __device__ void choose(int pivoting, int p, int *i, int *j) const {
        *i = *j = p;
        if (pivoting == MPK_PIVOTING_COMPLETE) {
            R top = -1;
            for (int r = p; r < w; ++r)
                if (lane >= p && lane < w && abs1(at(r, lane)) > top) top = abs1(at(r, lane));
            top = warp_max(top);
            if (!(top > nothing)) return;
            const R least = top * (1 - (R)MPKI_TIE(sizeof(R)));
            for (int r = p; r < w; ++r) { /* of equal ones the first, row by row */
                const unsigned equal =
                    __ballot_sync(WARP, lane >= p && lane < w && abs1(at(r, lane)) >= least);
                if (!equal) continue;
                *i = r, *j = __ffs((int)equal) - 1;
                break;
            }
            return;
        }
        if (pivoting != MPK_PIVOTING_PARTIAL && pivoting != MPK_PIVOTING_ROOK) return;
        *i = largest_row(p, p, p, abs1(at(p, p)));
        while (pivoting == MPK_PIVOTING_ROOK) { /* the entry grows, by more than rounding */
            const int k = largest_col(*i, p, *j, abs1(at(*i, *j)));
            if (k == *j) break;
            *j = k;
            const int r = largest_row(*j, p, *i, abs1(at(*i, *j)));
            if (r == *i) break;
            *i = r;
        }
    }

    /** Raises the pivot *d to the floor and counts it; returns its inverse, 0 if it is zero. By
     *  each thread for itself; no barrier. */
    __device__ T pivot(T *d) {
        const R size = modulus(*d);
        if (size < report.smallest) report.smallest = size;
        if (size > report.largest) report.largest = size;
        if (!(size > (floor > tiny<R>() ? floor : tiny<R>()))) {
            if (!(floor > tiny<R>())) return ++report.zero, make<T>(0);
            const T sign = size > nothing ? over(*d, size) : make<T>(1);
            *d = times(sign, floor);
            ++report.perturbed;
        }
        if (!scalar_of<T>::complex) {
            if (re(*d) > 0)
                ++report.positive;
            else
                ++report.negative;
        }
        return inverse(*d);
    }

    /** *x and *y change places. By each thread for itself; no barrier. */
    __device__ void swap(T *x, T *y) const {
        const T t = *x;
        *x = *y, *y = t;
    }
    /** Places p and q of a list of rows or columns change. By all lanes of a warp, of which the
     *  first one writes. */
    __device__ void swap_places(unsigned char *list, int p, int q) const {
        if (lane != 0) return;
        const unsigned char t = list[p];
        list[p] = list[q], list[q] = t;
    }

    /** Eliminates all candidates; D and D^-1 into d and dinv. False: it failed, as the report
     *  says. By all lanes of a warp; contains __syncwarp(). */
    __device__ bool run(int pivoting, T *d, T *dinv) {
        for (int p = 0; p < w; ++p) {
            int i, j;
            choose(pivoting, p, &i, &j);
            __syncwarp();
            if (i != p) {
                if (lane < w) swap(&at(p, lane), &at(i, lane));
                if (lane < p) swap(&lt[lane * ld + p], &lt[lane * ld + i]);
                swap_places(row, p, i);
                __syncwarp();
            }
            if (j != p) {
                if (lane < w) swap(&at(lane, p), &at(lane, j));
                swap_places(col, p, j);
                __syncwarp();
            }
            T dp = at(p, p);
            if (!in_range(dp)) {
                report.failed = p;
                return false;
            }
            const T e = pivot(&dp);
            if (lane == 0) {
                d[2 * p] = dp, dinv[2 * p] = e;
                d[2 * p + 1] = dinv[2 * p + 1] = make<T>(0);
            }
            if (lane > p && lane < w) lt[p * ld + lane] = at(lane, p) * e;
            __syncwarp();
            if (lane > p && lane < w) {
                const T u = at(p, lane);
                for (int r = p + 1; r < w; ++r) nfma(at(r, lane), lt[p * ld + r], u);
                at(p, lane) = u * e;
            }
            __syncwarp();
        }
        return true;
    }
};

/** P C Q = L D U: M = L^-1 P into m; after between(), which takes that, N = U^-T Q^T into m. c
 *  is destroyed. By all lanes of a warp; contains __syncwarp(). */
template <class T, class F>
__device__ inline void
warp_factor_ldu(int w, int ld, int pivoting, typename scalar_of<T>::real floor,
                const typename scalar_of<T>::real *butterfly, T *c, T *lt, T *m, T *d, T *dinv,
                pivot_lists *lists, pivot_report<typename scalar_of<T>::real> &report, F between) {
    typedef typename scalar_of<T>::real R;
    warp_ldu<T> f(w, ld, floor, c, lt, lists, report);
    if (butterfly) warp_butterfly(w, ld, butterfly, butterfly + w, c);
    if (!f.run(pivoting, d, dinv)) return;
    warp_inverse(w, ld, lt, (const unsigned char *)NULL, f.row, m);
    if (butterfly) warp_butterfly_of_m(w, ld, butterfly, m);
    const R norm_m = warp_norm(w, ld, m);
    between();
    warp_inverse(w, ld, c, (const unsigned char *)NULL, f.col, m);
    if (butterfly) warp_butterfly_of_m(w, ld, butterfly + w, m);
    const R norm_n = warp_norm(w, ld, m);
    report.norm_m = !(norm_n <= norm_m) ? norm_n : norm_m;
    if (!(report.norm_m <= huge_of<R>())) report.failed = 0;
}

} // namespace mpki
#endif
