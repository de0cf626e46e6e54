/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_ENGINE_H
#define MPKI_INTERFACE_ENGINE_H
/** What an engine - the processor's, a device's - offers for sparse matrices: a multifrontal
 *  factorization, an incomplete one on blocks, and the vectors of a Krylov method. factor/ and
 *  solve/ decide (scaling, outer pivoting, rank, stages, refinement) and call; an engine computes.
 *  Only mpki_engine_of() in factor/engine.c chooses one.
 *
 *  What holds for every slot:
 *  Arguments  have been checked. A view is a set of arrays of an analysis or of a factorization,
 *             in host memory, borrowed for as long as the engine's object lives.
 *  Memory     Vectors have entries of the scalar type of A. The engine of a device takes each of
 *             them where it lies, in host memory or in the device's, and finds that out by itself;
 *             the processor's takes host memory alone. Values of A, scales and views lie in host
 *             memory; so does what a slot reports (results, lists, bytes).
 *  Order      Vectors named b and x are in the order of the problem, vectors named y by position:
 *             perm[position] = index in the problem (docs/reference/glossary.md).
 *  Errors     A slot that fails records why with mpki_error() and returns that status; what it
 *             made on the way is released or belongs to the object.
 *  Threads    Slots of one object are called one after the other, from one thread. An engine may
 *             use as many threads as it is told to; the bits of a result must not depend on how
 *             many.
 *
 *  Refinement and the estimate of a condition number are the same for every engine
 *  (factor/refine_t.c, factor/rank.c), with residuals of A on the host in twice the precision and
 *  solves through `apply`. An engine may have a refinement of its own for vectors that lie with it
 *  (`refine`). */
#include "engines/interface/block_factor.h"
#include "engines/interface/inverse.h"
#include "engines/interface/multifrontal.h"
#include "engines/interface/vectors.h"

typedef struct mpki_engine {
    /** "cpu-avx512", "cuda: NVIDIA H200", ...: for reports. Lives as long as ctx. */
    const char *(*name)(const mpk_context *ctx);
    mpk_memory memory; /* where vectors lie that need not be copied */
    const mpki_direct_engine *direct;
    const mpki_block_engine *blocks;
    const mpki_vector_engine *vectors;
    /** Does p lie in the device's memory? NULL: the engine has no device. */
    bool (*is_here)(mpk_context *ctx, const void *p);
    /** Columns of `width` bytes from one memory to the other, after all work that was queued on the
     *  device, in whatever stream. Returns MPK_OK | MPK_ERR_DEVICE. */
    mpk_status (*copy)(mpk_context *ctx, void *to, int64_t to_pitch, const void *from,
                       int64_t from_pitch, int64_t width, int64_t columns, bool to_device);
    /** Until all work that was queued on the device, in whatever stream, is done.
     *  Returns MPK_OK | MPK_ERR_DEVICE. */
    mpk_status (*settle)(mpk_context *ctx);
    /** Open in ctx the device that `of` has. NULL: the engine has no device. Returns MPK_OK |
     *  MPK_ERR_DEVICE. */
    mpk_status (*join)(mpk_context *ctx, const mpk_context *of);
    bool apart; /* a machine that a caller brings: option device has no say beside it */
} mpki_engine;

/** The processor's: engines/cpu/. */
extern const mpki_direct_engine mpki_cpu_direct;
extern const mpki_block_engine mpki_cpu_blocks;
extern const mpki_vector_engine mpki_cpu_vectors;

/** The device's, where the build has one (MPKI_HAVE_CUDA); engines/cuda has it. NULL, with
 *  MPK_ERR_DEVICE and the reason recorded: no module, no driver, no such device, or the context has
 *  another one open. What the engine makes belongs to the device that ctx has open. A table that is
 *  NULL: the device has no such engine. */
const mpki_engine *mpki_cuda_engine(mpk_context *ctx, int device);

#endif
