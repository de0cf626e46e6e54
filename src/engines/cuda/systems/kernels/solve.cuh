/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_SOLVE_CUH
#define MPKI_CUDA_SYSTEMS_SOLVE_CUH
/** Solves with the factors of one system, columns of a front CHUNK at a time. */
#include "common.cuh"

namespace mpki {
namespace systems {

/** Position of row i of front f. By each thread for itself; no barrier. */
__device__ inline int position(const mpki_cuda_systems_plan &p, const mpki_cuda_systems_front &f,
                               int i) {
    return i < f.w ? f.first + i : p.rows[f.row + i - f.w];
}
/** Where a forward solve has the entry of row i of front f. By each thread for itself; no
 *  barrier. */
template <class T>
__device__ inline T *updated(const at_work<T> &g, const mpki_cuda_systems_front &f, int i) {
    const int k = i < f.w ? f.first + i : g.plan->forward[f.row + i - f.w];
    return k < 0 ? g.sums + ~k : g.y + k;
}

/** y := L^-1 y of columns k0 .. k0+kw-1. By all threads of the team; barriers, one at the end. */
template <class T>
__device__ void forward(const at_work<T> &g, const mpki_cuda_systems_front &f, int k0, int kw) {
    const T *l = g.l + f.l;
    if (g.t < 32) {
        const int a = g.t;
        T x = a < kw ? g.y[f.first + k0 + a] : make<T>(0);
#pragma unroll 4
        for (int c = 0; c < kw - 1; ++c) {
            const T v = a > c && a < kw ? l[column(f.r, k0 + c) + k0 + a] : make<T>(0);
            nfma(x, v, shfl(x, c));
        }
        if (a < kw) g.y[f.first + k0 + a] = x, g.chunk()[a] = x;
    }
    meet(g);
    for (int i = k0 + kw + g.t; i < f.r; i += g.nt) {
        T *to = updated(g, f, i), x = *to;
#pragma unroll 4
        for (int c = 0; c < kw; ++c) nfma(x, l[column(f.r, k0 + c) + i], g.chunk()[c]);
        *to = x;
    }
    meet(g);
}

/** y := L^-H y (L^-T) of columns k0 .. k0+kw-1: sums over the rows below, each by the lanes of a
 *  warp, then the triangle. By all threads of the team; barriers, one at the end. */
template <class T>
__device__ void backward(const at_work<T> &g, const mpki_cuda_systems_front &f, int k0, int kw) {
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
#pragma unroll 4
        for (int c = kw - 1; c > 0; --c) {
            const T v = a < c ? cj(g.hermitian, own[c]) : make<T>(0);
            nfma(x, v, shfl(x, c));
        }
        if (a < kw) g.y[f.first + k0 + a] = x;
    }
    meet(g);
}

/** L and rows of front s, and what front `after` is, on their way to the cache. By all threads of the
 *  team; no barrier. */
template <class T> __device__ inline void ask_for_next(const at_work<T> &g, int s, int after) {
    const mpki_cuda_systems_front &next = g.plan->front[s];
    const int m = next.r - next.w;
    ask_for_all(g, &g.plan->front[after], sizeof next);
    ask_for_all(g, g.l + next.l, (column(next.r, next.w) + next.w) * (int64_t)sizeof(T));
    ask_for_all(g, g.plan->rows + next.row, m * (int64_t)sizeof(int32_t));
    ask_for_all(g, g.plan->forward + next.row, m * (int64_t)sizeof(int32_t));
}

/** x := A^-1 x, problem order. By all threads; barriers, one at the beginning and one at the
 *  end. */
template <class T> __device__ MPKI_APART void solve(at_work<T> &g, T *x) {
    const mpki_cuda_systems_plan &p = *g.plan;
    __syncthreads();
    for (int k = g.t; k < p.n; k += g.nt) {
        const int i = p.perm[k];
        g.y[k] = x[i] * g.scale[i];
    }
    for (int k = g.t; k < p.sums; k += g.nt) g.sums[k] = make<T>(0);
    for (int phase = 0; phase < 2; ++phase) {
        const int step = phase ? 1 : g.block / 32, end = p.parts + phase;
        phase ? together(g) : warps_alone(g);
        for (int k = g.t; phase && k < p.summed; k += g.nt) {
            T *to = g.y + p.sum_at[k], sum = *to;
            for (int e = p.sum_ptr[k]; e < p.sum_ptr[k + 1]; ++e) sum = sum + g.sums[p.sum_from[e]];
            *to = sum;
        }
        if (phase) __syncthreads();
        for (int k = phase ? p.parts : g.thread / 32; k < end; k += step) {
            const mpki_cuda_systems_part part = p.part[k];
            for (int s = part.begin; s < part.end; ++s) {
                const mpki_cuda_systems_front f = p.front[s];
                if (s + 1 < part.end) ask_for_next(g, s + 1, s + 2 < part.end ? s + 2 : s + 1);
                for (int c = 0; c < f.w; c += CHUNK)
                    forward(g, f, c, f.w - c < CHUNK ? f.w - c : CHUNK);
            }
        }
    }
    for (int k = g.t; k < p.n; k += g.nt) {
        const T a = g.y[k], i11 = g.dinv[2 * k];
        if (p.pair[k] == 0) {
            g.y[k] = a * i11;
        } else if (p.pair[k] == 1) {
            const T b = g.y[k + 1], i21 = g.dinv[2 * k + 1], i22 = g.dinv[2 * k + 2];
            T x0 = a * i11, x1 = a * i21;
            pfma(x0, b, cj(g.hermitian, i21));
            pfma(x1, b, i22);
            g.y[k] = x0, g.y[k + 1] = x1;
        }
    }
    __syncthreads();
    for (int phase = 1; phase >= 0; --phase) {
        const int step = phase ? 1 : g.block / 32, end = p.parts + phase;
        if (!phase) warps_alone(g);
        for (int k = phase ? p.parts : g.thread / 32; k < end; k += step) {
            const mpki_cuda_systems_part part = p.part[k];
            for (int s = part.end - 1; s >= part.begin; --s) {
                const mpki_cuda_systems_front f = p.front[s];
                if (s > part.begin) ask_for_next(g, s - 1, s - 1 > part.begin ? s - 2 : s - 1);
                for (int c = (f.w - 1) / CHUNK * CHUNK; c >= 0; c -= CHUNK)
                    backward(g, f, c, f.w - c < CHUNK ? f.w - c : CHUNK);
            }
        }
    }
    together(g);
    for (int k = g.t; k < p.n; k += g.nt) {
        const int i = p.perm[k];
        x[i] = g.y[k] * g.scale[i];
    }
    __syncthreads();
}

} // namespace systems
} // namespace mpki

#endif
