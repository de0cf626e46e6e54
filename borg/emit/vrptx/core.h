/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_VRPTX_CORE_H
#define BORG_EMIT_VRPTX_CORE_H
/** The state of the backend `vrptx`, and what its parts offer each other. A work-group is a warp, a
 *  work-item a lane, a row of a value a register; inst->aux holds an operand's text for each
 *  row. */
#include "borg/borg.h"

typedef struct vx_table {
    const uint64_t *bits; /* by lane */
    borg_type type;
    const char *name;
    struct vx_table *next;
} vx_table;

typedef struct vx_stride {
    int64_t by;
    const char *name; /* $tid times it, .b64 */
    struct vx_stride *next;
} vx_stride;

typedef struct vx {
    borg_arena *arena;
    borg_sink *out;          /* of the body */
    borg_sink tables, first; /* before it: constants; what is computed once */
    borg_module *m;
    int32_t registers[BORG_PTR + 1], labels, ntables;
    vx_table *known;
    vx_stride *strides;
    const char *leader; /* the predicate $tid = 0; NULL: not needed so far */
    const char *group;  /* $wid, .b64 */
} vx;

/* ---- words.c ---- */
void vx_line(vx *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The same, once, before the body. */
void vx_once(vx *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
char vx_letter(borg_type type); /* that registers of this type begin with */
const char *vx_new(vx *e, borg_type type);
const char *vx_type(borg_type type); /* "b32", of a register */
const char *vx_get(const borg_inst *v, int32_t row);
void vx_name(vx *e, borg_inst *v, int32_t row, const char *name);
const char *vx_literal(vx *e, borg_type type, uint64_t bits);
/** In a register, for what takes no literal. */
const char *vx_in_register(vx *e, borg_type type, const char *text);
/** A predicate as 0 or 1, .b32; the other way round. */
const char *vx_widen(vx *e, const char *predicate);
const char *vx_narrow(vx *e, const char *word);
/** bits[lane] as an operand: a literal where all are alike, a comparison, or from a table. */
const char *vx_by_lane(vx *e, borg_type type, const uint64_t *bits);

/* ---- head.c ---- */
const char *vx_group(vx *e); /* $wid, .b64 */
/** The kernel as a whole: parameters, arrays, registers, what is computed once, the body. */
void vx_put_kernel(vx *e, const char *name, const borg_sink *body, borg_sink *out);

/* ---- layout.c ---- */
/** x as the lane `from` (an operand) has it; predicates move as words. */
const char *vx_shuffled(vx *e, borg_type type, const char *how, const char *x, const char *from);
const char *vx_added_as(borg_type type); /* "s32": the type of an add */

/** A search for the greatest or least: values without NaN and the lanes that have them; the better
 *  one, of equal ones the lower lane. */
typedef struct vx_extreme {
    borg_type type;
    bool least;
    const char *as, *value, *at;
} vx_extreme;
vx_extreme vx_extreme_start(vx *e, borg_type type, bool uns, bool least, const char *x);
/** Against what lies `by` lanes (an operand) further, where that is. */
void vx_extreme_step(vx *e, const vx_extreme *k, const char *by);

/* ---- elem.c, layout.c, memory.c ---- */
void vx_elem(vx *e, borg_inst *v);
void vx_layout(vx *e, borg_inst *v);
void vx_reduce(vx *e, borg_inst *v);
void vx_memory(vx *e, borg_inst *v);

#endif
