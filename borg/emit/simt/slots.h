/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_SLOTS_H
#define BORG_EMIT_SIMT_SLOTS_H
/** slots.c: slots of shared memory, for values that are read often: written once by all work-items
 * when the value is made. Uses core.h. */
#include "borg/emit/simt/core.h"

/** bytes: of shared memory already in use, for each group. */
void simt_plan_slots(simt *e, int32_t bytes);
/** To be called when v has its value: puts it into its slot, if it has one. */
void simt_publish(simt *e, borg_inst *v);
/** To be called before slots of other threads are read. Many slots are written before it, so that
 *  loads from memory overlap. */
void simt_see_slots(simt *e);
/** Elements from one group's row in shared memory to the next one's. */
int32_t simt_row_length(const simt *e, borg_type type);
/** What LANE or PERM really reads in row r of work-item w: looks through selections by constants
 *  and broadcasts. */
const borg_inst *simt_source(const simt *e, const borg_inst *v, int32_t *r, int32_t *w);
/** Does the index name slots of one work-item? If they are read with one index they lie side by
 * side, and compilers load two at once where they see the alignment. */
bool simt_indexes_slots(const simt *e, const borg_inst *v);

#endif
