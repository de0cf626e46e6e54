/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_FACTOR_CUH
#define MPKI_CUDA_BLOCK_FACTOR_FACTOR_CUH
/** L D L^T of a diagonal block with the explicit M = L^-1 P, by a warp in shared memory: the
 *  algorithm and the decisions of kernels/block_factor_k.c, in its order. Lanes are columns; all
 *  lanes know what the pivots are. */
#include "kernels/alpha.h"
#include "packed.cuh"

#include <metapack/options.h>

namespace mpki {

template <class R> struct pivot_report {
    int positive, negative, zero, perturbed, two_by_two;
    R smallest, largest, norm_m;
    int failed; /* rows from here on could not be pivoted, or -1 */
    bool indefinite;
};

/** An empty report. By each thread for itself; no barrier. */
template <class R> __device__ inline void begin_report(pivot_report<R> &report) {
    report.positive = report.negative = report.zero = report.perturbed = report.two_by_two = 0;
    report.smallest = (R)INFINITY, report.largest = report.norm_m = 0;
    report.failed = -1;
    report.indefinite = false;
}

/** The largest value of the warp, none of which is NaN. By all lanes of a warp, in shuffles; no
 *  block barrier. */
template <class R> __device__ inline R warp_max(R value) {
#pragma unroll
    for (int h = 16; h; h /= 2) {
        const R v = __shfl_xor_sync(WARP, value, h);
        if (v > value) value = v;
    }
    return value;
}
/** The largest value >= 0 of the warp, by its bits. By all lanes of a warp, in shuffles; no
 *  block barrier. */
__device__ inline float largest_of(float value) {
    return __uint_as_float(__reduce_max_sync(WARP, __float_as_uint(value)));
}
__device__ inline double largest_of(double value) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    const unsigned high = __reduce_max_sync(WARP, (unsigned)(bits >> 32));
    const unsigned low = __reduce_max_sync(WARP, bits >> 32 == high ? (unsigned)bits : 0);
    return __longlong_as_double((long long)((unsigned long long)high << 32 | low));
}
/** The largest value of the warp; NaN and infinity stay. By all lanes of a warp, in shuffles; no
 *  block barrier. */
template <class R> __device__ inline R warp_most(R value) {
#pragma unroll
    for (int h = 16; h; h /= 2) {
        const R v = __shfl_xor_sync(WARP, value, h);
        if (!(v <= value) && value == value) value = v;
    }
    return value;
}

/** Are all w x w entries of c finite? By all lanes of a warp, in shuffles; no block barrier. */
template <class T> __device__ inline bool warp_finite(int w, int ld, const T *c) {
    const int lane = (int)(threadIdx.x % 32);
    bool bad = false;
    for (int r = 0; r < w && lane < w; ++r) bad |= !(abs1(c[r * ld + lane]) * 0 == 0);
    return !__any_sync(WARP, bad);
}

/** The largest modulus of m (w x w); not finite if an entry is not. By all lanes of a warp, in
 *  shuffles; no block barrier. */
template <class T>
__device__ inline typename scalar_of<T>::real warp_norm(int w, int ld, const T *m) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)(threadIdx.x % 32);
    R most = 0;
    for (int r = 0; r < w && lane < w; ++r) {
        const R x = modulus(m[r * ld + lane]);
        if (!(x <= most) && most == most) most = x;
    }
    return warp_most(most);
}

/** m := L^-1 P, row by row: row k of lt holds column k of L, whose row i is at index[i] (NULL:
 *  i); perm[i]: the old row at place i. By all lanes of a warp; ends with __syncwarp(). */
template <class T>
__device__ inline void warp_inverse(int w, int ld, const T *lt, const unsigned char *index,
                                    const unsigned char *perm, T *m) {
    const int lane = (int)(threadIdx.x % 32);
    for (int i = 0; i < w; ++i) {
        const int p = perm[i], q = index ? index[i] : i;
        T x = make<T>(lane == p);
#pragma unroll 4
        for (int k = 0; k < i; ++k)
            if (lane < w) nfma(x, m[k * ld + lane], lt[k * ld + q]);
        if (lane < w) m[i * ld + lane] = x;
    }
    __syncwarp();
}

/** The result of warp_inverse() by the same operations, with the lane's column in registers, so
 *  that none waits for memory that was just written. Rows from w on are not used. By all lanes
 *  of a warp; ends with __syncwarp(). */
template <class T>
__device__ inline void inverse_in_registers(int w, int ld, const T *lt, const unsigned char *index,
                                            const unsigned char *perm, T *m) {
    const int lane = (int)(threadIdx.x % 32);
    const int p = lane < w ? perm[lane] : -1, q = lane < w && index ? index[lane]
                                                  : lane < w        ? lane
                                                                    : 0;
    int at[32];
    T x[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        at[i] = __shfl_sync(WARP, q, i);
        x[i] = make<T>(__shfl_sync(WARP, p, i) == lane);
    }
#pragma unroll
    for (int k = 0; k < 31; ++k) {
        if (k + 1 >= w) break;
        const T *const column = lt + k * ld;
#pragma unroll
        for (int i = k + 1; i < 32; ++i) nfma(x[i], x[k], column[at[i]]);
    }
#pragma unroll
    for (int i = 0; i < 32; ++i)
        if (i < w && lane < w) m[i * ld + lane] = x[i];
    __syncwarp();
}

/** m := L^-1 P, as above, in registers. By all lanes of a warp; ends with __syncwarp(). */
__device__ inline void warp_inverse(int w, int ld, const double *lt, const unsigned char *index,
                                    const unsigned char *perm, double *m) {
    inverse_in_registers(w, ld, lt, index, perm, m);
}
__device__ inline void warp_inverse(int w, int ld, const float *lt, const unsigned char *index,
                                    const unsigned char *perm, float *m) {
    inverse_in_registers(w, ld, lt, index, perm, m);
}

/** c := U^T c V for butterflies of depth 1 with diagonals u and v, shared
 *  (kernels/block_inverse.h). By all lanes of a warp; ends with __syncwarp(). */
template <class T, class R>
__device__ inline void warp_butterfly(int w, int ld, const R *u, const R *v, T *c) {
    const int lane = (int)(threadIdx.x % 32), half = w / 2;
    const R s = (R)0.70710678118654752440;
    for (int i = lane; i < w; i += 32) { /* a row a lane */
        T *const row = c + i * ld;
        for (int k = 0; k < half; ++k) {
            const T a = row[k], b = row[half + k];
            row[k] = times(a + b, s * v[k]);
            row[half + k] = times(a - b, s * v[half + k]);
        }
        if (w % 2) row[w - 1] = times(row[w - 1], v[w - 1]);
    }
    __syncwarp();
    if (lane < w) {
        for (int i = 0; i < half; ++i) {
            const T a = c[i * ld + lane], b = c[(half + i) * ld + lane];
            c[i * ld + lane] = times(a + b, s * u[i]);
            c[(half + i) * ld + lane] = times(a - b, s * u[half + i]);
        }
        if (w % 2) c[(w - 1) * ld + lane] = times(c[(w - 1) * ld + lane], u[w - 1]);
    }
    __syncwarp();
}

/** m := m B^T for the butterfly B. By all lanes of a warp; ends with __syncwarp(). */
template <class T, class R>
__device__ inline void warp_butterfly_of_m(int w, int ld, const R *butterfly, T *m) {
    const int half = w / 2;
    const R s = (R)0.70710678118654752440;
    for (int i = (int)(threadIdx.x % 32); i < w; i += 32) {
        T *const row = m + i * ld;
        for (int k = 0; k < half; ++k) {
            const T a = times(row[k], s * butterfly[k]);
            const T b = times(row[half + k], s * butterfly[half + k]);
            row[k] = a + b, row[half + k] = a - b;
        }
        if (w % 2) row[w - 1] = times(row[w - 1], butterfly[w - 1]);
    }
    __syncwarp();
}

/** Lists of a block that is being pivoted; shared memory. */
struct pivot_lists {
    unsigned char perm[32], place[32], upto[32], col[32];
};

/** An elimination with symmetric pivoting by a warp. Rows stay where they are; a row is brought
 *  up to date when it is a candidate. */
template <class T> struct warp_ldlt {
    typedef typename scalar_of<T>::real R;
    const int lane, w, ld;
    const bool herm;
    R floor, nothing; /* MPKI_NOTHING of the floor */
    T *const c, *const lt, *const u, *const d,
                                         *const dinv; /* d, dinv: 2 w; u: rows of C by pivots */
    int order, place,
        upto;       /* lane p: the row of pivot p; lane r: where row r is, its pivots so far */
    unsigned alive; /* columns */
    pivot_report<R> &report;
    int width, pi, pj; /* the next pivot */

    /** w candidates in c (shared, ld); lt, u: w x ld, shared; d, dinv: 2 w. By each thread for
     *  itself; no barrier. */
    __device__ warp_ldlt(int w_, int ld_, bool hermitian, R floor_, T *c_, T *lt_, T *u_, T *d_,
                         T *dinv_, pivot_report<R> &report_)
        : lane((int)(threadIdx.x % 32)), w(w_), ld(ld_), herm(scalar_of<T>::complex && hermitian),
          floor(floor_), nothing(floor_ * (R)MPKI_NOTHING(sizeof(R))), c(c_), lt(lt_), u(u_), d(d_),
          dinv(dinv_), order(lane), place(lane), upto(0), alive(low_bits(w_)), report(report_) {}

    /** The row of pivot p. By all lanes of a warp, in shuffles; no block barrier. */
    __device__ int perm(int p) const { return __shfl_sync(WARP, order, p); }
    /** Where `row` stands. By all lanes of a warp, in shuffles; no block barrier. */
    __device__ int place_of(int row) const { return __shfl_sync(WARP, place, row); }
    /** Entry (i, j) of C. By each thread for itself; no barrier. */
    __device__ T &at(int i, int j) const { return c[i * ld + j]; }
    /** |re c_ij| + |im c_ij|. By each thread for itself; no barrier. */
    __device__ R size(int i, int j) const { return abs1(at(i, j)); }
    /** (1 + sqrt(17)) / 8, Bunch and Parlett's bound. By each thread for itself; no barrier. */
    static __device__ R alpha() { return (R)MPKI_ALPHA; }

    /** `row` and the row of pivot p change places. By all lanes of a warp, in shuffles; no block
     *  barrier. */
    __device__ void bring_to(int p, int row) {
        const int q = place_of(row), other = perm(p);
        if (lane == q) order = other;
        if (lane == p) order = row;
        if (lane == other) place = q;
        if (lane == row) place = p;
    }

    /** c_r -= sum_k lt_kr u_k over the pivots that row r has not had, up to p. By all lanes of a
     *  warp; ends with __syncwarp(). */
    __device__ void update(int r, int p) {
        const int from = __shfl_sync(WARP, upto, r);
        if (from == p) return;
        if (lane < w) {
            T x = at(r, lane), sum = make<T>(0);
#pragma unroll 4
            for (int k = from; k < p; ++k) pfma(sum, u[k * ld + lane], lt[k * ld + r]);
            x = x - sum;
            at(r, lane) = alive >> lane & 1 ? x : make<T>(0);
        }
        if (lane == r) upto = p;
        __syncwarp();
    }

    /** Sizes above this times the largest count as equal (MPKI_TIE). By each thread for itself;
     *  no barrier. */
    static __device__ R equal() {
        return 1 - (R)MPKI_TIE(sizeof(R));
    }

    /** Where row i is largest off the diagonal, the first of equal ones; -1: all of that is
     *  nothing. By all lanes of a warp; contains __syncwarp(). */
    __device__ int largest(int i, int p, R *value) {
        update(i, p);
        const R here = lane < w && lane != i ? size(i, lane) : 0;
        const R top = largest_of(here > 0 ? here : (R)0);
        *value = top;
        const unsigned first = __ballot_sync(WARP, top > nothing && here >= top * equal());
        return first ? __ffs((int)first) - 1 : -1;
    }

    /** The next pivot is of order 1, row i. By each thread for itself; no barrier. */
    __device__ void one(int i) {
        width = 1, pi = pj = i;
    }
    /** The next pivot is of order 2, rows i and j. By each thread for itself; no barrier. */
    __device__ void two(int i, int j) {
        width = 2, pi = i, pj = j;
    }

    /** Chooses the next pivot by partial pivoting (Bunch & Kaufman 1977). By all lanes of a
     *  warp; contains __syncwarp(). */
    __device__ void bunch_kaufman(int p) {
        R column, row;
        const int i = perm(p), r = largest(i, p, &column);
        if (r < 0 || size(i, i) >= alpha() * column) return one(i);
        largest(r, p, &row);
        if (size(i, i) >= alpha() * column * (column / row)) return one(i);
        if (size(r, r) >= alpha() * row) return one(r);
        two(i, r);
    }

    /** Chooses it by rook pivoting (Ashcraft, Grimes & Lewis 1998). By all lanes of a warp;
     *  contains __syncwarp(). */
    __device__ void rook(int p) {
        R column, row;
        int i = perm(p), r = largest(i, p, &column);
        if (r < 0 || size(i, i) >= alpha() * column) return one(i);
        for (;;) { /* the largest entry seen grows, by more than rounding, so this ends */
            const int s = largest(r, p, &row);
            if (s < 0 || size(r, r) >= alpha() * row) return one(r);
            if (s == i || !(row * equal() > column)) return two(i, r);
            i = r, r = s, column = row;
        }
    }

    /** Chooses it by complete pivoting (Bunch & Parlett 1971): of equal ones the first, by
     *  columns. By all lanes of a warp; contains __syncwarp(). */
    __device__ void complete(int p) {
        R most = 0, diagonal = -1;
        for (int q = p; q < w; ++q) {
            const int r = perm(q);
            update(r, p);
            const R x = lane < w ? size(r, lane) : 0;
            if (x > most) most = x;
            if (r == lane && x >= 0) diagonal = x;
        }
        const R top = warp_max(most), best = warp_max(diagonal);
        if (!(top > nothing)) return one(perm(p));
        if (!(best < alpha() * top)) {
            const unsigned first = __ballot_sync(WARP, diagonal >= 0 && diagonal >= best * equal());
            return one(first ? __ffs((int)first) - 1 : perm(p));
        }
        const int i = __ffs((int)__ballot_sync(WARP, most >= top * equal())) - 1;
        const unsigned row = __ballot_sync(WARP, lane < w && size(i, lane) >= top * equal());
        R value;
        const int j = row ? __ffs((int)row) - 1 : largest(i, p, &value);
        if (j < 0 || j == i) return one(i);
        two(i, j);
    }

    /** Chooses the row with the largest diagonal entry. By all lanes of a warp; contains
     *  __syncwarp(). */
    __device__ void largest_diagonal(int p) {
        R most = -1;
        one(perm(p));
        for (int q = p; q < w; ++q) {
            const int r = perm(q);
            update(r, p);
            const R x = re(at(r, r));
            if (x > most) most = x, pi = pj = r;
        }
    }

    /** Chooses row perm(p) or, where the matching pairs it with a row that is left, both or the
     *  better one. pair: the partner of the lane's row within the frame, or -1. By all lanes of
     *  a warp; contains __syncwarp(). */
    __device__ void paired(int pair, int p) {
        const int i = perm(p), j = __shfl_sync(WARP, pair, i);
        update(i, p);
        const int back = j >= 0 && j < w ? __shfl_sync(WARP, pair, j) : -1;
        if (j == i || j < 0 || j >= w || back != i || place_of(j) < p) return one(i);
        update(j, p);
        R large, small, least = floor;
        pair_moduli(at(i, i), at(i, j), at(j, j), herm, &large, &small);
        if (8 * epsilon<R>() * large > least) least = 8 * epsilon<R>() * large;
        if (small > least) return two(i, j);
        const int k = size(j, j) > size(i, i) ? j : i;
        if (size(k, k) > floor) return one(k);
        two(i, j);
        if (!(size(i, j) > 0)) width = 1;
    }

    /** Chooses the next pivot by type and pivoting of the factorization. By all lanes of a warp;
     *  contains __syncwarp(). */
    __device__ void choose(int type, int pivoting, bool pairs, int pair, int p) {
        if (type == MPK_TYPE_LLT && pivoting >= MPK_PIVOTING_ROOK) return largest_diagonal(p);
        if (type != MPK_TYPE_LLT) {
            if (pivoting == MPK_PIVOTING_STATIC && pairs) return paired(pair, p);
            if (pivoting == MPK_PIVOTING_PARTIAL) return bunch_kaufman(p);
            if (pivoting == MPK_PIVOTING_ROOK) return rook(p);
            if (pivoting == MPK_PIVOTING_COMPLETE) return complete(p);
        }
        const int i = perm(p);
        update(i, p);
        one(i);
    }

    /** The report's smallest and largest pivot. By each thread for itself; no barrier. */
    __device__ void note(R x) {
        if (x < report.smallest) report.smallest = x;
        if (x > report.largest) report.largest = x;
    }
    /** Counts an eigenvalue by its sign. By each thread for itself; no barrier. */
    __device__ void count_sign(R value) {
        if (scalar_of<T>::complex && !herm) return;
        if (value > 0)
            ++report.positive;
        else
            ++report.negative;
    }
    /** D and D^-1 at place k of their arrays. By all lanes of a warp, of which the first one
     *  writes. */
    __device__ void put(int k, T x, T y) { /* D and D^-1 at k */
        if (lane == 0) d[k] = x, dinv[k] = y;
    }

    /** D(p, p) := x, or +-least where |x| is no larger; returns the inverse, 0 where the pivot
     *  is zero. By each thread for itself; no barrier. */
    __device__ T set_single(int p, T x, R least) {
        const R size = modulus(x);
        put(2 * p + 1, make<T>(0), make<T>(0));
        if (!(size > (least > tiny<R>() ? least : tiny<R>()))) {
            if (!(least > tiny<R>())) {
                ++report.zero;
                put(2 * p, x, make<T>(0));
                return make<T>(0);
            }
            const T sign = size > nothing ? over(x, size) : make<T>(1);
            x = times(sign, least);
            ++report.perturbed;
        }
        count_sign(re(x));
        const T inv = inverse(x);
        put(2 * p, x, inv);
        return inv;
    }

    /** Row and column p of L and of u for a pivot of order 1. By all lanes of a warp; ends with
     *  __syncwarp(). */
    __device__ void eliminate_single(int p) {
        const int r = pi;
        const T x = at(r, r), dd = herm ? make<T>((double)re(x)) : x;
        note(modulus(dd));
        alive &= ~(1u << r);
        const int zero = report.zero;
        const T inv = set_single(p, dd, floor);
        if (lane < w) {
            const T y = at(r, lane);
            u[p * ld + lane] = y;
            lt[p * ld + lane] = report.zero > zero ? make<T>(0) : cj(herm, y) * inv;
        }
        __syncwarp();
    }

    /** The same for a pivot of order 2, raised to the floor where needed. By all lanes of a
     *  warp; ends with __syncwarp(). */
    __device__ void eliminate_double(int p) {
        const int i = pi, j = pj;
        T a = at(i, i), e = at(j, j), o = cj(herm, at(i, j));
        if (herm) a = make<T>((double)re(a)), e = make<T>((double)re(e));
        R large, small;
        pair_moduli(a, o, e, herm, &large, &small);
        note(large), note(small);
        if (!(small > floor)) {
            if (scalar_of<T>::complex && !herm) {
                report.perturbed += raise_complex(floor, nothing, &a, &o, &e);
            } else {
                R x = re(a), z = re(e);
                report.perturbed += raise_real(floor, nothing, &x, &o, &z);
                a = make<T>((double)x), e = make<T>((double)z);
            }
        }
        T e11, e21 = make<T>(0), e22;
        if (!(abs1(o) > 0)) { /* half the floor, so that what was raised to it stays */
            e11 = set_single(p, a, floor / 2);
            e22 = set_single(p + 1, e, floor / 2);
        } else {
            const pair_inverse<T> q(a, o, e, herm);
            put(2 * p, a, q.i11), put(2 * p + 1, o, q.i21);
            put(2 * p + 2, e, q.i22), put(2 * p + 3, make<T>(0), make<T>(0));
            e11 = q.i11, e21 = q.i21, e22 = q.i22;
            ++report.two_by_two;
            if (!scalar_of<T>::complex || herm) {
                pair_eigen(re(a), modulus(o), re(e), &large, &small);
                count_sign(large), count_sign(small);
            }
        }
        alive &= ~(1u << i | 1u << j);
        if (lane < w) {
            u[p * ld + lane] = at(i, lane), u[(p + 1) * ld + lane] = at(j, lane);
            const T x = cj(herm, at(i, lane)), y = cj(herm, at(j, lane));
            lt[p * ld + lane] = lane == j ? make<T>(0) : x * e11 + y * e21;
            lt[(p + 1) * ld + lane] = x * cj(herm, e21) + y * e22;
        }
        __syncwarp();
    }

    /** Eliminates all candidates; false: it failed, as the report says. pair: see paired(). By
     *  all lanes of a warp; contains __syncwarp(). */
    __device__ bool run(int type, int pivoting, bool pairs, int pair) {
        for (int p = 0; p < w;) {
            choose(type, pivoting, pairs, pair, p);
            bring_to(p, pi);
            if (width == 2) bring_to(p + 1, pj);
            const T dp = at(pi, pi);
            if (!in_range(dp) || (type == MPK_TYPE_LLT && !(re(dp) > 0))) {
                report.failed = p;
                report.indefinite = in_range(dp);
                return false;
            }
            if (width == 1)
                eliminate_single(p);
            else
                eliminate_double(p);
            p += width;
        }
        return true;
    }
};

/** P C P^T = L D L^T: M = L^-1 P into m, D and D^-1 into d and dinv (2 w, of the device or
 *  shared). c is destroyed; c, lt, m: shared, w x ld; butterfly: shared, 2 w, or NULL. By all
 *  lanes of a warp; contains __syncwarp(). */
template <class T>
__device__ inline void
warp_factor_ldlt(int w, int ld, int type, int pivoting, bool pairs, int pair,
                 typename scalar_of<T>::real floor, const typename scalar_of<T>::real *butterfly,
                 bool hermitian, T *c, T *lt, T *m, T *d, T *dinv, pivot_lists *lists,
                 pivot_report<typename scalar_of<T>::real> &report) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)(threadIdx.x % 32);
    warp_ldlt<T> f(w, ld, hermitian, floor, c, lt, m, d, dinv, report);
    if (butterfly) warp_butterfly(w, ld, butterfly, butterfly, c);
    if (!f.run(type, pivoting, pairs && !butterfly, pair)) return;
    lists->perm[lane] = (unsigned char)f.order;
    __syncwarp();
    warp_inverse(w, ld, lt, lists->perm, lists->perm, m);
    if (butterfly) warp_butterfly_of_m(w, ld, butterfly, m);
    if (type == MPK_TYPE_LLT) { /* D := I, and the rows of M divided by roots of the pivots */
        for (int i = 0; i < w; ++i) {
            const R by = root(re(d[2 * i]));
            if (lane < w) m[i * ld + lane] = over(m[i * ld + lane], by);
        }
        __syncwarp();
        if (lane < w) d[2 * lane] = dinv[2 * lane] = make<T>(1);
        __syncwarp();
    }
    report.norm_m = warp_norm(w, ld, m);
    if (!(report.norm_m <= huge_of<R>())) report.failed = 0;
}

} // namespace mpki
#endif
