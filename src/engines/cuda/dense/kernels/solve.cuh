/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_SOLVE_CUH
#define MPKI_CUDA_DENSE_SOLVE_CUH
/** Solves with P A P^T = L D L^T, L in its final order. The diagonal tiles of L are inverted first,
 *  all at once; then a sweep is one launch, in which the thread block that has a tile of the
 *  solution passes it on to all that wait for it. With many right-hand sides cuBLAS does the
 *  sweeps. */
#include "blas.cuh"
#include "tile.cuh"

#include <type_traits>

namespace mpki {

/** M := the inverse of tile blockIdx.x of L, B x B by columns, unit lower with explicit zeros. A
 *  block takes a tile; block barriers. */
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

/** X(k, c) := Y(perm[k], c), or (back) X(perm[k], c) := Y(k, c). A thread takes rows in turns;
 *  no barrier. */
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

/** X := D^-1 X; zero pivots give zeros. D lies on A's diagonal, and below it where kind is 1. A
 *  thread takes rows in turns; no barrier. */
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

/** A value of a sweep's solution, as words that are read and written whole. Until it is written all
 *  its bits are ones, a NaN that no arithmetic yields: a reader waits until it is something else.
 *  */
template <class T> union solved {
    typedef typename std::conditional<sizeof(T) == 4, unsigned, unsigned long long>::type word;
    static const int WORDS = sizeof(T) / sizeof(word);
    T value;
    word w[WORDS];
    __device__ solved() {}
};

/** *to := v, word by word; a NaN of all ones, which means absent, becomes another one. By each
 *  thread for itself; no barrier. */
template <class T> __device__ inline void publish_value(T *to, T v) {
    solved<T> s;
    s.value = v;
#pragma unroll
    for (int k = 0; k < solved<T>::WORDS; ++k) { /* shifted by one bit it is still a NaN */
        const typename solved<T>::word w = s.w[k];
        ((volatile typename solved<T>::word *)to)[k] = ~w == 0 ? w >> 1 : w;
    }
}

/** *from, as soon as it is there. By each thread for itself; no barrier. */
template <class T> __device__ inline T await_value(const T *from) {
    solved<T> s;
#pragma unroll
    for (int k = 0; k < solved<T>::WORDS; ++k) do
            s.w[k] = ((const volatile typename solved<T>::word *)from)[k];
        while (~s.w[k] == 0);
    return s.value;
}

/** What a thread of a sweep holds of a tile: forward, a row and B / PIECES columns of it; backward
 *  (BACK), a lane's rows, 32 apart, of COLUMNS columns. */
template <bool BACK, class T> struct sweep_part {
    static const int B = tile_size<T>::B, PIECES = SOLVE_THREADS / B, K = B / PIECES,
                     COLUMNS = B / (SOLVE_THREADS / 32), ROWS = B / 32;
    static const int SUMS = BACK ? COLUMNS : scalar_of<T>::complex ? 1 : 2;
    T v[K], sum[SUMS], all; /* all: forward, of the tiles before */
    int i, k0;              /* forward: row, first column; backward: lane, first column */

    /** The thread's part of a tile; sums are 0. By each thread for itself; no barrier. */
    __device__ void begin() {
        const int tid = threadIdx.x;
        i = BACK ? tid & 31 : tid % B, k0 = BACK ? (tid >> 5) * COLUMNS : tid / B * K;
#pragma unroll
        for (int c = 0; c < SUMS; ++c) sum[c] = make<T>(0);
        all = make<T>(0);
    }
    /** A tile ends: sums of tiles have smaller rounding errors than one long sum. By each thread
     *  for itself; no barrier. */
    __device__ void next() {
        if (BACK) return;
        all = all + (SUMS == 2 ? sum[0] + sum[SUMS - 1] : sum[0]);
        sum[0] = sum[SUMS - 1] = make<T>(0);
    }
    /** The address of the thread's first entry in the tile with its corner at a. By each thread
     *  for itself; no barrier. */
    __device__ const T *at(const T *a, int64_t lda) const {
        return a + i + k0 * lda;
    }
    /** The thread's entry q of the tile; a goes on to the next one. By each thread for itself;
     *  no barrier. */
    __device__ T take(const T *&a, int64_t lda, int rows, int q) const {
        const int r = BACK ? q % ROWS * 32 : 0;
        const T value = i + r < rows ? a[r] : make<T>(0);
        if (!BACK || q % ROWS == ROWS - 1) {
            a += lda;
            asm volatile("" : "+l"(a)); /* no register for every column's offset */
        }
        return value;
    }
    /** The thread's sums += entry q times x. By each thread for itself; no barrier. */
    template <bool H> __device__ void add(int q, T a, const T *x) {
        if (BACK)
            pfma(sum[q / ROWS], cj<H>(a), x[i + q % ROWS * 32]);
        else
            pfma(sum[q % SUMS], a, x[k0 + q]);
    }
    /** out := the sums of the block, a tile of the solution. part: SOLVE_THREADS entries,
     *  shared. By all threads of a block; contains block barriers. */
    __device__ void gather(T *part, T *out) {
        const int tid = threadIdx.x;
        if constexpr (BACK) {
            fold<COLUMNS>(sum);
            if (i % (32 / COLUMNS) == 0) out[k0 + i / (32 / COLUMNS)] = sum[0];
        } else {
            next();
            part[tid] = all;
            __syncthreads();
            if (tid < B) {
                T s = part[tid];
#pragma unroll
                for (int q = 1; q < PIECES; ++q) s = s + part[tid + q * B];
                out[tid] = s;
            }
        }
        __syncthreads();
    }
};

/** z := L^-1 b, or (BACK) L^-T b (L^-H), in one launch: a block has a tile of the solution and
 *  uses the tiles before it as they become known, while the next tile of L is on its way. Blocks
 *  take tiles by a ticket, so each waits only for those that run already. z and *ticket start as
 *  all ones. Block barriers, and waiting for marks in memory. */
template <bool BACK, bool H, class T>
__global__ void __launch_bounds__(SOLVE_THREADS, sizeof(T) == 4 ? 2 : 1)
    sweep_kernel(int n, const T *A, int64_t lda, const int *kind, const T *M, const T *b, T *z,
                 int *ticket) {
    typedef sweep_part<BACK, T> part_of;
    const int B = part_of::B, K = part_of::K, tid = threadIdx.x, tiles = (n + B - 1) / B;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T *inverse = (T *)shared_bytes;
    __shared__ T x[2][B], part[SOLVE_THREADS], mine[B];
    __shared__ int turn;
    if (tid == 0) turn = atomicAdd(ticket, 1) + 1;
    __syncthreads();
    const int t = BACK ? tiles - 1 - turn : turn, first = BACK ? tiles - 1 : 0,
              step = BACK ? -1 : 1, r0 = t * B, nb = min(B, n - r0);
    const T *square = M + (int64_t)t * B * B;
    for (int e = tid * (16 / (int)sizeof(T)); e < B * B; e += SOLVE_THREADS * (16 / (int)sizeof(T)))
        copy_async16((double *)(inverse + e), (const double *)(square + e));
    copy_commit();
    const T right = tid < nb ? b[r0 + tid] : make<T>(0);
    auto corner = [&](int s) {
        return BACK ? A + (int64_t)s * B + (int64_t)r0 * lda : A + r0 + (int64_t)s * B * lda;
    };
    /* D's entry of a pair across two tiles does not belong to L */
    const int edge = BACK ? r0 + B : r0;
    const bool pair = kind && edge > 0 && edge < n && kind[edge] == 2;
    part_of p;
    p.begin();
    const bool odd =
        pair && (BACK ? p.i == 0 && p.k0 + part_of::COLUMNS == B : p.i == 0 && p.k0 + K == B);
    const int odd_q = BACK ? K - part_of::ROWS : K - 1;
    if (turn > 0) {
        const T *a = p.at(corner(first), lda);
        const int rows = BACK ? min(B, n - first * B) : nb;
#pragma unroll
        for (int q = 0; q < K; ++q) p.v[q] = p.take(a, lda, rows, q);
    }
    for (int k = 0, s = first; k < turn; ++k, s += step) {
        T *now = x[k & 1];
        if (tid < B) now[tid] = s * B + tid < n ? await_value(z + s * B + tid) : make<T>(0);
        __syncthreads();
        const T *a = p.at(corner(s + step), lda);
        const int rows = k + 1 == turn ? 0 : BACK ? B : nb;
        if (odd && k + 1 == turn) p.v[odd_q] = make<T>(0);
#pragma unroll
        for (int q = 0; q < K; ++q) {
            p.template add<H>(q, p.v[q], now);
            p.v[q] = p.take(a, lda, rows, q);
        }
        p.next();
    }
    p.gather(part, mine);
    if (tid < B) mine[tid] = right - mine[tid];
    copy_wait<0>();
    __syncthreads();
    p.begin();
#pragma unroll
    for (int q = 0; q < K; ++q)
        p.template add<H>(
            q,
            inverse[BACK ? p.i + q % part_of::ROWS * 32 + (p.k0 + q / part_of::ROWS) * B
                         : p.i + (p.k0 + q) * B],
            mine);
    p.gather(part, x[0]);
    if (tid < nb) publish_value(z + r0 + tid, x[0][tid]);
}

/** y(c) += e x(c): undoes that a product took D's entry e = (row, row - 1), of a pair across two
 *  tiles, for one of L. A thread takes a right-hand side; no barrier. */
template <class T>
__global__ void straddle_kernel(int nrhs, const T *A, int64_t lda, const int *kind, int row, T *y,
                                int64_t ldy, const T *x, int64_t ldx, int conjugate) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= nrhs || !kind || kind[row] != 2) return;
    const T e = A[row + (int64_t)(row - 1) * lda];
    pfma(y[c * ldy], conjugate ? conj(e) : e, x[c * ldx]);
}

static const int TICKET = 16; /* entries before z: the thread blocks' ticket */
/** Entries: one tile of right-hand sides, or a ticket and the solution that is being found. */
static int64_t sweep_entries(const mpki_cuda *cuda, int64_t n, int64_t nrhs) {
    return tile_of<T>(cuda) * nrhs + TICKET + n;
}

/** Bytes of a solve's workspace: inverted tiles, one copy of the right-hand sides. */
static int64_t solve_bytes(const mpki_cuda *cuda, int n, int64_t nrhs) {
    const int64_t B = tile_of<T>(cuda), tiles = (n + B - 1) / B;
    return (int64_t)sizeof(T) * (tiles * B * B + n * nrhs + sweep_entries(cuda, n, nrhs)) + 1024;
}

/** What both sweeps work with: inverted tiles of L, sweep_entries() entries, and Y, n x nrhs. */
struct sweep_job {
    int n, nrhs;
    const T *A;
    int64_t lda;
    const int *kind;
    T *M, *scratch, *Y;
    int64_t ldy;
    cudaStream_t stream;
};
static const int BY_HAND = 4;

static mpk_status sweep_begin(mpki_cuda *cuda, const sweep_job &g) {
    const int B = tile_of<T>(cuda), tiles = (g.n + B - 1) / B;
    const size_t shared = tile_bytes<T>(cuda);
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

/** sweep_kernel() for one column of Y after the other. */
template <bool BACK, bool H> static mpk_status sweep_by_hand(mpki_cuda *cuda, const sweep_job &g) {
    const int B = tile_of<T>(cuda), tiles = (g.n + B - 1) / B, shared = B * B * (int)sizeof(T);
    T *z = g.scratch + TICKET;
    MPKI_TRY(cudaFuncSetAttribute(sweep_kernel<BACK, H, T>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    for (int c = 0; c < g.nrhs; ++c) {
        T *y = g.Y + c * g.ldy;
        MPKI_TRY(cudaMemsetAsync(g.scratch, 0xff, sizeof(T) * (TICKET + g.n), g.stream));
        sweep_kernel<BACK, H, T><<<tiles, SOLVE_THREADS, shared, g.stream>>>(
            g.n, g.A, g.lda, g.kind, g.M, y, z, (int *)g.scratch);
        MPKI_TRY(cudaGetLastError());
        MPKI_TRY(cudaMemcpyAsync(y, z, sizeof(T) * g.n, cudaMemcpyDeviceToDevice, g.stream));
    }
    return MPK_OK;
}

/** Y := L^-1 Y. */
static mpk_status sweep_forward(mpki_cuda *cuda, const sweep_job &g) {
    const int B = tile_of<T>(cuda), n = g.n, nrhs = g.nrhs, tiles = (n + B - 1) / B;
    const T *A = g.A, one = make<T>(1), minus = make<T>(-1), nil = make<T>(0);
    const int64_t lda = g.lda, ldy = g.ldy;
    const products p = {cuda->panel_blas, g.stream, 0};
    if (nrhs <= BY_HAND) return sweep_by_hand<false, false>(cuda, g);
    for (int t = 0; t < tiles; ++t) {
        const int r0 = t * B, nb = n - r0 < B ? n - r0 : B, m = n - r0 - nb;
        T *y = g.Y + r0;
        MPKI_TRY(product(p, CUBLAS_OP_N, nb, nrhs, nb, &one, g.M + (int64_t)t * B * B, B, y, ldy,
                         &nil, g.scratch, B));
        MPKI_TRY(cudaMemcpy2DAsync(y, sizeof(T) * ldy, g.scratch, sizeof(T) * B, sizeof(T) * nb,
                                   nrhs, cudaMemcpyDeviceToDevice, g.stream));
        if (m) {
            MPKI_TRY(product(p, CUBLAS_OP_N, m, nrhs, nb, &minus, A + r0 + nb + (int64_t)r0 * lda,
                             lda, g.scratch, B, &one, y + nb, ldy));
            straddle_kernel<<<(nrhs + 127) / 128, 128, 0, g.stream>>>(
                nrhs, A, lda, g.kind, r0 + nb, y + nb, ldy, g.scratch + nb - 1, B, 0);
        }
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** Y := L^-T Y (L^-H). */
template <bool H> static mpk_status sweep_backward(mpki_cuda *cuda, const sweep_job &g) {
    const int B = tile_of<T>(cuda), n = g.n, nrhs = g.nrhs, tiles = (n + B - 1) / B;
    const T *A = g.A, one = make<T>(1), minus = make<T>(-1), nil = make<T>(0);
    const int64_t lda = g.lda, ldy = g.ldy;
    const products p = {cuda->panel_blas, g.stream, 0};
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    if (nrhs <= BY_HAND) return sweep_by_hand<true, H>(cuda, g);
    for (int t = tiles - 1; t >= 0; --t) {
        const int r0 = t * B, nb = n - r0 < B ? n - r0 : B, m = n - r0 - nb;
        T *y = g.Y + r0;
        if (m) {
            MPKI_TRY(product_left(p, op, nb, nrhs, m, &minus, A + r0 + nb + (int64_t)r0 * lda, lda,
                                  y + nb, ldy, &one, y, ldy));
            straddle_kernel<<<(nrhs + 127) / 128, 128, 0, g.stream>>>(
                nrhs, A, lda, g.kind, r0 + nb, y + nb - 1, ldy, y + nb, ldy, H);
        }
        MPKI_TRY(product_left(p, op, nb, nrhs, nb, &one, g.M + (int64_t)t * B * B, B, y, ldy, &nil,
                              g.scratch, B));
        MPKI_TRY(cudaMemcpy2DAsync(y, sizeof(T) * ldy, g.scratch, sizeof(T) * B, sizeof(T) * nb,
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
    const int B = tile_of<T>(cuda), tiles = (n + B - 1) / B;
    T *M = (T *)work, *Y = M + (int64_t)tiles * B * B, *scratch = Y + (int64_t)n * nrhs;
    const sweep_job g = {n, nrhs, A, lda, kind, M, scratch, Y, n, stream};
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
