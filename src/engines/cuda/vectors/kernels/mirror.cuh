/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_MIRROR_CUH
#define MPKI_CUDA_VECTORS_MIRROR_CUH
/** Values of A in both triangles by rows, from those of its lower triangle by columns. Row i begins
 *  with the lower triangle's row i, whose entries are looked for in their columns, and ends with
 *  that triangle's column i. */
#include "core/scaled.h"
#include "reduce.cuh"

#include <float.h>

namespace mpki {

enum { MIRROR_LANES = 8 }; /* of a row */

/** The k in ap[j] .. ap[j + 1] - 1 with ai[k] = i, which exists: row i's entry of column j. By
 *  each thread for itself; no barrier. */
__device__ inline int64_t find_row(const int64_t *__restrict__ ap, const int32_t *__restrict__ ai,
                                   int32_t j, int32_t i) {
    int64_t low = ap[j], high = ap[j + 1] - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (ai[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** val := A in both triangles by rows (ptr, col), from its lower triangle by columns (ap, ai,
 *  ax); mirrored entries conjugated where `hermitian`. A block takes a chunk of rows
 *  (vectors.h), MIRROR_LANES lanes a row, or a piece of a long row. No barrier. */
template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS)
    mirror_kernel(const mpki_cuda_chunk *__restrict__ chunk, const int64_t *__restrict__ ptr,
                  const int32_t *__restrict__ col, const int64_t *__restrict__ ap,
                  const int32_t *__restrict__ ai, int hermitian, const E *__restrict__ ax,
                  E *__restrict__ val) {
    const mpki_cuda_chunk k = chunk[blockIdx.x];
    const int tid = (int)threadIdx.x, piece = k.rows == 0;
    const int lanes = piece ? VECTOR_THREADS : (int)MIRROR_LANES;
    for (int r = tid / lanes; r < k.rows + piece; r += VECTOR_THREADS / lanes) {
        const int32_t i = k.row + r;
        const int64_t last = ptr[i + 1], mirrored = last - (ap[i + 1] - ap[i]);
        const int64_t first = piece ? k.first : ptr[i], end = piece ? k.first + k.count : last;
        for (int64_t e = first + tid % lanes; e < end; e += lanes) {
            const int32_t j = col[e];
            const E v = ax[e < mirrored ? find_row(ap, ai, j, i) : ap[i] + (e - mirrored)];
            val[e] = hermitian && j > i ? conj(v) : v;
        }
    }
}

/* ---- what is computed with its rows; real entries ----------------------------------------------
 * A thread for each row, the whole block for those that are longer than ALONE. */

enum { ALONE = 256, SUMS_TILE = 1024 };

struct long_rows {
    int32_t row[VECTOR_THREADS];
    unsigned count;
};
/** Is row i longer than ALONE? Then it is listed in `rows`. By all threads of a block; begins
 *  with a block barrier, and the caller needs one before it reads `rows`. */
__device__ inline bool is_long(long_rows &rows, int64_t n, const int64_t *ptr, int64_t i) {
    if (threadIdx.x == 0) rows.count = 0;
    __syncthreads();
    const bool longer = i < n && ptr[i + 1] - ptr[i] > ALONE;
    if (longer) rows.row[atomicAdd(&rows.count, 1u)] = (int32_t)i;
    return longer;
}

/** sums_i := sum_j |a_ij|, added in the order of the lower triangle's columns
 *  (problem/product_t.c). A thread takes a row, the block together a long one. Block barriers. */
template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS)
    row_sums_kernel(int64_t n, const int64_t *__restrict__ ptr, const int64_t *__restrict__ ap,
                    const E *__restrict__ val, double *__restrict__ sums) {
    __shared__ long_rows rows;
    __shared__ double tile[SUMS_TILE];
    for (int64_t base = (int64_t)blockIdx.x * blockDim.x; base < n;
         base += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = base + threadIdx.x;
        if (!is_long(rows, n, ptr, i) && i < n) {
            const int64_t end = ptr[i + 1], mirrored = end - (ap[i + 1] - ap[i]);
            double before = 0, after = 0;
            for (int64_t e = ptr[i]; e < mirrored; ++e) before += (double)abs1(val[e]);
            for (int64_t e = mirrored; e < end; ++e) after += (double)abs1(val[e]);
            sums[i] = before + after;
        }
        __syncthreads();
        for (unsigned q = 0; q < rows.count; ++q) {
            const int32_t r = rows.row[q];
            const int64_t end = ptr[r + 1], mirrored = end - (ap[r + 1] - ap[r]);
            double before = 0, after = 0;
            for (int64_t first = ptr[r]; first < end; first += SUMS_TILE) {
                const int count = (int)(end - first < SUMS_TILE ? end - first : (int)SUMS_TILE);
                const int64_t left = mirrored - first;
                const int cut = left < 0 ? 0 : left < count ? (int)left : count;
                for (int k = (int)threadIdx.x; k < count; k += (int)blockDim.x)
                    tile[k] = (double)abs1(val[first + k]);
                __syncthreads();
                for (int k = 0; k < cut && threadIdx.x == 0; ++k) before += tile[k];
                for (int k = cut; k < count && threadIdx.x == 0; ++k) after += tile[k];
                __syncthreads();
            }
            if (threadIdx.x == 0) sums[r] = before + after;
        }
        __syncthreads();
    }
}

/** |s v scale_j|, moved into the range of normal numbers. By each thread for itself; no barrier. */
template <class E>
__device__ inline double scaled_entry(E v, double s, const double *scale, int32_t j) {
    const double size = (double)abs1(v);
    if (!(size > 0)) return 0;
    const double a = mpki_scaled(size, s, scale[j]);
    return a < DBL_MIN ? DBL_MIN : a > DBL_MAX ? DBL_MAX : a;
}

/** largest_i := max_j |scale_i a_ij scale_j| (analysis/match/equilibrate.c); reports how many
 *  are not near 1. A thread takes a row, the block together a long one. Block barriers. */
template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS)
    maxima_kernel(int64_t n, const int64_t *__restrict__ ptr, const int32_t *__restrict__ col,
                  const E *__restrict__ val, const double *__restrict__ scale,
                  double *__restrict__ largest, double *partial, unsigned *ticket,
                  host_report publish) {
    __shared__ long_rows rows;
    double uneven[1] = {0};
    for (int64_t base = (int64_t)blockIdx.x * blockDim.x; base < n;
         base += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = base + threadIdx.x;
        if (!is_long(rows, n, ptr, i) && i < n) {
            double most = 0;
            for (int64_t e = ptr[i]; e < ptr[i + 1]; ++e)
                most = fmax(most, scaled_entry(val[e], scale[i], scale, col[e]));
            largest[i] = most;
            uneven[0] += !mpki_even(most);
        }
        __syncthreads();
        for (unsigned q = 0; q < rows.count; ++q) {
            const int32_t r = rows.row[q];
            double most[1] = {0};
            for (int64_t e = ptr[r] + threadIdx.x; e < ptr[r + 1]; e += blockDim.x)
                most[0] = fmax(most[0], scaled_entry(val[e], scale[r], scale, col[e]));
            block_sum<1, greater>(most);
            if (threadIdx.x == 0) {
                largest[r] = most[0];
                uneven[0] += !mpki_even(most[0]);
            }
        }
        __syncthreads();
    }
    if (grid_sum<1, plus>(uneven, partial, ticket)) publish(uneven);
}

/** scale_i := scale_i / sqrt(largest_i), for rows that are not zero. */
struct rescale_pass : pass<0, 1> {
    typedef double item;
    const double *largest;
    double *scale;
    __device__ item load(int64_t i) const { return largest[i]; }
    template <class N> __device__ void use(int64_t i, item most, const N &, double *) const {
        if (most > 0) scale[i] = mpki_rescaled(scale[i], most);
    }
};

} // namespace mpki

#endif
