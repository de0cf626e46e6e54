/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_LEAVES_H
#define BORG_EMIT_SIMT_LEAVES_H
/** The parts of the SIMT emission, by kind of instruction. They stand on core.h and slots.h, know
 * of no control, and call each other in the order of this list: an earlier one never a later one.
 */
#include "borg/emit/simt/slots.h"

/* ---- stage.c ---- */
/** Parameters that options->stage names. False: one cannot be, a message says why. */
bool simt_plan_stages(simt *e);
/** Of a warp: bytes of shared memory. */
int32_t simt_stage_bytes(const simt *e);
/** Before the body, and behind it. */
void simt_stage_in(simt *e);
void simt_stage_out(simt *e);
/** The element of v's array that lies in shared memory, or NULL; row and work-item of the value. */
const char *simt_staged(simt *e, const borg_inst *v, int32_t row, int32_t item);

/* ---- address.c ---- */
/** Scalar i of what v loads or stores, in its array in global memory. */
const char *simt_element(simt *e, const borg_inst *v, const borg_inst *value, int32_t i);

/* ---- local.c ---- */
/** To be called when it is known how a group lies in threads. */
void simt_plan_locals(simt *e);
/** Of a group: bytes of shared memory. */
int32_t simt_local_bytes(const simt *e);
void simt_put_locals(simt *e);
/** Whether places by thread are held in registers: there are arrays, each thread has work-items,
 * and groups are not interleaved. */
bool simt_holds(const simt *e);
/** These places. */
void simt_put_held(simt *e);
/** A load or store of an array in memory, or a load that its store does; false: it is neither. */
bool simt_local(simt *e, borg_inst *v);
bool simt_is_copied(const simt *e, const borg_inst *v);
/** Before a BARRIER: copies arrive. */
void simt_local_wait(simt *e);
/** Behind it. */
void simt_local_barrier(simt *e);
/** Before a LOOP or IF, and behind: whatever is done there to arrays may just have been. */
void simt_local_enter(simt *e, const borg_inst *v);
void simt_local_touch(simt *e, const borg_inst *v);

/* ---- gather.c ---- */
/** A SELECT that needs only be read from shared memory; NULL: it must be computed. */
const char *simt_row_by_item(simt *e, const borg_inst *v, int32_t i);

/** Scalar i of a PERM or SELECT whose threads read slots, each its own: one read. NULL: it is not.
 */
const char *simt_gather(simt *e, const borg_inst *v, int32_t i);
/** The pointers that simt_gather reads by. */
void simt_put_places(simt *e);

/* ---- mma.c ---- */
void simt_mma(simt *e, borg_inst *v);

/* ---- instructions by kind: layout.c, reduce.c, memory.c, elem.c ---- */
void simt_layout(simt *e, borg_inst *v);
void simt_reduce(simt *e, borg_inst *v);
void simt_memory(simt *e, borg_inst *v);
void simt_elem(simt *e, borg_inst *v);
/** Find chains of maxima of magnitudes. */
void simt_plan_maxima(simt *e);

#endif
