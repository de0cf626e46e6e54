/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_SHARED_MEMORY_CUH
#define MPKI_CUDA_MODULE_SHARED_MEMORY_CUH
/** The dynamic shared memory of a kernel, as the array smem of the function that names the
 *  macro. Tests that run kernels on a host define it themselves
 *  (tests/engines/cuda/host/cuda_runtime.h). */
#ifndef MPKI_SMEM
#define MPKI_SMEM extern __shared__ __align__(16) char smem[]
#endif

/* MPKI_APART: the function is compiled by itself, with registers of its own, so that what its
 * caller keeps does not drive its loops out of registers. It asks for shared memory itself
 * (MPKI_SMEM): of a pointer that is passed to it the compiler does not know that it points
 * there. */
#ifdef __CUDACC__
#define MPKI_APART __noinline__
#else
#define MPKI_APART
#endif

#endif
