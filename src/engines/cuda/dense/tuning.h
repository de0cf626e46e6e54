/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TUNING_H
#define MPKI_CUDA_DENSE_TUNING_H
/** The numbers of this engine that only speed decides: name, value, what it counts. Cards: one H100
 *  80GB HBM3 and one H200; tables: bench/results/dense-gpu.md.
 *  Behind the bar stands where a number was measured; "no table" where none was kept: whoever needs
 *  the number measures it anew. A number that the shape of a kernel or of a format fixes stands
 *  with it. */

namespace mpki {

/** Columns of a block, at most | no table */
static const int BLOCK_MAX = 768;
/** Rows of real doubles up to which updates go through update_kernel(): within a block, beyond it;
 *  and up to which the chain's kernels are launched early, so that they find free multiprocessors
 *  to wait in | no table */
static const int SMALL_PANEL = 6144, SMALL_TRAILING = 2560, SMALL_CHAIN = 3072;
/** Threads of a block that factors a tile; columns of a block of 32 that it leaves to the next |
 *  no table */
static const int TILE_THREADS = 256, KEEP = 8;
/** Rows that a block of update_kernel() takes, and columns | no table */
static const int UPDATE_M = 64, UPDATE_N = 32;
/** Columns of a check, of a diagonal block, of a permutation, that a block takes | no table */
static const int CHECK_COLUMNS = 8, DIAGONAL = 64, PERMUTE_COLUMNS = 4;
/** Threads of a block of a solve; right-hand sides up to which sweeps are ours, not cuBLAS's |
 *  no table */
static const int SOLVE_THREADS = 512, BY_HAND = 4;
/** Bytes of a strip of rows that residuals of many right-hand sides write out; solutions up to
 *  which a pass over A each is quicker | no table */
static const int64_t STRIP_BYTES = 64 << 20;
static const int FEW_RESIDUALS = 3;
/** Threads of a block of Bunch-Kaufman's panel, and columns of the panel | no table */
static const int BK_THREADS = 512, BK_COLUMNS = 128;
/** Threads of a block of Aasen's panel; columns that a move of rows takes together, and the blocks
 *  that share them | no table */
static const int AASEN_THREADS = 512, MOVED_COLUMNS = 32, MOVED_PARTS = 8;

} // namespace mpki

#endif
