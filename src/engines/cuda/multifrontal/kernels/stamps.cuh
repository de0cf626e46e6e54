/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_STAMPS_CUH
#define MPKI_CUDA_MULTIFRONTAL_STAMPS_CUH
/** When fronts of tasks pass some points: in a module that is built with -DMPKI_STAMPS
 *  (METAPACK_CUDA_FLAGS) for `cuda-direct stamps=1` (bench/cuda/stamps.h), else nothing. */
namespace mpki {

#ifdef MPKI_STAMPS
/* clock ticks of a block's first thread since the point before, added up over a front's tiles; then
 * nanoseconds of the device's clock */
enum {
    STAMP_ENTRIES, /* entries of A */
    STAMP_WAIT,    /* until the children are done */
    STAMP_GATHER,  /* their contributions */
    STAMP_LOAD,    /* tiles to their places */
    STAMP_TILE,    /* pivots of tiles without a search */
    STAMP_FULL,    /* pivots of tiles by complete pivoting */
    STAMP_ROWS,    /* rows below */
    STAMP_BACK,    /* what tiles and rows have become, to its place */
    STAMP_UPDATE,  /* products */
    STAMP_SEARCH,  /* columns one by one, and all else of the elimination */
    STAMP_OUT,     /* panel and contribution */
    STAMP_BEGUN,   /* ns */
    STAMP_READY,   /* ns: after STAMP_WAIT */
    STAMP_DONE,    /* ns */
    STAMP_PARTS,   /* ns: the last part of the contribution */
    STAMPS
};
enum { STAMPED_FRONTS = 1 << 18 };
static __device__ long long stamps[STAMPED_FRONTS * STAMPS];
static __shared__ long long stamp_last;
static __shared__ int stamp_front;

/** A thread: the device's clock, ns. */
__device__ inline long long stamp_ns() {
    long long x;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(x));
    return x;
}
/** A thread: the stamps of a front. */
__device__ inline long long *stamps_of(int front) {
    return stamps + (int64_t)(front < STAMPED_FRONTS ? front : STAMPED_FRONTS - 1) * STAMPS;
}
/** Thread 0 of a block: work on this front begins. */
__device__ inline void stamp_begin(int front) {
    if (threadIdx.x) return;
    for (int k = 0; k < STAMPS; ++k) stamps_of(front)[k] = 0;
    stamps_of(front)[STAMP_BEGUN] = stamp_ns();
    stamp_front = front, stamp_last = clock64();
}
/** Thread 0 of a block: it passes this point. */
__device__ inline void stamp(int point) {
    if (threadIdx.x) return;
    const long long now = clock64();
    stamps_of(stamp_front)[point] += now - stamp_last;
    stamp_last = now;
    if (point == STAMP_WAIT) stamps_of(stamp_front)[STAMP_READY] = stamp_ns();
    if (point == STAMP_OUT) stamps_of(stamp_front)[STAMP_DONE] = stamp_ns();
}
/** A thread: a part of the contribution of this front is done. */
__device__ inline void stamp_part(int front) {
    atomicMax((unsigned long long *)&stamps_of(front)[STAMP_PARTS], (unsigned long long)stamp_ns());
}
#define MPKI_STAMP_BEGIN(front) mpki::stamp_begin(front)
#define MPKI_STAMP(point) mpki::stamp(mpki::STAMP_##point)
#define MPKI_STAMP_PART(front) mpki::stamp_part(front)
#else
#define MPKI_STAMP_BEGIN(front) ((void)0)
#define MPKI_STAMP(point) ((void)0)
#define MPKI_STAMP_PART(front) ((void)0)
#endif

#ifdef MPKI_SWEEP_STAMPS
/* of pieces of sweeps, by ticket, forward and back: nanoseconds when one is taken, when it is done,
 * its multiprocessor */
enum { SWEEP_STAMPS = 3, STAMPED_PIECES = 1 << 17 };
static __device__ long long sweep_stamps[2 * STAMPED_PIECES * SWEEP_STAMPS];
/** Thread 0 of a block: its piece, number `ticket` of a direction, is taken (point 0) or done
 *  (1). */
__device__ inline void stamp_piece(int back, int ticket, int point) {
    long long now;
    int place;
    if (threadIdx.x || ticket < 0 || ticket >= STAMPED_PIECES) return;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    long long *const to = sweep_stamps + ((int64_t)back * STAMPED_PIECES + ticket) * SWEEP_STAMPS;
    to[point] = now, to[2] = place;
}
#define MPKI_STAMP_PIECE(back, ticket, point) mpki::stamp_piece(back, ticket, point)
#else
#define MPKI_STAMP_PIECE(back, ticket, point) ((void)0)
#endif

} // namespace mpki
#endif
