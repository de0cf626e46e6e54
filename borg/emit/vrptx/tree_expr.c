/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions, an instruction for an operator. */
#include "borg/emit/vrptx/tree.h"
#include <stdlib.h>
#include <string.h>

static const vt_to anywhere = {NULL, NULL};

void vt_refuse(vt *t, borg_loc loc, const char *what) {
    borg_report(t->diags, BORG_ERROR, loc, "%s: not in a kernel for warps of any size (name sizes)",
                what);
}

const char *vt_typed(borg_ctype type) {
    static const char *const text[] = {[BORG_C_VOID] = "?",    [BORG_C_BOOL] = "pred",
                                       [BORG_C_INT] = "s32",   [BORG_C_UINT] = "u32",
                                       [BORG_C_LONG] = "s64",  [BORG_C_ULONG] = "u64",
                                       [BORG_C_FLOAT] = "f32", [BORG_C_DOUBLE] = "f64",
                                       [BORG_C_CDOUBLE] = NULL}; /* refused, as narrow ones are */
    return text[type] ? text[type] : "?";
}

static const char *bits_of(borg_ctype type) {
    return vx_type(borg_ctype_ir(type));
}

const char *vt_value(vt *t, const borg_expr *e) {
    return vt_eval(t, e, anywhere);
}

static const char *guard_of(vt *t, vt_to to) {
    return to.of ? vt_guard_of(t, to.of) : "";
}

const char *vt_to_register(vt *t, borg_type type, const char *text, vt_to to) {
    if (!to.name || strcmp(to.name, text) == 0) return text;
    vx_line(&t->e, "%smov.%s %s, %s", guard_of(t, to), vx_type(type), to.name, text);
    return to.name;
}

const char *vt_line(vt *t, vt_to to, borg_ctype type, const char *op, const char *x, const char *y,
                    const char *z) {
    const char *out = to.name ? to.name : vx_new(&t->e, borg_ctype_ir(type));
    vx_line(&t->e, "%s%s %s, %s%s%s%s%s", guard_of(t, to), op, out, x, y ? ", " : "", y ? y : "",
            z ? ", " : "", z ? z : "");
    return out;
}

/* ---- constants ------------------------------------------------------------------------------- */

static const char *literal(vt *t, borg_ctype type, int64_t whole, double real) {
    uint64_t bits = type == BORG_C_INT || type == BORG_C_UINT ? (uint32_t)(uint64_t)whole
                    : type == BORG_C_BOOL                     ? whole != 0
                                                              : (uint64_t)whole;
    if (type == BORG_C_FLOAT) {
        float x = (float)real;
        bits = 0;
        memcpy(&bits, &x, sizeof x);
    } else if (type == BORG_C_DOUBLE) {
        memcpy(&bits, &real, sizeof bits);
    }
    return vx_literal(&t->e, borg_ctype_ir(type), bits);
}

/* NULL: not a constant. */
static const char *constant(vt *t, const borg_expr *e) {
    int64_t value;
    if (e->kind == BORG_E_FLOAT) return literal(t, e->type, 0, e->real);
    if (!borg_ctype_float(e->type))
        return borg_constant(e, 0, &value) ? literal(t, e->type, value, 0) : NULL;
    if (e->kind != BORG_E_CAST) return NULL;
    if (e->args[0]->kind == BORG_E_FLOAT) return literal(t, e->type, 0, e->args[0]->real);
    if (borg_ctype_float(e->args[0]->type) || !borg_constant(e->args[0], 0, &value)) return NULL;
    const bool uns = e->args[0]->type == BORG_C_ULONG;
    return literal(t, e->type, 0, uns ? (double)(uint64_t)value : (double)value);
}

/* ---- conversions ----------------------------------------------------------------------------- */

static bool wide(borg_ctype type) {
    return type == BORG_C_LONG || type == BORG_C_ULONG;
}

static const char *convert(vt *t, const char *x, borg_ctype from, borg_ctype to_type, vt_to to) {
    if (from == to_type || to_type == BORG_C_VOID)
        return vt_to_register(t, borg_ctype_ir(from), x, to);
    if (from == BORG_C_BOOL)
        return vt_line(t, to, to_type, borg_format(t->arena, "selp.%s", bits_of(to_type)), "1", "0",
                       vx_in_register(&t->e, BORG_I1, x));
    if (to_type == BORG_C_BOOL)
        return vt_line(t, to, to_type, borg_format(t->arena, "setp.ne.%s", vt_typed(from)), x, "0",
                       NULL);
    if (!borg_ctype_float(from) && !borg_ctype_float(to_type)) {
        if (wide(from) == wide(to_type)) return vt_to_register(t, borg_ctype_ir(to_type), x, to);
        const char *op =
            !wide(from) ? (from == BORG_C_INT ? "cvt.s64.s32" : "cvt.u64.u32") : "cvt.u32.u64";
        return vt_line(t, to, to_type, op, x, NULL, NULL);
    }
    const char *op = borg_format(t->arena, "cvt.%s.%s", vt_typed(to_type), vt_typed(from));
    return vt_line(t, to, to_type, op, x, NULL, NULL);
}

static const char *eval_cast(vt *t, const borg_expr *e, vt_to to) {
    const borg_expr *x = e->args[0];
    if (x->kind == BORG_E_CALL && x->builtin == BORG_B_GROUP_ID && !wide(e->type) &&
        !borg_ctype_float(e->type) && e->type != BORG_C_BOOL)
        return vt_to_register(t, BORG_I32, "$wid", to);
    return convert(t, vt_value(t, x), x->type, e->type, to);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The power of two that an integer constant is, -1: none. */
static int power_of(const char *text) {
    char *rest;
    const long long x = strtoll(text, &rest, 10);
    int k = 0;
    if (*rest || x < 2 || x > INT32_MAX || (x & (x - 1))) return -1;
    while (x >> k != 1) ++k;
    return k;
}

static const char *arithmetic(vt *t, const char *op, borg_ctype type, const char *x, const char *y,
                              vt_to to) {
    static const struct {
        const char *op, *name;
        bool bits;
    } list[] = {{"+", "add", false}, {"-", "sub", false}, {"*", "mul", false}, {"/", "div", false},
                {"%", "rem", false}, {"<", "shl", true},  {">", "shr", false}, {"&", "and", true},
                {"|", "or", true},   {"^", "xor", true}};
    size_t k = 0;
    while (list[k].op[0] != op[0]) ++k;
    const char *name = list[k].name;
    bool bits = list[k].bits;
    if (op[0] == '*' && !borg_ctype_float(type) && power_of(y) > 0) {
        name = "shl";
        y = borg_format(t->arena, "%d", power_of(y));
        bits = true;
    } else if ((op[0] == '<' || op[0] == '>') && wide(type)) { /* counts have 32 bits */
        y = convert(t, y, BORG_C_ULONG, BORG_C_UINT, anywhere);
    }
    return vt_line(t, to, type,
                   borg_format(t->arena, "%s.%s", name, bits ? bits_of(type) : vt_typed(type)), x,
                   y, NULL);
}

static bool is_compare(const char *op) {
    return (op[0] == '=' || op[0] == '!' || op[0] == '<' || op[0] == '>') && op[1] != op[0];
}

/* The value of x, safe from what y does to a variable. */
static const char *left(vt *t, const borg_expr *x, const borg_expr *y) {
    vt_contents c = {0};
    const char *text = vt_value(t, x);
    vt_scan_expr(y, &c);
    if (!c.effects || *text != '%') return text;
    const char *copy = vx_new(&t->e, borg_ctype_ir(x->type));
    return vt_to_register(t, borg_ctype_ir(x->type), text, (vt_to){copy, NULL});
}

/* May e read or write that register? */
static bool touches(vt *t, const borg_expr *e, const char *reg) {
    if (e->function || e->kind == BORG_E_ASSIGN || e->kind == BORG_E_STEP) return true;
    if (e->decl) {
        const vt_var *v = vt_variable(t, e->decl);
        const int32_t count = v->reg && e->decl->array ? e->decl->count : v->reg != NULL;
        for (int32_t i = 0; i < count; ++i)
            if (strcmp(v->reg[i], reg) == 0) return true;
    }
    for (int32_t i = 0; i < e->nargs; ++i)
        if (touches(t, e->args[i], reg)) return true;
    return false;
}

/* The left operand, where the result goes if that is free and no guard is in the way: one register
 * less. */
static const char *first_operand(vt *t, const borg_expr *e, vt_to to) {
    const borg_expr *x = e->args[0];
    const bool made = x->kind == BORG_E_BINARY || x->kind == BORG_E_INDEX || x->kind == BORG_E_CALL;
    if (to.name && made && x->type == e->type && !(to.of && to.of->born != t->mask) &&
        !constant(t, x) && !touches(t, e->args[1], to.name) && !touches(t, x, to.name))
        return vt_eval(t, x, to);
    return left(t, x, e->args[1]);
}

static const char *eval_binary(vt *t, const borg_expr *e, vt_to to) {
    static const char *const names[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    const char *x = first_operand(t, e, to), *y = vt_value(t, e->args[1]);
    if (e->text[0] == '=' || e->text[0] == '!' || is_compare(e->text)) {
        int k = e->text[0] == '<'   ? e->text[1] == '='
                : e->text[0] == '>' ? 2 + (e->text[1] == '=')
                : e->text[0] == '=' ? 4
                                    : 5;
        return vt_line(t, to, BORG_C_BOOL,
                       borg_format(t->arena, "setp.%s.%s", names[k], vt_typed(e->args[0]->type)), x,
                       y, NULL);
    }
    return arithmetic(t, e->text, e->type, x, y, to);
}

static const char *eval_unary(vt *t, const borg_expr *e, vt_to to) {
    const char *x = vt_value(t, e->args[0]);
    if (e->text[0] == '+') return vt_to_register(t, borg_ctype_ir(e->type), x, to);
    if (e->text[0] != '-')
        return vt_line(t, to, e->type, borg_format(t->arena, "not.%s", bits_of(e->type)), x, NULL,
                       NULL);
    const char *type = borg_ctype_float(e->type) ? vt_typed(e->type)
                       : wide(e->type)           ? "s64"
                                                 : "s32";
    return vt_line(t, to, e->type, borg_format(t->arena, "neg.%s", type), x, NULL, NULL);
}

/* A value that only lanes of a mask need; what reads memory is done by them alone. */
static const char *under(vt *t, const borg_expr *e, vt_mask *mask) {
    vt_mask *saved = t->mask;
    t->mask = mask;
    const char *x = vt_value(t, e);
    t->mask = saved;
    return x;
}

static bool is_plain(const borg_expr *e) {
    vt_contents c = {0};
    vt_scan_expr(e, &c);
    return !c.loads && !c.effects && !c.loops;
}

static const char *eval_logical(vt *t, const borg_expr *e, vt_to to) {
    const bool both = e->text[0] == '&';
    const char *x = left(t, e->args[0], e->args[1]), *y;
    if (is_plain(e->args[1])) {
        y = vt_value(t, e->args[1]);
    } else {
        vt_settle_all(t, NULL, e->args[1]);
        vt_mask *m = vt_narrow(t, x, vt_spread(t, e->args[0]));
        y = under(t, e->args[1], both ? m : vt_other(t, m));
    }
    return vt_line(t, to, BORG_C_BOOL, both ? "and.pred" : "or.pred", x, y, NULL);
}

static const char *eval_ternary(vt *t, const borg_expr *e, vt_to to) {
    const char *c = vx_in_register(&t->e, BORG_I1, vt_value(t, e->args[0])), *x, *y;
    if (is_plain(e->args[1]) && is_plain(e->args[2])) {
        x = vt_value(t, e->args[1]);
        y = vt_value(t, e->args[2]);
    } else {
        const char *own = vx_new(&t->e, BORG_I1); /* a variable may change */
        vt_settle_all(t, NULL, e->args[1]);
        vt_settle_all(t, NULL, e->args[2]);
        c = vt_to_register(t, BORG_I1, c, (vt_to){own, NULL});
        vt_mask *m = vt_narrow(t, c, vt_spread(t, e->args[0])), *other = vt_other(t, m);
        x = under(t, e->args[1], m);
        if (e->type != BORG_C_VOID && !is_plain(e->args[2]) && *x == '%') {
            const char *copy = vx_new(&t->e, borg_ctype_ir(e->type));
            x = vt_to_register(t, borg_ctype_ir(e->type), x, (vt_to){copy, NULL});
        }
        y = under(t, e->args[2], other);
    }
    if (e->type == BORG_C_VOID) return "";
    return vt_line(t, to, e->type, borg_format(t->arena, "selp.%s", bits_of(e->type)), x, y, c);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* An index as the assembler wants it: 32 bits with a sign, or 64. */
static const char *index_text(vt *t, const borg_expr *e) {
    if (e->kind == BORG_E_CALL && e->builtin == BORG_B_GROUP_ID) return "$wid";
    const char *x = vt_value(t, e);
    return e->type == BORG_C_UINT   ? convert(t, x, BORG_C_UINT, BORG_C_ULONG, anywhere)
           : e->type == BORG_C_BOOL ? convert(t, x, BORG_C_BOOL, BORG_C_INT, anywhere)
                                    : x;
}

/* Of an element in memory: "global" or "shared" and the address. */
static const char *address_of(vt *t, const borg_expr *e, const char **space) {
    const borg_decl *d = vt_root(t, e->decl);
    const vt_var *v = &t->vars[d->number];
    *space = v->local ? "shared" : "global";
    const char *base = v->local ? borg_format(t->arena, "b_s%d", v->local - 1) : d->name;
    if (d->depth == 2) {
        const char *pointer = vx_new(&t->e, BORG_I64), *outer = index_text(t, e->args[0]);
        vx_line(&t->e, "%sld.global.b64 %s, [%s + %s]", vt_guard(t), pointer, base, outer);
        base = pointer;
    }
    return borg_format(t->arena, "[%s + %s]", base, index_text(t, e->args[e->nargs - 1]));
}

static bool in_memory(vt *t, const borg_expr *e) {
    const borg_decl *d = vt_root(t, e->decl);
    return e->kind == BORG_E_INDEX && (t->vars[d->number].local || d->depth > 0);
}

/* The element of a private array that is known now, -1: none. */
static int32_t element_of(const borg_expr *e) {
    int64_t at;
    if (e->kind == BORG_E_NAME) return 0;
    return borg_constant(e->args[0], 0, &at) ? (int32_t)at : -1;
}

/* All elements are searched. */
static const char *search(vt *t, vt_var *v, const borg_expr *e, int32_t count, vt_to to) {
    const char *index = vt_value(t, e->args[0]), *result = v->reg[0];
    const char *type = vt_typed(e->args[0]->type);
    for (int32_t i = 0; i < count; ++i) vt_settle(t, v, i, e->type);
    for (int32_t i = 1; i < count; ++i) {
        const char *p = vx_new(&t->e, BORG_I1);
        vx_line(&t->e, "setp.eq.%s %s, %s, %d", type, p, index, i);
        result = vt_line(t, i + 1 < count ? anywhere : to, e->type,
                         borg_format(t->arena, "selp.%s", bits_of(e->type)), v->reg[i], result, p);
    }
    return count > 1 ? result : vt_to_register(t, borg_ctype_ir(e->type), result, to);
}

static int32_t elements_of(vt *t, const borg_expr *e) {
    const borg_decl *d = vt_root(t, e->decl);
    return d->array ? d->count : 1;
}

static const char *read_place(vt *t, const borg_expr *e, vt_to to) {
    if (in_memory(t, e)) {
        const char *space, *at = address_of(t, e, &space);
        const char *out = to.name ? to.name : vx_new(&t->e, borg_ctype_ir(e->type));
        vx_line(&t->e, "%sld.%s.%s %s, %s", vt_guard(t), space, bits_of(e->type), out, at);
        return out;
    }
    vt_var *v = vt_variable(t, e->decl);
    if (e->kind == BORG_E_NAME && e->decl->storage == BORG_PARAMETER && !v->reg)
        return vt_to_register(t, borg_ctype_ir(e->type), e->decl->name, to);
    int32_t at = element_of(e);
    if (at < 0) return search(t, v, e, elements_of(t, e), to);
    vt_settle(t, v, at, e->type);
    return vt_to_register(t, borg_ctype_ir(e->type), v->reg[at], to);
}

/* A private element that an index chooses: each one, where it is meant. */
static void write_searched(vt *t, vt_var *v, const borg_expr *e, const char *x) {
    const char *index = vt_value(t, e->args[0]);
    const int32_t count = elements_of(t, e);
    for (int32_t i = 0; i < count; ++i) vt_settle(t, v, i, e->type);
    const char *mask = v->born == t->mask || !t->mask ? NULL : vt_predicate(t, t->mask);
    for (int32_t i = 0; i < count; ++i) {
        const char *p = vx_new(&t->e, BORG_I1);
        vx_line(&t->e, "setp.eq.%s %s, %s, %d", vt_typed(e->args[0]->type), p, index, i);
        if (mask) {
            const char *all = vx_new(&t->e, BORG_I1);
            vx_line(&t->e, "and.pred %s, %s, %s", all, p, mask);
            p = all;
        }
        vx_line(&t->e, "@%s mov.%s %s, %s", p, bits_of(e->type), v->reg[i], x);
    }
}

/* Where a value of the variable goes; it is not written yet. */
static vt_to place_of(vt *t, const borg_expr *e) {
    vt_var *v = vt_variable(t, e->decl);
    int32_t at = element_of(e);
    if (v->born != t->mask) vt_settle(t, v, at, e->type);
    return (vt_to){v->reg[at], v};
}

static void written(vt *t, const borg_expr *e) {
    vt_var *v = vt_variable(t, e->decl);
    int32_t at = element_of(e);
    if (at >= 0 && v->pending) v->pending[at] = false;
}

static const char *write_place(vt *t, const borg_expr *e, const char *x) {
    if (in_memory(t, e)) {
        const char *space, *at = address_of(t, e, &space);
        vx_line(&t->e, "%sst.%s.%s %s, %s", vt_guard(t), space, bits_of(e->type), at, x);
    } else if (element_of(e) < 0) {
        write_searched(t, vt_variable(t, e->decl), e, x);
    } else {
        vt_to_register(t, borg_ctype_ir(e->type), x, place_of(t, e));
        written(t, e);
    }
    return x;
}

/* Straight into the variable where it has a register. */
static const char *eval_assign(vt *t, const borg_expr *e) {
    const borg_expr *place = e->args[0], *value = e->args[1];
    const bool direct = !in_memory(t, place) && element_of(place) >= 0;
    const borg_ctype type = place->type, common = value->type;
    vt_to to = anywhere;
    if (!e->text[1]) {
        if (!direct) return write_place(t, place, vt_value(t, value));
        vt_contents c = {0};
        vt_scan_expr(value, &c);
        if (c.effects) return write_place(t, place, vt_value(t, value));
        to = place_of(t, place);
        vt_eval(t, value, to);
        written(t, place);
        return to.name;
    }
    const char *y = vt_value(t, value);
    const char *old = convert(t, read_place(t, place, anywhere), type, common, anywhere);
    if (direct) to = place_of(t, place);
    const char *x = arithmetic(t, e->text, common, old, y, type == common ? to : anywhere);
    if (type != common) x = convert(t, x, common, type, to);
    if (!direct) return write_place(t, place, x);
    written(t, place);
    return x;
}

static const char *eval_step(vt *t, const borg_expr *e, vt_to to) {
    const borg_expr *place = e->args[0];
    const borg_ctype type = place->type, common = type == BORG_C_BOOL ? BORG_C_INT : type;
    const char *old = read_place(t, place, anywhere);
    if (e->post && *old == '%') { /* the value before */
        const char *copy = vx_new(&t->e, borg_ctype_ir(type));
        old = vt_to_register(t, borg_ctype_ir(type), old, (vt_to){copy, NULL});
    }
    const char *x = convert(t, old, type, common, anywhere);
    const bool direct = type == common && !in_memory(t, place) && element_of(place) >= 0;
    vt_to there = direct ? place_of(t, place) : anywhere;
    x = arithmetic(t, e->text[0] == '+' ? "+" : "-", common, x, "1", there);
    if (direct)
        written(t, place);
    else
        write_place(t, place, convert(t, x, common, type, anywhere));
    return vt_to_register(t, borg_ctype_ir(type), e->post ? old : x, to);
}

void vt_discard(vt *t, const borg_expr *e) {
    if (e->kind == BORG_E_STEP && e->post) {
        borg_expr before = *e;
        before.post = false;
        eval_step(t, &before, anywhere);
    } else {
        vt_eval(t, e, anywhere);
    }
}

const char *vt_eval(vt *t, const borg_expr *e, vt_to to) {
    if (borg_ctype_complex(e->type) || borg_ctype_narrow(e->type)) {
        vt_refuse(t, e->loc, "complex, char, short and half");
        return "0";
    }
    const char *known = constant(t, e);
    if (known) return vt_to_register(t, borg_ctype_ir(e->type), known, to);
    switch (e->kind) {
    case BORG_E_NAME:
    case BORG_E_INDEX:
        return read_place(t, e, to);
    case BORG_E_UNARY:
        return eval_unary(t, e, to);
    case BORG_E_BINARY:
        return eval_binary(t, e, to);
    case BORG_E_LOGICAL:
        return eval_logical(t, e, to);
    case BORG_E_TERNARY:
        return eval_ternary(t, e, to);
    case BORG_E_ASSIGN:
        return vt_to_register(t, borg_ctype_ir(e->type), eval_assign(t, e), to);
    case BORG_E_STEP:
        return eval_step(t, e, to);
    case BORG_E_CAST:
        return eval_cast(t, e, to);
    case BORG_E_CALL:
        return vt_call(t, e, to);
    case BORG_E_COMMA:
        vt_discard(t, e->args[0]);
        return vt_eval(t, e->args[1], to);
    default:
        return "0";
    }
}
