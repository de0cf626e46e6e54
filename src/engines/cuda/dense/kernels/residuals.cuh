/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_RESIDUALS_CUH
#define MPKI_CUDA_DENSE_RESIDUALS_CUH
/** Residuals of many solutions: A X and |A| |X| by cuBLAS, strip by strip of rows, each written out
 *  in full from the triangle with its moduli beside it; and the vectors' kernels for many
 *  columns. All sums are taken in a fixed order. */
#include "blas.cuh"
#include "vectors.cuh"

namespace mpki {

/** A factor for each column, as an argument of a kernel, which may have 4 KiB of them. */
static const int FACTORS = 128;
struct column_factors {
    double m[FACTORS];
};

/** to := from times m, in double, rounded once. By each thread for itself; no barrier. */
template <class F, class G> __device__ inline void cast_scaled(F from, double m, G &to) {
    to = (G)(from * m);
}
template <class F, class G> __device__ inline void cast_scaled(cx<F> from, double m, cx<G> &to) {
    to.x = (G)(from.x * m), to.y = (G)(from.y * m);
}

/** to := from times a factor for each of at most FACTORS columns, rows x cols. A thread takes
 *  entries in turns; no barrier. */
template <class F, class G>
__global__ void scale_columns_kernel(int64_t rows, int64_t cols, const F *from, int64_t ldf, G *to,
                                     int64_t ldt, column_factors f) {
    for (int64_t c = blockIdx.y; c < cols; c += gridDim.y)
        for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows;
             i += gridDim.x * blockDim.x) {
            G v;
            cast_scaled(from[i + c * ldf], f.m[c], v);
            to[i + c * ldt] = v;
        }
}

/** y := |x|, n x cols. A thread takes entries in turns; no barrier. */
template <class G, class R>
__global__ void moduli_kernel(int64_t n, int64_t cols, const G *x, int64_t ldx, R *y) {
    for (int64_t c = blockIdx.y; c < cols; c += gridDim.y)
        for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            y[i + c * n] = modulus(x[i + c * ldx]);
}

static const int SQUARE = 32;

/** strip, sizes (rows x n) := rows r0 .. of A and of |A| from the triangle that is stored. H: the
 *  other one is its conjugate. A block takes a square of 32; block barriers. */
template <bool H, class G, class R>
__global__ void __launch_bounds__(256)
    strip_kernel(int n, int upper, const G *A, int64_t lda, int r0, int rows, G *strip, R *sizes) {
    __shared__ G square[SQUARE][SQUARE + 1];
    const int x = threadIdx.x % SQUARE, y = threadIdx.x / SQUARE;
    const int i0 = blockIdx.x * SQUARE, j0 = blockIdx.y * SQUARE;
    const int first = r0 + i0, last = min(n, first + SQUARE) - 1;
    /* no entry of the square is stored: it is read by rows, which are columns there */
    const bool mirrored = upper ? first > j0 + SQUARE - 1 : last < j0;
    if (mirrored)
        for (int i = y; i < SQUARE; i += 8)
            if (first + i < n && j0 + x < n)
                square[i][x] = cj<H>(A[j0 + x + (int64_t)(first + i) * lda]);
    __syncthreads();
    for (int c = y; c < SQUARE; c += 8) {
        const int i = i0 + x, j = j0 + c, row = r0 + i;
        if (i >= rows || j >= n) continue;
        const bool stored = upper ? row <= j : row >= j;
        const G v = mirrored   ? square[x][c]
                    : row == j ? diagonal<H>(A[row + (int64_t)j * lda])
                    : stored   ? A[row + (int64_t)j * lda]
                               : cj<H>(A[j + (int64_t)row * lda]);
        strip[i + (int64_t)j * rows] = v;
        sizes[i + (int64_t)j * rows] = modulus(v);
    }
}

/** r := b - y; of column c, out[4 (c parts + part) ...] := largest omega, |r|, |x|, |b| of the
 *  part. y: A X, w: |A| |X|, n x cols. A block takes a part of a column; block barriers. */
template <class G, class R>
__global__ void residuals_sum_kernel(int n, const G *x, int64_t ldx, const G *b, int64_t ldb,
                                     const G *y, const R *w, G *r, int64_t ldr, double *out) {
    __shared__ double scratch[32];
    const int64_t c = blockIdx.y;
    row_errors e;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const G v = b ? b[i + c * ldb] : make<G>(0), d = v - y[i + c * n];
        e.add(modulus(d), (double)w[i + c * n], modulus(x[i + c * ldx]), modulus(v));
        r[i + c * ldr] = d;
    }
    e.report(scratch, out + 4 * (c * gridDim.x + blockIdx.x));
}

/** What the products work in. */
struct residuals_space {
    int rows;     /* of a strip */
    T *strip, *y; /* rows x n; n x nrhs */
    R *sizes, *x, *w;
    int64_t bytes;
};

/* n: at least 1 */
static residuals_space residuals_layout(int64_t n, int64_t nrhs, char *work) {
    residuals_space s;
    const int64_t entry = sizeof(T) + sizeof(R);
    int64_t rows = STRIP_BYTES / (n * entry) / 128 * 128;
    rows = rows < 128 ? 128 : rows;
    s.rows = (int)(rows < n ? rows : n);
    int64_t at = 0;
    auto take = [&](int64_t bytes) {
        char *p = work ? work + at : NULL;
        at += (bytes + 255) / 256 * 256;
        return p;
    };
    s.strip = (T *)take(s.rows * n * (int64_t)sizeof(T));
    s.y = (T *)take(n * nrhs * (int64_t)sizeof(T));
    s.sizes = (R *)take(s.rows * n * (int64_t)sizeof(R));
    s.x = (R *)take(n * nrhs * (int64_t)sizeof(R));
    s.w = (R *)take(n * nrhs * (int64_t)sizeof(R));
    s.bytes = at;
    return s;
}

/** C (m x n) = A B of real numbers of T's width, the factors of cuBLAS in host memory. */
static inline cublasStatus_t real_product(cublasHandle_t handle, int m, int n, int k, const R *A,
                                          int64_t lda, const R *B, int64_t ldb, R *C, int64_t ldc) {
    const cudaDataType_t type = sizeof(R) == 8 ? CUDA_R_64F : CUDA_R_32F;
    const R one = 1, nil = 0;
    return cublasGemmEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, A, type, lda, B, type,
                           ldb, &nil, C, type, ldc, compute_type(0), CUBLAS_GEMM_DEFAULT);
}

/** s.y := A X, s.w := |A| |X|, on `stream`. */
template <bool H>
static mpk_status residual_products(mpki_cuda *cuda, int n, int upper, const T *A, int64_t lda,
                                    int nrhs, const T *X, int64_t ldx, const residuals_space &s,
                                    cudaStream_t stream) {
    const T one = make<T>(1), nil = make<T>(0);
    const products p = {cuda->panel_blas, stream, 0};
    mpk_status status = MPK_OK;
    moduli_kernel<<<dim3((n + 255) / 256, nrhs), 256, 0, stream>>>(n, nrhs, X, ldx, s.x);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cublasSetStream(cuda->panel_blas, stream));
    MPKI_TRY(cublasSetPointerMode(cuda->panel_blas, CUBLAS_POINTER_MODE_HOST));
    auto strips = [&]() -> mpk_status {
        for (int r0 = 0; r0 < n; r0 += s.rows) {
            const int rows = n - r0 < s.rows ? n - r0 : s.rows;
            const dim3 grid((rows + SQUARE - 1) / SQUARE, (n + SQUARE - 1) / SQUARE);
            strip_kernel<H><<<grid, 256, 0, stream>>>(n, upper, A, lda, r0, rows, s.strip, s.sizes);
            MPKI_TRY(cudaGetLastError());
            MPKI_TRY(product_left(p, CUBLAS_OP_N, rows, nrhs, n, &one, s.strip, rows, X, ldx, &nil,
                                  s.y + r0, n));
            MPKI_TRY(
                real_product(cuda->panel_blas, rows, nrhs, n, s.sizes, rows, s.x, n, s.w + r0, n));
        }
        return MPK_OK;
    };
    status = strips();
    MPKI_TRY(cublasSetPointerMode(cuda->panel_blas, CUBLAS_POINTER_MODE_DEVICE));
    MPKI_TRY(cublasSetStream(cuda->panel_blas, cuda->panel));
    return status;
}

} // namespace mpki
#endif
