/* SPDX-License-Identifier: BSD-3-Clause */
/* MMA -> moves of lanes and FMA, as its meaning is written down, but for targets that have it as an
 * instruction: those take doubles, one group in a warp, and round in an order of their own. */
#include "borg/passes.h"

static bool has_instruction(const borg_module *m, const borg_options *o) {
    bool whole = m->order == BORG_WI_MINOR && (o->lanes == 0 || o->lanes >= m->size);
    return !o->backend || (o->backend->machine.mma && whole);
}

/* What each work-item multiplies by in step k: of a its row's k-th, of b its column's. */
static borg_inst *factor(borg_builder *b, const borg_inst *v, int32_t operand, int32_t k) {
    int32_t count = v->rows * b->module->size;
    int32_t *map = BORG_NEW(b->module->arena, 2 * count, int32_t);
    for (int32_t i = 0; i < count; ++i) {
        int32_t w = i % b->module->size, line = operand == 0 ? w / 4 : 2 * (w % 4) + v->index;
        map[2 * i] = i / b->module->size;
        map[2 * i + 1] = 4 * line + k;
    }
    return borg_emit_perm(b, v->args[operand], v->rows, map);
}

/* The last FMA takes the instruction's place. */
static void expand(borg_module *m, borg_inst *v) {
    borg_builder b = {.module = m, .block = v->parent, .before = v, .loc = v->loc};
    borg_inst *x = NULL, *y = NULL, *sum = v->args[2];
    for (int32_t k = 0; k < 4; ++k) {
        x = factor(&b, v, 0, k);
        y = factor(&b, v, 1, k);
        if (k < 3) sum = borg_emit_elem(&b, BORG_FMA, v->type, x, y, sum);
    }
    v->op = BORG_FMA;
    v->index = 0;
    v->args[0] = x;
    v->args[1] = y;
    v->args[2] = sum;
}

static void visit(borg_module *m, borg_block *block, bool doubles) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_MMA && !(doubles && v->type == BORG_F64)) expand(m, v);
        if (v->block[0]) visit(m, v->block[0], doubles);
        if (v->block[1]) visit(m, v->block[1], doubles);
    }
}

void borg_pass_mma(borg_module *m, const borg_options *options) {
    visit(m, m->body, has_instruction(m, options) && !m->strict && !options->strict);
}
