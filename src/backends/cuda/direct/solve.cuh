/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_SOLVE_CUH
#define MPKI_CUDA_DIRECT_SOLVE_CUH
/** Sweeps over the fronts, level by level: a thread block takes those of a task one after the other.
 *  Vectors by position, NR right-hand sides side by side. */
#include "common.cuh"

namespace mpki {

static const int SOLVE_CUT = 32; /* columns that are solved before they reach the rows below */

/** One warp: rows and columns k0 .. k0 + b - 1 of L and of v; v := L^-1 v. */
template <int NR, class T>
__device__ inline void solve_block(const panel<T> &a, int k0, int b, T *v) {
    const int lane = (int)threadIdx.x & 31;
    T x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[(k0 + lane) * NR + r] : make<T>(0);
    for (int k = 0; k + 1 < b; ++k) {
        const T l = lane > k && lane < b ? a.at(k0 + lane, k0 + k) : make<T>(0);
#pragma unroll
        for (int r = 0; r < NR; ++r) nfma(x[r], l, shfl(x[r], k));
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[(k0 + lane) * NR + r] = x[r];
}

template <bool H, int NR, class T>
__device__ inline void solve_block_back(const panel<T> &a, int k0, int b, T *v) {
    const int lane = (int)threadIdx.x & 31;
    T x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[(k0 + lane) * NR + r] : make<T>(0);
    for (int k = b - 1; k > 0; --k) {
        const T l = lane < k ? cj<H>(a.at(k0 + k, k0 + lane)) : make<T>(0);
#pragma unroll
        for (int r = 0; r < NR; ++r) nfma(x[r], l, shfl(x[r], k));
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[(k0 + lane) * NR + r] = x[r];
}

/** All threads: front `index` forward. v: room for nelim x NR entries. */
template <int NR, class T>
__device__ void forward_front(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index, T *v) {
    const mpki_cuda_node &node = t.node[index];
    const mpki_cuda_now now = t.now[index];
    const panel<T> a(now.a, now.w, now.ld);
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, own = node.own, m = node.rows;
    const int w = now.w, e = now.nelim, n = w + m;
    T *y = (T *)s.y, *u = (T *)s.u + s.at[index] * NR; /* u: rows of this front */
    for (int i = tid; i < m * NR; i += nt) u[i] = make<T>(0);
    __syncthreads();
    for (int k = 0; k < node.children; ++k) {
        const int c = t.child[node.child + k];
        const mpki_cuda_node &child = t.node[c];
        const int32_t *rel = t.rel + child.rel;
        const T *from = (const T *)s.u + s.at[c] * NR;
        for (int i = tid; i < child.rows * NR; i += nt) {
            const int row = rel[i / NR];
            T &to = row < own ? y[(int64_t)(node.first + row) * NR + i % NR] : u[(row - own) * NR + i % NR];
            to = to + from[i];
        }
        __syncthreads();
    }
    if (e == 0) return;
    for (int k = tid; k < e * NR; k += nt) v[k] = y[(int64_t)a.id[k / NR] * NR + k % NR];
    __syncthreads();
    for (int k0 = 0; k0 < e; k0 += SOLVE_CUT) {
        const int b = e - k0 < SOLVE_CUT ? e - k0 : SOLVE_CUT;
        if (tid < 32) solve_block<NR>(a, k0, b, v);
        __syncthreads();
        for (int i = k0 + b + tid; i < n; i += nt) {
            T sum[NR];
#pragma unroll
            for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
#pragma unroll 4
            for (int k = 0; k < b; ++k) {
                const T l = a.at(i, k0 + k);
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(sum[r], l, v[(k0 + k) * NR + r]);
            }
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                T &to = i < e   ? v[i * NR + r]
                        : i < w ? y[(int64_t)a.id[i] * NR + r]
                                : u[(i - w) * NR + r];
                to = to - sum[r];
            }
        }
        __syncthreads();
    }
    for (int k = tid; k < e * NR; k += nt) y[(int64_t)a.id[k / NR] * NR + k % NR] = v[k];
}

template <bool H, int NR, class T>
__device__ void backward_front(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index, T *v) {
    const mpki_cuda_node &node = t.node[index];
    const mpki_cuda_now now = t.now[index];
    const panel<T> a(now.a, now.w, now.ld);
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int m = node.rows, w = now.w, e = now.nelim, n = w + m, warps = nt / 32;
    const int32_t *ridx = t.ridx + node.rel;
    T *y = (T *)s.y, *u = (T *)s.u + s.at[index] * NR;
    if (e == 0) return;
    for (int k = tid; k < e * NR; k += nt) v[k] = y[(int64_t)a.id[k / NR] * NR + k % NR];
    for (int i = tid; i < m * NR; i += nt) u[i] = y[(int64_t)ridx[i / NR] * NR + i % NR];
    __syncthreads();
    for (int k0 = (e - 1) / SOLVE_CUT * SOLVE_CUT; k0 >= 0; k0 -= SOLVE_CUT) {
        const int b = e - k0 < SOLVE_CUT ? e - k0 : SOLVE_CUT;
        for (int k = warp; k < b; k += warps) {
            T sum[NR];
#pragma unroll
            for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
            for (int i = k0 + b + lane; i < n; i += 32) {
                const T l = cj<H>(a.at(i, k0 + k));
#pragma unroll
                for (int r = 0; r < NR; ++r)
                    pfma(sum[r], l,
                         i < e   ? v[i * NR + r]
                         : i < w ? y[(int64_t)a.id[i] * NR + r]
                                 : u[(i - w) * NR + r]);
            }
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                for (int o = 16; o; o >>= 1) sum[r] = sum[r] + shfl_xor(sum[r], o);
                if (lane == 0) v[(k0 + k) * NR + r] = v[(k0 + k) * NR + r] - sum[r];
            }
        }
        __syncthreads();
        if (tid < 32) solve_block_back<H, NR>(a, k0, b, v);
        __syncthreads();
    }
    for (int k = tid; k < e * NR; k += nt) y[(int64_t)a.id[k / NR] * NR + k % NR] = v[k];
}

/** A block for each task; `most`: columns of v that fit; a front with more keeps them behind its
 *  rows in u. */
template <int NR, class T>
__global__ void __launch_bounds__(1024)
    forward_kernel(mpki_cuda_tree t, const mpki_cuda_task *task, mpki_cuda_sweep s, int most) {
    MPKI_ROOM;
    const mpki_cuda_task me = task[blockIdx.x];
    for (int k = me.first; k <= me.last; ++k) {
        const mpki_cuda_now &now = t.now[k];
        forward_front<NR>(t, s, k,
                          now.nelim <= most ? (T *)room
                                            : (T *)s.u + (s.at[k] + t.node[k].rows) * NR);
        __syncthreads();
    }
}

template <bool H, int NR, class T>
__global__ void __launch_bounds__(1024)
    backward_kernel(mpki_cuda_tree t, const mpki_cuda_task *task, mpki_cuda_sweep s, int most) {
    MPKI_ROOM;
    const mpki_cuda_task me = task[blockIdx.x];
    for (int k = me.last; k >= me.first; --k) {
        const mpki_cuda_now &now = t.now[k];
        backward_front<H, NR>(t, s, k,
                              now.nelim <= most ? (T *)room
                                                : (T *)s.u + (s.at[k] + t.node[k].rows) * NR);
        __syncthreads();
    }
}

/** |B| for B = [a conj(b); b c], a and c real: src/direct/triangular_t.c. */
template <class T>
__device__ inline void absolute(typename scalar_of<T>::real *a, T *b, typename scalar_of<T>::real *c) {
    typedef typename scalar_of<T>::real R;
    const double most = fmax(fmax(fabs((double)*a), fabs((double)*c)), (double)modulus(*b));
    if (!(most > 0)) return;
    const double p = *a / most, q = *c / most, m = (double)modulus(*b) / most;
    const double det = p * q - m * m;
    if (det >= 0) {
        const R sign = p + q < 0 ? -1 : 1;
        *a *= sign, *c *= sign, *b = *b * sign;
        return;
    }
    const double trace = sqrt((p - q) * (p - q) + 4 * m * m);
    *a = (R)(most * ((p * p + m * m - det) / trace));
    *c = (R)(most * ((q * q + m * m - det) / trace));
    *b = *b * (R)((p + q) / trace);
}

/** A warp for each front. */
template <bool H, class T>
__global__ void diagonal_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int absolutely) {
    const int lane = (int)threadIdx.x & 31, nr = s.nrhs;
    const int step = (int)(gridDim.x * blockDim.x / 32);
    T *y = (T *)s.y;
    for (int f = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32; f < t.fronts; f += step) {
        const mpki_cuda_now now = t.now[f];
        const panel<T> a(now.a, now.w, now.ld);
        for (int k = lane; k < now.nelim; k += 32) {
            T d1 = a.dinv[2 * k], off = a.dinv[2 * k + 1];
            const bool second = k > 0 && abs1(a.dinv[2 * k - 1]) > 0;
            if (second) continue;
            T *x1 = y + (int64_t)a.id[k] * nr;
            if (!(abs1(off) > 0)) {
                if (absolutely) d1 = make<T>(fabs((double)re(d1)));
                for (int r = 0; r < nr; ++r) x1[r] = d1 * x1[r];
                continue;
            }
            T d2 = a.dinv[2 * k + 2], *x2 = y + (int64_t)a.id[k + 1] * nr, up = cj<H>(off);
            if (absolutely) {
                typename scalar_of<T>::real p = re(d1), q = re(d2);
                absolute(&p, &off, &q);
                d1 = make<T>((double)p), d2 = make<T>((double)q), up = conj(off);
            }
            for (int r = 0; r < nr; ++r) {
                const T u = x1[r], v = x2[r];
                x1[r] = d1 * u + up * v;
                x2[r] = off * u + d2 * v;
            }
        }
    }
}

template <class T>
__global__ void take_kernel(int n, int nrhs, const int32_t *perm, const double *scale, const T *b,
                            int64_t ldb, T *y) {
    typedef typename scalar_of<T>::real R;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const int64_t from = perm ? perm[k] : k;
    for (int r = 0; r < nrhs; ++r)
        y[k * nrhs + r] = perm ? b[from + r * ldb] * (R)scale[k] : b[from + r * ldb];
}

template <class T>
__global__ void give_kernel(int n, int nrhs, const int32_t *perm, const double *scale, const T *y,
                            T *x, int64_t ldx) {
    typedef typename scalar_of<T>::real R;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const int64_t to = perm ? perm[k] : k;
    for (int r = 0; r < nrhs; ++r)
        x[to + r * ldx] = perm ? y[k * nrhs + r] * (R)scale[k] : y[k * nrhs + r];
}

} // namespace mpki
#endif
