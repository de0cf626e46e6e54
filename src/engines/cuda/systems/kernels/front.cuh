/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_FRONT_CUH
#define MPKI_CUDA_SYSTEMS_FRONT_CUH
/** The multifrontal method on one system, with the pivots of a plan (src/systems/template.c): every
 *  entry has its products in the order of the pivots, whatever tiles and threads there are. A front
 *  is assembled in shared memory where it fits there, else where its L and its contribution lie. */
#include "common.cuh"

namespace mpki {
namespace systems {

/** What is summed up over all fronts. Pivots are counted by the lanes of the first warp, alike. */
template <class R> struct tally {
    R most, least, largest; /* |entry| of D; |eigenvalue| of its blocks; |L|, of each thread */
    int positive, negative, pairs;
    bool passed;
    double small;
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
    t.positive += re(a) > 0, t.negative += re(a) < 0;
    return inverse(a);
}

/** A 2x2 pivot [a, cj(b); b, c] and its inverse [i11, cj(i21); i21, i22]: its determinant must not
 *  be cancellation, as for the engine of single ones. By each thread for itself; no barrier. */
template <class T, class R>
__device__ inline void pivot2(bool hermitian, T &a, T b, T &c, T &i11, T &i21, T &i22,
                              tally<R> &t) {
    if (hermitian) a = make<T>((double)re(a)), c = make<T>((double)re(c));
    const R sa = modulus(a), sb = modulus(b), sc = modulus(c);
    const R top = sa > sb ? sa : sb, most = top > sc ? top : sc, by = power_below(most);
    const T p1 = a * by * c, p2 = b * by * cj(hermitian, b), det = p1 - p2; /* times by */
    const R size = modulus(det);
    t.passed = t.passed && (double)most > t.small && (double)size > t.small * (double)(most * by) &&
               size >= modulus(p1) / 2 && size >= modulus(p2) / 2 && is_finite(size);
    const R ma = most_part(a), mb = most_part(b), mc = most_part(c);
    t.most = ma > t.most ? ma : t.most;
    t.most = mb > t.most ? mb : t.most;
    t.most = mc > t.most ? mc : t.most;
    const T whole = inverse(det) * by;
    i11 = c * whole, i22 = a * whole, i21 = -(b * whole);
    /* eigenvalues: the larger one from the trace and the radius, the other from the determinant; in
     * single precision, for they are compared with bounds alone */
    const R mean = (re(a) + re(c)) / 2;
    const float half = (float)((re(a) - re(c)) * by) / 2, side = (float)(sb * by);
    const float large = (float)(most_part(mean) * by) + sqrtf(half * half + side * side);
    const R little = size * (R)(1 / large);
    t.least = little < t.least ? little : t.least;
    const int both = re(det) > 0, one = re(det) < 0;
    t.positive += one + (mean > 0 ? 2 * both : 0);
    t.negative += one + (mean < 0 ? 2 * both : 0);
    ++t.pairs;
}

/** Entries of A, and what children contribute. By all threads; barriers, none at the end. */
template <class T>
__device__ void assemble(const at_work<T> &g, const mpki_cuda_systems_front &f,
                         const front_at<T> &at) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const int own = column(f.r, f.w) + f.w, all = f.r * (f.r + 1) / 2;
    for (int e = g.t; e < own; e += g.nt) at.own[e] = make<T>(0);
    for (int e = own + g.t; e < all; e += g.nt) at.rest[e] = make<T>(0);
    meet(g);
    for (int k = g.t; k < f.entries; k += g.nt) {
        const mpki_cuda_systems_entry e = p.entry[f.entry + k];
        const T x = g.ax[e.from] * (g.scale[e.i] * g.scale[e.j]);
        if (e.to < 0)
            at.own[~e.to] = conj(x);
        else
            at.own[e.to] = x;
    }
    for (int k = 0; k < f.children; ++k) {
        const mpki_cuda_systems_child child = p.child[f.child + k];
        const T *from = g.contribution + child.c;
        const int32_t *place = p.place + child.to;
        meet(g);
        for (int64_t e = g.t; e < child.count; e += g.nt) {
            const int to = place[e];
            T *q = to < own ? at.own + to : at.rest + to;
            *q = *q + from[e];
        }
    }
    meet(g);
}

/** Pivots of columns p0 .. p0+nb-1 and the rows of L in their block. By the first warp: lane a has
 *  row a. No barrier at the end. */
template <class T, class R>
__device__ void diagonal_block(const at_work<T> &g, const front_at<T> &f, int p0, int nb,
                               unsigned kinds, tally<R> &t) {
    const int a = g.t, rows = g.rows;
    T x[PANEL];
#pragma unroll
    for (int b = 0; b < PANEL; ++b)
        x[b] = b <= a && a < nb ? f.own[column(f.r, p0 + b) + p0 + a] : make<T>(0);
#pragma unroll
    for (int c = 0; c < PANEL; ++c) {
        if (c >= nb) break;
        const int k = f.first + p0 + c, kind = kinds >> 2 * c & 3;
        T *l = f.l + column(f.r, p0 + c) + p0;
        if (kind == 2) continue;
        T d = shfl(x[c], c);
        if (kind == 0) {
            const T i11 = pivot1(g.hermitian, d, t);
            const T l0 = x[c] * i11, ld0 = cj(g.hermitian, x[c]);
            const R most = most_part(l0);
            if (a > c && a < nb) {
                g.panel_l()[c * rows + a] = l0;
                g.panel_ld()[c * rows + a] = ld0;
                t.largest = most > t.largest ? most : t.largest;
                t.passed = t.passed && is_finite(l0);
                l[a] = l0;
            }
            if (a == c) {
                l[a] = make<T>(1);
                g.pivot()[2 * c] = i11;
                g.d[2 * k] = d, g.d[2 * k + 1] = make<T>(0);
                g.dinv[2 * k] = i11, g.dinv[2 * k + 1] = make<T>(0);
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
            if (a > c + 1 && a < nb) {
                const R m0 = most_part(l0), m1 = most_part(l1);
                g.panel_l()[c * rows + a] = l0, g.panel_l()[(c + 1) * rows + a] = l1;
                g.panel_ld()[c * rows + a] = ld0, g.panel_ld()[(c + 1) * rows + a] = ld1;
                t.largest = m0 > t.largest ? m0 : t.largest;
                t.largest = m1 > t.largest ? m1 : t.largest;
                t.passed = t.passed && is_finite(l0) && is_finite(l1);
                l[a] = l0, l_next[a] = l1;
            }
            if (a == c) {
                l[a] = make<T>(1), l[a + 1] = make<T>(0), l_next[a + 1] = make<T>(1);
                g.pivot()[2 * c] = i11, g.pivot()[2 * c + 1] = i21, g.pivot()[2 * c + 2] = i22;
                g.d[2 * k] = d, g.d[2 * k + 1] = b, g.d[2 * k + 2] = e;
                g.d[2 * k + 3] = make<T>(0);
                g.dinv[2 * k] = i11, g.dinv[2 * k + 1] = i21, g.dinv[2 * k + 2] = i22;
                g.dinv[2 * k + 3] = make<T>(0);
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

/** Rows below of L, a thread each. No barrier. */
template <class T, class R>
__device__ void rows_below(const at_work<T> &g, const front_at<T> &f, int p0, int nb,
                           unsigned kinds, tally<R> &t) {
    const int rows = g.rows;
    for (int i = p0 + nb + g.t; i < f.r; i += g.nt) {
        T x[PANEL];
#pragma unroll
        for (int c = 0; c < PANEL; ++c) x[c] = c < nb ? f.own[column(f.r, p0 + c) + i] : make<T>(0);
#pragma unroll
        for (int c = 0; c < PANEL; ++c) {
            if (c >= nb) break;
            const int kind = kinds >> 2 * c & 3;
            if (kind == 2) continue;
            const T *ld = g.panel_ld() + c * rows;
            T *to_l = g.panel_l() + c * rows + i - p0, *to_ld = g.panel_ld() + c * rows + i - p0;
            T *l = f.l + column(f.r, p0 + c) + i;
            if (kind == 0) {
                const T l0 = x[c] * g.pivot()[2 * c];
                const R most = most_part(l0);
                t.largest = most > t.largest ? most : t.largest;
                t.passed = t.passed && is_finite(l0);
                *to_l = l0, *to_ld = cj(g.hermitian, x[c]), *l = l0;
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
                l[0] = l0, f.l[column(f.r, p0 + c + 1) + i] = l1;
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

/** What is behind the panel, from row and column p1 on, in tiles of B x B: less L D L^T. No
 *  barrier. */
template <int B, class T>
__device__ void update(const at_work<T> &g, const front_at<T> &f, int p0, int nb, bool last) {
    const int p1 = p0 + nb, size = f.r - p1, across = (size + B - 1) / B, rows = g.rows;
    const int tiles = across * (across + 1) / 2;
    for (int e = g.t; e < tiles; e += g.nt) {
        int ti, tj;
        place_of(e, ti, tj);
        const int i0 = p1 + B * ti, j0 = p1 + B * tj;
        T x[B][B];
#pragma unroll
        for (int b = 0; b < B; ++b) {
            const int j = j0 + b;
            const T *from = (j < f.w ? f.own : f.rest) + column(f.r, j);
#pragma unroll
            for (int a = 0; a < B; ++a) {
                const int i = i0 + a;
                x[a][b] = i < f.r && i >= j ? from[i] : make<T>(0);
            }
        }
        const T *l = g.panel_l() + i0 - p0, *ld = g.panel_ld() + j0 - p0;
        for (int c = 0; c < nb; ++c, l += rows, ld += rows) {
            T u[B], v[B];
#pragma unroll
            for (int a = 0; a < B; ++a) u[a] = l[a], v[a] = ld[a]; /* rows has room behind r */
#pragma unroll
            for (int b = 0; b < B; ++b)
#pragma unroll
                for (int a = 0; a < B; ++a) nfma(x[a][b], u[a], v[b]);
        }
#pragma unroll
        for (int b = 0; b < B; ++b) {
            const int j = j0 + b;
            T *to = (last ? f.c : j < f.w ? f.own : f.rest) + column(f.r, j);
#pragma unroll
            for (int a = 0; a < B; ++a) {
                const int i = i0 + a;
                if (i < f.r && i >= j) to[i] = x[a][b];
            }
        }
    }
}

/** The same for large fronts: a warp has 64 rows of 8 columns (complex: 4), each lane two of them, so
 *  that lanes are at rows that follow each other. No barrier. */
template <class T>
__device__ MPKI_APART void update_by_warps(const at_work<T> &g, const front_at<T> &f, int p0,
                                           int nb, bool last) {
    const int C = scalar_of<T>::complex ? 4 : 8, ROWS = 64;
    const int lane = g.t % 32, warp = g.t / 32, warps = g.nt / 32, rows = g.rows;
    int number = 0;
    for (int j0 = p0 + nb; j0 < f.r; j0 += C)
        for (int first = j0; first < f.r; first += ROWS) {
            if (number++ % warps != warp) continue;
            const int i0 = first + lane, i1 = i0 + 32;
            T x[2][C];
#pragma unroll
            for (int b = 0; b < C; ++b) {
                const int j = j0 + b;
                const T *from = (j < f.w ? f.own : f.rest) + column(f.r, j);
                x[0][b] = j < f.r && i0 < f.r && i0 >= j ? from[i0] : make<T>(0);
                x[1][b] = j < f.r && i1 < f.r && i1 >= j ? from[i1] : make<T>(0);
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
                if (j < f.r && i0 < f.r && i0 >= j) to[i0] = x[0][b];
                if (j < f.r && i1 < f.r && i1 >= j) to[i1] = x[1][b];
            }
        }
}

/** L, D and D^-1 of one front. By all threads; barriers, one at the end. */
template <class T, class R>
__device__ void eliminate(const at_work<T> &g, const front_at<T> &f, tally<R> &t) {
    for (int p0 = 0, nb; p0 < f.w; p0 += nb) {
        unsigned kinds = 0; /* of the pivots, two bits each */
        nb = f.w - p0 < PANEL ? f.w - p0 : PANEL;
#pragma unroll
        for (int c = 0; c < PANEL; ++c)
            if (c < nb) kinds |= (unsigned)f.pair[p0 + c] << 2 * c;
        if ((kinds >> 2 * (nb - 1) & 3) == 1) --nb; /* a pair stays together */
        if (g.t < 32) diagonal_block(g, f, p0, nb, kinds, t);
        const int size = f.r - p0 - nb;
        meet(g);
        if (size == 0) continue;
        rows_below(g, f, p0, nb, kinds, t);
        meet(g);
        const int half = (size + 1) / 2;
        const bool last = p0 + nb == f.w;
        if (size >= MPKI_SYSTEMS_WARP_UPDATE)
            update_by_warps(g, f, p0, nb, last);
        else if (half * (half + 1) / 2 >= g.nt)
            update<2>(g, f, p0, nb, last);
        else
            update<1>(g, f, p0, nb, last);
        meet(g);
    }
}

/** One front. By all threads of the team; barriers. */
template <class T, class R> __device__ void factor_front(const at_work<T> &g, int s, tally<R> &t) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const mpki_cuda_systems_front f = p.front[s];
    const int own = column(f.r, f.w) + f.w;
    const bool inside = f.r * (f.r + 1) / 2 <= g.front_entries;
    if (s + 1 < p.nsuper) { /* what the next front is made from */
        const mpki_cuda_systems_front &next = p.front[s + 1];
        ask_for_all(g, &p.front[s + 2 < p.nsuper ? s + 2 : s + 1], sizeof next);
        ask_for_all(g, p.entry + next.entry, next.entries * (int64_t)sizeof *p.entry);
        ask_for_all(g, p.child + next.child, next.children * (int64_t)sizeof *p.child);
        ask_for_all(g, p.place + next.place, next.placed * (int64_t)sizeof *p.place);
    }
    T *l = g.l + f.l, *c = g.contribution + f.c - own;
    const front_at<T> at = {
        f.first, f.w, f.r, inside ? g.front : l, inside ? g.front : c, l, c, p.pair + f.first};
    assemble(g, f, at);
    eliminate(g, at, t);
}

/** All fronts: parts by warps, then the others by the block. t becomes the same to all threads. By
 *  all threads; barriers. */
template <class T, class R> __device__ MPKI_APART void factor(at_work<T> &g, tally<R> &t) {
    const mpki_cuda_systems_plan &p = *g.plan;
    for (int phase = 0; phase < 2; ++phase) {
        const int step = phase ? 1 : g.block / 32, end = p.parts + phase;
        phase ? together(g) : warps_alone(g);
        for (int k = phase ? p.parts : g.thread / 32; k < end; k += step) {
            const mpki_cuda_systems_part part = p.part[k];
            for (int s = part.begin; s < part.end; ++s) factor_front(g, s, t);
        }
    }
    /* pivots are counted by all lanes of a warp alike */
    const bool counts = g.t % 32 == 0;
    t.positive = over_block(g, counts ? t.positive : 0, sum_of());
    t.negative = over_block(g, counts ? t.negative : 0, sum_of());
    t.pairs = over_block(g, counts ? t.pairs : 0, sum_of());
    t.most = over_block(g, t.most, largest_of()), t.least = over_block(g, t.least, least_of());
    t.largest = over_block(g, t.largest, largest_of());
    t.passed = for_all(g, t.passed && is_finite(t.most));
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
