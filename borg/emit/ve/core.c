/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and their registers, constants, what is stored and loaded again. */
#include "borg/emit/ve/core.h"
#include "borg/emit/simd/core.h"
#include <inttypes.h>
#include <string.h>

/* ---- values and registers -------------------------------------------------------------------- */

bool ve_scalar(const ve *e, const borg_inst *v) {
    return borg_row_lanes(e->m, v) == 1;
}

int32_t ve_per_row(const ve *e, const borg_inst *v) {
    return borg_row_registers(e->m, v, VE_LANES);
}

int32_t ve_count(const ve *e, const borg_inst *v) {
    return v->rows * ve_per_row(e, v);
}

int32_t ve_used(const ve *e, const borg_inst *v, int32_t i) {
    const int32_t left = borg_row_lanes(e->m, v) - i % ve_per_row(e, v) * VE_LANES;
    return left < VE_LANES ? left : VE_LANES;
}

void ve_place(const ve *e, const borg_inst *v, int32_t i, int32_t lane, int32_t *wi, int32_t *wg) {
    borg_lane_place(e->m, v, i % ve_per_row(e, v) * VE_LANES + lane, wi, wg);
}

const char *ve_reg(const ve *e, const borg_inst *v, int32_t i) {
    (void)e;
    return ((const char *const *)v->aux)[i];
}

const char *ve_suffix(borg_type type) {
    return type == BORG_PTR ? "i64" : borg_type_text(type);
}

const char *ve_type(borg_type type, bool scalar) {
    return scalar ? simd_type(type, true) : type == BORG_I1 ? "__vm256" : "__vr";
}

void ve_let(ve *e, borg_inst *v, int32_t i, const char *expression) {
    const char *name = ve_count(e, v) == 1 ? borg_format(e->arena, "v%d", v->id)
                                           : borg_format(e->arena, "v%d_%d", v->id, i);
    const bool stream = e->options->disable & BORG_STREAM && borg_is_float(v->type);
    const bool scalar = ve_scalar(e, v), stored = stream || v->mark == VE_IN_MEMORY;
    if (stored && !scalar && v->type != BORG_I1) { /* by way of memory */
        const int32_t used = ve_used(e, v, i);
        ctext_line(&e->c, "uint64_t m_%s[%d];", name, used);
        ctext_line(&e->c, "b_put(m_%s, %s, %d);", name, expression, used);
        name = borg_format(e->arena, "b_load_i64(m_%s, 8, %d)", name, used);
    } else {
        ctext_line(&e->c, "const %s%s %s = %s;", stream && scalar ? "volatile " : "",
                   ve_type(v->type, scalar), name, expression);
    }
    ctext_name(&e->c, v, i, name);
}

const char *ve_temp(ve *e, const char *type, const char *expression) {
    return ctext_temp(&e->c, type, expression);
}

static int32_t table_of(ve *e, const uint64_t *word, int32_t used) {
    ve_table *t = BORG_NEW(e->arena, 1, ve_table);
    memcpy(t->word, word, (size_t)used * sizeof *word);
    for (const ve_table *x = e->tables; x; x = x->next)
        if (memcmp(x->word, t->word, sizeof t->word) == 0) return x->number;
    t->number = e->ntables++;
    t->next = e->tables;
    e->tables = t;
    return t->number;
}

const char *ve_words(ve *e, const uint64_t *word, int32_t used) {
    bool same = true;
    for (int32_t l = 1; l < used; ++l) same = same && word[l] == word[0];
    if (same)
        return borg_format(e->arena, "b_splat_i64(b_again(UINT64_C(0x%" PRIx64 ")), %d)", word[0],
                           used);
    return borg_format(e->arena, "b_words(b_table%d, %d)", table_of(e, word, used), used);
}

const char *ve_mask(ve *e, const uint64_t *word, int32_t used) {
    return ve_temp(e, ve_type(BORG_I1, false), ve_close(e, BORG_I1, ve_words(e, word, used), used));
}

const char *ve_splat(ve *e, borg_type type, const char *scalar, int32_t used) {
    return borg_format(e->arena, "b_splat_%s(%s, %d)", ve_suffix(type), scalar, used);
}

const char *ve_lane(ve *e, borg_type type, const char *reg, int32_t lane) {
    return borg_format(e->arena, "b_lane_%s(%s, %d)", ve_suffix(type), reg, lane);
}

const char *ve_open(ve *e, borg_type type, const char *reg, int32_t used) {
    return type == BORG_I1 ? borg_format(e->arena, "b_open(%s, %d)", reg, used) : reg;
}

const char *ve_close(ve *e, borg_type type, const char *reg, int32_t used) {
    return type == BORG_I1 ? borg_format(e->arena, "b_close(%s, %d)", reg, used) : reg;
}

const char *ve_spill(ve *e, const borg_inst *x, int32_t row) {
    const char *name = borg_format(e->arena, "m%d", e->c.temps++);
    const int32_t registers = ve_per_row(e, x);
    ctext_line(&e->c, "uint64_t %s[%d];", name, borg_row_lanes(e->m, x));
    for (int32_t i = 0; i < registers; ++i) {
        const int32_t k = row * registers + i;
        if (ve_scalar(e, x))
            ctext_line(&e->c, "%s[0] = b_word_%s(%s);", name, ve_suffix(x->type), ve_reg(e, x, k));
        else
            ctext_line(&e->c, "b_put(%s + %d, %s, %d);", name, i * VE_LANES,
                       ve_open(e, x->type, ve_reg(e, x, k), ve_used(e, x, k)), ve_used(e, x, k));
    }
    return name;
}
