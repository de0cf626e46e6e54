/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements, and a kernel as a whole. */
#include "borg/emit/vrptx/tree.h"

enum { SKIP_NODES = 80 };  /* arms so long are passed by where no lane needs them */
enum { MOST_DEPTH = 300 }; /* of statements in each other */

static void label(vt *t, int32_t number) {
    borg_put(t->e.out, "b_l%d:\n", number);
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* An array of the warp, in memory. */
static void declare_local(vt *t, const borg_decl *d) {
    borg_module *m = t->e.m;
    borg_local *list = BORG_NEW(t->arena, m->nlocals + 1, borg_local);
    for (int32_t i = 0; i < m->nlocals; ++i) list[i] = m->locals[i];
    list[m->nlocals] = (borg_local){d->name, borg_ctype_ir(d->type), false, d->count};
    m->locals = list;
    if (d->type == BORG_C_BOOL) vt_refuse(t, d->loc, "__local bool");
    t->vars[d->number] = (vt_var){.local = ++m->nlocals};
}

void vt_declare(vt *t, const borg_decl *d) {
    const borg_type type = borg_ctype_ir(d->type);
    const int32_t count = d->array ? d->count : 1;
    if (d->storage == BORG_LOCAL_REGISTERS || d->storage == BORG_LOCAL_MEMORY) {
        declare_local(t, d);
        return;
    }
    vt_var v = {.reg = BORG_NEW(t->arena, count, const char *),
                .pending = BORG_NEW(t->arena, count, bool),
                .born = t->mask};
    for (int32_t i = 0; i < count; ++i) {
        v.reg[i] = vx_new(&t->e, type);
        const borg_expr *init = d->init;
        if (init && init->kind == BORG_E_LIST) init = i < init->nargs ? init->args[i] : NULL;
        v.pending[i] = !init;
        if (init) vt_eval(t, init, (vt_to){v.reg[i], NULL});
    }
    t->vars[d->number] = v;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* After break or continue below it: the mask without those who left. */
static void leave_out(vt *t, const borg_stmt *s) {
    vt_contents c = {0};
    vt_scan_stmt(s->body, &c);
    vt_scan_stmt(s->other, &c);
    if (!c.jumps || !t->loop || t->mask == t->loop->mask) return;
    vt_mask *m = vt_narrow(t, t->loop->here, t->loop->mask->spread);
    vt_predicate(t, m);
    t->mask = m;
}

static void arm(vt *t, const borg_stmt *s, vt_mask *mask) {
    vt_mask *saved = t->mask;
    vt_contents c = {0};
    if (!s) return;
    borg_stmt one = *s;
    one.next = NULL;
    vt_scan_stmt(&one, &c);
    t->mask = mask;
    const int32_t end = t->e.labels++;
    const bool skips = c.nodes >= SKIP_NODES;
    if (c.loops || skips) vt_guard(t); /* not inside of what may be passed by */
    if (skips) {
        vt_settle_all(t, &one, NULL);
        vx_line(&t->e, "@!%s allbra b_l%d", vt_predicate(t, mask), end);
    }
    vt_stmt(t, s);
    if (skips) label(t, end);
    t->mask = saved;
}

static void lower_if(vt *t, const borg_stmt *s) {
    vt_contents c = {0};
    vt_scan_expr(s->expr, &c);
    vt_mask *m = vt_under(t, s->expr), *other = s->other ? vt_other(t, m) : NULL;
    arm(t, s->body, m);
    arm(t, s->other, other);
    leave_out(t, s);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* What is asked again by lanes that left must answer as before. */
static bool asks_anew(const borg_expr *e) {
    vt_contents c = {0};
    vt_scan_expr(e, &c);
    return c.loads || c.effects || c.together || c.loops;
}

/* The mask of the loop's body, a branch to `end` if no lane is in it. */
static vt_mask *loop_head(vt *t, const borg_stmt *s, const char *live, borg_spread spread,
                          int32_t end) {
    vt_mask *m;
    if (!live) {
        m = vt_under(t, s->expr);
    } else {
        if (s->kind != BORG_S_DO && s->expr) {
            vt_mask *saved = t->mask;
            m = vt_narrow(t, live, spread);
            m->outer = NULL;
            t->mask = m;
            const char *c = vt_value(t, s->expr);
            t->mask = saved;
            vx_line(&t->e, "and.pred %s, %s, %s", live, live, c);
        }
        m = vt_narrow(t, live, spread);
        m->outer = NULL; /* it is in it */
        m->spread = t->mask && t->mask->spread > spread ? t->mask->spread : spread;
    }
    vx_line(&t->e, "@!%s allbra b_l%d", vt_predicate(t, m), end);
    return m;
}

/* Lanes that left a loop wait at its end, by masks. Where all lanes leave together the mask stays
 * the outer one. */
static void lower_loop(vt *t, const borg_stmt *s) {
    vt_contents c = {0};
    vt_mask *saved = t->mask;
    vt_loop loop = {.outer = t->loop};
    const int32_t top = t->e.labels++, end = t->e.labels++;
    borg_stmt one = *s;
    one.next = NULL;
    one.init = NULL;
    if (s->unroll == BORG_UNROLL_YES) vt_refuse(t, s->loc, "'#pragma unroll'");
    if (s->init) vt_stmt(t, s->init);
    vt_settle_all(t, &one, NULL);
    if (t->mask) vt_guard(t);
    vt_scan_stmt(s->body, &c);
    borg_spread spread = s->expr ? vt_spread(t, s->expr) : BORG_UNI;
    const borg_spread jumps = vt_jump_spread(t, s->body, spread);
    if (jumps > spread) spread = jumps;
    const bool together = spread == BORG_UNI && !c.jumps && s->kind != BORG_S_DO && s->expr;
    if (c.jumps || s->kind == BORG_S_DO || !s->expr || (asks_anew(s->expr) && !together)) {
        const char *live = vx_new(&t->e, BORG_I1);
        vx_line(&t->e, "mov.pred %s, %s", live, t->mask ? vt_predicate(t, t->mask) : "1");
        loop.live = loop.here = live;
        if (c.jumps) loop.here = vx_new(&t->e, BORG_I1);
    }
    loop.counter = saved || loop.live ? NULL : vt_counter(s);
    label(t, top);
    vt_mask *m = loop_head(t, s, loop.live, spread, end), *turn = m;
    if (c.jumps) {
        vx_line(&t->e, "mov.pred %s, %s", loop.here, loop.live);
        turn = vt_narrow(t, loop.here, spread);
        turn->outer = NULL;
        turn->spread = m->spread;
    }
    loop.mask = t->mask = together ? saved : turn;
    t->loop = &loop;
    vt_stmt(t, s->body);
    t->mask = together || loop.counter ? saved : m; /* a counter grows on in lanes that left */
    if (s->step) vt_discard(t, s->step);
    if (s->kind == BORG_S_DO) {
        const char *again = vt_value(t, s->expr);
        vx_line(&t->e, "and.pred %s, %s, %s", loop.live, loop.live, again);
    }
    vx_line(&t->e, "allbra b_l%d", top);
    label(t, end);
    t->loop = (vt_loop *)(uintptr_t)loop.outer;
    t->mask = saved;
}

/* break, or continue. */
static void jump(vt *t, bool leaves) {
    const char *guard = vt_guard(t);
    if (leaves) vx_line(&t->e, "%smov.pred %s, 0", guard, t->loop->live);
    vx_line(&t->e, "%smov.pred %s, 0", guard, t->loop->here);
    if (t->mask != t->loop->mask) t->mask = vt_narrow(t, t->loop->here, t->loop->mask->spread);
}

void vt_stmt(vt *t, const borg_stmt *s) {
    if (++t->depth > MOST_DEPTH) {
        borg_report(t->diags, BORG_ERROR, s->loc, "nested too deeply");
        --t->depth;
        return;
    }
    switch (s->kind) {
    case BORG_S_EXPR:
        vt_discard(t, s->expr);
        break;
    case BORG_S_DECL:
        for (const borg_decl *d = s->decls; d; d = d->next) vt_declare(t, d);
        break;
    case BORG_S_BLOCK: {
        for (const borg_stmt *k = s->body; k; k = k->next) vt_stmt(t, k);
        break;
    }
    case BORG_S_IF:
        lower_if(t, s);
        break;
    case BORG_S_FOR:
    case BORG_S_WHILE:
    case BORG_S_DO:
        lower_loop(t, s);
        break;
    case BORG_S_BREAK:
    case BORG_S_CONTINUE:
        jump(t, s->kind == BORG_S_BREAK);
        break;
    default:
        break; /* EMPTY does nothing; RETURN is done by the call */
    }
    --t->depth;
}

/* ---- a kernel -------------------------------------------------------------------------------- */

/* A parameter that is no operand as it is. */
static void take_param(vt *t, const borg_decl *d) {
    if (borg_ctype_complex(d->type) || borg_ctype_narrow(d->type))
        vt_refuse(t, d->loc, "complex, char, short and half");
    if (d->depth || (d->type != BORG_C_BOOL && !vt_assigns(t->kernel->body, d))) return;
    const borg_type type = borg_ctype_ir(d->type);
    vt_var v = {.reg = BORG_NEW(t->arena, 1, const char *)};
    if (type == BORG_I1) {
        v.reg[0] = vx_narrow(&t->e, d->name);
    } else {
        v.reg[0] = vx_new(&t->e, type);
        vx_line(&t->e, "mov.%s %s, %s", vx_type(type), v.reg[0], d->name);
    }
    t->vars[d->number] = v;
}

bool vx_symbolic(const borg_function *kernel, const char *name, borg_sink *sink,
                 borg_diags *diags) {
    borg_sink body = {.arena = sink->arena};
    const int32_t errors = diags->errors;
    vt t = {.e = {.arena = sink->arena, .out = &body},
            .arena = sink->arena,
            .diags = diags,
            .kernel = kernel};
    t.e.tables.arena = t.e.first.arena = sink->arena;
    t.e.m = borg_module_new(sink->arena, kernel->name, 0, 1, BORG_WI_MINOR);
    borg_params_of(kernel, t.e.m);
    t.vars = BORG_NEW(t.arena, kernel->numbers + 1, vt_var);
    t.spread = BORG_NEW(t.arena, kernel->numbers + 1, borg_spread);
    vt_find_spreads(&t);
    for (const borg_decl *d = kernel->params; d; d = d->next) take_param(&t, d);
    vt_stmt(&t, kernel->body);
    if (diags->errors != errors) return false;
    borg_put(sink, "// Made by borgc: warps of any size.\n");
    vx_put_kernel(&t.e, name, &body, sink);
    return true;
}
