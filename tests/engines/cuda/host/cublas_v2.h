/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CUDA_HOST_CUBLAS_H
#define TESTS_CUDA_HOST_CUBLAS_H
/** The part of cuBLAS that batches ask for, on the host. */
#include <complex>
#include <stdint.h>

typedef struct host_blas *cublasHandle_t;
typedef struct host_stream *cudaStream_t;
typedef enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0 } cublasStatus_t;
typedef enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef std::complex<float> cuComplex;
typedef std::complex<double> cuDoubleComplex;

inline cublasStatus_t cublasCreate(cublasHandle_t *h) {
    *h = (cublasHandle_t)1;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline float host_conj(float x) {
    return x;
}
inline double host_conj(double x) {
    return x;
}
template <class F> std::complex<F> host_conj(std::complex<F> x) {
    return std::conj(x);
}
template <class T>
void host_gemm(cublasOperation_t t, int m, int n, int k, T alpha, const T *a, int lda, const T *b,
               int ldb, T beta, T *c, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            T sum = 0;
            for (int p = 0; p < k; p++) {
                const T y = t == CUBLAS_OP_N ? b[p + j * ldb] : b[j + p * ldb];
                sum += a[i + p * lda] * (t == CUBLAS_OP_C ? host_conj(y) : y);
            }
            c[i + j * ldc] = alpha * sum + (beta == T(0) ? T(0) : beta * c[i + j * ldc]);
        }
}
#define HOST_GEMM(T, letter)                                                                       \
    inline cublasStatus_t cublas##letter##gemmStridedBatched(                                      \
        cublasHandle_t, cublasOperation_t, cublasOperation_t t, int m, int n, int k,               \
        const T *alpha, const T *a, int lda, long long sa, const T *b, int ldb, long long sb,      \
        const T *beta, T *c, int ldc, long long sc, int count) {                                   \
        for (int q = 0; q < count; q++)                                                            \
            host_gemm<T>(t, m, n, k, *alpha, a + q * sa, lda, b + q * sb, ldb, *beta, c + q * sc,  \
                         ldc);                                                                     \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    inline cublasStatus_t cublas##letter##gemmBatched(                                             \
        cublasHandle_t, cublasOperation_t, cublasOperation_t t, int m, int n, int k,               \
        const T *alpha, const T *const *a, int lda, const T *const *b, int ldb, const T *beta,     \
        T *const *c, int ldc, int count) {                                                         \
        for (int q = 0; q < count; q++)                                                            \
            host_gemm<T>(t, m, n, k, *alpha, a[q], lda, b[q], ldb, *beta, c[q], ldc);              \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
HOST_GEMM(float, S)
HOST_GEMM(double, D)
HOST_GEMM(cuComplex, C)
HOST_GEMM(cuDoubleComplex, Z)

#endif
