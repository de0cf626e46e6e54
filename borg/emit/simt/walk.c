/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk over a module: leaves, loops and branches; the rest is done by operation. */
#include "borg/emit/simt/walk.h"
#include "borg/emit/simt/leaves.h"
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------- */

static void emit_items(simt *e, borg_inst *v) {
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        int32_t r = i / e->rows, j = i % e->rows;
        for (int32_t l = 0; l < e->lanes; ++l) {
            int32_t w = j * e->lanes + l;
            if (w >= e->m->size) w = e->m->size - 1;
            bits[l] = v->op == BORG_LID ? (uint64_t)w : borg_const_bits(e->m, v, r, w);
        }
        const char *text = simt_by_lane(e, v->type, bits);
        bool named = v->mark || strchr(text, '[') || strchr(text, '*');
        if (named && v->type == BORG_I32 && simt_holds(e)) {
            const char *name = borg_format(e->arena, "v%d_%d", v->id, i);
            ctext_line(&e->c, "b_i32 %s = %s;", name, text);
            ctext_line(&e->c, "B_HOLD(%s);", name);
            ctext_name(&e->c, v, i, name);
        } else if (named) {
            simt_let(e, v, i, text);
        } else {
            ctext_name(&e->c, v, i, text);
        }
    }
}

static void emit_leaf(simt *e, borg_inst *v) {
    const borg_param *p;
    switch (v->op) {
    case BORG_PARAM:
        p = &e->m->params[v->index];
        ctext_name(&e->c, v, 0,
                   borg_is_int(v->type)
                       ? borg_format(e->arena, "(%s)p_%s", e->target->types[v->type], p->name)
                       : borg_format(e->arena, "p_%s", p->name));
        break;
    case BORG_G0:
        ctext_name(&e->c, v, 0, "(b_i64)b_g0");
        break;
    case BORG_GID:
        ctext_name(&e->c, v, 0, "(b_i64)(b_g0 + b_wg)");
        break;
    case BORG_WGID:
        ctext_name(&e->c, v, 0, "(b_i32)b_wg");
        break;
    case BORG_LOCAL:
        break; /* local.c */
    case BORG_CONST:
        if (v->spread != BORG_WI) {
            for (int32_t r = 0; r < v->rows; ++r)
                ctext_name(&e->c, v, r, simt_literal(e, v->type, borg_const_bits(e->m, v, r, 0)));
            break;
        }
        emit_items(e, v);
        break;
    default:
        emit_items(e, v);
        break;
    }
}

/* ---- control --------------------------------------------------------------------------------- */

/* The same for all threads there are, whatever the data: constants, parameters, counters. */
static bool same_for_all(const borg_inst *v, const borg_inst *phi, int depth) {
    if (v == phi || v->op == BORG_CONST || v->op == BORG_PARAM) return true;
    if (depth == 0 || v->spread != BORG_UNI || v->rows != 1) return false;
    if (v->op == BORG_PHI) {
        const borg_inst *p = v->parent->first, *loop = v->parent->owner;
        int32_t at = 0;
        if (phi) return false; /* one counter at a time */
        for (; p != v; p = p->next) ++at;
        return same_for_all(v->args[0], v, depth - 1) &&
               same_for_all(loop->block[1]->last->args[at], v, depth - 1);
    }
    if (borg_op_table[v->op].class != BORG_ELEM && borg_op_table[v->op].class != BORG_CONVERT)
        return false;
    for (int32_t k = 0; k < v->nargs; ++k)
        if (!same_for_all(v->args[k], phi, depth - 1)) return false;
    return true;
}

void simt_loop(ctext *c, borg_inst *v) {
    simt *e = (simt *)c;
    int32_t parts = !same_for_all(v->block[0]->last->args[0], NULL, 8);
    ctext_phis(&e->c, v);
    simt_see_slots(e); /* none are written in loops */
    simt_local_enter(e, v);
    e->branches += parts;
    ctext_loop(&e->c, v);
    e->branches -= parts;
    simt_local_touch(e, v);
}

void simt_if(ctext *c, borg_inst *v) {
    simt *e = (simt *)c;
    int32_t parts = !same_for_all(v->args[0], NULL, 8);
    bool unseen = false;
    ctext_results(&e->c, v);
    simt_see_slots(e); /* while all are together */
    simt_local_enter(e, v);
    e->branches += parts;
    for (int32_t side = 0; side < 2; ++side) {
        ctext_arm(&e->c, v, side);
        unseen = unseen || e->unseen;
        e->unseen = false;
    }
    e->unseen = unseen;
    e->branches -= parts;
    simt_local_touch(e, v);
}

static void emit_inst(simt *e, borg_inst *v) {
    switch (borg_op_table[v->op].class) {
    case BORG_LEAF:
        emit_leaf(e, v);
        break;
    case BORG_ELEM:
    case BORG_CONVERT:
        simt_elem(e, v);
        break;
    case BORG_LAYOUT:
        simt_layout(e, v);
        break;
    case BORG_REDUCE:
        simt_reduce(e, v);
        break;
    case BORG_MEMORY:
        simt_memory(e, v);
        break;
    case BORG_CONTROL:
        ctext_control(&e->c, v);
        break;
    }
}

void simt_block(ctext *c, borg_block *block) {
    simt *e = (simt *)c;
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->uses == 0 && borg_is_pure(v)) continue;
        if (v->id >= 0) e->now = v->id;
        emit_inst(e, v);
        if (v->type != BORG_VOID) simt_publish(e, v);
    }
}
