/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over constants that stay loops (borg_machine.rolls). Unrolled, a loop over the rows of
 * arrays that registers cannot hold is as many copies of one body, each with loads and stores of
 * what is spilled; as a loop it is one, with the same loads and stores. So a first lowering, with
 * all unrolled, finds which loops could stay and which arrays their counters index; where those do
 * not fit the machine's registers, a second one has them in memory and keeps the loops. Unrolled
 * stay: loops around loops, and those whose counter is needed at compile time, for a mask, a lane,
 * or an address of a parameter (whose rows are transposed together). */
#include "borg/lower/leaves.h"

enum { LEAST_TRIPS = 4, MOST_TRIPS = 4096 };

borg_plan *borg_plan_new(borg_arena *arena, const borg_function *kernel) {
    borg_plan *plan = BORG_NEW(arena, 1, borg_plan);
    plan->count = kernel->numbers;
    plan->of = BORG_NEW(arena, kernel->numbers + 1, borg_array_use);
    return plan;
}

/* Registers that an array fills; 0: it cannot lie in memory. */
static int64_t registers_of(const borg_array_use *use, const borg_module *m,
                            const borg_machine *machine) {
    if (!use->counted || use->declared != 1 || use->early || use->spread == BORG_UNI) return 0;
    const int32_t items = use->spread == BORG_WI ? m->size : 1, lanes = m->pack * items;
    const int32_t fit = machine->vector_bytes / borg_type_bytes(borg_ctype_ir(use->decl->type));
    if ((int64_t)use->decl->count * items > BORG_MAX_ROWS) return 0;
    return (int64_t)use->decl->count * ((lanes + fit - 1) / fit);
}

bool borg_plan_arrays(borg_plan *plan, const borg_module *m, const borg_machine *machine) {
    int64_t registers = 0;
    for (int32_t i = 0; i < plan->count; ++i) registers += registers_of(&plan->of[i], m, machine);
    plan->apply = registers > machine->registers;
    for (int32_t i = 0; plan->apply && i < plan->count; ++i)
        plan->of[i].placed = registers_of(&plan->of[i], m, machine) > 0;
    return plan->apply;
}

bool borg_plan_failed(const borg_plan *plan) {
    return plan->failed;
}

static borg_array_use *use_of(const borg_lowerer *l, const borg_decl *d) {
    if (!l->plan || d->storage != BORG_PRIVATE || !d->array || borg_ctype_complex(d->type))
        return NULL;
    return &l->plan->of[d->number];
}

bool borg_lower_placed(const borg_lowerer *l, const borg_decl *d) {
    const borg_array_use *use = use_of(l, d);
    return use && l->plan->apply && use->placed;
}

borg_spread borg_lower_placed_spread(const borg_lowerer *l, const borg_decl *d) {
    return l->plan->of[d->number].spread;
}

void borg_lower_note_array(borg_lowerer *l, const borg_decl *d) {
    borg_array_use *use = use_of(l, d);
    if (!use || l->plan->apply) return;
    ++use->declared;
    use->decl = d;
    use->early = use->early || d->init;
    use->written = BORG_NEW(l->arena, d->count, bool);
}

void borg_lower_note_read(borg_lowerer *l, const borg_decl *d, int32_t element) {
    borg_array_use *use = use_of(l, d);
    if (use && !l->plan->apply && use->written)
        use->early = use->early || element < 0 || !use->written[element];
}

void borg_lower_note_write(borg_lowerer *l, const borg_decl *d, int32_t element,
                           borg_spread spread) {
    borg_array_use *use = use_of(l, d);
    if (!use || l->plan->apply || !use->written) return;
    use->written[element] = true;
    if (spread > use->spread) use->spread = spread;
}

/* ---- which loops ----------------------------------------------------------------------------- */

/* Arrays may be indexed by the counter; nothing else may name it. */
typedef struct loop_check {
    borg_lowerer *l;
    borg_counter at;
    const bool *assigned; /* in the body, by number of the variable */
    int32_t arrays;       /* that the counter indexes */
    bool bad;
} loop_check;

static bool changes(const loop_check *k, const borg_expr *e) {
    bool any = e->kind == BORG_E_NAME && k->assigned[borg_lower_variable(k->l, e->decl)->number];
    for (int32_t i = 0; i < e->nargs; ++i) any = any || changes(k, e->args[i]);
    return any;
}

static void check_expr(loop_check *k, const borg_expr *e);

static void check_place(loop_check *k, const borg_expr *e) {
    const borg_decl *d = borg_lower_variable(k->l, e->decl);
    int64_t index;
    if (d == k->at.decl) k->bad = true;
    if (e->kind != BORG_E_INDEX || !borg_lower_mentions(k->l, e, k->at.decl)) {
        for (int32_t i = 0; i < e->nargs; ++i) check_expr(k, e->args[i]);
        return;
    }
    borg_array_use *use = use_of(k->l, d);
    k->bad = k->bad || !use || changes(k, e->args[0]) ||
             !borg_counter_known(&k->at, e->args[0], &index) || index < 0 || index >= d->count ||
             (k->l->plan->apply && !use->placed);
    ++k->arrays;
}

static void check_expr(loop_check *k, const borg_expr *e) {
    if (!e || k->bad) return;
    if (e->kind == BORG_E_NAME || e->kind == BORG_E_INDEX) {
        check_place(k, e);
        return;
    }
    if (e->kind == BORG_E_CALL && (e->function || e->builtin == BORG_B_BARRIER ||
                                   e->builtin == BORG_B_MMA || e->builtin >= BORG_B_SUM)) {
        k->bad = true;
        return;
    }
    for (int32_t i = 0; i < e->nargs; ++i) check_expr(k, e->args[i]);
}

static void check_stmt(loop_check *k, const borg_stmt *s) {
    for (; s && !k->bad; s = s->next) {
        k->bad = s->kind != BORG_S_EXPR && s->kind != BORG_S_DECL && s->kind != BORG_S_BLOCK &&
                 s->kind != BORG_S_IF && s->kind != BORG_S_EMPTY;
        for (const borg_decl *d = s->decls; d; d = d->next) {
            k->bad = k->bad || d->array || d->storage != BORG_PRIVATE;
            check_expr(k, d->init);
        }
        check_expr(k, s->expr);
        check_stmt(k, s->body);
        check_stmt(k, s->other);
    }
}

static void note_expr(loop_check *k, const borg_expr *e) {
    if (!e) return;
    if (e->kind == BORG_E_INDEX && borg_lower_mentions(k->l, e, k->at.decl))
        use_of(k->l, borg_lower_variable(k->l, e->decl))->counted = true;
    for (int32_t i = 0; i < e->nargs; ++i) note_expr(k, e->args[i]);
}

static void note_stmt(loop_check *k, const borg_stmt *s) {
    for (; s; s = s->next) {
        for (const borg_decl *d = s->decls; d; d = d->next) note_expr(k, d->init);
        note_expr(k, s->expr);
        note_stmt(k, s->body);
        note_stmt(k, s->other);
    }
}

bool borg_lower_stays_loop(borg_lowerer *l, const borg_stmt *s) {
    loop_check k = {.l = l};
    int64_t holds, next;
    int32_t trips = 0;
    if (!l->plan || s->unroll != BORG_UNROLL_AUTO || !borg_counter_find(l, s, &k.at)) return false;
    const borg_counter first = k.at;
    k.assigned = borg_lower_assigned(l, s, false);
    for (;; ++trips) {
        if (trips == MOST_TRIPS || !borg_counter_known(&k.at, s->expr, &holds)) return false;
        if (!holds) break;
        check_stmt(&k, s->body);
        if (k.bad || !borg_counter_next(&k.at, &next)) return false;
        k.at.value = next;
    }
    k.at = first;
    if (trips < LEAST_TRIPS || !k.arrays) return false;
    if (!l->plan->apply) note_stmt(&k, s->body);
    return l->plan->apply;
}
