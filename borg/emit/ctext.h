/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_CTEXT_H
#define BORG_EMIT_CTEXT_H
/** The text of a function in C, which the backends for SIMD and SIMT machines write alike: lines,
 * literals, names, loops and branches. A value has parts: registers on a SIMD machine, scalars on a
 * SIMT one; inst->aux holds their names. */
#include "borg/borg.h"

/** How a target writes integers (between two texts), infinity and NaN, of 32 and 64 bits. */
typedef struct ctext_literals {
    const char *before[2], *behind[2], *nan[2], *infinity[2];
} ctext_literals;

/** In C with the builtins of gcc and clang. */
extern const ctext_literals ctext_c_literals;

typedef struct ctext {
    borg_arena *arena;
    borg_sink *out;
    int32_t depth, temps;
    const ctext_literals *literals;
    /* of a value: how many parts it has, their type, and how part i is called here */
    int32_t (*count)(const struct ctext *c, const borg_inst *v);
    const char *(*type)(const struct ctext *c, const borg_inst *v);
    const char *(*part)(const struct ctext *c, const borg_inst *v, int32_t i);
    /* emit a block, a LOOP, an IF */
    void (*block)(struct ctext *c, borg_block *block);
    void (*loop)(struct ctext *c, borg_inst *v);
    void (*branch)(struct ctext *c, borg_inst *v);
} ctext;

void ctext_line(ctext *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Forget the names of all values. */
void ctext_clear(borg_block *block);
void ctext_name(ctext *c, borg_inst *v, int32_t i, const char *name);
/** A constant that belongs to no instruction; returns its name. */
const char *ctext_temp(ctext *c, const char *type, const char *expression);
const char *ctext_literal(const ctext *c, borg_type type, uint64_t bits);
/** Name a parameter, in a value whose scalars are of a C type. */
void ctext_param(ctext *c, const borg_module *m, borg_inst *v, const char *type);

/** ", double *p_x" of each parameter, the types in a declaration alone; behind them ")". */
void ctext_parameters(ctext *c, const borg_module *m, bool types);

/** Variables for the PHIs of a LOOP, before it; the loop. */
void ctext_phis(ctext *c, const borg_inst *v);
void ctext_loop(ctext *c, const borg_inst *v);
/** Variables for the RESULTs of an IF, before it: they stand after it. */
void ctext_results(ctext *c, borg_inst *v);
/** One side of an IF: 0 with its condition, then 1, which ends it. */
void ctext_arm(ctext *c, const borg_inst *v, int32_t side);
/** Write an instruction of control. */
void ctext_control(ctext *c, borg_inst *v);

#endif
