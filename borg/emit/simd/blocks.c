/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of interleaved groups, consecutive work-items: blocks transposed in registers.
 */
#include "borg/emit/simd/access.h"
#include "borg/emit/simd/leaves.h"
#include "borg/emit/simd/transpose.h"
#include <inttypes.h>
#include <string.h>

/* The work-items from w0 on that the mask lets through, a bit for each. */
static uint64_t items_from(const simd *e, const simd_access *k, int32_t row, int32_t w0) {
    const borg_inst *m = borg_mask(k->v);
    uint64_t bits = 0;
    for (int32_t l = 0; l < e->lanes && w0 + l < e->m->size; ++l)
        bits |= (m ? borg_const_bits(e->m, m, row, w0 + l) & 1 : 1) << l;
    return bits;
}

/* Address of work-item w0 of group g: the group's own part, what all groups have in common, a
 * constant. `common` names the second; it stands behind a barrier, so that compilers do not keep
 * eight addresses from a load to a store of the same place. */
static const char *memory_row(simd *e, simd_access *k, int32_t w0, int32_t g, const borg_inst *own,
                              const char *common) {
    k->wg[0] = g;
    k->element[0] = (uint64_t)k->v->c[k->row] + (uint64_t)w0 + (uint64_t)k->v->a * (uint64_t)g;
    if (!own) return simd_access_place(e, k, 0, 0);
    return borg_format(e->arena, "%s + (int64_t)%s%s%s + INT64_C(%" PRId64 ")",
                       simd_access_pointer(e, k, g), simd_access_of_group(e, own, g),
                       common ? " + (int64_t)" : "", common ? common : "", (int64_t)k->element[0]);
}

/* Splits a sum. */
static const borg_inst *own_address(simd *e, const borg_inst *x, const char **common) {
    *common = NULL;
    if (x->mark != SIMD_ADDRESS || !simd_apart(e, x)) return NULL;
    while (x->op == BORG_ADD) {
        int32_t wide = x->args[0]->op == BORG_BCAST ? 0 : 1;
        if (x->args[wide]->op != BORG_BCAST) break;
        const char *part = simd_reg(e, x->args[wide]->args[0], 0);
        *common = *common ? borg_format(e->arena, "%s + %s", *common, part) : part;
        x = x->args[1 - wide];
    }
    if (*common)
        *common = simd_temp(e, BORG_I64, true, borg_format(e->arena, "b_again(%s)", *common));
    return x;
}

bool simd_transposable(const simd *e, const borg_inst *v, const borg_inst *value) {
    const simd_access k = {.v = v, .value = value, .type = value->type};
    const borg_inst *mask = borg_mask(v);
    if (borg_is_narrow(borg_access_type(e->m, v))) return false;
    if (!simd_access_affine(&k) || e->m->order != BORG_WG_MINOR || value->spread != BORG_WI ||
        v->b != 1 || e->m->pack % e->lanes != 0 || e->m->pack < 2 || e->m->size < 2 ||
        (mask && mask->op != BORG_CONST))
        return false;
    for (int32_t r = 0; r < value->rows; ++r)
        for (int32_t w0 = 0; w0 < e->m->size; w0 += e->lanes)
            if (!simd_transposes(e, k.type, items_from(e, &k, r, w0))) return false;
    return true;
}

void simd_transposed(simd *e, simd_access *k, borg_inst *v) {
    int32_t per_group = e->m->pack / e->lanes;
    const char *common;
    const borg_inst *own = own_address(e, k->v->args[1], &common);
    for (k->row = 0; k->row < k->value->rows; ++k->row) {
        for (int32_t w0 = 0; w0 < e->m->size; w0 += e->lanes) {
            int32_t items = e->m->size - w0 < e->lanes ? e->m->size - w0 : e->lanes;
            uint64_t bits = items_from(e, k, k->row, w0);
            for (int32_t block = 0; block < per_group; ++block) {
                const char *x[BORG_MAX_VECTOR], *at[BORG_MAX_VECTOR];
                uint64_t all[BORG_MAX_VECTOR];
                int32_t base = (k->row * e->m->size + w0) * per_group + block;
                for (int32_t i = 0; i < e->lanes; ++i)
                    at[i] = memory_row(e, k, w0, block * e->lanes + i, own, common);
                if (k->store) {
                    for (int32_t i = 0; i < e->lanes; ++i)
                        x[i] = simd_reg(e, k->value, base + (i < items ? i : 0) * per_group);
                    for (int32_t i = 0; i < e->lanes; ++i) all[i] = bits;
                    simd_store_transposed(e, k->type, at, all, x);
                } else {
                    simd_load_transposed(e, k->type, at, bits, x);
                    for (int32_t i = 0; i < items; ++i)
                        ctext_name(&e->c, v, base + i * per_group, x[i]);
                }
            }
        }
    }
}

/* Rows that lie side by side in memory, while work-items lie apart: the transposition the other way
 * round. */
void simd_transposed_rows(simd *e, simd_access *k) {
    int32_t per_row = simd_row_count(e, k->value), rows = k->value->rows;
    const borg_inst *mask = borg_mask(k->v);
    k->wg[0] = 0;
    for (int32_t first = 0; first < rows; first += e->lanes) {
        for (int32_t reg = 0; reg < per_row; ++reg) {
            const char *x[BORG_MAX_VECTOR], *at[BORG_MAX_VECTOR];
            uint64_t bits[BORG_MAX_VECTOR] = {0};
            for (int32_t i = 0; i < e->lanes; ++i) {
                int32_t w = reg * e->lanes + i, r = first + i < rows ? first + i : first;
                x[i] = simd_reg(e, k->value, r * per_row + reg);
                k->element[0] = (uint64_t)k->v->c[first] + (uint64_t)k->v->b * (uint64_t)w;
                at[i] = simd_access_place(e, k, 0, 0);
                for (r = first; r < rows && r < first + e->lanes && w < e->m->size; ++r)
                    if (!mask || borg_const_bits(e->m, mask, r, w) & 1)
                        bits[i] |= (uint64_t)1 << (r - first);
            }
            simd_store_transposed(e, k->type, at, bits, x);
        }
    }
}

bool simd_rows_transposable(const simd *e, const simd_access *k) {
    const borg_inst *mask = borg_mask(k->v);
    if (borg_is_narrow(borg_access_type(e->m, k->v))) return false;
    if (!k->store || !simd_access_affine(k) || k->value->rows < 2 || k->value->spread != BORG_WI ||
        e->m->pack > 1 || simd_scalar(e, k->value) || (mask && mask->op != BORG_CONST) ||
        !simd_transposes(e, k->type, 1))
        return false;
    for (int32_t r = 1; r < k->value->rows; ++r)
        if (k->v->c[r] != k->v->c[r - 1] + 1) return false;
    return true;
}
