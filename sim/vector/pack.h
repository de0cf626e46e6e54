/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_PACK_H
#define SIM_VECTOR_PACK_H
/** Which warps share vector registers (thesis of 2021, section 9.3.2): sizes whose programs have
 *  about as many instructions are in one bucket, and warps of a bucket are put side by side, first
 *  fit, while their threads are no more than the register has lanes.
 *
 *  Differs from the thesis, which unrolls the source for each size: a warp of each size is run, and
 *  what it executes is counted, so branches on data count as the first warp of that size took
 *  them. */
#include "sim/vector/run.h"

enum { VS_NO_PACKING = -1 };

/** Orders in which first fit takes the warps. */
typedef enum vs_sort { VS_AS_GIVEN, VS_RISING, VS_FALLING } vs_sort;

typedef struct vs_partition {
    int32_t first, count, threads; /* warps first .. first+count-1 of the packing */
} vs_partition;

typedef struct vs_packing {
    int32_t nparts, nbuckets, widest; /* most threads of a partition */
    vs_partition *parts;
    vs_warp *warps; /* in the order of the partitions */
} vs_packing;

/** Instructions that a warp of each size executes: [size], 0 where no warp has it. */
typedef struct vs_counts {
    int32_t most;
    int64_t *of;
    int32_t *entry; /* the kernel that they run; NULL: one for all */
} vs_counts;

/** Run the first warp of each size. The engine must take the largest. NULL after a message. */
vs_counts *vs_count(vs_engine *engine, const vs_warp *warps, int32_t count, borg_arena *arena);

/** Buckets by counts: from the least on, each takes those up to `threshold` more than its least; a
 *  warp that is larger than the register is alone in its partition.
 *  threshold [in] instructions, or VS_NO_PACKING: each warp for itself */
vs_packing *vs_pack(const vs_warp *warps, int32_t count, const vs_counts *counts, int32_t lanes,
                    int64_t threshold, vs_sort sort, borg_arena *arena);

/** order[0 .. count-1] := 0 .. count-1, shuffled by the seed; the same everywhere. */
void vs_shuffle(int32_t *order, int32_t count, uint64_t seed);

#endif
