/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_LAUNCH_CUH
#define MPKI_CUDA_LAUNCH_CUH
/** How kernels for sparse matrices and for batches are launched. Tests that run them on a host define
 *  MPKI_LAUNCH themselves (tests/backends/cuda_host/cuda_runtime.h). */
#include "runtime.cuh"

#ifndef MPKI_LAUNCH
#define MPKI_LAUNCH(kernel, blocks, threads, bytes, stream, ...)                                   \
    kernel<<<(unsigned)(blocks), threads, bytes, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#endif

#endif
