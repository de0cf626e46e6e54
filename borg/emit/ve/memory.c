/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores: lanes that lie at equal distances are one access with a stride, all others are
 * gathered or scattered. A load under a mask is a gather, as loads have none. */
#include "borg/emit/ve/core.h"
#include <inttypes.h>

typedef struct access {
    const borg_inst *v, *value;
    const char *mask; /* of the register, or NULL */
    int32_t reg, row, used, bytes;
    uint64_t element[VE_LANES]; /* LOADA, STOREA: c + b wi + a wg */
} access;

static const char *pointer(ve *e, const access *k) {
    const borg_inst *p = k->v->args[0];
    if (p->op == BORG_LOCAL) return borg_format(e->arena, "l_%s", e->m->locals[p->index].name);
    return ve_reg(e, p, 0);
}

static const char *element_type(const access *k) {
    return ve_type(k->value->type, true);
}

/* One value for each group, for the lanes of the access. */
static const char *of_groups(ve *e, const access *k, const borg_inst *x) {
    if (ve_scalar(e, x))
        return ve_splat(e, BORG_I64, borg_format(e->arena, "(uint64_t)%s", ve_reg(e, x, 0)),
                        k->used);
    if (k->value->spread == BORG_WG) return ve_reg(e, x, k->reg % ve_per_row(e, k->value));
    uint64_t at[VE_LANES];
    for (int32_t l = 0; l < k->used; ++l) {
        int32_t w, g;
        ve_place(e, k->value, k->reg, l, &w, &g);
        at[l] = 8 * (uint64_t)g;
    }
    return borg_format(e->arena, "b_take(%s, %s, %d)", ve_spill(e, x, 0), ve_words(e, at, k->used),
                       k->used);
}

/* The lanes' addresses. */
static const char *addresses(ve *e, const access *k) {
    const borg_inst *v = k->v, *p = v->args[0], *x = v->args[1];
    const bool affine = v->op == BORG_LOADA || v->op == BORG_STOREA;
    const int32_t used = k->used;
    uint64_t word[VE_LANES];
    const char *offset;
    if (p->op == BORG_LOCAL) {
        for (int32_t l = 0; l < used; ++l) {
            int32_t w, g;
            ve_place(e, k->value, k->reg, l, &w, &g);
            word[l] = (uint64_t)g * (uint64_t)e->m->locals[p->index].count;
        }
        offset = borg_format(e->arena, "_vel_vaddul_vvvl(b_sext(%s, %d), %s, %d)",
                             ve_reg(e, x, k->reg), used, ve_words(e, word, used), used);
    } else if (affine) {
        offset = borg_format(e->arena, "_vel_vaddul_vvvl(%s, %s, %d)", of_groups(e, k, x),
                             ve_words(e, k->element, used), used);
    } else {
        offset = ve_reg(e, x, k->reg);
    }
    offset =
        borg_format(e->arena, "_vel_vsll_vvsl(%s, %d, %d)", offset, k->bytes == 8 ? 3 : 2, used);
    if (p->op == BORG_LOCAL || ve_scalar(e, p))
        return borg_format(e->arena, "_vel_vaddul_vsvl((uint64_t)(uintptr_t)%s, %s, %d)",
                           pointer(e, k), offset, used);
    return borg_format(e->arena, "_vel_vaddul_vvvl(%s, %s, %d)", of_groups(e, k, p), offset, used);
}

/* Are the lanes of the register at one distance from each other, from one address? */
static bool strided(const ve *e, const access *k) {
    const borg_inst *v = k->v;
    if (v->op != BORG_LOADA && v->op != BORG_STOREA) return false;
    if (!ve_scalar(e, v->args[0]) || !ve_scalar(e, v->args[1])) return false;
    for (int32_t l = 2; l < k->used; ++l)
        if (k->element[l] - k->element[l - 1] != k->element[1] - k->element[0]) return false;
    return true;
}

static const char *first_address(ve *e, const access *k) {
    return borg_format(e->arena, "(const char *)%s + %d * (int64_t)(%s + UINT64_C(%" PRIu64 "))",
                       pointer(e, k), k->bytes, ve_reg(e, k->v->args[1], 0), k->element[0]);
}

static const char *step(ve *e, const access *k) {
    const uint64_t between = k->used > 1 ? k->element[1] - k->element[0] : 1;
    return borg_format(e->arena, "UINT64_C(%" PRIu64 ")", between * (uint64_t)k->bytes);
}

static void load_register(ve *e, const access *k, borg_inst *v) {
    const char *suffix = ve_suffix(v->type), *text;
    if (!k->mask && strided(e, k)) {
        text = borg_format(e->arena, "b_load_%s(%s, %s, %d)", suffix, first_address(e, k),
                           step(e, k), k->used);
    } else {
        const char *at = addresses(e, k);
        text = k->mask
                   ? borg_format(e->arena, "b_gatherm_%s(%s, %s, %d)", suffix, at, k->mask, k->used)
                   : borg_format(e->arena, "b_gather_%s(%s, %d)", suffix, at, k->used);
    }
    ve_let(e, v, k->reg, text);
}

static void store_register(ve *e, const access *k) {
    const char *suffix = ve_suffix(k->value->type), *value = ve_reg(e, k->value, k->reg);
    const bool affine = strided(e, k);
    const char *at = affine ? borg_format(e->arena, "(void *)(uintptr_t)(%s), %s",
                                          first_address(e, k), step(e, k))
                            : addresses(e, k);
    const char *name = affine ? "store" : "scatter";
    if (k->mask)
        ctext_line(&e->c, "b_%sm_%s(%s, %s, %s, %d);", name, suffix, at, value, k->mask, k->used);
    else
        ctext_line(&e->c, "b_%s_%s(%s, %s, %d);", name, suffix, at, value, k->used);
}

/* One lane: a scalar of C. */
static void one_lane(ve *e, const access *k, borg_inst *result) {
    const borg_inst *x = k->v->args[1];
    const char *type = element_type(k), *index = ve_reg(e, x, x->rows > 1 ? k->row : 0);
    const char *place =
        k->v->op == BORG_LOADA || k->v->op == BORG_STOREA
            ? borg_format(e->arena, "(int64_t)(%s + UINT64_C(%" PRIu64 "))", index, k->element[0])
        : k->v->args[0]->op == BORG_LOCAL ? borg_format(e->arena, "(int32_t)%s", index)
                                          : borg_format(e->arena, "(int64_t)%s", index);
    if (result)
        ve_let(e, result, k->reg,
               borg_format(e->arena, "%s%s((const %s *)%s)[%s]%s", k->mask ? k->mask : "",
                           k->mask ? " ? " : "", type, pointer(e, k), place,
                           k->mask ? " : 0" : ""));
    else
        ctext_line(&e->c, "%s%s%s((%s *)%s)[%s] = %s;", k->mask ? "if (" : "",
                   k->mask ? k->mask : "", k->mask ? ") " : "", type, pointer(e, k), place,
                   ve_reg(e, k->value, k->reg));
}

void ve_memory(ve *e, borg_inst *v) {
    const borg_inst *mask = borg_mask(v);
    if (v->op == BORG_BARRIER) return;
    access k = {.v = v, .value = borg_stored(v) ? borg_stored(v) : v};
    k.bytes = borg_type_bytes(k.value->type);
    for (int32_t i = 0; i < ve_count(e, k.value); ++i) {
        k.reg = i;
        k.row = i / ve_per_row(e, k.value);
        k.used = ve_used(e, k.value, i);
        k.mask = mask ? ve_reg(e, mask, i) : NULL;
        for (int32_t l = 0; l < k.used && v->c; ++l) {
            int32_t w, g;
            ve_place(e, k.value, i, l, &w, &g);
            k.element[l] = (uint64_t)(v->c[k.row] + v->b * w + v->a * g);
        }
        if (ve_scalar(e, k.value))
            one_lane(e, &k, borg_stored(v) ? NULL : v);
        else if (borg_stored(v))
            store_register(e, &k);
        else
            load_register(e, &k, v);
    }
}
