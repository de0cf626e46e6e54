/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements and inlined calls. */
#include "borg/lower/walk.h"

enum { MAX_DEPTH = 300 };

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
        /* no work-item is left; but what is declared here must be there for what follows in the
         * block */
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
        for (const borg_decl *d = s->decls; d; d = d->next) borg_lower_declare_here(l, d);
        break;
    case BORG_S_BLOCK:
        lower_block(l, s);
        break;
    case BORG_S_IF:
        borg_lower_if(l, s);
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
        break; /* EMPTY does nothing; RETURN is done by the call */
    }
    --l->depth;
    if (l->unrolling && l->m->ninsts - l->base > l->budget) l->over = true;
}

/* An array parameter is another name for the argument, itself behind any such name. */
static void name_array(borg_lowerer *l, const borg_decl *d, const borg_expr *argument) {
    const borg_decl *array = borg_lower_variable(l, argument->decl);
    l->alias[d->number] = array;
    if (d->array && array->count < d->count)
        borg_report(l->diags, BORG_ERROR, argument->loc, "'%s' has %d elements, '%s' needs %d",
                    array->name, array->count, d->name, d->count);
}

borg_inst *borg_lower_call(borg_lowerer *l, const borg_expr *e) {
    const borg_function *f = e->function;
    borg_inst *args[64], *result = NULL;
    int32_t i = 0;
    for (const borg_decl *d = f->params; d; d = d->next, ++i)
        if (!d->alias) args[i] = borg_lower_expr(l, e->args[i]);
    i = 0;
    for (const borg_decl *d = f->params; d; d = d->next, ++i) {
        if (d->alias) {
            name_array(l, d, e->args[i]);
            continue;
        }
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
    for (const borg_decl *d = f->params; d; d = d->next) {
        if (d->alias) {
            l->alias[d->number] = NULL;
        } else {
            borg_lower_forget(l, d);
        }
    }
    return result ? result : borg_lower_const(l, BORG_I32, 0);
}
