/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_TUNING_H
#define MPKI_CUDA_BATCH_TUNING_H
/** The numbers of this engine that only speed decides: name, value, what it counts. Cards: one H100
 *  80GB HBM3 and one H200; tables: bench/results/batch-gpu.md.
 *  Behind the bar stands where a number was measured; "no table" where none was kept: whoever needs
 *  the number measures it anew. A number that the shape of a kernel or of a format fixes stands
 *  with it. */

enum {
    /** threads of a block, which small matrices share | no table */
    TILE_BLOCK = 128,
    /** columns of a panel: the depth of two products of tiles on tensor cores; warps of a matrix,
     *  at most, and blocks of so many on a multiprocessor then | no table */
    PANEL = 8,
    PANEL_WARPS = 2,
    PANEL_BLOCKS = 10,
    /** LDU: up to this order, of matrices that lie one after the other, borgc's kernels, with a
     *  matrix in each thread, go before those in registers | no table */
    REGISTERS_ALONE = 8,
    /** LDU: up to this order a thread has a matrix alone; so many kernels
     *  there are | no table */
    ALONE = 4,
    /** columns of C that a lane computes together: as many as its registers hold | no table */
    PRODUCT_COLUMNS = 4
};

#endif
