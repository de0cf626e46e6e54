/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SCHEDULE_H
#define MPKI_SCHEDULE_H
/** From the index to lists of block operations. An operation names blocks by number; the executor
 *  needs nothing else. */
#include "../block/block.h"

/** Frames first..m-1 (by place) in level sets: a frame's level exceeds that of every frame before
 * it with which it shares a block; frames of one level are independent. ptr: count + 1, into frame;
 * frame: frames, in order of place within a level. */
mpk_status mpki_levels_make(mpk_context *ctx, const mpki_ibcsr *index, int32_t first,
                            mpki_levels *levels);
/** Split each level into subsets in which no two frames share a successor (Thuerck 2021, problem
 * 2): greedy distance-2 colouring of the bipartite graph of a level and its successors. The result
 * is again a list of levels, subset after subset. of [out] subsets->count, which level a subset
 * came from; NULL: not wanted. */
mpk_status mpki_subsets_make(mpk_context *ctx, const mpki_ibcsr *index, const mpki_levels *levels,
                             mpki_levels *subsets, int32_t **of);
/** Same for a bare pattern (statistics): counts only; either may be NULL. */
mpk_status mpki_count_levels(mpk_context *ctx, const mpki_pattern *pattern, int32_t *levels,
                             int32_t *sublevels);
/** a := a followed by b, which has other frames. MPK_OK | MPK_ERR_MEMORY: a is unchanged. */
mpk_status mpki_levels_append(mpk_context *ctx, mpki_levels *a, const mpki_levels *b);
void mpki_levels_free(mpk_context *ctx, mpki_levels *levels);
/** Check on the lists that the frames of each level are independent, or that the subsets have no
 *  conflicts. MPK_ERR_INTERNAL names a pair that breaks it. */
mpk_status mpki_levels_check(mpk_context *ctx, const mpki_ibcsr *index, const mpki_levels *levels);
mpk_status mpki_subsets_check(mpk_context *ctx, const mpki_ibcsr *index,
                              const mpki_levels *subsets);

/** C -= A D B^T: block `a` lies in the target's row, block `b` in the row of the target's column
 *  frame, both in column k, whose D it is. a == b for a diagonal target. */
typedef struct mpki_update {
    int64_t a, b;
} mpki_update;

/** An update list: item t changes block target[t] by update[ptr[t]] .. update[ptr[t+1]-1]. Items of
 *  one list never share a target, except with schedule atomic. */
typedef struct mpki_updates {
    int64_t count;
    int64_t *target;
    int64_t *ptr; /* count + 1 */
    mpki_update *update;
    int64_t capacity, update_capacity; /* of the arrays, which are reused */
    int32_t *mark;                     /* marks, -1 each between calls: work of pull and push */
    int32_t marks;
} mpki_updates;

/** Pull: for each of the given frames (count; one level or a part of one) all blocks of its column,
 *  the diagonal one first, rows by place, each with all updates from frames that are final
 *  (final[k] != 0) and stand before it, by place. want [in] by block or NULL: targets with
 *  want[block] == 0 are left out. Works for every stage: later rows are found by place. */
mpk_status mpki_updates_pull(mpk_context *ctx, const mpki_ibcsr *index, const unsigned char *final,
                             const unsigned char *want, int32_t count, const int32_t *frames,
                             mpki_updates *batch);
/** Push: the updates that the given frames cause, one for each item, by frame, then by row and
 *  column of the target. Targets that the index does not have, or with want[block] == 0, are left
 *  out. If `frames` is a conflict-free subset, no target appears twice. */
mpk_status mpki_updates_push(mpk_context *ctx, const mpki_ibcsr *index, const unsigned char *want,
                             int32_t count, const int32_t *frames, mpki_updates *batch);
/** The same, one frame at a time: an empty list for an index of m frames; then one more frame. */
mpk_status mpki_updates_begin(mpk_context *ctx, int32_t m, mpki_updates *batch);
mpk_status mpki_updates_pull_frame(mpk_context *ctx, const mpki_ibcsr *index,
                                   const unsigned char *final, const unsigned char *want,
                                   int32_t frame, mpki_updates *batch);
mpk_status mpki_updates_push_frame(mpk_context *ctx, const mpki_ibcsr *index,
                                   const unsigned char *want, int32_t frame, mpki_updates *batch);
/** Check that no target appears twice; MPK_ERR_INTERNAL names it. */
mpk_status mpki_updates_check(mpk_context *ctx, const mpki_updates *batch);
void mpki_updates_free(mpk_context *ctx, mpki_updates *batch);

#endif
