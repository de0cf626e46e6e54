/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_MOVE_H
#define BORG_EMIT_SIMD_MOVE_H
/** move.c: one register of lanes from others, wherever these lie. */
#include "borg/emit/simd/core.h"

/** A register of which lane i is lane index[i] of source[from[i]]; from[i] < 0: any value. */
const char *simd_move(simd *e, borg_type type, const char *const *source, const int32_t *from,
                      const int32_t *index);

#endif
