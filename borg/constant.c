/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of two operands on integers known now, and constant expressions of them. */
#include "borg/ast.h"
#include <string.h>

int borg_operator_level(const char *op) {
    static const char *const levels[][5] = {{"||"},
                                            {"&&"},
                                            {"|"},
                                            {"^"},
                                            {"&"},
                                            {"==", "!="},
                                            {"<", "<=", ">", ">="},
                                            {"<<", ">>"},
                                            {"+", "-"},
                                            {"*", "/", "%"}};
    for (int i = 0; i < 10; ++i)
        for (int j = 0; j < 5 && levels[i][j]; ++j)
            if (strcmp(levels[i][j], op) == 0) return i;
    return -1;
}

bool borg_operator_value(const char *op, int64_t a, int64_t b, int64_t *value) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op[0]) {
    case '+':
        *value = (int64_t)(x + y);
        return true;
    case '-':
        *value = (int64_t)(x - y);
        return true;
    case '*':
        *value = (int64_t)(x * y);
        return true;
    case '/':
    case '%':
        if (b == 0) return false;
        if (b == -1) {
            *value = op[0] == '/' ? (int64_t)(0 - x) : 0;
        } else {
            *value = op[0] == '/' ? a / b : a % b;
        }
        return true;
    case '<':
        *value = op[1] == '<' ? (int64_t)(x << (y & 63)) : op[1] ? a <= b : a < b;
        return true;
    case '>':
        *value = op[1] == '>' ? a >> (y & 63) : op[1] ? a >= b : a > b;
        return true;
    case '=':
        *value = a == b;
        return true;
    case '!':
        *value = a != b;
        return true;
    case '&':
        *value = op[1] ? a && b : a & b;
        return true;
    case '|':
        *value = op[1] ? a || b : a | b;
        return true;
    default:
        *value = a ^ b;
        return true;
    }
}

static int64_t wrap(borg_ctype type, int64_t value) {
    switch (type) {
    case BORG_C_BOOL:
        return value != 0;
    case BORG_C_CHAR:
        return (int8_t)(uint8_t)(uint64_t)value;
    case BORG_C_UCHAR:
        return (uint8_t)(uint64_t)value;
    case BORG_C_SHORT:
        return (int16_t)(uint16_t)(uint64_t)value;
    case BORG_C_USHORT:
        return (uint16_t)(uint64_t)value;
    case BORG_C_INT:
        return (int32_t)(uint32_t)(uint64_t)value;
    case BORG_C_UINT:
        return (int64_t)(uint32_t)(uint64_t)value;
    default:
        return value;
    }
}

bool borg_constant(const borg_expr *e, int32_t size, int64_t *value) {
    int64_t a, b;
    switch (e->kind) {
    case BORG_E_INT:
        *value = (int64_t)e->integer;
        return true;
    case BORG_E_CALL:
        *value = size;
        return size > 0 && strcmp(e->text, "get_local_size") == 0;
    case BORG_E_NAME:
        return e->decl && e->decl->constant && e->decl->storage == BORG_PRIVATE &&
               !e->decl->array && e->decl->init && !borg_ctype_float(e->decl->type) &&
               borg_constant(e->decl->init, size, value);
    case BORG_E_CAST:
        if (borg_ctype_float(e->type) || !borg_constant(e->args[0], size, &a)) return false;
        *value = wrap(e->type, a);
        return true;
    case BORG_E_UNARY:
        if (!borg_constant(e->args[0], size, &a)) return false;
        *value = e->text[0] == '-'   ? (int64_t)(0 - (uint64_t)a)
                 : e->text[0] == '~' ? ~a
                 : e->text[0] == '!' ? !a
                                     : a;
        return true;
    case BORG_E_BINARY:
        return borg_constant(e->args[0], size, &a) && borg_constant(e->args[1], size, &b) &&
               borg_operator_value(e->text, a, b, value);
    case BORG_E_LOGICAL:
        if (!borg_constant(e->args[0], size, &a) || !borg_constant(e->args[1], size, &b))
            return false;
        *value = e->text[0] == '&' ? a && b : a || b;
        return true;
    case BORG_E_TERNARY:
        if (!borg_constant(e->args[0], size, &a)) return false;
        return borg_constant(e->args[a ? 1 : 2], size, value);
    default:
        return false;
    }
}
