/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_TUNING_H
#define MPKI_CUDA_SYSTEMS_TUNING_H
/** Numbers of the engine for many systems that only speed decides. */

/** Rows of the largest front up to which a block is a warp; and four warps. */
#define MPKI_SYSTEMS_WARP_ROWS 48
#define MPKI_SYSTEMS_MIDDLE_ROWS 160
/** Systems for each multiprocessor up to which a block has two warps for one. */
#define MPKI_SYSTEMS_FEW 4
/** Bytes of shared memory for a front, for each warp of a block. */
#define MPKI_SYSTEMS_FRONT_BYTES (13 << 10)

#endif
