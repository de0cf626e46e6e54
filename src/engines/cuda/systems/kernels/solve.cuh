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

/** y := L^-1 y of columns k0 .. k0+kw-1. By all threads; barriers, one at the end. */
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
        if (a < kw) g.y[f.first + k0 + a] = x, g.chunk[a] = x;
    }
    __syncthreads();
    for (int i = k0 + kw + g.t; i < f.r; i += g.nt) {
        T *to = g.y + position(*g.plan, f, i), x = *to;
#pragma unroll 4
        for (int c = 0; c < kw; ++c) nfma(x, l[column(f.r, k0 + c) + i], g.chunk[c]);
        *to = x;
    }
    __syncthreads();
}

/** y := L^-H y (L^-T) of columns k0 .. k0+kw-1: sums over the rows below, each by the lanes of a
 *  warp, then the triangle. By all threads; barriers, one at the end. */
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
        if (lane % 4 == 0 && c < kw) g.chunk[c] = sum[0];
    }
    __syncthreads();
    if (g.t < 32) {
        const int a = g.t;
        const T *own = l + column(f.r, k0 + (a < kw ? a : 0)) + k0;
        T x = a < kw ? g.y[f.first + k0 + a] - g.chunk[a] : make<T>(0);
#pragma unroll 4
        for (int c = kw - 1; c > 0; --c) {
            const T v = a < c ? cj(g.hermitian, own[c]) : make<T>(0);
            nfma(x, v, shfl(x, c));
        }
        if (a < kw) g.y[f.first + k0 + a] = x;
    }
    __syncthreads();
}

/** x := A^-1 x, problem order. By all threads; barriers, one at the beginning and one at the
 *  end. */
template <class T> __device__ void solve(const at_work<T> &g, T *x) {
    const mpki_cuda_systems_plan &p = *g.plan;
    __syncthreads();
    for (int k = g.t; k < p.n; k += g.nt) {
        const int i = p.perm[k];
        g.y[k] = x[i] * g.scale[i];
    }
    __syncthreads();
    MARK(g, 7);
    for (int s = 0; s < p.nsuper; ++s) {
        const mpki_cuda_systems_front f = p.front[s];
        for (int k = 0; k < f.w; k += CHUNK) forward(g, f, k, f.w - k < CHUNK ? f.w - k : CHUNK);
    }
    MARK(g, 8);
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
    for (int s = p.nsuper - 1; s >= 0; --s) {
        const mpki_cuda_systems_front f = p.front[s];
        for (int k = (f.w - 1) / CHUNK * CHUNK; k >= 0; k -= CHUNK)
            backward(g, f, k, f.w - k < CHUNK ? f.w - k : CHUNK);
    }
    MARK(g, 9);
    for (int k = g.t; k < p.n; k += g.nt) {
        const int i = p.perm[k];
        x[i] = g.y[k] * g.scale[i];
    }
    __syncthreads();
}

} // namespace systems
} // namespace mpki

#endif
