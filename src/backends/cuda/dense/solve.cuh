/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SOLVE_CUH
#define MPKI_CUDA_SOLVE_CUH
/** Solves with P A P^T = L D L^T, L in its final order. The diagonal tiles of L are inverted first,
 *  all at once; then a tile is one launch: rows below (or columns before) take the tile's part of
 *  the solution, and the thread block that holds the next tile multiplies it by its inverse at once,
 *  so that the next launch finds it ready. Many right-hand sides go through cuBLAS instead. */
#include "blas.cuh"
#include "tile.cuh"

namespace mpki {

/** Tile blockIdx.x of L, inverted: M, B x B by columns, unit lower with explicit zeros. */
template <class T>
__global__ void __launch_bounds__(TILE_THREADS, 1)
    invert_kernel(int n, const T *A, int64_t lda, const int *kind, T *M) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    tile_memory<T> &m = *reinterpret_cast<tile_memory<T> *>(shared_bytes);
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, tid = threadIdx.x;
    const int r0 = blockIdx.x * B, nb = min(B, n - r0);
    for (int j = tid >> 5; j < B; j += TILE_THREADS / 32)
        for (int i = tid & 31; i < B; i += 32) {
            bool in = i > j && i < nb;
            if (in && i == j + 1 && kind && kind[r0 + j] == 1) in = false; /* D's entry, not L's */
            m.S[i + j * LD] = in ? A[r0 + i + (int64_t)(r0 + j) * lda] : make<T>(0);
        }
    __syncthreads();
    tile_inverse(m);
    T *out = M + (int64_t)blockIdx.x * B * B;
    for (int j = tid >> 5; j < B; j += TILE_THREADS / 32)
        for (int i = tid & 31; i < B; i += 32)
            out[i + j * B] = i > j ? m.S[i + j * LD] : make<T>(i == j ? 1 : 0);
}

/** X(k, c) = Y(perm[k], c), or X(perm[k], c) = Y(k, c). */
template <class T>
__global__ void gather_kernel(int n, const int *perm, const T *Y, int64_t ldy, T *X, int64_t ldx,
                              int back) {
    const int c = blockIdx.y;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        if (back)
            X[perm[k] + c * ldx] = Y[k + c * ldy];
        else
            X[k + c * ldx] = Y[perm[k] + c * ldy];
    }
}

/** X := D^-1 X; zero pivots give zeros. D lies in A's diagonal, and below it where kind is 1. */
template <bool H, class T>
__global__ void pivots_kernel(int n, const T *A, int64_t lda, const int *kind, T *X, int64_t ldx) {
    const int c = blockIdx.y;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        T *x = X + k + c * ldx;
        const T *a = A + k + (int64_t)k * lda;
        const int q = kind ? kind[k] : 0;
        if (q == 2) continue;
        if (q == 1) {
            T i11, i21, i22;
            inverse2<H>(a[0], a[1], a[lda + 1], i11, i21, i22);
            const T x0 = x[0], x1 = x[1];
            x[0] = i11 * x0 + cj<H>(i21) * x1;
            x[1] = i21 * x0 + i22 * x1;
        } else {
            x[0] = is_zero(a[0]) ? make<T>(0) : inverse(a[0]) * x[0];
        }
    }
}

static const int SOLVE_THREADS = 512;

/** M x (or M^H x, M^T x) for one tile by one thread block: x in shared memory; part: scratch. */
template <bool TRANSPOSED, bool H, class T>
__device__ void tile_times(int nb, const T *M, const T *x, T *part, T *out) {
    const int B = tile_size<T>::B, tid = threadIdx.x, pieces = SOLVE_THREADS / B;
    const int i = tid % B, p = tid / B;
    T s = make<T>(0);
    if (!TRANSPOSED) {
#pragma unroll
        for (int k = 0; k < B; k += pieces) /* rows beyond nb of M are the identity's */
            pfma(s, M[i + (k + p) * B], k + p < nb ? x[k + p] : make<T>(0));
        part[tid] = s;
        __syncthreads();
        if (tid < nb) {
            for (int q = 1; q < pieces; ++q)
                s = s + part[tid + q * B];
            out[tid] = s;
        }
    } else { /* a column a warp */
        const int lane = tid & 31;
#pragma unroll
        for (int q = 0; q < B; q += SOLVE_THREADS / 32) {
            const int j = q + (tid >> 5);
            s = make<T>(0);
#pragma unroll
            for (int k = 0; k < B; k += 32)
                pfma(s, cj<H>(M[k + lane + j * B]), k + lane < nb ? x[k + lane] : make<T>(0));
            for (int o = 16; o; o >>= 1)
                s = s + shfl_xor(s, o);
            if (lane == 0 && j < nb) out[j] = s;
        }
    }
    __syncthreads();
}

/** Step `tile` of L y = x: rows below lose A(below, tile) y; -1: only the first tile is made ready. */
template <class T>
__global__ void __launch_bounds__(SOLVE_THREADS)
    forward_kernel(int n, int tile, const T *A, int64_t lda, const int *kind, const T *M, T *x) {
    const int B = tile_size<T>::B, tid = threadIdx.x, pieces = SOLVE_THREADS / B;
    __shared__ T y[B], part[SOLVE_THREADS], mine[B];
    const int c0 = tile * B, r0 = (tile + 1 + blockIdx.x) * B, nb = min(B, n - r0);
    const int i = tid % B, p = tid / B;
    if (tile >= 0 && tid < B) y[tid] = x[c0 + tid];
    __syncthreads();
    T s = make<T>(0);
    if (tile >= 0 && i < nb) {
        const T *a = A + r0 + i + (int64_t)c0 * lda;
        const bool skip = kind && i == 0 && blockIdx.x == 0 && kind[r0] == 2;
#pragma unroll
        for (int k = 0; k < B; k += pieces)
            pfma(s, a[(k + p) * lda], skip && k + p == B - 1 ? make<T>(0) : y[k + p]);
    }
    part[tid] = s;
    __syncthreads();
    if (tid < nb) {
        for (int q = 1; q < pieces; ++q)
            s = s + part[tid + q * B];
        mine[tid] = x[r0 + tid] - s;
        if (blockIdx.x) x[r0 + tid] = mine[tid];
    }
    __syncthreads();
    if (blockIdx.x == 0)
        tile_times<false, false>(nb, M + (int64_t)(tile + 1) * B * B, mine, part, x + r0);
}

/** Step `tile` of L^T x = y (L^H): columns before lose A(tile, before)^T x. Thread block b works on
 *  tile - 1 - b, a column a warp. tile = tiles: only the last tile is made ready. */
template <bool H, class T>
__global__ void __launch_bounds__(SOLVE_THREADS)
    backward_kernel(int n, int tile, const T *A, int64_t lda, const int *kind, const T *M, T *x) {
    const int B = tile_size<T>::B, tid = threadIdx.x, lane = tid & 31;
    __shared__ T y[B], part[SOLVE_THREADS], mine[B];
    const int r0 = tile * B, t = tile - 1 - blockIdx.x, c0 = t * B;
    const int rows = max(0, min(B, n - r0)), nb = min(B, n - c0);
    if (tid < B) y[tid] = tid < rows ? x[r0 + tid] : make<T>(0);
    __syncthreads();
#pragma unroll 4
    for (int q = 0; q < B; q += SOLVE_THREADS / 32) {
        const int j = q + (tid >> 5);
        if (j >= nb) continue;
        T s = make<T>(0);
        const T *a = A + r0 + (int64_t)(c0 + j) * lda;
        const bool skip = kind && rows && blockIdx.x == 0 && j == nb - 1 && kind[r0] == 2;
#pragma unroll
        for (int k = 0; k < B; k += 32)
            if (k + lane < rows && !(skip && k + lane == 0)) pfma(s, cj<H>(a[k + lane]), y[k + lane]);
        for (int o = 16; o; o >>= 1)
            s = s + shfl_xor(s, o);
        if (lane == 0) {
            mine[j] = x[c0 + j] - s;
            if (blockIdx.x) x[c0 + j] = mine[j];
        }
    }
    __syncthreads();
    if (blockIdx.x == 0) tile_times<true, H>(nb, M + (int64_t)t * B * B, mine, part, x + c0);
}

/** A product took D's entry (row, row - 1) of a pair across two tiles for one of L: y += e x. */
template <class T>
__global__ void straddle_kernel(int nrhs, const T *A, int64_t lda, const int *kind, int row, T *y,
                                int64_t ldy, const T *x, int64_t ldx, int conjugate) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= nrhs || !kind || kind[row] != 2) return;
    const T e = A[row + (int64_t)(row - 1) * lda];
    pfma(y[c * ldy], conjugate ? conj(e) : e, x[c * ldx]);
}

/** Bytes of a solve's workspace: inverted tiles, one copy of the right-hand sides. */
static int64_t solve_bytes(int n, int64_t nrhs) {
    const int64_t B = tile_size<T>::B, tiles = (n + B - 1) / B;
    return (int64_t)sizeof(T) * (tiles * B * B + n * nrhs + B * nrhs) + 1024;
}

/** What both sweeps work with: inverted tiles of L, one tile of right-hand sides, and Y, n x nrhs. */
struct sweep_job {
    int n, nrhs;
    const T *A;
    int64_t lda;
    const int *kind;
    T *M, *one_tile, *Y;
    int64_t ldy;
    cudaStream_t stream;
};
static const int BY_HAND = 4;

static mpk_status sweep_begin(mpki_cuda *cuda, const sweep_job &g) {
    const int tiles = (g.n + tile_size<T>::B - 1) / tile_size<T>::B;
    const size_t shared = sizeof(tile_memory<T>);
    MPKI_TRY(cudaFuncSetAttribute(invert_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared));
    invert_kernel<T><<<tiles, TILE_THREADS, shared, g.stream>>>(g.n, g.A, g.lda, g.kind, g.M);
    MPKI_TRY(cudaGetLastError());
    if (g.nrhs > BY_HAND) {
        MPKI_TRY(cublasSetStream(cuda->panel_blas, g.stream));
        MPKI_TRY(cublasSetPointerMode(cuda->panel_blas, CUBLAS_POINTER_MODE_HOST));
    }
    return MPK_OK;
}
static mpk_status sweep_end(mpki_cuda *cuda, const sweep_job &g) {
    if (g.nrhs > BY_HAND) {
        MPKI_TRY(cublasSetPointerMode(cuda->panel_blas, CUBLAS_POINTER_MODE_DEVICE));
        MPKI_TRY(cublasSetStream(cuda->panel_blas, cuda->panel));
    }
    return MPK_OK;
}

/** Y := L^-1 Y. */
static mpk_status sweep_forward(mpki_cuda *cuda, const sweep_job &g) {
    const int B = tile_size<T>::B, n = g.n, nrhs = g.nrhs, tiles = (n + B - 1) / B;
    const T *A = g.A, one = make<T>(1), minus = make<T>(-1), nil = make<T>(0);
    const int64_t lda = g.lda, ldy = g.ldy;
    const products p = {cuda->panel_blas, g.stream, 0};
    for (int c = 0; c < nrhs && nrhs <= BY_HAND; ++c)
        for (int t = -1; t < tiles - 1; ++t)
            forward_kernel<<<t < 0 ? 1 : tiles - 1 - t, SOLVE_THREADS, 0, g.stream>>>(
                n, t, A, lda, g.kind, g.M, g.Y + c * ldy);
    for (int t = 0; t < tiles && nrhs > BY_HAND; ++t) {
        const int r0 = t * B, nb = n - r0 < B ? n - r0 : B, m = n - r0 - nb;
        T *y = g.Y + r0;
        MPKI_TRY(product(p, CUBLAS_OP_N, nb, nrhs, nb, &one, g.M + (int64_t)t * B * B, B, y, ldy,
                         &nil, g.one_tile, B));
        MPKI_TRY(cudaMemcpy2DAsync(y, sizeof(T) * ldy, g.one_tile, sizeof(T) * B, sizeof(T) * nb,
                                   nrhs, cudaMemcpyDeviceToDevice, g.stream));
        if (m) {
            MPKI_TRY(product(p, CUBLAS_OP_N, m, nrhs, nb, &minus, A + r0 + nb + (int64_t)r0 * lda,
                             lda, g.one_tile, B, &one, y + nb, ldy));
            straddle_kernel<<<(nrhs + 127) / 128, 128, 0, g.stream>>>(
                nrhs, A, lda, g.kind, r0 + nb, y + nb, ldy, g.one_tile + nb - 1, B, 0);
        }
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** Y := L^-T Y (L^-H). */
template <bool H> static mpk_status sweep_backward(mpki_cuda *cuda, const sweep_job &g) {
    const int B = tile_size<T>::B, n = g.n, nrhs = g.nrhs, tiles = (n + B - 1) / B;
    const T *A = g.A, one = make<T>(1), minus = make<T>(-1), nil = make<T>(0);
    const int64_t lda = g.lda, ldy = g.ldy;
    const products p = {cuda->panel_blas, g.stream, 0};
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    for (int c = 0; c < nrhs && nrhs <= BY_HAND; ++c)
        for (int t = tiles; t >= 1; --t)
            backward_kernel<H><<<t == tiles ? 1 : t, SOLVE_THREADS, 0, g.stream>>>(
                n, t, A, lda, g.kind, g.M, g.Y + c * ldy);
    for (int t = tiles - 1; t >= 0 && nrhs > BY_HAND; --t) {
        const int r0 = t * B, nb = n - r0 < B ? n - r0 : B, m = n - r0 - nb;
        T *y = g.Y + r0;
        if (m) {
            MPKI_TRY(product_left(p, op, nb, nrhs, m, &minus, A + r0 + nb + (int64_t)r0 * lda, lda,
                                  y + nb, ldy, &one, y, ldy));
            straddle_kernel<<<(nrhs + 127) / 128, 128, 0, g.stream>>>(
                nrhs, A, lda, g.kind, r0 + nb, y + nb - 1, ldy, y + nb, ldy, H);
        }
        MPKI_TRY(product_left(p, op, nb, nrhs, nb, &one, g.M + (int64_t)t * B * B, B, y, ldy, &nil,
                              g.one_tile, B));
        MPKI_TRY(cudaMemcpy2DAsync(y, sizeof(T) * ldy, g.one_tile, sizeof(T) * B, sizeof(T) * nb,
                                   nrhs, cudaMemcpyDeviceToDevice, g.stream));
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** X (n x nrhs) := (L D L^T)^-1 X on `stream`, permutation included. kind NULL: no pairs. */
template <bool H>
static mpk_status solve(mpki_cuda *cuda, int n, const T *A, int64_t lda, const int *perm,
                        const int *kind, int nrhs, T *X, int64_t ldx, char *work,
                        cudaStream_t stream) {
    const int B = tile_size<T>::B, tiles = (n + B - 1) / B;
    T *M = (T *)work, *Y = M + (int64_t)tiles * B * B, *one_tile = Y + (int64_t)n * nrhs;
    const sweep_job g = {n, nrhs, A, lda, kind, M, one_tile, Y, n, stream};
    const dim3 grid((n + 255) / 256, nrhs);
    gather_kernel<<<grid, 256, 0, stream>>>(n, perm, X, ldx, Y, n, 0);
    MPKI_PASS(sweep_begin(cuda, g));
    MPKI_PASS(sweep_forward(cuda, g));
    pivots_kernel<H><<<grid, 256, 0, stream>>>(n, A, lda, kind, Y, n);
    MPKI_PASS(sweep_backward<H>(cuda, g));
    MPKI_PASS(sweep_end(cuda, g));
    gather_kernel<<<grid, 256, 0, stream>>>(n, perm, Y, n, X, ldx, 1);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki
#endif
