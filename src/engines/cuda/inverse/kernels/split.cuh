/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_SPLIT_CUH
#define MPKI_CUDA_INVERSE_SPLIT_CUH
/** A triangle of a matrix by columns, without its diagonal. Rows ascend, so it is one run of each
 *  column. */
#include "turn.cuh"

namespace mpki {

/** *bad := the first column whose pointers or rows are not in order or in range. DEAL_LANES
 *  lanes take a column; an atomic minimum. */
static __global__ void check_kernel(int32_t n, int64_t entries, const int64_t *ptr,
                                    const int32_t *index, int32_t *bad) {
    const int64_t j = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) / DEAL_LANES;
    if (j >= n) return;
    const int64_t begin = ptr[j], end = ptr[j + 1];
    bool good = 0 <= begin && begin <= end && end <= entries;
    for (int64_t e = begin + threadIdx.x % DEAL_LANES; good && e < end; e += DEAL_LANES)
        good = index[e] >= 0 && index[e] < n && (e == begin || index[e] > index[e - 1]);
    if (!good) atomicMin(bad, (int32_t)j);
}

/** Where the entries of column j from row j on begin. By each thread for itself; no barrier. */
__device__ inline int64_t middle_of(const mpki_isai_splitting &s, int64_t j) {
    int64_t low = s.ptr[j], high = s.ptr[j + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s.index[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** to_ptr[j + 1] := entries of the strict triangle in column j. A thread takes a column; no
 *  barrier. */
static __global__ void split_count_kernel(const mpki_isai_splitting s) {
    const int64_t j = (int64_t)blockIdx.x * TURN_THREADS + threadIdx.x;
    if (j >= s.n) return;
    if (*s.disordered < s.n) { /* the pattern must not be read */
        s.to_ptr[j + 1] = 0;
        return;
    }
    const int64_t e = middle_of(s, j), end = s.ptr[j + 1];
    const bool has = e < end && s.index[e] == j;
    s.to_ptr[j + 1] = s.upper ? e - s.ptr[j] : end - e - has;
}

/** The strict triangle's rows and where their values are; where the diagonal is, -1: nowhere.
 *  DEAL_LANES lanes take a column; no barrier. */
static __global__ void split_kernel(const mpki_isai_splitting s) {
    const int64_t j = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) / DEAL_LANES;
    if (j >= s.n) return;
    const int64_t to = s.to_ptr[j], count = s.to_ptr[j + 1] - to;
    const int64_t begin = s.upper ? s.ptr[j] : s.ptr[j + 1] - count;
    const int64_t e = s.upper ? begin + count : begin - 1; /* where the diagonal would be */
    const bool has = e >= s.ptr[j] && e < s.ptr[j + 1] && s.index[e] == j;
    if (threadIdx.x % DEAL_LANES == 0) s.diagonal[j] = has ? e : -1;
    for (int64_t k = threadIdx.x % DEAL_LANES; k < count; k += DEAL_LANES) {
        s.to_index[to + k] = s.index[begin + k];
        s.from[to + k] = begin + k;
    }
}

} // namespace mpki

#endif
