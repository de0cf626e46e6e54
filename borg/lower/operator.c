/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators and conversions of C on values. */
#include "borg/lower/leaves.h"

static borg_inst *nonzero(borg_lowerer *l, borg_inst *v) {
    borg_inst *zero = borg_lower_const(l, v->type, 0);
    return borg_lower_cmp(l, borg_is_float(v->type) ? BORG_FCMP : BORG_ICMP, BORG_NE, false, v,
                          zero);
}

borg_inst *borg_lower_convert(borg_lowerer *l, borg_inst *v, borg_ctype from, borg_ctype to) {
    borg_type target = borg_ctype_ir(to);
    if (from == to) return v;
    if (borg_ctype_narrow(to)) return borg_lower_narrow(l, v, from, to);
    if (borg_ctype_complex(from) && to == BORG_C_BOOL) {
        v = nonzero(l, v);
        return borg_lower_elem(l, BORG_OR, BORG_I1, borg_lower_part(l, v, 0),
                               borg_lower_part(l, v, 1), NULL);
    }
    if (borg_ctype_complex(to) && !borg_ctype_complex(from))
        return borg_lower_pair(l, borg_lower_convert(l, v, from, borg_ctype_part(to)),
                               borg_lower_const(l, target, 0));
    bool uns = borg_ctype_unsigned(from);
    if (v->type == target) return v;
    if (to == BORG_C_BOOL) return nonzero(l, v);
    if (v->type == BORG_I1 && borg_is_float(target)) {
        v = borg_lower_elem(l, BORG_ZEXT, BORG_I32, v, NULL, NULL);
        uns = false;
    }
    borg_op op;
    if (borg_is_float(target)) {
        op = target == BORG_F64 && v->type == BORG_F32   ? BORG_FPEXT
             : target == BORG_F32 && v->type == BORG_F64 ? BORG_FPTRUNC
             : uns                                       ? BORG_UITOFP
                                                         : BORG_SITOFP;
    } else if (borg_is_float(v->type)) {
        op = borg_ctype_unsigned(to) ? BORG_FPTOUI : BORG_FPTOSI;
    } else if (v->type == BORG_I64) {
        op = BORG_TRUNC;
    } else {
        op = uns || v->type == BORG_I1 ? BORG_ZEXT : BORG_SEXT;
    }
    return borg_lower_elem(l, op, target, v, NULL, NULL);
}

borg_inst *borg_lower_arithmetic(borg_lowerer *l, const char *text, borg_ctype type, borg_inst *x,
                                 borg_inst *y) {
    bool real = borg_ctype_float(type), uns = borg_ctype_unsigned(type);
    borg_type t = borg_ctype_ir(type);
    borg_op op;
    if (borg_ctype_complex(type) && text[0] == '*') return borg_lower_complex_product(l, x, y);
    if (borg_ctype_complex(type) && text[0] == '/') return borg_lower_complex_quotient(l, x, y);
    switch (text[0]) {
    case '+':
        op = real ? BORG_FADD : BORG_ADD;
        break;
    case '-':
        op = real ? BORG_FSUB : BORG_SUB;
        break;
    case '*':
        op = real ? BORG_FMUL : BORG_MUL;
        break;
    case '/':
        op = real ? BORG_FDIV : uns ? BORG_UDIV : BORG_SDIV;
        break;
    case '%':
        op = uns ? BORG_UREM : BORG_SREM;
        break;
    case '&':
        op = BORG_AND;
        break;
    case '|':
        op = BORG_OR;
        break;
    case '^':
        op = BORG_XOR;
        break;
    case '<':
        op = BORG_SHL;
        break;
    default:
        op = uns ? BORG_LSHR : BORG_ASHR;
        break;
    }
    return borg_lower_elem(l, op, t, x, y, NULL);
}

borg_inst *borg_lower_comparison(borg_lowerer *l, const borg_expr *e, borg_inst *x, borg_inst *y) {
    borg_ctype type = e->args[0]->type;
    borg_pred pred = e->text[0] == '='   ? BORG_EQ
                     : e->text[0] == '!' ? BORG_NE
                     : e->text[0] == '<' ? (e->text[1] ? BORG_LE : BORG_LT)
                                         : (e->text[1] ? BORG_GE : BORG_GT);
    bool real = borg_ctype_float(type);
    if (borg_ctype_complex(type)) { /* both parts are equal, or one is not */
        borg_inst *c = borg_lower_cmp(l, BORG_FCMP, pred, false, x, y);
        return borg_lower_elem(l, pred == BORG_EQ ? BORG_AND : BORG_OR, BORG_I1,
                               borg_lower_part(l, c, 0), borg_lower_part(l, c, 1), NULL);
    }
    return borg_lower_cmp(l, real ? BORG_FCMP : BORG_ICMP, pred,
                          !real && borg_ctype_unsigned(type) && pred > BORG_NE, x, y);
}

bool borg_lower_is_comparison(const char *t) {
    return ((t[0] == '<' || t[0] == '>') && t[1] != t[0]) || t[0] == '=' || t[0] == '!';
}
