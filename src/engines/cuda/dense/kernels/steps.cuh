/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_STEPS_CUH
#define MPKI_CUDA_DENSE_STEPS_CUH
/** The kernels between the products of a blocked LDLT: copies, L = W D^-1 with the a-posteriori
 *  test, diagonal blocks of the trailing update, permutations. Matrices are column-major; row
 *  indices count from the submatrix's own corner unless a kernel says otherwise. */
#include "engines/cuda/module/scalar.cuh"
#include "control.cuh"

namespace mpki {

/** ctl and the scalars as a run of the pipeline needs them at its start. One block; no barrier. */
template <class T> __global__ void start_kernel(control *ctl, T *scalars, int gates) {
    if (threadIdx.x == 0) {
        ctl->failed = ctl->panel = 0;
        ctl->ticket = 0;
        const bool stop = ctl->nonfinite != 0;
        if (stop) ctl->failed = 2;
        scalars[MINUS] = make<T>(stop ? 0 : -1), scalars[ONE] = make<T>(stop ? 0 : 1);
        scalars[NIL] = make<T>(stop ? 1 : 0);
        scalars[ALWAYS_MINUS] = make<T>(-1), scalars[ALWAYS_ONE] = make<T>(1);
        scalars[ALWAYS_NIL] = make<T>(0);
    }
    for (int g = threadIdx.x; g < gates; g += blockDim.x) scalars[GATES + g] = make<T>(0);
}

/** The largest abs1 of the lower triangle, and whether it holds NaN or infinity, into ctl. A
 *  thread takes entries in turns; an atomic maximum. */
template <class T> __global__ void largest_kernel(int n, const T *A, int64_t lda, control *ctl) {
    unsigned most = 0;
    for (int j = blockIdx.y; j < n; j += gridDim.y)
        for (int i = j + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            most = max(most, key(A[i + j * lda]));
    most = __reduce_max_sync(0xffffffffu, most);
    if ((threadIdx.x & 31) == 0) {
        atomicMax(&ctl->largest, most);
        if (most >= key((typename scalar_of<T>::real)INFINITY)) ctl->nonfinite = 1;
    }
}

/** to := the lower part of an m x w trapezoid; gate: only while *gate is not 0. A thread takes
 *  rows in turns; no barrier. */
template <class T>
__global__ void copy_kernel(int m, int w, const T *from, int64_t ldf, T *to, int64_t ldt,
                            const T *gate) {
    if (is_zero(*gate)) return;
    const int j = blockIdx.y;
    for (int i = j + blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x)
        to[i + j * ldt] = from[i + j * ldf];
}

static const int CHECK_COLUMNS = 8;

/** What the rows below a tile, and the verdict on them, need. */
template <class T> struct check_job {
    int m, nb, take, tile; /* rows below; candidates; pivots; B */
    const T *W;            /* m x nb, from here on at leading dimension ld */
    T *L, *P, *save;       /* P: the panel itself, whose columns take.. become what was kept of W's,
                              their content before in save */
    int64_t ld;
    const T *dinv, *corner;
    T *P_corner; /* the panel at (take, take) of the tile */
    int *orig;   /* of the tile's first column */
    int test, column, gate;
    T *scalars;
    control *ctl;
};

/** The block that ends last with a tile's rows decides: failed; or the order of the tile becomes
 *  part of orig and, where gate >= 0, the gate of this column block opens. By all threads (128
 *  or more) of the blocks that tested the rows; block barriers and an atomic ticket. */
template <bool H, class T> __device__ void verdict(const check_job<T> &g) {
    control *ctl = g.ctl;
    __shared__ int last;
    const int k = threadIdx.x;
    const int mine = k < g.nb ? ctl->order[k] : 0;
    const int stands = k < g.nb ? g.orig[mine & PLACE] : 0;
    int any = 0, zeros = k < g.take ? ctl->zero[k] : 0;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && !g.test) last = blockIdx.x + blockIdx.y == 0;
    if (threadIdx.x == 0 && g.test) {
        const unsigned t = atomicAdd(&ctl->ticket, 1);
        last = t == gridDim.x * gridDim.y - 1;
        if (last) ctl->ticket = 0;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    if (g.test && k < g.take) any = *(volatile int *)&ctl->bad[k];
    any = __syncthreads_or(any);
    zeros = __syncthreads_count(zeros);
    if (any) {
        if (k < g.take) { /* a pivot of order 2 fails as a whole */
            const int other = mine & FIRST_OF_TWO ? k + 1 : mine & SECOND_OF_TWO ? k - 1 : k;
            const int both = *(volatile int *)&ctl->bad[other] | *(volatile int *)&ctl->bad[k];
            if (both) ctl->bad[k] = 1;
        }
        __syncthreads();
        if (k == 0) {
            ctl->panel = g.column;
            g.scalars[MINUS] = g.scalars[ONE] = make<T>(0), g.scalars[NIL] = make<T>(1);
            __threadfence();
            ctl->failed = 1;
        }
        return;
    }
    if (k < g.nb) g.orig[k] = stands | (mine & ~PLACE);
    const int keep = g.nb - g.take;
    if (k < keep * keep && k % keep >= k / keep)
        g.P_corner[k % keep + k / keep * g.ld] = g.corner[k];
    if (k == 0) {
        if (zeros) atomicAdd(&ctl->zeros, zeros);
        if (g.gate >= 0) g.scalars[GATES + g.gate] = make<T>(-1);
    }
}

/** L := W D^-1. A column with an entry above `limit` (or NaN, or not zero over a zero pivot) is
 *  marked in ctl->bad; then verdict(). A thread takes a row of CHECK_COLUMNS columns; block
 *  barriers in verdict(). */
template <bool H, class T>
__global__ void check_kernel(check_job<T> g, typename scalar_of<T>::real limit) {
    typedef typename scalar_of<T>::real R;
    control *ctl = g.ctl;
    if (ctl->failed) return;
    const R tiny = unkey<R>(ctl->largest) * (R)ctl->zero_tolerance;
    unsigned most = 0;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, k0 = blockIdx.y * CHECK_COLUMNS;
    unsigned bad = 0;
    if (i < g.m) {
        T w[CHECK_COLUMNS + 2];
#pragma unroll
        for (int k = 0; k < CHECK_COLUMNS + 2; ++k) {
            const int c = k0 + k - 1;
            w[k] = c >= 0 && c < g.nb ? g.W[i + c * g.ld] : make<T>(0);
        }
#pragma unroll
        for (int k = 0; k < CHECK_COLUMNS; ++k) {
            const int c = k0 + k;
            if (c >= g.nb) break;
            if (c >= g.take) {
                g.save[i + (c - g.take) * g.ld] = g.P[i + c * g.ld];
                g.P[i + c * g.ld] = w[k + 1];
                continue;
            }
            T l = w[k + 1] * g.dinv[c];
            const T ei = g.dinv[g.tile + c], before = c ? g.dinv[g.tile + c - 1] : make<T>(0);
            if (!is_zero(ei)) pfma(l, w[k + 2], ei);
            if (!is_zero(before)) pfma(l, w[k], cj<H>(before));
            g.L[i + c * g.ld] = l;
            most = max(most, key(l));
            if (g.test && (!(abs1(l) <= limit) || (ctl->zero[c] && !(abs1(w[k + 1]) <= tiny))))
                bad |= 1u << k;
        }
    }
    most = __reduce_max_sync(0xffffffffu, most);
    if ((threadIdx.x & 31) == 0 && most > *(volatile unsigned *)&ctl->max_l)
        atomicMax(&ctl->max_l, most);
    if (g.test) {
        bad = __reduce_or_sync(0xffffffffu, bad);
        if ((threadIdx.x & 31) == 0 && bad)
            for (int k = 0; k < CHECK_COLUMNS; ++k)
                if (bad >> k & 1) ctl->bad[k0 + k] = 1;
    }
    verdict<H>(g);
}

static const int DIAGONAL = 64;

/** The lower triangles of the diagonal blocks of C := C - L W^T (W^H): three blocks for DIAGONAL
 *  columns, 32 x 32 entries each, by 256 threads with 2 x 2 entries each. Block barriers. */
template <bool H, class T>
__global__ void __launch_bounds__(256)
    diagonal_kernel(int m, int K, const T *L, int64_t ldl, const T *W, int64_t ldw, T *C,
                    int64_t ldc, const T *gate) {
    const int BK = 16;
    __shared__ T Ls[2][BK][33], Ws[2][BK][33];
    if (is_zero(*gate)) return;
    const int c0 = blockIdx.x / 3 * DIAGONAL, part = blockIdx.x % 3, tid = threadIdx.x;
    const int r0 = c0 + (part ? 32 : 0), q0 = c0 + (part == 2 ? 32 : 0);
    const int ti = tid % 16, tj = tid / 16, li = tid % 32, lk = tid / 32;
    T c[2][2] = {{make<T>(0), make<T>(0)}, {make<T>(0), make<T>(0)}};
    T l[2], w[2];
    auto load = [&](int k0) {
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            const int k = k0 + lk + 8 * x;
            l[x] = r0 + li < m && k < K ? L[r0 + li + k * ldl] : make<T>(0);
            w[x] = q0 + li < m && k < K ? cj<H>(W[q0 + li + k * ldw]) : make<T>(0);
        }
    };
    load(0);
    int buf = 0;
    for (int k0 = 0; k0 < K; k0 += BK, buf ^= 1) {
#pragma unroll
        for (int x = 0; x < 2; ++x) Ls[buf][lk + 8 * x][li] = l[x], Ws[buf][lk + 8 * x][li] = w[x];
        __syncthreads();
        load(k0 + BK);
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const T a0 = Ls[buf][k][ti], a1 = Ls[buf][k][ti + 16];
            const T b0 = Ws[buf][k][tj], b1 = Ws[buf][k][tj + 16];
            nfma(c[0][0], a0, b0), nfma(c[0][1], a0, b1);
            nfma(c[1][0], a1, b0), nfma(c[1][1], a1, b1);
        }
    }
#pragma unroll
    for (int x = 0; x < 2; ++x)
#pragma unroll
        for (int y = 0; y < 2; ++y) {
            const int i = r0 + ti + 16 * x, j = q0 + tj + 16 * y;
            if (i < m && j <= i) {
                T *p = C + i + (int64_t)j * ldc;
                *p = i == j ? diagonal<H>(*p + c[x][y]) : *p + c[x][y];
            }
        }
}

/** orig[c .. c + w - 1] := the identity. A thread per entry; no barrier. */
__global__ static void unpermuted_kernel(int c, int w, int *orig) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w) orig[c + i] = c + i;
}

/** Columns c .. c + w - 1 of A become L and D, from the workspace, where rows c .. c + w + keep
 *  - 1 stand in another order. A thread takes rows in turns; no barrier. */
template <class T>
__global__ void commit_kernel(int n, int c, int w, int keep, const T *L, int64_t ldl, T *A,
                              int64_t lda, const int *orig, const T *gate) {
    if (is_zero(*gate)) return;
    const int j = c + blockIdx.y;
    for (int i = j + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int from = i < c + w + keep ? orig[i] & PLACE : i;
        A[i + j * lda] = L[from + (int64_t)blockIdx.y * ldl];
    }
}

static const int PERMUTE_COLUMNS = 4;

/** Rows c .. c + w + keep - 1 of the finished columns 0 .. c - 1 are ordered by orig, and so is
 *  perm; kind marks pivots of order 2. A block takes some columns, in (w + keep) PERMUTE_COLUMNS
 *  entries of shared memory, the last block perm. Block barriers. */
template <class T>
__global__ void permute_kernel(int c, int w, int keep, T *A, int64_t lda, const int *orig,
                               int *perm, int *kind, const T *gate) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T *rows = (T *)shared_bytes;
    if (is_zero(*gate)) return;
    const int all = w + keep, tid = threadIdx.x;
    if (blockIdx.x == gridDim.x - 1) {
        int *old = (int *)shared_bytes;
        for (int i = tid; i < all; i += blockDim.x) old[i] = perm[c + i];
        __syncthreads();
        for (int i = tid; i < all; i += blockDim.x) {
            const int o = orig[c + i];
            perm[c + i] = old[(o & PLACE) - c];
            if (i < w) kind[c + i] = (o & FIRST_OF_TWO) ? 1 : (o & SECOND_OF_TWO) ? 2 : 0;
        }
        return;
    }
    for (int q = 0; q < PERMUTE_COLUMNS; ++q) {
        const int j = blockIdx.x * PERMUTE_COLUMNS + q;
        if (j < c)
            for (int i = tid; i < all; i += blockDim.x)
                rows[q * all + i] = A[c + i + (int64_t)j * lda];
    }
    __syncthreads();
    for (int q = 0; q < PERMUTE_COLUMNS; ++q) {
        const int j = blockIdx.x * PERMUTE_COLUMNS + q;
        if (j < c)
            for (int i = tid; i < all; i += blockDim.x)
                A[c + i + (int64_t)j * lda] = rows[q * all + (orig[c + i] & PLACE) - c];
    }
}

/** Rows and columns p < q of the lower triangle change places, in perm too. A thread takes a
 *  row; no barrier. */
template <bool H, class T>
__global__ void swap_kernel(int n, T *A, int64_t lda, int p, int q, int *perm) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T *a, *b;
    if (i < p) {
        a = A + p + i * lda, b = A + q + i * lda;
    } else if (i == p) {
        a = A + p + p * lda, b = A + q + q * lda;
        const int t = perm[p];
        perm[p] = perm[q], perm[q] = t;
    } else if (i < q) {
        a = A + i + p * lda, b = A + q + i * lda;
    } else if (i == q) {
        a = A + q + p * lda;
        *a = cj<H>(*a);
        return;
    } else {
        a = A + i + p * lda, b = A + i + q * lda;
    }
    T t = *a;
    const bool turn = i > p && i < q;
    *a = turn ? cj<H>(*b) : *b;
    *b = turn ? cj<H>(t) : t;
}

} // namespace mpki
#endif
