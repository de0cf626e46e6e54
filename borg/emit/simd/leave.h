/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_LEAVE_H
#define BORG_EMIT_SIMD_LEAVE_H
/** leave.c: reorderings that options tell to leave out, for measurements. */
#include "borg/emit/simd/core.h"

/** Do options leave this kind of reordering out? Then it goes through memory. */
bool simd_left_out(const simd *e, const borg_inst *v, const borg_move *k);
void simd_through_memory(simd *e, borg_inst *v, int32_t i, const borg_move *k);

#endif
