/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_BLAS_CUH
#define MPKI_CUDA_DENSE_BLAS_CUH
/** cuBLAS for the type T, and the trailing update built from its products. */
#include "engines/cuda/module/runtime.cuh"

#include <cuda_fp16.h>

#include "steps.cuh"

namespace mpki {

#if MPKI_PRECISION == 0
static const cudaDataType_t BLAS_TYPE = CUDA_R_32F;
#elif MPKI_PRECISION == 1
static const cudaDataType_t BLAS_TYPE = CUDA_R_64F;
#elif MPKI_PRECISION == 2
static const cudaDataType_t BLAS_TYPE = CUDA_C_32F;
#else
static const cudaDataType_t BLAS_TYPE = CUDA_C_64F;
#endif

/** A product's arithmetic: T's own, or TF32 inputs with single sums. */
static inline cublasComputeType_t compute_type(int tf32) {
    if (sizeof(R) == 8) return CUBLAS_COMPUTE_64F;
    return tf32 == 1 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

struct products {
    cublasHandle_t handle;
    cudaStream_t stream;
    int tf32; /* 1: inputs rounded to TF32; HALVES (real single): inputs are half precision */
};
static const int HALVES = 2;

static inline cudaDataType_t input_type(const products &p) {
    return p.tf32 == HALVES ? CUDA_R_16F : BLAS_TYPE;
}
/** p + k entries, of half precision where the product's inputs are. */
static inline const T *entry(const products &p, const T *at, int64_t k) {
    return p.tf32 == HALVES ? (const T *)((const __half *)at + k) : at + k;
}

/** C (m x n) = alpha A (m x k) B^T (transb: op) + beta C; alpha, beta in device memory. */
static inline cublasStatus_t product(const products &p, cublasOperation_t opb, int m, int n, int k,
                                     const T *alpha, const T *A, int64_t lda, const T *B,
                                     int64_t ldb, const T *beta, T *C, int64_t ldc) {
    if (m <= 0 || n <= 0) return CUBLAS_STATUS_SUCCESS;
    return cublasGemmEx_64(p.handle, CUBLAS_OP_N, opb, m, n, k, alpha, A, input_type(p), lda, B,
                           input_type(p), ldb, beta, C, BLAS_TYPE, ldc, compute_type(p.tf32),
                           CUBLAS_GEMM_DEFAULT);
}

/** C (m x n) = alpha op(A) B + beta C. */
static inline cublasStatus_t product_left(const products &p, cublasOperation_t opa, int m, int n,
                                          int k, const T *alpha, const T *A, int64_t lda,
                                          const T *B, int64_t ldb, const T *beta, T *C,
                                          int64_t ldc) {
    if (m <= 0 || n <= 0) return CUBLAS_STATUS_SUCCESS;
    return cublasGemmEx_64(p.handle, opa, CUBLAS_OP_N, m, n, k, alpha, A, BLAS_TYPE, lda, B,
                           BLAS_TYPE, ldb, beta, C, BLAS_TYPE, ldc, compute_type(p.tf32),
                           CUBLAS_GEMM_DEFAULT);
}

static inline cublasStatus_t products_strided(const products &p, cublasOperation_t opb, int m,
                                              int n, int k, const T *alpha, const T *A, int64_t lda,
                                              int64_t stride_a, const T *B, int64_t ldb,
                                              int64_t stride_b, const T *beta, T *C, int64_t ldc,
                                              int64_t stride_c, int count) {
    if (m <= 0 || n <= 0 || count <= 0) return CUBLAS_STATUS_SUCCESS;
    if (count == 1) return product(p, opb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    return cublasGemmStridedBatchedEx_64(p.handle, CUBLAS_OP_N, opb, m, n, k, alpha, A,
                                         input_type(p), lda, stride_a, B, input_type(p), ldb,
                                         stride_b, beta, C, BLAS_TYPE, ldc, stride_c, count,
                                         compute_type(p.tf32), CUBLAS_GEMM_DEFAULT);
}

#if MPKI_PRECISION == 2

/** x rounded to the width of TF32. By each thread for itself; no barrier. */
__device__ inline float tf32_of(float x) {
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}
template <class F> __device__ inline cx<F> tf32_of(cx<F> x) {
    return {tf32_of(x.x), tf32_of(x.y)};
}

/** With x = hi + lo, both of TF32's width: Ls := [L_hi L_hi L_lo], Ws := [W_hi W_lo W_hi], whose
 *  product Ls Ws^T is L W^T to nearly single precision, on tensor cores. Complex entries; real
 *  ones are split into halves. A thread takes rows in turns; no barrier. */
template <class G>
__global__ void split_kernel(int m, int w, const G *L, const G *W, int64_t ld, G *Ls, G *Ws) {
    const int64_t j = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) {
        const G l = L[i + j * ld], v = W[i + j * ld];
        const G lh = tf32_of(l), vh = tf32_of(v);
        Ls[i + j * ld] = lh, Ls[i + (j + w) * ld] = lh, Ls[i + (j + 2 * w) * ld] = l - lh;
        Ws[i + j * ld] = vh, Ws[i + (j + w) * ld] = v - vh, Ws[i + (j + 2 * w) * ld] = vh;
    }
}
#endif

#if MPKI_PRECISION == 0
/** exponents[2 k], [2 k + 1] := the largest exponents of column k of L and of W (m rows). A
 *  block takes a column; block barriers. */
__global__ static void __launch_bounds__(512)
    exponents_kernel(int m, const float *L, const float *W, int64_t ld, int *exponents) {
    __shared__ unsigned most[2];
    const int64_t at = blockIdx.x * ld;
    unsigned l = 0, w = 0;
    if (threadIdx.x < 2) most[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 8
    for (int i = threadIdx.x; i < m; i += blockDim.x)
        l = max(l, key(L[at + i])), w = max(w, key(W[at + i]));
    l = __reduce_max_sync(0xffffffffu, l), w = __reduce_max_sync(0xffffffffu, w);
    if ((threadIdx.x & 31) == 0) atomicMax(most, l), atomicMax(most + 1, w);
    __syncthreads();
    if (threadIdx.x < 2) exponents[2 * blockIdx.x + threadIdx.x] = max(1u, most[threadIdx.x] >> 23);
}

/** L and W (m x w) in half precision for tensor cores. Column k of L is multiplied by a power of
 *  two, column k of W by another, so that both have the same largest exponent and the product of
 *  the powers, 2^c, is the same for all k; the largest product becomes 2^28 .. 2^30, where
 *  nothing overflows and little falls below the range. *scaled: -2^-c, the factor of the
 *  product. TERMS 3: with x = hi + lo, both of 11 bits, [L_lo L_hi L_hi] [W_hi W_lo W_hi]^T is L
 *  W^T to nearly single precision. After a failure all results are 0: a gate of 0 times infinity
 *  is not 0. A block takes rows of a column; block barriers. */
template <int TERMS>
__global__ static void __launch_bounds__(256)
    halves_kernel(int m, int w, const float *L, const float *W, int64_t ld, const int *exponents,
                  __half *Lh, __half *Wh, float *scaled, const control *ctl) {
    __shared__ int most;
    const bool failed = ctl->failed != 0;
    const int k = blockIdx.y;
    int top = 0;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < w; j += blockDim.x)
        top = max(top, exponents[2 * j] + exponents[2 * j + 1]);
    top = __reduce_max_sync(0xffffffffu, top);
    if ((threadIdx.x & 31) == 0) atomicMax(&most, top);
    __syncthreads();
    const int c = max(-120, min(120, 2 * (127 + 14) - most));
    const int el = exponents[2 * k], ew = exponents[2 * k + 1], a = (c + ew - el) >> 1;
    if (blockIdx.x + blockIdx.y + threadIdx.x == 0) *scaled = failed ? 0 : -ldexpf(1, -c);
    L += k * ld, W += k * ld;
    for (int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x); i < m;
         i += 2 * gridDim.x * blockDim.x) {
        const bool two = i + 1 < m;
        float2 l = make_float2(0, 0), v = l;
        if (!failed) {
            l = make_float2(ldexpf(L[i], a), two ? ldexpf(L[i + 1], a) : 0);
            v = make_float2(ldexpf(W[i], c - a), two ? ldexpf(W[i + 1], c - a) : 0);
        }
        const __half2 lh = __float22half2_rn(l), vh = __float22half2_rn(v);
        auto put = [&](__half *to, int term, __half2 x) {
            *(__half2 *)(to + i + (k + (int64_t)term * w) * ld) = x;
        };
        put(Lh, TERMS - 1, lh), put(Wh, TERMS - 1, vh);
        if (TERMS == 3) {
            const float2 lb = __half22float2(lh), vb = __half22float2(vh);
            put(Lh, 0, __floats2half2_rn(l.x - lb.x, l.y - lb.y)), put(Wh, 0, vh);
            put(Lh, 1, lh), put(Wh, 1, __floats2half2_rn(v.x - vb.x, v.y - vb.y));
        }
    }
}
#endif

/** What split_kernel or halves_kernel made of the L and W of an update, and the factor of the
 *  product. */
struct split_part {
    const T *L, *W, *gate;
    int terms; /* how many times as deep */
};

/** Lower triangle of C (m x m) += gate * L W^T (W^H), L and W m x K. Squares of half, a quarter,
 *  ... of m are updated, those of one size in one strided batch, so the upper triangle is never
 *  written and the number of launches is logarithmic; then the diagonal blocks. gate is -1, or 0:
 *  nothing happens. */
template <bool H>
static mpk_status lower_update(mpki_cuda *cuda, const products &p, int m, int K, const T *L,
                               const T *W, int64_t ldw, T *C, int64_t ldc, const T *gate,
                               const T *one, int64_t ldl = 0, const split_part *split = NULL) {
    if (m <= 0 || K <= 0) return MPK_OK;
    if (!ldl) ldl = ldw;
    const T *Ld = L, *Wd = W, *open = gate;
    const int Kd = K;
    if (split) L = split->L, W = split->W, K *= split->terms, gate = split->gate;
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    int top = DIAGONAL;
    while (2 * top < m) top *= 2;
    for (int64_t s = top; s >= DIAGONAL; s /= 2) {
        const int64_t pairs = m / (2 * s), start = 2 * pairs * s;
        MPKI_TRY(products_strided(p, op, s, s, K, gate, entry(p, L, s), ldl, 2 * s, W, ldw, 2 * s,
                                  one, C + s, ldc, 2 * s * (ldc + 1), pairs));
        if (m - start > s)
            MPKI_TRY(product(p, op, m - start - s, s, K, gate, entry(p, L, start + s), ldl,
                             entry(p, W, start), ldw, one, C + start + s + start * ldc, ldc));
    }
    diagonal_kernel<H><<<(m + DIAGONAL - 1) / DIAGONAL * 3, 256, 0, p.stream>>>(m, Kd, Ld, ldl, Wd,
                                                                                ldw, C, ldc, open);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki
#endif
