/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_TUNING_H
#define MPKI_CUDA_VECTORS_TUNING_H
/** The numbers of this engine that only speed decides, for host code and kernels: name, value, what
 *  it counts. Cards: one H100 80GB HBM3 and one H200, of 132 multiprocessors each; tables:
 *  bench/results/incomplete-gpu.md.
 *  Behind the bar stands where a number was measured; "no table" where none was kept: whoever needs
 *  the number measures it anew. A number that the shape of a kernel or of a format fixes stands
 *  with it. */

enum {
    /** threads of a block of a pass | no table */
    VECTOR_THREADS = 256,
    /** blocks of a pass: 4 for each multiprocessor | no table: all of a grid run at once */
    VECTOR_BLOCKS = 4 * 132,
    /** blocks that add up to one sum, at most: those of a pass, or of a product */
    SUMMING_BLOCKS = 5 * 132,
    /** blocks of each group of vectors that arnoldi.cuh multiplies by one: 2 for each
     *  multiprocessor | no table */
    CYCLE_BLOCKS = 2 * 132,
    /** vectors of the basis that a thread reads before it uses one | no table */
    CYCLE_LOADS = 8,
    /** lanes of a row whose values are mirrored | no table */
    MIRROR_LANES = 8,
    /** entries of a row from which on a whole block takes it; entries of it in shared memory |
     *  no table */
    ALONE = 256,
    SUMS_TILE = 1024,
    /** entries of a row, for each lane that it has, beyond which the whole warp takes it: a warp
     *  takes as long for one row as a lane for some fifty entries | no table */
    WARP_ROW = 64,
    /** times that the host reads a report before it asks the stream for an error | no table */
    REPORT_SPINS = 1 << 14,
    /** bytes from which on an array is sent by threads and page-locked memory | no table */
    SEND_SHARED = 1 << 20,
    /** batches before a graph is made: operators may try out what suits them */
    PLAIN_FIRST = 2,
    /** and more of them but for gmres, whose first ones are not short (solve/krylov/steps_t.c) */
    PLAIN_SHORT = 2,
    /** captures of operators that the host has to wait for, at most */
    ATTEMPTS_MOST = 2
};

#endif
