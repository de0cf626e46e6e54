/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_LEAVES_H
#define BORG_EMIT_SIMT_LEAVES_H
/** The parts of the SIMT emission, by kind of instruction. They use core.h and slots.h, handle no
 * control, and call each other only in the order of this list: an earlier one never a later one. */
#include "borg/emit/simt/slots.h"

/* ---- stage.c ---- */
/** Find the parameters that options->stage names. False: one cannot be staged, as a message says.
 *  */
bool simt_plan_stages(simt *e);
/** Bytes of shared memory for each warp. */
int32_t simt_stage_bytes(const simt *e);
/** Before the body, and after it. */
void simt_stage_in(simt *e);
void simt_stage_out(simt *e);
/** The element of v's array that lies in shared memory, or NULL; row and work-item of the value. */
const char *simt_staged(simt *e, const borg_inst *v, int32_t row, int32_t item);

/* ---- address.c ---- */
/** Scalar i of what v loads or stores, in its array in global memory. */
const char *simt_element(simt *e, const borg_inst *v, const borg_inst *value, int32_t i);

/* ---- local.c ---- */
/** To be called once the layout of a group in threads is known. */
void simt_plan_locals(simt *e);
/** Bytes of shared memory for each group. */
int32_t simt_local_bytes(const simt *e);
void simt_put_locals(simt *e);
/** Are addresses by thread kept in registers? If there are arrays, each thread has work-items, and
 * groups are not interleaved. */
bool simt_holds(const simt *e);
/** Write these addresses. */
void simt_put_held(simt *e);
/** Is v a load or store of an array in memory, or a load that its store does? Then write it. */
bool simt_local(simt *e, borg_inst *v);
bool simt_is_copied(const simt *e, const borg_inst *v);
/** Before a BARRIER: copies arrive. */
void simt_local_wait(simt *e);
/** After a BARRIER. */
void simt_local_barrier(simt *e);
/** Before and after a LOOP or IF: anything done to arrays inside may just have happened. */
void simt_local_enter(simt *e, const borg_inst *v);
void simt_local_touch(simt *e, const borg_inst *v);

/* ---- gather.c ---- */
/** A SELECT that is a read from shared memory; NULL: it must be computed. */
const char *simt_row_by_item(simt *e, const borg_inst *v, int32_t i);

/** Scalar i of a PERM or SELECT each of whose threads reads its own slot: one read. NULL: it is no
 * such thing. */
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
