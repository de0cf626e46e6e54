/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_SOLVE_CUH
#define MPKI_CUDA_SYSTEMS_SOLVE_CUH
/** Solves with the factors of one system, columns of a front CHUNK at a time. */
#include "front.cuh"

namespace mpki {
namespace systems {

/** Position of row i of front f. By each thread for itself; no barrier. */
__device__ inline int position(const mpki_cuda_systems_plan &p, const mpki_cuda_systems_front &f,
                               int i) {
    return i < f.w ? f.first + i : p.rows[f.row + i - f.w];
}
/** Entry i of the vector of front f in a forward solve: of y, and what children left. By each thread
 *  for itself; no barrier. */
template <class T>
__device__ inline T gathered(const at_work<T> &g, const mpki_cuda_systems_front &f, int i) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const int from = p.vector[f.vector + i];
    const T x = i < f.w ? g.y[f.first + i] : make<T>(0);
    if (from & MPKI_FROM_CHILD) return x + g.vector[from >> 1];
    return from > 0 ? sum_of_more(p, x, g.vector, from) : x;
}

/** Entry i of the vector of front f, where it is next. By each thread for itself; no barrier. */
template <class T>
__device__ inline void leave(const at_work<T> &g, const mpki_cuda_systems_front &f, int i, T x) {
    if (i < f.w)
        g.y[f.first + i] = x;
    else
        g.vector[f.u + i - f.w] = x;
}

/** y := L^-1 y of a small front: a lane has a row. By a warp; no barrier at the end. */
template <class T>
__device__ void forward_small(const at_work<T> &g, const mpki_cuda_systems_front &f) {
    const T *l = g.l + f.l;
    const int a = g.t & 31, AHEAD = 8;
    T x = a < f.r ? gathered(g, f, a) : make<T>(0);
    for (int c0 = 0; c0 < f.w; c0 += AHEAD) {
        T v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int c = c0 + k;
            v[k] = c < f.w && a > c && a < f.r ? l[column(f.r, c) + a] : make<T>(0);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const T top = shfl(x, (c0 + k) & 31);
            if (c0 + k < f.w) nfma(x, v[k], top);
        }
    }
    if (a < f.r) leave(g, f, a, x);
    __syncwarp();
}

/** y := L^-1 y of a front, whose vector is in shared memory meanwhile. By all threads of a block;
 *  barriers, one at the end. */
template <class T> __device__ void forward(const at_work<T> &g, const mpki_cuda_systems_front &f) {
    const T *l = g.l + f.l;
    T *v = g.panel_l();
    for (int i = g.t; i < f.r; i += g.nt) v[i] = gathered(g, f, i);
    meet(g);
    for (int k0 = 0; k0 < f.w; k0 += CHUNK) {
        const int kw = f.w - k0 < CHUNK ? f.w - k0 : CHUNK;
        if (g.t < 32) {
            const int a = g.t;
            T x = a < kw ? v[k0 + a] : make<T>(0);
#pragma unroll 8
            for (int c = 0; c < kw - 1; ++c) {
                const T e = a > c && a < kw ? l[column(f.r, k0 + c) + k0 + a] : make<T>(0);
                nfma(x, e, shfl(x, c));
            }
            if (a < kw) v[k0 + a] = x;
        }
        meet(g);
        for (int i = k0 + kw + g.t; i < f.r; i += g.nt) {
            T x = v[i];
#pragma unroll 8
            for (int c = 0; c < kw; ++c) nfma(x, l[column(f.r, k0 + c) + i], v[k0 + c]);
            v[i] = x;
        }
        meet(g);
    }
    for (int i = g.t; i < f.r; i += g.nt) leave(g, f, i, v[i]);
    meet(g);
}

/** y := L^-H y (L^-T) of columns k0 .. k0+kw-1: sums over the rows below, each by the lanes of a
 *  warp, then the triangle. By all threads of the team; barriers, one at the end. */
template <class T>
__device__ void backward_some(const at_work<T> &g, const mpki_cuda_systems_front &f, int k0,
                              int kw) {
    const T *l = g.l + f.l;
    const int lane = g.t & 31, k1 = k0 + kw;
    for (int first = g.t / 32 * 8; first < kw; first += g.nt / 4) {
        T sum[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) sum[c] = make<T>(0);
        for (int i = k1 + lane; i < f.r; i += 32) {
            const T x = g.y[position(*g.plan, f, i)];
#pragma unroll
            for (int c = 0; c < 8; ++c)
                if (first + c < kw)
                    pfma(sum[c], cj(g.hermitian, l[column(f.r, k0 + first + c) + i]), x);
        }
        fold<8>(sum);
        const int c = first + lane / 4;
        if (lane % 4 == 0 && c < kw) g.chunk()[c] = sum[0];
    }
    meet(g);
    if (g.t < 32) {
        const int a = g.t;
        const T *own = l + column(f.r, k0 + (a < kw ? a : 0)) + k0;
        T x = a < kw ? g.y[f.first + k0 + a] - g.chunk()[a] : make<T>(0);
#pragma unroll 8
        for (int c = kw - 1; c > 0; --c) {
            const T v = a < c ? cj(g.hermitian, own[c]) : make<T>(0);
            nfma(x, v, shfl(x, c));
        }
        if (a < kw) g.y[f.first + k0 + a] = x;
    }
    meet(g);
}
/** The same of all columns of a front. */
template <class T>
__device__ inline void backward(const at_work<T> &g, const mpki_cuda_systems_front &f) {
    for (int c = (f.w - 1) / CHUNK * CHUNK; c >= 0; c -= CHUNK)
        backward_some(g, f, c, f.w - c < CHUNK ? f.w - c : CHUNK);
}

/** L and rows of front s, and what front `after` is, on their way to the cache. By all threads of the
 *  team; no barrier. */
template <class T> __device__ inline void ask_for_next(const at_work<T> &g, int s, int after) {
    const mpki_cuda_systems_front &next = g.plan->front[s];
    ask_for_all(g, &g.plan->front[after], sizeof next);
    ask_for_all(g, g.l + next.l, (column(next.r, next.w) + next.w) * (int64_t)sizeof(T));
    ask_for_all(g, g.plan->rows + next.row, (next.r - next.w) * (int64_t)sizeof(int32_t));
    ask_for_all(g, g.plan->vector + next.vector, next.r * (int64_t)sizeof(int32_t));
    ask_for_all(g, g.y + next.first, next.w * (int64_t)sizeof(T));
}

/** Fronts begin .. end-1 of a part forward. A block's first warp does small
 *  ones. The team is a warp, or a block before and after. By all threads of the team; barriers. */
template <class T> __device__ MPKI_APART void forward_all(at_work<T> &g, int begin, int end) {
    for (int s = begin; s < end;) {
        const mpki_cuda_systems_front f = g.plan->front[s];
        if (s + 1 < end) ask_for_next(g, s + 1, s + 2 < end ? s + 2 : s + 1);
        if (f.ahead == 0) {
            forward(g, f);
            ++s;
        } else if (g.nt == 32) {
            forward_small(g, f);
            ++s;
        } else {
            warps_alone(g);
            for (int k = s; k < s + f.ahead && g.thread < 32; ++k) {
                if (k + 1 < s + f.ahead) ask_for_next(g, k + 1, k + 1);
                forward_small(g, g.plan->front[k]);
            }
            blocks_alone(g);
            s += f.ahead;
        }
    }
}

/** The same backward. */
template <class T> __device__ MPKI_APART void backward_all(at_work<T> &g, int begin, int end) {
    for (int s = end - 1; s >= begin;) {
        const mpki_cuda_systems_front f = g.plan->front[s];
        if (f.behind > 0 && g.nt > 32) {
            warps_alone(g);
            for (int k = s; k > s - f.behind && g.thread < 32; --k) {
                if (k > s + 1 - f.behind) ask_for_next(g, k - 1, k - 1);
                backward(g, g.plan->front[k]);
            }
            blocks_alone(g);
            s -= f.behind;
        } else {
            if (s > begin) ask_for_next(g, s - 1, s - 1 > begin ? s - 2 : s - 1);
            backward(g, f);
            --s;
        }
    }
}

/** y := L^-1 y, or L^-H y (L^-T) where it goes backward, phase by phase. The team is a block before
 *  and after. By all threads of the gang; barriers, none at the end. */
template <class T> __device__ MPKI_APART void sweep(at_work<T> &g, bool back) {
    const mpki_cuda_systems_plan &p = *g.plan;
    const int warps = g.block / 32;
    for (int q = 0; q < p.phases; ++q) {
        const mpki_cuda_systems_phase phase = p.phase[back ? p.phases - 1 - q : q];
        const bool alone = phase.by == MPKI_BY_WARPS;
        const int number = alone ? g.rank * warps + g.thread / 32 : g.rank;
        const int step = phase.by == MPKI_BY_GANG ? phase.end : alone ? g.blocks * warps : g.blocks;
        if (!back && phase.waits) meet_all(g);
        if (alone) warps_alone(g);
        for (int k = phase.begin + number; k < phase.end; k += step) {
            if (back)
                backward_all(g, p.part[k].begin, p.part[k].end);
            else
                forward_all(g, p.part[k].begin, p.part[k].end);
        }
        if (alone) blocks_alone(g);
        if (back && phase.waits) meet_all(g);
    }
}

/** x := A^-1 x, problem order. By all threads of the gang; barriers, one at the beginning and one at
 *  the end. */
template <class T> __device__ MPKI_APART void solve(at_work<T> &g, T *x) {
    const mpki_cuda_systems_plan &p = *g.plan;
    meet(g);
    for (int k = g.t; k < p.n; k += g.nt) {
        const int i = p.perm[k];
        g.y[k] = x[i] * g.scale[i];
    }
    meet(g);
    blocks_alone(g);
    sweep(g, false);
    together(g);
    for (int k = g.t; k < p.n; k += g.nt) {
        T a = g.y[k], d = g.d[2 * k];
        if (p.pair[k] == 0) {
            g.y[k] = a * inverse(d);
        } else if (p.pair[k] == 1) {
            const T b = g.y[k + 1];
            typename scalar_of<T>::real most, by;
            T i11, i21, i22, p1, p2;
            inverse2(g.hermitian, d, g.d[2 * k + 1], g.d[2 * k + 2], i11, i21, i22, p1, p2, most,
                     by);
            T x0 = a * i11, x1 = a * i21;
            pfma(x0, b, cj(g.hermitian, i21));
            pfma(x1, b, i22);
            g.y[k] = x0, g.y[k + 1] = x1;
        }
    }
    meet(g);
    blocks_alone(g);
    sweep(g, true);
    together(g);
    for (int k = g.t; k < p.n; k += g.nt) {
        const int i = p.perm[k];
        x[i] = g.y[k] * g.scale[i];
    }
    meet(g);
}

} // namespace systems
} // namespace mpki

#endif
