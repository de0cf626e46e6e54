/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_H
#define BORG_EMIT_SIMD_H
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
#include "borg/perm.h"

/** What a target does in its own way. */
typedef struct simd_target {
    int32_t bytes;         /* of a register */
    const char *header;    /* text: the type vm */
    const char *masks;     /* what vm can do, b_select, the macro BCMP */
    const char *functions; /* the other functions on registers */
    bool bits;             /* vm is an integer with a bit for each lane */
    bool pieces;           /* quarters and halves of a register are loaded and stored by AVX-512 */
    bool masked;           /* memory under a mask, gathers: b_loadm, b_merge, b_storem, b_gather */
} simd_target;

typedef struct simd {
    const simd_target *target;
    const borg_options *options;
    borg_sink *out;
    borg_arena *arena;
    borg_module *m;
    int32_t lanes, depth, temps;
    bool apart; /* what is the same for a group's work-items lies in a scalar for each group */
} simd;

/** The body of a backend's emit. */
borg_status simd_emit(const simd_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink);

/** inst->mark: a number for each group that only addresses of transposed blocks are made of. It is
 * a scalar for each group, whatever the order (address.c). */
enum { SIMD_ADDRESS = 1 };

/* ---- simd.c: values and their registers ---- */
bool simd_apart(const simd *e, const borg_inst *v); /* a scalar for each group */
bool simd_scalar(const simd *e, const borg_inst *v);
int32_t simd_row_count(const simd *e, const borg_inst *v); /* registers or scalars of a row */
/** Work-item and group of lane `lane` of register or scalar `reg`. */
void simd_place(const simd *e, const borg_inst *v, int32_t reg, int32_t lane, int32_t *wi,
                int32_t *wg);
int32_t simd_count(const simd *e, const borg_inst *v);              /* registers of all rows */
const char *simd_reg(const simd *e, const borg_inst *v, int32_t i); /* the name of one */
void simd_name(simd *e, borg_inst *v, int32_t i, const char *name);
/** Give register i of v its value: declares it. */
void simd_let(simd *e, borg_inst *v, int32_t i, const char *expression);
/** A register or scalar that is no instruction's. */
const char *simd_temp(simd *e, borg_type type, bool scalar, const char *expression);
const char *simd_type(borg_type type, bool scalar);
const char *simd_suffix(borg_type type); /* "f64" of b_fadd_f64 */
void simd_line(simd *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *simd_literal(simd *e, borg_type type, uint64_t bits);
/** A register of constants, `used` of them given. */
const char *simd_literals(simd *e, borg_type type, const uint64_t *bits, int32_t used);
const char *simd_splat(simd *e, borg_type type, const char *scalar);
const char *simd_lane(simd *e, borg_type type, const char *reg, int32_t lane);
int32_t simd_used(const simd *e, const borg_inst *v, int32_t reg); /* lanes of register `reg` */
uint64_t simd_bits(int32_t count);                                 /* that many ones */
/** Whether the lanes of register `reg` of an i1 that matter are all 1 (SIMD_ALL), all 0
 * (SIMD_NONE), or not known to be either. mask: may be NULL, then all 1. */
typedef enum simd_mask { SIMD_SOME, SIMD_ALL, SIMD_NONE } simd_mask;
simd_mask simd_mask_kind(const simd *e, const borg_inst *mask, int32_t reg);

/* ---- move.c, reduce.c, memory.c ---- */
/** A register of which lane i is lane index[i] of source[from[i]]; from[i] < 0: of no account. */
const char *simd_move(simd *e, borg_type type, const char *const *source, const int32_t *from,
                      const int32_t *index);
void simd_layout(simd *e, borg_inst *v);
void simd_reduce(simd *e, borg_inst *v);
void simd_memory(simd *e, borg_inst *v);

/* ---- leave.c ---- */
/** Whether options leave this kind of reordering out; then it goes through memory. */
bool simd_left_out(const simd *e, const borg_inst *v, const borg_move *k);
void simd_through_memory(simd *e, borg_inst *v, int32_t i, const borg_move *k);

/** Whether a load or store (value: what has its lanes) may go by simd_load_transposed. */
bool simd_transposable(const simd *e, const borg_inst *v, const borg_inst *value);

/* ---- address.c ---- */
void simd_mark_addresses(simd *e);

/* ---- transpose.c: work-items that lie side by side in memory, groups in registers ---- */
/** Lane g of x[w] is work-item w at address at[g] (text), g and w below `lanes`; bits: the
 * work-items that are there (stores: at each address). Of the others x is of no account, and memory
 * is not touched. */
void simd_load_transposed(simd *e, borg_type type, const char *const *at, uint64_t bits,
                          const char **x);
void simd_store_transposed(simd *e, borg_type type, const char *const *at, const uint64_t *bits,
                           const char *const *x);
/** Whether the target can do that with these bits. */
bool simd_transposes(const simd *e, borg_type type, uint64_t bits);

/** prelude.c */
extern const char simd_head_text[], simd_type_text[], simd_scalar_text[], simd_vector_text[];

#endif
