/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_FETCH_CUH
#define MPKI_CUDA_MODULE_FETCH_CUH
/** Copies from global to shared memory that are under way while the thread goes on, any number of
 *  them. */

namespace mpki {

/** *to := *from, to shared memory, of 4, 8 or 16 bytes; it is there after fetched(). By each thread
 *  for itself; no barrier. */
template <class R> __device__ inline void fetch_entry(R *to, const R *from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from), "n"(sizeof(R))
        : "memory");
#else
    *to = *from;
#endif
}

/** All that this thread fetched is there. By each thread for itself; others see it after a
 *  barrier. */
__device__ inline void fetched() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/** All entries that the warp's lanes fetched are there. By all lanes of a warp; ends with
 *  __syncwarp(). */
__device__ inline void arrived() {
    fetched();
    __syncwarp();
}

} // namespace mpki
#endif
