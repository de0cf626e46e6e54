/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches become predication: both arms run in a row, what they store is masked by the condition,
 * and their results are selected. Arithmetic never traps (borg/ir.h), so this is all. */
#include "borg/passes.h"
#include "borg/spatial/pipeline.h"

typedef struct flattener {
    borg_builder b;
} flattener;

/* Before anything is changed: is there a loop, or a choice between pointers? */
static bool is_flat_inside(const borg_block *block, borg_diags *diags) {
    bool good = true;
    for (const borg_inst *v = block->first; v && good; v = v->next) {
        const char *reason =
            v->op == BORG_LOOP
                ? v->trip >= 0 ? "a loop at run time; #pragma unroll or --unroll-budget unrolls it"
                               : "a loop whose turns are not known when it is compiled"
            : v->op == BORG_RESULT && v->type == BORG_PTR ? "a branch chooses between pointers"
                                                          : NULL;
        if (reason) borg_report(diags, BORG_ERROR, v->loc, "no pipeline: %s", reason);
        good = !reason && (v->op != BORG_IF || (is_flat_inside(v->block[0], diags) &&
                                                is_flat_inside(v->block[1], diags)));
    }
    return good;
}

/* The condition, one lane, as a value of this shape. */
static borg_inst *widen(flattener *f, borg_inst *c, borg_spread spread, int32_t rows) {
    if (c->spread > spread) { /* WG, and the pack is one group */
        borg_inst *any = borg_emit(&f->b, BORG_ANYP, BORG_I1, BORG_UNI, 1, 1);
        any->args[0] = c;
        c = any;
    }
    if (rows > 1) {
        borg_inst **from = BORG_NEW(f->b.module->arena, rows, borg_inst *);
        int32_t *map = BORG_NEW(f->b.module->arena, rows, int32_t);
        for (int32_t r = 0; r < rows; ++r) from[r] = c;
        c = borg_emit_rows(&f->b, rows, from, map);
    }
    return borg_emit_bcast(&f->b, c, spread);
}

/* Both conditions; NULL: always. */
static borg_inst *both(flattener *f, borg_inst *x, borg_inst *y) {
    if (!x) return y;
    if (x->spread < y->spread) x = widen(f, x, y->spread, 1);
    if (y->spread < x->spread) y = widen(f, y, x->spread, 1);
    return borg_emit_elem(&f->b, BORG_AND, BORG_I1, x, y, NULL);
}

/* A load or store happens under this condition, too. */
static void mask_access(flattener *f, borg_inst *v, borg_inst *c) {
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
    borg_inst *mask = borg_mask(v), *wide = widen(f, c, value->spread, value->rows);
    if (mask) {
        v->args[v->nargs - 1] = borg_emit_elem(&f->b, BORG_AND, BORG_I1, mask, wide, NULL);
        return;
    }
    borg_inst **args = BORG_NEW(f->b.module->arena, v->nargs + 1, borg_inst *);
    for (int32_t i = 0; i < v->nargs; ++i) args[i] = v->args[i];
    args[v->nargs++] = wide;
    v->args = args;
}

static void flatten(flattener *f, borg_block *from, borg_block *to, borg_inst *under);

static void flatten_if(flattener *f, borg_inst *v, borg_block *to, borg_inst *under) {
    borg_inst *c = v->args[0];
    f->b = (borg_builder){f->b.module, to, NULL, v->loc};
    borg_inst *not = borg_emit_elem(&f->b, BORG_NOT, BORG_I1, c, NULL, NULL);
    flatten(f, v->block[0], to, both(f, under, c));
    flatten(f, v->block[1], to, both(f, under, not ));
}

/* A result of an IF, selected; its users name `aux`. */
static void select_result(flattener *f, borg_inst *v) {
    const borg_inst *branch = v->args[0];
    borg_inst *x = branch->block[0]->last->args[v->index];
    borg_inst *y = branch->block[1]->last->args[v->index];
    if (x->aux) x = x->aux;
    if (y->aux) y = y->aux;
    borg_inst *c = widen(f, branch->args[0], v->spread, v->rows);
    v->aux = borg_emit_elem(&f->b, BORG_SELECT, v->type, c, x, y);
}

/* All instructions of a block to the end of another one, run under a condition. */
static void flatten(flattener *f, borg_block *from, borg_block *to, borg_inst *under) {
    for (borg_inst *v = from->first, *next; v; v = next) {
        next = v->next;
        for (int32_t i = 0; i < v->nargs; ++i)
            if (v->args[i]->aux) v->args[i] = v->args[i]->aux;
        f->b = (borg_builder){f->b.module, to, NULL, v->loc};
        if (v->op == BORG_YIELD) continue;
        if (v->op == BORG_IF) {
            flatten_if(f, v, to, under);
        } else if (v->op == BORG_RESULT) {
            select_result(f, v);
        } else {
            borg_unlink(v);
            if (under && borg_op_table[v->op].class == BORG_MEMORY && v->op != BORG_BARRIER)
                mask_access(f, v, under);
            borg_insert(to, NULL, v);
        }
    }
}

static void clear(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        for (int k = 0; k < 2; ++k)
            if (v->block[k]) clear(v->block[k]);
    }
}

static bool has_control(const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next)
        if (v->op == BORG_IF || v->op == BORG_LOOP) return true;
    return false;
}

bool borg_predicate(borg_module *m, borg_diags *diags) {
    if (!has_control(m->body)) return true;
    if (!is_flat_inside(m->body, diags)) return false;
    flattener f = {.b.module = m};
    borg_block *flat = borg_block_new(m, NULL);
    clear(m->body);
    flatten(&f, m->body, flat, NULL);
    m->body = flat;
    clear(flat);
    const borg_options options = {.strict = m->strict};
    borg_pass_fold(m, &options);
    borg_pass_cse(m, &options);
    borg_pass_dce(m, &options);
    return borg_verify(m, "predication", diags);
}
