/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_VE_CORE_H
#define BORG_EMIT_VE_CORE_H
/** The backend `ve`: C with velintrin.h for NEC's SX-Aurora, whose vector registers have 256 lanes
 *  of 64 bits and a length with each instruction. A row of a value lies in registers of 256 lanes,
 *  the last filled in part, whatever its type; a row of one lane is a scalar. In a lane
 *      f64, i64, ptr    take all 64 bits
 *      f32              the upper half, as the machine's single precision does
 *      i32              the lower half, the upper one is zero
 *  and i1 is a mask register. Functions b_NAME_TYPE(..., length) are the operations on registers
 *  (prelude.c), s_NAME_TYPE those on scalars, which the SIMD backends write alike. */
#include "borg/emit/ctext.h"
#include "borg/perm.h"

enum { VE_LANES = 256 };

/** 256 words in memory, one for each lane: of constants, and of places. */
typedef struct ve_table {
    uint64_t word[VE_LANES];
    int32_t number;
    struct ve_table *next;
} ve_table;

typedef struct ve {
    ctext c;
    borg_arena *arena;
    borg_module *m;
    const borg_options *options;
    ve_table *tables;
    int32_t ntables;
} ve;

/* ---- core.c ---- */
bool ve_scalar(const ve *e, const borg_inst *v);
int32_t ve_per_row(const ve *e, const borg_inst *v); /* registers of a row */
int32_t ve_count(const ve *e, const borg_inst *v);
int32_t ve_used(const ve *e, const borg_inst *v, int32_t i); /* lanes of register i */
/** Work-item and group of lane `lane` of register i. */
void ve_place(const ve *e, const borg_inst *v, int32_t i, int32_t lane, int32_t *wi, int32_t *wg);
const char *ve_reg(const ve *e, const borg_inst *v, int32_t i);
void ve_let(ve *e, borg_inst *v, int32_t i, const char *expression);
const char *ve_type(borg_type type, bool scalar);
const char *ve_suffix(borg_type type);
const char *ve_temp(ve *e, const char *type, const char *expression);
/** A register of these words. */
const char *ve_words(ve *e, const uint64_t *word, int32_t used);
/** A mask: where the words are not 0. */
const char *ve_mask(ve *e, const uint64_t *word, int32_t used);
const char *ve_splat(ve *e, borg_type type, const char *scalar, int32_t used);
const char *ve_lane(ve *e, borg_type type, const char *reg, int32_t lane);
/** i1 as 0 and 1 in a register, and back; other types as they are. */
const char *ve_open(ve *e, borg_type type, const char *reg, int32_t used);
const char *ve_close(ve *e, borg_type type, const char *reg, int32_t used);
/** All lanes of a row in memory, a word for each, register after register: the array's name. */
const char *ve_spill(ve *e, const borg_inst *x, int32_t row);

/** spill.c: inst->mark of values that lie in memory. */
enum { VE_IN_MEMORY = 1 };
void ve_choose_spills(ve *e);

void ve_layout(ve *e, borg_inst *v); /* layout.c */
void ve_reduce(ve *e, borg_inst *v); /* reduce.c */
void ve_memory(ve *e, borg_inst *v); /* memory.c */

extern const char ve_prelude_text[]; /* prelude.c */

#endif
