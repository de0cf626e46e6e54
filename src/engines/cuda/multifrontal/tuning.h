/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TUNING_H
#define MPKI_CUDA_MULTIFRONTAL_TUNING_H
/** The numbers of this engine that only speed or memory decides, for host code and kernels: name,
 *  value, what it counts, and behind the bar where it was measured. "notes" with a section is
 *  bench/journal/2026-11-26-gpu-direct.md, which names the card of each table (one H100 80GB HBM3
 *  if none); "no table" where none was kept: whoever needs the number measures it anew. A number
 *  that the shape of a kernel fixes (a tile's leading dimension, loads in flight) stands with its
 *  kernel. */
#include <stdbool.h>

/* ---- tasks: small fronts, each by one thread block (plan/) ---- */

enum {
    /** ns: a subtree that takes this long is one task, at most; and at least, where all tasks are
     *  fewer than blocks | no table */
    MPKI_TASK_NS = 20000,
    MPKI_TASK_LEAST_NS = 6000,
    /** ns: a subtree is one task, too, if its branches but the longest take this | no table */
    MPKI_TASK_BRANCH_NS = 3000,
    /** ns of a part of a contribution, and what each child adds | no table */
    MPKI_PART_NS = 6000,
    MPKI_PART_CHILD_NS = 700,
    /** children that a front adds up without helpers | no table */
    MPKI_CHILDREN_GROUP = 64,
    /** a child with at least this part of a front's rows has no helper | no table: control-distributed 50
     *  has 5500 rows in fronts of some 70 children, two of which are large */
    MPKI_HELPED_ROWS = 8,
    /** columns that one block eliminates together, at most: a tile's; and at least, but for the
     *  last ones of a front | no table */
    MPKI_CUDA_PANEL_MOST = 32,
    MPKI_PANEL_LEAST = 12,
    /** rows of a front whose columns one block eliminates, at most | no table */
    MPKI_PANEL_ROWS = 1024,
    /** columns of a front of very many children that is cut, at most | notes, "A front of a chain":
     *  roots of maros_r7, uccase9 and pilot87 in one piece, Stokes 300 */
    MPKI_CUDA_CUT_MOST = 600,
    /** rows of a front that one warp does by itself, in registers (kernels/pivot/warp_front.cuh); the
     *  lanes of a warp, at most */
    MPKI_WARP_FRONT_ROWS = 32,
    /** rows below the column of a leaf, at most | no table: the lanes of a warp share 20 KB */
    MPKI_FRONT_LEAF_ROWS = 12,
    /** entries of contributions for each multiprocessor, from which on a step assembles its large
     *  fronts in two rounds | notes, "Memory of the direct solver, before and after", footnote */
    MPKI_FULL_ENTRIES = 100000,
    /** free pieces of memory among which the place of a contribution is chosen, at most | it bounds
     *  the time that a plan takes */
    MPKI_FREE_PIECES = 64
};

/** ns that a front takes in a task: `own` of its nrows columns are eliminated; panel: other blocks
 *  make its contribution in parts | fitted roughly to an H100 and an H200, no table */
static inline double mpki_task_front_ns(bool panel, double own, double nrows, double children) {
    if (nrows <= MPKI_WARP_FRONT_ROWS) return 4000 + 500 * own + 400 * children;
    if (panel) return 12000 + 700 * own + 20 * nrows + 500 * children;
    return 2500 + 300 * own + 0.01 * own * nrows * nrows + 0.1 * nrows * nrows;
}

/** The share of the way to a large front that the second half of the first step takes | H200,
 *  maros_r7: 1 (one step) 6.9 ms and 87 MB, 0.7 7.05 and 77, 0.5 7.5 and 71, 0.3 7.7 and 66 */
#define MPKI_SECOND_HALF 0.7
/** flops from which on a step is a level | H100, nlpkkt 20 (4.2e9): 11.0 ms where fronts are cut,
 *  7.3 by level; Stokes on 300 x 300 (2.5e9): 11.8 and, on an H200, 12.8 by level */
#define MPKI_BY_LEVEL_FLOPS 3e9

/* ---- launches: classes of tasks have blocks of 32, 128, 256 and 512 threads ---- */

/** Blocks that a multiprocessor holds, by class | no table; compute 9.0 has 228 KB of shared
 *  memory */
#define MPKI_CLASS_BLOCKS                                                                          \
    { 10, 4, 2, 1 }
/** Bytes of shared memory of such a block: the whole between them */
#define MPKI_CLASS_SMEM                                                                            \
    { 20 << 10, 54 << 10, 110 << 10, 226 << 10 }
enum {
    /** blocks of the report for each multiprocessor: each ends with atomics of its own | no
     *  table */
    MPKI_REPORT_BLOCKS = 8,
    /** large fronts for each multiprocessor, beyond which a tile's block has 64 threads in place of
     *  256, so that all tiles are at work at once | no table */
    MPKI_TILE_BLOCKS = 2,
    /** columns of a tile from which on pivots are tried without a search first | no table: fewer
     *  take no longer with the search */
    MPKI_QUICK_LEAST = 17
};

/* ---- large fronts: each by many thread blocks (factor/large.c) ---- */

enum {
    /** candidates that are pivoted together: the lanes of a warp */
    MPKI_FRONT_TILE = 32,
    /** tiles that fail without a search before that way is given up | no table */
    MPKI_FRONT_MISSES = 2,
    /** candidates of a tile of 128, at most; large fronts of a step that have such tiles, at most
     *  | notes, "Large fronts in tiles of 128 columns" */
    MPKI_FRONT_TILE_128 = 128,
    MPKI_FRONT_TILE_128_FRONTS = 256,
    /** columns of a front whose pieces queue, at most; rows of all such fronts of a step, at most
     *  | notes, "Fronts of some hundred columns by one kernel" */
    MPKI_FRONT_QUEUED = 1536,
    MPKI_FRONT_QUEUES = 7000,
    /** columns whose pivots reach the rest of a front at once, at most | notes, "Large fronts once
     *  more": cuBLAS's rate by the depth of a product */
    MPKI_FRONT_BLOCK = 256,
    /** children whose contributions an assembly adds up together, at most | no table */
    MPKI_FRONT_FIRST_CHILDREN = 4
};
/** Operations in single precision in the time of one in double, from which on updates by emulated
 *  doubles are the default | docs/design/cuda-direct.md: 2 on an H200, where they gain little; 32 or
 *  64 on cards for graphics; no device has less than 32 and more than 3 */
enum { MPKI_SCARCE_DOUBLES = 16 };
/** Bytes of work space: as many large fronts of a step are eliminated together as it holds |
 *  no table */
#define MPKI_CUDA_TOGETHER ((int64_t)256 << 20)

/* ---- solves (solve/) ---- */

/** Bytes that sheets of right-hand sides, or vectors that are refined together, may take in any
 *  case | no table */
#define MPKI_CUDA_SHEETS_FREE ((int64_t)64 << 20)
/** Bytes of an array of several right-hand sides that a factor keeps; that comes from the pool and goes back to
 *  it; more are given back to the device | H200: five arrays of a solve from the pool and back take some
 *  30 us, which 64 sides of order 2000 take ten times; cudaMalloc and cudaFree of 32 MB take 130 us, solves
 *  with as much 5 ms and more */
#define MPKI_CUDA_KEPT ((int64_t)1 << 20)
#define MPKI_CUDA_POOLED ((int64_t)32 << 20)

/** Bytes up to which sheets have values of their own on the way back: more lie where those of the way forward did,
 *  and are unset again between the two | no table */
#define MPKI_CUDA_APART ((int64_t)8 << 20)

enum {
    /** right-hand sides of a sweep, at most: its sums are in registers */
    MPKI_CUDA_RHS = 8,
    /** right-hand sides of all sheets that a sweep takes side by side, at most |
     *  bench/results/sparse-gpu.md */
    MPKI_CUDA_SHEETS_RHS = 64,
    /** sheets that a block takes together in a chain, in real doubles | no table: their sums are in
     *  registers, of which two blocks share a multiprocessor's */
    MPKI_CUDA_SHEETS_TOGETHER = 4,
    /** a piece of a list for many sheets: so many times its sheet, and its kind */
    MPKI_CUDA_PIECE_SHEET = 1 << 24,
    /** sheets may take this part of a factor's memory | no table */
    MPKI_CUDA_SHEETS_SHARE = 4,
    /** room for many right-hand sides that is kept is given back after so many solves in a row that asked for
     *  at most this part of them | no table */
    MPKI_CUDA_FEW_SOLVES = 16,
    MPKI_CUDA_FEW = 8,
    /** rows of a strip of a chain; of a slice on the way back; of a helper whose children one piece
     *  adds up | no table */
    MPKI_FRONT_STRIP = 64,
    MPKI_FRONT_SLICE = 256,
    MPKI_FRONT_GATHER = 512,
    /** blocks of a sweep that a multiprocessor holds, one right-hand side of up to 8 bytes | with
     *  four, 64 registers a thread, 18 of 19 matrices take 3 to 15 % longer */
    MPKI_SWEEP_BLOCKS = 3,
    /** pivots of a front beyond which it is swept in strips: in general; if it is a task by
     *  itself in a tree of at most so many fronts | notes, "Corrections in half the precision",
     *  last table */
    MPKI_STRIP_PIVOTS = 64,
    MPKI_STRIP_PIVOTS_FEW = 32,
    MPKI_STRIP_FEW_FRONTS = 4096,
    /** rows of a front that a block sweeps in shared memory, in any case | no table */
    MPKI_SWEEP_SMEM_ROWS = 512,
    /** a warp sweeps a front of at most so many pivots forward, and back; so many own columns with
     *  the rows below, or rows beyond its pivots; so many fronts of its task | no table */
    MPKI_CUDA_WARP_PIVOTS = 32,
    MPKI_CUDA_WARP_BACK = 64,
    MPKI_CUDA_WARP_ROWS = 96,
    MPKI_CUDA_WARP_FRONTS = 1024,
    /** a block adds up more than so many children sooner, where its task has fewer than so many
     *  fronts more | no table */
    MPKI_WARP_CHILDREN = 16,
    MPKI_WARP_FEW_FRONTS = 4,
    /** fronts of tasks that are swept together, at least and at most; pieces that keep a device
     *  busy | no table */
    MPKI_SWEEP_GROUP_LEAST = 8,
    MPKI_SWEEP_GROUP_MOST = 64,
    MPKI_SWEEP_PIECES = 1024,
    /** entries of copies in half the precision from which on a correction reads them (with fewer, L
     *  is in the L2 cache); corrections by the same numbers before they are made | notes,
     *  "Corrections in half the precision" */
    MPKI_HALF_COPY_LEAST = 1 << 23,
    MPKI_HALF_COPY_AFTER = 2,
    /** right-hand sides from which on the device measures large entries of a doubtful x: there solves
     *  with 36 singular matrices take 1.3 times as long with one side, 0.6 times with 64 | no table */
    MPKI_CUDA_LOST_TOGETHER = 4
};

#endif
