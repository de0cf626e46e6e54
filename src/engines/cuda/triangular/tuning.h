/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_TUNING_H
#define MPKI_CUDA_TRIANGULAR_TUNING_H
/** The numbers of this engine that only speed decides, for host code and kernels: name, value, what
 *  it counts. Cards: one H100 80GB HBM3 and one H200; tables: bench/results/incomplete-gpu.md.
 *  Behind the bar stands where a number was measured; "no table" where none was kept: whoever needs
 *  the number measures it anew. A number that the shape of a kernel or of a format fixes stands
 *  with it. */

enum {
    /** rows times blocks of frames that share a unit in level sets of few units | no table */
    UNIT_WORK = 256,
    /** units of 32 rows that keep the device busy | no table */
    MANY_UNITS = 2048,
    /** units of a level set, with fewer of which deferred columns are put last | no table */
    FEW_UNITS = 512,
    /** entries of M from which on tiles are hardly longer than they */
    TILE_ENTRIES = 256,
    /** blocks in full that a unit waits for, at most; entries of a column from which on a block is
     *  one | no table */
    MOST_DENSE = 2,
    DENSE_COLUMN = 4,
    /** segments of a task, at least; tasks of a unit, as a rule at most | no table */
    TASK_SEGMENTS = 6,
    PARTS = 32,
    /** warps of a block of a product with the dense pivot | no table */
    BORDER_WARPS = 4,
    /** threads of the block that sums up; tasks that a warp sorts | no table */
    SCAN = 1024,
    CHUNK = 1024
};

#endif
