/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_PACK_H
#define SIM_VECTOR_PACK_H
/** Which warps share vector registers (thesis of 2021, section 9.3.2): sizes whose programs have
 *  about as many instructions are in one bucket, and warps of a bucket are put side by side, first
 *  fit, while their threads are no more than the register has lanes.
 */
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

/** Instructions that a warp of each size executes, or is thought to: [size], 0 where no warp has it. */
typedef struct vs_counts {
    int32_t most;
    int64_t *of;
    int32_t *entry; /* the kernel that they run; NULL: one for all */
} vs_counts;

/** Where a size's number of instructions comes from. */
typedef enum vs_estimate {
    VS_BY_LOT,   /* unrolled for the size, branches on data by lot, the mean of many times: what a
                    compiler can know (thesis of 2021, section 9.3.2) */
    VS_BY_ALL,   /* the mean of all warps of that size */
    VS_BY_FIRST, /* the first warp of that size */
} vs_estimate;

/** Count for each size. The engine must take the largest. By lot no array is read or written; the
 *  lots are the same for each size, so that sizes differ by what is different in them. By all and by
 *  first warps are run and change what they write. NULL after a message. */
vs_counts *vs_count(vs_engine *engine, const vs_warp *warps, int32_t count, vs_estimate how,
                    borg_arena *arena);

/** Buckets by counts: from the least on, each takes those up to `threshold` more than its least; a
 *  warp that is larger than the register is alone in its partition.
 *  threshold [in] instructions, or VS_NO_PACKING: each warp for itself */
vs_packing *vs_pack(const vs_warp *warps, int32_t count, const vs_counts *counts, int32_t lanes,
                    int64_t threshold, vs_sort sort, borg_arena *arena);

/** SplitMix64 (Steele, Lea and Flood, 2014). */
uint64_t vs_random(uint64_t *state);
/** order[0 .. count-1] := 0 .. count-1, shuffled by the seed; the same everywhere. */
void vs_shuffle(int32_t *order, int32_t count, uint64_t seed);

#endif
