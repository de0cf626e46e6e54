/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaves, and what is done lane by lane. */
#include "borg/emit/simd/leaves.h"
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------- */

static uint64_t leaf_bits(const simd *e, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    return v->op == BORG_CONST ? borg_const_bits(e->m, v, r, w)
           : v->op == BORG_LID ? (uint64_t)w
                               : (uint64_t)g;
}

static void emit_constants(simd *e, borg_inst *v) {
    int32_t per_row = simd_row_count(e, v);
    const char **seen = BORG_NEW(e->arena, simd_count(e, v), const char *);
    for (int32_t i = 0; i < simd_count(e, v); ++i) {
        uint64_t bits[BORG_MAX_VECTOR];
        int32_t used = simd_used(e, v, i), w, g;
        for (int32_t l = 0; l < used; ++l) {
            simd_place(e, v, i, l, &w, &g);
            bits[l] = leaf_bits(e, v, i / per_row, w, g);
        }
        if (simd_scalar(e, v)) {
            ctext_name(&e->c, v, i, simd_literal(e, v->type, bits[0]));
            continue;
        }
        const char *text = seen[i] = simd_literals(e, v->type, bits, used);
        int32_t same = 0;
        while (same < i && strcmp(seen[same], text) != 0) ++same;
        if (same < i) {
            ctext_name(&e->c, v, i, simd_reg(e, v, same));
        } else if (text[0] == '(') {
            simd_let(e, v, i, text);
        } else {
            ctext_name(&e->c, v, i, text);
        }
    }
}

static void emit_gid(simd *e, borg_inst *v) {
    uint64_t bits[BORG_MAX_VECTOR];
    if (simd_scalar(e, v)) {
        for (int32_t i = 0; i < simd_count(e, v); ++i)
            ctext_name(&e->c, v, i, borg_format(e->arena, "((uint64_t)g0 + %d)", i));
        return;
    }
    for (int32_t i = 0; i < simd_count(e, v); ++i) {
        for (int32_t l = 0; l < e->lanes; ++l) bits[l] = (uint64_t)(i * e->lanes + l);
        simd_let(e, v, i,
                 borg_format(e->arena, "b_splat_i64((uint64_t)g0) + %s",
                             simd_literals(e, BORG_I64, bits, simd_used(e, v, i))));
    }
}

void simd_leaf(simd *e, borg_inst *v) {
    switch (v->op) {
    case BORG_PARAM:
        ctext_param(&e->c, e->m, v, simd_type(v->type, true));
        break;
    case BORG_G0:
        ctext_name(&e->c, v, 0, "(uint64_t)g0");
        break;
    case BORG_GID:
        emit_gid(e, v);
        break;
    case BORG_LOCAL: /* named where it is used */
        break;
    default:
        emit_constants(e, v);
        break;
    }
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static const char *function_of(simd *e, const borg_inst *v) {
    const char *prefix = simd_scalar(e, v) ? "s" : "b", *from = simd_suffix(v->args[0]->type);
    if (v->op == BORG_ICMP || v->op == BORG_FCMP)
        return borg_format(e->arena, "%s_%s%s_%s", prefix, v->uns ? "u" : "",
                           borg_pred_text(v->pred), from);
    if (borg_op_table[v->op].class == BORG_CONVERT)
        return borg_format(e->arena, "%s_%s_%s_%s", prefix, borg_op_table[v->op].text, from,
                           simd_suffix(v->type));
    bool fast = v->op == BORG_RCP && !simd_scalar(e, v) && e->m->fast_rcp && e->target->reciprocals;
    return borg_format(e->arena, "%s_%s%s_%s", prefix, borg_op_table[v->op].text,
                       fast ? "_fast" : "", simd_suffix(v->type));
}

static const borg_inst *negated(const borg_inst *x) {
    return x->op == BORG_FNEG ? x->args[0] : NULL;
}

/* One instruction, whatever is negated: compilers keep a negation apart where it has several uses.
 */
static bool emit_fma(simd *e, borg_inst *v, int32_t i) {
    if (v->op != BORG_FMA || simd_scalar(e, v)) return false;
    const borg_inst *x = v->args[0], *y = v->args[1], *z = v->args[2];
    bool minus = (negated(x) != NULL) != (negated(y) != NULL);
    if (!negated(x) && !negated(y) && !negated(z)) return false;
    const char *name = minus ? negated(z) ? "fnms" : "fnma" : negated(z) ? "fms" : "fma";
    x = negated(x) ? negated(x) : x;
    y = negated(y) ? negated(y) : y;
    z = negated(z) ? negated(z) : z;
    simd_let(e, v, i,
             borg_format(e->arena, "b_%s_%s(%s, %s, %s)", name, simd_suffix(v->type),
                         simd_reg(e, x, i), simd_reg(e, y, i), simd_reg(e, z, i)));
    return true;
}

void simd_elem(simd *e, borg_inst *v, int32_t i) {
    if (emit_fma(e, v, i)) return;
    borg_sink text = {.arena = e->arena};
    simd_mask known = v->op == BORG_SELECT ? simd_mask_kind(e, v->args[0], i) : SIMD_SOME;
    if (known != SIMD_SOME) {
        ctext_name(&e->c, v, i, simd_reg(e, v->args[known == SIMD_ALL ? 1 : 2], i));
        return;
    }
    borg_put(&text, "%s(", function_of(e, v));
    for (int32_t k = 0; k < v->nargs; ++k)
        borg_put(&text, "%s%s", k ? ", " : "", simd_reg(e, v->args[k], i));
    borg_put(&text, ")");
    simd_let(e, v, i, text.text);
}
