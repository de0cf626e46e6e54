/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves between work-items, and the slots of shared memory that serve it. */
#include "borg/emit/simt/simt.h"

/* ---- which values get a slot -------------------------------------------------------------------
 */

/* inst->mark: 0, or the first slot's number from 1 on; IN_SLOT: it is read from there by its own
 * thread, too, and needs no register. */
enum { MOST_SLOT_BYTES = 44 * 1024, MOST_SLOTS = 96, IN_SLOT = 1 << 16, SLOT = IN_SLOT - 1 };

static int32_t slot_of(const borg_inst *v) {
    return (v->mark & SLOT) - 1;
}

/* What LANE or PERM reads in row r of work-item w: behind choices by constants and broadcasts. */
static const borg_inst *source_of(const simt *e, const borg_inst *v, int32_t *r, int32_t *w) {
    for (;;) {
        if (v->op == BORG_SELECT && v->args[0]->op == BORG_CONST) {
            v = v->args[borg_const_bits(e->m, v->args[0], *r, *w) & 1 ? 1 : 2];
        } else if (v->op == BORG_PERM) {
            int32_t i = 2 * (*r * e->m->size + *w);
            *r = v->map[i];
            *w = v->map[i + 1];
            v = v->args[0];
        } else {
            return v;
        }
    }
}

static bool moves(const borg_inst *v) {
    return v->op == BORG_LANE || v->op == BORG_SHUFV || v->op == BORG_PERM;
}

static void count_moves(const simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (moves(v) && v->uses > 0) {
            borg_inst *x = v->args[0];
            if (v->op == BORG_LANE && v->rows == 1) {
                int32_t r = v->map[0], w = v->map[1];
                x = (borg_inst *)source_of(e, x, &r, &w);
            }
            ++x->mark;
        }
        if (v->block[0]) count_moves(e, v->block[0]);
        if (v->block[1]) count_moves(e, v->block[1]);
    }
}

static void clear_marks(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->mark = 0;
        if (v->block[0]) clear_marks(v->block[0]);
        if (v->block[1]) clear_marks(v->block[1]);
    }
}

static bool worth_a_slot(const simt *e, const borg_inst *v, bool loop) {
    if (loop || v->spread != BORG_WI || v->type == BORG_I1 || v->type == BORG_PTR) return false;
    if (e->options->disable & BORG_NO_REUSE) return false;
    return e->target->opencl ? v->mark >= 2 : v->mark >= 4 && e->lanes > 1;
}

static void give_slots(simt *e, borg_block *block, bool loop, int32_t *bytes) {
    for (borg_inst *v = block->first; v; v = v->next) {
        int32_t each = borg_type_bytes(v->type) * e->lanes * e->rows * v->rows;
        bool good = worth_a_slot(e, v, loop) && e->slots[v->type] + v->rows <= MOST_SLOTS &&
                    *bytes + each <= MOST_SLOT_BYTES;
        bool seldom = !e->target->opencl && v->uses - v->mark <= 2;
        v->mark = good ? (e->slots[v->type] + 1) | (seldom ? IN_SLOT : 0) : 0;
        if (good) {
            e->slots[v->type] += v->rows;
            *bytes += each;
        }
        for (int i = 0; i < 2; ++i)
            if (v->block[i]) give_slots(e, v->block[i], loop || v->op == BORG_LOOP, bytes);
    }
}

/* Neighbouring work-items' slots lie in different banks when four threads' 16 bytes are read or
 * written at once: an odd number of 16 bytes from one to the next. */
static int32_t stride_of(int32_t slots, borg_type type) {
    int32_t unit = 16 / borg_type_bytes(type), n = (slots + unit - 1) / unit;
    return (n | 1) * unit;
}

void simt_plan_slots(simt *e) {
    int32_t bytes = 0;
    for (int t = 0; t < BORG_PTR; ++t) e->slots[t] = 0;
    clear_marks(e->m->body);
    count_moves(e, e->m->body);
    give_slots(e, e->m->body, false, &bytes);
    for (int t = BORG_I32; t < BORG_PTR; ++t)
        e->stride[t] = e->slots[t] ? stride_of(e->slots[t], (borg_type)t) : 0;
}

void simt_publish(simt *e, borg_inst *v) {
    if (v->mark == 0) return;
    int32_t per = simt_per_row(e, v), stride = e->stride[v->type];
    const char *suffix = simt_suffix(v->type);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        const char *place = borg_format(e->arena, "b_x%s[(%d + b_l) * %d + %d]", suffix,
                                        i % per * e->lanes, stride, slot_of(v) + i / per);
        simt_line(e, "%s = %s;", place, simt_get(e, v, i));
        if (v->mark & IN_SLOT) simt_name(e, v, i, place);
    }
    simt_line(e, e->target->opencl ? "barrier(CLK_LOCAL_MEM_FENCE);" : "b_syncwarp(%s);",
              simt_mask(e));
}

/* ---- one scalar of another thread --------------------------------------------------------------
 */

/* Scalar i of v as thread `lane` (text) of the group has it. */
static const char *from_thread(simt *e, const borg_inst *v, int32_t i, const char *lane) {
    int32_t per = simt_per_row(e, v);
    const char *suffix = simt_suffix(v->type), *x = simt_get(e, v, i);
    if (v->mark)
        return borg_format(e->arena, "b_x%s[(%d + %s) * %d + %d]", suffix, i % per * e->lanes, lane,
                           e->stride[v->type], slot_of(v) + i / per);
    if (e->target->opencl) {
        simt_line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
        simt_line(e, "b_r%s[b_at] = %s;", suffix, x);
        simt_line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
        return simt_temp(
            e, v->type,
            borg_format(e->arena, "b_r%s[b_own * %d + (int)%s]", suffix, e->m->size, lane));
    }
    if (v->type == BORG_I1)
        return borg_format(e->arena, "(b_bool)(b_ballot(%s, %s) >> (b_base + %s) & 1u)",
                           simt_mask(e), x, lane);
    return borg_format(e->arena, "b_shfl_%s(%s, %s, %s, %d)", suffix, simt_mask(e), x, lane,
                       e->lanes);
}

/* ---- constant places ---------------------------------------------------------------------------
 */

static const char *lane_of(simt *e, const borg_inst *v, int32_t r, int32_t w) {
    v = source_of(e, v, &r, &w);
    if (v->op == BORG_CONST) return simt_literal(e, v->type, borg_const_bits(e->m, v, r, w));
    if (v->op == BORG_LID) return simt_literal(e, v->type, (uint64_t)w);
    if (v->op == BORG_BCAST) return simt_get(e, v->args[0], r);
    int32_t i = r * e->rows + w / e->lanes;
    if (e->lanes == 1) return simt_get(e, v, i);
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
        for (int32_t k = 0; k < e->lanes; ++k) bits[k] = p->scalar[k] == p->scalar[l];
        value = !value ? part
                       : simt_temp(e, v->type,
                                   borg_format(e->arena, "%s ? %s : %s",
                                               simt_by_lane(e, BORG_I1, bits), part, value));
    }
    return value;
}

/* ---- places known at run time ------------------------------------------------------------------
 */

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
    if (x->mark)
        return borg_format(e->arena, "b_x%s[%s * %d + %d]", simt_suffix(x->type), index,
                           e->stride[x->type], slot_of(x) + r);
    const char **part = BORG_NEW(e->arena, e->rows, const char *);
    const char *row = NULL, *thread = index;
    if (e->rows > 1 && e->lanes > 1) {
        row = simt_temp(e, BORG_I32, borg_format(e->arena, "%s / %d", index, e->lanes));
        thread = borg_format(e->arena, "(int)(%s %% %d)", index, e->lanes);
    }
    for (int32_t j = 0; j < e->rows; ++j) part[j] = simt_get(e, x, r * e->rows + j);
    if (e->lanes == 1) return pick(e, part, e->rows, x->type, index);
    if (e->rows == 1) return from_thread(e, x, r, thread);
    if (v->spread == BORG_WG && !e->target->opencl) {
        const char *one = pick(e, part, e->rows, x->type, borg_format(e->arena, "(int)%s", row));
        if (x->type != BORG_I1)
            return borg_format(e->arena, "b_shfl_%s(%s, %s, %s, %d)", simt_suffix(x->type),
                               simt_mask(e), one, thread, e->lanes);
    }
    for (int32_t j = 0; j < e->rows; ++j)
        part[j] = simt_temp(e, x->type, from_thread(e, x, r * e->rows + j, thread));
    return pick(e, part, e->rows, x->type, borg_format(e->arena, "(int)%s", row));
}

static const char *pickv_scalar(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0];
    int32_t per = simt_per_row(e, x);
    const char **row = BORG_NEW(e->arena, x->rows, const char *);
    for (int32_t r = 0; r < x->rows; ++r) row[r] = simt_get(e, x, r * per + i);
    return pick(e, row, x->rows, v->type,
                borg_format(e->arena, "(int)%s", simt_get(e, v->args[1], i)));
}

/* ---- instructions ------------------------------------------------------------------------------
 */

void simt_layout(simt *e, borg_inst *v) {
    int32_t per = simt_per_row(e, v);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        int32_t r = i / per, j = i % per;
        const borg_inst *x = v->args[0];
        switch (v->op) {
        case BORG_BCAST:
            simt_name(e, v, i, simt_get(e, x, r * simt_per_row(e, x)));
            break;
        case BORG_ROWS:
            simt_name(e, v, i, simt_get(e, v->args[r], v->map[r] * per + j));
            break;
        case BORG_LANE:
            simt_let(e, v, i, lane_of(e, x, v->map[2 * r], v->map[2 * r + 1]));
            break;
        case BORG_PERM:
            simt_let(e, v, i, perm_scalar(e, v, i));
            break;
        case BORG_SHUFV:
            simt_let(e, v, i, shufv_scalar(e, v, i));
            break;
        default:
            simt_let(e, v, i, pickv_scalar(e, v, i));
            break;
        }
    }
}
