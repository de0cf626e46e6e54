/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tree contains, and which values are the same for the threads of a warp. */
#include "borg/emit/vrptx/tree.h"
#include <string.h>

/* ---- contents -------------------------------------------------------------------------------- */

void vt_scan_expr(const borg_expr *e, vt_contents *c) {
    if (!e) return;
    ++c->nodes;
    if (e->kind == BORG_E_ASSIGN || e->kind == BORG_E_STEP) c->effects = true;
    if (e->kind == BORG_E_INDEX && e->decl && e->decl->storage != BORG_PRIVATE) c->loads = true;
    if (e->kind == BORG_E_CALL) {
        if (e->function) vt_scan_stmt(e->function->body, c);
        if (e->builtin == BORG_B_BARRIER) c->effects = true;
        if (e->builtin >= BORG_B_SHUFFLE && e->builtin <= BORG_B_ALL) c->together = true;
    }
    for (int32_t i = 0; i < e->nargs; ++i) vt_scan_expr(e->args[i], c);
}

void vt_scan_stmt(const borg_stmt *s, vt_contents *c) {
    for (; s; s = s->next) {
        const bool loop = s->kind == BORG_S_FOR || s->kind == BORG_S_WHILE || s->kind == BORG_S_DO;
        ++c->nodes;
        if (loop) c->loops = true;
        if (s->kind == BORG_S_BREAK || s->kind == BORG_S_CONTINUE) c->jumps = true;
        const bool jumps = c->jumps;
        for (const borg_decl *d = s->decls; d; d = d->next) vt_scan_expr(d->init, c);
        vt_scan_stmt(s->init, c);
        vt_scan_expr(s->expr, c);
        vt_scan_expr(s->step, c);
        vt_scan_stmt(s->body, c);
        vt_scan_stmt(s->other, c);
        if (loop) c->jumps = jumps; /* its own */
    }
}

/* ---- spreads ----------------------------------------------------------------------------------
 *
 * Upwards from UNI until nothing changes: what is assigned, and the conditions around it. */

static borg_spread wider(borg_spread x, borg_spread y) {
    return x > y ? x : y;
}

typedef struct spreads {
    const vt *t;
    bool changed;
} spreads;

static void raise(spreads *k, const borg_decl *d, borg_spread to) {
    if (!d || k->t->spread[d->number] >= to) return;
    k->t->spread[d->number] = to;
    k->changed = true;
}

static borg_spread walk_expr(spreads *k, const borg_expr *e, borg_spread control);
static borg_spread walk_stmt(spreads *k, const borg_stmt *s, borg_spread control);

static borg_spread of_builtin(borg_builtin b, const borg_spread *args, borg_spread all) {
    switch (b) {
    case BORG_B_LOCAL_ID:
    case BORG_B_GLOBAL_ID:
        return BORG_WI;
    case BORG_B_LOCAL_SIZE:
    case BORG_B_GROUP_ID:
    case BORG_B_SUM:
    case BORG_B_RMAX:
    case BORG_B_RMIN:
    case BORG_B_RMAXIDX:
    case BORG_B_ANY:
    case BORG_B_ALL:
        return BORG_WG;
    case BORG_B_SHUFFLE:
        return args[0] < BORG_WI ? args[0] : wider(BORG_WG, args[1]);
    case BORG_B_SHUFFLE_DOWN:
    case BORG_B_SHUFFLE_UP:
    case BORG_B_SHUFFLE_XOR:
        return args[0];
    default:
        return all;
    }
}

static borg_spread walk_call(spreads *k, const borg_expr *e, borg_spread control) {
    borg_spread args[64], all = BORG_UNI;
    for (int32_t i = 0; i < e->nargs; ++i) {
        args[i] = walk_expr(k, e->args[i], control);
        all = wider(all, args[i]);
    }
    if (!e->function) return of_builtin(e->builtin, args, all);
    int32_t i = 0;
    for (const borg_decl *d = e->function->params; d; d = d->next, ++i)
        raise(k, d, d->alias ? k->t->spread[e->args[i]->decl->number] : args[i]);
    borg_spread result = walk_stmt(k, e->function->body, control);
    i = 0; /* what it does to its arrays it does to the caller's */
    for (const borg_decl *d = e->function->params; d; d = d->next, ++i)
        if (d->alias) raise(k, e->args[i]->decl, k->t->spread[d->number]);
    return result;
}

static borg_spread walk_expr(spreads *k, const borg_expr *e, borg_spread control) {
    borg_spread all = BORG_UNI, own;
    if (!e) return all;
    switch (e->kind) {
    case BORG_E_NAME:
        return e->decl ? k->t->spread[e->decl->number] : BORG_UNI;
    case BORG_E_CALL:
        return walk_call(k, e, control);
    case BORG_E_ASSIGN:
        own = walk_expr(k, e->args[1], control);
        for (int32_t i = 0; i < e->args[0]->nargs; ++i)
            own = wider(own, walk_expr(k, e->args[0]->args[i], control));
        if (e->args[0]->decl && e->args[0]->decl->depth == 0)
            raise(k, e->args[0]->decl, wider(own, control));
        return own;
    case BORG_E_STEP:
        own = walk_expr(k, e->args[0], control);
        if (e->args[0]->decl && e->args[0]->decl->depth == 0)
            raise(k, e->args[0]->decl, wider(own, control));
        return own;
    case BORG_E_LOGICAL:
    case BORG_E_TERNARY:
        all = walk_expr(k, e->args[0], control);
        for (int32_t i = 1; i < e->nargs; ++i)
            all = wider(all, walk_expr(k, e->args[i], wider(control, all)));
        return all;
    case BORG_E_INDEX: /* an array of the warp: each warp has its own */
        if (e->decl && e->decl->storage != BORG_PARAMETER) all = k->t->spread[e->decl->number];
        if (e->decl &&
            (e->decl->storage == BORG_LOCAL_MEMORY || e->decl->storage == BORG_LOCAL_REGISTERS))
            all = BORG_WG;
        break;
    default:
        break;
    }
    for (int32_t i = 0; i < e->nargs; ++i) all = wider(all, walk_expr(k, e->args[i], control));
    return all;
}

static borg_spread jump_spread(spreads *k, const borg_stmt *s, borg_spread control) {
    borg_spread all = BORG_UNI;
    for (; s; s = s->next) {
        if (s->kind == BORG_S_BREAK || s->kind == BORG_S_CONTINUE) all = wider(all, control);
        if (s->kind == BORG_S_BLOCK) all = wider(all, jump_spread(k, s->body, control));
        if (s->kind != BORG_S_IF) continue;
        borg_spread inner = wider(control, walk_expr(k, s->expr, control));
        all = wider(all, jump_spread(k, s->body, inner));
        all = wider(all, jump_spread(k, s->other, inner));
    }
    return all;
}

/* The spread of what a return gives. */
static borg_spread walk_stmt(spreads *k, const borg_stmt *s, borg_spread control) {
    borg_spread result = BORG_UNI, inner;
    for (; s; s = s->next) {
        for (const borg_decl *d = s->decls; d; d = d->next)
            if (!d->init || d->init->kind != BORG_E_LIST)
                raise(k, d, walk_expr(k, d->init, control));
            else
                for (int32_t i = 0; i < d->init->nargs; ++i)
                    raise(k, d, walk_expr(k, d->init->args[i], control));
        switch (s->kind) {
        case BORG_S_IF:
            inner = wider(control, walk_expr(k, s->expr, control));
            walk_stmt(k, s->body, inner);
            walk_stmt(k, s->other, inner);
            break;
        case BORG_S_FOR:
        case BORG_S_WHILE:
        case BORG_S_DO:
            walk_stmt(k, s->init, control);
            inner = wider(control, walk_expr(k, s->expr, control));
            inner = wider(inner, jump_spread(k, s->body, inner));
            walk_expr(k, s->expr, inner);
            walk_stmt(k, s->body, inner);
            walk_expr(k, s->step, inner);
            break;
        case BORG_S_BLOCK:
            result = wider(result, walk_stmt(k, s->body, control));
            break;
        default:
            inner = walk_expr(k, s->expr, control);
            if (s->kind == BORG_S_RETURN) result = wider(result, inner);
            break;
        }
    }
    return result;
}

void vt_find_spreads(vt *t) {
    spreads k = {.t = t, .changed = true};
    while (k.changed) {
        k.changed = false;
        walk_stmt(&k, t->kernel->body, BORG_UNI);
    }
}

borg_spread vt_spread(const vt *t, const borg_expr *e) {
    spreads k = {.t = t};
    return walk_expr(&k, e, BORG_UNI);
}

borg_spread vt_jump_spread(const vt *t, const borg_stmt *s, borg_spread control) {
    spreads k = {.t = t};
    return jump_spread(&k, s, control);
}

/* ---- the loop of a reduction ----------------------------------------------------------------- */

static bool expr_assigns(const borg_expr *e, const borg_decl *d) {
    if (!e) return false;
    if ((e->kind == BORG_E_ASSIGN || e->kind == BORG_E_STEP) && e->args[0]->decl == d) return true;
    if (e->function && vt_assigns(e->function->body, d)) return true;
    for (int32_t i = 0; i < e->nargs; ++i)
        if (expr_assigns(e->args[i], d)) return true;
    return false;
}

bool vt_assigns(const borg_stmt *s, const borg_decl *d) {
    for (; s; s = s->next) {
        for (const borg_decl *v = s->decls; v; v = v->next)
            if (expr_assigns(v->init, d)) return true;
        if (vt_assigns(s->init, d) || expr_assigns(s->expr, d) || expr_assigns(s->step, d) ||
            vt_assigns(s->body, d) || vt_assigns(s->other, d))
            return true;
    }
    return false;
}

static bool is_call(const borg_expr *e, borg_builtin builtin) {
    return e->kind == BORG_E_CALL && !e->function && e->builtin == builtin;
}

/* c < ntids, of integers with a sign. */
static bool below_size(const borg_expr *e) {
    return e && e->kind == BORG_E_BINARY && strcmp(e->text, "<") == 0 &&
           e->args[0]->type == BORG_C_INT && is_call(e->args[1], BORG_B_LOCAL_SIZE);
}

/* A factor or summand from 1 to 2^14. All lanes of the partition count alike, and some are below
 * the 2^15 threads of the largest warp while the loop runs: the counter stays below 2^30. */
static bool small(const borg_expr *e, int64_t least) {
    int64_t value;
    return borg_constant(e, 0, &value) && value >= least && value <= 1 << 14;
}

static bool grows(const borg_expr *step, const borg_decl *c) {
    if (!step || (step->kind != BORG_E_STEP && step->kind != BORG_E_ASSIGN) ||
        step->args[0]->kind != BORG_E_NAME || step->args[0]->decl != c)
        return false;
    if (step->kind == BORG_E_STEP) return step->text[0] == '+';
    return (strcmp(step->text, "*=") == 0 || strcmp(step->text, "+=") == 0) &&
           small(step->args[1], 1);
}

const borg_decl *vt_counter(const borg_stmt *s) {
    const borg_decl *c = s->init ? s->init->decls : NULL;
    int64_t start;
    if (s->kind != BORG_S_FOR || !c || c->next || c->array || c->type != BORG_C_INT || !c->init)
        return NULL;
    bool good = borg_constant(c->init, 0, &start) && start >= 0 && start <= 1 << 14 &&
                below_size(s->expr) && s->expr->args[0]->kind == BORG_E_NAME &&
                s->expr->args[0]->decl == c && grows(s->step, c) && !vt_assigns(s->body, c);
    return good ? c : NULL;
}

bool vt_implies(const borg_expr *e, const borg_decl *c) {
    if (!c || !below_size(e)) return false;
    const borg_expr *sum = e->args[0];
    if (sum->kind != BORG_E_BINARY || strcmp(sum->text, "+") != 0) return false;
    for (int i = 0; i < 2; ++i)
        if (is_call(sum->args[i], BORG_B_LOCAL_ID) && sum->args[1 - i]->kind == BORG_E_NAME &&
            sum->args[1 - i]->decl == c)
            return true;
    return false;
}
