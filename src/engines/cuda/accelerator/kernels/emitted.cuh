/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ACCELERATOR_EMITTED_CUH
#define MPKI_CUDA_ACCELERATOR_EMITTED_CUH
/** What stands before borgc's output of blocks.cl in a file of cmake/cuda-kernels.cmake: its kernels
 *  become functions of the device, whose shapes are known by their number in the file.
 *  MPKI_PRECISION is an mpk_scalar. */
#include "machine.cuh"

/* of the numbers that entries are made of: one, or the real and the imaginary part */
#if MPKI_PRECISION % 2 == 0
typedef float R;
#else
typedef double R;
#endif
enum { PARTS = MPKI_PRECISION < 2 ? 1 : 2 };

/* lanes: threads of a group */
namespace emitted {
template <int> struct b_shape;
}
enum { b_first = __COUNTER__ + 1 };
#define B_KERNEL(all, lanes)                                                                       \
    template <> struct b_shape<__COUNTER__ - b_first> {                                            \
        enum { threads = all, groups = all / lanes };                                              \
    };                                                                                             \
    static __device__ __forceinline__ void

#endif
