/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_PRUNE_CUH
#define MPKI_CUDA_INVERSE_PRUNE_CUH
/** Columns over a limit keep their largest entries: as isai_prune() of the processor, of equal ones
 *  the first stay. */
#include "engines/cuda/module/launch.cuh"
#include "exact.cuh"
#include "inverse.h"
#include "sums.cuh"

namespace mpki {

/** to_ptr[j + 1] := how many entries column j keeps. A thread takes a column; no barrier. */
static __global__ void prune_count_kernel(const mpki_isai_pruning p) {
    const int64_t j = (int64_t)blockIdx.x * TURN_THREADS + threadIdx.x;
    if (j >= p.n) return;
    const int64_t count = p.ptr[j + 1] - p.ptr[j];
    p.to_ptr[j + 1] = count < p.limit ? count : p.limit - 1;
}

/** Keeps the largest entries of a column over the limit, the first of equal ones. A block takes
 *  a column; block barriers. */
template <class T>
__global__ void __launch_bounds__(TURN_THREADS) prune_kernel(const mpki_isai_pruning p) {
    const int64_t begin = p.ptr[blockIdx.x], count = p.ptr[blockIdx.x + 1] - begin;
    const int64_t most = p.limit - 1;
    const T *const val = (const T *)p.val + begin;
    int64_t to = p.to_ptr[blockIdx.x];
    for (int64_t k = threadIdx.x; k < count; k += TURN_THREADS) {
        const typename scalar_of<T>::real own = abs1(val[k]);
        int64_t before = 0; /* entries that are to stay rather */
        for (int64_t q = 0; q < count && count > most; ++q) {
            const typename scalar_of<T>::real size = abs1(val[q]);
            before += size > own || (size == own && q < k);
        }
        p.stays[begin + k] = before < most || count <= most;
    }
    __syncthreads();
    for (int64_t k0 = 0; k0 < count; k0 += TURN_THREADS) {
        const int64_t k = k0 + threadIdx.x;
        const bool stays = k < count && p.stays[begin + k];
        int64_t all;
        const int64_t place = block_sum_before(stays, &all) - stays;
        if (stays) p.to_index[to + place] = p.index[begin + k];
        to += all;
    }
}

} // namespace mpki

#endif
