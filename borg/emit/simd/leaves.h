/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_LEAVES_H
#define BORG_EMIT_SIMD_LEAVES_H
/** The parts of the SIMD emission, by kind of instruction. They stand on core.h, and on move.h,
 * transpose.h and leave.h, which stand on it, and do not call each other; but address.c, which is
 * done before them, asks blocks.c. */
#include "borg/emit/simd/core.h"

void simd_leaf(simd *e, borg_inst *v);
void simd_elem(simd *e, borg_inst *v);
void simd_layout(simd *e, borg_inst *v);
void simd_reduce(simd *e, borg_inst *v);
void simd_memory(simd *e, borg_inst *v);

/** Whether a load or store (value: what has its lanes) may go by simd_load_transposed. */
bool simd_transposable(const simd *e, const borg_inst *v, const borg_inst *value);

/** address.c: before anything is emitted. */
void simd_mark_addresses(simd *e);

#endif
