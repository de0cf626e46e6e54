/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_TUNING_H
#define MPKI_CUDA_INVERSE_TUNING_H
/** The numbers of this engine that only speed decides, for host code and kernels: name, value, what
 *  it counts. Cards: one H100 80GB HBM3 and one H200, of 132 multiprocessors each; tables:
 *  bench/results/isai-gpu.md.
 *  Behind the bar stands where a number was measured; "no table" where none was kept: whoever needs
 *  the number measures it anew. A number that the shape of a kernel or of a format fixes stands
 *  with it. */

enum {
    /** threads of a block whose groups of lanes take a column each; of a block that takes one |
     *  no table */
    ISAI_THREADS = 128,
    ISAI_BLOCK = 256,
    /** warps of a block that solves small dense systems; threads of one that solves a larger one |
     *  no table */
    SMALL_WARPS = 2,
    SMALL_BLOCK = 256,
    /** blocks at work on larger systems: 2 for each multiprocessor; bytes of their memory, at most
     *  | no table */
    SMALL_SLOTS = 264,
    SMALL_BYTES = 1 << 30,
    /** entries, diagonal included, of a column that a warp takes at most; the last class of columns
     *  that a block takes | no table */
    LONGEST_IN_WARP = 257,
    LONGEST_IN_BLOCK = 8,
    /** times that a column is longer than J, from which on J's rows are searched in it | no
     *  table */
    SEARCHED = 16,
    /** threads of a block that searches patterns; of one that turns or counts; of one of values |
     *  no table */
    POWER_THREADS = 128,
    TURN_THREADS = 256,
    VALUE_THREADS = 256,
    /** blocks that search far columns, at most, and bytes of their marks | no table */
    FAR_SLOTS = 264,
    FAR_BYTES = 1 << 28,
    /** bytes that are asked for without a look at what is free, which takes long | no table */
    FOUND_ASK = 1 << 28,
    /** lanes that deal out a column; that order a row; entries of a row that they order, at most;
     *  that a block orders by comparisons, at most | no table */
    DEAL_LANES = 4,
    SORT_LANES = 8,
    SORT_SHORT = 128,
    SORT_LONG = 2048,
    /** entries that a thread sums up | no table */
    SUM_EACH = 4,
    /** threads of a block of a product; entries of a row that a whole block takes, at least |
     *  no table */
    TIMES_THREADS = 256,
    TIMES_LONG = 1024,
    /** warps of a block that gathers a factor | shared memory holds a pivot for each */
    GATHER_WARPS = 2
};

#endif
