/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_TUNING_H
#define MPKI_CUDA_SYSTEMS_TUNING_H
/** Numbers of the engine for many systems that only speed decides. */

/** Rows of the largest front up to which a block is a warp; two; and four. */
#define MPKI_SYSTEMS_WARP_ROWS 48
#define MPKI_SYSTEMS_TWO_WARP_ROWS 64
#define MPKI_SYSTEMS_MIDDLE_ROWS 160
/** Systems for each multiprocessor up to which a block has two warps for one; and, with larger
 *  fronts, as many as there are. */
#define MPKI_SYSTEMS_FEW 4
#define MPKI_SYSTEMS_FEW_LARGE 2
/** Warps for each multiprocessor up to which a block has more of them for a wide tree. */
#define MPKI_SYSTEMS_WARPS 10
/** Bytes of shared memory for a front, at least: what does not fit is where its L lies, which is as
 *  fast, and more blocks are at work. */
#define MPKI_SYSTEMS_FRONT_BYTES (6 << 10)
/** Bytes of shared memory that are left to the cache where systems are few. */
#define MPKI_SYSTEMS_CACHE_BYTES (48 << 10)
/** Blocks of a gang at most, as many as a cluster has everywhere; and blocks for each
 *  multiprocessor up to which gangs grow. */
#define MPKI_SYSTEMS_GANG 8
#define MPKI_SYSTEMS_ROOM 1
/** Rows of a front from which all blocks of a gang do it together. */
#define MPKI_SYSTEMS_GANG_ROWS 96
/** Rows of the largest front from which panels are gathered before what is behind them is updated,
 *  and how many. */
#define MPKI_SYSTEMS_DEEP_ROWS 96
#define MPKI_SYSTEMS_DEEP 2
/** Bytes that are asked for ahead, at most, of one thing. */
#define MPKI_SYSTEMS_ASKED_BYTES (8 << 10)
/** Rows behind a panel from which warps update 64 at a time. */
#define MPKI_SYSTEMS_WARP_UPDATE 48

#endif
