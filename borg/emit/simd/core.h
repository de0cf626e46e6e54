/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_CORE_H
#define BORG_EMIT_SIMD_CORE_H
/** What all parts of the SIMD emission are built on: its state, registers of values, constants. */
#include "borg/emit/ctext.h"
#include "borg/emit/simd/simd.h"
#include "borg/perm.h"

/** Stores past the caches: none; of what --nontemporal names; of what is only written, where a
 * call's arrays are larger than caches. */
typedef enum simd_past { SIMD_NEVER, SIMD_NAMED, SIMD_WHERE_FAR } simd_past;

typedef struct simd {
    ctext c;
    const simd_target *target;
    const borg_options *options;
    borg_arena *arena;
    borg_module *m;
    int32_t lanes;
    simd_past past;
    bool *only_written; /* of each parameter: nothing is read through it */
    bool apart; /* what is the same for all work-items of a group is kept in a scalar for each
                   group */
} simd;

/** inst->mark: a number for each group that only addresses of transposed blocks are made of. It is
 * kept in a scalar for each group, whatever the order (address.c). */
enum { SIMD_ADDRESS = 1 };

bool simd_apart(const simd *e, const borg_inst *v); /* a scalar for each group */
bool simd_scalar(const simd *e, const borg_inst *v);
int32_t simd_row_count(const simd *e, const borg_inst *v); /* registers or scalars of a row */
/** Work-item and group of lane `lane` of register or scalar `reg`. */
void simd_place(const simd *e, const borg_inst *v, int32_t reg, int32_t lane, int32_t *wi,
                int32_t *wg);
int32_t simd_count(const simd *e, const borg_inst *v);              /* registers of all rows */
const char *simd_reg(const simd *e, const borg_inst *v, int32_t i); /* the name of one */
/** Give register i of v its value: declares it. */
void simd_let(simd *e, borg_inst *v, int32_t i, const char *expression);
/** A register or scalar that belongs to no instruction. */
const char *simd_temp(simd *e, borg_type type, bool scalar, const char *expression);
const char *simd_type(borg_type type, bool scalar);
const char *simd_suffix(borg_type type); /* "f64" of b_fadd_f64 */
const char *simd_literal(simd *e, borg_type type, uint64_t bits);
/** A register of constants, `used` of them given. */
const char *simd_literals(simd *e, borg_type type, const uint64_t *bits, int32_t used);
const char *simd_splat(simd *e, borg_type type, const char *scalar);
const char *simd_lane(simd *e, borg_type type, const char *reg, int32_t lane);
int32_t simd_used(const simd *e, const borg_inst *v, int32_t reg); /* lanes of register `reg` */
uint64_t simd_bits(int32_t count);                                 /* that many ones */
/** Are the used lanes of register `reg` of an i1 all 1 (SIMD_ALL), all 0 (SIMD_NONE), or is neither
 * known? mask: NULL means all 1. */
typedef enum simd_mask { SIMD_SOME, SIMD_ALL, SIMD_NONE } simd_mask;
simd_mask simd_mask_kind(const simd *e, const borg_inst *mask, int32_t reg);

/** prelude.c */
extern const char simd_head_text[], simd_type_text[], simd_scalar_text[], simd_vector_text[];

#endif
