/* SPDX-License-Identifier: BSD-3-Clause */
/* Which values lie in memory, as the compilers for SX-Aurora (LLVM to 16) cannot spill a vector
 * register themselves: a linear scan over the intervals in which values live; where too many do,
 * the one that is needed longest is stored when it is made and loaded at each use. Constants are
 * made anew. Masks are few, and compilers spill these. */
#include "borg/emit/ve/core.h"

/* Of 64; the rest is for what an instruction is made of. */
enum { MOST_LIVE = 24 };

typedef struct loop {
    const struct loop *outer;
    int32_t end;
} loop;

typedef struct scan {
    ve *e;
    int32_t now;
    const loop **home; /* by id: the innermost loop around the value */
    int32_t *begin, *end;
    borg_inst **order; /* values as they begin */
    int32_t count;
} scan;

static void number(scan *s, borg_block *block, loop *around) {
    for (borg_inst *v = block->first; v; v = v->next) {
        ++s->now;
        v->mark = 0;
        if (v->id >= 0) {
            s->begin[v->id] = s->end[v->id] = s->now;
            s->home[v->id] = around;
            s->order[s->count++] = v;
        }
        loop *inside = around;
        if (v->op == BORG_LOOP) {
            inside = BORG_NEW(s->e->arena, 1, loop);
            inside->outer = around;
        }
        for (int32_t k = 0; k < 2; ++k)
            if (v->block[k]) number(s, v->block[k], inside);
        v->aux = inside; /* of a LOOP: its own */
        if (v->op == BORG_LOOP) inside->end = ++s->now;
    }
}

/* Uses in a loop that the value stands outside of last until that loop ends. */
static void use(scan *s, const borg_inst *x, int32_t at, const loop *around) {
    if (x->id < 0) return;
    for (const loop *l = around; l && l != s->home[x->id]; l = l->outer) at = l->end;
    if (s->end[x->id] < at) s->end[x->id] = at;
}

static void find_uses(scan *s, const borg_block *block, const loop *around) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        ++s->now;
        for (int32_t k = 0; k < v->nargs; ++k) use(s, v->args[k], s->now, around);
        const loop *inside = v->op == BORG_LOOP ? v->aux : around;
        for (int32_t k = 0; k < 2; ++k)
            if (v->block[k]) find_uses(s, v->block[k], inside);
        if (v->op == BORG_LOOP) ++s->now;
    }
}

/* Another name for registers of its operands: they live as long. */
static bool renames(const scan *s, const borg_inst *v) {
    borg_move k;
    if (v->op == BORG_RESULT) return true;
    if (v->op != BORG_ROWS && v->op != BORG_PERM && v->op != BORG_BCAST) return false;
    if (ve_scalar(s->e, v) || ve_scalar(s->e, v->args[0])) return false;
    borg_classify_move(s->e->m, v, VE_LANES, 0, &k);
    return k.kind == BORG_MOVE_COPY;
}

static int32_t registers(const scan *s, const borg_inst *v) {
    if (v->type == BORG_VOID || v->type == BORG_I1 || ve_scalar(s->e, v) || v->uses == 0 ||
        renames(s, v))
        return 0;
    return ve_count(s->e, v);
}

static bool can_spill(const borg_inst *v) {
    return v->op != BORG_PHI && v->op != BORG_RESULT && v->op != BORG_LOOP && v->op != BORG_IF;
}

static void choose(scan *s) {
    borg_inst **active = BORG_NEW(s->e->arena, s->count + 1, borg_inst *);
    int32_t nactive = 0, live = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        int32_t left = 0;
        live = 0;
        for (int32_t k = 0; k < nactive; ++k)
            if (s->end[active[k]->id] > s->begin[s->order[i]->id]) {
                live += registers(s, active[k]);
                active[left++] = active[k];
            }
        nactive = left;
        if (registers(s, s->order[i]) == 0) continue;
        active[nactive++] = s->order[i];
        live += registers(s, s->order[i]);
        while (live > MOST_LIVE) {
            int32_t worst = -1;
            for (int32_t k = 0; k < nactive; ++k)
                if (can_spill(active[k]) &&
                    (worst < 0 || s->end[active[k]->id] > s->end[active[worst]->id]))
                    worst = k;
            if (worst < 0) break;
            live -= registers(s, active[worst]);
            active[worst]->mark = VE_IN_MEMORY;
            active[worst] = active[--nactive];
        }
    }
}

void ve_choose_spills(ve *e) {
    const int32_t count = borg_number(e->m) + 1;
    scan s = {.e = e};
    s.home = BORG_NEW(e->arena, count, const loop *);
    s.begin = BORG_NEW(e->arena, count, int32_t);
    s.end = BORG_NEW(e->arena, count, int32_t);
    s.order = BORG_NEW(e->arena, count, borg_inst *);
    number(&s, e->m->body, NULL);
    s.now = 0;
    find_uses(&s, e->m->body, NULL);
    for (int32_t i = s.count; i-- > 0;) {
        const borg_inst *v = s.order[i];
        for (int32_t k = 0; k < v->nargs && renames(&s, v); ++k)
            if (v->args[k]->id >= 0 && s.end[v->args[k]->id] < s.end[v->id])
                s.end[v->args[k]->id] = s.end[v->id];
    }
    choose(&s);
}
