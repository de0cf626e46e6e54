/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_VALUES_CUH
#define MPKI_CUDA_BLOCK_FACTOR_VALUES_CUH
/** Values of packed blocks (store.h): they lie at multiples of 8 bytes, so those of 16 bytes are
 *  read and written in halves. */
#include "engines/cuda/module/scalar.cuh"

namespace mpki {

/** The values of a packed block. They lie at multiples of 8 bytes; so those of 16 bytes are read
 *  and written in halves. */
template <class T> struct values_of {
    const T *p;
    __device__ values_of(const uint32_t *words) : p((const T *)words) {}
    __device__ T operator[](int k) const { return p[k]; }
};
template <> struct values_of<cx<double>> {
    const double *p;
    __device__ values_of(const uint32_t *words) : p((const double *)words) {}
    __device__ cx<double> operator[](int k) const { return {p[2 * k], p[2 * k + 1]}; }
};

/** Value k of a packed block := x. By each thread for itself; no barrier. */
template <class T> __device__ inline void put_value(uint32_t *words, int k, T x) {
    ((T *)words)[k] = x;
}
__device__ inline void put_value(uint32_t *words, int k, cx<double> x) {
    ((double *)words)[2 * k] = x.x;
    ((double *)words)[2 * k + 1] = x.y;
}

} // namespace mpki

#endif
