/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MIRROR_CUH
#define MPKI_CUDA_MIRROR_CUH
/** Values of A in both triangles by rows, from those of its lower triangle by columns. Row i begins
 *  with the lower triangle's row i, whose entries are looked for in their columns, and ends with that
 *  triangle's column i. */
#include "reduce.cuh"

namespace mpki {

enum { MIRROR_LANES = 8 }; /* of a row */

/** Where row i stands in column j: ap[j] <= k < ap[j + 1] with ai[k] = i, which is there. */
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

template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS)
    mirror_kernel(int32_t n, const int64_t *__restrict__ ptr, const int32_t *__restrict__ col,
                  const int64_t *__restrict__ ap, const int32_t *__restrict__ ai, int hermitian,
                  const E *__restrict__ ax, E *__restrict__ val) {
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t row = thread / MIRROR_LANES;
    if (row >= n) return;
    const int32_t i = (int32_t)row;
    const int64_t end = ptr[i + 1], mirrored = end - (ap[i + 1] - ap[i]);
    for (int64_t e = ptr[i] + thread % MIRROR_LANES; e < end; e += MIRROR_LANES) {
        const int32_t j = col[e];
        const E v = ax[e < mirrored ? find_row(ap, ai, j, i) : ap[i] + (e - mirrored)];
        val[e] = hermitian && j > i ? conj(v) : v;
    }
}

} // namespace mpki

#endif
