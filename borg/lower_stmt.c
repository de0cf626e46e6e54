/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements: conditions become masks, or branches where all lanes go the same way. */
#include "borg/lower.h"
#include <stdlib.h>
#include <string.h>

enum { BRANCH_NODES = 24, SKIP_NODES = 80, MAX_DEPTH = 300 };

/* ---- states ------------------------------------------------------------------------------------
 */

borg_cell *borg_lower_copy_cells(borg_lowerer *l) {
    borg_cell *copy = BORG_NEW(l->arena, l->ncells + 1, borg_cell);
    if (l->ncells) memcpy(copy, l->cells, (size_t)l->ncells * sizeof *copy);
    return copy;
}

static void put_cells(borg_lowerer *l, const borg_cell *cells, int32_t count) {
    if (count) memcpy(l->cells, cells, (size_t)count * sizeof *cells);
    for (int32_t i = count; i < l->ncells; ++i) l->cells[i].value = NULL;
}

borg_checkpoint borg_lower_save(borg_lowerer *l) {
    borg_checkpoint c = {.block = l->b.block,
                         .last = l->b.block->last,
                         .mask = l->mask,
                         .cells = borg_lower_copy_cells(l),
                         .ncells = l->ncells,
                         .errors = l->diags->errors,
                         .warnings = l->diags->warnings,
                         .unrolling = l->unrolling,
                         .diag = l->diags->last,
                         .loop = l->loop};
    if (l->loop) {
        c.broken = l->loop->broken;
        c.skipped = l->loop->skipped;
    }
    return c;
}

void borg_lower_restore(borg_lowerer *l, const borg_checkpoint *c) {
    l->b.block = c->block;
    l->b.before = NULL;
    /* constants at the kernel's top may have been put before everything: they stay */
    while (c->block->last != c->last && c->block->last && c->last) borg_unlink(c->block->last);
    if (!c->last) {
        for (borg_inst *v = c->block->last, *prev; v; v = prev) {
            prev = v->prev;
            bool pooled = c->block == l->m->body &&
                          (v->op == BORG_CONST || v->op == BORG_PARAM || v->op == BORG_LOCAL);
            if (!pooled) borg_unlink(v);
        }
    }
    l->mask = c->mask;
    put_cells(l, c->cells, c->ncells);
    l->diags->errors = c->errors;
    l->diags->warnings = c->warnings;
    l->diags->last = c->diag;
    if (c->diag) {
        c->diag->next = NULL;
    } else {
        l->diags->first = NULL;
    }
    l->unrolling = c->unrolling;
    l->loop = c->loop;
    if (l->loop) {
        l->loop->broken = c->broken;
        l->loop->skipped = c->skipped;
    }
    l->over = false;
}

/* ---- branches ----------------------------------------------------------------------------------
 */

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
        put_cells(l, before, ncells);
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
    put_cells(l, before, ncells);
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

static void lower_if(borg_lowerer *l, const borg_stmt *s) {
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

/* ---- the rest ----------------------------------------------------------------------------------
 */

static void lower_jump(borg_lowerer *l, borg_inst **gone) {
    borg_inst *here = l->mask ? l->mask : borg_lower_const(l, BORG_I1, 1);
    *gone = *gone ? borg_lower_elem(l, BORG_OR, BORG_I1, *gone, here, NULL) : here;
    l->mask = borg_lower_const(l, BORG_I1, 0);
}

static void lower_block(borg_lowerer *l, const borg_stmt *s) {
    for (const borg_stmt *t = s->body; t; t = t->next) borg_lower_stmt(l, t);
    for (const borg_stmt *t = s->body; t; t = t->next)
        for (const borg_decl *d = t->decls; d; d = d->next) borg_lower_forget(l, d);
}

void borg_lower_stmt(borg_lowerer *l, const borg_stmt *s) {
    if (l->over || borg_lower_never(l->mask)) {
        /* nobody is here; what is declared must still be there for what follows in the block */
        if (s->kind == BORG_S_DECL)
            for (const borg_decl *d = s->decls; d; d = d->next) borg_lower_declare_dead(l, d);
        return;
    }
    if (l->depth > MAX_DEPTH) {
        borg_report(l->diags, BORG_ERROR, s->loc, "nested too deeply");
        return;
    }
    ++l->depth;
    l->b.loc = s->loc;
    switch (s->kind) {
    case BORG_S_EXPR:
        borg_lower_expr(l, s->expr);
        break;
    case BORG_S_DECL:
        for (const borg_decl *d = s->decls; d; d = d->next) borg_lower_declare(l, d);
        break;
    case BORG_S_BLOCK:
        lower_block(l, s);
        break;
    case BORG_S_IF:
        lower_if(l, s);
        break;
    case BORG_S_FOR:
    case BORG_S_WHILE:
    case BORG_S_DO:
        borg_lower_for(l, s);
        break;
    case BORG_S_BREAK:
        lower_jump(l, &l->loop->broken);
        break;
    case BORG_S_CONTINUE:
        lower_jump(l, &l->loop->skipped);
        break;
    default:
        break; /* EMPTY; RETURN: the call's work */
    }
    --l->depth;
    if (l->unrolling && l->m->ninsts - l->base > l->budget) l->over = true;
}

borg_inst *borg_lower_call(borg_lowerer *l, const borg_expr *e) {
    const borg_function *f = e->function;
    borg_inst *args[64], *result = NULL;
    for (int32_t i = 0; i < e->nargs; ++i) args[i] = borg_lower_expr(l, e->args[i]);
    int32_t i = 0;
    for (const borg_decl *d = f->params; d; d = d->next, ++i) {
        *borg_lower_cell(l, d, 0) = (borg_cell){args[i], args[i]->rows > 1 ? -1 : 0};
        borg_lower_born(l, d);
    }
    borg_lower_loop *loop = l->loop;
    l->loop = NULL;
    for (const borg_stmt *s = f->body->body; s; s = s->next) {
        if (s->kind != BORG_S_RETURN) {
            borg_lower_stmt(l, s);
        } else if (s->expr) {
            result = borg_lower_expr(l, s->expr);
        }
    }
    l->loop = loop;
    for (const borg_stmt *s = f->body->body; s; s = s->next)
        for (const borg_decl *d = s->decls; d; d = d->next) borg_lower_forget(l, d);
    for (const borg_decl *d = f->params; d; d = d->next) borg_lower_forget(l, d);
    return result ? result : borg_lower_const(l, BORG_I32, 0);
}

/* ---- a kernel ----------------------------------------------------------------------------------
 */

/* What --set says of an integer parameter: false if nothing. */
static bool set_to(const borg_options *options, const borg_param *p, uint64_t *bits) {
    size_t length = strlen(p->name);
    for (const char *const *s = options->set; s && *s; ++s) {
        if (strncmp(*s, p->name, length) != 0 || (*s)[length] != '=') continue;
        *bits = (uint64_t)strtoll(*s + length + 1, NULL, 0);
        if (p->type == BORG_I32) *bits = (uint32_t)*bits;
        return borg_is_int(p->type);
    }
    return false;
}

static bool holds(const borg_param *p, int64_t value) {
    if (p->type == BORG_I64) return !p->uns || value >= 0;
    return p->uns ? value >= 0 && value <= UINT32_MAX : value >= INT32_MIN && value <= INT32_MAX;
}

static void make_params(borg_lowerer *l) {
    borg_module *m = l->m;
    uint64_t bits;
    for (const borg_decl *d = l->kernel->params; d; d = d->next) ++m->nparams;
    m->params = BORG_NEW(l->arena, m->nparams, borg_param);
    l->params = BORG_NEW(l->arena, m->nparams, borg_inst *);
    int32_t i = 0;
    for (const borg_decl *d = l->kernel->params; d; d = d->next, ++i) {
        borg_param *p = &m->params[i];
        p->name = d->name;
        p->type = d->depth ? BORG_PTR : borg_ctype_ir(d->type);
        p->elem = d->depth ? borg_ctype_ir(d->type) : BORG_VOID;
        p->uns = d->type == BORG_C_UINT || d->type == BORG_C_ULONG;
        p->depth = d->depth;
        p->readonly = d->depth && d->constant;
        p->restricted = d->restricted;
        if (d->depth) continue;
        borg_inst *v;
        if (set_to(l->options, p, &bits)) {
            v = borg_lower_const(l, p->type, bits);
        } else {
            v = borg_emit(&l->b, BORG_PARAM, p->type, BORG_UNI, 1, 0);
            v->index = i;
        }
        l->params[i] = v;
        *borg_lower_cell(l, d, 0) = (borg_cell){v, 0};
    }
    for (const char *const *s = l->options->set; s && *s; ++s) {
        bool found = false;
        for (i = 0; i < m->nparams; ++i) {
            const borg_param *p = &m->params[i];
            size_t length = strlen(p->name);
            if (!borg_is_int(p->type) || strncmp(*s, p->name, length) != 0 || (*s)[length] != '=')
                continue;
            found = true;
            if (!holds(p, strtoll(*s + length + 1, NULL, 0)))
                borg_report(l->diags, BORG_ERROR, l->kernel->loc,
                            "'%s' of '%s' is an integer that cannot be set to this: %s", p->name,
                            l->kernel->name, *s);
        }
        if (!found)
            borg_report(l->diags, BORG_ERROR, l->kernel->loc,
                        "'%s' has no integer parameter to set: %s", l->kernel->name, *s);
    }
}

borg_module *borg_lower(const borg_function *kernel, borg_arena *arena, const borg_options *options,
                        int32_t pack, borg_order order, borg_diags *diags) {
    borg_lowerer *l = BORG_NEW(arena, 1, borg_lowerer);
    int32_t errors = diags->errors;
    l->arena = arena;
    l->m = borg_module_new(arena, kernel->name, options->size, pack, order);
    l->m->strict = options->strict;
    l->m->fast_rcp = options->fast_rcp;
    l->b = (borg_builder){.module = l->m, .block = l->m->body};
    l->options = options;
    l->kernel = kernel;
    l->diags = diags;
    l->budget = options->unroll_budget > 0 ? options->unroll_budget : 200000;
    make_params(l);
    borg_lower_stmt(l, kernel->body);
    return diags->errors == errors ? l->m : NULL;
}
