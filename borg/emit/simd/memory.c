/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores. Runs of consecutive addresses are accessed as such, interleaved blocks are
 * transposed in registers, what is neither goes lane by lane. */
#include "borg/emit/simd/access.h"
#include "borg/emit/simd/leaves.h"
#include "borg/emit/simd/move.h"
#include <inttypes.h>
#include <string.h>

/* ---- lane by lane ---------------------------------------------------------------------------- */

static const char *condition(simd *e, const simd_access *k, int32_t lane) {
    if (!k->mask) return NULL;
    return simd_scalar(e, k->value) ? k->mask : simd_lane(e, BORG_I1, k->mask, lane);
}

static const char *load_lane(simd *e, const simd_access *k, int32_t lane) {
    if (!(k->lanes >> lane & 1)) return "0";
    if (simd_access_constant_mask(k))
        return borg_format(e->arena, "*(%s)", simd_access_place(e, k, lane, 0));
    const char *at = simd_access_place(e, k, lane, 0), *when = condition(e, k, lane);
    if (!when) return borg_format(e->arena, "*(%s)", at);
    return borg_format(e->arena, "%s ? *(%s) : 0", when, at);
}

static void load_lanes(simd *e, const simd_access *k, borg_inst *v) {
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

static void store_lanes(simd *e, const simd_access *k) {
    const char *value = simd_reg(e, k->value, k->reg);
    for (int32_t l = 0; l < k->used; ++l) {
        const char *when = simd_access_constant_mask(k) ? NULL : condition(e, k, l);
        if (!(k->lanes >> l & 1)) continue;
        const char *lane = simd_scalar(e, k->value) ? value : simd_lane(e, k->type, value, l);
        const char *text =
            borg_format(e->arena, "*(%s) = %s;", simd_access_place(e, k, l, 0), lane);
        if (when) {
            ctext_line(&e->c, "if (%s) %s", when, text);
        } else {
            ctext_line(&e->c, "%s", text);
        }
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Runs of lanes with consecutive addresses: the first lane of each. */
static int32_t find_runs(const simd *e, const simd_access *k, int32_t *first) {
    int32_t count = 0;
    bool groups = simd_access_by_group(e, k);
    for (int32_t l = 0; l < k->used; ++l) {
        bool goes_on = l > 0 && k->element[l] == k->element[l - 1] + 1 &&
                       (!groups || k->wg[l] == k->wg[l - 1]);
        if (!goes_on) first[count++] = l;
    }
    first[count] = k->used;
    return count;
}

static bool broadcasts(const simd *e, const simd_access *k) {
    for (int32_t l = 1; l < k->used; ++l)
        if (k->element[l] != k->element[0] || (simd_access_by_group(e, k) && k->wg[l] != k->wg[0]))
            return false;
    return true;
}

static const char *run_mask(simd *e, const simd_access *k, const int32_t *first, int32_t run) {
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
static int32_t find_pieces(const simd *e, const simd_access *k, const int32_t *first, int32_t count,
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

static const char *load_pieces(simd *e, const simd_access *k, const piece *list, int32_t count) {
    const char *type = simd_type(k->type, false), *value = NULL;
    for (int32_t i = 0; i < count; ++i) {
        const piece *x = &list[i];
        const bool half = 4 * x->lanes > e->lanes;
        const char *part = borg_format(e->arena, "_mm%s_loadu_ps((const float *)(%s))",
                                       half ? "256" : "", simd_access_place(e, k, x->lane, 0));
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

static void store_pieces(simd *e, const simd_access *k, const piece *list, int32_t count) {
    const char *value = simd_reg(e, k->value, k->reg);
    for (int32_t i = 0; i < count; ++i) {
        const piece *x = &list[i];
        const bool half = 4 * x->lanes > e->lanes;
        const char *part = x->lane == 0
                               ? borg_format(e->arena, "_mm512_castps512_ps%d((__m512)%s)",
                                             half ? 256 : 128, value)
                               : borg_format(e->arena, "_mm512_extractf32x%d_ps((__m512)%s, %d)",
                                             half ? 8 : 4, value, x->lane / x->lanes);
        ctext_line(&e->c, "_mm%s_storeu_ps((float *)(%s), %s);", half ? "256" : "",
                   simd_access_place(e, k, x->lane, 0), part);
    }
}

static bool load_runs(simd *e, const simd_access *k, borg_inst *v) {
    piece list[BORG_MAX_VECTOR];
    int32_t first[BORG_MAX_VECTOR + 1], count = find_runs(e, k, first);
    const int32_t pieces = find_pieces(e, k, first, count, list);
    const char *suffix = simd_suffix(v->type), *value = NULL;
    if (broadcasts(e, k) && !k->mask) {
        value =
            simd_splat(e, v->type, borg_format(e->arena, "*(%s)", simd_access_place(e, k, 0, 0)));
    } else if (count == 1 && k->used == e->lanes && !k->mask) {
        value = borg_format(e->arena, "b_load_%s(%s)", suffix, simd_access_place(e, k, 0, 0));
    } else if (pieces == 1 || (pieces > 1 && written(e, k->v->args[0]))) {
        value = load_pieces(e, k, list, pieces);
    } else if (e->target->masked && (count <= 2 || 2 * count <= k->used)) {
        for (int32_t run = 0; run < count; ++run) {
            const char *at = simd_access_place(e, k, first[run], first[run]),
                       *mask = run_mask(e, k, first, run);
            value = value ? borg_format(e->arena, "b_merge_%s(%s, %s, %s)", suffix, value, mask, at)
                          : borg_format(e->arena, "b_loadm_%s(%s, %s)", suffix, mask, at);
            if (run + 1 < count) value = simd_temp(e, v->type, false, value);
        }
    }
    if (value) simd_let(e, v, k->reg, value);
    return value != NULL;
}

/* Whether whole registers of the machine's make up the array's columns (a line that is written in
 * parts, by both ways, is slower than without) and it is one that --nontemporal names, or, without
 * a list, only written. */
bool simd_past_caches(const simd *e, const borg_inst *v) {
    if (e->past == SIMD_NEVER || v->op != BORG_STOREA) return false;
    const borg_inst *p = v->args[0], *x = borg_stored(v);
    if (p->op != BORG_PARAM || !borg_is_float(x->type) || e->m->size % e->lanes ||
        e->lanes * borg_type_bytes(x->type) != e->target->bytes)
        return false;
    if (e->past == SIMD_WHERE_FAR) return e->only_written[p->index];
    for (const char *s = e->options->nontemporal; s; s = s + 1) {
        if (borg_named_nontemporal(&e->m->params[p->index], s)) return true;
        if (!(s = strchr(s, ','))) return false;
    }
    return false;
}

static bool store_runs(simd *e, const simd_access *k) {
    piece list[BORG_MAX_VECTOR];
    int32_t first[BORG_MAX_VECTOR + 1], count = find_runs(e, k, first);
    const int32_t pieces = find_pieces(e, k, first, count, list);
    const char *suffix = simd_suffix(k->type), *value = simd_reg(e, k->value, k->reg);
    if (count == 1 && k->used == e->lanes && !k->mask) {
        const bool past = simd_past_caches(e, k->v);
        ctext_line(&e->c, "%s_%s(%s, %s%s);", past ? "b_stream" : "b_store", suffix,
                   simd_access_place(e, k, 0, 0), value, past ? ", b_past" : "");
    } else if (pieces) {
        store_pieces(e, k, list, pieces);
    } else if (e->target->masked && (count <= 2 || 2 * count <= k->used)) {
        for (int32_t run = 0; run < count; ++run)
            ctext_line(&e->c, "b_storem_%s(%s, %s, %s);", suffix, run_mask(e, k, first, run),
                       simd_access_place(e, k, first[run], first[run]), value);
    } else {
        return false;
    }
    return true;
}

/* ---- gathers --------------------------------------------------------------------------------- */

/* The same from group 0's array on. */
static const char *local_indices(simd *e, const simd_access *k) {
    const int32_t count = e->m->locals[k->v->args[0]->index].count;
    uint64_t group[BORG_MAX_VECTOR];
    for (int32_t l = 0; l < k->used; ++l)
        group[l] = (uint64_t)k->wg[l] * (simd_access_interleaved(e) ? 1 : (uint64_t)count);
    const char *index =
        borg_format(e->arena, "b_sext_i32_i64(%s)", simd_reg(e, k->v->args[1], k->reg));
    if (e->m->pack == 1) return index;
    if (simd_access_interleaved(e)) index = borg_format(e->arena, "%s * %d", index, e->m->pack);
    return borg_format(e->arena, "%s + %s", index, simd_literals(e, BORG_I64, group, k->used));
}

/* The indices of a register's lanes as a register, NULL if there is no such thing. */
static const char *indices(simd *e, const simd_access *k) {
    const borg_inst *x = k->v->args[1];
    if (k->near) return simd_literals(e, BORG_I64, k->element, k->used);
    if (k->v->args[0]->op == BORG_LOCAL) return local_indices(e, k);
    if (k->v->args[0]->spread != BORG_UNI) return NULL;
    if (!simd_access_affine(k)) return simd_reg(e, x, k->reg);
    const char *offset = NULL;
    if (x->spread == BORG_UNI || e->m->pack == 1) {
        offset = simd_splat(e, BORG_I64, simd_reg(e, x, 0));
    } else if (simd_scalar(e, x)) {
        borg_sink text = {.arena = e->arena};
        for (int32_t l = 0; l < k->used; ++l)
            borg_put(&text, "%s%s", l ? ", " : "(vi64){", simd_access_of_group(e, x, k->wg[l]));
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

static const char *gather_mask(simd *e, const simd_access *k) {
    int32_t first[2] = {0, k->used};
    return run_mask(e, k, first, 0);
}

/* Where their indices count from. */
static const char *gather_pointer(simd *e, const simd_access *k) {
    if (!k->near) return simd_access_pointer(e, k, 0);
    return borg_format(e->arena, "(%s)", simd_access_place(e, k, 0, (int32_t)k->element[0]));
}

static bool load_gather(simd *e, const simd_access *k, borg_inst *v) {
    const char *index = NULL;
    if (simd_access_affine(k) && simd_access_constant_mask(k))
        return false; /* single loads are no slower */
    if (e->target->masked && !simd_scalar(e, v)) index = indices(e, k);
    if (!index) return false;
    simd_let(e, v, k->reg,
             borg_format(e->arena, "b_gather_%s(%s, %s, %s)", simd_suffix(v->type),
                         gather_mask(e, k), gather_pointer(e, k), index));
    return true;
}

static bool store_scatter(simd *e, const simd_access *k) {
    const char *index = NULL;
    if (simd_access_constant_mask(k)) return false;
    if (e->target->masked && !simd_scalar(e, k->value)) index = indices(e, k);
    if (!index) return false;
    ctext_line(&e->c, "b_scatter_%s(%s, %s, %s, %s);", simd_suffix(k->type), gather_mask(e, k),
               gather_pointer(e, k), index, simd_reg(e, k->value, k->reg));
    return true;
}

/* ---- the groups' arrays, interleaved: one element of each group is a register ---------------- */

static bool side_by_side(const simd *e, const simd_access *k) {
    return k->v->args[0]->op == BORG_LOCAL && !k->near && simd_access_interleaved(e) &&
           e->m->pack % e->lanes == 0 && !simd_scalar(e, k->value) &&
           (!k->mask || e->target->masked) && borg_same_for_groups(k->v->args[1]);
}

static void move_side_by_side(simd *e, const simd_access *k, borg_inst *v) {
    const char *at = simd_access_place(e, k, 0, 0), *suffix = simd_suffix(k->type);
    if (!k->store) {
        simd_let(e, v, k->reg,
                 k->mask
                     ? borg_format(e->arena, "b_loadm_%s(%s, %s)", suffix, gather_mask(e, k), at)
                     : borg_format(e->arena, "b_load_%s(%s)", suffix, at));
    } else if (k->mask) {
        ctext_line(&e->c, "b_storem_%s(%s, %s, %s);", suffix, gather_mask(e, k), at,
                   simd_reg(e, k->value, k->reg));
    } else {
        ctext_line(&e->c, "b_store_%s(%s, %s);", suffix, at, simd_reg(e, k->value, k->reg));
    }
}

void simd_memory(simd *e, borg_inst *v) {
    if (v->op == BORG_BARRIER) return;
    simd_access k = {.v = v, .value = borg_stored(v) ? borg_stored(v) : v};
    k.store = k.value != v;
    k.type = k.value->type;
    if (simd_transposable(e, v, k.value)) {
        simd_transposed(e, &k, v);
        return;
    }
    if (simd_rows_transposable(e, &k)) {
        simd_transposed_rows(e, &k);
        return;
    }
    for (int32_t i = 0; i < simd_count(e, k.value); ++i) {
        simd_access_prepare(e, &k, i);
        const bool narrow = borg_is_narrow(borg_access_type(e->m, v)); /* lane by lane */
        bool runs = simd_access_affine(&k) && !simd_scalar(e, k.value) && !narrow;
        if (k.known == SIMD_NONE) { /* nobody is there */
            const char *zero = simd_literal(e, k.type, 0);
            if (!k.store)
                ctext_name(&e->c, v, i, simd_scalar(e, v) ? zero : simd_splat(e, k.type, zero));
            continue;
        }
        if (side_by_side(e, &k)) {
            move_side_by_side(e, &k, v);
        } else if (k.store) {
            if (!(runs && store_runs(e, &k)) && (narrow || !store_scatter(e, &k)))
                store_lanes(e, &k);
        } else if (!(runs && load_runs(e, &k, v)) && (narrow || !load_gather(e, &k, v))) {
            load_lanes(e, &k, v);
        }
    }
}
