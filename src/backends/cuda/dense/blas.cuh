/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLAS_CUH
#define MPKI_CUDA_BLAS_CUH
/** cuBLAS for T, and the trailing update built of its products. */
#include "../runtime.cuh"

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
    if (count == 1)
        return product(p, opb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    return cublasGemmStridedBatchedEx_64(p.handle, CUBLAS_OP_N, opb, m, n, k, alpha, A, input_type(p),
                                         lda, stride_a, B, input_type(p), ldb, stride_b, beta, C,
                                         BLAS_TYPE, ldc, stride_c, count, compute_type(p.tf32),
                                         CUBLAS_GEMM_DEFAULT);
}

#if MPKI_PRECISION % 2 == 0
__device__ inline float tf32_of(float x) {
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}
template <class F> __device__ inline cx<F> tf32_of(cx<F> x) {
    return {tf32_of(x.x), tf32_of(x.y)};
}

/** Single precision on tensor cores: with x = hi + lo, both of TF32's width, L W^T is, to nearly
 *  single precision, [L_hi L_hi L_lo] [W_hi W_lo W_hi]^T: one product three times as deep. */
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
/** L and W (m x columns) in half precision, a column a thread block: of each column L by a power of
 *  two and W by its inverse, so that both have the same largest exponent; their product is what it
 *  was, and only where that largest product passes 2^31 does anything overflow. Behind a failure
 *  all are zeros: what is left in L and W may overflow, and a gate of 0 times infinity is not 0. */
__global__ static void __launch_bounds__(1024)
    halves_kernel(int m, const float *L, const float *W, int64_t ld, __half *Lh, __half *Wh,
                  const control *ctl) {
    __shared__ unsigned most[2];
    const int64_t at = blockIdx.x * ld;
    unsigned l = 0, w = 0;
    const bool failed = ctl->failed != 0;
    if (threadIdx.x < 2) most[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < m; i += blockDim.x)
        l = max(l, key(L[at + i])), w = max(w, key(W[at + i]));
    l = __reduce_max_sync(0xffffffffu, l), w = __reduce_max_sync(0xffffffffu, w);
    if ((threadIdx.x & 31) == 0) atomicMax(most, l), atomicMax(most + 1, w);
    __syncthreads();
    int shift = most[0] && most[1] ? ((int)(most[1] >> 23) - (int)(most[0] >> 23)) / 2 : 0;
    shift = max(-100, min(100, shift));
    const float up = __int_as_float((127 + shift) << 23), down = __int_as_float((127 - shift) << 23);
    for (int i = threadIdx.x; i < m; i += blockDim.x) {
        Lh[at + i] = __float2half_rn(failed ? 0 : L[at + i] * up);
        Wh[at + i] = __float2half_rn(failed ? 0 : W[at + i] * down);
    }
}
#endif

/** Lower triangle of C (m x m) += gate * L W^T (W^H), L and W m x K: squares of half, a quarter, ...
 *  of m, all of one size in one strided batch, so that the upper triangle is never written and the
 *  number of launches is logarithmic; then the diagonal blocks. gate is 0 (nothing happens) or -1. */
template <bool H>
static mpk_status lower_update(mpki_cuda *cuda, const products &p, int m, int K, const T *L,
                               const T *W, int64_t ldw, T *C, int64_t ldc, const T *gate,
                               const T *one, int64_t ldl = 0, const T *Ls = NULL,
                               const T *Ws = NULL) {
    if (m <= 0 || K <= 0) return MPK_OK;
    if (!ldl) ldl = ldw;
    const T *Ld = L, *Wd = W;
    const int Kd = K;
    if (Ls) L = Ls, W = Ws; /* see split_kernel, halves_kernel */
    if (Ls && p.tf32 != HALVES) K *= 3;
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    int top = DIAGONAL;
    while (2 * top < m)
        top *= 2;
    for (int64_t s = top; s >= DIAGONAL; s /= 2) {
        const int64_t pairs = m / (2 * s), start = 2 * pairs * s;
        MPKI_TRY(products_strided(p, op, s, s, K, gate, entry(p, L, s), ldl, 2 * s, W, ldw, 2 * s, one,
                                  C + s, ldc, 2 * s * (ldc + 1), pairs));
        if (m - start > s)
            MPKI_TRY(product(p, op, m - start - s, s, K, gate, entry(p, L, start + s), ldl,
                             entry(p, W, start), ldw, one, C + start + s + start * ldc, ldc));
    }
    diagonal_kernel<H><<<(m + DIAGONAL - 1) / DIAGONAL * 3, 256, 0, p.stream>>>(
        m, Kd, Ld, ldl, Wd, ldw, C, ldc, gate);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki
#endif
