/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves between work-items. */
#include "borg/emit/simt/leaves.h"

/* ---- one scalar of another thread ------------------------------------------------------------ */

/* Scalar i of v as thread `lane` (text) of the group has it. */
static const char *from_thread(simt *e, const borg_inst *v, int32_t i, const char *lane) {
    int32_t per = simt_per_row(e, v);
    const char *suffix = simt_suffix(v->type), *x = simt_get(e, v, i);
    if (v->mark) simt_see_slots(e);
    if (v->mark)
        return borg_format(e->arena, "b_x%s[(%d + %s) * %d + %d]", suffix, i % per * e->lanes, lane,
                           e->stride[v->type], simt_slot_of(v) + i / per);
    if (e->target->opencl) {
        ctext_line(&e->c, "barrier(CLK_LOCAL_MEM_FENCE);");
        ctext_line(&e->c, "b_r%s[b_at] = %s;", suffix, x);
        ctext_line(&e->c, "barrier(CLK_LOCAL_MEM_FENCE);");
        return simt_temp(
            e, v->type,
            borg_format(e->arena, "b_r%s[b_own * %d + (int)%s]", suffix, e->m->size, lane));
    }
    if (v->type == BORG_I1)
        return borg_format(e->arena, "(b_bool)(b_ballot(%s, %s) >> (b_base + %s) & 1u)",
                           simt_mask(e), x,
                           e->step == 1 ? lane : borg_format(e->arena, "(%s) * %d", lane, e->step));
    return simt_shuffled(e, v->type, x, lane);
}

/* ---- constant places ------------------------------------------------------------------------- */

static const char *lane_of(simt *e, const borg_inst *v, int32_t r, int32_t w) {
    const borg_inst *given = v;
    int32_t row = r, item = w;
    v = simt_source(e, v, &r, &w);
    if (v->op == BORG_BCAST && v->args[0]->op == BORG_SHUFV && v->args[0]->mark & SIMT_LATE &&
        e->row_number - simt_row_of(v->args[0]) >
            1) { /* its place in shared memory was given to another value */
        v = given;
        r = row;
        w = item;
    }
    if (v->op == BORG_CONST) return simt_literal(e, v->type, borg_const_bits(e->m, v, r, w));
    if (v->op == BORG_LID) return simt_literal(e, v->type, (uint64_t)w);
    if (v->op == BORG_BCAST) return simt_get(e, v->args[0], r);
    int32_t i = r * e->rows + w / e->lanes;
    if (e->lanes == 1) return simt_get(e, v, i);
    if (e->whole[v->id])
        return borg_format(e->arena, "b_all%s[%d]", simt_suffix(v->type),
                           (e->whole[v->id] - 1) * simt_row_length(e, v->type) + w);
    return from_thread(e, v, i, borg_format(e->arena, "%d", w % e->lanes));
}

/* Scalar i of a PERM: where its threads' sources lie in several scalars, one move for each. */
typedef struct places {
    int32_t scalar[BORG_MAX_SIZE], thread[BORG_MAX_SIZE];
} places;

static const char *move_one(simt *e, const borg_inst *x, const places *p, int32_t scalar) {
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    bool stays = true;
    int32_t last = 0;
    for (int32_t l = 0; l < e->lanes; ++l)
        if (p->scalar[l] == scalar) last = p->thread[l];
    for (int32_t l = 0; l < e->lanes; ++l) {
        bool wanted = p->scalar[l] == scalar;
        if (wanted) last = p->thread[l];
        bits[l] = (uint64_t)last;
        stays = stays && (!wanted || p->thread[l] == l);
    }
    if (stays) return simt_get(e, x, scalar);
    return from_thread(e, x, scalar,
                       borg_format(e->arena, "(int)%s", simt_by_lane(e, BORG_I32, bits)));
}

static const char *perm_scalar(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0];
    places *p = BORG_NEW(e->arena, 1, places);
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    int32_t r = i / e->rows, j = i % e->rows;
    const char *value = NULL;
    for (int32_t l = 0; l < e->lanes; ++l) {
        int32_t w = j * e->lanes + l;
        const int32_t *from = &v->map[2 * (r * e->m->size + (w < e->m->size ? w : e->m->size - 1))];
        p->scalar[l] = from[0] * e->rows + from[1] / e->lanes;
        p->thread[l] = from[1] % e->lanes;
    }
    for (int32_t l = 0; l < e->lanes; ++l) {
        int32_t first = 0;
        while (p->scalar[first] != p->scalar[l]) ++first;
        if (first < l) continue; /* done */
        const char *part = move_one(e, x, p, p->scalar[l]);
        bool only = true;
        for (int32_t k = 0; k < e->lanes; ++k) {
            bits[k] = p->scalar[k] == p->scalar[l];
            only = only && bits[k];
        }
        /* all threads take part in each exchange, so none may stand in an arm of a selection */
        if (!only) part = simt_temp(e, v->type, part);
        value = !value ? part
                       : simt_temp(e, v->type,
                                   borg_format(e->arena, "%s ? %s : %s",
                                               simt_by_lane(e, BORG_I1, bits), part, value));
    }
    return value;
}

static const char *row_place(simt *e, const borg_inst *v) {
    return borg_format(e->arena, "b_row%s%d[%d]", simt_suffix(v->type), simt_row_of(v) % 2,
                       simt_place_of(v));
}

static bool shuffle_row(simt *e, borg_inst *v) {
    if (v->mark == 0 || v->spread != BORG_WG) return false;
    e->row_number = simt_row_of(v);
    e->has_rows[v->type] = true;
    ctext_line(&e->c, "b_syncwarp(%s);", simt_mask(e));
    for (int32_t j = 0; j < e->rows; ++j) { /* each row of the thread in a branch of its own */
        ctext_line(&e->c, "if (%s == (b_i32)%s) {",
                   e->rows == 1 ? "(b_i32)b_l"
                                : borg_format(e->arena, "(b_i32)(b_l + %d)", j * e->lanes),
                   simt_get(e, v->args[1], 0));
        for (borg_inst *u = v; u; u = u->next)
            if (u->op == BORG_SHUFV && u->spread == BORG_WG && u->mark &&
                simt_row_of(u) == simt_row_of(v))
                ctext_line(&e->c, "    %s = %s;", row_place(e, u), simt_get(e, u->args[0], j));
        ctext_line(&e->c, "}");
    }
    ctext_line(&e->c, "b_syncwarp(%s);", simt_mask(e));
    for (borg_inst *u = v; u; u = u->next) {
        if (!(u->op == BORG_SHUFV && u->spread == BORG_WG && u->mark &&
              simt_row_of(u) == simt_row_of(v)))
            continue;
        if (u->mark & SIMT_LATE) {
            ctext_name(&e->c, u, 0, row_place(e, u));
        } else {
            simt_let(e, u, 0, row_place(e, u));
        }
    }
    return true;
}

/* ---- places known at run time ---------------------------------------------------------------- */

/* Of the thread's work-items in row r the one that `which` (text) tells. */
static const char *pick(simt *e, const char *const *x, int32_t count, borg_type type,
                        const char *which) {
    const char *value = x[0];
    for (int32_t k = 1; k < count; ++k)
        value =
            simt_temp(e, type, borg_format(e->arena, "%s == %d ? %s : %s", which, k, x[k], value));
    return value;
}

static const char *shufv_scalar(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0];
    const char *index = borg_format(e->arena, "(int)%s", simt_get(e, v->args[1], i));
    int32_t r = i / simt_per_row(e, v);
    if (x->mark) simt_see_slots(e);
    if (simt_indexes_slots(e, v))
        return borg_format(e->arena, "q%d_%s[%d]", v->args[1]->id, simt_suffix(x->type),
                           simt_slot_of(x) + r);
    if (x->mark)
        return borg_format(e->arena, "b_x%s[%s * %d + %d]", simt_suffix(x->type), index,
                           e->stride[x->type], simt_slot_of(x) + r);
    const char **part = BORG_NEW(e->arena, e->rows, const char *);
    const char *row = NULL, *thread = index;
    if (e->rows > 1 && e->lanes > 1 && !e->target->opencl &&
        x->type != BORG_I1) { /* exchanges wrap around by themselves, votes do not */
        row = simt_temp(e, BORG_I32, borg_format(e->arena, "(b_i32)%s / %du", index, e->lanes));
    } else if (e->rows > 1 && e->lanes > 1) {
        row = simt_temp(e, BORG_I32, borg_format(e->arena, "%s / %d", index, e->lanes));
        thread = borg_format(e->arena, "(int)(%s %% %d)", index, e->lanes);
    }
    for (int32_t j = 0; j < e->rows; ++j) part[j] = simt_get(e, x, r * e->rows + j);
    if (e->lanes == 1) return pick(e, part, e->rows, x->type, index);
    if (e->rows == 1) return from_thread(e, x, r, thread);
    if (v->spread == BORG_WG && !e->target->opencl) {
        const char *one = pick(e, part, e->rows, x->type, borg_format(e->arena, "(int)%s", row));
        if (x->type != BORG_I1) return simt_shuffled(e, x->type, one, thread);
    }
    for (int32_t j = 0; j < e->rows; ++j)
        part[j] = simt_temp(e, x->type, from_thread(e, x, r * e->rows + j, thread));
    return pick(e, part, e->rows, x->type, borg_format(e->arena, "(int)%s", row));
}

/* A choice among values that lie in slots side by side, the thread's own or those of one that an
 * index names: one read. */
static const char *pick_slot(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0], *first = NULL, *lane = NULL;
    if (e->lanes == 1 || x->op != BORG_ROWS) return NULL;
    for (int32_t r = 0; r < x->rows; ++r) {
        const borg_inst *y = x->args[r], *index = NULL;
        if (y->op == BORG_SHUFV && y->spread == v->spread) {
            index = y->args[1];
            y = y->args[0];
        }
        if (y->spread != BORG_WI || y->rows != 1 || simt_slot_of(y) < 0 || y->mark & SIMT_FAR)
            return NULL;
        if (r == 0) first = y, lane = index;
        if (lane != index || simt_slot_of(y) != simt_slot_of(first) + r) return NULL;
    }
    if (!lane && v->spread != BORG_WI) return NULL;
    simt_see_slots(e);
    const char *who = lane ? borg_format(e->arena, "(int)%s", simt_get(e, lane, i))
                           : borg_format(e->arena, "(%d + b_l)", i * e->lanes);
    return borg_format(e->arena, "b_x%s[%s * %d + %d + (int)%s]", simt_suffix(v->type), who,
                       e->stride[v->type], simt_slot_of(first), simt_get(e, v->args[1], i));
}

enum { JUMP_ROWS = 8 };

/* An index that is the same for a whole warp. */
static bool goes_together(const simt *e, const borg_inst *index) {
    while (index->op == BORG_BCAST) index = index->args[0];
    return !e->target->opencl && (index->spread == BORG_UNI ||
                                  (index->spread == BORG_WG && e->lanes == 32 && e->m->pack == 1));
}

/* By a jump: a few instructions in place of a selection for each value. */
static const char *jump_to(simt *e, const char *const *x, int32_t count, borg_type type,
                           const char *which) {
    const char *value = borg_format(e->arena, "t%d", e->c.temps++);
    ctext_line(&e->c, "%s %s;", e->target->types[type], value);
    ctext_line(&e->c, "switch (%s) {", which);
    for (int32_t k = 0; k < count; ++k)
        if (k + 1 < count)
            ctext_line(&e->c, "case %d: %s = %s; break;", k, value, x[k]);
        else
            ctext_line(&e->c, "default: %s = %s;", value, x[k]);
    ctext_line(&e->c, "}");
    return value;
}

static const char *pickv_scalar(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0];
    const char *slot = pick_slot(e, v, i);
    if (slot) return slot;
    int32_t per = simt_per_row(e, x);
    const char **row = BORG_NEW(e->arena, x->rows, const char *);
    for (int32_t r = 0; r < x->rows; ++r) row[r] = simt_get(e, x, r * per + i);
    const char *index = borg_format(e->arena, "(int)%s", simt_get(e, v->args[1], i));
    return goes_together(e, v->args[1]) && x->rows >= JUMP_ROWS
               ? jump_to(e, row, x->rows, v->type, index)
               : pick(e, row, x->rows, v->type, index);
}

/* ---- instructions ---------------------------------------------------------------------------- */

void simt_layout(simt *e, borg_inst *v) {
    int32_t per = simt_per_row(e, v);
    if (v->op == BORG_MMA) {
        simt_mma(e, v);
        return;
    }
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        int32_t r = i / per, j = i % per;
        const borg_inst *x = v->args[0];
        switch (v->op) {
        case BORG_BCAST:
            ctext_name(&e->c, v, i, simt_get(e, x, r * simt_per_row(e, x)));
            break;
        case BORG_ROWS:
            ctext_name(&e->c, v, i, simt_get(e, v->args[r], v->map[r] * per + j));
            break;
        case BORG_LANE:
            simt_let(e, v, i, lane_of(e, x, v->map[2 * r], v->map[2 * r + 1]));
            break;
        case BORG_PERM: {
            const char *found = simt_gather(e, v, i);
            simt_let(e, v, i, found ? found : perm_scalar(e, v, i));
            break;
        }
        case BORG_SHUFV:
            if (v->spread == BORG_WG && v->mark && (v->aux || shuffle_row(e, v))) return;
            simt_let(e, v, i, shufv_scalar(e, v, i));
            break;
        default:
            simt_let(e, v, i, pickv_scalar(e, v, i));
            break;
        }
    }
}
