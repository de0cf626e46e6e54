/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops: run now if the counter is constant (unroll), as vectors (vector.c), or left to run
 * time, with a mask of the work-items that are still in the loop. */
#include "borg/lower/leaves.h"
#include "borg/lower/walk.h"

enum { MAX_TRIPS = 65536, MAX_ATTEMPTS = 24 };

static borg_inst *condition(borg_lowerer *l, const borg_stmt *s) {
    return s->expr ? borg_lower_expr(l, s->expr) : borg_lower_const(l, BORG_I1, 1);
}

static borg_inst *without(borg_lowerer *l, borg_inst *mask, borg_inst *gone) {
    return gone ? borg_lower_and(l, mask, borg_lower_not(l, gone)) : mask;
}

/* One turn: the body, then the step for those who did not break. */
static void turn(borg_lowerer *l, const borg_stmt *s, borg_inst *mask, borg_lower_loop *loop) {
    loop->skipped = NULL;
    l->mask = mask;
    borg_lower_stmt(l, s->body);
    l->mask = without(l, mask, loop->broken);
    if (s->step && !l->over && !borg_lower_never(l->mask)) borg_lower_expr(l, s->step);
}

/* ---- unrolled -------------------------------------------------------------------------------- */

/* False: the condition is not constant, or the budget is passed. */
static bool unroll(borg_lowerer *l, const borg_stmt *s) {
    borg_lower_loop loop = {.outer = l->loop};
    borg_inst *saved = l->mask;
    int trips = 0;
    bool good = true;
    if (l->unrolling++ == 0) l->base = l->m->ninsts;
    l->loop = &loop;
    l->mask = saved;
    bool first = s->kind == BORG_S_DO;
    for (; good; first = false) {
        borg_inst *mask = without(l, saved, loop.broken);
        l->mask = mask;
        if (borg_lower_never(mask)) break;
        borg_inst *c = first ? NULL : condition(l, s);
        if (c && borg_is_splat(c) && !c->bits[0]) break;
        good = (!c || borg_is_splat(c)) && ++trips < MAX_TRIPS;
        if (!good) break;
        turn(l, s, mask, &loop);
        if (l->m->ninsts - l->base > l->budget) l->over = true;
        good = !l->over;
    }
    --l->unrolling;
    l->loop = loop.outer;
    l->mask = saved;
    return good;
}

/* ---- as vectors ------------------------------------------------------------------------------ */

static void set_counter(borg_lowerer *l, const borg_decl *d, const int64_t *values, int32_t count) {
    borg_type type = borg_ctype_ir(d->type);
    uint64_t *bits = BORG_NEW(l->arena, count, uint64_t);
    for (int32_t i = 0; i < count; ++i)
        bits[i] = type == BORG_I32 ? (uint32_t)(uint64_t)values[i] : (uint64_t)values[i];
    borg_inst *v = count == 1 ? borg_lower_const(l, type, bits[0])
                              : borg_emit_table(&l->b, type, BORG_UNI, count, bits);
    *borg_lower_cell(l, d, 0) = (borg_cell){v, count > 1 ? -1 : 0};
}

/* False: it cannot be, nothing was done. */
static bool run_as_vectors(borg_lowerer *l, const borg_stmt *s) {
    borg_index_sets sets = {0};
    if (!borg_lower_index_sets(l, s, &sets)) return false;
    for (int32_t i = 0, from = 0; i < sets.count && !l->over; from = sets.ends[i++]) {
        set_counter(l, sets.counter, sets.values + from, sets.ends[i] - from);
        borg_lower_stmt(l, s->body);
    }
    set_counter(l, sets.counter, &sets.last, 1);
    return true;
}

/* ---- at run time ----------------------------------------------------------------------------- */

typedef struct carried { /* a cell that the loop changes */
    int32_t cell;
    borg_spread spread;
    int32_t rows;
    borg_inst *initial, *phi;
} carried;

typedef struct runtime {
    borg_lowerer *l;
    const borg_stmt *s;
    carried *list;
    int32_t count;
    bool masked; /* an i1 PHI says who is still in the loop */
    borg_spread mask_spread;
    borg_inst *outer_mask, *here; /* here: that PHI */
    borg_inst *entered;           /* one lane: is any work-item here? NULL: yes */
    bool again;                   /* an assumption was wrong: widened, to be tried again */
    int64_t trip;                 /* turns, -1: not known */
} runtime;

static void find_carried(runtime *t) {
    borg_lowerer *l = t->l;
    const bool *set = borg_lower_assigned(l, t->s, true);
    t->list = BORG_NEW(l->arena, l->ncells + 1, carried);
    for (int32_t c = 0; c < l->ncells; ++c) {
        if (!l->cells[c].value || !set[l->owner[c]->number]) continue;
        borg_inst *v = borg_lower_read_cell(l, l->cells[c]);
        t->list[t->count++] =
            (carried){.cell = c, .spread = v->spread, .rows = v->rows, .initial = v};
    }
}

static borg_inst *new_phi(runtime *t, borg_inst *initial, const borg_decl *d) {
    borg_lowerer *l = t->l;
    borg_inst *phi = borg_emit(&l->b, BORG_PHI, initial->type, initial->spread, initial->rows, 1);
    phi->args[0] = initial;
    phi->name = d ? d->name : NULL;
    return phi;
}

static void widen_spread(runtime *t, borg_spread *spread, borg_spread wanted) {
    if (wanted <= *spread) return;
    *spread = wanted;
    t->again = true;
}

static borg_inst *in_one_lane(borg_lowerer *l, borg_inst *any) {
    if (borg_lower_one_lane(l, any)) return any;
    borg_inst *v = borg_emit(&l->b, BORG_ANYP, BORG_I1, BORG_UNI, any->rows, 1);
    v->args[0] = any;
    return borg_lower_simplify(l, v);
}

/* The head: PHIs, condition, WHILE. Returns the mask of the body. */
static borg_inst *lower_head(runtime *t, borg_inst *loop) {
    borg_lowerer *l = t->l;
    l->b.block = loop->block[0];
    l->b.before = NULL;
    for (int32_t i = 0; i < t->count; ++i) {
        carried *k = &t->list[i];
        k->phi = new_phi(t, k->initial, l->owner[k->cell]);
        l->cells[k->cell] = (borg_cell){k->phi, k->rows > 1 ? -1 : 0};
    }
    borg_inst *mask = t->outer_mask;
    if (t->masked) {
        mask = t->here;
        t->here = new_phi(t, t->here, NULL);
        mask = t->here;
    }
    l->mask = mask;
    bool later = t->s->kind == BORG_S_DO; /* its condition belongs to the body's end */
    borg_inst *c = later ? borg_lower_const(l, BORG_I1, 1) : condition(l, t->s);
    /* Under a mask, too, a condition that is the same for all lanes needs none of its own: the
     * counter stays a scalar. (On a GPU a vote in each turn costs no more than one before.) */
    bool simt = l->options->backend && l->options->backend->machine.simt;
    bool plain = !t->masked && (!t->outer_mask || !simt) && borg_lower_one_lane(l, c);
    if (!plain && !t->masked) {
        t->masked = t->again = true;
        t->mask_spread = t->outer_mask ? t->outer_mask->spread : BORG_UNI;
    }
    if (t->masked) {
        widen_spread(t, &t->mask_spread, c->spread);
        mask = borg_lower_and(l, mask, c);
    }
    borg_inst *any = t->masked && !t->again ? mask : c;
    if (!t->masked && t->entered) any = borg_lower_and(l, any, t->entered);
    if (t->again) any = borg_lower_const(l, BORG_I1, 1);
    any = in_one_lane(l, any);
    borg_inst *end = borg_emit(&l->b, BORG_WHILE, BORG_VOID, BORG_UNI, 0, 1);
    end->args[0] = any;
    return mask;
}

static void lower_body(runtime *t, borg_inst *loop, borg_inst *mask) {
    borg_lowerer *l = t->l;
    borg_lower_loop context = {.outer = l->loop};
    l->b.block = loop->block[1];
    l->loop = &context;
    turn(l, t->s, mask, &context);
    borg_inst *next = without(l, mask, context.broken);
    if (t->s->kind == BORG_S_DO) {
        l->mask = next;
        borg_inst *c = condition(l, t->s);
        next = borg_lower_and(l, next, c);
    }
    l->loop = context.outer;
    if ((context.broken || t->s->kind == BORG_S_DO) && !t->masked) {
        t->masked = t->again = true;
        t->mask_spread = t->outer_mask ? t->outer_mask->spread : BORG_UNI;
    }
    if (t->masked && next) widen_spread(t, &t->mask_spread, next->spread);
    borg_inst *yield = borg_emit(&l->b, BORG_YIELD, BORG_VOID, BORG_UNI, 0, t->count + t->masked);
    borg_unlink(yield);
    for (int32_t i = 0; i < t->count; ++i) {
        carried *k = &t->list[i];
        borg_inst *v = borg_lower_read_cell(l, l->cells[k->cell]);
        widen_spread(t, &k->spread, v->spread);
        if (v->rows > k->rows) {
            k->rows = v->rows;
            t->again = true;
        }
        if (!t->again) yield->args[i] = borg_lower_unify(l, v, k->spread, k->rows);
    }
    if (t->masked && !t->again)
        yield->args[t->count] = borg_lower_unify(l, next, t->mask_spread, 1);
    borg_insert(l->b.block, NULL, yield);
}

static bool try_runtime(runtime *t) {
    borg_lowerer *l = t->l;
    for (int32_t i = 0; i < t->count; ++i) {
        carried *k = &t->list[i];
        k->initial =
            borg_lower_unify(l, borg_lower_read_cell(l, l->cells[k->cell]), k->spread, k->rows);
    }
    if (t->masked) {
        borg_inst *all = t->outer_mask ? t->outer_mask : borg_lower_const(l, BORG_I1, 1);
        t->here = borg_lower_unify(l, all, t->mask_spread, 1);
    }
    t->entered = NULL;
    if (t->outer_mask && !t->masked) t->entered = in_one_lane(l, t->outer_mask);
    borg_builder outer = l->b;
    borg_inst *loop = borg_emit(&l->b, BORG_LOOP, BORG_VOID, BORG_UNI, 0, 0);
    loop->block[0] = borg_block_new(l->m, loop);
    loop->block[1] = borg_block_new(l->m, loop);
    loop->trip = t->masked ? -1 : t->trip;
    borg_inst *mask = lower_head(t, loop);
    lower_body(t, loop, mask);
    l->b = outer;
    l->mask = t->outer_mask;
    if (t->again || l->over) return false;
    const borg_inst *end = loop->block[0]->last;
    if (borg_is_splat(end->args[0]) && end->args[0]->bits[0])
        borg_report(l->diags, BORG_ERROR, t->s->loc, "this loop does not end");
    for (int32_t i = 0; i < t->count; ++i) {
        carried *k = &t->list[i];
        borg_inst *v = borg_emit(&l->b, BORG_RESULT, k->phi->type, k->spread, k->rows, 1);
        v->args[0] = loop;
        v->index = i;
        v->name = k->phi->name;
        l->cells[k->cell] = (borg_cell){v, k->rows > 1 ? -1 : 0};
    }
    return true;
}

static void run_later(borg_lowerer *l, const borg_stmt *s) {
    runtime t = {.l = l, .s = s, .outer_mask = l->mask};
    borg_contents contents = {0};
    borg_scan_stmt(s->body, &contents);
    t.masked = contents.jumps;
    t.mask_spread = l->mask ? l->mask->spread : BORG_UNI;
    t.trip = borg_lower_trips(l, s);
    find_carried(&t);
    int32_t unrolling = l->unrolling;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; ++attempt) {
        borg_checkpoint start = borg_lower_save(l);
        t.again = false;
        if (try_runtime(&t)) return;
        if (l->over && unrolling) return; /* to the outermost unrolled loop */
        bool over = l->over;
        borg_lower_restore(l, &start);
        if (over) break;
    }
    borg_report(l->diags, BORG_ERROR, s->loc,
                "this loop passes the budget of %d instructions (--unroll-budget)", l->budget);
}

/* ---- which of them --------------------------------------------------------------------------- */

static void lower_loop(borg_lowerer *l, const borg_stmt *s) {
    if (s->unroll == BORG_UNROLL_NO) {
        run_later(l, s);
        return;
    }
    if (borg_lower_stays_loop(l, s)) {
        const bool inside = l->inside;
        l->inside = true;
        run_later(l, s);
        l->inside = inside;
        return;
    }
    if (s->kind == BORG_S_FOR && run_as_vectors(l, s)) return;
    borg_checkpoint start = borg_lower_save(l);
    bool outermost = l->unrolling == 0;
    if (unroll(l, s)) return;
    bool over = l->over;
    if (over && !outermost) return;
    borg_lower_restore(l, &start);
    if (s->unroll == BORG_UNROLL_YES) {
        borg_report(l->diags, BORG_ERROR, s->loc,
                    over ? "unrolling this loop passes the budget of %d instructions "
                           "(--unroll-budget)"
                         : "this loop cannot be unrolled: its condition is known at run time only",
                    l->budget);
        return;
    }
    if (over)
        borg_report(l->diags, BORG_WARNING, s->loc,
                    "unrolling passes the budget of %d instructions: this loop runs at run time",
                    l->budget);
    run_later(l, s);
}

void borg_lower_for(borg_lowerer *l, const borg_stmt *s) {
    if (s->init) borg_lower_stmt(l, s->init);
    lower_loop(l, s);
    if (s->init)
        for (const borg_decl *d = s->init->decls; d; d = d->next) borg_lower_forget(l, d);
}
