/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_THRESHOLD_CUH
#define MPKI_CUDA_DIRECT_THRESHOLD_CUH
/** Threshold partial pivoting by a thread block, column by column, against whole columns (Duff &
 *  Reid 1983), for the columns for which tiles find no pivot; complete pivoting in a root. As
 *  src/dense/threshold_t.c. F: where the front lies; at(i, j), i >= j. */
#include "common.cuh"

namespace mpki {

/** What a block needs beside the front. */
template <class R> struct search_space { best<R> best_[32]; };

template <class R> struct pivot_rules {
    R u, small, shift, noise;
    __device__ pivot_rules(const mpki_cuda_tree &t)
        : u((R)t.threshold), small((R)t.small), shift((R)t.shift), noise((R)t.noise) {}
    __device__ R least() const { return small > noise ? small : noise; }
};

/** All threads: exchange rows and columns i < j of the columns that may be eliminated. */
template <bool H, class F>
__device__ void front_exchange(const F &f, int *id, int n, int i, int j) {
    if (i == j) return;
    for (int k = (int)threadIdx.x; k < n; k += (int)blockDim.x) {
        if (k < i) {
            const auto t = f.at(i, k);
            f.at(i, k) = f.at(j, k), f.at(j, k) = t;
        } else if (k == i) {
            const auto t = f.at(i, i);
            f.at(i, i) = f.at(j, j), f.at(j, j) = t;
            const int o = id[i];
            id[i] = id[j], id[j] = o;
        } else if (k < j) {
            const auto t = cj<H>(f.at(k, i));
            f.at(k, i) = cj<H>(f.at(j, k)), f.at(j, k) = t;
        } else if (k == j) {
            f.at(j, i) = cj<H>(f.at(j, i));
        } else {
            const auto t = f.at(k, i);
            f.at(k, i) = f.at(k, j), f.at(k, j) = t;
        }
    }
    __syncthreads();
}

/** Column j from row p on: its largest entry off the diagonal, that of the partner excluded. */
template <class R> struct column_size {
    R most;   /**< infinite where there is NaN */
    R summed; /**< among the columns that may be eliminated ... */
    int row;  /**< ... and where; -1: none */
};

template <class T, class F>
__device__ column_size<typename scalar_of<T>::real>
column_scan(const F &f, int w, int n, int j, int p, int partner,
            search_space<typename scalar_of<T>::real> *space) {
    typedef typename scalar_of<T>::real R;
    const R none = (R)INFINITY;
    best<R> in = {0, 0x7fffffff}, below = {0, 0x7fffffff};
    for (int i = p + (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        if (i == partner) continue;
        R x = i < j ? abs1(f.at(j, i)) : abs1(f.at(i, j));
        if (!is_finite(x)) x = none;
        if (i == j) {
            if (x == none) below = {none, i};
        } else if (i < w) {
            if (x > in.value) in = {x, i};
        } else if (x > below.value) {
            below = {x, i};
        }
    }
    in = block_best(in, space->best_);
    below = block_best(below, space->best_);
    column_size<R> c;
    c.summed = in.value, c.row = in.value > 0 ? in.at : -1;
    c.most = in.value > below.value ? in.value : below.value;
    return c;
}

/** All threads: the pivot at p leaves the columns p + 1 .. last - 1. */
template <bool H, class T, class F>
__device__ void eliminate_one(const F &f, T *d, T *dinv, int n, int last, int p, T dk) {
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32,
              warps = (int)blockDim.x / 32;
    const T di = abs1(dk) > 0 ? inverse(dk) : make<T>(0);
    for (int j = p + 1 + warp; j < last; j += warps) {
        const T m = cj<H>(f.at(j, p)) * di;
        for (int i = j + lane; i < n; i += 32) nfma(f.at(i, j), f.at(i, p), m);
    }
    __syncthreads();
    for (int i = p + 1 + (int)threadIdx.x; i < n; i += (int)blockDim.x)
        f.at(i, p) = f.at(i, p) * di;
    if (threadIdx.x == 0) {
        d[2 * p] = dk, dinv[2 * p] = di;
        d[2 * p + 1] = dinv[2 * p + 1] = make<T>(0);
    }
    __syncthreads();
}

template <bool H, class T, class F>
__device__ void eliminate_pair(const F &f, T *d, T *dinv, int n, int last, int p) {
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32,
              warps = (int)blockDim.x / 32;
    const T d11 = diagonal<H>(f.at(p, p)), d21 = f.at(p + 1, p),
            d22 = diagonal<H>(f.at(p + 1, p + 1));
    T i11, i21, i22;
    pair_inverse<H>(d11, d21, d22, i11, i21, i22);
    __syncthreads();
    if (threadIdx.x == 0) {
        T *e = d + 2 * p, *ei = dinv + 2 * p;
        e[0] = d11, e[1] = d21, e[2] = d22, e[3] = make<T>(0);
        ei[0] = i11, ei[1] = i21, ei[2] = i22, ei[3] = make<T>(0);
        f.at(p + 1, p) = make<T>(0);
    }
    for (int j = p + 2 + warp; j < last; j += warps) {
        const T u = cj<H>(f.at(j, p)), v = cj<H>(f.at(j, p + 1));
        const T m1 = i11 * u + cj<H>(i21) * v, m2 = i21 * u + i22 * v;
        for (int i = j + lane; i < n; i += 32) {
            nfma(f.at(i, j), f.at(i, p), m1);
            nfma(f.at(i, j), f.at(i, p + 1), m2);
        }
    }
    __syncthreads();
    for (int i = p + 2 + (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        const T u = f.at(i, p), v = f.at(i, p + 1);
        f.at(i, p) = u * i11 + v * i21;
        f.at(i, p + 1) = u * cj<H>(i21) + v * i22;
    }
    __syncthreads();
}

/** Does the pair (j, r) keep |L| <= 1/u? Its determinant must not be cancellation. */
template <bool H, class T, class F, class R>
__device__ bool pair_passes(const F &f, const pivot_rules<R> &rules, int j, int r, R most_j,
                            R most_r) {
    const T off = j > r ? f.at(j, r) : cj<H>(f.at(r, j));
    const R a = abs1(f.at(j, j)), b = abs1(off), c = abs1(f.at(r, r));
    R scale = a > b ? a : b;
    scale = c > scale ? c : scale;
    if (!(b > 0) || !(scale > rules.small)) return false;
    const R s = 1 / scale;
    const T p1 = (f.at(j, j) * s) * f.at(r, r), p2 = (off * s) * cj<H>(off);
    const R det = abs1(p1 - p2), m1 = abs1(p1) / 2, m2 = abs1(p2) / 2;
    if (!(det > rules.small) || !(det >= m1) || !(det >= m2)) return false;
    const R x = (c * most_j + b * most_r) * s / det, y = (b * most_j + a * most_r) * s / det;
    return x <= 1 / rules.u && y <= 1 / rules.u;
}

/** All threads: where the largest entry is that remains, and the largest on the diagonal. */
template <class T, class F>
__device__ void largest_left(const F &f, int p, int w, int *row, int *col, int *diag,
                             bool *on_diagonal, search_space<typename scalar_of<T>::real> *space) {
    typedef typename scalar_of<T>::real R;
    best<R> any = {-1, 0x7fffffff}, on = {-1, 0x7fffffff};
    const int left = w - p, lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    for (int j = warp; j < left; j += (int)blockDim.x / 32)
        for (int i = j + lane; i < left; i += 32) {
            const best<R> x = {abs1(f.at(p + i, p + j)), i + j * left};
            any = better(any, x);
            if (i == j) on = better(on, best<R>{x.value, i});
        }
    any = block_best(any, space->best_);
    on = block_best(on, space->best_);
    *row = p + any.at % left, *col = p + any.at / left, *diag = p + on.at;
    *on_diagonal = on.value >= (R)0.64 * any.value;
}

/** All threads: try the columns p .. w-1, at most `most` pivots; entries of columns up to `last` are
 *  brought up to date. *search [inout] the column at which the search goes on. *over [out] nothing
 *  more can be eliminated. Returns p. */
template <bool H, class T, class F>
__device__ int threshold_columns(const F &f, T *d, T *dinv, int *id, int n, int w, int last, int p,
                                 int most, bool root,
                                 const pivot_rules<typename scalar_of<T>::real> &rules,
                                 mpki_cuda_flags *flags, int *search, bool *over,
                                 search_space<typename scalar_of<T>::real> *space) {
    typedef typename scalar_of<T>::real R;
    int next = *search;
    *over = false;
    while (p < w && most > 0) {
        int pick = -1, pair = -1;
        bool zero = false;
        if (next < p || next >= w) next = p;
        for (int tried = 0, j = next; tried < w - p && pick < 0;
             ++tried, j = j + 1 < w ? j + 1 : p) {
            next = j + 1;
            const column_size<R> c = column_scan<T>(f, w, n, j, p, -1, space);
            if (!is_finite(c.most)) {
                if (threadIdx.x == 0) flags->numeric = 1;
                *over = true, *search = next;
                return p;
            }
            const R x = abs1(f.at(j, j));
            if (!(x > rules.small) && !(c.most > rules.small)) {
                pick = j, zero = true;
            } else if (x > rules.small && x >= rules.u * c.most) {
                pick = j;
            } else if (c.row >= 0) {
                const int r = c.row;
                const R most_j = column_scan<T>(f, w, n, j, p, r, space).most;
                const R most_r = column_scan<T>(f, w, n, r, p, j, space).most;
                if (pair_passes<H, T>(f, rules, j, r, most_j, most_r)) pick = j, pair = r;
            }
        }
        if (pick < 0 && root) {
            int row, col, diag;
            bool on_diagonal;
            largest_left<T>(f, p, w, &row, &col, &diag, &on_diagonal, space);
            if (on_diagonal)
                pick = diag;
            else
                pick = col, pair = row;
        }
        if (pick < 0 && rules.shift > 0) {
            pick = p;
            __syncthreads();
            if (threadIdx.x == 0) {
                const T x = f.at(p, p);
                if (!(abs1(x) >= rules.shift))
                    f.at(p, p) = make<T>((double)(re(x) < 0 ? -rules.shift : rules.shift));
                atomicAdd(&flags->perturbed, 1ull);
            }
            __syncthreads();
        }
        if (pick < 0) {
            *over = true;
            break;
        }
        if (pair >= 0 && most < 2) break;
        __syncthreads();
        front_exchange<H>(f, id, n, p, pick);
        if (pair >= 0) front_exchange<H>(f, id, n, p + 1, pair == p ? pick : pair);
        if (zero) {
            for (int i = p + (int)threadIdx.x; i < n; i += (int)blockDim.x) f.at(i, p) = make<T>(0);
            __syncthreads();
            eliminate_one<H, T>(f, d, dinv, n, p + 1, p, make<T>(0));
            p += 1, most -= 1;
        } else if (pair < 0) {
            const T dk = diagonal<H>(f.at(p, p));
            __syncthreads();
            eliminate_one<H, T>(f, d, dinv, n, last, p, dk);
            p += 1, most -= 1;
        } else {
            eliminate_pair<H, T>(f, d, dinv, n, last, p);
            p += 2, most -= 2;
        }
    }
    if (p == w) *over = true;
    *search = next;
    return p;
}

} // namespace mpki
#endif
