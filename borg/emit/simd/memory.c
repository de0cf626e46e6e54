/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores: runs of consecutive addresses, interleaved blocks transposed in registers, and
 * lane by lane what is neither. */
#include "borg/emit/simd/simd.h"
#include <inttypes.h>
#include <string.h>

/* One register of an access. */
typedef struct access {
    const borg_inst *v, *value; /* the instruction, what has its lanes */
    borg_type type;
    const char *mask; /* of the register, or NULL */
    simd_mask known;
    uint64_t lanes; /* those that a constant mask lets through */
    bool store;
    int32_t reg, row, used;
    int32_t wi[BORG_MAX_VECTOR], wg[BORG_MAX_VECTOR];
    uint64_t element[BORG_MAX_VECTOR]; /* LOADA, STOREA: c + b*wi + a*wg */
} access;

static const char *memory_type(borg_type type) {
    return type == BORG_PTR ? "b_pointer" : simd_type(type, true);
}

/* A lane of a value that has one for each group, or for all. */
static const char *of_group(simd *e, const borg_inst *x, int32_t g) {
    if (simd_scalar(e, x)) return simd_reg(e, x, x->spread == BORG_WG ? g : 0);
    return simd_lane(e, x->type, simd_reg(e, x, g / e->lanes), g % e->lanes);
}

/* Whether elements of the groups' arrays alternate. */
static bool interleaved(const simd *e) {
    return e->m->order == BORG_WG_MINOR;
}

static const char *pointer(simd *e, const access *k, int32_t g) {
    const borg_inst *p = k->v->args[0];
    const char *type = memory_type(k->type), *constant = k->store ? "" : "const ";
    if (p->op == BORG_LOCAL) { /* of this type */
        const borg_local *d = &e->m->locals[p->index];
        return borg_format(e->arena, "(l_%s + %d)", d->name, interleaved(e) ? g : g * d->count);
    }
    if (p->op == BORG_PARAM)
        return borg_format(e->arena, "((%s%s *)%s)", constant, type, simd_reg(e, p, 0));
    return borg_format(e->arena, "((%s%s *)(uintptr_t)%s)", constant, type, of_group(e, p, g));
}

static bool affine(const access *k) {
    return k->v->op == BORG_LOADA || k->v->op == BORG_STOREA;
}

/* The place in a group's array. */
static const char *local_element(simd *e, const access *k, int32_t lane) {
    const borg_inst *x = k->v->args[1];
    const int32_t step = interleaved(e) ? e->m->pack : 1;
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

/* The element of a lane, `less` before it. */
static const char *element(simd *e, const access *k, int32_t lane, int32_t less) {
    const borg_inst *x = k->v->args[1];
    if (affine(k))
        return borg_format(e->arena, "(int64_t)(%s + UINT64_C(%" PRIu64 "))",
                           of_group(e, x, k->wg[lane]), k->element[lane] - (uint64_t)less);
    if (x->type == BORG_I32) return local_element(e, k, lane);
    const char *reg = simd_reg(e, x, k->reg);
    return borg_format(e->arena, "(int64_t)%s",
                       simd_scalar(e, x) ? reg : simd_lane(e, BORG_I64, reg, lane));
}

static const char *place(simd *e, const access *k, int32_t lane, int32_t less) {
    return borg_format(e->arena, "%s + %s", pointer(e, k, k->wg[lane]), element(e, k, lane, less));
}

/* What tells the groups of lanes apart: 0 if one address serves all. */
static bool by_group(const simd *e, const access *k) {
    return e->m->pack > 1 && (k->v->args[1]->spread == BORG_WG || k->v->args[0]->spread == BORG_WG);
}

static void prepare(simd *e, access *k, int32_t reg) {
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
        if (affine(k))
            k->element[l] = (uint64_t)k->v->c[k->row] + (uint64_t)k->v->b * (uint64_t)k->wi[l] +
                            (uint64_t)k->v->a * (uint64_t)k->wg[l];
        if (mask && mask->op == BORG_CONST && !(borg_const_bits(e->m, mask, k->row, k->wi[l]) & 1))
            k->lanes &= ~((uint64_t)1 << l);
    }
}

static bool constant_mask(const access *k) {
    const borg_inst *mask = borg_mask(k->v);
    return !mask || mask->op == BORG_CONST;
}

/* ---- lane by lane ------------------------------------------------------------------------------
 */

static const char *condition(simd *e, const access *k, int32_t lane) {
    if (!k->mask) return NULL;
    return simd_scalar(e, k->value) ? k->mask : simd_lane(e, BORG_I1, k->mask, lane);
}

static const char *load_lane(simd *e, const access *k, int32_t lane) {
    if (!(k->lanes >> lane & 1)) return "0";
    if (constant_mask(k)) return borg_format(e->arena, "*(%s)", place(e, k, lane, 0));
    const char *at = place(e, k, lane, 0), *when = condition(e, k, lane);
    if (!when) return borg_format(e->arena, "*(%s)", at);
    return borg_format(e->arena, "%s ? *(%s) : 0", when, at);
}

static void load_lanes(simd *e, const access *k, borg_inst *v) {
    if (simd_scalar(e, v)) {
        simd_let(e, v, k->reg, load_lane(e, k, 0));
        return;
    }
    borg_sink text = {.arena = e->arena};
    borg_put(&text, "(%s){", simd_type(v->type, false));
    for (int32_t l = 0; l < k->used; ++l)
        borg_put(&text, "%s%s", l ? ", " : "", load_lane(e, k, l));
    borg_put(&text, "}");
    simd_let(e, v, k->reg, text.text);
}

static void store_lanes(simd *e, const access *k) {
    const char *value = simd_reg(e, k->value, k->reg);
    for (int32_t l = 0; l < k->used; ++l) {
        const char *when = constant_mask(k) ? NULL : condition(e, k, l);
        if (!(k->lanes >> l & 1)) continue;
        const char *lane = simd_scalar(e, k->value) ? value : simd_lane(e, k->type, value, l);
        const char *text = borg_format(e->arena, "*(%s) = %s;", place(e, k, l, 0), lane);
        if (when) {
            simd_line(e, "if (%s) %s", when, text);
        } else {
            simd_line(e, "%s", text);
        }
    }
}

/* ---- runs --------------------------------------------------------------------------------------
 */

/* Runs of lanes with consecutive addresses: the first lane of each. */
static int32_t find_runs(const simd *e, const access *k, int32_t *first) {
    int32_t count = 0;
    bool groups = by_group(e, k);
    for (int32_t l = 0; l < k->used; ++l) {
        bool goes_on = l > 0 && k->element[l] == k->element[l - 1] + 1 &&
                       (!groups || k->wg[l] == k->wg[l - 1]);
        if (!goes_on) first[count++] = l;
    }
    first[count] = k->used;
    return count;
}

static bool broadcasts(const simd *e, const access *k) {
    for (int32_t l = 1; l < k->used; ++l)
        if (k->element[l] != k->element[0] || (by_group(e, k) && k->wg[l] != k->wg[0]))
            return false;
    return true;
}

static const char *run_mask(simd *e, const access *k, const int32_t *first, int32_t run) {
    uint64_t bits = simd_bits(first[run + 1]) & ~simd_bits(first[run]);
    if (!k->mask) return borg_format(e->arena, "0x%" PRIx64, bits);
    if (bits == simd_bits(e->lanes)) return k->mask;
    return borg_format(e->arena, "%s & 0x%" PRIx64, k->mask, bits);
}

/* Whether the kernel may write through the pointer. */
static bool written(const simd *e, const borg_inst *pointer) {
    return pointer->op != BORG_PARAM || !e->m->params[pointer->index].readonly;
}

/* ---- exact pieces: what a constant mask lets through as quarters and halves of a register. A load
 * waits for an earlier store that its whole register overlaps, be the lanes in common masked out:
 * with n = 12 each group would wait for the one before it. ---- */

typedef struct piece {
    int32_t lane, lanes; /* of the register: a quarter or a half of it, at a place of its size */
    int32_t run;
} piece;

/* The pieces of the runs; 0 where masks are to do it. */
static int32_t find_pieces(const simd *e, const access *k, const int32_t *first, int32_t count,
                           piece *list) {
    const int32_t quarter = e->lanes / 4;
    int32_t found = 0;
    if (!e->target->pieces || k->mask || quarter == 0 ||
        e->lanes * borg_type_bytes(k->type) != e->target->bytes)
        return 0;
    for (int32_t run = 0; run < count; ++run) {
        if (first[run] % quarter || first[run + 1] % quarter) return 0;
        for (int32_t l = first[run]; l < first[run + 1];) {
            const bool half = l % (2 * quarter) == 0 && l + 2 * quarter <= first[run + 1];
            list[found++] = (piece){l, half ? 2 * quarter : quarter, run};
            l += list[found - 1].lanes;
        }
    }
    return found;
}

static const char *load_pieces(simd *e, const access *k, const piece *list, int32_t count) {
    const char *type = simd_type(k->type, false), *value = NULL;
    for (int32_t i = 0; i < count; ++i) {
        const piece *x = &list[i];
        const bool half = 4 * x->lanes > e->lanes;
        const char *part = borg_format(e->arena, "_mm%s_loadu_ps((const float *)(%s))",
                                       half ? "256" : "", place(e, k, x->lane, 0));
        if (i == 0 && x->lane == 0)
            value = borg_format(e->arena, "(%s)_mm512_zextps%d_ps512(%s)", type, half ? 256 : 128,
                                part);
        else
            value = borg_format(
                e->arena, "(%s)_mm512_insertf32x%d((__m512)%s, %s, %d)", type, half ? 8 : 4,
                value ? value : borg_format(e->arena, "(%s){0}", type), part, x->lane / x->lanes);
        if (i + 1 < count) value = simd_temp(e, k->type, false, value);
    }
    return value;
}

static void store_pieces(simd *e, const access *k, const piece *list, int32_t count) {
    const char *value = simd_reg(e, k->value, k->reg);
    for (int32_t i = 0; i < count; ++i) {
        const piece *x = &list[i];
        const bool half = 4 * x->lanes > e->lanes;
        const char *part = x->lane == 0
                               ? borg_format(e->arena, "_mm512_castps512_ps%d((__m512)%s)",
                                             half ? 256 : 128, value)
                               : borg_format(e->arena, "_mm512_extractf32x%d_ps((__m512)%s, %d)",
                                             half ? 8 : 4, value, x->lane / x->lanes);
        simd_line(e, "_mm%s_storeu_ps((float *)(%s), %s);", half ? "256" : "",
                  place(e, k, x->lane, 0), part);
    }
}

static bool load_runs(simd *e, const access *k, borg_inst *v) {
    piece list[BORG_MAX_VECTOR];
    int32_t first[BORG_MAX_VECTOR + 1], count = find_runs(e, k, first);
    const int32_t pieces = find_pieces(e, k, first, count, list);
    const char *suffix = simd_suffix(v->type), *value = NULL;
    if (broadcasts(e, k) && !k->mask) {
        value = simd_splat(e, v->type, borg_format(e->arena, "*(%s)", place(e, k, 0, 0)));
    } else if (count == 1 && k->used == e->lanes && !k->mask) {
        value = borg_format(e->arena, "b_load_%s(%s)", suffix, place(e, k, 0, 0));
    } else if (pieces == 1 || (pieces > 1 && written(e, k->v->args[0]))) {
        value = load_pieces(e, k, list, pieces);
    } else if (e->target->masked && (count <= 2 || 2 * count <= k->used)) {
        for (int32_t run = 0; run < count; ++run) {
            const char *at = place(e, k, first[run], first[run]),
                       *mask = run_mask(e, k, first, run);
            value = value ? borg_format(e->arena, "b_merge_%s(%s, %s, %s)", suffix, value, mask, at)
                          : borg_format(e->arena, "b_loadm_%s(%s, %s)", suffix, mask, at);
            if (run + 1 < count) value = simd_temp(e, v->type, false, value);
        }
    }
    if (value) simd_let(e, v, k->reg, value);
    return value != NULL;
}

static bool store_runs(simd *e, const access *k) {
    piece list[BORG_MAX_VECTOR];
    int32_t first[BORG_MAX_VECTOR + 1], count = find_runs(e, k, first);
    const int32_t pieces = find_pieces(e, k, first, count, list);
    const char *suffix = simd_suffix(k->type), *value = simd_reg(e, k->value, k->reg);
    if (count == 1 && k->used == e->lanes && !k->mask) {
        simd_line(e, "b_store_%s(%s, %s);", suffix, place(e, k, 0, 0), value);
    } else if (pieces) {
        store_pieces(e, k, list, pieces);
    } else if (e->target->masked && (count <= 2 || 2 * count <= k->used)) {
        for (int32_t run = 0; run < count; ++run)
            simd_line(e, "b_storem_%s(%s, %s, %s);", suffix, run_mask(e, k, first, run),
                      place(e, k, first[run], first[run]), value);
    } else {
        return false;
    }
    return true;
}

/* ---- interleaved groups, consecutive work-items: blocks transposed in registers ----------------
 */

/* The work-items from w0 on that the mask lets through, a bit for each. */
static uint64_t items_from(const simd *e, const access *k, int32_t row, int32_t w0) {
    const borg_inst *m = borg_mask(k->v);
    uint64_t bits = 0;
    for (int32_t l = 0; l < e->lanes && w0 + l < e->m->size; ++l)
        bits |= (m ? borg_const_bits(e->m, m, row, w0 + l) & 1 : 1) << l;
    return bits;
}

/* Address of work-item w0 of group g: the group's own, what all have in common (`common`: its name;
 * behind a barrier, so that compilers do not keep eight addresses from a load to a store of the
 * same place), a constant. */
static const char *memory_row(simd *e, access *k, int32_t w0, int32_t g, const borg_inst *own,
                              const char *common) {
    k->wg[0] = g;
    k->element[0] = (uint64_t)k->v->c[k->row] + (uint64_t)w0 + (uint64_t)k->v->a * (uint64_t)g;
    if (!own) return place(e, k, 0, 0);
    return borg_format(e->arena, "%s + (int64_t)%s%s%s + INT64_C(%" PRId64 ")", pointer(e, k, g),
                       of_group(e, own, g), common ? " + (int64_t)" : "", common ? common : "",
                       (int64_t)k->element[0]);
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
    const access k = {.v = v, .value = value, .type = value->type};
    const borg_inst *mask = borg_mask(v);
    if (!affine(&k) || e->m->order != BORG_WG_MINOR || value->spread != BORG_WI || v->b != 1 ||
        e->m->pack % e->lanes != 0 || e->m->pack < 2 || e->m->size < 2 ||
        (mask && mask->op != BORG_CONST))
        return false;
    for (int32_t r = 0; r < value->rows; ++r)
        for (int32_t w0 = 0; w0 < e->m->size; w0 += e->lanes)
            if (!simd_transposes(e, k.type, items_from(e, &k, r, w0))) return false;
    return true;
}

static void transposed(simd *e, access *k, borg_inst *v) {
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
                    for (int32_t i = 0; i < items; ++i) simd_name(e, v, base + i * per_group, x[i]);
                }
            }
        }
    }
}

/* Rows side by side in memory, work-items apart: the other way round. */
static void transposed_rows(simd *e, access *k) {
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
                at[i] = place(e, k, 0, 0);
                for (r = first; r < rows && r < first + e->lanes && w < e->m->size; ++r)
                    if (!mask || borg_const_bits(e->m, mask, r, w) & 1)
                        bits[i] |= (uint64_t)1 << (r - first);
            }
            simd_store_transposed(e, k->type, at, bits, x);
        }
    }
}

static bool rows_transposable(const simd *e, const access *k) {
    const borg_inst *mask = borg_mask(k->v);
    if (!k->store || !affine(k) || k->value->rows < 2 || k->value->spread != BORG_WI ||
        e->m->pack > 1 || simd_scalar(e, k->value) || (mask && mask->op != BORG_CONST) ||
        !simd_transposes(e, k->type, 1))
        return false;
    for (int32_t r = 1; r < k->value->rows; ++r)
        if (k->v->c[r] != k->v->c[r - 1] + 1) return false;
    return true;
}

/* ---- gathers -----------------------------------------------------------------------------------
 */

/* The same from group 0's array on. */
static const char *local_indices(simd *e, const access *k) {
    const int32_t count = e->m->locals[k->v->args[0]->index].count;
    uint64_t group[BORG_MAX_VECTOR];
    for (int32_t l = 0; l < k->used; ++l)
        group[l] = (uint64_t)k->wg[l] * (interleaved(e) ? 1 : (uint64_t)count);
    const char *index =
        borg_format(e->arena, "b_sext_i32_i64(%s)", simd_reg(e, k->v->args[1], k->reg));
    if (e->m->pack == 1) return index;
    if (interleaved(e)) index = borg_format(e->arena, "%s * %d", index, e->m->pack);
    return borg_format(e->arena, "%s + %s", index, simd_literals(e, BORG_I64, group, k->used));
}

/* The indices of a register's lanes as a register, NULL if there is no such thing. */
static const char *indices(simd *e, const access *k) {
    const borg_inst *x = k->v->args[1];
    if (k->v->args[0]->op == BORG_LOCAL) return local_indices(e, k);
    if (k->v->args[0]->spread != BORG_UNI) return NULL;
    if (!affine(k)) return simd_reg(e, x, k->reg);
    const char *offset = NULL;
    if (x->spread == BORG_UNI || e->m->pack == 1) {
        offset = simd_splat(e, BORG_I64, simd_reg(e, x, 0));
    } else if (simd_scalar(e, x)) {
        borg_sink text = {.arena = e->arena};
        for (int32_t l = 0; l < k->used; ++l)
            borg_put(&text, "%s%s", l ? ", " : "(vi64){", of_group(e, x, k->wg[l]));
        borg_put(&text, "}");
        offset = text.text;
    } else {
        int32_t from[BORG_MAX_VECTOR], index[BORG_MAX_VECTOR];
        for (int32_t l = 0; l < e->lanes; ++l) {
            from[l] = l < k->used ? k->wg[l] / e->lanes : -1;
            index[l] = l < k->used ? k->wg[l] % e->lanes : 0;
        }
        offset = simd_move(e, BORG_I64, x->aux, from, index);
    }
    return borg_format(e->arena, "%s + %s", offset,
                       simd_literals(e, BORG_I64, k->element, k->used));
}

static const char *gather_mask(simd *e, const access *k) {
    int32_t first[2] = {0, k->used};
    return run_mask(e, k, first, 0);
}

static bool load_gather(simd *e, const access *k, borg_inst *v) {
    const char *index = NULL;
    if (affine(k) && constant_mask(k)) return false; /* single loads are no slower */
    if (e->target->masked && !simd_scalar(e, v)) index = indices(e, k);
    if (!index) return false;
    simd_let(e, v, k->reg,
             borg_format(e->arena, "b_gather_%s(%s, %s, %s)", simd_suffix(v->type),
                         gather_mask(e, k), pointer(e, k, 0), index));
    return true;
}

static bool store_scatter(simd *e, const access *k) {
    const char *index = NULL;
    if (constant_mask(k)) return false;
    if (e->target->masked && !simd_scalar(e, k->value)) index = indices(e, k);
    if (!index) return false;
    simd_line(e, "b_scatter_%s(%s, %s, %s, %s);", simd_suffix(k->type), gather_mask(e, k),
              pointer(e, k, 0), index, simd_reg(e, k->value, k->reg));
    return true;
}

/* ---- the groups' arrays, interleaved: one element of each group is a register ------------------
 */

static bool side_by_side(const simd *e, const access *k) {
    return k->v->args[0]->op == BORG_LOCAL && interleaved(e) && e->m->pack % e->lanes == 0 &&
           !simd_scalar(e, k->value) && (!k->mask || e->target->masked) &&
           borg_same_for_groups(k->v->args[1]);
}

static void move_side_by_side(simd *e, const access *k, borg_inst *v) {
    const char *at = place(e, k, 0, 0), *suffix = simd_suffix(k->type);
    if (!k->store) {
        simd_let(e, v, k->reg,
                 k->mask
                     ? borg_format(e->arena, "b_loadm_%s(%s, %s)", suffix, gather_mask(e, k), at)
                     : borg_format(e->arena, "b_load_%s(%s)", suffix, at));
    } else if (k->mask) {
        simd_line(e, "b_storem_%s(%s, %s, %s);", suffix, gather_mask(e, k), at,
                  simd_reg(e, k->value, k->reg));
    } else {
        simd_line(e, "b_store_%s(%s, %s);", suffix, at, simd_reg(e, k->value, k->reg));
    }
}

void simd_memory(simd *e, borg_inst *v) {
    if (v->op == BORG_BARRIER) return;
    access k = {.v = v, .value = borg_stored(v) ? borg_stored(v) : v};
    k.store = k.value != v;
    k.type = k.value->type;
    if (simd_transposable(e, v, k.value)) {
        transposed(e, &k, v);
        return;
    }
    if (rows_transposable(e, &k)) {
        transposed_rows(e, &k);
        return;
    }
    for (int32_t i = 0; i < simd_count(e, k.value); ++i) {
        prepare(e, &k, i);
        bool runs = affine(&k) && !simd_scalar(e, k.value);
        if (k.known == SIMD_NONE) { /* nobody is there */
            const char *zero = simd_literal(e, k.type, 0);
            if (!k.store)
                simd_name(e, v, i, simd_scalar(e, v) ? zero : simd_splat(e, k.type, zero));
            continue;
        }
        if (side_by_side(e, &k)) {
            move_side_by_side(e, &k, v);
        } else if (k.store) {
            if (!(runs && store_runs(e, &k)) && !store_scatter(e, &k)) store_lanes(e, &k);
        } else if (!(runs && load_runs(e, &k, v)) && !load_gather(e, &k, v)) {
            load_lanes(e, &k, v);
        }
    }
}
