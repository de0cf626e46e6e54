/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions: the tree executed on symbolic values. */
#include "borg/lower/leaves.h"
#include "borg/lower/place.h"
#include "borg/lower/walk.h"
#include <string.h>

/* ---- places ---------------------------------------------------------------------------------- */

/* The indices of an element's two parts, which lie side by side. */
static borg_inst *both_parts(borg_lowerer *l, borg_inst *index) {
    borg_inst *one = borg_lower_const(l, index->type, 1);
    borg_inst *re =
        borg_lower_elem(l, BORG_MUL, index->type, index, borg_lower_const(l, index->type, 2), NULL);
    return borg_lower_pair(l, re, borg_lower_elem(l, BORG_ADD, index->type, re, one, NULL));
}

static borg_place memory_place(borg_lowerer *l, const borg_expr *e) {
    borg_place p = {.e = e, .d = borg_lower_variable(l, e->decl)};
    p.pointer = borg_lower_parameter(l, p.d);
    int32_t last = e->nargs - 1;
    if (p.d->depth == 2) {
        borg_inst *outer =
            borg_lower_convert(l, borg_lower_expr(l, e->args[0]), e->args[0]->type, BORG_C_LONG);
        if (outer->spread == BORG_WI || outer->rows > 1) {
            borg_report(l->diags, BORG_ERROR, e->args[0]->loc,
                        "the pointer differs between work-items of a group");
            outer = borg_lower_const(l, BORG_I64, 0);
        }
        p.pointer = borg_lower_load(l, BORG_PTR, p.pointer, outer, e->loc);
    }
    p.index =
        borg_lower_convert(l, borg_lower_expr(l, e->args[last]), e->args[last]->type, BORG_C_LONG);
    if (borg_ctype_complex(p.d->type)) p.index = both_parts(l, p.index);
    return p;
}

static borg_place place_of(borg_lowerer *l, const borg_expr *e) {
    borg_place p = {.e = e, .d = borg_lower_variable(l, e->decl)};
    if (e->kind == BORG_E_NAME) return p;
    if (p.d->storage == BORG_PARAMETER && p.d->depth) return memory_place(l, e);
    p.index = borg_lower_convert(l, borg_lower_expr(l, e->args[0]), e->args[0]->type, BORG_C_INT);
    if (borg_lower_placed(l, p.d)) p.pointer = borg_lower_local_memory(l, p.d);
    if (p.d->storage != BORG_LOCAL_MEMORY) return p;
    p.pointer = borg_lower_local_memory(l, p.d);
    if (p.index->op == BORG_CONST && !borg_lower_in_bounds(l, &p))
        p.index = borg_lower_const(l, BORG_I32, 0);
    if (borg_ctype_complex(p.d->type)) p.index = both_parts(l, p.index);
    return p;
}

/* ---- declarations ---------------------------------------------------------------------------- */

void borg_lower_declare_here(borg_lowerer *l, const borg_decl *d) {
    borg_lower_note_array(l, d);
    if (d->storage == BORG_LOCAL_MEMORY || borg_lower_placed(l, d)) {
        borg_lower_born(l, d);
        borg_lower_declare(l, d, NULL);
        return;
    }
    int32_t count = borg_lower_cell_count(l, d);
    borg_lower_born(l, d);
    borg_type type = borg_ctype_ir(d->type);
    borg_inst *zero = borg_lower_zero(l, d);
    if (d->storage == BORG_LOCAL_REGISTERS) zero = borg_emit_const(&l->b, type, BORG_WI, 1, 0);
    const borg_expr *init = d->init;
    borg_inst **values = BORG_NEW(l->arena, count, borg_inst *);
    for (int32_t i = 0; i < count; ++i) {
        values[i] = zero;
        if (init && init->kind != BORG_E_LIST) values[i] = borg_lower_expr(l, init);
        if (init && init->kind == BORG_E_LIST && i < init->nargs)
            values[i] = borg_lower_expr(l, init->args[i]);
    }
    borg_lower_declare(l, d, values);
}

/* ---- operators ------------------------------------------------------------------------------- */

static borg_inst *lower_binary(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x = borg_lower_expr(l, e->args[0]), *y = borg_lower_expr(l, e->args[1]);
    if (borg_lower_is_comparison(e->text)) return borg_lower_comparison(l, e, x, y);
    return borg_lower_arithmetic(l, e->text, e->type, x, y);
}

/* The right side of && and || is executed by those who need it; so are the arms of ?: */
static borg_inst *under(borg_lowerer *l, const borg_expr *e, borg_inst *condition) {
    borg_inst *saved = l->mask;
    l->mask = borg_lower_and(l, saved, condition);
    borg_inst *v = borg_lower_expr(l, e);
    l->mask = saved;
    return v;
}

static borg_inst *lower_logical(borg_lowerer *l, const borg_expr *e) {
    bool conjunction = e->text[0] == '&';
    borg_inst *x = borg_lower_expr(l, e->args[0]);
    if (borg_is_splat(x))
        return (x->bits[0] != 0) == conjunction ? borg_lower_expr(l, e->args[1]) : x;
    borg_inst *y = under(l, e->args[1], conjunction ? x : borg_lower_not(l, x));
    return borg_lower_elem(l, conjunction ? BORG_AND : BORG_OR, BORG_I1, x, y, NULL);
}

static borg_inst *lower_ternary(borg_lowerer *l, const borg_expr *e) {
    borg_inst *c = borg_lower_expr(l, e->args[0]);
    if (borg_is_splat(c)) return borg_lower_expr(l, e->args[c->bits[0] ? 1 : 2]);
    borg_inst *x = under(l, e->args[1], c);
    borg_inst *y = under(l, e->args[2], borg_lower_not(l, c));
    if (e->type == BORG_C_VOID) return NULL;
    return borg_lower_elem(l, BORG_SELECT, x->type, c, x, y);
}

static borg_inst *lower_assign(borg_lowerer *l, const borg_expr *e) {
    borg_place p = place_of(l, e->args[0]);
    borg_ctype type = e->type;
    borg_inst *v = borg_lower_expr(l, e->args[1]);
    if (e->text[1]) {
        /* the value has the common type (of a shift: of the place, promoted) */
        borg_ctype common = e->args[1]->type;
        borg_inst *old = borg_lower_convert(l, borg_lower_read_place(l, &p), type, common);
        v = borg_lower_convert(l, borg_lower_arithmetic(l, e->text, common, old, v), common, type);
    }
    l->b.loc = e->loc;
    borg_lower_write_place(l, &p, v);
    return v;
}

static borg_inst *lower_step(borg_lowerer *l, const borg_expr *e) {
    borg_place p = place_of(l, e->args[0]);
    borg_ctype common = e->type == BORG_C_HALF ? BORG_C_FLOAT
                        : e->type < BORG_C_INT ? BORG_C_INT
                                               : e->type;
    borg_inst *old = borg_lower_read_place(l, &p);
    borg_inst *one = borg_lower_const(l, BORG_I32, 1);
    char op[2] = {e->text[0], 0};
    borg_inst *v = borg_lower_arithmetic(l, op, common, borg_lower_convert(l, old, e->type, common),
                                         borg_lower_convert(l, one, BORG_C_INT, common));
    v = borg_lower_convert(l, v, common, e->type);
    borg_lower_write_place(l, &p, v);
    return e->post ? old : v;
}

static borg_inst *lower_unary(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x = borg_lower_expr(l, e->args[0]);
    switch (e->text[0]) {
    case '-':
        return borg_lower_elem(l, borg_is_float(x->type) ? BORG_FNEG : BORG_NEG, x->type, x, NULL,
                               NULL);
    case '!':
    case '~':
        return borg_lower_elem(l, BORG_NOT, x->type, x, NULL, NULL);
    default:
        return x;
    }
}

/* A lane of an array that lies in memory is read from there. NULL: it is no such thing. */
static borg_inst *lower_lane(borg_lowerer *l, const borg_expr *e) {
    if (e->builtin != BORG_B_SHUFFLE || e->args[0]->kind != BORG_E_INDEX ||
        (l->mask && l->mask->spread == BORG_WI))
        return NULL;
    const borg_decl *d = borg_lower_variable(l, e->args[0]->decl);
    if (!borg_lower_placed(l, d) || borg_lower_placed_spread(l, d) != BORG_WI) return NULL;
    borg_place p = place_of(l, e->args[0]);
    borg_inst *lane = borg_lower_expr(l, e->args[1]);
    if (p.index->spread == BORG_WI || lane->spread == BORG_WI) return NULL;
    return borg_lower_read_lane(l, &p, lane);
}

static borg_inst *lower_builtin(borg_lowerer *l, const borg_expr *e) {
    borg_inst *args[4] = {lower_lane(l, e)};
    if (args[0]) return args[0];
    for (int32_t i = 0; i < e->nargs; ++i) args[i] = borg_lower_expr(l, e->args[i]);
    return borg_lower_builtin(l, e, args);
}

static uint64_t real_bits(const borg_expr *e) {
    uint64_t bits = 0;
    if (e->type == BORG_C_FLOAT) {
        float x = (float)e->real;
        memcpy(&bits, &x, sizeof x);
    } else {
        memcpy(&bits, &e->real, sizeof bits);
    }
    return bits;
}

borg_inst *borg_lower_expr(borg_lowerer *l, const borg_expr *e) {
    l->b.loc = e->loc;
    if (l->over) return borg_lower_const(l, borg_ctype_ir(e->type ? e->type : BORG_C_INT), 0);
    switch (e->kind) {
    case BORG_E_INT: {
        borg_type type = borg_ctype_ir(e->type);
        return borg_lower_const(l, type, type == BORG_I32 ? (uint32_t)e->integer : e->integer);
    }
    case BORG_E_FLOAT:
        return borg_lower_const(l, borg_ctype_ir(e->type), real_bits(e));
    case BORG_E_NAME:
    case BORG_E_INDEX: {
        borg_place p = place_of(l, e);
        return borg_lower_read_place(l, &p);
    }
    case BORG_E_UNARY:
        return lower_unary(l, e);
    case BORG_E_BINARY:
        return lower_binary(l, e);
    case BORG_E_LOGICAL:
        return lower_logical(l, e);
    case BORG_E_TERNARY:
        return lower_ternary(l, e);
    case BORG_E_ASSIGN:
        return lower_assign(l, e);
    case BORG_E_STEP:
        return lower_step(l, e);
    case BORG_E_CAST:
        return borg_lower_convert(l, borg_lower_expr(l, e->args[0]), e->args[0]->type, e->type);
    case BORG_E_CALL:
        return e->function ? borg_lower_call(l, e) : lower_builtin(l, e);
    case BORG_E_COMMA:
        borg_lower_expr(l, e->args[0]);
        return borg_lower_expr(l, e->args[1]);
    default:
        return borg_lower_const(l, BORG_I32, 0);
    }
}
