/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_LEAVES_H
#define BORG_EMIT_SIMD_LEAVES_H
/** The parts of the SIMD emission, by kind of instruction. They use core.h, and move.h, transpose.h
 * and leave.h, which use it too, and do not call each other; except address.c, which runs before
 * them and asks blocks.c. */
#include "borg/emit/simd/core.h"

void simd_leaf(simd *e, borg_inst *v);
/** Register i of it. */
void simd_elem(simd *e, borg_inst *v, int32_t i);
void simd_layout(simd *e, borg_inst *v);
void simd_reduce(simd *e, borg_inst *v);
void simd_memory(simd *e, borg_inst *v);

/** memory.c: may full registers of this store go past the caches? */
bool simd_past_caches(const simd *e, const borg_inst *v);

/** Can a load or store (value: the one whose lanes it has) be done by simd_load_transposed? */
bool simd_transposable(const simd *e, const borg_inst *v, const borg_inst *value);

/** address.c: to be called before anything is emitted. */
void simd_mark_addresses(simd *e);
/** access.c: indices that no access needs as values are not used any more. */
void simd_skip_indices(simd *e);

#endif
