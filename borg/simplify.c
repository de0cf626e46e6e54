/* SPDX-License-Identifier: BSD-3-Clause */
/* Simplifies one instruction. The lowering calls this for each instruction that it makes, the pass
 * fold for all; so loops over constants unroll into what is left of them. */
#include "borg/passes.h"
#include <string.h>

bool borg_all_const(const borg_inst *v) {
    for (int32_t i = 0; i < v->nargs; ++i)
        if (v->args[i]->op != BORG_CONST) return false;
    return v->nargs > 0;
}

int32_t borg_table_length(const borg_module *m, const borg_inst *v) {
    return v->spread == BORG_WI ? v->rows * m->size : v->rows;
}

borg_inst *borg_constant_like(borg_builder *b, const borg_inst *v, uint64_t bits) {
    return borg_emit_const(b, v->type, v->spread, v->rows, bits);
}

static bool is_splat_of(const borg_inst *v, uint64_t bits) {
    return borg_is_splat(v) && v->bits[0] == bits;
}

static uint64_t ones(borg_type type) {
    return type == BORG_I1 ? 1 : type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
}

static uint64_t one_of(borg_type type) {
    return type == BORG_F64 ? 0x3ff0000000000000u : type == BORG_F32 ? 0x3f800000u : 1;
}

/* A constant computed lane by lane from constant operands. */
static borg_inst *fold_elem(borg_builder *b, const borg_inst *v) {
    const borg_module *m = b->module;
    borg_type from = v->args[v->op == BORG_SELECT ? 1 : 0]->type;
    bool splat = true;
    uint64_t x[3] = {0};
    for (int32_t i = 0; i < v->nargs; ++i) {
        splat = splat && v->args[i]->ntable == 1;
        x[i] = v->args[i]->bits[0];
    }
    if (splat)
        return borg_emit_const(b, v->type, v->spread, v->rows,
                               borg_evaluate(v, from, x[0], x[1], x[2]));
    int32_t count = borg_table_length(m, v), items = v->spread == BORG_WI ? m->size : 1;
    uint64_t *bits = BORG_NEW(m->arena, count, uint64_t);
    for (int32_t l = 0; l < count; ++l) {
        for (int32_t i = 0; i < v->nargs; ++i)
            x[i] = borg_const_bits(m, v->args[i], l / items, l % items);
        bits[l] = borg_evaluate(v, from, x[0], x[1], x[2]);
    }
    return borg_emit_table(b, v->type, v->spread, v->rows, bits);
}

/* Elementwise on values that were only broadcast: compute narrow, broadcast the result. */
static borg_inst *narrow_elem(borg_builder *b, borg_inst *v) {
    borg_spread widest = BORG_UNI;
    for (int32_t i = 0; i < v->nargs; ++i) {
        const borg_inst *x = v->args[i];
        if (borg_is_splat(x)) continue;
        if (x->op != BORG_BCAST) return v;
        if (x->args[0]->spread > widest) widest = x->args[0]->spread;
    }
    if (widest >= v->spread) return v;
    borg_inst *n = borg_emit(b, v->op, v->type, widest, v->rows, v->nargs);
    n->pred = v->pred;
    n->uns = v->uns;
    n->name = v->name;
    n->ix = v->ix;
    for (int32_t i = 0; i < v->nargs; ++i) {
        borg_inst *x = v->args[i];
        if (borg_is_splat(x)) {
            n->args[i] = borg_emit_const(b, x->type, widest, x->rows, x->bits[0]);
            borg_unlink(n->args[i]);
            borg_insert(n->parent, n, n->args[i]);
        } else {
            n->args[i] = x->args[0];
            if (x->args[0]->spread < widest) {
                borg_inst *wide = borg_emit_bcast(b, x->args[0], widest);
                borg_unlink(wide);
                borg_insert(n->parent, n, wide);
                n->args[i] = wide;
            }
        }
    }
    return borg_emit_bcast(b, n, v->spread);
}

/* a * n + b with b < n, as indices of rows are made: *a, *b [out]; nothing wraps. */
static bool splits(const borg_module *m, borg_inst *v, uint64_t n, borg_inst **a, borg_inst **b) {
    uint64_t low, high;
    if (v->op != BORG_ADD || !borg_known_range(m, v, &low, &high)) return false;
    for (int32_t i = 0; i < 2; ++i) {
        borg_inst *x = v->args[i];
        if (x->op != BORG_MUL || !borg_known_range(m, v->args[1 - i], &low, &high)) continue;
        for (int32_t k = 0; k < 2 && high < n; ++k) {
            if (!borg_is_splat(x->args[k]) || x->args[k]->bits[0] != n) continue;
            *a = x->args[1 - k];
            *b = v->args[1 - i];
            return true;
        }
    }
    return false;
}

/* ---- integers and i1 ------------------------------------------------------------------------- */

static borg_inst *integer_identity(borg_builder *b, borg_inst *v) {
    borg_inst *x = v->args[0], *y = v->nargs > 1 ? v->args[1] : NULL;
    uint64_t low, high, limit;
    switch (v->op) {
    case BORG_ADD:
        if (is_splat_of(x, 0)) return y;
        /* fall through */
    case BORG_SUB:
    case BORG_SHL:
    case BORG_LSHR:
    case BORG_ASHR:
        if (is_splat_of(y, 0)) return x;
        if (v->op == BORG_SUB && x == y) return borg_constant_like(b, v, 0);
        return v;
    case BORG_MUL:
        if (is_splat_of(x, 1)) return y;
        if (is_splat_of(y, 1)) return x;
        if (is_splat_of(x, 0)) return x;
        if (is_splat_of(y, 0)) return y;
        return v;
    case BORG_SDIV:
        return is_splat_of(y, 1) ? x : v;
    case BORG_UDIV:
    case BORG_UREM: {
        borg_inst *high_part, *low_part;
        if (v->op == BORG_UDIV && is_splat_of(y, 1)) return x;
        if (borg_is_splat(y) && splits(b->module, x, y->bits[0], &high_part, &low_part))
            return v->op == BORG_UDIV ? high_part : low_part;
        return v;
    }
    case BORG_AND:
        if (is_splat_of(x, 0) || is_splat_of(y, ones(v->type)) || x == y) return x;
        if (is_splat_of(y, 0) || is_splat_of(x, ones(v->type))) return y;
        return v;
    case BORG_OR:
        if (is_splat_of(x, ones(v->type)) || is_splat_of(y, 0) || x == y) return x;
        if (is_splat_of(y, ones(v->type)) || is_splat_of(x, 0)) return y;
        return v;
    case BORG_XOR:
        if (is_splat_of(y, 0)) return x;
        if (is_splat_of(x, 0)) return y;
        if (x == y) return borg_constant_like(b, v, 0);
        return v;
    case BORG_UMIN:
        if (borg_is_splat(y)) {
            limit = y->bits[0];
            if (borg_known_range(b->module, x, &low, &high) && high <= limit) return x;
        }
        return v;
    case BORG_SMIN:
    case BORG_SMAX:
    case BORG_UMAX:
        return x == y ? x : v;
    default:
        return v;
    }
}

static borg_inst *simplify_not(borg_builder *b, borg_inst *v) {
    borg_inst *x = v->args[0];
    if (x->op == BORG_NOT) return x->args[0];
    bool total = x->op == BORG_ICMP || (x->op == BORG_FCMP && x->pred <= BORG_NE);
    if (v->type != BORG_I1 || !total) return v; /* !(a < b) is not a >= b with a NaN */
    static const borg_pred inverse[] = {BORG_NE, BORG_EQ, BORG_GE, BORG_GT, BORG_LE, BORG_LT};
    return borg_emit_cmp(b, x->op, inverse[x->pred], x->uns, x->args[0], x->args[1]);
}

static borg_inst *simplify_select(borg_builder *b, borg_inst *v) {
    borg_inst *c = v->args[0], *x = v->args[1], *y = v->args[2];
    if (x == y) return x;
    if (borg_is_splat(c)) return c->bits[0] ? x : y;
    if (c->op == BORG_NOT)
        return borg_simplify(b, borg_emit_elem(b, BORG_SELECT, v->type, c->args[0], y, x));
    if (y->op == BORG_SELECT && y->args[0] == c)
        return borg_simplify(b, borg_emit_elem(b, BORG_SELECT, v->type, c, x, y->args[2]));
    if (x->op == BORG_SELECT && x->args[0] == c)
        return borg_simplify(b, borg_emit_elem(b, BORG_SELECT, v->type, c, x->args[1], y));
    if (x->op == BORG_SELECT && x->args[2] == y && x->args[0]->op != BORG_CONST) {
        borg_inst *both =
            borg_simplify(b, borg_emit_elem(b, BORG_AND, BORG_I1, c, x->args[0], NULL));
        return borg_simplify(b, borg_emit_elem(b, BORG_SELECT, v->type, both, x->args[1], y));
    }
    if (is_splat_of(y, 0) && borg_mask(x) == c) return x; /* a masked load reads 0 elsewhere */
    if (v->type != BORG_I1) return v;
    if (is_splat_of(x, 1)) return borg_simplify(b, borg_emit_elem(b, BORG_OR, BORG_I1, c, y, NULL));
    if (is_splat_of(y, 0))
        return borg_simplify(b, borg_emit_elem(b, BORG_AND, BORG_I1, c, x, NULL));
    return v;
}

static borg_inst *simplify_icmp(borg_builder *b, borg_inst *v) {
    borg_inst *below = v->pred == BORG_LT ? v->args[1] : v->pred == BORG_GT ? v->args[0] : NULL;
    if (below && v->uns && borg_is_splat(below) && below->bits[0] == 0) /* nothing is below 0 */
        return borg_constant_like(b, v, 0);
    borg_inst *x = v->args[0], *y = v->args[1];
    if (x == y) {
        bool holds = v->pred == BORG_EQ || v->pred == BORG_LE || v->pred == BORG_GE;
        return borg_constant_like(b, v, holds);
    }
    if (x->type == BORG_I1 && borg_is_splat(y)) {
        bool keep = (v->pred == BORG_NE) == (y->bits[0] == 0);
        return keep ? x : borg_simplify(b, borg_emit_elem(b, BORG_NOT, BORG_I1, x, NULL, NULL));
    }
    if (x->op == BORG_ZEXT && x->args[0]->type == BORG_I1 && is_splat_of(y, 0)) {
        if (v->pred == BORG_NE) return x->args[0]; /* (bool)(int) c */
        if (v->pred == BORG_EQ)
            return borg_simplify(b, borg_emit_elem(b, BORG_NOT, BORG_I1, x->args[0], NULL, NULL));
    }
    return v;
}

static borg_inst *simplify_elem(borg_builder *b, borg_inst *v) {
    if (borg_all_const(v)) return fold_elem(b, v);
    borg_inst *r = v;
    switch (v->op) {
    case BORG_NOT:
        r = simplify_not(b, v);
        break;
    case BORG_NEG:
    case BORG_FNEG:
        r = v->args[0]->op == v->op ? v->args[0]->args[0] : v;
        break;
    case BORG_SELECT:
        r = simplify_select(b, v);
        break;
    case BORG_ICMP:
        r = simplify_icmp(b, v);
        break;
    case BORG_FMUL:
        if (is_splat_of(v->args[0], one_of(v->type))) r = v->args[1];
        if (is_splat_of(v->args[1], one_of(v->type))) r = v->args[0];
        break;
    case BORG_FDIV:
        if (is_splat_of(v->args[1], one_of(v->type))) r = v->args[0];
        break;
    case BORG_TRUNC: {
        borg_inst *x = v->args[0];
        if ((x->op == BORG_SEXT || x->op == BORG_ZEXT) && x->args[0]->type == v->type)
            r = x->args[0];
        break;
    }
    default:
        if (borg_is_int(v->type) || v->type == BORG_I1) r = integer_identity(b, v);
        break;
    }
    return r == v ? narrow_elem(b, v) : r;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static borg_inst *simplify_reduce(borg_builder *b, borg_inst *v) {
    borg_inst *x = v->args[0];
    if (x->op == BORG_CONST && x->rows == 1) {
        int32_t count = x->spread == BORG_WI ? b->module->size : 1;
        uint64_t *copy = BORG_NEW(b->module->arena, count, uint64_t);
        for (int32_t w = 0; w < count; ++w) copy[w] = borg_const_bits(b->module, x, 0, w);
        return borg_constant_like(b, v, borg_reduce(v->op, x->type, v->uns, copy, count));
    }
    if (v->op < BORG_ANY) return v;
    if (borg_is_splat(x)) return borg_constant_like(b, v, x->bits[0]);
    if (x->op == BORG_BCAST && x->args[0]->spread <= v->spread)
        return borg_emit_bcast(b, x->args[0], v->spread);
    if ((v->op == BORG_ANYP || v->op == BORG_ALLP) && x->op == BORG_BCAST) {
        borg_inst *n = borg_emit(b, v->op, BORG_I1, BORG_UNI, v->rows, 1);
        n->args[0] = x->args[0];
        return n;
    }
    return v;
}

static borg_inst *simplify_memory(borg_builder *b, borg_inst *v) {
    borg_inst *mask = borg_mask(v);
    if (!mask || !borg_is_splat(mask)) return v;
    if (mask->bits[0]) {
        --v->nargs; /* in place: the mask is the last operand */
        return v;
    }
    return v->type == BORG_VOID ? NULL : v->type == BORG_PTR ? v : borg_constant_like(b, v, 0);
}

borg_inst *borg_simplify(borg_builder *b, borg_inst *v) {
    switch (borg_op_table[v->op].class) {
    case BORG_ELEM:
    case BORG_CONVERT:
        return simplify_elem(b, v);
    case BORG_LAYOUT:
        return borg_simplify_layout(b, v);
    case BORG_REDUCE:
        return simplify_reduce(b, v);
    case BORG_MEMORY:
        return v->op == BORG_BARRIER ? v : simplify_memory(b, v);
    default:
        return v;
    }
}
