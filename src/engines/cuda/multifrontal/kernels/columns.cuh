/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_COLUMNS_CUH
#define MPKI_CUDA_MULTIFRONTAL_COLUMNS_CUH
/** Kernels with as many blocks for each of some columns. */
#include "engines/cuda/module/launch.cuh"
#include "engines/cuda/vectors/kernels/product.cuh"
#include "refine.h"

namespace mpki {

/** A thread: |v| in double. */
template <class E> __device__ inline double length(E v) {
    const number a = to_number(v);
    return scalar_of<E>::complex ? hypot(a.x, a.y) : fabs(a.x);
}

/** Of a launch with as many blocks for each of `columns`: which of these, which block of it, of how
 *  many. */
struct share {
    int column, block, blocks;
    __device__ share(const mpki_cuda_columns &c)
        : column((int)blockIdx.x / ((int)gridDim.x / c.count)),
          block((int)blockIdx.x % ((int)gridDim.x / c.count)), blocks((int)gridDim.x / c.count) {}
};

} // namespace mpki

#endif
