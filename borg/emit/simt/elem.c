/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operations as expressions of C. Integers have no sign: b_i32, b_i64. */
#include "borg/emit/simt/leaves.h"

static const char *binary(borg_op op) {
    switch (op) {
    case BORG_ADD:
        return "+";
    case BORG_SUB:
        return "-";
    case BORG_MUL:
        return "*";
    case BORG_AND:
        return "&";
    case BORG_OR:
        return "|";
    case BORG_XOR:
        return "^";
    default:
        return NULL;
    }
}

static const char *compare(borg_pred pred) {
    static const char *const text[] = {"==", "!=", "<", "<=", ">", ">="};
    return text[pred];
}

static const char *convert(simt *e, const borg_inst *v, const char *x) {
    const char *to = e->target->types[v->type];
    bool wide = v->args[0]->type == BORG_I64;
    switch (v->op) {
    case BORG_ZEXT:
    case BORG_TRUNC:
    case BORG_FPEXT:
    case BORG_FPTRUNC:
        return borg_format(e->arena, "(%s)%s", to, x);
    case BORG_SEXT:
        return borg_format(e->arena, "(b_i64)(b_s64)(b_s32)%s", x);
    case BORG_UITOFP:
    case BORG_SITOFP:
        if (v->type == BORG_F64 && !wide && !e->target->opencl)
            return borg_format(e->arena, "b_f64_of_%s(%s)", v->op == BORG_SITOFP ? "s32" : "u32",
                               x);
        if (v->op == BORG_UITOFP) return borg_format(e->arena, "(%s)%s", to, x);
        return borg_format(e->arena, "(%s)(%s)%s", to, wide ? "b_s64" : "b_s32", x);
    case BORG_MAGNITUDE:
        return borg_format(e->arena, "(b_i32)(b_bits_%s(%s)%s)%s", simt_suffix(v->args[0]->type), x,
                           v->args[0]->type == BORG_F64 ? " >> 32" : "",
                           e->signs[v->id] ? "" : " & 0x7fffffffu");
    default:
        return borg_format(e->arena, "b_%s_%s_%s(%s)", borg_op_table[v->op].text,
                           simt_suffix(v->args[0]->type), simt_suffix(v->type), x);
    }
}

static const char *real(simt *e, const borg_inst *v, const char *x, const char *y, const char *z) {
    borg_op op = v->op;
    if (op == BORG_RCP && e->m->fast_rcp && !e->target->opencl)
        return borg_format(e->arena, "b_rcp_fast_%s(%s)", simt_suffix(v->type), x);
    switch (op) {
    case BORG_FNEG:
        return borg_format(e->arena, "-%s", x);
    case BORG_FMIN:
        return borg_format(e->arena, "%s < %s ? %s : %s", y, x, y, x);
    case BORG_FMAX:
        return borg_format(e->arena, "%s < %s ? %s : %s", x, y, y, x);
    default:
        return borg_format(e->arena, "b_%s_%s(%s%s%s%s%s)", borg_op_table[op].text,
                           simt_suffix(v->type), x, y ? ", " : "", y ? y : "", z ? ", " : "",
                           z ? z : "");
    }
}

static const char *integer(simt *e, const borg_inst *v, const char *x, const char *y) {
    const char *sign = v->type == BORG_I64 ? "b_s64" : "b_s32";
    int bits = v->type == BORG_I64 ? 63 : 31;
    switch (v->op) {
    case BORG_SHL:
        return borg_format(e->arena, "%s << (%s & %d)", x, y, bits);
    case BORG_LSHR:
        return borg_format(e->arena, "%s >> (%s & %d)", x, y, bits);
    case BORG_ASHR:
        return borg_format(e->arena, "(%s)((%s)%s >> (%s & %d))", e->target->types[v->type], sign,
                           x, y, bits);
    case BORG_NOT:
        return borg_format(e->arena, v->type == BORG_I1 ? "!%s" : "~%s", x);
    case BORG_NEG:
        return borg_format(e->arena, "0u - %s", x);
    case BORG_ABS:
        return borg_format(e->arena, "(%s)%s < 0 ? 0u - %s : %s", sign, x, x, x);
    case BORG_SMIN:
        return borg_format(e->arena, "(%s)%s < (%s)%s ? %s : %s", sign, y, sign, x, y, x);
    case BORG_SMAX:
        return borg_format(e->arena, "(%s)%s < (%s)%s ? %s : %s", sign, x, sign, y, y, x);
    case BORG_UMIN:
        return borg_format(e->arena, "%s < %s ? %s : %s", y, x, y, x);
    case BORG_UMAX:
        return borg_format(e->arena, "%s < %s ? %s : %s", x, y, y, x);
    default:
        return borg_format(e->arena, "b_%s_%s(%s, %s)", borg_op_table[v->op].text,
                           simt_suffix(v->type), x, y);
    }
}

static const char *expression(simt *e, const borg_inst *v, const char *x, const char *y,
                              const char *z) {
    borg_type from = v->args[0]->type;
    if (v->type == BORG_I1 && (v->op == BORG_AND || v->op == BORG_OR)) /* predicates, not bits */
        return borg_format(e->arena, v->op == BORG_AND ? "%s && %s" : "%s || %s", x, y);
    if (binary(v->op)) return borg_format(e->arena, "%s %s %s", x, binary(v->op), y);
    if (borg_op_table[v->op].class == BORG_CONVERT) return convert(e, v, x);
    if (v->op == BORG_SELECT) return borg_format(e->arena, "%s ? %s : %s", x, y, z);
    if (v->op == BORG_ICMP && !v->uns && from != BORG_I1 && v->pred >= BORG_LT) {
        const char *sign = from == BORG_I64 ? "b_s64" : "b_s32";
        return borg_format(e->arena, "(%s)%s %s (%s)%s", sign, x, compare(v->pred), sign, y);
    }
    if (v->op == BORG_ICMP || v->op == BORG_FCMP)
        return borg_format(e->arena, "%s %s %s", x, compare(v->pred), y);
    return borg_is_float(v->type) ? real(e, v, x, y, z) : integer(e, v, x, y);
}

/* ---- magnitudes under masks --------------------------------------------------------------------
 *
 * A magnitude that is joined by AND with what has no sign needs not lose its own before. */

enum { MOST_VISITS = 128 };

typedef struct visited {
    const borg_inst *list[MOST_VISITS];
    int32_t count;
} visited;

static const borg_inst *yielded(const borg_inst *phi) {
    int32_t at = 0;
    for (const borg_inst *p = phi->prev; p; p = p->prev) ++at;
    return phi->parent->owner->block[1]->last->args[at];
}

/* Is the highest bit 0 in all lanes? Of values that are visited already, around a loop, it is
 * assumed: a loop keeps it so unless something that comes in breaks it. */
static bool has_no_sign(visited *k, const borg_inst *v) {
    const borg_inst *from = v->nargs ? v->args[0] : NULL;
    for (int32_t i = 0; i < k->count; ++i)
        if (k->list[i] == v) return true;
    if (v->type != BORG_I32 || k->count == MOST_VISITS) return false;
    k->list[k->count++] = v;
    switch (v->op) {
    case BORG_CONST:
        for (int32_t i = 0; i < v->ntable; ++i)
            if (v->bits[i] >> 31) return false;
        return true;
    case BORG_LID:
    case BORG_MAGNITUDE:
        return true;
    case BORG_BCAST:
        return has_no_sign(k, from);
    case BORG_SELECT:
        return has_no_sign(k, v->args[1]) && has_no_sign(k, v->args[2]);
    case BORG_OR:
        return has_no_sign(k, from) && has_no_sign(k, v->args[1]);
    case BORG_AND: {
        int32_t before = k->count;
        if (has_no_sign(k, from)) return true;
        k->count = before;
        return has_no_sign(k, v->args[1]);
    }
    case BORG_PHI:
        return has_no_sign(k, from) && has_no_sign(k, yielded(v));
    case BORG_RESULT:
        if (from->op == BORG_LOOP) {
            const borg_inst *phi = from->block[0]->first;
            for (int32_t i = 0; i < v->index; ++i) phi = phi->next;
            return has_no_sign(k, phi);
        }
        return has_no_sign(k, from->block[0]->last->args[v->index]) &&
               has_no_sign(k, from->block[1]->last->args[v->index]);
    default:
        return false;
    }
}

static bool is_and(const borg_inst *v) {
    return v->op == BORG_AND && v->type == BORG_I32;
}

/* Is one of the operands a magnitude that nobody else asks for? */
static bool joins_magnitude(const borg_inst *v, int depth) {
    if (v->op == BORG_MAGNITUDE) return v->uses == 1;
    return depth > 0 && is_and(v) &&
           (joins_magnitude(v->args[0], depth - 1) || joins_magnitude(v->args[1], depth - 1));
}

/* And is another one without a sign, other than these magnitudes? */
static bool masks_sign(const borg_inst *v, int depth) {
    visited k = {.count = 0};
    if (is_and(v))
        return depth > 0 &&
               (masks_sign(v->args[0], depth - 1) || masks_sign(v->args[1], depth - 1));
    return v->op != BORG_MAGNITUDE && has_no_sign(&k, v);
}

static void keep_signs(simt *e, const borg_inst *v, int depth) {
    for (int i = 0; i < 2 && depth > 0; ++i) {
        const borg_inst *x = v->args[i];
        if (x->uses != 1) continue;
        if (is_and(x)) keep_signs(e, x, depth - 1);
        if (x->op == BORG_MAGNITUDE) e->signs[x->id] = true;
    }
}

static void find_masks(simt *e, borg_block *block) {
    enum { DEPTH = 4 };
    for (borg_inst *v = block->first; v; v = v->next) {
        if (is_and(v) && joins_magnitude(v, DEPTH) && masks_sign(v, DEPTH)) keep_signs(e, v, DEPTH);
        if (v->block[0]) find_masks(e, v->block[0]);
        if (v->block[1]) find_masks(e, v->block[1]);
    }
}

/* ---- the greatest of many magnitudes --------------------------------------------------------- */

/* Each would take an instruction to lose its sign. Instead: among numbers without a sign the upper
 * halves' greatest as signed integers is the one sought, among those with one the greatest as
 * unsigned ones, less its sign. Compilers make maxima of three of it. */

enum { LEAST_CHAIN = 4 };

static bool in_chain(const borg_inst *v) {
    return v->op == BORG_UMAX && v->type == BORG_I32 && v->rows == 1;
}

/* The operand that goes on with the chain, or NULL; *other: the other one. */
static borg_inst *rest_of_chain(const borg_inst *v, borg_inst **other) {
    for (int k = 0; k < 2; ++k) {
        *other = v->args[1 - k];
        if (in_chain(v->args[k]) && v->args[k]->uses == 1) return v->args[k];
    }
    *other = v->args[1];
    return NULL;
}

static int32_t magnitudes(const borg_inst *v) {
    int32_t count = 0;
    borg_inst *other;
    for (const borg_inst *next; v; v = next) {
        next = rest_of_chain(v, &other);
        count += other->op == BORG_MAGNITUDE;
        if (!next) count += v->args[0]->op == BORG_MAGNITUDE;
    }
    return count;
}

static void find_chains(simt *e, borg_block *block) {
    borg_inst *other;
    for (borg_inst *v = block->last; v; v = v->prev) { /* from their ends */
        if (in_chain(v) && !e->inner[v->id] && magnitudes(v) >= LEAST_CHAIN)
            for (borg_inst *u = v; (u = rest_of_chain(u, &other));) e->inner[u->id] = true;
        if (v->block[0]) find_chains(e, v->block[0]);
        if (v->block[1]) find_chains(e, v->block[1]);
    }
}

void simt_plan_maxima(simt *e) {
    e->inner = BORG_NEW(e->arena, e->m->ninsts + 1, bool);
    e->signs = BORG_NEW(e->arena, e->m->ninsts + 1, bool);
    find_masks(e, e->m->body);
    if (!e->target->opencl) find_chains(e, e->m->body);
}

/* The greatest so far: as signed, as unsigned integers, and of what is no magnitude. */
typedef struct chain {
    const char *plain, *signless, *other;
} chain;

static void add_to_chain(simt *e, chain *c, const borg_inst *x, int32_t i) {
    if (x->op != BORG_MAGNITUDE) {
        const char *y = simt_get(e, x, i);
        c->other = c->other ? borg_format(e->arena, "b_max_u32(%s, %s)", c->other, y) : y;
        return;
    }
    const borg_inst *from = x->args[0];
    const char *y = borg_format(
        e->arena, from->type == BORG_F64 ? "(b_i32)(b_bits_%s(%s) >> 32)" : "b_bits_%s(%s)",
        simt_suffix(from->type), simt_get(e, from, i));
    c->plain = simt_temp(
        e, BORG_I32, c->plain ? borg_format(e->arena, "(b_i32)b_max_s32(%s, %s)", c->plain, y) : y);
    c->signless = simt_temp(
        e, BORG_I32, c->signless ? borg_format(e->arena, "b_max_u32(%s, %s)", c->signless, y) : y);
}

static const char *chain_scalar(simt *e, const borg_inst *v, int32_t i) {
    chain c = {0};
    borg_inst *other;
    for (const borg_inst *next; v; v = next) {
        next = rest_of_chain(v, &other);
        add_to_chain(e, &c, other, i);
        if (!next) add_to_chain(e, &c, v->args[0], i);
    }
    const char *most =
        borg_format(e->arena, "(b_i32)b_max_s32(%s, %s & 0x7fffffffu)", c.plain, c.signless);
    return c.other ? borg_format(e->arena, "b_max_u32(%s, %s)", most, c.other) : most;
}

void simt_elem(simt *e, borg_inst *v) {
    if (e->inner[v->id]) return;
    borg_inst *other = NULL;
    if (in_chain(v) && rest_of_chain(v, &other) && e->inner[rest_of_chain(v, &other)->id]) {
        for (int32_t i = 0; i < simt_count(e, v); ++i) simt_let(e, v, i, chain_scalar(e, v, i));
        return;
    }
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        const char *x[3] = {0}, *found = v->op == BORG_SELECT ? simt_row_by_item(e, v, i) : NULL;
        if (v->op == BORG_SELECT && !found) found = simt_gather(e, v, i);
        if (found) {
            simt_let(e, v, i, found);
            continue;
        }
        for (int32_t k = 0; k < v->nargs && k < 3; ++k) x[k] = simt_get(e, v->args[k], i);
        simt_let(e, v, i, expression(e, v, x[0], x[1], x[2]));
    }
}
