/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks: conditions as guards. */
#include "borg/emit/vrptx/tree.h"
#include <string.h>

static const char *new_predicate(vt *t) {
    return vx_new(&t->e, BORG_I1);
}

/* The condition by itself, compared now if it was not so far. */
static const char *condition(vt *t, vt_mask *m) {
    if (m->own) return m->own;
    m->own = new_predicate(t);
    vx_line(&t->e, "setp.%s %s, %s, %s", m->compare, m->own, m->x, m->y);
    return m->own;
}

/* reg and negated := the guard. Masks are made outside in, so an outer one is written first. */
static void write_mask(vt *t, vt_mask *m) {
    if (m->reg) return;
    const char *own = condition(t, m);
    if (!m->outer || m->implied) {
        m->reg = own;
        return;
    }
    const char *outer = vt_predicate(t, (vt_mask *)(uintptr_t)m->outer);
    if (m->negated) {
        const char *turned = new_predicate(t);
        vx_line(&t->e, "not.pred %s, %s", turned, own);
        own = turned;
        m->negated = false;
    }
    m->reg = new_predicate(t);
    vx_line(&t->e, "and.pred %s, %s, %s", m->reg, outer, own);
}

const char *vt_predicate(vt *t, vt_mask *m) {
    write_mask(t, m);
    if (!m->negated) return m->reg;
    const char *turned = new_predicate(t);
    vx_line(&t->e, "not.pred %s, %s", turned, m->reg);
    m->reg = turned;
    m->negated = false;
    return turned;
}

const char *vt_guard(vt *t) {
    if (!t->mask) return "";
    write_mask(t, t->mask);
    return borg_format(t->arena, "@%s%s ", t->mask->negated ? "!" : "", t->mask->reg);
}

/* Lanes that are not here never see a variable that was declared here. */
const char *vt_guard_of(vt *t, const vt_var *v) {
    return v->born == t->mask ? "" : vt_guard(t);
}

static vt_mask *new_mask(vt *t, borg_spread spread) {
    vt_mask *m = BORG_NEW(t->arena, 1, vt_mask);
    m->outer = t->mask;
    m->spread = t->mask && t->mask->spread > spread ? t->mask->spread : spread;
    return m;
}

vt_mask *vt_narrow(vt *t, const char *predicate, borg_spread spread) {
    vt_mask *m = new_mask(t, spread);
    m->own = vx_in_register(&t->e, BORG_I1, predicate);
    return m;
}

vt_mask *vt_under(vt *t, const borg_expr *e) {
    static const struct {
        const char *text, *name;
    } compares[] = {{"==", "eq"}, {"!=", "ne"}, {"<", "lt"},
                    {"<=", "le"}, {">", "gt"},  {">=", "ge"}};
    vt_mask *m = new_mask(t, vt_spread(t, e));
    vt_contents c = {0};
    m->implied = t->loop && t->loop->mask == t->mask && vt_implies(e, t->loop->counter);
    vt_scan_expr(e, &c);
    for (size_t k = 0; e->kind == BORG_E_BINARY && !c.effects && k < 6; ++k) {
        if (strcmp(e->text, compares[k].text) != 0) continue;
        m->compare = borg_format(t->arena, "%s.%s", compares[k].name, vt_typed(e->args[0]->type));
        m->x = vt_value(t, e->args[0]);
        m->y = vt_value(t, e->args[1]);
        return m;
    }
    const char *p = new_predicate(t); /* a variable may change below */
    m->own = vt_eval(t, e, (vt_to){p, NULL});
    return m;
}

vt_mask *vt_other(vt *t, vt_mask *m) {
    vt_mask *other = new_mask(t, m->spread);
    other->own = condition(t, m);
    other->negated = true;
    return other;
}

/* ---- variables ------------------------------------------------------------------------------- */

const borg_decl *vt_root(const vt *t, const borg_decl *d) {
    while (t->vars[d->number].alias) d = t->vars[d->number].alias;
    return d;
}

vt_var *vt_variable(vt *t, const borg_decl *d) {
    return &t->vars[vt_root(t, d)->number];
}

void vt_settle(vt *t, vt_var *v, int32_t element, borg_ctype type) {
    if (!v->pending || !v->pending[element]) return;
    v->pending[element] = false;
    vx_line(&t->e, "mov.%s %s, 0", vx_type(borg_ctype_ir(type)), v->reg[element]);
}

static void settle_expr(vt *t, const borg_expr *e) {
    if (!e) return;
    if (e->decl) {
        const borg_decl *d = vt_root(t, e->decl);
        vt_var *v = &t->vars[d->number];
        for (int32_t i = 0; v->reg && i < (d->array ? d->count : 1); ++i)
            vt_settle(t, v, i, d->type);
    }
    if (e->function) vt_settle_all(t, e->function->body, NULL);
    for (int32_t i = 0; i < e->nargs; ++i) settle_expr(t, e->args[i]);
}

void vt_settle_all(vt *t, const borg_stmt *s, const borg_expr *e) {
    settle_expr(t, e);
    for (; s; s = s->next) {
        for (const borg_decl *d = s->decls; d; d = d->next) settle_expr(t, d->init);
        vt_settle_all(t, s->init, s->expr);
        vt_settle_all(t, s->body, s->step);
        vt_settle_all(t, s->other, NULL);
    }
}
