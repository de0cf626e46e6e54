/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of shared memory: which values get one, and how they come into it. */
#include "borg/emit/simt/slots.h"
#include <string.h>

enum {
    MOST_SLOT_BYTES = 44 * 1024,
    MOST_SLOTS = 96,
    DONE = 1 << 18, /* while slots are given */
    LEAST_ROW = 4,
    LEAST_WHOLE = 16,
    MOST_WHOLES = 4
};

/* ---- where values are used last -------------------------------------------------------------- */

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

/* A broadcast is another name for its operand, which lives as long. From the end, as broadcasts may
 * follow each other. */
static void join_last(simt *e, borg_block *block) {
    for (borg_inst *v = block->last; v; v = v->prev) {
        if (v->block[1]) join_last(e, v->block[1]);
        if (v->block[0]) join_last(e, v->block[0]);
        if (v->op == BORG_BCAST && e->last[v->args[0]->id] < e->last[v->id])
            e->last[v->args[0]->id] = e->last[v->id];
    }
}

/* ---- slots: what is asked for often ---------------------------------------------------------- */

/* What LANE or PERM reads in row r of work-item w: behind choices by constants and broadcasts. */
const borg_inst *simt_source(const simt *e, const borg_inst *v, int32_t *r, int32_t *w) {
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
                x = (borg_inst *)simt_source(e, x, &r, &w);
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

/* A value that lives on in a register with its sign changed, nearly as long. */
static void find_negated(simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_FNEG && e->last[v->id] - v->id > SIMT_FAR_INSTRUCTIONS)
            e->negated[v->args[0]->id] = true;
        if (v->block[0]) find_negated(e, v->block[0]);
        if (v->block[1]) find_negated(e, v->block[1]);
    }
}

/* Does a value deserve a slot? Its flags; -1: no. */
static int32_t worth_a_slot(const simt *e, const borg_inst *v, bool loop) {
    if (loop || v->spread != BORG_WI || v->type == BORG_I1 || v->type == BORG_PTR) return -1;
    if (v->id < 0 || e->options->disable & BORG_NO_REUSE) return -1;
    if (e->target->opencl) return v->mark >= 2 ? 0 : -1;
    if (e->lanes == 1 || e->step > 1) return -1;
    if (v->mark >= 4) return v->uses - v->mark <= 2 ? SIMT_IN_SLOT : 0;
    /* else a part of a result that waits for the end of the kernel */
    bool wide = borg_type_bytes(v->type) * e->m->size >= 192;
    bool waits = v->op == BORG_RESULT ? v->uses <= 4 : v->uses <= 2 && v->op == BORG_SELECT;
    return (wide || e->rows > 1) && waits && v->rows == 1 && !e->has_loops && !e->negated[v->id] &&
                   v->mark == 0 &&
                   e->last[v->id] - v->id > (e->rows > 1 ? 1 : 4) * SIMT_FAR_INSTRUCTIONS
               ? SIMT_FAR
               : -1;
}

/* Two walks: values that are read much later take the last slots, so that the others are
 * neighbours. */
static void give_slots(simt *e, borg_block *block, bool loop, bool far, int32_t *bytes) {
    for (borg_inst *v = block->first; v; v = v->next) {
        int32_t each = borg_type_bytes(v->type) * e->lanes * e->rows * v->rows;
        int32_t flags = worth_a_slot(e, v, loop);
        bool done = far && v->mark & DONE;
        if (!done && (flags == SIMT_FAR) == far) {
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

/* ---- rows: several values of one thread ------------------------------------------------------ */

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
        int32_t held = e->lanes * e->rows, count = 0,
                most = held < SIMT_MOST_ROW ? held : SIMT_MOST_ROW;
        int32_t inner = loops + (v->op == BORG_LOOP);
        if (v->block[0]) plan_rows(e, v->block[0], inner, starts);
        if (v->block[1]) plan_rows(e, v->block[1], inner, starts);
        if (loops != e->has_loops || !in_row(v, v)) continue;
        for (borg_inst *u = v; u; u = u->next) count += in_row(u, v);
        if (count < (e->rows == 1 ? LEAST_ROW : e->m->size)) continue;
        int32_t number = ++e->planned_rows, k = 0;
        starts[number] = v->id;
        for (borg_inst *u = v->next; u && k < most - 1; u = u->next)
            if (in_row(u, v)) u->mark = number * SIMT_MOST_ROW + ++k + 1;
        v->mark = number * SIMT_MOST_ROW + 1;
    }
}

/* A value that is used before its place is given to another needs no register. */
static void find_late(simt *e, borg_block *block, const int32_t *starts) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_SHUFV && v->spread == BORG_WG && v->mark != 0) {
            int32_t next = simt_row_of(v) + 2;
            if (next > e->planned_rows || e->last[v->id] < starts[next]) v->mark |= SIMT_LATE;
        }
        if (v->block[0]) find_late(e, v->block[0], starts);
        if (v->block[1]) find_late(e, v->block[1], starts);
    }
}

/* The slots of the work-item that an index names: asked for with one index they lie side by side,
 * and compilers load two at once where they see the alignment. */
bool simt_indexes_slots(const simt *e, const borg_inst *v) {
    return v->op == BORG_SHUFV && v->spread == BORG_WG && v->rows == 1 && v->args[0]->mark != 0 &&
           v->args[1]->op != BORG_SHUFV && v->args[1]->op != BORG_CONST && !e->target->opencl &&
           v->args[1]->spread == BORG_WG;
}

static void find_indices(const simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (simt_indexes_slots(e, v)) v->args[1]->mark = 1;
        if (v->block[0]) find_indices(e, v->block[0]);
        if (v->block[1]) find_indices(e, v->block[1]);
    }
}

/* ---- a value that all read ----------------------------------------------------------------------
 *
 * In a loop, where nothing gets a slot: a value of which most work-items' are asked for, each by
 * all, is put into a place of its own, work-item after work-item, so that two are read at once. */
static void count_lanes(const simt *e, const borg_block *block, int32_t *asked, int32_t loops) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        int32_t inner = loops + (v->op == BORG_LOOP), r = 0, w = 0;
        if (v->block[0]) count_lanes(e, v->block[0], asked, inner);
        if (v->block[1]) count_lanes(e, v->block[1], asked, inner);
        if (v->op != BORG_LANE || v->rows != 1 || loops == 0) continue;
        r = v->map[0];
        w = v->map[1];
        const borg_inst *x = simt_source(e, v->args[0], &r, &w);
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
    ctext_line(&e->c, "b_syncwarp(%s);", simt_mask(e));
    for (int32_t j = 0; j < e->rows; ++j)
        ctext_line(&e->c, "b_all%s[%d + %d + b_l] = %s;", simt_suffix(v->type),
                   (e->whole[v->id] - 1) * simt_row_length(e, v->type), j * e->lanes,
                   simt_get(e, v, j));
    ctext_line(&e->c, "b_syncwarp(%s);", simt_mask(e));
}

static bool nested(const borg_block *block, int32_t loops) {
    bool found = loops > 1;
    for (const borg_inst *v = block->first; v && !found; v = v->next)
        for (int i = 0; i < 2; ++i)
            found = found || (v->block[i] && nested(v->block[i], loops + (v->op == BORG_LOOP)));
    return found;
}

void simt_plan_slots(simt *e, int32_t bytes) {
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
            ctext_line(&e->c, "B_LOCAL const %s *const q%d_%s = B_ALIGNED(b_x%s + (int)%s * %d);",
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
                                        i % per * e->lanes, stride, simt_slot_of(v) + i / per);
        ctext_line(&e->c, "%s = %s;", place, simt_get(e, v, i));
        if (v->mark & SIMT_IN_SLOT) ctext_name(&e->c, v, i, place);
    }
    if (!(v->mark & SIMT_FAR)) e->unseen = true;
}

void simt_see_slots(simt *e) {
    if (!e->unseen) return;
    e->unseen = false;
    ctext_line(&e->c, e->target->opencl ? "barrier(CLK_LOCAL_MEM_FENCE);" : "b_syncwarp(%s);",
               simt_mask(e));
}
