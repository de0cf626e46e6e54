/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_AASEN_KERNELS_CUH
#define MPKI_CUDA_DENSE_AASEN_KERNELS_CUH
/** The kernels besides the panels of aasen.cuh: moves of columns and rows, blocks of T, and the
 *  solve with T, a band. */
#include "engines/cuda/module/scalar.cuh"
#include "control.cuh"

namespace mpki {

/** V := columns r0 .. r0 + w - 1 of A, rows from r0 on; the diagonal square gets both triangles.
 *  A thread takes rows in turns, a block row of the grid a column; no barrier. */
template <bool H, class T>
__global__ void column_kernel(int n, int r0, int w, const T *A, int64_t lda, T *V, int64_t ldv) {
    const int c = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - r0; i += gridDim.x * blockDim.x) {
        T v = i >= c ? A[r0 + i + (int64_t)(r0 + c) * lda]
                     : cj<H>(A[r0 + c + (int64_t)(r0 + i) * lda]);
        if (i == c) v = diagonal<H>(v);
        if (c < w) V[i + c * ldv] = v;
    }
}

static const int MOVED_COLUMNS = 32, MOVED_PARTS = 8; /* of a tile of columns, thread blocks */

/** buf[q + j count] := entry q of the list `moved` (places relative to r0) of column j: for j <
 *  left a row of L, beyond a row of the symmetric rest in the columns' new order (back).
 *  blockDim.x = count; MOVED_PARTS blocks for MOVED_COLUMNS columns; along rows of A by threads,
 *  along its columns by lanes. No barrier. */
template <bool H, class T>
__global__ void moved_take_kernel(int n, int r0, int left, int count, const int *moved,
                                  const int *back, const T *__restrict__ A, int64_t lda,
                                  T *__restrict__ buf) {
    const int q = threadIdx.x, j0 = blockIdx.x * MOVED_COLUMNS, columns = n - r0 + left;
    const int place = moved[q], from = place >= 0 ? moved[count + q] : 0;
    const int lane = q & 31, warp = q >> 5, warps = count >> 5;
    const T *W = A + r0 + (int64_t)r0 * lda;
    if (place >= 0)
#pragma unroll 4
        for (int j = j0 + blockIdx.y; j < min(columns, j0 + MOVED_COLUMNS); j += MOVED_PARTS) {
            if (j < left) {
                buf[q + (int64_t)j * count] = A[r0 + from + (int64_t)j * lda];
            } else {
                const int source = back[j - left];
                if (from >= source) buf[q + (int64_t)j * count] = W[from + (int64_t)source * lda];
            }
        }
    const int j = j0 + lane;
    if (j < left || j >= columns) return;
    const int source = back[j - left];
#pragma unroll 4
    for (int p = warp + warps * blockIdx.y; p < count; p += warps * MOVED_PARTS) {
        if (moved[p] < 0) continue;
        const int row = moved[count + p];
        if (row < source) buf[p + (int64_t)j * count] = cj<H>(W[source + (int64_t)row * lda]);
    }
}

/** A and perm := buf, the entries that moved_take_kernel() took, in their new places. As many
 *  threads and blocks; a block barrier in the block that has perm. */
template <bool H, class T>
__global__ void moved_put_kernel(int n, int r0, int left, int count, const int *moved,
                                 T *__restrict__ A, int64_t lda, const T *__restrict__ buf,
                                 int *perm) {
    const int q = threadIdx.x, j0 = blockIdx.x * MOVED_COLUMNS, columns = n - r0 + left;
    const int place = moved[q], lane = q & 31, warp = q >> 5, warps = count >> 5;
    T *W = A + r0 + (int64_t)r0 * lda;
    if (blockIdx.x + blockIdx.y == 0) {
        const int old = place >= 0 ? perm[r0 + moved[count + q]] : 0;
        __syncthreads();
        if (place >= 0) perm[r0 + place] = old;
    }
    if (place >= 0)
#pragma unroll 4
        for (int j = j0 + blockIdx.y; j < min(columns, j0 + MOVED_COLUMNS); j += MOVED_PARTS) {
            if (j < left)
                A[r0 + place + (int64_t)j * lda] = buf[q + (int64_t)j * count];
            else if (place >= j - left)
                W[place + (int64_t)(j - left) * lda] = buf[q + (int64_t)j * count];
        }
    const int j = j0 + lane, c = j - left;
    if (c < 0 || j >= columns) return;
#pragma unroll 4
    for (int p = warp + warps * blockIdx.y; p < count; p += warps * MOVED_PARTS) {
        const int to = moved[p];
        if (to >= 0 && to < c) W[c + (int64_t)to * lda] = cj<H>(buf[p + (int64_t)j * count]);
    }
}

/** back[c] := where the row at c came from: c, but for the rows in the list. One block; one
 *  block barrier. */
__global__ static void moved_back_kernel(int m, int count, const int *moved, int *back) {
    for (int i = threadIdx.x; i < m; i += blockDim.x) back[i] = i;
    __syncthreads();
    for (int q = threadIdx.x; q < count; q += blockDim.x)
        if (moved[q] >= 0) back[moved[q]] = moved[count + q];
}

/** to (nb x nb) := the unit lower part of A (rows x nb), with ones on the diagonal after its
 *  rows; or its upper part. A thread takes entries in turns; no barrier. */
template <class T>
__global__ void part_kernel(int rows, int columns, int nb, int upper, const T *A, int64_t lda,
                            T *to) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nb * nb; e += gridDim.x * blockDim.x) {
        const int i = e % nb, j = e / nb;
        const bool in = i < rows && j < columns;
        if (upper)
            to[e] = in && i <= j ? A[i + (int64_t)j * lda] : make<T>(0);
        else
            to[e] = i == j ? make<T>(1) : in && i > j ? A[i + (int64_t)j * lda] : make<T>(0);
    }
}

/** Blocks of -T: kind 0: the diagonal block, from Z's lower triangle, mirrored; kind 1: Z below
 *  the diagonal and its mirror image to the right. A thread takes entries in turns; no barrier. */
template <bool H, class T>
__global__ void minus_kernel(int rows, int nb, int kind, const T *Z, T *to, T *mirror) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nb * nb; e += gridDim.x * blockDim.x) {
        const int i = e % nb, j = e / nb;
        if (kind == 0) {
            T v = make<T>(0);
            if (i < rows && j < rows) {
                v = i >= j ? Z[i + j * nb] : cj<H>(Z[j + i * nb]);
                if (i == j) v = diagonal<H>(v);
            }
            to[e] = -v;
        } else {
            const T v = i < rows ? Z[e] : make<T>(0);
            to[e] = -v, mirror[j + i * nb] = cj<H>(-v);
        }
    }
}

/** Window of block J of T: the panel V (2 nb x nb) and R (2 nb x 2 nb), which stands right of
 *  it, from what came down (top, nb x 2 nb; NULL: T's own first rows) and T's rows J + 1. A
 *  thread takes entries in turns; no barrier. */
template <class T>
__global__ void window_kernel(int n, int nb, int J, int nt, const T *minus, const T *top, T *V,
                              T *R) {
    const int64_t square = (int64_t)nb * nb;
    auto block = [&](int I, int K, int i,
                     int j) { /* entry of T(I, K), filled up at the end */
                              if (I >= nt || K >= nt) return make<T>(I == K && i == j ? 1 : 0);
                              if (I * nb + i >= n || K * nb + j >= n)
                                  return make<T>(I == K && i == j ? 1 : 0);
                              const T *b = minus + (3 * (int64_t)(I < K ? I : K) + (I == K  ? 0
                                                                                    : I > K ? 1
                                                                                            : 2)) *
                                                       square;
                              return -b[i + j * nb];
    };
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < 6 * nb * nb;
         e += gridDim.x * blockDim.x) {
        const int i = e % (2 * nb), c = e / (2 * nb), K = J + c / nb, j = c % nb;
        T v;
        if (i < nb) {
            if (c >= 2 * nb)
                v = make<T>(0);
            else
                v = top ? top[i + (int64_t)c * nb] : block(J, K, i, j);
        } else {
            v = block(J + 1, K, i - nb, j);
        }
        if (c < nb)
            V[i + (int64_t)c * 2 * nb] = v;
        else
            R[i + (int64_t)(c - nb) * 2 * nb] = v;
    }
}

/** to(k, :) := R(order[k], :), rows x columns. A thread takes entries in turns; no barrier. */
template <class T>
__global__ void reorder_kernel(int rows, int columns, const int *order, const T *R, T *to) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < rows * columns;
         e += gridDim.x * blockDim.x)
        to[e] = R[order[e % rows] + (int64_t)(e / rows) * rows];
}

/** *top := the largest key of `count` entries. A thread takes entries in turns; an atomic
 *  maximum. */
template <class T> __global__ void top_kernel(int64_t count, const T *x, unsigned *top) {
    unsigned most = 0;
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < count;
         k += (int64_t)gridDim.x * blockDim.x)
        most = max(most, key(x[k]));
    most = __reduce_max_sync(0xffffffffu, most);
    if ((threadIdx.x & 31) == 0) atomicMax(top, most);
}

/** x := T^-1 x for each right-hand side; x: nt nb entries, and nb more. A block takes a
 *  right-hand side; block barriers. */
template <class T>
__global__ void __launch_bounds__(256) band_kernel(int nb, int nt, const T *panels, const T *rights,
                                                   const int *orders, T *X, int64_t ldx) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T *w = (T *)shared_bytes, *part = w + 3 * nb, *x = X + blockIdx.x * ldx;
    const int tid = threadIdx.x;
    const int64_t size = 2 * (int64_t)nb * nb;
    for (int i = tid; i < nb; i += 256) w[i] = x[i];
    __syncthreads();
    for (int J = 0; J < nt; ++J) { /* w: rows J, J + 1 */
        const T *P = panels + J * size;
        const int *order = orders + J * 2 * nb;
        for (int i = tid; i < nb; i += 256)
            w[nb + i] = J + 1 < nt ? x[(J + 1) * nb + i] : make<T>(0);
        __syncthreads();
        for (int i = tid; i < 2 * nb; i += 256) part[i] = w[order[i]];
        __syncthreads();
        for (int k0 = 0; k0 < nb; k0 += 32) {
            if (tid < 32) { /* 32 steps by one warp */
                T v = part[k0 + tid], l[32];
#pragma unroll
                for (int k = 0; k < 32; ++k)
                    l[k] = tid > k ? P[k0 + tid + (int64_t)(k0 + k) * 2 * nb] : make<T>(0);
#pragma unroll
                for (int k = 0; k < 32; ++k) nfma(v, l[k], shfl(v, k));
                part[k0 + tid] = v;
            }
            __syncthreads();
            for (int i = k0 + 32 + tid; i < 2 * nb; i += 256) {
                T s = part[i];
#pragma unroll 8
                for (int k = 0; k < 32; ++k)
                    nfma(s, P[i + (int64_t)(k0 + k) * 2 * nb], part[k0 + k]);
                part[i] = s;
            }
            __syncthreads();
        }
        for (int i = tid; i < nb; i += 256) x[J * nb + i] = part[i], w[i] = part[nb + i];
        __syncthreads();
    }
    for (int i = tid; i < 2 * nb; i += 256) w[nb + i] = make<T>(0);
    __syncthreads();
    for (int J = nt - 1; J >= 0; --J) { /* w + nb: x of rows J + 1, J + 2 */
        const T *P = panels + J * size, *U = rights + J * size;
        const int i = tid % nb, groups = 256 / nb, group = tid / nb;
        T s = make<T>(0);
        if (group < groups) {
#pragma unroll 8
            for (int k = group; k < 2 * nb; k += groups) pfma(s, U[i + (int64_t)k * nb], w[nb + k]);
            part[tid] = s;
        }
        __syncthreads();
        if (tid < nb) {
            for (int q = 1; q < groups; ++q) s = s + part[tid + q * nb];
            w[tid] = x[J * nb + tid] - s;
        }
        __syncthreads();
        for (int k0 = nb - 32; k0 >= 0; k0 -= 32) {
            if (tid < 32) {
                T v = w[k0 + tid], u[32], d = P[k0 + tid + (int64_t)(k0 + tid) * 2 * nb];
                const T di = is_zero(d) ? make<T>(0) : inverse(d);
#pragma unroll
                for (int k = 0; k < 32; ++k)
                    u[k] = tid < k ? P[k0 + tid + (int64_t)(k0 + k) * 2 * nb] : make<T>(0);
#pragma unroll
                for (int k = 31; k >= 0; --k) {
                    if (tid == k) v = v * di;
                    nfma(v, u[k], shfl(v, k));
                }
                w[k0 + tid] = v;
            }
            __syncthreads();
            for (int q = tid; q < k0; q += 256) {
                T t = w[q];
#pragma unroll 8
                for (int k = 0; k < 32; ++k) nfma(t, P[q + (int64_t)(k0 + k) * 2 * nb], w[k0 + k]);
                w[q] = t;
            }
            __syncthreads();
        }
        T keep = make<T>(0);
        if (tid < nb) keep = w[tid], x[J * nb + tid] = keep;
        T older = tid < nb ? w[nb + tid] : make<T>(0);
        __syncthreads();
        if (tid < nb) w[nb + tid] = keep, w[2 * nb + tid] = older;
        __syncthreads();
    }
}

} // namespace mpki
#endif
