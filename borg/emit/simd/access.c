/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the lanes of a register that is loaded or stored lie in memory. */
#include "borg/emit/simd/access.h"
#include <inttypes.h>
#include <string.h>

static const char *memory_type(borg_type type) {
    return type == BORG_PTR ? "b_pointer" : simd_type(type, true);
}

/* A value that has one lane for each group, or one for all: that of group g. */
const char *simd_access_of_group(simd *e, const borg_inst *x, int32_t g) {
    if (simd_scalar(e, x)) return simd_reg(e, x, x->spread == BORG_WG ? g : 0);
    return simd_lane(e, x->type, simd_reg(e, x, g / e->lanes), g % e->lanes);
}

/* Do the groups' arrays lie element by element, each with that of all groups? */
bool simd_access_interleaved(const simd *e) {
    return e->m->order == BORG_WG_MINOR;
}

const char *simd_access_pointer(simd *e, const simd_access *k, int32_t g) {
    const borg_inst *p = k->v->args[0];
    const borg_type elem = borg_access_type(e->m, k->v);
    const char *type = elem == BORG_I8        ? "uint8_t"
                       : borg_is_narrow(elem) ? "uint16_t"
                                              : memory_type(k->type);
    const char *constant = k->store ? "" : "const ";
    if (p->op == BORG_LOCAL) { /* of this type */
        const borg_local *d = &e->m->locals[p->index];
        return borg_format(e->arena, "(l_%s + %d)", d->name,
                           simd_access_interleaved(e) ? g : g * d->count);
    }
    if (p->op == BORG_PARAM)
        return borg_format(e->arena, "((%s%s *)%s)", constant, type, simd_reg(e, p, 0));
    return borg_format(e->arena, "((%s%s *)(uintptr_t)%s)", constant, type,
                       simd_access_of_group(e, p, g));
}

bool simd_access_affine(const simd_access *k) {
    return k->near || k->v->op == BORG_LOADA || k->v->op == BORG_STOREA;
}

bool simd_near(const simd *e, const borg_inst *v, const borg_inst **base, const borg_inst **part) {
    return (v->op == BORG_LOAD || v->op == BORG_STORE) && v->args[0]->op == BORG_LOCAL &&
           borg_index_parts(e->m, v->args[1], base, part) && (!*base || simd_scalar(e, *base));
}

/* All accesses go by the base alone: what else their indices are made of is not computed. */
static void skip_indices(simd *e, borg_block *block) {
    const borg_inst *base, *part;
    for (borg_inst *v = block->first; v; v = v->next) {
        for (int i = 0; i < 2; ++i)
            if (v->block[i]) skip_indices(e, v->block[i]);
        if (!simd_near(e, v, &base, &part)) continue;
        borg_inst *x = v->args[1];
        if (base) ++((borg_inst *)base)->uses;
        --x->uses;
        for (int32_t i = 0;
             x->uses == 0 && (x->op == BORG_ADD || x->op == BORG_BCAST) && i < x->nargs; ++i) {
            borg_inst *y = x->args[i];
            if (--y->uses == 0 && y->op == BORG_BCAST) --y->args[0]->uses;
        }
    }
}

void simd_skip_indices(simd *e) {
    skip_indices(e, e->m->body);
}

/* Of all groups' arrays: by element and group where they are interleaved. */
static void prepare_near(const simd *e, simd_access *k, const borg_inst *x) {
    const int64_t count = e->m->locals[k->v->args[0]->index].count;
    for (int32_t l = 0; l < k->used; ++l) {
        const int64_t at = x ? (int32_t)borg_const_bits(e->m, x, k->row, k->wi[l]) : 0;
        k->element[l] = (uint64_t)(simd_access_interleaved(e) ? at * e->m->pack + k->wg[l]
                                                              : at + k->wg[l] * count);
    }
}

/* Which element of its group's array a lane accesses. */
static const char *local_element(simd *e, const simd_access *k, int32_t lane) {
    const borg_inst *x = k->v->args[1];
    const int32_t step = simd_access_interleaved(e) ? e->m->pack : 1;
    if (x->op == BORG_CONST) {
        int64_t at = (int32_t)borg_const_bits(e->m, x, k->row, k->wi[lane]);
        return borg_format(e->arena, "%" PRId64, at * step);
    }
    const char *index = simd_reg(e, x, k->reg);
    if (x->op == BORG_BCAST && x->args[0]->spread == BORG_UNI) {
        index = simd_reg(e, x->args[0], k->row);
    } else if (!simd_scalar(e, x)) {
        index = simd_lane(e, BORG_I32, index, lane);
    }
    if (step == 1) return borg_format(e->arena, "(int32_t)%s", index);
    return borg_format(e->arena, "(int64_t)(int32_t)%s * %d", index, step);
}

/* The index of a lane's element, minus `less`. */
static const char *element(simd *e, const simd_access *k, int32_t lane, int32_t less) {
    const borg_inst *x = k->v->args[1];
    if (simd_access_affine(k))
        return borg_format(e->arena, "(int64_t)(%s + UINT64_C(%" PRIu64 "))",
                           simd_access_of_group(e, x, k->wg[lane]),
                           k->element[lane] - (uint64_t)less);
    if (x->type == BORG_I32) return local_element(e, k, lane);
    const char *reg = simd_reg(e, x, k->reg);
    return borg_format(e->arena, "(int64_t)%s",
                       simd_scalar(e, x) ? reg : simd_lane(e, BORG_I64, reg, lane));
}

const char *simd_access_place(simd *e, const simd_access *k, int32_t lane, int32_t less) {
    if (k->near) {
        const char *at =
            borg_format(e->arena, "l_%s + %" PRId64, e->m->locals[k->v->args[0]->index].name,
                        (int64_t)(k->element[lane] - (uint64_t)less));
        if (!k->base) return at;
        return borg_format(e->arena, "%s + (int64_t)(int32_t)%s * %d", at, simd_reg(e, k->base, 0),
                           simd_access_interleaved(e) ? e->m->pack : 1);
    }
    return borg_format(e->arena, "%s + %s", simd_access_pointer(e, k, k->wg[lane]),
                       element(e, k, lane, less));
}

/* What tells the groups of lanes apart: 0 if one address serves all. */
bool simd_access_by_group(const simd *e, const simd_access *k) {
    return e->m->pack > 1 && !k->near &&
           (k->v->args[1]->spread == BORG_WG || k->v->args[0]->spread == BORG_WG);
}

void simd_access_prepare(simd *e, simd_access *k, int32_t reg) {
    int32_t per_row = simd_row_count(e, k->value);
    const borg_inst *mask = borg_mask(k->v);
    k->reg = reg;
    k->row = reg / per_row;
    k->used = simd_used(e, k->value, reg);
    k->known = simd_mask_kind(e, mask, reg);
    k->mask = k->known == SIMD_ALL ? NULL : simd_reg(e, mask, reg);
    k->lanes = simd_bits(k->used);
    for (int32_t l = 0; l < k->used; ++l) {
        simd_place(e, k->value, reg, l, &k->wi[l], &k->wg[l]);
        if (k->v->op == BORG_LOADA || k->v->op == BORG_STOREA)
            k->element[l] = (uint64_t)k->v->c[k->row] + (uint64_t)k->v->b * (uint64_t)k->wi[l] +
                            (uint64_t)k->v->a * (uint64_t)k->wg[l];
        if (mask && mask->op == BORG_CONST && !(borg_const_bits(e->m, mask, k->row, k->wi[l]) & 1))
            k->lanes &= ~((uint64_t)1 << l);
    }
    const borg_inst *part;
    k->near = simd_near(e, k->v, &k->base, &part);
    if (k->near) prepare_near(e, k, part);
}

bool simd_access_constant_mask(const simd_access *k) {
    const borg_inst *mask = borg_mask(k->v);
    return !mask || mask->op == BORG_CONST;
}
