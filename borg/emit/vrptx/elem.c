/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operations and conversions as vrPTX, a row at a time. */
#include "borg/emit/vrptx/core.h"

/* An operation of two operands: its name, and the kind of its type: b(its), s(igned), u(nsigned),
 * f(loat). NULL: not one of these. */
static const char *binary(borg_op op, char *kind) {
    static const struct {
        borg_op op;
        const char *name;
        char kind;
    } list[] = {
        {BORG_ADD, "add", 's'},  {BORG_SUB, "sub", 's'},  {BORG_MUL, "mul", 's'},
        {BORG_SDIV, "div", 's'}, {BORG_UDIV, "div", 'u'}, {BORG_SREM, "rem", 's'},
        {BORG_UREM, "rem", 'u'}, {BORG_AND, "and", 'b'},  {BORG_OR, "or", 'b'},
        {BORG_XOR, "xor", 'b'},  {BORG_SMIN, "min", 's'}, {BORG_SMAX, "max", 's'},
        {BORG_UMIN, "min", 'u'}, {BORG_UMAX, "max", 'u'}, {BORG_FADD, "add", 'f'},
        {BORG_FSUB, "sub", 'f'}, {BORG_FMUL, "mul", 'f'}, {BORG_FDIV, "div", 'f'},
        {BORG_FMIN, "min", 'f'}, {BORG_FMAX, "max", 'f'}, {BORG_SHL, "shl", 'b'},
        {BORG_LSHR, "shr", 'u'}, {BORG_ASHR, "shr", 's'},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k)
        if (list[k].op == op) {
            *kind = list[k].kind;
            return list[k].name;
        }
    return NULL;
}

static const char *type_of(borg_type type, char kind) {
    static const char *const signs[] = {"s32", "s64"}, *const uns[] = {"u32", "u64"};
    if (kind == 's') return signs[type == BORG_I64];
    if (kind == 'u') return uns[type == BORG_I64];
    return vx_type(type);
}

static void convert(vx *e, const borg_inst *v, const char *out, const char *x) {
    borg_type from = v->args[0]->type;
    if (from == BORG_I1 && v->op != BORG_ZEXT) {
        x = vx_widen(e, x);
        from = BORG_I32;
    }
    switch (v->op) {
    case BORG_ZEXT:
        if (from == BORG_I1)
            vx_line(e, "selp.%s %s, 1, 0, %s", vx_type(v->type), out, x);
        else
            vx_line(e, "cvt.u64.u32 %s, %s", out, x);
        return;
    case BORG_SEXT:
        vx_line(e, "cvt.s64.s32 %s, %s", out, x);
        return;
    case BORG_TRUNC:
        vx_line(e, "cvt.u32.u64 %s, %s", out, x);
        return;
    case BORG_SITOFP:
    case BORG_UITOFP:
        vx_line(e, "cvt.%s.%s %s, %s", vx_type(v->type),
                type_of(from, v->op == BORG_SITOFP ? 's' : 'u'), out, x);
        return;
    case BORG_FPTOSI:
    case BORG_FPTOUI:
        vx_line(e, "cvt.%s.%s %s, %s", type_of(v->type, v->op == BORG_FPTOSI ? 's' : 'u'),
                vx_type(from), out, x);
        return;
    case BORG_FPEXT:
    case BORG_FPTRUNC:
        vx_line(e, "cvt.%s.%s %s, %s", vx_type(v->type), vx_type(from), out, x);
        return;
    default: /* MAGNITUDE */
        break;
    }
    if (from == BORG_F64) {
        const char *bits = vx_new(e, BORG_I64), *high = vx_new(e, BORG_I64);
        const char *word = vx_new(e, BORG_I32);
        vx_line(e, "mov.b64 %s, %s", bits, x);
        vx_line(e, "shr.u64 %s, %s, 32", high, bits);
        vx_line(e, "cvt.u32.u64 %s, %s", word, high);
        vx_line(e, "and.b32 %s, %s, 2147483647", out, word);
        return;
    }
    const char *bits = vx_new(e, BORG_I32);
    vx_line(e, "mov.b32 %s, %s", bits, x);
    vx_line(e, "and.b32 %s, %s, 2147483647", out, bits);
}

static void compare(vx *e, const borg_inst *v, const char *out, const char *x, const char *y) {
    static const char *const texts[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    borg_type from = v->args[0]->type;
    char kind = borg_is_float(from) ? 'f' : v->uns || from == BORG_I1 ? 'u' : 's';
    if (from == BORG_I1) {
        x = vx_widen(e, x);
        y = vx_widen(e, y);
        from = BORG_I32;
    }
    vx_line(e, "setp.%s.%s %s, %s, %s", texts[v->pred], type_of(from, kind), out, x, y);
}

/* Shift counts are 32 bits wide. */
static const char *shift_count(vx *e, const borg_inst *v, const char *y) {
    if (v->type != BORG_I64) return y;
    const char *word = vx_new(e, BORG_I32);
    vx_line(e, "cvt.u32.u64 %s, %s", word, y);
    return word;
}

static void one(vx *e, const borg_inst *v, const char *out, const char *x, const char *y,
                const char *z) {
    char kind = 0;
    const char *name = binary(v->op, &kind), *type = vx_type(v->type);
    if (v->op == BORG_SHL || v->op == BORG_LSHR || v->op == BORG_ASHR) y = shift_count(e, v, y);
    if (name) {
        vx_line(e, "%s.%s %s, %s, %s", name, type_of(v->type, kind), out, x, y);
        return;
    }
    if (borg_op_table[v->op].class == BORG_CONVERT) {
        convert(e, v, out, x);
        return;
    }
    switch (v->op) {
    case BORG_ICMP:
    case BORG_FCMP:
        compare(e, v, out, x, y);
        break;
    case BORG_SELECT:
        vx_line(e, "selp.%s %s, %s, %s, %s", type, out, y, z, x);
        break;
    case BORG_NOT:
        vx_line(e, "not.%s %s, %s", type, out, x);
        break;
    case BORG_NEG:
    case BORG_ABS:
        vx_line(e, "%s.%s %s, %s", v->op == BORG_NEG ? "neg" : "abs", type_of(v->type, 's'), out,
                x);
        break;
    case BORG_FNEG:
        vx_line(e, "neg.%s %s, %s", type, out, x);
        break;
    case BORG_FABS:
        vx_line(e, "abs.%s %s, %s", type, out, x);
        break;
    case BORG_SQRT:
        vx_line(e, "sqrt.%s %s, %s", type, out, x);
        break;
    case BORG_RCP:
        vx_line(e, "div.%s %s, 1, %s", type, out, x);
        break;
    default: /* FMA */
        vx_line(e, "fma.%s %s, %s, %s, %s", type, out, x, y, z);
        break;
    }
}

void vx_elem(vx *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) {
        const char *x[3] = {0};
        for (int32_t k = 0; k < v->nargs && k < 3; ++k) x[k] = vx_get(v->args[k], r);
        const char *out = vx_new(e, v->type);
        one(e, v, out, x[0], x[1], x[2]);
        vx_name(e, v, r, out);
    }
}
