/* SPDX-License-Identifier: BSD-3-Clause */
/* Places: reads and writes of variables and of memory. */
#include "borg/lower/place.h"

borg_inst *borg_lower_parameter(borg_lowerer *l, const borg_decl *d) {
    int32_t index = 0;
    for (const borg_decl *p = l->kernel->params; p && p != d; p = p->next) ++index;
    if (!l->params[index]) {
        borg_builder top = {.module = l->m, .block = l->m->body, .before = l->m->body->first};
        borg_inst *v = borg_emit(&top, BORG_PARAM, l->m->params[index].type, BORG_UNI, 1, 0);
        v->index = index;
        l->params[index] = v;
    }
    return l->params[index];
}

/* An index that lies inside the array for all work-items, those under the mask and the others. */
static bool surely_inside(const borg_lowerer *l, const borg_inst *pointer, const borg_inst *index) {
    uint64_t low, high;
    return pointer->op == BORG_LOCAL && borg_known_range(l->m, index, &low, &high) &&
           high < (uint64_t)l->m->locals[pointer->index].count;
}

borg_inst *borg_lower_load(borg_lowerer *l, borg_type type, borg_inst *pointer, borg_inst *index,
                           borg_loc loc) {
    borg_spread spread = index->spread > pointer->spread ? index->spread : pointer->spread;
    borg_inst *mask = surely_inside(l, pointer, index) ? NULL : l->mask;
    /* where each work-item has a thread, it reads the group's array for itself: there may be no
     * barrier between its store and its load */
    bool simt = l->options->backend && l->options->backend->machine.simt;
    if (simt && pointer->op == BORG_LOCAL && l->mask && l->mask->spread == BORG_WI)
        spread = BORG_WI;
    /* a uniform load where only some work-items are: for the group if any of them is */
    if (mask && mask->spread > spread) {
        if (mask->spread == BORG_WI) {
            borg_inst *any = borg_emit(&l->b, BORG_ANY, BORG_I1, BORG_WG, mask->rows, 1);
            any->args[0] = mask;
            mask = borg_lower_simplify(l, any);
        }
        if (mask->spread > spread) spread = mask->spread;
    }
    index = borg_lower_unify(l, index, spread, index->rows);
    if (mask && mask->rows > index->rows) index = borg_lower_unify(l, index, spread, mask->rows);
    if (mask) mask = borg_lower_unify(l, mask, spread, index->rows);
    l->b.loc = loc;
    borg_inst *v = borg_emit(&l->b, BORG_LOAD, type, spread, index->rows, mask ? 3 : 2);
    v->args[0] = pointer;
    v->args[1] = index;
    if (mask) v->args[2] = mask;
    return borg_lower_simplify(l, v);
}

bool borg_lower_in_bounds(borg_lowerer *l, const borg_place *p) {
    for (int32_t i = 0; i < p->index->ntable; ++i) {
        int32_t at = (int32_t)(uint32_t)p->index->bits[i];
        if (at >= 0 && at < p->d->count) continue;
        /* a table that depends on the work-item may be guarded by a mask; its lanes are not used */
        if (p->index->spread == BORG_WI && l->mask) continue;
        borg_report(l->diags, BORG_ERROR, p->e->args[0]->loc,
                    "index %d of '%s', which has %d elements", at, p->d->name, p->d->count);
        return false;
    }
    return true;
}

static void warn_dynamic(borg_lowerer *l, const borg_place *p) {
    borg_report(l->diags, BORG_WARNING, p->e->args[0]->loc,
                "the index of '%s' is neither a constant nor a counter of an unrolled loop: all %d "
                "elements are searched",
                p->d->name, p->d->count);
}

static borg_inst *equals(borg_lowerer *l, borg_inst *index, int32_t element) {
    return borg_lower_cmp(l, BORG_ICMP, BORG_EQ, false, index, borg_lower_int(l, element));
}

/* Rows of several cells as one value. */
static borg_inst *gather_cells(borg_lowerer *l, const borg_cell *cells, int32_t count) {
    borg_inst **from = BORG_NEW(l->arena, count, borg_inst *);
    int32_t *map = BORG_NEW(l->arena, count, int32_t);
    borg_spread spread = BORG_UNI;
    for (int32_t i = 0; i < count; ++i)
        if (cells[i].value->spread > spread) spread = cells[i].value->spread;
    for (int32_t i = 0; i < count; ++i) {
        from[i] = borg_lower_unify(l, cells[i].value, spread, cells[i].value->rows);
        map[i] = cells[i].row < 0 ? 0 : cells[i].row;
    }
    return borg_lower_simplify(l, borg_emit_rows(&l->b, count, from, map));
}

/* For the plan of loops. */
static void note_read(borg_lowerer *l, const borg_place *p) {
    if (p->index->op != BORG_CONST) borg_lower_note_read(l, p->d, -1);
    for (int32_t i = 0; p->index->op == BORG_CONST && i < p->index->ntable; ++i) {
        const int32_t at = (int32_t)(uint32_t)p->index->bits[i];
        if (at >= 0 && at < p->d->count) borg_lower_note_read(l, p->d, at);
    }
}

static borg_inst *read_array(borg_lowerer *l, const borg_place *p) {
    const borg_cell *cells = borg_lower_cell(l, p->d, 0);
    borg_inst *index = p->index, *result = NULL;
    int32_t count = p->d->count;
    if (index->op == BORG_CONST && !borg_lower_in_bounds(l, p))
        return borg_lower_read_cell(l, cells[0]);
    note_read(l, p);
    if (borg_is_splat(index)) {
        borg_inst *v = borg_lower_read_cell(l, cells[index->bits[0]]);
        return borg_ctype_complex(p->d->type) ? v : borg_lower_unify(l, v, v->spread, index->rows);
    }
    if (index->op == BORG_CONST && index->spread < BORG_WI) { /* an index set of a loop */
        borg_cell *chosen = BORG_NEW(l->arena, index->rows, borg_cell);
        for (int32_t r = 0; r < index->rows; ++r) chosen[r] = cells[index->bits[r]];
        return gather_cells(l, chosen, index->rows);
    }
    const bool complex = borg_ctype_complex(p->d->type);
    if (complex && index->op != BORG_CONST) warn_dynamic(l, p);
    /* depends on the work-item: a choice by constant masks; two rows are searched likewise */
    if (index->op == BORG_CONST || complex) {
        for (int32_t e = 0; e < count; ++e) {
            borg_inst *here = equals(l, index, e);
            if (borg_lower_never(here)) continue;
            borg_inst *v = borg_lower_read_cell(l, cells[e]);
            result = result ? borg_lower_elem(l, BORG_SELECT, v->type, here, v, result) : v;
        }
        return result ? result : borg_lower_read_cell(l, cells[0]);
    }
    if (index->spread == BORG_WI) warn_dynamic(l, p); /* else a jump or memory finds it */
    borg_inst *all = gather_cells(l, cells, count);
    index = borg_lower_elem(l, BORG_UMIN, BORG_I32, index, borg_lower_int(l, count - 1), NULL);
    borg_spread spread = all->spread > index->spread ? all->spread : index->spread;
    borg_inst *v = borg_emit(&l->b, BORG_PICKV, all->type, spread, 1, 2);
    borg_unlink(v);
    v->args[0] = borg_lower_unify(l, all, spread, count);
    v->args[1] = borg_lower_unify(l, index, spread, 1);
    borg_insert(l->b.block, l->b.before, v);
    return borg_lower_simplify(l, v);
}

static borg_inst *masked(borg_lowerer *l, borg_inst *mask, borg_inst *v, borg_inst *old) {
    return mask ? borg_lower_elem(l, BORG_SELECT, v->type, mask, v, old) : v;
}

static void store(borg_lowerer *l, const borg_place *p, borg_inst *value) {
    borg_inst *v[3] = {p->index, value, l->mask};
    borg_spread spread = p->pointer->spread;
    for (int i = 0; i < 2; ++i)
        if (v[i]->spread > spread) spread = v[i]->spread;
    /* a mask that differs between work-items: one of them that is there stores for all */
    borg_lower_unify_all(l, v, l->mask ? 3 : 2);
    if (v[0]->spread < p->pointer->spread)
        for (int i = 0; i < (l->mask ? 3 : 2); ++i)
            v[i] = borg_lower_unify(l, v[i], p->pointer->spread, v[i]->rows);
    l->b.loc = p->e->loc;
    borg_inst *s = borg_emit(&l->b, BORG_STORE, BORG_VOID, BORG_UNI, 0, l->mask ? 4 : 3);
    s->args[0] = p->pointer;
    s->args[1] = v[0];
    s->args[2] = v[1];
    if (l->mask) s->args[3] = v[2];
    if (!borg_lower_simplify(l, s)) return;
}

/* ---- private arrays that lie in memory (roll.c): element e of work-item w is e*size + w ---- */

static borg_inst *placed_index(borg_lowerer *l, const borg_place *p, borg_inst *item) {
    borg_inst *index = p->index;
    if (index->op == BORG_CONST && !borg_lower_in_bounds(l, p)) index = borg_lower_int(l, 0);
    if (!l->inside)
        index = borg_lower_elem(l, BORG_UMIN, BORG_I32, index, borg_lower_int(l, p->d->count - 1),
                                NULL);
    if (borg_lower_placed_spread(l, p->d) != BORG_WI) return index;
    index = borg_lower_elem(l, BORG_MUL, BORG_I32, index, borg_lower_int(l, l->m->size), NULL);
    return borg_lower_elem(l, BORG_ADD, BORG_I32, index, item, NULL);
}

static borg_inst *all_items(borg_lowerer *l) {
    uint64_t bits[BORG_MAX_SIZE];
    for (int32_t w = 0; w < l->m->size; ++w) bits[w] = (uint64_t)w;
    return borg_emit_table(&l->b, BORG_I32, BORG_WI, 1, bits);
}

static borg_inst *read_placed(borg_lowerer *l, const borg_place *p, borg_inst *item) {
    borg_inst *index = placed_index(l, p, item), *mask = l->mask;
    l->mask = NULL; /* it is inside, whoever asks */
    borg_inst *v = borg_lower_load(l, borg_ctype_ir(p->d->type), p->pointer, index, p->e->loc);
    l->mask = mask;
    return v;
}

static void write_placed(borg_lowerer *l, const borg_place *p, borg_inst *value) {
    const borg_spread spread = borg_lower_placed_spread(l, p->d);
    borg_inst *mask = l->mask;
    borg_place q = *p;
    q.index = placed_index(l, p, all_items(l));
    l->mask = borg_lower_mask_of(l, p->d);
    if (value->spread > spread || q.index->spread > spread || (l->mask && l->mask->spread > spread))
        l->plan->failed = true; /* wider than the first lowering saw */
    else
        store(l, &q, borg_lower_unify(l, value, spread, value->rows));
    l->mask = mask;
}

borg_inst *borg_lower_read_lane(borg_lowerer *l, const borg_place *p, borg_inst *lane) {
    lane = borg_lower_elem(l, BORG_UMIN, BORG_I32, lane, borg_lower_int(l, l->m->size - 1), NULL);
    return read_placed(l, p, lane);
}

borg_inst *borg_lower_read_place(borg_lowerer *l, const borg_place *p) {
    const borg_decl *d = p->d;
    if (borg_lower_placed(l, d)) return read_placed(l, p, all_items(l));
    if (p->pointer && d->depth && borg_ctype_narrow(d->type))
        return borg_lower_of_memory(
            l, borg_lower_load(l, BORG_I32, p->pointer, p->index, p->e->loc), d->type);
    if (p->pointer)
        return borg_lower_load(l, borg_ctype_ir(d->type), p->pointer, p->index, p->e->loc);
    if (d->storage == BORG_LOCAL_REGISTERS) return borg_lower_local_read(l, d, p->index, p->e->loc);
    if (p->index) return read_array(l, p);
    return borg_lower_read_cell(l, *borg_lower_cell(l, d, 0));
}

static void write_array(borg_lowerer *l, const borg_place *p, borg_inst *value) {
    const borg_decl *d = p->d;
    const borg_cell *cells = borg_lower_cell(l, d, 0);
    borg_inst *index = p->index;
    if (index->op == BORG_CONST && !borg_lower_in_bounds(l, p)) return;
    const bool complex = borg_ctype_complex(d->type);
    if (borg_is_splat(index) && index->rows == 1 && (value->rows == 1 || complex)) {
        int32_t e = (int32_t)index->bits[0];
        borg_inst *mask = borg_lower_mask_of(l, d);
        if (mask) borg_lower_note_read(l, d, e);
        borg_inst *v = masked(l, mask, value, borg_lower_read_cell(l, cells[e]));
        borg_lower_note_write(l, d, e, v->spread);
        borg_lower_set_cell(l, d, e, v, complex ? -1 : 0);
        return;
    }
    if (index->op == BORG_CONST && index->spread < BORG_WI) {
        borg_inst *mask = borg_lower_mask_of(l, d), *v;
        v = borg_lower_unify(l, value, value->spread, index->rows);
        if (mask) v = masked(l, mask, v, read_array(l, p));
        for (int32_t r = 0; r < index->rows; ++r) {
            const int32_t e = (int32_t)index->bits[index->ntable == 1 ? 0 : r];
            borg_lower_note_write(l, d, e, v->spread);
            borg_lower_set_cell(l, d, e, v, v->rows > 1 ? r : 0);
        }
        if (v->rows > 1 && v->name == d->name && !v->ix) {
            int32_t *ix = BORG_NEW(l->arena, v->rows, int32_t);
            for (int32_t r = 0; r < v->rows; ++r)
                ix[r] = (int32_t)index->bits[index->ntable == 1 ? 0 : r];
            v->ix = ix;
        }
        return;
    }
    if (index->op != BORG_CONST) warn_dynamic(l, p);
    for (int32_t e = 0; e < d->count; ++e) {
        borg_inst *here = borg_lower_and(l, equals(l, index, e), borg_lower_mask_of(l, d));
        if (borg_lower_never(here)) continue;
        borg_inst *v = masked(l, here, value, borg_lower_read_cell(l, *borg_lower_cell(l, d, e)));
        borg_lower_note_read(l, d, index->op == BORG_CONST ? e : -1);
        borg_lower_note_write(l, d, e, v->spread);
        borg_lower_set_cell(l, d, e, v, complex ? -1 : 0);
    }
}

void borg_lower_write_place(borg_lowerer *l, const borg_place *p, borg_inst *value) {
    const borg_decl *d = p->d;
    if (borg_lower_placed(l, d)) {
        write_placed(l, p, value);
    } else if (p->pointer) {
        const bool narrow = d->depth && borg_ctype_narrow(d->type);
        store(l, p, narrow ? borg_lower_to_memory(l, value, d->type) : value);
    } else if (d->storage == BORG_LOCAL_REGISTERS) {
        borg_lower_local_write(l, d, p->index, value, p->e->loc);
    } else if (p->index) {
        write_array(l, p, value);
    } else {
        borg_inst *old = borg_lower_read_cell(l, *borg_lower_cell(l, d, 0));
        borg_inst *v = masked(l, borg_lower_mask_of(l, d), value, old);
        borg_lower_set_cell(l, d, 0, v, v->rows > 1 ? -1 : 0);
    }
}
