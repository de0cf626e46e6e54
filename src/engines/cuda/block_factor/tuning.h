/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_TUNING_H
#define MPKI_CUDA_BLOCK_FACTOR_TUNING_H
/** The numbers of this engine that only speed or memory decides, for host code and kernels: name,
 *  value, what it counts. Cards: one H100 80GB HBM3 and one H200; tables:
 *  bench/results/incomplete-gpu.md.
 *  Behind the bar stands where a number was measured; "no table" where none was kept: whoever needs
 *  the number measures it anew. A number that the shape of a kernel or of a format fixes stands
 *  with it. */

enum {
    /** warps of a block that factors, pulls or solves, each with a frame or block | no table */
    WARPS = 4,
    /** frames and blocks of a launch, for each multiprocessor, below which a thread block takes one
     *  with all warps; warps where each has a multiprocessor to itself | no table */
    FEW_FRAMES = 8,
    FEW_BLOCKS = 16,
    MANY_WARPS = 2 * WARPS,
    /** warps of a block that loads A; that judges, drops or packs; that works on all blocks |
     *  no table */
    LOAD_WARPS = 8,
    STORE_WARPS = 4,
    WHOLE_WARPS = 8,
    /** blocks and threads that sum up for the report; threads of a single block | no table */
    SUM_BLOCKS = 128,
    SUM_THREADS = 64,
    ONE_BLOCK = 1024,
    /** warps of a block that inverts the dense pivot's L | no table */
    INVERT_WARPS = 8,
    /** entries of a row of a packed operand, up to which it is used entry by entry | no table */
    SPARSE_ROW = 3,
    /** bytes of the work blocks of a portion: few beside the device's memory, many beside its
     *  caches */
    PORTION_BYTES = 256 << 20,
    /** bytes of work blocks of small portions that A is loaded into at once: few beside the caches,
     *  from which they are taken soon after */
    LOAD_BYTES = 16 << 20,
    /** portions that are queued before the host waits | no table */
    PORTIONS_QUEUED = 16,
    /** bytes from which on threads copy what is sent | no table */
    SEND_SHARED = 4 << 20
};

#endif
