/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_THRESHOLD_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_THRESHOLD_CUH
/** Threshold partial pivoting by one thread block (Duff & Reid 1983): one column after the other is
 *  tested against all rows of the front. It takes the columns for which tiles find no pivot; in a
 *  root, where no parent can take them, it falls back to complete pivoting. The host's twin is
 *  src/engines/cpu/front/threshold_t.c. F is the type of a front in memory: f.at(i, j) is its
 *  entry, i >= j. */
#include "../common.cuh"

#include <type_traits>

namespace mpki {

enum { SEARCHED = 32 /* columns that are measured together */ };

/** The sizes of the entries of a column from row p on, without its diagonal: the two largest in
 *  rows that may be eliminated, and the largest in the rows below these; infinite where there is
 *  NaN. */
template <class R> struct column_top {
    R first, second, below;
    int row; /**< of `first`; -1: none */
    /** A thread: the largest of all, the entry in row `partner` excluded. */
    __device__ R without(int partner) const {
        const R in = row == partner ? second : first;
        return in > below ? in : below;
    }
};

/** Shared memory of a search. */
template <class R> struct search_space {
    best<R> best_[32];
    column_top<R> top[SEARCHED];
};

/** The limits of a pivot, in the type of the entries: u, threshold: |l| <= 1 / u; small: a column
 *  of entries up to this is zero; shift: what replaces a pivot that fails, 0: nothing does; noise:
 *  the size of what rounding may leave. */
template <class R> struct pivot_rules {
    R u, small, shift, noise;
    __device__ pivot_rules(const mpki_cuda_tree &t)
        : u((R)t.threshold), small((R)t.small), shift((R)t.shift), noise((R)t.noise) {}
    /** A thread: a pivot of at most this size is none. */
    __device__ R least() const { return small > noise ? small : noise; }
};

/** A block: exchanges rows and columns i <= j, both among the columns that may be eliminated, of
 *  the lower triangle of n rows, and their positions. Barriers: it meets the block after it, not if
 *  i == j; the caller sees to it that the front is up to date before. */
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

/** A block: front_exchange() of i + k and j - k for all k < count, all of them different, at once.
 *  Barriers: as front_exchange(). */
template <bool H, class F>
__device__ void front_exchange_all(const F &f, int *id, int n, int i, int j, int count) {
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x, EACH = 4;
    const int between = j - count + 1 - (i + count), beyond = n - 1 - j, rows = between + beyond;
    typedef typename std::remove_reference<decltype(f.at(0, 0))>::type T;
    /* rows of columns before all of them; the rest of their columns */
    for (int e0 = tid; e0 < (i + rows) * count; e0 += EACH * threads) {
        T *a[EACH], *c[EACH], x[EACH], y[EACH];
        bool turned[EACH];
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const int e = e0 + q * threads, at = e - i * count;
            a[q] = NULL;
            if (e >= (i + rows) * count) continue;
            if (at < 0) {
                const int k = e % count, column = e / count;
                a[q] = &f.at(i + k, column), c[q] = &f.at(j - k, column), turned[q] = false;
            } else {
                const int k = at / rows, r = at % rows;
                turned[q] = r < between;
                const int row = turned[q] ? i + count + r : j + 1 + r - between;
                a[q] = &f.at(row, i + k);
                c[q] = turned[q] ? &f.at(j - k, row) : &f.at(row, j - k);
            }
            x[q] = *a[q], y[q] = *c[q];
        }
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            if (!a[q]) continue;
            *a[q] = turned[q] ? cj<H>(y[q]) : y[q];
            *c[q] = turned[q] ? cj<H>(x[q]) : x[q];
        }
    }
    /* entries of two of them: number z, which becomes number 2 count - 1 - z */
    const auto place = [&](int z) { return z < count ? i + z : j - (2 * count - 1 - z); };
    for (int e = tid; e < 4 * count * count; e += threads) {
        const int z = e % (2 * count), w = e / (2 * count), u = 2 * count - 1 - w,
                  v = 2 * count - 1 -
                      z; /* (z, w), z >= w, becomes (v, u), which is (u, v) turned */
        if (z < w || u + v * 2 * count < z + w * 2 * count) continue;
        T &here = f.at(place(z), place(w)), &there = f.at(place(u), place(v));
        const T t = here;
        if (u == z && v == w) {
            here = z == w ? t : cj<H>(t);
        } else {
            here = z == w ? there : cj<H>(there), there = z == w ? t : cj<H>(t);
        }
    }
    for (int k = tid; k < count; k += threads) {
        const int o = id[i + k];
        id[i + k] = id[j - k], id[j - k] = o;
    }
    __syncthreads();
}

/** A warp: the sizes of column j, p <= j < w, in rows p .. n - 1, for all its lanes. Barriers: it
 *  meets the warp. */
template <class T, class F>
__device__ column_top<typename scalar_of<T>::real> column_by_warp(const F &f, int w, int n, int j,
                                                                  int p) {
    typedef typename scalar_of<T>::real R;
    const R none = (R)INFINITY;
    const int lane = (int)threadIdx.x & 31;
    best<R> in = {0, 0x7fffffff};
    R second = 0, below = 0;
    for (int i = p + lane; i < n; i += 32) {
        R x = i < j ? abs1(f.at(j, i)) : abs1(f.at(i, j));
        if (!is_finite(x)) x = none;
        if (i == j) {
            if (x == none) below = none;
        } else if (i >= w) {
            below = x > below ? x : below;
        } else if (x > in.value) {
            second = in.value, in.value = x, in.at = i;
        } else if (x > second) {
            second = x;
        }
    }
    for (int o = 16; o; o >>= 1) {
        best<R> y;
        y.value = shfl_xor(in.value, o), y.at = __shfl_xor_sync(0xffffffffu, in.at, o);
        const R other = shfl_xor(second, o), under = shfl_xor(below, o);
        const best<R> most = better(in, y);
        const R lesser = most.at == in.at ? y.value : in.value;
        second = second > other ? second : other;
        second = lesser > second ? lesser : second;
        below = under > below ? under : below;
        in = most;
    }
    return {in.value, second, below, in.value > 0 ? in.at : -1};
}

/** A block: the sizes of column j, p <= j < w, in rows p .. n - 1, for all its threads. Barriers:
 *  it meets the block, also before it returns. */
template <class T, class F>
__device__ column_top<typename scalar_of<T>::real>
column_by_block(const F &f, int w, int n, int j, int p,
                search_space<typename scalar_of<T>::real> *space) {
    typedef typename scalar_of<T>::real R;
    const R none = (R)INFINITY;
    best<R> in = {0, 0x7fffffff}, second = {0, 0x7fffffff}, below = {0, 0x7fffffff};
    for (int i = p + (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        R x = i < j ? abs1(f.at(j, i)) : abs1(f.at(i, j));
        if (!is_finite(x)) x = none;
        if (i == j) {
            if (x == none) below = {none, i};
        } else if (i >= w) {
            below = better(below, best<R>{x, i});
        } else if (x > in.value) {
            second = in, in = {x, i};
        } else {
            second = better(second, best<R>{x, i});
        }
    }
    const best<R> first = block_best(in, space->best_);
    if (first.at == in.at) in = second;
    in = block_best(in, space->best_);
    below = block_best(below, space->best_);
    return {first.value, in.value, below.value, first.value > 0 ? first.at : -1};
}

/** A block: eliminates column p by the pivot dk: F(i, j) -= F(i, p) conj(F(j, p)) / dk for p < j <
 *  last, i >= j; then column p becomes L, and D and D^-1 get dk and 1 / dk, or 0 for 0. Barriers:
 *  it meets the block, also before it returns. */
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

/** A block: eliminates columns p and p + 1 by the pivot of order 2 on their diagonal: F(i, j) -=
 *  F(i, p..p+1) D^-1 F(j, p..p+1)^H for p + 1 < j < last, i >= j; then both columns become L, and D
 *  and D^-1 get the pivot. Barriers: it meets the block, also before it returns. */
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

/** A thread: does the pivot of order 2 of columns j and r keep |L| <= 1 / u? most_j, most_r: the
 *  largest entries of the two columns without each other's row. Its determinant must not be the
 *  difference of nearly equal numbers. Barriers: none. */
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

/** A block: finds the largest entry of columns p .. w - 1, at (row, col), and the largest on the
 *  diagonal, diag; on_diagonal: the latter is large enough for complete pivoting (Bunch & Parlett
 *  1971: 0.64 of the former). Barriers: it meets the block, also before it returns. */
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

/** What a search has found: a column, or a pair of columns, or that a column is zero, or that there
 *  is NaN. */
struct pivot_found {
    int pick, pair;    /**< columns; -1: none */
    bool zero, broken; /**< the column is zero; there is NaN in one */
};

/** What a candidate is: no pivot; a zero column; a pivot of order 1; one of order 2; perhaps one of
 *  order 2, but the sizes of its partner were not measured; a column with NaN. */
enum candidate_kind { NO_PIVOT, ZERO_PIVOT, ONE_PIVOT, PAIR_PIVOT, PAIR_APART, BROKEN };

/** A thread: what candidate number c is, of the `count` columns whose sizes are in `top`: those
 *  from column `from` on, in a circle of the `left` columns from p on. Barriers: none. */
template <bool H, class T, class F, class R>
__device__ int candidate(const F &f, const pivot_rules<R> &rules, int p, int left, int from, int c,
                         int count, const column_top<R> *top) {
    const int j = p + (from - p + c) % left;
    const column_top<R> mine = top[c];
    const R most = mine.without(-2), x = abs1(f.at(j, j));
    if (!is_finite(most)) return BROKEN;
    if (!(x > rules.small) && !(most > rules.small)) return ZERO_PIVOT;
    if (x > rules.small && x >= rules.u * most) return ONE_PIVOT;
    if (mine.row < 0) return NO_PIVOT;
    const int other = (mine.row - from + left) % left;
    if (other >= count) return PAIR_APART;
    return pair_passes<H, T>(f, rules, j, mine.row, mine.without(mine.row), top[other].without(j))
               ? PAIR_PIVOT
               : NO_PIVOT;
}

/** A block: the first column from *next on, in a circle over p .. w - 1, that is a pivot by itself
 *  or with its largest partner. Up to SEARCHED columns are measured together, a warp for each; of a
 *  front of more than 1024 rows one column, by all warps. *next [out] the column after it. Called
 *  by threshold_columns(). Barriers: it meets the block; the caller meets it once more before it
 *  writes to the front. */
template <bool H, class T, class F>
__device__ pivot_found find_pivot(const F &f, int w, int n, int p, int *next,
                                  const pivot_rules<typename scalar_of<T>::real> &rules,
                                  search_space<typename scalar_of<T>::real> *space) {
    const int left = w - p, lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    const int most = n > 1024 ? 1 : 2 * warps < SEARCHED ? 2 * warps : (int)SEARCHED;
    for (int tried = 0; tried < left;) {
        const int from = *next;
        const int count = left - tried < most ? left - tried : most;
        __syncthreads();
        for (int c = warp; c < count && most > 1; c += warps) {
            const auto top = column_by_warp<T>(f, w, n, p + (from - p + c) % left, p);
            if (lane == 0) space->top[c] = top;
        }
        if (most == 1) {
            const auto top = column_by_block<T>(f, w, n, from, p, space);
            if (threadIdx.x == 0) space->top[0] = top;
        }
        __syncthreads();
        const int kind = lane < count
                             ? candidate<H, T>(f, rules, p, left, from, lane, count, space->top)
                             : (int)NO_PIVOT;
        for (unsigned good = __ballot_sync(0xffffffffu, kind != NO_PIVOT); good; good &= good - 1) {
            const int c = __ffs((int)good) - 1, what = __shfl_sync(0xffffffffu, kind, c);
            const int j = p + (from - p + c) % left, r = space->top[c].row;
            *next = j + 1 < w ? j + 1 : p;
            if (what == BROKEN) return {-1, -1, false, true};
            if (what == ZERO_PIVOT) return {j, -1, true, false};
            if (what == ONE_PIVOT) return {j, -1, false, false};
            if (what == PAIR_PIVOT) return {j, r, false, false};
            const auto most_j = space->top[c].without(r);
            if (pair_passes<H, T>(f, rules, j, r, most_j,
                                  column_by_block<T>(f, w, n, r, p, space).without(j)))
                return {j, r, false, false};
        }
        tried += count;
        *next = p + (from - p + count) % left;
    }
    return {-1, -1, false, false};
}

/** A block: if no entry of columns p .. w - 1 is above `small`, they are zero: L and D of all of them
 *  at once, which one after the other is most of the time of a front of low rank. Returns whether it
 *  is so. Barriers: it meets the block, also before it returns. */
template <class T, class F>
__device__ bool rest_is_zero(const F &f, T *d, T *dinv, int n, int w, int p,
                             typename scalar_of<T>::real small,
                             search_space<typename scalar_of<T>::real> *space) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    best<R> any = {0, 0}; /* 1: one is larger, or NaN */
    for (int j = p + warp; j < w; j += warps)
        for (int i = j + lane; i < n; i += 32)
            if (!(abs1(f.at(i, j)) <= small)) any.value = 1;
    if (block_best(any, space->best_).value > 0) return false;
    __syncthreads();
    for (int j = p + warp; j < w; j += warps)
        for (int i = j + lane; i < n; i += 32) f.at(i, j) = make<T>(0);
    for (int k = 2 * p + (int)threadIdx.x; k < 2 * w; k += (int)blockDim.x)
        d[k] = dinv[k] = make<T>(0);
    __syncthreads();
    return true;
}

/** A block: eliminates at most `most` pivots from columns p .. w - 1, one search after the other,
 *  and brings columns up to last - 1 up to date. root: if no column passes, the largest entry of
 *  all is taken; else, with a shift, the diagonal entry is replaced; else it ends. *search [inout]
 *  the column at which the search goes on; *over [out] nothing more can be eliminated, or there was
 *  NaN, which a flag says. Returns the first column that is not eliminated. Barriers: it meets the
 *  block; what it leaves is there for all threads. */
template <bool H, class T, class F>
__device__ int threshold_columns(const F &f, T *d, T *dinv, int *id, int n, int w, int last, int p,
                                 int most, bool root,
                                 const pivot_rules<typename scalar_of<T>::real> &rules,
                                 mpki_cuda_flags *flags, int *search, bool *over,
                                 search_space<typename scalar_of<T>::real> *space) {
    int next = *search, zeros = 0; /* in a row */
    *over = false;
    while (p < w && most > 0) {
        if (next < p || next >= w) next = p;
        const pivot_found found = find_pivot<H, T>(f, w, n, p, &next, rules, space);
        if (found.broken) {
            if (threadIdx.x == 0) flags->numeric = 1;
            *over = true, *search = next;
            return p;
        }
        int pick = found.pick, pair = found.pair;
        const bool zero = found.zero;
        zeros = zero ? zeros + 1 : 0;
        if ((zeros & (zeros - 1)) == 0 && zeros > 0 && w - p <= most &&
            rest_is_zero(f, d, dinv, n, w, p, rules.small, space)) {
            p = w;
            break;
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
