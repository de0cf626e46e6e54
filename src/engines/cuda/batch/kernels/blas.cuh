/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_BLAS_CUH
#define MPKI_CUDA_BATCH_BLAS_CUH
/** The products that cuBLAS has: strided or by pointers, all of one size, without D. */
#include "launch.cuh"
#include "product.cuh"

namespace mpki {

template <class T> struct blas;
#define MPKI_BLAS(T, B, letter)                                                                    \
    template <> struct blas<T> {                                                                   \
        typedef B type;                                                                            \
        static cublasStatus_t strided(cublasHandle_t h, cublasOperation_t t,                       \
                                      const product_part &p, const B *alpha, const B *beta) {      \
            return cublas##letter##gemmStridedBatched(                                             \
                h, CUBLAS_OP_N, t, p.m, p.n, p.k, alpha, (const B *)p.a.data, p.a.ld, p.a.stride,  \
                (const B *)p.b.data, p.b.ld, p.b.stride, beta, (B *)p.c.data, p.c.ld, p.c.stride,  \
                (int)p.count);                                                                     \
        }                                                                                          \
        static cublasStatus_t pointers(cublasHandle_t h, cublasOperation_t t,                      \
                                       const product_part &p, const B *alpha, const B *beta) {     \
            return cublas##letter##gemmBatched(h, CUBLAS_OP_N, t, p.m, p.n, p.k, alpha,            \
                                               (const B *const *)p.a.data, p.a.ld,                 \
                                               (const B *const *)p.b.data, p.b.ld, beta,           \
                                               (B *const *)p.c.data, p.c.ld, (int)p.count);        \
        }                                                                                          \
    };
MPKI_BLAS(float, float, S)
MPKI_BLAS(double, double, D)
MPKI_BLAS(cx<float>, cuComplex, C)
MPKI_BLAS(cx<double>, cuDoubleComplex, Z)

/** cuBLAS wins from about 16 x 16 x 16 on (bench/results/batch-gpu.md). */
inline bool blas_suits(const product_part &p) {
    return !p.sizes && !p.d.data && p.k > 0 && p.alpha != 0 &&
           (int64_t)p.m * p.n * p.k > 16 * 16 * 16 && p.a.layout != 2 && p.a.layout == p.b.layout &&
           p.a.layout == p.c.layout;
}

template <class T> mpk_status blas_product(mpki_cuda *cuda, const product_part &p, void *stream) {
    typedef typename blas<T>::type B;
    const T alpha = make<T>(p.alpha), beta = make<T>(p.beta);
    const cublasOperation_t t = p.transpose_b == 0   ? CUBLAS_OP_N
                                : p.transpose_b == 1 ? CUBLAS_OP_T
                                                     : CUBLAS_OP_C;
    if (!cuda->batch_blas) MPKI_TRY(cublasCreate(&cuda->batch_blas));
    MPKI_TRY(cublasSetStream(cuda->batch_blas, (cudaStream_t)stream));
    MPKI_TRY(p.a.layout == 0
                 ? blas<T>::strided(cuda->batch_blas, t, p, (const B *)&alpha, (const B *)&beta)
                 : blas<T>::pointers(cuda->batch_blas, t, p, (const B *)&alpha, (const B *)&beta));
    return MPK_OK;
}

} // namespace mpki
#endif
