/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_FRONT_CUH
#define MPKI_CUDA_SYSTEMS_FRONT_CUH
/** The multifrontal method on one system, with the pivots of a plan (src/systems/template.c): every
 *  entry has its products in the order of the pivots, whatever tiles and threads there are. A front
 *  is assembled in shared memory where it fits there, else where its L and its contribution lie. */
#include "common.cuh"

namespace mpki {
namespace systems {

/** What is summed up over all fronts. Pivots are counted by one warp's lanes, alike. */
template <class R> struct tally {
    R most, least, largest; /* |entry| of D; |eigenvalue| of its blocks; |L|, of each thread */
    int positive, negative, pairs;
    int counts; /* 1: this warp counts them, else 0 */
    bool passed;
    double small;
    R left; /* of its larger product a 2x2 determinant has at least this share */
};

/** A front: columns before w are at own[column(r, j) + i], those after at rest[...]; L goes to l,
 *  the contribution, from the last panel, to c (both as if the whole front began there). */
template <class T> struct front_at {
    int first, w, r;
    T *own, *rest, *l, *c;
    const signed char *pair;
};

/** A 1x1 pivot; returns its inverse. By each thread for itself; no barrier. */
template <class T, class R> __device__ inline T pivot1(bool hermitian, T &a, tally<R> &t) {
    if (hermitian) a = make<T>((double)re(a));
    const R size = modulus(a), most = most_part(a);
    t.passed = t.passed && (double)size > t.small && is_finite(size);
    t.most = most > t.most ? most : t.most;
    t.least = size < t.least ? size : t.least;
    if (t.counts) t.positive += re(a) > 0, t.negative += re(a) < 0;
    return inverse(a);
}

/** The determinant of [a, cj(b); b, c], p1 - p2, times `by`, and the inverse. By each thread for
 *  itself; no barrier. */
template <class T, class R>
__device__ inline T inverse2(bool hermitian, T a, T b, T c, T &i11, T &i21, T &i22, T &p1, T &p2,
                             R &most, R &by) {
    const R sa = modulus(a), sb = modulus(b), sc = modulus(c), top = sa > sb ? sa : sb;
    most = top > sc ? top : sc, by = power_below(most);
    p1 = a * by * c, p2 = b * by * cj(hermitian, b);
    const T det = p1 - p2, whole = inverse(det) * by;
    i11 = c * whole, i22 = a * whole, i21 = -(b * whole);
    return det;
}

/** A 2x2 pivot [a, cj(b); b, c] and its inverse [i11, cj(i21); i21, i22]: its determinant must not
 *  be cancellation, of which t.left tells how much. By each thread for itself; no barrier. */
template <class T, class R>
__device__ inline void pivot2(bool hermitian, T &a, T b, T &c, T &i11, T &i21, T &i22,
                              tally<R> &t) {
    if (hermitian) a = make<T>((double)re(a)), c = make<T>((double)re(c));
    T p1, p2;
    R most, by;
    const T det = inverse2(hermitian, a, b, c, i11, i21, i22, p1, p2, most, by);
    const R size = modulus(det);
    t.passed = t.passed && (double)most > t.small && (double)size > t.small * (double)(most * by) &&
               size >= modulus(p1) * t.left && size >= modulus(p2) * t.left && is_finite(size);
    const R ma = most_part(a), mb = most_part(b), mc = most_part(c);
    t.most = ma > t.most ? ma : t.most;
    t.most = mb > t.most ? mb : t.most;
    t.most = mc > t.most ? mc : t.most;
    /* eigenvalues: the larger one from the trace and the radius, the other from the determinant; in
     * single precision, for they are compared with bounds alone */
    const R mean = (re(a) + re(c)) / 2;
    const float half = (float)((re(a) - re(c)) * by) / 2, side = (float)(modulus(b) * by);
    const float large = (float)(most_part(mean) * by) + sqrtf(half * half + side * side);
    const R little = size * (R)(1 / large);
    t.least = little < t.least ? little : t.least;
    const int both = re(det) > 0, one = re(det) < 0;
    if (!t.counts) return;
    t.positive += one + (mean > 0 ? 2 * both : 0);
    t.negative += one + (mean < 0 ? 2 * both : 0);
    ++t.pairs;
}

/** L := entries of A, scaled, where fronts take them. By all threads of the gang; barriers, one at the
 *  end. */
template <class T> __device__ inline void place_entries(const at_work<T> &g) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const int64_t all = (p.home.d - p.home.l) / (int64_t)sizeof(T);
    for (int64_t k = g.t; k < all; k += g.nt) g.l[k] = make<T>(0);
    meet(g);
    for (int k = g.t; k < p.entries; k += g.nt) {
        const mpki_cuda_systems_entry e = p.entry[k];
        const T x = g.ax[e.from < 0 ? ~e.from : e.from] * (g.scale[e.i] * g.scale[e.j]);
        g.l[e.to] = e.from < 0 ? conj(x) : x;
    }
    meet(g);
}

/** x and what several children left. By each thread for itself; no barrier. */
template <class T>
__device__ inline T sum_of_more(const mpki_cuda_systems_plan &p, T x, const T *left, int code) {
    const int32_t *more = p.more + (code - 2) / 2;
    const int count = more[0];
    for (int k = 1; k <= count; ++k) x = x + left[more[k]];
    return x;
}

/** The entries of front f: a thread has all that comes to one of them. By threads t, t + nt, ...; no
 *  barrier. */
template <class T>
__device__ inline void assemble(const at_work<T> &g, const mpki_cuda_systems_front &f,
                                const front_at<T> &at, int t, int nt) {
    const int own = column(f.r, f.w) + f.w, all = f.r * (f.r + 1) / 2;
    const int32_t *code = g.plan->code + f.code;
    const int AHEAD = scalar_of<T>::complex ? 2 : 4; /* that are on their way at a time */
    for (int e0 = t; e0 < all; e0 += AHEAD * nt) {
        int from[AHEAD];
        T x[AHEAD], y[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int e = e0 + k * nt;
            from[k] = e < all ? code[e] : 0;
            x[k] = e < own ? at.l[e] : make<T>(0);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            y[k] = from[k] & MPKI_FROM_CHILD ? g.contribution[from[k] >> 1] : make<T>(0);
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int e = e0 + k * nt;
            if (from[k] & MPKI_FROM_CHILD)
                x[k] = x[k] + y[k];
            else if (from[k] > 0)
                x[k] = sum_of_more(*g.plan, x[k], g.contribution, from[k]);
            if (e < all) *(e < own ? at.own + e : at.rest + e) = x[k];
        }
    }
}

/** A panel in the making: nb pivots from p0 on, whose kinds have two bits each. In shared memory it
 *  follows those from `base` on, which have not come to what is behind them yet. */
struct panel_at {
    int p0, nb, base;
    unsigned kinds;
};
/** The panel from p0 on. By each thread for itself; no barrier. */
template <class T> __device__ inline panel_at panel_from(const front_at<T> &f, int p0, int base) {
    panel_at p = {p0, f.w - p0 < PANEL ? f.w - p0 : PANEL, base, 0};
#pragma unroll
    for (int c = 0; c < PANEL; ++c)
        if (c < p.nb) p.kinds |= (unsigned)f.pair[p0 + c] << 2 * c;
    if ((p.kinds >> 2 * (p.nb - 1) & 3) == 1) --p.nb; /* a pair stays together */
    return p;
}

/** The panel's pivots and its rows of L: each warp has the rows of the pivots, and others. What a
 *  warp cannot hold beside them comes to rows_below(). `tells`: D is this block's to write; `keeps`:
 *  L goes into its place at once. By all threads of a warp or block; a barrier of the block. */
template <class T, class R>
__device__ void eliminate_panel(const at_work<T> &g, const front_at<T> &f, const panel_at &p,
                                bool tells, bool keeps, tally<R> &t) {
    const int rows = g.rows, p0 = p.p0, nb = p.nb, lane = g.t % 32, warp = g.t / 32;
    const int a = lane < nb ? lane : lane + warp * (32 - nb);
    const bool in = p0 + a < f.r, mine = in && (lane >= nb || warp == 0);
    T x[PANEL];
#pragma unroll
    for (int b = 0; b < PANEL; ++b)
        x[b] = in && b < nb && b <= a ? f.own[column(f.r, p0 + b) + p0 + a] : make<T>(0);
    t.counts = tells && warp == 0;
    meet(g); /* L may come where these were */
#pragma unroll
    for (int c = 0; c < PANEL; ++c) {
        if (c >= nb) break;
        const int k = f.first + p0 + c, kind = p.kinds >> 2 * c & 3;
        const int at = (p0 - p.base + c) * rows + p0 - p.base;
        T *l = f.l + column(f.r, p0 + c) + p0, *to_l = g.panel_l() + at, *to_ld = g.panel_ld() + at;
        if (kind == 2) continue;
        T d = shfl(x[c], c);
        if (kind == 0) {
            const T i11 = pivot1(g.hermitian, d, t);
            const T l0 = x[c] * i11, ld0 = cj(g.hermitian, x[c]);
            const R most = most_part(l0);
            if (mine && a > c) {
                to_l[a] = l0, to_ld[a] = ld0;
                if (keeps) l[a] = l0;
                t.largest = most > t.largest ? most : t.largest;
                t.passed = t.passed && is_finite(l0);
            }
            if (mine && a == c) {
                to_l[a] = make<T>(1);
                if (keeps) l[a] = make<T>(1);
                g.pivot()[2 * c] = i11;
                if (tells) g.d[2 * k] = d, g.d[2 * k + 1] = make<T>(0);
            }
#pragma unroll
            for (int j = c + 1; j < PANEL; ++j) {
                const T u = shfl(ld0, j);
                if (a >= j) nfma(x[j], l0, u);
            }
        } else if (c + 1 < PANEL) { /* the first of a pair is never the last of a panel */
            T i11, i21, i22, e = shfl(x[c + 1 < PANEL ? c + 1 : c], c + 1);
            const T b = shfl(x[c], c + 1);
            T *l_next = f.l + column(f.r, p0 + c + 1) + p0;
            pivot2(g.hermitian, d, b, e, i11, i21, i22, t);
            const T x0 = x[c], x1 = x[c + 1 < PANEL ? c + 1 : c];
            T l0 = x0 * i11, l1 = x0 * cj(g.hermitian, i21);
            pfma(l0, x1, i21);
            pfma(l1, x1, i22);
            const T ld0 = cj(g.hermitian, x0), ld1 = cj(g.hermitian, x1);
            if (mine && a > c + 1) {
                const R m0 = most_part(l0), m1 = most_part(l1);
                to_l[a] = l0, to_l[rows + a] = l1;
                to_ld[a] = ld0, to_ld[rows + a] = ld1;
                if (keeps) l[a] = l0, l_next[a] = l1;
                t.largest = m0 > t.largest ? m0 : t.largest;
                t.largest = m1 > t.largest ? m1 : t.largest;
                t.passed = t.passed && is_finite(l0) && is_finite(l1);
            }
            if (mine && a == c) {
                to_l[a] = make<T>(1), to_l[a + 1] = make<T>(0), to_l[rows + a + 1] = make<T>(1);
                if (keeps) l[a] = make<T>(1), l[a + 1] = make<T>(0), l_next[a + 1] = make<T>(1);
                g.pivot()[2 * c] = i11, g.pivot()[2 * c + 1] = i21, g.pivot()[2 * c + 2] = i22;
                if (tells) {
                    g.d[2 * k] = d, g.d[2 * k + 1] = b, g.d[2 * k + 2] = e;
                    g.d[2 * k + 3] = make<T>(0);
                }
            }
#pragma unroll
            for (int j = c + 2; j < PANEL; ++j) {
                const T u0 = shfl(ld0, j), u1 = shfl(ld1, j);
                if (a >= j) {
                    nfma(x[j], l0, u0);
                    nfma(x[j], l1, u1);
                }
            }
        }
    }
}

/** Rows of L from number `first` on, a thread each, behind eliminate_panel(). By all threads of a
 *  block; no barrier. */
template <class T, class R>
__device__ MPKI_APART void rows_below(const at_work<T> &g, const front_at<T> &f, const panel_at &p,
                                      int first, bool keeps, tally<R> &t) {
    const int rows = g.rows, p0 = p.p0, nb = p.nb;
    for (int i = first + g.t; i < f.r; i += g.nt) {
        T x[PANEL];
#pragma unroll
        for (int c = 0; c < PANEL; ++c) x[c] = c < nb ? f.own[column(f.r, p0 + c) + i] : make<T>(0);
#pragma unroll
        for (int c = 0; c < PANEL; ++c) {
            if (c >= nb) break;
            const int kind = p.kinds >> 2 * c & 3;
            if (kind == 2) continue;
            const int at = (p0 - p.base + c) * rows;
            const T *ld = g.panel_ld() + at + p0 - p.base;
            T *to_l = g.panel_l() + at + i - p.base, *to_ld = g.panel_ld() + at + i - p.base;
            T *l = f.l + column(f.r, p0 + c) + i;
            if (kind == 0) {
                const T l0 = x[c] * g.pivot()[2 * c];
                const R most = most_part(l0);
                t.largest = most > t.largest ? most : t.largest;
                t.passed = t.passed && is_finite(l0);
                *to_l = l0, *to_ld = cj(g.hermitian, x[c]);
                if (keeps) *l = l0;
#pragma unroll
                for (int j = c + 1; j < PANEL; ++j)
                    if (j < nb) nfma(x[j], l0, ld[j]);
            } else if (c + 1 < PANEL) {
                const T x0 = x[c], x1 = x[c + 1 < PANEL ? c + 1 : c];
                const T i11 = g.pivot()[2 * c], i21 = g.pivot()[2 * c + 1],
                        i22 = g.pivot()[2 * c + 2];
                T l0 = x0 * i11, l1 = x0 * cj(g.hermitian, i21);
                pfma(l0, x1, i21);
                pfma(l1, x1, i22);
                const R m0 = most_part(l0), m1 = most_part(l1);
                t.largest = m0 > t.largest ? m0 : t.largest;
                t.largest = m1 > t.largest ? m1 : t.largest;
                t.passed = t.passed && is_finite(l0) && is_finite(l1);
                to_l[0] = l0, to_l[rows] = l1;
                to_ld[0] = cj(g.hermitian, x0), to_ld[rows] = cj(g.hermitian, x1);
                if (keeps) l[0] = l0, f.l[column(f.r, p0 + c + 1) + i] = l1;
#pragma unroll
                for (int j = c + 2; j < PANEL; ++j)
                    if (j < nb) {
                        nfma(x[j], l0, ld[j]);
                        nfma(x[j], l1, ld[rows + j]);
                    }
            }
        }
    }
}

/** Row and column of number e in a lower triangle that is numbered by rows. By each thread for
 *  itself; no barrier. */
__device__ inline void place_of(int e, int &i, int &j) {
    i = (int)((sqrtf(8.0f * (float)e + 1) - 1) * 0.5f);
    while ((i + 1) * (i + 2) / 2 <= e) ++i;
    while (i * (i + 1) / 2 > e) --i;
    j = e - i * (i + 1) / 2;
}

/** What is behind the panel, from row and column p1 on, an entry a thread: less L D L^T. By threads of
 *  number t of nt; no barrier. */
template <class T>
__device__ void update_one(const at_work<T> &g, const front_at<T> &f, int p0, int nb, bool last,
                           int t, int nt) {
    const int p1 = p0 + nb, size = f.r - p1, rows = g.rows, entries = size * (size + 1) / 2;
    for (int e = t; e < entries; e += nt) {
        int i, j;
        place_of(e, i, j);
        i += p1, j += p1;
        const int at = column(f.r, j) + i;
        T x = (j < f.w ? f.own : f.rest)[at];
        const T *l = g.panel_l() + i - p0, *ld = g.panel_ld() + j - p0;
        for (int c = 0; c < nb; ++c, l += rows, ld += rows) nfma(x, l[0], ld[0]);
        (last ? f.c : j < f.w ? f.own : f.rest)[at] = x;
    }
}

/** The same, two rows of two columns a thread. Each of the four has a name, and the function stays
 *  apart: inlined, with an array [2][2] and its loop unrolled, nvcc 13.0 made wrong code for 9.0
 *  (each of -Xcicc=-O1 with -Xptxas=-O1, no unrolling, and no inlining made it right). */
template <class T>
__device__ MPKI_APART void update_two(const at_work<T> &g, const front_at<T> &f, int p0, int nb,
                                      bool last, int t, int nt) {
    const int p1 = p0 + nb, size = f.r - p1, across = (size + 1) / 2, rows = g.rows;
    const int tiles = across * (across + 1) / 2;
    for (int e = t; e < tiles; e += nt) {
        int ti, tj;
        place_of(e, ti, tj);
        const int i0 = p1 + 2 * ti, j0 = p1 + 2 * tj, i1 = i0 + 1, j1 = j0 + 1;
        const bool above = ti > tj, below = i1 < f.r; /* (i0, j1), and row i1 are there */
        const T *from0 = (j0 < f.w ? f.own : f.rest) + column(f.r, j0);
        const T *from1 = (j1 < f.w ? f.own : f.rest) + column(f.r, j1);
        T x00 = from0[i0], x10 = below ? from0[i1] : make<T>(0);
        T x01 = above ? from1[i0] : make<T>(0), x11 = below ? from1[i1] : make<T>(0);
        const T *l = g.panel_l() + i0 - p0, *ld = g.panel_ld() + j0 - p0;
        for (int c = 0; c < nb; ++c, l += rows, ld += rows) { /* rows has room behind r */
            const T u0 = l[0], u1 = l[1], v0 = ld[0], v1 = ld[1];
            nfma(x00, u0, v0);
            nfma(x10, u1, v0);
            nfma(x01, u0, v1);
            nfma(x11, u1, v1);
        }
        T *to0 = (last ? f.c : j0 < f.w ? f.own : f.rest) + column(f.r, j0);
        T *to1 = (last ? f.c : j1 < f.w ? f.own : f.rest) + column(f.r, j1);
        to0[i0] = x00;
        if (below) to0[i1] = x10;
        if (above) to1[i0] = x01;
        if (below) to1[i1] = x11;
    }
}

/** The same for large fronts, of columns p0 + nb .. end - 1: a warp has 64 rows of 8
 *  columns (complex: 4), each lane two of them, so that lanes are at rows that follow each other. */
template <class T>
__device__ MPKI_APART void update_by_warps(const at_work<T> &g, const front_at<T> &f, int p0,
                                           int nb, int end, bool last, int t, int nt) {
    const int C = scalar_of<T>::complex ? 4 : 8, ROWS = 64;
    const int lane = t % 32, warp = t / 32, warps = nt / 32, rows = g.rows;
    int number = 0;
    for (int j0 = p0 + nb; j0 < end; j0 += C)
        for (int first = j0; first < f.r; first += ROWS) {
            if (number++ % warps != warp) continue;
            const int i0 = first + lane, i1 = i0 + 32;
            T x[2][C];
#pragma unroll
            for (int b = 0; b < C; ++b) {
                const int j = j0 + b;
                const T *from = (j < f.w ? f.own : f.rest) + column(f.r, j);
                x[0][b] = j < end && i0 < f.r && i0 >= j ? from[i0] : make<T>(0);
                x[1][b] = j < end && i1 < f.r && i1 >= j ? from[i1] : make<T>(0);
            }
            const T *l = g.panel_l() - p0, *ld = g.panel_ld() - p0;
            for (int c = 0; c < nb; ++c, l += rows, ld += rows) {
                const T u0 = l[i0 < f.r ? i0 : f.r - 1], u1 = l[i1 < f.r ? i1 : f.r - 1];
#pragma unroll
                for (int b = 0; b < C; ++b) {
                    const T v = ld[j0 + b]; /* rows has room behind r */
                    nfma(x[0][b], u0, v);
                    nfma(x[1][b], u1, v);
                }
            }
#pragma unroll
            for (int b = 0; b < C; ++b) {
                const int j = j0 + b;
                T *to = (last ? f.c : j < f.w ? f.own : f.rest) + column(f.r, j);
                if (j < end && i0 < f.r && i0 >= j) to[i0] = x[0][b];
                if (j < end && i1 < f.r && i1 >= j) to[i1] = x[1][b];
            }
        }
}

/** What is behind nb pivots from p0 on is updated: by threads of number t of nt; no barrier. */
template <class T>
__device__ inline void update_behind(const at_work<T> &g, const front_at<T> &f, int p0, int nb,
                                     int t, int nt) {
    const int size = f.r - p0 - nb, half = (size + 1) / 2;
    const bool last = p0 + nb == f.w;
    if (size >= MPKI_SYSTEMS_WARP_UPDATE)
        update_by_warps(g, f, p0, nb, f.r, last, t, nt);
    else if (half * (half + 1) / 2 >= nt)
        update_two(g, f, p0, nb, last, t, nt);
    else
        update_one(g, f, p0, nb, last, t, nt);
}

/** The whole panel. By all threads of a warp or block; barriers, one at the end. */
template <class T, class R>
__device__ inline void make_panel(const at_work<T> &g, const front_at<T> &f, const panel_at &p,
                                  bool tells, bool keeps, tally<R> &t) {
    const int first = p.p0 + p.nb + g.nt / 32 * (32 - p.nb);
    eliminate_panel(g, f, p, tells, keeps, t);
    meet(g);
    if (first >= f.r) return;
    rows_below(g, f, p, first, keeps, t);
    meet(g);
}

/** L and D of one front: panels are gathered before what is behind them is updated, since a large
 *  front comes from far away. By all threads of a warp or block; barriers, one at the end. */
template <class T, class R>
__device__ void eliminate(const at_work<T> &g, const front_at<T> &f, tally<R> &t) {
    for (int base = 0; base < f.w;) {
        int deep = 0;
        do {
            const panel_at p = panel_from(f, base + deep, base);
            if (deep > 0) {
                update_by_warps(g, f, base, deep, base + deep + p.nb, false, g.t, g.nt);
                meet(g);
            }
            make_panel(g, f, p, true, true, t);
            deep += p.nb;
        } while (deep + PANEL <= g.depth && base + deep < f.w);
        if (base + deep < f.r) {
            update_behind(g, f, base, deep, g.t, g.nt);
            meet(g);
        }
        base += deep;
    }
}

/** Front number s, by a warp or block. By all threads of the team; barriers. */
template <class T, class R>
__device__ MPKI_APART void factor_front(const at_work<T> &g, int s, tally<R> &all) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const mpki_cuda_systems_front f = p.front[s];
    const int own = column(f.r, f.w) + f.w;
    const bool inside = f.r * (f.r + 1) / 2 <= g.front_entries;
    if (s + 1 < p.nsuper) { /* what the next front is made from */
        const mpki_cuda_systems_front &next = p.front[s + 1];
        ask_for_all(g, &p.front[s + 2 < p.nsuper ? s + 2 : s + 1], sizeof next);
        ask_for_all(g, g.l + next.l, (column(next.r, next.w) + next.w) * (int64_t)sizeof(T));
        ask_for_all(g, p.code + next.code, next.r * (next.r + 1) / 2 * (int64_t)sizeof *p.code);
        ask_for_all(g, p.more + next.more, next.mores * (int64_t)sizeof *p.more);
    }
    T *l = g.l + f.l, *c = g.contribution + f.c - own;
    const front_at<T> at = {
        f.first, f.w, f.r, inside ? g.front : l, inside ? g.front : c, l, c, p.pair + f.first};
    tally<R> t = all;
    assemble(g, f, at, g.t, g.nt);
    meet(g);
    eliminate(g, at, t);
    all = t;
}

/** Front number s by all blocks of the gang: each makes the panels for itself, and has a part of
 *  what is behind them. The team is a block. By all threads of the gang; barriers, one at the
 *  end. */
template <class T, class R>
__device__ MPKI_APART void factor_by_gang(const at_work<T> &g, int s, tally<R> &sums) {
    const mpki_cuda_systems_plan &plan = *g.plan;
    const mpki_cuda_systems_front f = plan.front[s];
    const int number = g.rank * g.block + g.thread, all = g.blocks * g.block;
    T *l = g.l + f.l, *c = g.contribution + f.c - (column(f.r, f.w) + f.w);
    const front_at<T> at = {f.first, f.w, f.r, l, c, l, c, plan.pair + f.first};
    tally<R> t = sums;
    assemble(g, f, at, number, all);
    meet_all(g);
    for (int p0 = 0; p0 < f.w;) {
        const panel_at p = panel_from(at, p0, p0);
        make_panel(g, at, p, g.rank == 0, false, t);
        update_behind(g, at, p0, p.nb, number, all);
        meet_all(g); /* nobody reads the columns of the panel any more, so that L may be there */
        for (int k = 0; k < p.nb; ++k)
            for (int i = k + number; i < f.r - p0; i += all)
                l[column(f.r, p0 + k) + p0 + i] = g.panel_l()[k * g.rows + i];
        __syncthreads();
        p0 += p.nb;
    }
    sums = t;
}

/** Front number s of a block's part, and small ones behind it, which its first warp does. Returns
 *  how many. The team is a block before and after. By all threads of the block; barriers. */
template <class T, class R> __device__ inline int factor_some(at_work<T> &g, int s, tally<R> &t) {
    const int few = g.plan->front[s].ahead;
    if (few == 0) {
        factor_front(g, s, t);
        return 1;
    }
    warps_alone(g);
    for (int k = 0; k < few && g.thread < 32; ++k) factor_front(g, s + k, t);
    blocks_alone(g);
    return few;
}

/** All fronts: parts by warps and by blocks, then the others, large ones by the whole gang. t
 *  becomes the same to all threads. By all threads of the gang; barriers. */
template <class T, class R> __device__ MPKI_APART void factor(at_work<T> &g, tally<R> &t) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const int warps = g.block / 32;
    place_entries(g);
    warps_alone(g);
    for (int k = g.rank * warps + g.thread / 32; k < p.warps; k += g.blocks * warps)
        for (int s = p.part[k].begin; s < p.part[k].end; ++s) factor_front(g, s, t);
    blocks_alone(g);
    meet_all(g);
    for (int k = p.warps + g.rank; k < p.parts; k += g.blocks)
        for (int s = p.part[k].begin; s < p.part[k].end;) s += factor_some(g, s, t);
    meet_all(g);
    bool ahead = false; /* the first block has done some that others have not seen */
    for (int s = p.part[p.parts].begin; s < p.nsuper;) {
        const mpki_cuda_systems_front &f = p.front[s];
        const int few = f.ahead > 0 ? f.ahead : 1;
        if (g.blocks > 1 && f.r >= g.gang_rows && f.ahead == 0) {
            if (ahead) meet_all(g);
            ahead = false;
            factor_by_gang(g, s, t);
        } else {
            if (g.rank == 0) factor_some(g, s, t);
            ahead = true;
        }
        s += few;
    }
    together(g);
    /* pivots are counted by all lanes of a warp alike */
    const bool counts = g.t % 32 == 0;
    int sums[4] = {counts ? t.positive : 0, counts ? t.negative : 0, counts ? t.pairs : 0,
                   !(t.passed && is_finite(t.most))};
    R most[3] = {t.most, -t.least, t.largest};
    over_all(g, sums, sum_of());
    over_all(g, most, largest_of());
    t.positive = sums[0], t.negative = sums[1], t.pairs = sums[2], t.passed = sums[3] == 0;
    t.most = most[0], t.least = -most[1], t.largest = most[2];
}

/** log|det A|, and its sign or phase: the lanes of a warp have positions 32 apart. By the first
 *  warp. */
template <class T> __device__ void log_determinant(const at_work<T> &g, double out[3]) {
    const mpki_cuda_systems_plan &p = *g.plan;
    double sum = 0;
    cx<double> phase = {1, 0};
    int powers = 0;
    for (int k = g.t; k < p.n; k += 32) {
        int power;
        frexp((double)g.scale[k], &power);
        powers += power - 1;
        if (p.pair[k] == 2) continue;
        const T a = g.d[2 * k];
        cx<double> x = {(double)re(a), (double)imaginary(a)};
        if (p.pair[k] == 1) {
            const T tb = g.d[2 * k + 1], tc = g.d[2 * k + 2];
            const cx<double> b = {(double)re(tb), (double)imaginary(tb)},
                             c = {(double)re(tc), (double)imaginary(tc)};
            x = x * c - b * (g.hermitian ? conj(b) : b);
        }
        const double size = modulus(x);
        sum += log(size);
        phase = phase * (x * (1 / size));
    }
    for (int o = 16; o; o /= 2) {
        sum += shfl_xor(sum, o);
        powers += shfl_xor(powers, o);
        const cx<double> other = shfl_xor(phase, o);
        phase = g.t & o ? other * phase : phase * other;
    }
    out[0] = sum - 2 * 0.693147180559945309417 * powers;
    out[1] = phase.x, out[2] = phase.y;
}

} // namespace systems
} // namespace mpki

#endif
