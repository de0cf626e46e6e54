/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_VRPTX_TREE_H
#define BORG_EMIT_VRPTX_TREE_H
/** A kernel for warps of any size, straight from the checked tree (thesis of 2021, section 9.3.1):
 *  InfReg-IR counts the work-items of a group, so it has no such kernels.
 *
 *  An instruction of the source is one of vrPTX. $tid, $wid and $ntids are what they are; a
 *  condition that lanes decide is the guard of what it rules, and all lanes stay together: the only
 *  branch is `allbra`, at a loop's head and past long arms. So shuffles see all threads of their
 *  warp. A compare is written where its mask is first needed, behind the shuffles that need it not:
 *  these take as many cycles as the partition has lanes, and should start first. */
#include "borg/ast.h"
#include "borg/emit/vrptx/core.h"

/** The lanes that execute a statement. */
typedef struct vt_mask {
    const struct vt_mask *outer; /* NULL: all lanes */
    const char *reg;             /* the predicate; NULL: not written so far */
    const char *own;             /* of the condition alone; NULL: compared when it is needed */
    const char *compare, *x, *y; /* "lt.s32" and its operands */
    bool negated;                /* the lanes in which it does not hold */
    bool implied;                /* where the condition holds the outer mask does, too */
    borg_spread spread;          /* of all conditions down to here */
} vt_mask;

typedef struct vt_var {
    const char **reg;    /* of each element; NULL: not declared here */
    const vt_mask *born; /* the mask at the declaration */
    bool *pending;       /* of each element: zero, and nothing has said so yet */
    const borg_decl *alias;
    int32_t local; /* number of an array of the warp, in memory, plus one */
} vt_var;

/** What break and continue do to: who goes on, who is in this turn. */
typedef struct vt_loop {
    const struct vt_loop *outer;
    const char *live, *here;  /* NULL: there is neither */
    const borg_decl *counter; /* of `for (int c = ...; c < ntids; c grows)` */
    const vt_mask *mask;
} vt_loop;

typedef struct vt {
    vx e;
    borg_arena *arena;
    borg_diags *diags;
    const borg_function *kernel;
    vt_var *vars;        /* by number of the declaration */
    borg_spread *spread; /* of what the variables hold */
    vt_mask *mask;
    vt_loop *loop;
    int32_t depth;
} vt;

/** Where a result goes: a register; of a variable: under the guard that an assignment to it has
 *  when the result is there. name NULL: anywhere. */
typedef struct vt_to {
    const char *name;
    const vt_var *of;
} vt_to;

/** What a piece of the tree contains, bodies of functions too. */
typedef struct vt_contents {
    bool loads, effects, loops, jumps, together; /* together: wants all threads of a warp */
    int32_t nodes;
} vt_contents;

/* ---- tree_scan.c ---- */
void vt_scan_expr(const borg_expr *e, vt_contents *c);
void vt_scan_stmt(const borg_stmt *s, vt_contents *c);
/** Find the spread of each variable: UNI the same everywhere, WG in a warp, WI of a lane. */
void vt_find_spreads(vt *t);
borg_spread vt_spread(const vt *t, const borg_expr *e);
/** Of what decides that lanes leave a loop early. */
borg_spread vt_jump_spread(const vt *t, const borg_stmt *s, borg_spread control);
bool vt_assigns(const borg_stmt *s, const borg_decl *d);
/** `for (int c = a; c < ntids; c grows)`, whose c never wraps while a warp is in it: c; or NULL. */
const borg_decl *vt_counter(const borg_stmt *loop);
/** Is e `tid + c < ntids`? Then c < ntids as well. */
bool vt_implies(const borg_expr *e, const borg_decl *counter);

/* ---- tree_expr.c ---- */
const char *vt_eval(vt *t, const borg_expr *e, vt_to to);
/** Without a place to go to; without a use for the value. */
const char *vt_value(vt *t, const borg_expr *e);
void vt_discard(vt *t, const borg_expr *e);
/** text there, by a mov unless it is there. */
const char *vt_to_register(vt *t, borg_type type, const char *text, vt_to to);
/** An instruction with its result there; y, z may be NULL. */
const char *vt_line(vt *t, vt_to to, borg_ctype type, const char *op, const char *x, const char *y,
                    const char *z);
void vt_refuse(vt *t, borg_loc loc, const char *what);
const char *vt_typed(borg_ctype type); /* "s32", of arithmetic */

/* ---- tree_call.c ---- */
const char *vt_call(vt *t, const borg_expr *e, vt_to to);

/* ---- tree_mask.c ---- */
/** "" or "@%p0 ", of the mask; of an assignment to a variable. */
const char *vt_guard(vt *t);
const char *vt_guard_of(vt *t, const vt_var *v);
/** The mask as a predicate that can be an operand. */
const char *vt_predicate(vt *t, vt_mask *mask);
/** Lanes in which a condition holds (does not hold). */
vt_mask *vt_under(vt *t, const borg_expr *condition);
vt_mask *vt_other(vt *t, vt_mask *mask);
/** The condition's lanes as a mask by its predicate. */
vt_mask *vt_narrow(vt *t, const char *predicate, borg_spread spread);
/** What a parameter stands for, through all functions that are inlined here. */
const borg_decl *vt_root(const vt *t, const borg_decl *d);
vt_var *vt_variable(vt *t, const borg_decl *d);
/** Write zeros that are pending: of an element; of all that a region mentions, before it. */
void vt_settle(vt *t, vt_var *v, int32_t element, borg_ctype type);
void vt_settle_all(vt *t, const borg_stmt *s, const borg_expr *e);

/* ---- tree.c ---- */
void vt_stmt(vt *t, const borg_stmt *s);
void vt_declare(vt *t, const borg_decl *d);

/** The kernel as text; false after messages. */
bool vx_symbolic(const borg_function *kernel, const char *name, borg_sink *sink, borg_diags *diags);

#endif
