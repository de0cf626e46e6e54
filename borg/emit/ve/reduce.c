/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over the work-items of a group: sums, any and all by shifts of one register in log2
 * steps; what has to find a place, and groups that fill more than a register, in memory. */
#include "borg/emit/ve/core.h"

static bool is_sum(const borg_inst *v) {
    return v->op == BORG_RSUM || v->op == BORG_ANY || v->op == BORG_ALL;
}

/* Lane (w, g) gets the halving tree's result for w = 0; x holds one row. */
static const char *tree(ve *e, const borg_inst *v, const borg_inst *x, int32_t row) {
    const int32_t used = ve_used(e, x, row), size = e->m->size;
    const int32_t step = e->m->order == BORG_WG_MINOR ? e->m->pack : 1;
    const char *now = ve_open(e, x->type, ve_reg(e, x, row), used);
    const char *add = x->type == BORG_F64   ? "_vel_vfaddd_vvvmvl"
                      : x->type == BORG_F32 ? "_vel_vfadds_vvvmvl"
                      : v->op == BORG_ANY   ? "_vel_vor_vvvmvl"
                      : v->op == BORG_ALL   ? "_vel_vand_vvvmvl"
                      : x->type == BORG_I1  ? "_vel_vxor_vvvmvl"
                                            : "_vel_vaddul_vvvmvl";
    int32_t half = 1;
    while (2 * half < size) half *= 2;
    for (; half >= 1; half /= 2) {
        uint64_t mask[VE_LANES];
        for (int32_t l = 0; l < used; ++l) {
            int32_t w, g;
            ve_place(e, x, row, l, &w, &g);
            mask[l] = w < half && w + half < size;
        }
        now = ve_temp(e, "__vr", now);
        const char *m = ve_mask(e, mask, used);
        now = borg_format(e->arena, "%s(%s, _vel_vmv_vsvl(%d, %s, %d), %s, %s, %d)", add, now,
                          half * step, now, used, m, now, used);
    }
    if (x->type == BORG_I32) now = borg_format(e->arena, "b_low(%s, %d)", now, used);
    return ve_temp(e, "__vr", now);
}

/* The first work-item of each group: a scalar, or the pack's groups side by side. */
static void take_first(ve *e, borg_inst *v, int32_t row, const char *reg) {
    const int32_t pack = e->m->pack;
    if (ve_scalar(e, v)) {
        ve_let(e, v, row,
               v->type == BORG_I1 ? borg_format(e->arena, "b_lane_i64(%s, 0) != 0", reg)
                                  : ve_lane(e, v->type, reg, 0));
        return;
    }
    if (e->m->order == BORG_WI_MINOR) {
        const char *name = borg_format(e->arena, "m%d", e->c.temps++);
        ctext_line(&e->c, "uint64_t %s[%d];", name, pack * e->m->size);
        ctext_line(&e->c, "b_put(%s, %s, %d);", name, reg, pack * e->m->size);
        reg = borg_format(e->arena, "b_load_i64(%s, %d, %d)", name, 8 * e->m->size, pack);
    }
    ve_let(e, v, row, ve_close(e, v->type, reg, pack));
}

/* Group by group, in memory. */
static void in_memory(ve *e, borg_inst *v, int32_t row) {
    const borg_inst *x = v->args[0];
    const char *from = ve_spill(e, x, row), *suffix = ve_suffix(x->type);
    const bool interleaved = e->m->order == BORG_WG_MINOR;
    const bool uns = v->uns && borg_is_int(x->type) && !is_sum(v);
    const char *one = borg_format(e->arena, "b_%s%s_%s(%s + %%s, %d, %d)", uns ? "u" : "",
                                  borg_op_table[v->op].text, suffix, from, e->m->size,
                                  interleaved ? e->m->pack : 1);
    if (ve_scalar(e, v)) {
        ve_let(e, v, row, borg_format(e->arena, one, "0"));
        return;
    }
    const char *to = borg_format(e->arena, "m%d", e->c.temps++);
    const char *place = interleaved ? "g" : borg_format(e->arena, "g * %d", e->m->size);
    ctext_line(&e->c, "uint64_t %s[%d];", to, e->m->pack);
    ctext_line(&e->c, "for (int g = 0; g < %d; ++g) %s[g] = b_word_%s(%s);", e->m->pack, to,
               ve_suffix(v->type), borg_format(e->arena, one, place));
    ve_let(e, v, row,
           ve_close(e, v->type, borg_format(e->arena, "b_load_i64(%s, 8, %d)", to, e->m->pack),
                    e->m->pack));
}

/* One result for the whole pack. */
static void over_pack(ve *e, borg_inst *v, int32_t row) {
    const borg_inst *x = v->args[0];
    const bool any = v->op == BORG_ANYP || v->op == BORG_ANY;
    borg_sink text = {.arena = e->arena};
    for (int32_t i = 0; i < ve_per_row(e, x); ++i) {
        const int32_t k = row * ve_per_row(e, x) + i, used = ve_used(e, x, k);
        borg_put(&text, "%s", i ? any ? " || " : " && " : "");
        if (ve_scalar(e, x))
            borg_put(&text, "%s", ve_reg(e, x, k));
        else if (any)
            borg_put(&text, "b_ones(%s, %d) != 0", ve_reg(e, x, k), used);
        else
            borg_put(&text, "b_ones(%s, %d) == %d", ve_reg(e, x, k), used, used);
    }
    ve_let(e, v, row, text.text);
}

void ve_reduce(ve *e, borg_inst *v) {
    const borg_inst *x = v->args[0];
    const bool whole = v->op == BORG_ANYP || v->op == BORG_ALLP;
    const bool all = (v->op == BORG_ANY || v->op == BORG_ALL) && e->m->pack == 1;
    for (int32_t row = 0; row < v->rows; ++row) {
        if (whole || all)
            over_pack(e, v, row);
        else if (is_sum(v) && !ve_scalar(e, x) && ve_per_row(e, x) == 1)
            take_first(e, v, row, tree(e, v, x, row));
        else
            in_memory(e, v, row);
    }
}
