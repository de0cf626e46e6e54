/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions: masks, or branches where all lanes go the same way. */
#include "borg/lower/leaves.h"
#include "borg/lower/walk.h"

enum { BRANCH_NODES = 24, SKIP_NODES = 80 };

static bool same_cell(borg_cell x, borg_cell y) {
    return x.value == y.value && x.row == y.row;
}

static void lower_arm(borg_lowerer *l, borg_block *block, const borg_stmt *s) {
    l->b.block = block;
    l->b.before = NULL;
    if (s) borg_lower_stmt(l, s);
}

static void move_to_end(borg_builder *b, borg_inst *v) {
    borg_unlink(v);
    borg_insert(b->block, NULL, v);
}

/* if (condition) first else second, as a branch; condition has one lane. */
static void lower_branch(borg_lowerer *l, borg_inst *condition, borg_inst *mask,
                         const borg_stmt *first, const borg_stmt *second) {
    borg_builder outer = l->b;
    borg_inst *saved = l->mask;
    int32_t ncells = l->ncells;
    borg_inst *branch = borg_emit(&l->b, BORG_IF, BORG_VOID, BORG_UNI, 0, 1);
    branch->args[0] = condition;
    borg_block *arm[2];
    borg_cell *before = borg_lower_copy_cells(l), *after[2];
    for (int i = 0; i < 2; ++i) {
        arm[i] = branch->block[i] = borg_block_new(l->m, branch);
        borg_lower_put_cells(l, before, ncells);
        l->mask = i == 0 ? mask : saved;
        lower_arm(l, arm[i], i ? second : first);
        after[i] = borg_lower_copy_cells(l);
    }
    borg_inst *yield[2];
    int32_t count = 0;
    for (int32_t c = 0; c < ncells; ++c)
        count += after[0][c].value && after[1][c].value && !same_cell(after[0][c], after[1][c]);
    for (int i = 0; i < 2; ++i) {
        l->b.block = arm[i];
        yield[i] = borg_emit(&l->b, BORG_YIELD, BORG_VOID, BORG_UNI, 0, count);
    }
    borg_lower_put_cells(l, before, ncells);
    int32_t at = 0;
    for (int32_t c = 0; c < ncells; ++c) {
        if (!after[0][c].value || !after[1][c].value) {
            l->cells[c].value = NULL;
            continue;
        }
        l->cells[c] = after[0][c];
        if (same_cell(after[0][c], after[1][c])) continue;
        borg_inst *v[2];
        for (int i = 0; i < 2; ++i) {
            l->b.block = arm[i];
            v[i] = borg_lower_read_cell(l, after[i][c]);
        }
        borg_spread spread = v[0]->spread > v[1]->spread ? v[0]->spread : v[1]->spread;
        int32_t rows = v[0]->rows > v[1]->rows ? v[0]->rows : v[1]->rows;
        for (int i = 0; i < 2; ++i) {
            l->b.block = arm[i];
            yield[i]->args[at] = borg_lower_unify(l, v[i], spread, rows);
        }
        l->b = outer;
        borg_inst *result = borg_emit(&l->b, BORG_RESULT, v[0]->type, spread, rows, 1);
        result->args[0] = branch;
        result->index = at++;
        result->name = v[0]->name;
        result->ix = v[0]->rows == rows ? v[0]->ix : NULL;
        l->cells[c] = (borg_cell){result, rows > 1 ? -1 : 0};
    }
    for (int i = 0; i < 2; ++i) {
        l->b.block = arm[i];
        move_to_end(&l->b, yield[i]);
    }
    l->b = outer;
    l->mask = saved;
}

/* What is left of `mask` after break and continue below it. */
static borg_inst *still_here(borg_lowerer *l, borg_inst *mask, borg_inst *broken,
                             borg_inst *skipped) {
    if (!l->loop) return mask;
    if (l->loop->broken && l->loop->broken != broken)
        mask = borg_lower_and(l, mask, borg_lower_not(l, l->loop->broken));
    if (l->loop->skipped && l->loop->skipped != skipped)
        mask = borg_lower_and(l, mask, borg_lower_not(l, l->loop->skipped));
    return mask;
}

static void lower_masked_arm(borg_lowerer *l, const borg_stmt *s, borg_inst *mask) {
    if (!s || borg_lower_never(mask)) return;
    borg_contents contents = {0};
    borg_scan_stmt(s, &contents);
    l->mask = mask;
    if (mask && mask->op != BORG_CONST && !contents.jumps && contents.nodes >= SKIP_NODES) {
        /* long: skipped where no lane of the pack needs it */
        borg_inst *any = mask;
        if (!borg_lower_one_lane(l, mask)) {
            any = borg_emit(&l->b, BORG_ANYP, BORG_I1, BORG_UNI, mask->rows, 1);
            any->args[0] = mask;
            any = borg_lower_simplify(l, any);
        }
        if (any->rows == 1 && !borg_is_splat(any)) {
            lower_branch(l, any, mask, s, NULL);
            return;
        }
    }
    borg_lower_stmt(l, s);
}

void borg_lower_if(borg_lowerer *l, const borg_stmt *s) {
    borg_inst *c = borg_lower_expr(l, s->expr);
    if (borg_is_splat(c)) {
        const borg_stmt *chosen = c->bits[0] ? s->body : s->other;
        if (chosen) borg_lower_stmt(l, chosen);
        return;
    }
    borg_contents contents = {0};
    borg_scan_stmt(s->body, &contents);
    if (s->other) borg_scan_stmt(s->other, &contents);
    bool heavy = contents.nodes >= BRANCH_NODES || contents.loops;
    if (borg_lower_one_lane(l, c) && !contents.jumps && heavy) {
        lower_branch(l, c, l->mask, s->body, s->other);
        return;
    }
    borg_inst *saved = l->mask;
    borg_inst *broken = l->loop ? l->loop->broken : NULL;
    borg_inst *skipped = l->loop ? l->loop->skipped : NULL;
    lower_masked_arm(l, s->body, borg_lower_and(l, saved, c));
    l->mask = saved;
    if (s->other) lower_masked_arm(l, s->other, borg_lower_and(l, saved, borg_lower_not(l, c)));
    l->mask = still_here(l, saved, broken, skipped);
}
