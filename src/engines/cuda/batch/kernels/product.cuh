/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_PRODUCT_CUH
#define MPKI_CUDA_BATCH_PRODUCT_CUH
/** C := beta C + alpha A D op(B) for small matrices: A and alpha D op(B) are brought to shared
 *  memory, then each lane computes its rows of C, four columns at a time. */
#include "tile.cuh"

namespace mpki {

struct product_part {
    mpki_cuda_operand a, b, c, d;
    long long count;
    const int *sizes;
    int m, n, k, transpose_b, hermitian;
    int columns; /* columns of op(B) that are in shared memory at a time: all, or a multiple of 4 */
    double alpha, beta;
};

static const int PRODUCT_COLUMNS = 4;

/** Leading dimension of a right factor of n columns. By each thread for itself; no barrier. */
__host__ __device__ inline int product_ld(int n) {
    return (n + PRODUCT_COLUMNS - 1) / PRODUCT_COLUMNS * PRODUCT_COLUMNS;
}

/** Shared memory for a product of m x k by k x n. By each thread for itself; no barrier. */
template <class T> __host__ __device__ inline size_t product_bytes(int m, int n, int k) {
    return (((size_t)m * k + (size_t)k * product_ld(n)) * sizeof(T) + 31) / 16 * 16;
}

/** x := columns c0 .. c0 + n - 1 of alpha D op(B), k rows. By all threads of the matrix; the
 *  caller needs their barrier. */
template <class T, class TILE>
__device__ inline void right_factor(const TILE &t, const product_part &job, long long b, int c0,
                                    int n, int k, T *x) {
    const view<T> v = view_of<T>(job.b, b), d = view_of<T>(job.d, b);
    const T alpha = make<T>(job.alpha);
    const int how = job.transpose_b, ldx = product_ld(n);
    auto entry = [&](int i, int j) {
        const T y = how ? v(c0 + j, i) : v(i, c0 + j);
        return alpha * cj(how == 2, y);
    };
    const bool down = how == 0; /* lanes run along the stored columns */
    const int inner = down ? k : n, outer = down ? n : k;
    for (int o = t.warp; o < outer; o += TILE::W)
        for (int l = t.lane; l < inner; l += TILE::L) {
            const int i = down ? l : o, j = down ? o : l;
            T y = entry(i, j);
            if (job.d.data) {
                const T d11 = d(0, i), up = i > 0 ? d(1, i - 1) : make<T>(0);
                const T next = i + 1 < k ? d(1, i) : make<T>(0);
                y = d11 * y;
                if (!is_zero(next))
                    y = y + cj(job.hermitian, next) * entry(i + 1, j);
                else if (!is_zero(up))
                    y = y + up * entry(i - 1, j);
            }
            x[i * ldx + j] = y;
        }
    for (int o = t.warp; o < k; o += TILE::W) /* columns beyond n */
        for (int j = n + t.lane; j < ldx; j += TILE::L) x[o * ldx + j] = make<T>(0);
}

/** Columns c0 .. c0 + n - 1 of C := beta C + A X, from A in y and X in x, both by rows of k. By
 *  all threads of the matrix; no barrier. */
template <class T, class TILE>
__device__ inline void product_columns(const TILE &t, const product_part &job, const view<T> &c,
                                       T beta, int c0, int n, int m, int k, const T *x,
                                       const T *y) {
    const int ldx = product_ld(n);
    for (int j0 = t.warp * PRODUCT_COLUMNS; j0 < n; j0 += TILE::W * PRODUCT_COLUMNS) {
        T sum[TILE::ROWS][PRODUCT_COLUMNS];
#pragma unroll
        for (int r = 0; r < TILE::ROWS; ++r)
#pragma unroll
            for (int q = 0; q < PRODUCT_COLUMNS; ++q) sum[r][q] = make<T>(0);
#pragma unroll 4
        for (int p = 0; p < k; ++p) {
            T f[PRODUCT_COLUMNS];
#pragma unroll
            for (int q = 0; q < PRODUCT_COLUMNS; ++q) f[q] = x[p * ldx + j0 + q];
#pragma unroll
            for (int r = 0; r < TILE::ROWS; ++r) {
                const int i = t.lane + r * TILE::L;
                const T l = i < m ? y[i + p * m] : make<T>(0);
#pragma unroll
                for (int q = 0; q < PRODUCT_COLUMNS; ++q) pfma(sum[r][q], l, f[q]);
            }
        }
#pragma unroll
        for (int r = 0; r < TILE::ROWS; ++r)
#pragma unroll
            for (int q = 0; q < PRODUCT_COLUMNS; ++q) {
                const int i = t.lane + r * TILE::L, j = c0 + j0 + q;
                if (i >= m || j0 + q >= n) continue;
                T z = sum[r][q];
                if (job.beta != 0) {
                    pfma(z, beta, c(i, j));
                }
                c(i, j) = z;
            }
    }
}

/** C := beta C + alpha A D op(B), a matrix per tile. By all threads of the matrix; contains
 *  their barrier. */
template <class T, class TILE>
__global__ void __launch_bounds__(TILE_BLOCK) product_kernel(const product_part job) {
    MPKI_SMEM;
    __shared__ double between[TILE::W];
    const TILE t(between);
    const long long b = TILE::place();
    if (b >= job.count) return;
    const int *sizes = job.sizes ? job.sizes + 3 * b : NULL;
    const int m = sizes ? sizes[0] : job.m, n = sizes ? sizes[1] : job.n;
    const int k = job.alpha == 0 ? 0 : sizes ? sizes[2] : job.k;
    if (m == 0 || n == 0) return;
    T *x = (T *)(smem + (TILE::W == 1 ? threadIdx.x / TILE::L : 0) *
                            product_bytes<T>(job.m, job.columns, job.k));
    T *y = x + k * product_ld(n < job.columns ? n : job.columns);
    if (k > 0) {
        const view<T> a = view_of<T>(job.a, b);
        for (int j = t.warp; j < k; j += TILE::W)
#pragma unroll
            for (int r = 0; r < TILE::ROWS; ++r) {
                const int i = t.lane + r * TILE::L;
                if (i < m) y[i + j * m] = a(i, j);
            }
    }
    const view<T> c = view_of<T>(job.c, b);
    const T beta = make<T>(job.beta);
    for (int c0 = 0; c0 < n; c0 += job.columns) {
        const int columns = n - c0 < job.columns ? n - c0 : job.columns;
        if (c0) t.sync();
        if (k > 0) right_factor(t, job, b, c0, columns, k, x);
        t.sync();
        product_columns(t, job, c, beta, c0, columns, m, k, x, y);
    }
}

} // namespace mpki
#endif
