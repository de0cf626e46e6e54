/* SPDX-License-Identifier: BSD-3-Clause */
/* a*b + c -> fma(a, b, c), a*b - c -> fma(a, b, -c), c - a*b -> fma(-a, b, c), where the product
 * has no other use. The one pass that changes results (one rounding instead of two); not in strict
 * mode. */
#include "borg/passes.h"

static bool product(const borg_inst *v) {
    return v->op == BORG_FMUL && v->uses == 1;
}

static borg_inst *negated(borg_builder *b, borg_inst *v) {
    if (v->op == BORG_FNEG) return v->args[0];
    return borg_emit_elem(b, BORG_FNEG, v->type, v, NULL, NULL);
}

static void fuse(borg_module *m, borg_inst *v) {
    borg_inst *x = v->args[0], *y = v->args[1];
    bool difference = v->op == BORG_FSUB;
    borg_builder b = {.module = m, .block = v->parent, .before = v, .loc = v->loc};
    borg_inst *args[3];
    if (product(y)) { /* x + a*b, x - a*b: the accumulating form first */
        args[0] = difference ? negated(&b, y->args[0]) : y->args[0];
        args[1] = y->args[1];
        args[2] = x;
    } else if (product(x)) {
        args[0] = x->args[0];
        args[1] = x->args[1];
        args[2] = difference ? negated(&b, y) : y;
    } else {
        return;
    }
    v->op = BORG_FMA;
    v->nargs = 3;
    v->args = BORG_NEW(m->arena, 3, borg_inst *);
    for (int i = 0; i < 3; ++i) v->args[i] = args[i];
}

static void visit(borg_module *m, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_FADD || v->op == BORG_FSUB) fuse(m, v);
        if (v->block[0]) visit(m, v->block[0]);
        if (v->block[1]) visit(m, v->block[1]);
    }
}

void borg_pass_fma(borg_module *m, const borg_options *options) {
    if (options->strict) return;
    borg_count_uses(m);
    visit(m, m->body);
}
