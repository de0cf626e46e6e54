/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_SIMD_H
#define BORG_EMIT_SIMD_SIMD_H
/** What the backends for SIMD machines share: a value of InfReg-IR lies in registers of `lanes`
 * lanes (thesis of 2021, section 7.3.3), each row from a new register on, the last one filled in
 * part; a value with one lane in a row is a scalar. Where groups lie one after the other and fill
 * more than half a register, what is the same for a group is a scalar for each group: loaded,
 * computed and broadcast as such. Emitted is C with vector types: vf64 vf32 vi64 vi32   registers;
 * integers without sign, pointers are vi64 vm                    a register of i1: the target's own
 *  Operations are calls of small functions, b_NAME_TYPE for registers and s_NAME_TYPE for scalars;
 *  prelude.c holds their text. All types have the same number of lanes, that of the widest: where
 * the kernel holds doubles, floats fill half a register. Lanes that hold nothing compute too. */
#include "borg/borg.h"

/** What a target does in its own way. */
typedef struct simd_target {
    int32_t bytes;           /* of a register */
    const char *header;      /* text: the type vm */
    const char *masks;       /* what vm can do, b_select, the macro BCMP */
    const char *functions;   /* the other functions on registers */
    const char *reciprocals; /* b_rcp_fast, for modules that want them; may be NULL */
    const char *nontemporal; /* b_stream and b_streamed, likewise */
    bool bits;               /* vm is an integer with a bit for each lane */
    bool pieces; /* quarters and halves of a register are loaded and stored by AVX-512 */
    bool masked; /* memory under a mask, gathers: b_loadm, b_merge, b_storem, b_gather */
} simd_target;

/** The body of a backend's emit. */
borg_status simd_emit(const simd_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink);

#endif
