/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_LOWER_PLACE_H
#define BORG_LOWER_PLACE_H
/** place.c: where an expression reads or writes, with its index computed. */
#include "borg/lower/leaves.h"

typedef struct borg_place {
    const borg_expr *e;
    const borg_decl *d;
    borg_inst *index;   /* arrays, memory: i64; private and __local arrays: i32 */
    borg_inst *pointer; /* memory, __local volatile arrays */
} borg_place;

borg_inst *borg_lower_read_place(borg_lowerer *l, const borg_place *p);
void borg_lower_write_place(borg_lowerer *l, const borg_place *p, borg_inst *value);
/** Of a private array that lies in memory: the element that another work-item of the group has. */
borg_inst *borg_lower_read_lane(borg_lowerer *l, const borg_place *p, borg_inst *lane);
/** A parameter of the kernel. */
borg_inst *borg_lower_parameter(borg_lowerer *l, const borg_decl *d);
borg_inst *borg_lower_load(borg_lowerer *l, borg_type type, borg_inst *pointer, borg_inst *index,
                           borg_loc loc);
/** Is a constant index inside its array? If not, report it. */
bool borg_lower_in_bounds(borg_lowerer *l, const borg_place *p);

#endif
