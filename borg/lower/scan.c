/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tree contains: found before it is lowered. Bodies of helper functions count as well. */
#include "borg/lower/leaves.h"

enum { REDUCTION_NODES = 80 };

void borg_scan_expr(const borg_expr *e, borg_contents *c) {
    if (!e) return;
    ++c->nodes;
    if (e->kind == BORG_E_CALL) {
        c->calls = true;
        /* worth a branch: several instructions for each halving */
        if (e->builtin >= BORG_B_SUM && e->builtin <= BORG_B_RMAXIDX) c->nodes += REDUCTION_NODES;
        if (e->function) borg_scan_stmt(e->function->body, c);
    }
    for (int32_t i = 0; i < e->nargs; ++i) borg_scan_expr(e->args[i], c);
}

static void scan_decls(const borg_decl *d, borg_contents *c) {
    for (; d; d = d->next) borg_scan_expr(d->init, c);
}

void borg_scan_stmt(const borg_stmt *s, borg_contents *c) {
    for (; s; s = s->next) {
        ++c->nodes;
        bool loop = s->kind == BORG_S_FOR || s->kind == BORG_S_WHILE || s->kind == BORG_S_DO;
        if (loop) c->loops = true;
        if (s->kind == BORG_S_BREAK || s->kind == BORG_S_CONTINUE) c->jumps = true;
        bool jumps = c->jumps;
        scan_decls(s->decls, c);
        if (s->init) borg_scan_stmt(s->init, c);
        borg_scan_expr(s->expr, c);
        borg_scan_expr(s->step, c);
        if (s->body) borg_scan_stmt(s->body, c);
        if (s->other) borg_scan_stmt(s->other, c);
        if (loop) c->jumps = jumps; /* a loop keeps its jumps to itself */
    }
}

/* What a function does to its array parameters it does to the arguments. */
static void scan_arguments(const borg_expr *e, bool *set) {
    int32_t i = 0;
    for (const borg_decl *d = e->function->params; d; d = d->next, ++i)
        if (d->alias && set[d->number]) set[e->args[i]->decl->number] = true;
}

static void scan_assigned(const borg_stmt *s, bool *set);

static void scan_assigned_expr(const borg_expr *e, bool *set) {
    if (!e) return;
    if ((e->kind == BORG_E_ASSIGN || e->kind == BORG_E_STEP) && e->args[0]->decl)
        set[e->args[0]->decl->number] = true;
    if (e->function) {
        scan_assigned(e->function->body, set);
        scan_arguments(e, set);
    }
    for (int32_t i = 0; i < e->nargs; ++i) scan_assigned_expr(e->args[i], set);
}

static void scan_assigned(const borg_stmt *s, bool *set) {
    for (; s; s = s->next) {
        for (const borg_decl *d = s->decls; d; d = d->next) scan_assigned_expr(d->init, set);
        if (s->init) scan_assigned(s->init, set);
        scan_assigned_expr(s->expr, set);
        scan_assigned_expr(s->step, set);
        if (s->body) scan_assigned(s->body, set);
        if (s->other) scan_assigned(s->other, set);
    }
}

bool *borg_lower_assigned(borg_lowerer *l, const borg_stmt *loop, bool with_step) {
    int32_t numbers = l->kernel->numbers;
    bool *set = BORG_NEW(l->arena, numbers + 1, bool);
    scan_assigned_expr(loop->expr, set);
    if (with_step) scan_assigned_expr(loop->step, set);
    scan_assigned(loop->body, set);
    for (int32_t i = 0; i < numbers; ++i)
        if (set[i] && l->alias[i]) set[l->alias[i]->number] = true;
    return set;
}

bool borg_lower_mentions(const borg_lowerer *l, const borg_expr *e, const borg_decl *d) {
    if (!e) return false;
    if (e->decl && borg_lower_variable(l, e->decl) == d) return true;
    for (int32_t i = 0; i < e->nargs; ++i)
        if (borg_lower_mentions(l, e->args[i], d)) return true;
    return false;
}
