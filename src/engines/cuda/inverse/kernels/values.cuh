/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_VALUES_CUH
#define MPKI_CUDA_INVERSE_VALUES_CUH
/** Values on their way: to another order, to single precision; diagonals. */
#include "engines/cuda/module/launch.cuh"
#include "exact.cuh"
#include "inverse.h"

namespace mpki {

enum { VALUE_THREADS = 256 };

/** The number of the thread's entry. By each thread for itself; no barrier. */
__device__ inline int64_t value_of_thread() {
    return (int64_t)blockIdx.x * VALUE_THREADS + threadIdx.x;
}

/** to[e] := from[which[e]]. A thread per entry; no barrier. */
template <class T>
__global__ void move_kernel(int64_t count, const int64_t *which, const T *from, T *to) {
    const int64_t e = value_of_thread();
    if (e < count) to[e] = from[which[e]];
}

/** dinv_j := 1 / a_jj; *bad := the first column where a_jj is 0 or not finite. A thread takes a
 *  column; an atomic minimum. */
template <class T> __global__ void diagonals_kernel(const mpki_isai_splitting s) {
    const int64_t j = value_of_thread();
    if (j >= s.n) return;
    const int64_t e = s.diagonal[j];
    const T d = e < 0 ? make<T>(0) : ((const T *)s.val)[e];
    ((T *)s.dinv)[j] = invert(d);
    if (!(abs1(d) > 0) || !is_finite(d)) atomicMin(s.bad, (int32_t)j);
}

/** to := from in single precision; *bad := 1 where that is not finite. A thread takes an entry;
 *  an atomic maximum. */
template <class R>
__global__ void to_single_kernel(int64_t count, const R *from, float *to, int32_t *bad) {
    const int64_t e = value_of_thread();
    if (e >= count) return;
    to[e] = (float)from[e];
    if (!is_finite(to[e])) atomicMax(bad, 1);
}

/** *bad := the first entry that is not finite. A thread takes an entry; an atomic minimum. */
template <class T> __global__ void finite_kernel(int64_t count, const T *val, int64_t *bad) {
    const int64_t e = value_of_thread();
    if (e < count && !is_finite(val[e])) atomicMin((long long *)bad, (long long)e);
}

} // namespace mpki

#endif
