/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves of lanes. Within one register they are shifts (vmv): a part repeated and runs of a lane in
 * log2 steps of one under a mask each; what comes from several registers, or has no order, is
 * stored and gathered (thesis of 2021, section 7.3.3). */
#include "borg/emit/ve/core.h"

static bool left_out(const ve *e, const borg_inst *x, const borg_move *k) {
    return !ve_scalar(e, x) && e->options->disable & borg_move_option(k->kind);
}

/* Lane l of what is left is lane `index` l + shift of x, round the end. */
static const char *shifted(ve *e, const char *x, int32_t shift, int32_t used) {
    return shift == 0 ? x
                      : borg_format(e->arena, "_vel_vmv_vsvl(%d, %s, %d)", shift & 255, x, used);
}

/* The same for the lanes of a mask; the others keep what `x` has. */
static const char *shifted_under(ve *e, const char *x, int32_t shift, const uint64_t *mask,
                                 int32_t used) {
    const char *m = ve_mask(e, mask, used);
    return borg_format(e->arena, "_vel_vmv_vsvmvl(%d, %s, %s, %s, %d)", shift & 255, x, m, x, used);
}

/* A part of the register, repeated: each step doubles what is there. */
static const char *repeat(ve *e, const char *x, const borg_move *k) {
    const char *now = shifted(e, x, k->index[0], k->used);
    for (int32_t have = k->segment; have < k->used; have *= 2) {
        uint64_t mask[VE_LANES];
        for (int32_t l = 0; l < k->used; ++l) mask[l] = l >= have;
        now = ve_temp(e, "__vr", now);
        now = shifted_under(e, now, -have, mask, k->used);
    }
    return now;
}

/* Runs of a lane each: it comes to the head of its run, from there to the rest. Heads that need
 * shifts of many kinds are gathered. */
enum { MOST_SHIFTS = 4 };

static const char *runs(ve *e, const char *x, const borg_move *k) {
    int32_t shift[MOST_SHIFTS] = {k->index[0]}, count = 1;
    for (int32_t l = k->segment; l < k->used; l += k->segment) {
        int32_t s = 0;
        while (s < count && shift[s] != k->index[l] - l) ++s;
        if (s < count) continue;
        if (count == MOST_SHIFTS) return NULL;
        shift[count++] = k->index[l] - l;
    }
    const char *now = shifted(e, x, shift[0], k->used);
    for (int32_t s = 1; s < count; ++s) {
        uint64_t mask[VE_LANES];
        for (int32_t l = 0; l < k->used; ++l)
            mask[l] =
                k->index[l / k->segment * k->segment] - l / k->segment * k->segment == shift[s];
        const char *m = ve_mask(e, mask, k->used);
        now = ve_temp(e, "__vr", now);
        now = borg_format(e->arena, "_vel_vmv_vsvmvl(%d, %s, %s, %s, %d)", shift[s] & 255, x, m,
                          now, k->used);
    }
    for (int32_t have = 1; have < k->segment; have *= 2) {
        uint64_t mask[VE_LANES];
        for (int32_t l = 0; l < k->used; ++l) mask[l] = l % (2 * have) >= have;
        now = ve_temp(e, "__vr", now);
        now = shifted_under(e, now, -have, mask, k->used);
    }
    return now;
}

/* By memory: the registers it comes from stored, its lanes gathered. */
static const char *gathered(ve *e, const borg_inst *x, const borg_move *k) {
    int32_t list[VE_LANES], count = 0;
    uint64_t at[VE_LANES];
    const char *name = borg_format(e->arena, "m%d", e->c.temps++);
    for (int32_t l = 0; l < k->used; ++l) {
        int32_t s = 0;
        while (s < count && list[s] != k->from[l]) ++s;
        if (s == count) list[count++] = k->from[l];
        at[l] = (uint64_t)(8 * (s * VE_LANES + k->index[l]));
    }
    ctext_line(&e->c, "uint64_t %s[%d];", name, count * VE_LANES);
    for (int32_t s = 0; s < count; ++s) {
        const int32_t used = ve_used(e, x, list[s]);
        ctext_line(&e->c, "b_put(%s + %d, %s, %d);", name, s * VE_LANES,
                   ve_open(e, x->type, ve_reg(e, x, list[s]), used), used);
    }
    return borg_format(e->arena, "b_take(%s, %s, %d)", name, ve_words(e, at, k->used), k->used);
}

/* One register of the result, from registers. */
static const char *moved(ve *e, borg_inst *v, const borg_inst *x, const borg_move *k) {
    const char *from = ve_reg(e, x, k->source[0]), *text = NULL;
    const int32_t used = ve_used(e, x, k->source[0]);
    if (left_out(e, x, k)) return ve_close(e, v->type, gathered(e, x, k), k->used);
    if (k->kind == BORG_MOVE_COPY) return from;
    if (k->kind == BORG_MOVE_SPLAT)
        return ve_splat(e, v->type, ve_lane(e, v->type, from, k->index[0]), k->used);
    const bool open = k->kind == BORG_MOVE_VECTOR || k->kind == BORG_MOVE_SEGMENTED ||
                      k->kind == BORG_MOVE_ROTATE;
    if (open && v->type == BORG_I1) from = ve_temp(e, "__vr", ve_open(e, v->type, from, used));
    if (k->kind == BORG_MOVE_VECTOR) text = repeat(e, from, k);
    if (k->kind == BORG_MOVE_SEGMENTED) text = runs(e, from, k);
    if (k->kind == BORG_MOVE_ROTATE && k->from[k->used - 1] == k->from[0])
        text = shifted(e, from, k->index[0], k->used);
    return ve_close(e, v->type, text ? text : gathered(e, x, k), k->used);
}

static void move_register(ve *e, borg_inst *v, int32_t i) {
    borg_move k;
    borg_classify_move(e->m, v, VE_LANES, i, &k);
    const borg_inst *x = v->args[k.operand];
    if (ve_scalar(e, x)) {
        const char *from = ve_reg(e, x, k.from[0]);
        if (ve_scalar(e, v))
            ctext_name(&e->c, v, i, from);
        else
            ve_let(e, v, i, ve_splat(e, v->type, from, k.used));
    } else if (ve_scalar(e, v)) {
        if (left_out(e, x, &k) || e->options->disable & BORG_NO_SCALAR)
            ve_let(e, v, i, ve_lane(e, v->type, ve_close(e, v->type, gathered(e, x, &k), 1), 0));
        else
            ve_let(e, v, i, ve_lane(e, v->type, ve_reg(e, x, k.from[0]), k.index[0]));
    } else {
        const char *text = moved(e, v, x, &k);
        if (k.kind == BORG_MOVE_COPY && !left_out(e, x, &k))
            ctext_name(&e->c, v, i, text);
        else
            ve_let(e, v, i, text);
    }
}

/* The work-item that each lane asks for, of the lane's own group: its place in memory, in bytes. */
static const char *places(ve *e, const borg_inst *v, int32_t i, const char *index) {
    uint64_t word[VE_LANES];
    const int32_t used = ve_used(e, v, i);
    const bool interleaved = e->m->order == BORG_WG_MINOR;
    for (int32_t l = 0; l < used; ++l) {
        int32_t w, g;
        ve_place(e, v, i, l, &w, &g);
        word[l] = 8 * (uint64_t)(interleaved ? g : g * e->m->size);
    }
    return borg_format(e->arena, "_vel_vaddul_vvvl(_vel_vmulul_vsvl(%d, %s, %d), %s, %d)",
                       8 * (interleaved ? e->m->pack : 1), index, used, ve_words(e, word, used),
                       used);
}

static void emit_shuffle(ve *e, borg_inst *v) {
    const borg_inst *x = v->args[0], *index = v->args[1];
    const int32_t per_row = ve_per_row(e, v);
    if (ve_scalar(e, x)) {
        v->aux = x->aux;
        return;
    }
    for (int32_t i = 0; i < ve_count(e, v); ++i) {
        const char *memory = ve_spill(e, x, i / per_row), *at = ve_reg(e, index, i);
        if (ve_scalar(e, v)) {
            ve_let(e, v, i,
                   borg_format(e->arena, "b_of_word_%s(%s[%s])", ve_suffix(v->type), memory, at));
            continue;
        }
        const int32_t used = ve_used(e, v, i);
        ve_let(
            e, v, i,
            ve_close(e, v->type,
                     borg_format(e->arena, "b_take(%s, %s, %d)", memory, places(e, v, i, at), used),
                     used));
    }
}

static void emit_pick(ve *e, borg_inst *v) {
    const borg_inst *x = v->args[0];
    const int32_t per_row = ve_per_row(e, v);
    const bool scalar = ve_scalar(e, v);
    const char *prefix = scalar ? "s" : "b", *suffix = ve_suffix(v->type);
    for (int32_t i = 0; i < per_row; ++i) {
        const int32_t used = ve_used(e, v, i);
        const char *value = ve_reg(e, x, i), *index = ve_reg(e, v->args[1], i);
        const char *length = scalar ? "" : borg_format(e->arena, ", %d", used);
        for (int32_t r = 1; r < x->rows; ++r) {
            const char *number = ctext_literal(&e->c, BORG_I32, (uint64_t)r);
            if (!scalar) number = ve_splat(e, BORG_I32, number, used);
            value = ve_temp(e, ve_type(v->type, scalar),
                            borg_format(e->arena, "%s_select_%s(%s_eq_i32(%s, %s%s), %s, %s%s)",
                                        prefix, suffix, prefix, index, number, length,
                                        ve_reg(e, x, r * per_row + i), value, length));
        }
        ctext_name(&e->c, v, i, value);
    }
}

void ve_layout(ve *e, borg_inst *v) {
    if (v->op == BORG_SHUFV) {
        emit_shuffle(e, v);
    } else if (v->op == BORG_PICKV) {
        emit_pick(e, v);
    } else {
        for (int32_t i = 0; i < ve_count(e, v); ++i) move_register(e, v, i);
    }
}
