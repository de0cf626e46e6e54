/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_CHECK_H
#define BORG_CHECK_H
/** Inside of the checker: its state, and values with their conversions. */
#include "borg/ast.h"

typedef struct borg_scope {
    struct borg_scope *outer;
    borg_decl *decl;
    int level;
} borg_scope;

typedef struct borg_checker {
    borg_arena *arena;
    borg_diags *diags;
    int32_t size;
    borg_function *file, *function;
    borg_scope *names;
    int level, loops;
} borg_checker;

/** An error; text: for the %s in the format. */
void borg_check_complain(borg_checker *c, borg_loc loc, const char *format, const char *text);
borg_ctype borg_ctype_promote(borg_ctype t);
borg_ctype borg_ctype_common(borg_ctype a, borg_ctype b);
/** e as a value of this type: with a cast if it has another. */
borg_expr *borg_check_cast(borg_checker *c, borg_expr *e, borg_ctype type);
void borg_check_expr(borg_checker *c, borg_expr *e);
/** The same without a type; false, with a message: e has no value. */
bool borg_check_value(borg_checker *c, borg_expr *e);

/** check_builtin.c: tid, wid or ntids, the words of the thesis's figure 9.1, where nothing is
 *  declared by that name: the call that it stands for. */
bool borg_check_word(borg_expr *e);
/** A call of a built-in function; false: there is none of this name. */
bool borg_check_builtin(borg_checker *c, borg_expr *e);

#endif
