/* SPDX-License-Identifier: BSD-3-Clause */
/* Selections that a later one makes needless: in select(c, f(select(c, a, b)), d) the inner one is
 * a, as what f computes where c is 0 is thrown away; the same below `d` for b, and in what a masked
 * STORE writes. f may be any elementwise computation that is used there only. */
#include "borg/passes.h"

enum { MAX_DEPTH = 24 };

static bool elementwise(const borg_inst *v) {
    borg_class class = borg_op_table[v->op].class;
    return class == BORG_ELEM || class == BORG_CONVERT;
}

/* v is needed only in lanes where c equals `arm` == 0 (true) or 1 (false). */
static borg_inst *strip(borg_inst *v, const borg_inst *c, int arm, int depth) {
    while (v->op == BORG_SELECT && v->args[0] == c) v = v->args[1 + arm];
    if (depth > MAX_DEPTH || v->uses != 1 || !elementwise(v)) return v;
    for (int32_t i = 0; i < v->nargs; ++i) {
        borg_inst *old = v->args[i], *x = strip(old, c, arm, depth + 1);
        if (x == old) continue;
        v->args[i] = x;
        --old->uses;
        ++x->uses;
    }
    return v;
}

static void replace(borg_inst *v, int32_t at, const borg_inst *c, int arm) {
    borg_inst *old = v->args[at], *x = strip(old, c, arm, 0);
    if (x == old) return;
    v->args[at] = x;
    --old->uses;
    ++x->uses;
}

static void visit(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->block[0]) visit(v->block[0]);
        if (v->block[1]) visit(v->block[1]);
        if (v->op == BORG_SELECT) {
            replace(v, 1, v->args[0], 0);
            replace(v, 2, v->args[0], 1);
        }
        const borg_inst *mask = borg_mask(v);
        if (mask && borg_stored(v)) replace(v, 2, mask, 0);
    }
}

void borg_pass_mask(borg_module *m, const borg_options *options) {
    (void)options;
    borg_count_uses(m);
    visit(m->body);
}
