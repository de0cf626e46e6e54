/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_PRODUCT_CUH
#define MPKI_CUDA_DIRECT_PRODUCT_CUH
/** Products of 16 x 16 by 16 x 8 real doubles on tensor cores, whichever the device has. */
#include "common.cuh"
#ifdef __CUDACC__
#include "../dense/mma.cuh"
#endif

namespace mpki {

/** mma16() of ../dense/mma.cuh; before compute capability 9.0 as eight products of 8 x 8 x 4, whose
 *  fragments are the same ones. */
__device__ inline void product16(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma unroll
    for (int i = 0; i < 8; ++i)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(c[i % 2 * 2]), "+d"(c[i % 2 * 2 + 1])
            : "d"(a[i]), "d"(b[i / 2]));
#else
    mma16(c, a, b);
#endif
}

} // namespace mpki
#endif
