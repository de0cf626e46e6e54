/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves between work-items, and the slots of shared memory that serve it. */
#include "borg/emit/simt/simt.h"
#include <string.h>

/* ---- which values get a slot -------------------------------------------------------------------
 */

/* inst->mark of a WI value: 0, or the first slot's number from 1 on; IN_SLOT: it is read from there
 * by its own thread, too, and needs no register; FAR: that, where the use is far from where it was
 * made. Of a WG value: 0, or its row and place in it (below); LATE: it is read where it is used. */
enum {
    MOST_SLOT_BYTES = 44 * 1024,
    MOST_SLOTS = 96,
    FAR = 1 << 17,
    IN_SLOT = 1 << 16,
    SLOT = IN_SLOT - 1,
    DONE = 1 << 18, /* while slots are given */
    FAR_INSTRUCTIONS = 400,
    LEAST_ROW = 4,
    LEAST_WHOLE = 16,
    MOST_WHOLES = 4,
    MOST_ROW = 64,
    LATE = 1 << 30
};

static int32_t slot_of(const borg_inst *v) {
    return (v->mark & SLOT) - 1;
}

static int32_t row_of(const borg_inst *v) {
    return ((v->mark & ~LATE) - 1) / MOST_ROW;
}

static int32_t place_of(const borg_inst *v) {
    return ((v->mark & ~LATE) - 1) % MOST_ROW;
}

/* ---- where values are used last ----------------------------------------------------------------
 */

static void find_last(simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        int32_t at = v->id >= 0 ? v->id : e->now;
        if (v->id >= 0) e->now = v->id;
        for (int32_t k = 0; k < v->nargs; ++k)
            if (v->args[k]->id >= 0 && e->last[v->args[k]->id] < at) e->last[v->args[k]->id] = at;
        e->has_loops = e->has_loops || v->op == BORG_LOOP;
        if (v->block[0]) find_last(e, v->block[0]);
        if (v->block[1]) find_last(e, v->block[1]);
    }
}

/* A broadcast is another name of its operand: from the end, as they may follow each other. */
static void join_last(simt *e, borg_block *block) {
    for (borg_inst *v = block->last; v; v = v->prev) {
        if (v->block[1]) join_last(e, v->block[1]);
        if (v->block[0]) join_last(e, v->block[0]);
        if (v->op == BORG_BCAST && e->last[v->args[0]->id] < e->last[v->id])
            e->last[v->args[0]->id] = e->last[v->id];
    }
}

/* ---- slots: what is asked for often ------------------------------------------------------------
 */

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

/* Its sign changed it lives on in a register, nearly as long. */
static void find_negated(simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_FNEG && e->last[v->id] - v->id > FAR_INSTRUCTIONS)
            e->negated[v->args[0]->id] = true;
        if (v->block[0]) find_negated(e, v->block[0]);
        if (v->block[1]) find_negated(e, v->block[1]);
    }
}

/* Flags of the slot that a value is worth, -1: none. */
static int32_t worth_a_slot(const simt *e, const borg_inst *v, bool loop) {
    if (loop || v->spread != BORG_WI || v->type == BORG_I1 || v->type == BORG_PTR) return -1;
    if (v->id < 0 || e->options->disable & BORG_NO_REUSE) return -1;
    if (e->target->opencl) return v->mark >= 2 ? 0 : -1;
    if (e->lanes == 1 || e->step > 1) return -1;
    if (v->mark >= 4) return v->uses - v->mark <= 2 ? IN_SLOT : 0;
    /* the rest of a result that waits for the end */
    bool wide = borg_type_bytes(v->type) * e->m->size >= 192;
    bool waits = v->op == BORG_RESULT ? v->uses <= 4 : v->uses <= 2 && v->op == BORG_SELECT;
    return (wide || e->rows > 1) && waits && v->rows == 1 && !e->has_loops && !e->negated[v->id] &&
                   v->mark == 0 && e->last[v->id] - v->id > (e->rows > 1 ? 1 : 4) * FAR_INSTRUCTIONS
               ? FAR
               : -1;
}

/* Two walks: those that are read far away take the last slots, so that the others are neighbours.
 */
static void give_slots(simt *e, borg_block *block, bool loop, bool far, int32_t *bytes) {
    for (borg_inst *v = block->first; v; v = v->next) {
        int32_t each = borg_type_bytes(v->type) * e->lanes * e->rows * v->rows;
        int32_t flags = worth_a_slot(e, v, loop);
        bool done = far && v->mark & DONE;
        if (!done && (flags == FAR) == far) {
            bool good = flags >= 0 && e->slots[v->type] + v->rows <= MOST_SLOTS &&
                        *bytes + each <= MOST_SLOT_BYTES;
            v->mark = good ? (e->slots[v->type] + 1) | flags : 0;
            if (good) {
                e->slots[v->type] += v->rows;
                *bytes += each;
            }
            if (!far) v->mark |= DONE;
        }
        v->mark &= far ? ~DONE : ~0;
        for (int i = 0; i < 2; ++i)
            if (v->block[i]) give_slots(e, v->block[i], loop || v->op == BORG_LOOP, far, bytes);
    }
}

/* Neighbouring work-items' slots lie in different banks when four threads' 16 bytes are read or
 * written at once: an odd number of 16 bytes from one to the next. */
static int32_t stride_of(int32_t slots, borg_type type) {
    int32_t unit = 16 / borg_type_bytes(type), n = (slots + unit - 1) / unit;
    return (n | 1) * unit;
}

/* Rows of groups that share a warp are read at once: in different banks, too. */
int32_t simt_row_length(const simt *e, borg_type type) {
    return stride_of(e->lanes * e->rows, type);
}

/* ---- rows: several values of one thread ---------------------------------------------------------
 */

/* A pivot row, say: values that are all asked of the same thread. It puts them into shared memory
 * side by side, and all read. Two places in turn, so that what is read from one can still be used
 * while the next row comes. */
static bool in_row(const borg_inst *u, const borg_inst *v) {
    return u->op == BORG_SHUFV && u->spread == BORG_WG && u->rows == 1 && u->type == v->type &&
           u->args[1] == v->args[1] && u->args[0]->mark == 0 && u->args[0]->id < v->id &&
           u->uses > 0 && u->mark == 0 && u->type != BORG_I1;
}

/* loops: around the block. Where there are loops, rows stand within one of them: no row outlives a
 * turn, and the order of the text is that of the places' use. */
static void plan_rows(simt *e, borg_block *block, int32_t loops, int32_t *starts) {
    for (borg_inst *v = block->first; v; v = v->next) {
        int32_t held = e->lanes * e->rows, count = 0, most = held < MOST_ROW ? held : MOST_ROW;
        int32_t inner = loops + (v->op == BORG_LOOP);
        if (v->block[0]) plan_rows(e, v->block[0], inner, starts);
        if (v->block[1]) plan_rows(e, v->block[1], inner, starts);
        if (loops != e->has_loops || !in_row(v, v)) continue;
        for (borg_inst *u = v; u; u = u->next) count += in_row(u, v);
        if (count < (e->rows == 1 ? LEAST_ROW : e->m->size)) continue;
        int32_t number = ++e->planned_rows, k = 0;
        starts[number] = v->id;
        for (borg_inst *u = v->next; u && k < most - 1; u = u->next)
            if (in_row(u, v)) u->mark = number * MOST_ROW + ++k + 1;
        v->mark = number * MOST_ROW + 1;
    }
}

/* What is used before its place is given away needs no register. */
static void find_late(simt *e, borg_block *block, const int32_t *starts) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_SHUFV && v->spread == BORG_WG && v->mark != 0) {
            int32_t next = row_of(v) + 2;
            if (next > e->planned_rows || e->last[v->id] < starts[next]) v->mark |= LATE;
        }
        if (v->block[0]) find_late(e, v->block[0], starts);
        if (v->block[1]) find_late(e, v->block[1], starts);
    }
}

static const char *row_place(simt *e, const borg_inst *v) {
    return borg_format(e->arena, "b_row%s%d[%d]", simt_suffix(v->type), row_of(v) % 2, place_of(v));
}

static bool shuffle_row(simt *e, borg_inst *v) {
    if (v->mark == 0 || v->spread != BORG_WG) return false;
    e->row_number = row_of(v);
    e->has_rows[v->type] = true;
    simt_line(e, "b_syncwarp(%s);", simt_mask(e));
    for (int32_t j = 0; j < e->rows; ++j) { /* each row of the thread in a branch of its own */
        simt_line(e, "if (%s == (b_i32)%s) {",
                  e->rows == 1 ? "(b_i32)b_l"
                               : borg_format(e->arena, "(b_i32)(b_l + %d)", j * e->lanes),
                  simt_get(e, v->args[1], 0));
        for (borg_inst *u = v; u; u = u->next)
            if (u->op == BORG_SHUFV && u->spread == BORG_WG && u->mark && row_of(u) == row_of(v))
                simt_line(e, "    %s = %s;", row_place(e, u), simt_get(e, u->args[0], j));
        simt_line(e, "}");
    }
    simt_line(e, "b_syncwarp(%s);", simt_mask(e));
    for (borg_inst *u = v; u; u = u->next) {
        if (!(u->op == BORG_SHUFV && u->spread == BORG_WG && u->mark && row_of(u) == row_of(v)))
            continue;
        if (u->mark & LATE) {
            simt_name(e, u, 0, row_place(e, u));
        } else {
            simt_let(e, u, 0, row_place(e, u));
        }
    }
    return true;
}

/* The slots of the work-item that an index names: asked for with one index they lie side by side,
 * and compilers load two at once where they see the alignment. */
static bool indexes_slots(const simt *e, const borg_inst *v) {
    return v->op == BORG_SHUFV && v->spread == BORG_WG && v->rows == 1 && v->args[0]->mark != 0 &&
           v->args[1]->op != BORG_SHUFV && v->args[1]->op != BORG_CONST && !e->target->opencl &&
           v->args[1]->spread == BORG_WG;
}

static void find_indices(const simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (indexes_slots(e, v)) v->args[1]->mark = 1;
        if (v->block[0]) find_indices(e, v->block[0]);
        if (v->block[1]) find_indices(e, v->block[1]);
    }
}

/* ---- a value that all read ----------------------------------------------------------------------
 *
 * In a loop, where nothing gets a slot: a value of which most work-items' are asked for, each by
 * all, is put into a place of its own, work-item after work-item, so that two are read at once. */
static const borg_inst *source_of(const simt *e, const borg_inst *v, int32_t *r, int32_t *w);

static void count_lanes(const simt *e, const borg_block *block, int32_t *asked, int32_t loops) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        int32_t inner = loops + (v->op == BORG_LOOP), r = 0, w = 0;
        if (v->block[0]) count_lanes(e, v->block[0], asked, inner);
        if (v->block[1]) count_lanes(e, v->block[1], asked, inner);
        if (v->op != BORG_LANE || v->rows != 1 || loops == 0) continue;
        r = v->map[0];
        w = v->map[1];
        const borg_inst *x = source_of(e, v->args[0], &r, &w);
        if (x->spread == BORG_WI && x->rows == 1 && x->mark == 0 && x->type != BORG_I1 &&
            x->op != BORG_PHI && x->op != BORG_RESULT && x->op != BORG_CONST && x->op != BORG_LID)
            ++asked[x->id];
    }
}

static void plan_wholes(simt *e, const borg_block *block, int32_t *asked, int32_t loops) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        int32_t inner = loops + (v->op == BORG_LOOP);
        if (v->block[0]) plan_wholes(e, v->block[0], asked, inner);
        if (v->block[1]) plan_wholes(e, v->block[1], asked, inner);
        bool good = v->id >= 0 && loops > 0 && asked[v->id] >= LEAST_WHOLE &&
                    2 * asked[v->id] >= e->m->size && e->wholes[v->type] < MOST_WHOLES;
        if (good) e->whole[v->id] = ++e->wholes[v->type];
    }
}

static void publish_whole(simt *e, const borg_inst *v) {
    simt_line(e, "b_syncwarp(%s);", simt_mask(e));
    for (int32_t j = 0; j < e->rows; ++j)
        simt_line(e, "b_all%s[%d + %d + b_l] = %s;", simt_suffix(v->type),
                  (e->whole[v->id] - 1) * simt_row_length(e, v->type), j * e->lanes,
                  simt_get(e, v, j));
    simt_line(e, "b_syncwarp(%s);", simt_mask(e));
}

static bool nested(const borg_block *block, int32_t loops) {
    bool found = loops > 1;
    for (const borg_inst *v = block->first; v && !found; v = v->next)
        for (int i = 0; i < 2; ++i)
            found = found || (v->block[i] && nested(v->block[i], loops + (v->op == BORG_LOOP)));
    return found;
}

void simt_plan_slots(simt *e) {
    int32_t bytes = simt_local_bytes(e);
    e->now = 0;
    e->has_loops = false;
    e->planned_rows = e->row_number = 0;
    e->last = BORG_NEW(e->arena, e->m->ninsts + 1, int32_t);
    find_last(e, e->m->body);
    join_last(e, e->m->body);
    for (int t = 0; t < BORG_PTR; ++t) e->slots[t] = 0;
    clear_marks(e->m->body);
    count_moves(e, e->m->body);
    e->negated = BORG_NEW(e->arena, e->m->ninsts + 1, bool);
    find_negated(e, e->m->body);
    simt_plan_maxima(e);
    give_slots(e, e->m->body, false, false, &bytes);
    give_slots(e, e->m->body, false, true, &bytes);
    for (int t = BORG_I32; t < BORG_PTR; ++t)
        e->stride[t] = e->slots[t] ? stride_of(e->slots[t], (borg_type)t) : 0;
    find_indices(e, e->m->body);
    e->partner = BORG_NEW(e->arena, e->m->ninsts + 1, borg_inst *);
    e->whole = BORG_NEW(e->arena, e->m->ninsts + 1, int32_t);
    memset(e->wholes, 0, sizeof e->wholes);
    if (e->target->opencl || e->lanes < 8 || e->step > 1 || e->options->disable & BORG_NO_REUSE)
        return;
    int32_t *asked = BORG_NEW(e->arena, e->m->ninsts + 1, int32_t);
    count_lanes(e, e->m->body, asked, 0);
    plan_wholes(e, e->m->body, asked, 0);
    if (e->has_loops && nested(e->m->body, 0)) return;
    int32_t *starts = BORG_NEW(e->arena, e->m->ninsts + 1, int32_t);
    plan_rows(e, e->m->body, 0, starts);
    find_late(e, e->m->body, starts);
}

static void publish_index(simt *e, const borg_inst *v) {
    for (int t = BORG_I32; t < BORG_PTR; ++t)
        if (e->stride[t])
            simt_line(e, "B_LOCAL const %s *const q%d_%s = B_ALIGNED(b_x%s + (int)%s * %d);",
                      e->target->types[t], v->id, simt_suffix((borg_type)t),
                      simt_suffix((borg_type)t), simt_get(e, v, 0), e->stride[t]);
}

void simt_publish(simt *e, borg_inst *v) {
    if (v->op == BORG_MMA && !v->aux) return; /* made later, with its other half */
    if (v->mark == 1 && v->spread == BORG_WG && v->op != BORG_SHUFV && v->type == BORG_I32)
        publish_index(e, v);
    if (v->id >= 0 && e->whole[v->id]) publish_whole(e, v);
    if (v->mark == 0 || v->spread != BORG_WI) return;
    int32_t per = simt_per_row(e, v), stride = e->stride[v->type];
    const char *suffix = simt_suffix(v->type);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        const char *place = borg_format(e->arena, "b_x%s[(%d + b_l) * %d + %d]", suffix,
                                        i % per * e->lanes, stride, slot_of(v) + i / per);
        simt_line(e, "%s = %s;", place, simt_get(e, v, i));
        if (v->mark & IN_SLOT) simt_name(e, v, i, place);
    }
    if (!(v->mark & FAR)) e->unseen = true;
}

void simt_see_slots(simt *e) {
    if (!e->unseen) return;
    e->unseen = false;
    simt_line(e, e->target->opencl ? "barrier(CLK_LOCAL_MEM_FENCE);" : "b_syncwarp(%s);",
              simt_mask(e));
}

/* ---- one scalar of another thread --------------------------------------------------------------
 */

/* Scalar i of v as thread `lane` (text) of the group has it. */
static const char *from_thread(simt *e, const borg_inst *v, int32_t i, const char *lane) {
    int32_t per = simt_per_row(e, v);
    const char *suffix = simt_suffix(v->type), *x = simt_get(e, v, i);
    if (v->mark) simt_see_slots(e);
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
                           simt_mask(e), x,
                           e->step == 1 ? lane : borg_format(e->arena, "(%s) * %d", lane, e->step));
    return simt_shuffled(e, v->type, x, lane);
}

/* ---- constant places ---------------------------------------------------------------------------
 */

static const char *lane_of(simt *e, const borg_inst *v, int32_t r, int32_t w) {
    const borg_inst *given = v;
    int32_t row = r, item = w;
    v = source_of(e, v, &r, &w);
    if (v->op == BORG_BCAST && v->args[0]->op == BORG_SHUFV && v->args[0]->mark & LATE &&
        e->row_number - row_of(v->args[0]) > 1) { /* its place was given away */
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
        /* all threads take part in each exchange: none stands in an arm of a choice */
        if (!only) part = simt_temp(e, v->type, part);
        value = !value ? part
                       : simt_temp(e, v->type,
                                   borg_format(e->arena, "%s ? %s : %s",
                                               simt_by_lane(e, BORG_I1, bits), part, value));
    }
    return value;
}

/* ---- each thread another place ------------------------------------------------------------------
 *
 * A choice by constants among what other work-items hold in slots, as tiles of a product need it:
 * each thread reads at a place of its own. What the places have in common with those of other
 * reads, all but one constant, is a pointer made once. */

/* The slot that work-item *w of row r reads; NULL: its value is no slot's, or its own. */
static const borg_inst *slot_behind(const simt *e, const borg_inst *v, int32_t *r, int32_t *w) {
    bool moved = false;
    for (;;) {
        if (v->op == BORG_SELECT && v->args[0]->op == BORG_CONST) {
            v = v->args[borg_const_bits(e->m, v->args[0], *r, *w) & 1 ? 1 : 2];
        } else if (v->op == BORG_PERM) {
            const int32_t *from = &v->map[2 * (*r * e->m->size + *w)];
            moved = true;
            *r = from[0];
            *w = from[1];
            v = v->args[0];
        } else if (v->op == BORG_BCAST && v->args[0]->op == BORG_LANE) {
            const int32_t *from = &v->args[0]->map[2 * *r];
            moved = true;
            *r = from[0];
            *w = from[1];
            v = v->args[0]->args[0];
        } else if (v->op == BORG_ROWS && v->mark == 0) {
            int32_t row = v->map[*r];
            v = v->args[*r];
            *r = row;
        } else {
            bool good = moved && v->spread == BORG_WI && slot_of(v) >= 0 && !(v->mark & FAR);
            return good ? v : NULL;
        }
    }
}

static const simt_places *places_like(simt *e, borg_type type, const int32_t *offset) {
    simt_places *p = e->places;
    size_t bytes = (size_t)e->lanes * sizeof *offset;
    for (; p; p = p->next)
        if (p->type == type && memcmp(p->offset, offset, bytes) == 0) return p;
    p = BORG_NEW(e->arena, 1, simt_places);
    *p = (simt_places){.type = type, .offset = BORG_NEW(e->arena, e->lanes, int32_t)};
    memcpy(p->offset, offset, bytes);
    p->number = e->places ? e->places->number + 1 : 0;
    p->next = e->places;
    return e->places = p;
}

const char *simt_gather(simt *e, const borg_inst *v, int32_t i) {
    int32_t offset[BORG_MAX_SIZE], first = 0;
    if (e->lanes == 1 || v->spread != BORG_WI) return NULL;
    for (int32_t l = 0; l < e->lanes; ++l) {
        int32_t r = i / e->rows, w = i % e->rows * e->lanes + l;
        if (w >= e->m->size) w = e->m->size - 1;
        const borg_inst *x = slot_behind(e, v, &r, &w);
        if (!x || !x->aux || x->type != v->type) return NULL;
        offset[l] = w * e->stride[x->type] + slot_of(x) + r;
        if (l == 0) first = offset[0];
        offset[l] -= first;
    }
    simt_see_slots(e);
    return borg_format(e->arena, "b_o%d[%d]", places_like(e, v->type, offset)->number, first);
}

void simt_put_places(simt *e) {
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    for (const simt_places *p = e->places; p; p = p->next) {
        int32_t unit = 16 / borg_type_bytes(p->type);
        bool even = !e->target->opencl;
        for (int32_t l = 0; l < e->lanes; ++l) {
            even = even && p->offset[l] % unit == 0;
            bits[l] = (uint32_t)p->offset[l];
        }
        simt_line(e, "B_LOCAL const %s *const b_o%d = %s(b_x%s + (int)%s);",
                  e->target->types[p->type], p->number, even ? "B_ALIGNED" : "",
                  simt_suffix(p->type), simt_by_lane(e, BORG_I32, bits));
    }
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
    if (x->mark) simt_see_slots(e);
    if (indexes_slots(e, v))
        return borg_format(e->arena, "q%d_%s[%d]", v->args[1]->id, simt_suffix(x->type),
                           slot_of(x) + r);
    if (x->mark)
        return borg_format(e->arena, "b_x%s[%s * %d + %d]", simt_suffix(x->type), index,
                           e->stride[x->type], slot_of(x) + r);
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

/* The name by which a use of scalar i far from its making should call it. */
const char *simt_far(const simt *e, const borg_inst *v, int32_t i) {
    int32_t per = simt_per_row(e, v);
    if (!(v->spread == BORG_WI && v->mark & FAR) || e->now - v->id < FAR_INSTRUCTIONS) return NULL;
    return borg_format(e->arena, "b_x%s[(%d + b_l) * %d + %d]", simt_suffix(v->type),
                       i % per * e->lanes, e->stride[v->type], slot_of(v) + i / per);
}

/* A choice by constants that gives work-item k the k-th value of a row: read by it from there. */
const char *simt_row_by_item(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *first = NULL;
    if (v->spread != BORG_WI || v->rows != 1 || e->lanes == 1) return NULL;
    if (v->args[0]->op != BORG_CONST || e->target->opencl) return NULL;
    for (int32_t l = 0; l < e->m->size; ++l) {
        int32_t r = 0, w = l;
        const borg_inst *u = source_of(e, v, &r, &w);
        if (u->op != BORG_BCAST || u->args[0]->op != BORG_SHUFV) return NULL;
        u = u->args[0];
        if (u->spread != BORG_WG) return NULL;
        if (l == 0) first = u;
        if (indexes_slots(e, first)) {
            if (!indexes_slots(e, u) || u->args[1] != first->args[1]) return NULL;
            if (slot_of(u->args[0]) != slot_of(first->args[0]) + l) return NULL;
        } else if (u->mark == 0 || place_of(u) != l || row_of(u) != row_of(first)) {
            return NULL;
        }
    }
    if (indexes_slots(e, first)) simt_see_slots(e);
    if (indexes_slots(e, first))
        return borg_format(e->arena, "q%d_%s[%d + b_w%d]", first->args[1]->id, simt_suffix(v->type),
                           slot_of(first->args[0]), i);
    if (e->row_number - row_of(first) > 1) return NULL; /* its place was given away */
    return borg_format(e->arena, "b_row%s%d[b_w%d]", simt_suffix(v->type), row_of(first) % 2, i);
}

/* Of values that lie in slots side by side, the thread's own or of one that an index names: one
 * read. */
static const char *pick_slot(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *x = v->args[0], *first = NULL, *lane = NULL;
    if (e->lanes == 1 || x->op != BORG_ROWS) return NULL;
    for (int32_t r = 0; r < x->rows; ++r) {
        const borg_inst *y = x->args[r], *index = NULL;
        if (y->op == BORG_SHUFV && y->spread == v->spread) {
            index = y->args[1];
            y = y->args[0];
        }
        if (y->spread != BORG_WI || y->rows != 1 || slot_of(y) < 0 || y->mark & FAR) return NULL;
        if (r == 0) first = y, lane = index;
        if (lane != index || slot_of(y) != slot_of(first) + r) return NULL;
    }
    if (!lane && v->spread != BORG_WI) return NULL;
    simt_see_slots(e);
    const char *who = lane ? borg_format(e->arena, "(int)%s", simt_get(e, lane, i))
                           : borg_format(e->arena, "(%d + b_l)", i * e->lanes);
    return borg_format(e->arena, "b_x%s[%s * %d + %d + (int)%s]", simt_suffix(v->type), who,
                       e->stride[v->type], slot_of(first), simt_get(e, v->args[1], i));
}

enum { JUMP_ROWS = 8 };

/* An index that is the same for a whole warp. */
static bool goes_together(const simt *e, const borg_inst *index) {
    while (index->op == BORG_BCAST) index = index->args[0];
    return !e->target->opencl && (index->spread == BORG_UNI ||
                                  (index->spread == BORG_WG && e->lanes == 32 && e->m->pack == 1));
}

/* By a jump: a few instructions instead of a choice for each of them. */
static const char *jump_to(simt *e, const char *const *x, int32_t count, borg_type type,
                           const char *which) {
    const char *value = borg_format(e->arena, "t%d", e->temps++);
    simt_line(e, "%s %s;", e->target->types[type], value);
    simt_line(e, "switch (%s) {", which);
    for (int32_t k = 0; k < count; ++k)
        if (k + 1 < count)
            simt_line(e, "case %d: %s = %s; break;", k, value, x[k]);
        else
            simt_line(e, "default: %s = %s;", value, x[k]);
    simt_line(e, "}");
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

/* ---- tiles ------------------------------------------------------------------------------------
 */

/* The other half of the tile, further down. */
static borg_inst *other_half(const borg_inst *v) {
    for (borg_inst *u = v->next; u; u = u->next)
        if (u->op == BORG_MMA && u->index != v->index && u->args[0] == v->args[0] &&
            u->args[1] == v->args[1] && u->uses > 0 && !u->aux)
            return u;
    return NULL;
}

static bool uses(const borg_block *block, const borg_inst *v);

static bool used_by(const borg_inst *u, const borg_inst *v) {
    for (int32_t k = 0; k < u->nargs; ++k)
        if (u->args[k] == v) return true;
    return (u->block[0] && uses(u->block[0], v)) || (u->block[1] && uses(u->block[1], v));
}

static bool uses(const borg_block *block, const borg_inst *v) {
    for (const borg_inst *u = block->first; u; u = u->next)
        if (used_by(u, v)) return true;
    return false;
}

/* v may be made where u is, behind it. */
static bool can_wait(const borg_inst *v, const borg_inst *u) {
    for (const borg_inst *x = v->next; x != u; x = x->next)
        if (used_by(x, v)) return false;
    return !used_by(u, v);
}

/* Both halves of a tile are one instruction: where the first one stands if what the other one adds
 * to is known there, else where the other one stands. A half alone is made with a needless one. */
static void emit_mma(simt *e, borg_inst *v) {
    borg_inst *first = e->partner[v->id], *half[2] = {NULL, NULL};
    if (v->aux) return; /* done */
    borg_inst *other = first ? first : other_half(v);
    if (other && !first && other->args[2]->id > v->id) {
        if (can_wait(v, other)) {
            e->partner[other->id] = v;
            return;
        }
        other = NULL;
    }
    half[v->index] = v;
    half[1 - v->index] = other;
    const char *name[2], *type = e->target->types[v->type];
    for (int i = 0; i < 2; ++i) {
        name[i] = half[i] ? borg_format(e->arena, "v%d", half[i]->id)
                          : borg_format(e->arena, "t%d", e->temps++);
        if (half[i]) simt_name(e, half[i], 0, name[i]);
    }
    simt_line(e, "%s %s, %s;", type, name[0], name[1]);
    simt_line(e, "b_mma_%s(&%s, &%s, %s, %s, %s, %s);", simt_suffix(v->type), name[0], name[1],
              simt_get(e, v->args[0], 0), simt_get(e, v->args[1], 0),
              simt_get(e, (half[0] ? half[0] : v)->args[2], 0),
              simt_get(e, (half[1] ? half[1] : v)->args[2], 0));
    if (first) simt_publish(e, first);
}

/* ---- instructions ------------------------------------------------------------------------------
 */

void simt_layout(simt *e, borg_inst *v) {
    int32_t per = simt_per_row(e, v);
    if (v->op == BORG_MMA) {
        emit_mma(e, v);
        return;
    }
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
