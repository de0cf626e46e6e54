/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tree contains: found before it is lowered. Bodies of helper functions count as well. */
#include "borg/lower.h"

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

void borg_scan_assigned_expr(const borg_expr *e, bool *set, int32_t count) {
    if (!e) return;
    if ((e->kind == BORG_E_ASSIGN || e->kind == BORG_E_STEP) && e->args[0]->decl &&
        e->args[0]->decl->number < count)
        set[e->args[0]->decl->number] = true;
    if (e->function) borg_scan_assigned(e->function->body, set, count);
    for (int32_t i = 0; i < e->nargs; ++i) borg_scan_assigned_expr(e->args[i], set, count);
}

void borg_scan_assigned(const borg_stmt *s, bool *set, int32_t count) {
    for (; s; s = s->next) {
        for (const borg_decl *d = s->decls; d; d = d->next)
            borg_scan_assigned_expr(d->init, set, count);
        if (s->init) borg_scan_assigned(s->init, set, count);
        borg_scan_assigned_expr(s->expr, set, count);
        borg_scan_assigned_expr(s->step, set, count);
        if (s->body) borg_scan_assigned(s->body, set, count);
        if (s->other) borg_scan_assigned(s->other, set, count);
    }
}

bool borg_mentions(const borg_expr *e, const borg_decl *d) {
    if (!e) return false;
    if (e->decl == d) return true;
    for (int32_t i = 0; i < e->nargs; ++i)
        if (borg_mentions(e->args[i], d)) return true;
    return false;
}
