/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves of lanes: most are renamings, the others broadcasts and permutes of one or two registers.
 * */
#include "borg/emit/simd/leaves.h"
#include "borg/emit/simd/leave.h"
#include "borg/emit/simd/move.h"

/* ---- BCAST, ROWS, PERM, LANE ----------------------------------------------------------------- */

/* A register of scalars that each stand for a group. */
static void spread_groups(simd *e, borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0];
    const char *text = NULL;
    int32_t row = i / simd_row_count(e, v) * e->m->pack, used = simd_used(e, v, i), w, g, last = -1;
    for (int32_t l = 0; l < used; ++l) {
        simd_place(e, v, i, l, &w, &g);
        if (g == last) continue;
        const char *all = simd_splat(e, v->type, simd_reg(e, x, row + g));
        if (last >= 0) {
            uint64_t bits[BORG_MAX_VECTOR];
            text = simd_temp(e, v->type, false, text);
            for (int32_t k = 0; k < e->lanes; ++k) bits[k] = k >= l;
            all = borg_format(e->arena, "b_select_%s(%s, %s, %s)", simd_suffix(v->type),
                              simd_literals(e, BORG_I1, bits, e->lanes), all, text);
        }
        text = all;
        last = g;
    }
    simd_let(e, v, i, text);
}

/* Values that are a scalar for each group: BCAST to and from them, ROWS of them, LANE. */
static void move_apart(simd *e, borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0];
    int32_t pack = e->m->pack, row = i / pack, g = i % pack;
    if (v->spread == BORG_WI) {
        spread_groups(e, v, i);
    } else if (v->op == BORG_LANE) {
        int32_t lane = g * e->m->size + v->map[2 * row + 1];
        int32_t reg = v->map[2 * row] * simd_row_count(e, x) + lane / e->lanes;
        simd_let(e, v, i, simd_lane(e, v->type, simd_reg(e, x, reg), lane % e->lanes));
    } else if (v->op == BORG_ROWS) {
        ctext_name(&e->c, v, i, simd_reg(e, v->args[row], v->map[row] * pack + g));
    } else {
        ctext_name(&e->c, v, i, simd_reg(e, x, row));
    }
}

static void move_register(simd *e, borg_inst *v, int32_t i) {
    borg_move k;
    if (simd_apart(e, v) || simd_apart(e, v->args[0])) {
        move_apart(e, v, i);
        return;
    }
    int32_t from[BORG_MAX_VECTOR], index[BORG_MAX_VECTOR];
    borg_classify_move(e->m, v, e->lanes, i, &k);
    if (simd_left_out(e, v, &k)) {
        simd_through_memory(e, v, i, &k);
        return;
    }
    const borg_inst *x = v->args[k.operand];
    if (k.kind == BORG_MOVE_COPY && simd_scalar(e, x) == simd_scalar(e, v)) {
        ctext_name(&e->c, v, i, simd_reg(e, x, k.source[0]));
    } else if (simd_scalar(e, x)) { /* a scalar to all lanes */
        if (simd_scalar(e, v)) {
            ctext_name(&e->c, v, i, simd_reg(e, x, k.from[0]));
        } else {
            for (int32_t l = 0; l < e->lanes; ++l) {
                from[l] = l < k.used ? k.from[l] : k.from[0];
                index[l] = 0;
            }
            simd_let(e, v, i, simd_splat(e, v->type, simd_reg(e, x, from[0])));
        }
    } else if (simd_scalar(e, v)) {
        simd_let(e, v, i, simd_lane(e, v->type, simd_reg(e, x, k.from[0]), k.index[0] % e->lanes));
    } else {
        for (int32_t l = 0; l < e->lanes; ++l) {
            from[l] = l < k.used ? k.from[l] : -1;
            index[l] = l < k.used ? k.index[l] % e->lanes : 0;
        }
        ctext_name(&e->c, v, i, simd_move(e, v->type, x->aux, from, index));
    }
}

/* ---- run-time lanes -------------------------------------------------------------------------- */

/* All lanes of a row to memory: work-item w of group g at g*size + w, in either order. */
static const char *to_memory(simd *e, const borg_inst *x, int32_t row) {
    const char *name = borg_format(e->arena, "m%d", e->c.temps++);
    int32_t registers = simd_row_count(e, x);
    ctext_line(&e->c, "%s %s[%d];", simd_type(x->type, true), name, registers * e->lanes);
    for (int32_t i = 0; i < registers; ++i)
        ctext_line(&e->c, "b_put_%s(%s + %d, %s);", simd_suffix(x->type), name, i * e->lanes,
                   simd_reg(e, x, row * registers + i));
    return name;
}

/* Where the index-th work-item of each lane's group lies in that memory. */
static const char *places(simd *e, const borg_inst *v, int32_t reg, const char *index) {
    uint64_t bits[BORG_MAX_VECTOR];
    int32_t used = simd_used(e, v, reg), w, g;
    bool wg_minor = e->m->order == BORG_WG_MINOR;
    for (int32_t l = 0; l < used; ++l) {
        simd_place(e, v, reg, l, &w, &g);
        bits[l] = (uint64_t)(wg_minor ? g : g * e->m->size);
    }
    if (simd_scalar(e, v)) return borg_format(e->arena, "%s + %d", index, (int)bits[0]);
    const char *base = simd_literals(e, BORG_I32, bits, used);
    if (wg_minor && e->m->pack > 1)
        return borg_format(e->arena, "(%s * %d + %s)", index, e->m->pack, base);
    return borg_format(e->arena, "(%s + %s)", index, base);
}

/* A group's work-items in one register, result as wide: a permute with run-time indices. */
static bool permutes(const simd *e, const borg_inst *v) {
    const borg_inst *x = v->args[0];
    return v->spread == BORG_WI && e->target->masked && v->type != BORG_I1 &&
           e->m->order == BORG_WI_MINOR && borg_row_lanes(e->m, x) > 1 &&
           (e->lanes % e->m->size == 0 || (e->m->pack == 1 && simd_row_count(e, x) == 1));
}

/* One group in two to four registers: permutes of two, and the choice between them. */
static bool permutes_two(const simd *e, const borg_inst *v) {
    int32_t registers = simd_row_count(e, v->args[0]);
    return v->spread == BORG_WI && e->target->masked && v->type != BORG_I1 && e->m->pack == 1 &&
           registers >= 2 && registers <= 4;
}

static const char *permute_two(simd *e, const borg_inst *v, int32_t row, const char *at) {
    const borg_inst *x = v->args[0];
    int32_t registers = simd_row_count(e, x);
    const char *part[2] = {NULL, NULL}, *suffix = simd_suffix(v->type);
    for (int32_t k = 0; 2 * k < registers; ++k) {
        int32_t low = row * registers + 2 * k, high = 2 * k + 1 < registers ? low + 1 : low;
        part[k] = borg_format(e->arena, "b_permute2_%s(%s, %s, %s)", suffix, simd_reg(e, x, low),
                              simd_reg(e, x, high), at);
    }
    if (!part[1]) return part[0];
    return borg_format(e->arena, "b_select_%s(b_uge_i32(%s, b_splat_i32(%d)), %s, %s)", suffix, at,
                       2 * e->lanes, part[1], part[0]);
}

static void emit_shuffle(simd *e, borg_inst *v) {
    const borg_inst *x = v->args[0], *index = v->args[1];
    int32_t per_row = simd_row_count(e, v);
    if (simd_scalar(e, x)) {
        v->aux = x->aux;
        return;
    }
    for (int32_t r = 0; r < v->rows; ++r) {
        bool two = permutes_two(e, v);
        const char *memory = two || permutes(e, v) ? NULL : to_memory(e, x, r);
        for (int32_t i = r * per_row; i < (r + 1) * per_row; ++i) {
            uint64_t bits[BORG_MAX_VECTOR];
            const char *at = simd_reg(e, index, i);
            if (two) {
                simd_let(e, v, i, permute_two(e, v, r, at));
                continue;
            }
            if (memory) {
                at = places(e, v, i, at);
                simd_let(e, v, i,
                         simd_scalar(e, v)
                             ? borg_format(e->arena, "%s[%s]", memory, at)
                             : borg_format(e->arena, "b_take_%s(%s, %s, %d)", simd_suffix(v->type),
                                           memory, at, simd_used(e, v, i)));
                continue;
            }
            for (int32_t l = 0; l < e->lanes; ++l)
                bits[l] = (uint64_t)(e->m->size < e->lanes ? l / e->m->size * e->m->size : 0);
            simd_let(e, v, i,
                     borg_format(e->arena, "b_permute_%s(%s, %s + %s)", simd_suffix(v->type),
                                 simd_reg(e, x, i), at,
                                 simd_literals(e, BORG_I32, bits, e->lanes)));
        }
    }
}

static void emit_pick(simd *e, borg_inst *v) {
    const borg_inst *x = v->args[0];
    int32_t per_row = simd_row_count(e, v);
    const char *prefix = simd_scalar(e, v) ? "s" : "b", *suffix = simd_suffix(v->type);
    for (int32_t i = 0; i < per_row; ++i) {
        const char *value = simd_reg(e, x, i), *index = simd_reg(e, v->args[1], i);
        for (int32_t r = 1; r < x->rows; ++r) {
            const char *number = simd_literal(e, BORG_I32, (uint64_t)r);
            if (!simd_scalar(e, v)) number = simd_splat(e, BORG_I32, number);
            value = simd_temp(e, v->type, simd_scalar(e, v),
                              borg_format(e->arena, "%s_select_%s(%s_eq_i32(%s, %s), %s, %s)",
                                          prefix, suffix, prefix, index, number,
                                          simd_reg(e, x, r * per_row + i), value));
        }
        ctext_name(&e->c, v, i, value);
    }
}

void simd_layout(simd *e, borg_inst *v) {
    if (v->op == BORG_SHUFV) {
        emit_shuffle(e, v);
    } else if (v->op == BORG_PICKV) {
        emit_pick(e, v);
    } else {
        for (int32_t i = 0; i < simd_count(e, v); ++i) move_register(e, v, i);
    }
}
