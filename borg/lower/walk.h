/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_LOWER_WALK_H
#define BORG_LOWER_WALK_H
/** The execution of the tree: these functions call each other as the language nests. */
#include "borg/lower/core.h"

/* ---- expr.c ---- */
borg_inst *borg_lower_expr(borg_lowerer *l, const borg_expr *e);
/** A declaration at its place, with its initial value. */
void borg_lower_declare_here(borg_lowerer *l, const borg_decl *d);

/* ---- stmt.c ---- */
void borg_lower_stmt(borg_lowerer *l, const borg_stmt *s);
/** An inlined call: the value returned; NULL for a void function. */
borg_inst *borg_lower_call(borg_lowerer *l, const borg_expr *e);

/* ---- branch.c ---- */
void borg_lower_if(borg_lowerer *l, const borg_stmt *s);

/* ---- loop.c ---- */
void borg_lower_for(borg_lowerer *l, const borg_stmt *s);

#endif
