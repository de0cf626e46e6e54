/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and their scalars: names, and where a thread is. */
#include "borg/emit/simt/core.h"

int32_t simt_per_row(const simt *e, const borg_inst *v) {
    return v->spread == BORG_WI ? e->rows : 1;
}

int32_t simt_count(const simt *e, const borg_inst *v) {
    return v->rows * simt_per_row(e, v);
}

/* The name for scalar i where it is used far from where it was made. */
static const char *far_name(const simt *e, const borg_inst *v, int32_t i) {
    int32_t per = simt_per_row(e, v);
    if (!(v->spread == BORG_WI && v->mark & SIMT_FAR) || e->now - v->id < SIMT_FAR_INSTRUCTIONS)
        return NULL;
    return borg_format(e->arena, "b_x%s[(%d + b_l) * %d + %d]", simt_suffix(v->type),
                       i % per * e->lanes, e->stride[v->type], simt_slot_of(v) + i / per);
}

const char *simt_get(const simt *e, const borg_inst *v, int32_t i) {
    const char *far = far_name(e, v, i);
    return far ? far : ((const char *const *)v->aux)[i];
}

const char *simt_suffix(borg_type type) {
    static const char *const text[] = {"void", "i1", "i32", "i64", "f32", "f64", "ptr"};
    return text[type];
}

void simt_let(simt *e, borg_inst *v, int32_t i, const char *expression) {
    const char *name = simt_count(e, v) == 1 ? borg_format(e->arena, "v%d", v->id)
                                             : borg_format(e->arena, "v%d_%d", v->id, i);
    ctext_line(&e->c, "%s%s %s = %s;", v->type == BORG_PTR ? "" : "const ",
               e->target->types[v->type], name, expression);
    ctext_name(&e->c, v, i, name);
}

const char *simt_temp(simt *e, borg_type type, const char *expression) {
    return ctext_temp(&e->c, e->target->types[type], expression);
}

/* Packs of a warp may take different branches. */
const char *simt_mask(const simt *e) {
    return e->branches > 0 && e->units > 1 ? "b_pack" : "B_WARP";
}

const char *simt_item(const simt *e, int32_t j) {
    return e->lanes == 1 ? borg_format(e->arena, "%d", j < e->m->size ? j : e->m->size - 1)
                         : borg_format(e->arena, "b_w%d", j);
}

const char *simt_on(const simt *e, int32_t j) {
    bool all = (j + 1) * e->lanes <= e->m->size && !(e->m->flat && j > 0);
    if (all) return e->m->pack > 1 ? "b_there" : NULL;
    return borg_format(e->arena, "b_on%d", j);
}

const char *simt_shuffled(const simt *e, borg_type type, const char *x, const char *lane) {
    const char *suffix = simt_suffix(type), *mask = simt_mask(e);
    if (e->step == 1)
        return borg_format(e->arena, "b_shfl_%s(%s, %s, %s, %d)", suffix, mask, x, lane, e->lanes);
    return borg_format(e->arena, "b_shfl_%s(%s, %s, b_base + (%s) * %d, 32)", suffix, mask, x, lane,
                       e->step);
}

const char *simt_thread_of_group(const simt *e, const char *text) {
    if (e->step == 1) return borg_format(e->arena, "(b_i32)(%s - b_base)", text);
    return borg_format(e->arena, "(b_i32)(%s) / %du", text, e->step);
}
