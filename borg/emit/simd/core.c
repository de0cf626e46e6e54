/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and their registers: names, lanes, constants. */
#include "borg/emit/simd/core.h"
#include <inttypes.h>

bool simd_apart(const simd *e, const borg_inst *v) {
    return v->spread == BORG_WG && (e->apart || v->mark == SIMD_ADDRESS);
}

bool simd_scalar(const simd *e, const borg_inst *v) {
    return simd_apart(e, v) || borg_row_lanes(e->m, v) == 1;
}

int32_t simd_row_count(const simd *e, const borg_inst *v) {
    return simd_apart(e, v) ? e->m->pack : borg_row_registers(e->m, v, e->lanes);
}

int32_t simd_count(const simd *e, const borg_inst *v) {
    return v->rows * simd_row_count(e, v);
}

void simd_place(const simd *e, const borg_inst *v, int32_t reg, int32_t lane, int32_t *wi,
                int32_t *wg) {
    int32_t in_row = reg % simd_row_count(e, v);
    borg_lane_place(e->m, v, simd_apart(e, v) ? in_row : in_row * e->lanes + lane, wi, wg);
}

int32_t simd_used(const simd *e, const borg_inst *v, int32_t reg) {
    if (simd_apart(e, v)) return 1;
    int32_t left = borg_row_lanes(e->m, v) - reg % borg_row_registers(e->m, v, e->lanes) * e->lanes;
    return left < e->lanes ? left : e->lanes;
}

uint64_t simd_bits(int32_t count) {
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

const char *simd_reg(const simd *e, const borg_inst *v, int32_t i) {
    (void)e;
    return ((const char *const *)v->aux)[i];
}

const char *simd_suffix(borg_type type) {
    return type == BORG_PTR ? "i64" : borg_type_text(type);
}

const char *simd_type(borg_type type, bool scalar) {
    static const char *const scalars[] = {"void",  "bool",   "uint32_t", "uint64_t",
                                          "float", "double", "uint64_t"};
    static const char *const vectors[] = {"void", "vm", "vi32", "vi64", "vf32", "vf64", "vi64"};
    return scalar ? scalars[type] : vectors[type];
}

void simd_let(simd *e, borg_inst *v, int32_t i, const char *expression) {
    const char *name = simd_count(e, v) == 1 ? borg_format(e->arena, "v%d", v->id)
                                             : borg_format(e->arena, "v%d_%d", v->id, i);
    const bool stream = e->options->disable & BORG_STREAM && borg_is_float(v->type);
    ctext_line(&e->c, "const %s%s %s = %s;", stream ? "volatile " : "",
               simd_type(v->type, simd_scalar(e, v)), name, expression);
    ctext_name(&e->c, v, i, name);
}

const char *simd_temp(simd *e, borg_type type, bool scalar, const char *expression) {
    return ctext_temp(&e->c, simd_type(type, scalar), expression);
}

/* ---- constants ------------------------------------------------------------------------------- */

const char *simd_literal(simd *e, borg_type type, uint64_t bits) {
    return ctext_literal(&e->c, type, bits);
}

const char *simd_splat(simd *e, borg_type type, const char *scalar) {
    return borg_format(e->arena, "b_splat_%s(%s)", simd_suffix(type), scalar);
}

const char *simd_lane(simd *e, borg_type type, const char *reg, int32_t lane) {
    if (type == BORG_I1) return borg_format(e->arena, "b_bit(%s, %d)", reg, lane);
    return borg_format(e->arena, "%s[%d]", reg, lane);
}

const char *simd_literals(simd *e, borg_type type, const uint64_t *bits, int32_t used) {
    uint64_t mask = 0;
    bool equal = true;
    for (int32_t i = 0; i < used; ++i) {
        equal = equal && bits[i] == bits[0];
        mask |= (bits[i] & 1) << i;
    }
    if (type == BORG_I1 && e->target->bits) return borg_format(e->arena, "0x%" PRIx64, mask);
    if (equal) return simd_splat(e, type, simd_literal(e, type, bits[0]));
    borg_sink text = {.arena = e->arena};
    borg_put(&text, "(%s){", simd_type(type, false));
    for (int32_t i = 0; i < e->lanes; ++i) {
        uint64_t x = i < used ? bits[i] : 0;
        borg_put(&text, "%s%s%s", i ? ", " : "", type == BORG_I1 && x ? "-" : "",
                 simd_literal(e, type, x));
    }
    borg_put(&text, "}");
    return text.text;
}

simd_mask simd_mask_kind(const simd *e, const borg_inst *mask, int32_t reg) {
    if (!mask) return SIMD_ALL;
    if (mask->op != BORG_CONST) return SIMD_SOME;
    int32_t per_row = simd_row_count(e, mask), used = simd_used(e, mask, reg);
    int32_t ones = 0, w, g;
    for (int32_t l = 0; l < used; ++l) {
        simd_place(e, mask, reg, l, &w, &g);
        ones += borg_const_bits(e->m, mask, reg / per_row, w) & 1;
    }
    return ones == used ? SIMD_ALL : ones == 0 ? SIMD_NONE : SIMD_SOME;
}
