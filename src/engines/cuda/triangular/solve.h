/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_SOLVE_H
#define MPKI_CUDA_TRIANGULAR_SOLVE_H
/** Applications of a factor on blocks that lies on a device: the slots solver_make, solver_free and
 *  apply of mpki_block_engine. */
#include "engines/interface/engine.h"
#include "engines/cuda/block_factor/kernels/store.h"

struct mpki_isai_factor;

/** Packs the factor for its sweeps, in memory of the device beside the store, which is not needed
 *  any more afterwards.
 *  stages  [in]  whose factor it is; must outlive *s
 *  columns [in]  vectors that the caller would like to apply it to at once
 *  takes   [out] how many one application takes, 1 <= *takes
 *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
mpk_status mpki_cuda_sweeps_make(mpk_context *ctx, const mpki_stages *stages,
                                 const mpki_cuda_store *store, int32_t columns,
                                 mpki_block_solver **s, int32_t *takes);
/** A solver that applies the factor's approximate inverses instead, which must outlive *s.
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_cuda_sweeps_of_products(mpk_context *ctx, struct mpki_isai_factor *isai,
                                        mpki_block_solver **s, int32_t *takes);
/** One that mpki_cuda_sweeps_keep() was told of stays for the next application. */
void mpki_cuda_sweeps_free(mpk_context *ctx, mpki_block_solver **s);

/** A solver that waits for the next application, since its making takes longer than that; by any
 *  thread, with the memory of the factor's context alone. */
typedef _Atomic(mpki_block_solver *) mpki_kept_solver;
/** *s is to wait at `home` when it is freed, for as long as the factor and its numbers. */
void mpki_cuda_sweeps_keep(mpki_block_solver *s, mpki_kept_solver *home);
/** The one that waits, if it serves so many columns. Returns NULL: there is none. */
mpki_block_solver *mpki_cuda_sweeps_kept(mpki_kept_solver *home, int32_t columns, int32_t *takes);
void mpki_cuda_sweeps_drop(mpk_context *ctx, mpki_kept_solver *home);
/** As mpki_block_engine.apply. b and x in host or in device memory. With both in device memory
 *  nothing waits for the device, nothing is allocated, and the call can be captured into a
 *  graph. */
mpk_status mpki_cuda_sweeps_apply(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx);

/** The level sets of the backward sweep, as many as the forward one has: a frame comes as late as
 *  those that need it forward allow, so the way back has it as early as it can; in a level set
 *  those come first that are the latest forward, for which the way back is long. The stages' own
 *  where a dense pivot ends
 *  them, for its frames are last in both. levels [out] the caller's, mpki_levels_free().
 *  Returns MPK_OK | MPK_ERR_MEMORY; to be freed either way. Host memory, any thread. */
mpk_status mpki_cuda_sweeps_latest_levels(mpk_context *ctx, const mpki_stages *stages,
                                          mpki_levels *levels);

/** Bytes of device memory held; those of packed blocks that sweeps in both directions read, padding
 *  included; tickets; units, both directions counted, whose M lies in tiles; warps of a sweep. For
 *  benchmarks and tests. */
typedef struct mpki_cuda_sweeps_numbers {
    int64_t bytes, packets, tasks, parts, tiles;
    int32_t warps;
    int64_t full;    /* packets that are a block in full */
    int64_t forward; /* tickets of the forward sweep, which are the first */
    const void *ticket,
        *packet; /* device memory: mpki_sweeps_task, packets (triangular/packet.cuh) */
} mpki_cuda_sweeps_numbers;
mpki_cuda_sweeps_numbers mpki_cuda_sweeps_summary(const mpki_block_solver *s);
/** Take this many warps, or as many as the device can have at work at once; returns how many. The
 *  bits of results do not depend on it. */
int32_t mpki_cuda_sweeps_warps(mpki_block_solver *s, int32_t warps);

#endif
