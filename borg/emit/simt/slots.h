/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_SLOTS_H
#define BORG_EMIT_SIMT_SLOTS_H
/** slots.c: slots of shared memory, for what is asked for often: written once by all work-items
 * when the value is made. Stands on core.h. */
#include "borg/emit/simt/core.h"

/** bytes: of shared memory that are taken, of a group. */
void simt_plan_slots(simt *e, int32_t bytes);
/** To be called when v has its value: puts it into its slot. */
void simt_publish(simt *e, borg_inst *v);
/** Before others' slots are read. Many are written at once so, and loads from memory overlap. */
void simt_see_slots(simt *e);
/** Elements from one group's row in shared memory to the next one's. */
int32_t simt_row_length(const simt *e, borg_type type);
/** What LANE or PERM reads in row r of work-item w: behind choices by constants and broadcasts. */
const borg_inst *simt_source(const simt *e, const borg_inst *v, int32_t *r, int32_t *w);
/** The slots of the work-item that an index names: asked for with one index they lie side by side,
 * and compilers load two at once where they see the alignment. */
bool simt_indexes_slots(const simt *e, const borg_inst *v);

#endif
