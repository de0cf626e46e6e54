/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_STAMPS_CUH
#define MPKI_CUDA_TRIANGULAR_STAMPS_CUH
/** When tasks of a sweep pass some points, in nanoseconds of the device's clock: in a module that
 *  is built with -DMPKI_STAMPS (METAPACK_CUDA_FLAGS) for `cuda-sweeps -l` (bench/cuda/timeline.h),
 *  else nothing. */
namespace mpki {

#ifdef MPKI_STAMPS
enum {
    STAMP_BEGUN, /* the first packet is there */
    STAMP_ASKED, /* the last packet with columns is there, and they are asked for */
    STAMP_READY, /* they have come */
    STAMP_DONE,  /* the results are on their way */
    STAMPS
};
enum { STAMPED_TASKS = 1 << 20 };
static __device__ long long stamps[STAMPED_TASKS * STAMPS];

/** Notes the time at which task `ticket` passes `point`. By all lanes of a warp, of which the
 *  first one writes. */
__device__ inline void stamp(int ticket, int point) {
    long long x;
    if ((threadIdx.x & 31) || ticket >= STAMPED_TASKS) return;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(x));
    stamps[(long long)ticket * STAMPS + point] = x;
}
#define MPKI_SWEEP_STAMP(ticket, point) mpki::stamp(ticket, mpki::STAMP_##point)
#else
#define MPKI_SWEEP_STAMP(ticket, point) ((void)(ticket))
#endif

} // namespace mpki
#endif
