/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions: the tree executed on symbolic values. */
#include "borg/lower.h"
#include <string.h>

/* ---- values ------------------------------------------------------------------------------------
 */

borg_inst *borg_lower_simplify(borg_lowerer *l, borg_inst *v) {
    borg_inst *r = borg_simplify(&l->b, v);
    if (r != v) borg_unlink(v);
    return r;
}

/* UNI constants of one row stand at the kernel's top, each once. */
borg_inst *borg_lower_const(borg_lowerer *l, borg_type type, uint64_t bits) {
    if (2 * (l->pool_count + 1) > l->pool_capacity) {
        size_t capacity = l->pool_capacity ? 2 * l->pool_capacity : 256, old = l->pool_capacity;
        borg_inst **pool = BORG_NEW(l->arena, capacity, borg_inst *);
        for (size_t i = 0; i < old; ++i) {
            borg_inst *v = l->pool[i];
            if (!v) continue;
            size_t at = (size_t)((v->bits[0] * 31 + v->type) * 0x9e3779b97f4a7c15u >> 24);
            while (pool[at & (capacity - 1)]) ++at;
            pool[at & (capacity - 1)] = v;
        }
        l->pool = pool;
        l->pool_capacity = capacity;
    }
    size_t at = (size_t)((bits * 31 + type) * 0x9e3779b97f4a7c15u >> 24);
    for (;; ++at) {
        borg_inst *v = l->pool[at & (l->pool_capacity - 1)];
        if (!v) break;
        if (v->type == type && v->bits[0] == bits) return v;
    }
    borg_builder top = {.module = l->m, .block = l->m->body, .before = l->m->body->first};
    borg_inst *v = borg_emit_const(&top, type, BORG_UNI, 1, bits);
    l->pool[at & (l->pool_capacity - 1)] = v;
    ++l->pool_count;
    return v;
}

borg_inst *borg_lower_unify(borg_lowerer *l, borg_inst *v, borg_spread spread, int32_t rows) {
    if (v->rows == rows && v->spread >= spread) return v;
    borg_spread widest = v->spread > spread ? v->spread : spread;
    if (borg_is_splat(v)) return borg_emit_const(&l->b, v->type, widest, rows, v->bits[0]);
    if (v->rows != rows) {
        borg_inst **from = BORG_NEW(l->arena, rows, borg_inst *);
        int32_t *map = BORG_NEW(l->arena, rows, int32_t);
        for (int32_t r = 0; r < rows; ++r) from[r] = v;
        v = borg_lower_simplify(l, borg_emit_rows(&l->b, rows, from, map));
    }
    return v->spread == widest ? v : borg_lower_simplify(l, borg_emit_bcast(&l->b, v, widest));
}

static void unify_all(borg_lowerer *l, borg_inst **v, int32_t count) {
    borg_spread spread = BORG_UNI;
    int32_t rows = 1;
    for (int32_t i = 0; i < count; ++i) {
        if (v[i]->spread > spread) spread = v[i]->spread;
        if (v[i]->rows > rows) rows = v[i]->rows;
    }
    for (int32_t i = 0; i < count; ++i) v[i] = borg_lower_unify(l, v[i], spread, rows);
}

borg_inst *borg_lower_elem(borg_lowerer *l, borg_op op, borg_type type, borg_inst *x, borg_inst *y,
                           borg_inst *z) {
    borg_inst *v[3] = {x, y, z};
    unify_all(l, v, z ? 3 : y ? 2 : 1);
    return borg_lower_simplify(l, borg_emit_elem(&l->b, op, type, v[0], v[1], v[2]));
}

borg_inst *borg_lower_cmp(borg_lowerer *l, borg_op op, borg_pred pred, bool uns, borg_inst *x,
                          borg_inst *y) {
    borg_inst *v[2] = {x, y};
    unify_all(l, v, 2);
    return borg_lower_simplify(l, borg_emit_cmp(&l->b, op, pred, uns, v[0], v[1]));
}

borg_inst *borg_lower_and(borg_lowerer *l, borg_inst *x, borg_inst *y) {
    if (!x || !y) return x ? x : y;
    return borg_lower_elem(l, BORG_AND, BORG_I1, x, y, NULL);
}

borg_inst *borg_lower_not(borg_lowerer *l, borg_inst *x) {
    return borg_lower_elem(l, BORG_NOT, BORG_I1, x, NULL, NULL);
}

bool borg_lower_one_lane(const borg_lowerer *l, const borg_inst *v) {
    return v->rows == 1 && (v->spread == BORG_UNI || (v->spread == BORG_WG && l->m->pack == 1));
}

static borg_inst *integer(borg_lowerer *l, int32_t value) {
    return borg_lower_const(l, BORG_I32, (uint32_t)value);
}

/* ---- cells -------------------------------------------------------------------------------------
 */

borg_inst *borg_lower_read_cell(borg_lowerer *l, borg_cell cell) {
    if (cell.row < 0 || cell.value->rows == 1) return cell.value;
    return borg_lower_simplify(l, borg_emit_rows(&l->b, 1, &cell.value, &cell.row));
}

int32_t borg_lower_cells_of(borg_lowerer *l, const borg_decl *d) {
    size_t old = l->first_capacity, wanted = (size_t)d->number + 1;
    if (wanted > old) {
        l->first = borg_grow(l->arena, l->first, wanted, &l->first_capacity, sizeof *l->first);
        for (size_t i = old; i < l->first_capacity; ++i) l->first[i] = -1;
    }
    if (l->first[d->number] >= 0) return l->first[d->number];
    int32_t count = d->storage == BORG_LOCAL_REGISTERS ? borg_lower_local_rows(l, d) : d->count;
    size_t total = (size_t)l->ncells + (size_t)count;
    l->cells = borg_grow(l->arena, l->cells, total, &l->cells_capacity, sizeof *l->cells);
    l->owner = borg_grow(l->arena, l->owner, total, &l->owner_capacity, sizeof *l->owner);
    l->born = borg_grow(l->arena, l->born, total, &l->born_capacity, sizeof *l->born);
    l->first[d->number] = l->ncells;
    for (int32_t i = 0; i < count; ++i) l->owner[l->ncells + i] = d;
    l->ncells += count;
    return l->first[d->number];
}

static int32_t cell_count(const borg_lowerer *l, const borg_decl *d) {
    return d->storage == BORG_LOCAL_REGISTERS ? borg_lower_local_rows(l, d) : d->count;
}

static void set_cell(borg_lowerer *l, const borg_decl *d, int32_t element, borg_inst *v,
                     int32_t row) {
    borg_cell *cell = borg_lower_cell(l, d, element);
    cell->value = v;
    cell->row = row;
    if (v->name || v->op == BORG_CONST || v->op == BORG_PARAM) return;
    v->name = d->name;
    if (d->array && v->rows == 1) {
        int32_t *ix = BORG_NEW(l->arena, 1, int32_t);
        ix[0] = element;
        v->ix = ix;
    }
}

/* Work-items that are not here never see the variable: where the mask is still that of the
 * declaration, an assignment needs no selection. */
static borg_inst *mask_of(borg_lowerer *l, const borg_decl *d) {
    return l->mask == l->born[borg_lower_cells_of(l, d)] ? NULL : l->mask;
}

void borg_lower_born(borg_lowerer *l, const borg_decl *d) {
    int32_t first = borg_lower_cells_of(l, d);
    l->born[first] = l->mask;
}

/* A __local volatile array: it stands at the kernel's top, where everybody is. */
static void declare_memory(borg_lowerer *l, const borg_decl *d) {
    borg_module *m = l->m;
    size_t count = (size_t)m->nlocals + 1;
    m->locals = borg_grow(l->arena, m->locals, count, &l->table_capacity, sizeof *m->locals);
    l->locals = borg_grow(l->arena, l->locals, count, &l->locals_capacity, sizeof *l->locals);
    borg_inst *v = borg_emit(&l->b, BORG_LOCAL, BORG_PTR, BORG_WG, 1, 0);
    v->index = m->nlocals;
    m->locals[m->nlocals] = (borg_local){
        .name = d->name,
        .elem = borg_ctype_ir(d->type),
        .uns = borg_ctype_unsigned(d->type),
        .count = d->count,
    };
    l->locals[m->nlocals++] = (borg_lower_array){d, v};
}

static borg_inst *local_memory(borg_lowerer *l, const borg_decl *d) {
    int32_t i = 0;
    while (l->locals[i].decl != d) ++i;
    return l->locals[i].address;
}

void borg_lower_declare(borg_lowerer *l, const borg_decl *d) {
    if (d->storage == BORG_LOCAL_MEMORY) {
        declare_memory(l, d);
        return;
    }
    int32_t count = cell_count(l, d);
    borg_lower_born(l, d);
    borg_type type = borg_ctype_ir(d->type);
    borg_inst *zero = borg_lower_const(l, type, 0);
    if (d->storage == BORG_LOCAL_REGISTERS) zero = borg_emit_const(&l->b, type, BORG_WI, 1, 0);
    const borg_expr *init = d->init;
    borg_inst **values = BORG_NEW(l->arena, count, borg_inst *);
    for (int32_t i = 0; i < count; ++i) {
        values[i] = zero;
        if (init && init->kind != BORG_E_LIST) values[i] = borg_lower_expr(l, init);
        if (init && init->kind == BORG_E_LIST && i < init->nargs)
            values[i] = borg_lower_expr(l, init->args[i]);
    }
    for (int32_t i = 0; i < count; ++i) set_cell(l, d, i, values[i], values[i]->rows > 1 ? -1 : 0);
}

void borg_lower_declare_dead(borg_lowerer *l, const borg_decl *d) {
    if (d->storage == BORG_LOCAL_MEMORY) {
        declare_memory(l, d);
        return;
    }
    borg_inst *zero = borg_lower_const(l, borg_ctype_ir(d->type), 0);
    borg_lower_born(l, d);
    if (d->storage == BORG_LOCAL_REGISTERS)
        zero = borg_emit_const(&l->b, zero->type, BORG_WI, 1, 0);
    for (int32_t i = 0; i < cell_count(l, d); ++i) set_cell(l, d, i, zero, 0);
}

void borg_lower_forget(borg_lowerer *l, const borg_decl *d) {
    if (d->storage == BORG_LOCAL_MEMORY) return;
    int32_t first = borg_lower_cells_of(l, d);
    for (int32_t i = 0; i < cell_count(l, d); ++i) l->cells[first + i].value = NULL;
}

/* ---- places ------------------------------------------------------------------------------------
 */

typedef struct place {
    const borg_expr *e;
    const borg_decl *d;
    borg_inst *index;   /* arrays, memory: i64; private and __local arrays: i32 */
    borg_inst *pointer; /* memory, __local volatile arrays */
} place;

static borg_inst *convert(borg_lowerer *l, borg_inst *v, borg_ctype from, borg_ctype to);

static borg_inst *parameter(borg_lowerer *l, const borg_decl *d) {
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

/* An index that is inside of the array for whoever is here or not. */
static bool surely_inside(const borg_lowerer *l, const borg_inst *pointer, const borg_inst *index) {
    uint64_t low, high;
    return pointer->op == BORG_LOCAL && borg_known_range(l->m, index, &low, &high) &&
           high < (uint64_t)l->m->locals[pointer->index].count;
}

static borg_inst *load(borg_lowerer *l, borg_type type, borg_inst *pointer, borg_inst *index,
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

static place memory_place(borg_lowerer *l, const borg_expr *e) {
    place p = {.e = e, .d = e->decl};
    p.pointer = parameter(l, e->decl);
    int32_t last = e->nargs - 1;
    if (e->decl->depth == 2) {
        borg_inst *outer =
            convert(l, borg_lower_expr(l, e->args[0]), e->args[0]->type, BORG_C_LONG);
        if (outer->spread == BORG_WI || outer->rows > 1) {
            borg_report(l->diags, BORG_ERROR, e->args[0]->loc,
                        "the pointer differs between work-items of a group");
            outer = borg_lower_const(l, BORG_I64, 0);
        }
        p.pointer = load(l, BORG_PTR, p.pointer, outer, e->loc);
    }
    p.index = convert(l, borg_lower_expr(l, e->args[last]), e->args[last]->type, BORG_C_LONG);
    return p;
}

static bool in_bounds(borg_lowerer *l, const place *p) {
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

static place place_of(borg_lowerer *l, const borg_expr *e) {
    place p = {.e = e, .d = e->decl};
    if (e->kind == BORG_E_NAME) return p;
    if (e->decl->storage == BORG_PARAMETER && e->decl->depth) return memory_place(l, e);
    p.index = convert(l, borg_lower_expr(l, e->args[0]), e->args[0]->type, BORG_C_INT);
    if (p.d->storage != BORG_LOCAL_MEMORY) return p;
    p.pointer = local_memory(l, p.d);
    if (p.index->op == BORG_CONST && !in_bounds(l, &p)) p.index = borg_lower_const(l, BORG_I32, 0);
    return p;
}

static void warn_dynamic(borg_lowerer *l, const place *p) {
    borg_report(l->diags, BORG_WARNING, p->e->args[0]->loc,
                "the index of '%s' is neither a constant nor a counter of an unrolled loop: all %d "
                "elements are searched",
                p->d->name, p->d->count);
}

static borg_inst *equals(borg_lowerer *l, borg_inst *index, int32_t element) {
    return borg_lower_cmp(l, BORG_ICMP, BORG_EQ, false, index, integer(l, element));
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

static borg_inst *read_array(borg_lowerer *l, const place *p) {
    const borg_cell *cells = borg_lower_cell(l, p->d, 0);
    borg_inst *index = p->index, *result = NULL;
    int32_t count = p->d->count;
    if (index->op == BORG_CONST && !in_bounds(l, p)) return borg_lower_read_cell(l, cells[0]);
    if (borg_is_splat(index)) {
        borg_inst *v = borg_lower_read_cell(l, cells[index->bits[0]]);
        return borg_lower_unify(l, v, v->spread, index->rows);
    }
    if (index->op == BORG_CONST && index->spread < BORG_WI) { /* an index set of a loop */
        borg_cell *chosen = BORG_NEW(l->arena, index->rows, borg_cell);
        for (int32_t r = 0; r < index->rows; ++r) chosen[r] = cells[index->bits[r]];
        return gather_cells(l, chosen, index->rows);
    }
    if (index->op == BORG_CONST) { /* depends on the work-item: a choice by constant masks */
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
    index = borg_lower_elem(l, BORG_UMIN, BORG_I32, index, integer(l, count - 1), NULL);
    borg_spread spread = all->spread > index->spread ? all->spread : index->spread;
    borg_inst *v = borg_emit(&l->b, BORG_PICKV, all->type, spread, 1, 2);
    borg_unlink(v);
    v->args[0] = borg_lower_unify(l, all, spread, count);
    v->args[1] = borg_lower_unify(l, index, spread, 1);
    borg_insert(l->b.block, l->b.before, v);
    return borg_lower_simplify(l, v);
}

static borg_inst *read_place(borg_lowerer *l, const place *p) {
    const borg_decl *d = p->d;
    if (p->pointer) return load(l, borg_ctype_ir(d->type), p->pointer, p->index, p->e->loc);
    if (d->storage == BORG_LOCAL_REGISTERS) return borg_lower_local_read(l, d, p->index, p->e->loc);
    if (p->index) return read_array(l, p);
    return borg_lower_read_cell(l, *borg_lower_cell(l, d, 0));
}

static borg_inst *masked(borg_lowerer *l, borg_inst *mask, borg_inst *v, borg_inst *old) {
    return mask ? borg_lower_elem(l, BORG_SELECT, v->type, mask, v, old) : v;
}

static void store(borg_lowerer *l, const place *p, borg_inst *value) {
    borg_inst *v[3] = {p->index, value, l->mask};
    borg_spread spread = p->pointer->spread;
    for (int i = 0; i < 2; ++i)
        if (v[i]->spread > spread) spread = v[i]->spread;
    /* a mask that differs between work-items: one of them that is there stores for all */
    unify_all(l, v, l->mask ? 3 : 2);
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

static void write_array(borg_lowerer *l, const place *p, borg_inst *value) {
    const borg_decl *d = p->d;
    const borg_cell *cells = borg_lower_cell(l, d, 0);
    borg_inst *index = p->index;
    if (index->op == BORG_CONST && !in_bounds(l, p)) return;
    if (borg_is_splat(index) && index->rows == 1 && value->rows == 1) {
        int32_t e = (int32_t)index->bits[0];
        borg_inst *old = borg_lower_read_cell(l, cells[e]);
        set_cell(l, d, e, masked(l, mask_of(l, d), value, old), 0);
        return;
    }
    if (index->op == BORG_CONST && index->spread < BORG_WI) {
        borg_inst *old = read_array(l, p);
        borg_inst *v =
            masked(l, mask_of(l, d), borg_lower_unify(l, value, value->spread, index->rows), old);
        for (int32_t r = 0; r < index->rows; ++r)
            set_cell(l, d, (int32_t)index->bits[index->ntable == 1 ? 0 : r], v,
                     v->rows > 1 ? r : 0);
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
        borg_inst *here = borg_lower_and(l, equals(l, index, e), mask_of(l, d));
        if (borg_lower_never(here)) continue;
        borg_inst *old = borg_lower_read_cell(l, *borg_lower_cell(l, d, e));
        set_cell(l, d, e, masked(l, here, value, old), 0);
    }
}

static void write_place(borg_lowerer *l, const place *p, borg_inst *value) {
    const borg_decl *d = p->d;
    if (p->pointer) {
        store(l, p, value);
    } else if (d->storage == BORG_LOCAL_REGISTERS) {
        borg_lower_local_write(l, d, p->index, value, p->e->loc);
    } else if (p->index) {
        write_array(l, p, value);
    } else {
        borg_inst *old = borg_lower_read_cell(l, *borg_lower_cell(l, d, 0));
        borg_inst *v = masked(l, mask_of(l, d), value, old);
        set_cell(l, d, 0, v, v->rows > 1 ? -1 : 0);
    }
}

/* ---- operators ---------------------------------------------------------------------------------
 */

static borg_inst *nonzero(borg_lowerer *l, borg_inst *v) {
    borg_inst *zero = borg_lower_const(l, v->type, 0);
    return borg_lower_cmp(l, borg_is_float(v->type) ? BORG_FCMP : BORG_ICMP, BORG_NE, false, v,
                          zero);
}

static borg_inst *convert(borg_lowerer *l, borg_inst *v, borg_ctype from, borg_ctype to) {
    borg_type target = borg_ctype_ir(to);
    bool uns = borg_ctype_unsigned(from);
    if (v->type == target) return v;
    if (to == BORG_C_BOOL) return nonzero(l, v);
    if (v->type == BORG_I1 && borg_is_float(target)) {
        v = borg_lower_elem(l, BORG_ZEXT, BORG_I32, v, NULL, NULL);
        uns = false;
    }
    borg_op op;
    if (borg_is_float(target)) {
        op = target == BORG_F64 && v->type == BORG_F32   ? BORG_FPEXT
             : target == BORG_F32 && v->type == BORG_F64 ? BORG_FPTRUNC
             : uns                                       ? BORG_UITOFP
                                                         : BORG_SITOFP;
    } else if (borg_is_float(v->type)) {
        op = borg_ctype_unsigned(to) ? BORG_FPTOUI : BORG_FPTOSI;
    } else if (v->type == BORG_I64) {
        op = BORG_TRUNC;
    } else {
        op = uns || v->type == BORG_I1 ? BORG_ZEXT : BORG_SEXT;
    }
    return borg_lower_elem(l, op, target, v, NULL, NULL);
}

static borg_inst *arithmetic(borg_lowerer *l, const char *text, borg_ctype type, borg_inst *x,
                             borg_inst *y) {
    bool real = borg_ctype_float(type), uns = borg_ctype_unsigned(type);
    borg_type t = borg_ctype_ir(type);
    borg_op op;
    switch (text[0]) {
    case '+':
        op = real ? BORG_FADD : BORG_ADD;
        break;
    case '-':
        op = real ? BORG_FSUB : BORG_SUB;
        break;
    case '*':
        op = real ? BORG_FMUL : BORG_MUL;
        break;
    case '/':
        op = real ? BORG_FDIV : uns ? BORG_UDIV : BORG_SDIV;
        break;
    case '%':
        op = uns ? BORG_UREM : BORG_SREM;
        break;
    case '&':
        op = BORG_AND;
        break;
    case '|':
        op = BORG_OR;
        break;
    case '^':
        op = BORG_XOR;
        break;
    case '<':
        op = BORG_SHL;
        break;
    default:
        op = uns ? BORG_LSHR : BORG_ASHR;
        break;
    }
    return borg_lower_elem(l, op, t, x, y, NULL);
}

static borg_inst *comparison(borg_lowerer *l, const borg_expr *e, borg_inst *x, borg_inst *y) {
    borg_ctype type = e->args[0]->type;
    borg_pred pred = e->text[0] == '='   ? BORG_EQ
                     : e->text[0] == '!' ? BORG_NE
                     : e->text[0] == '<' ? (e->text[1] ? BORG_LE : BORG_LT)
                                         : (e->text[1] ? BORG_GE : BORG_GT);
    bool real = borg_ctype_float(type);
    return borg_lower_cmp(l, real ? BORG_FCMP : BORG_ICMP, pred,
                          !real && borg_ctype_unsigned(type) && pred > BORG_NE, x, y);
}

static bool is_comparison(const char *t) {
    return ((t[0] == '<' || t[0] == '>') && t[1] != t[0]) || t[0] == '=' || t[0] == '!';
}

static borg_inst *lower_binary(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x = borg_lower_expr(l, e->args[0]), *y = borg_lower_expr(l, e->args[1]);
    if (is_comparison(e->text)) return comparison(l, e, x, y);
    return arithmetic(l, e->text, e->type, x, y);
}

/* The right side of && and || is executed by those who need it; so are the arms of ?: */
static borg_inst *under(borg_lowerer *l, const borg_expr *e, borg_inst *condition) {
    borg_inst *saved = l->mask;
    l->mask = borg_lower_and(l, saved, condition);
    borg_inst *v = borg_lower_expr(l, e);
    l->mask = saved;
    return v;
}

static borg_inst *lower_logical(borg_lowerer *l, const borg_expr *e) {
    bool conjunction = e->text[0] == '&';
    borg_inst *x = borg_lower_expr(l, e->args[0]);
    if (borg_is_splat(x))
        return (x->bits[0] != 0) == conjunction ? borg_lower_expr(l, e->args[1]) : x;
    borg_inst *y = under(l, e->args[1], conjunction ? x : borg_lower_not(l, x));
    return borg_lower_elem(l, conjunction ? BORG_AND : BORG_OR, BORG_I1, x, y, NULL);
}

static borg_inst *lower_ternary(borg_lowerer *l, const borg_expr *e) {
    borg_inst *c = borg_lower_expr(l, e->args[0]);
    if (borg_is_splat(c)) return borg_lower_expr(l, e->args[c->bits[0] ? 1 : 2]);
    borg_inst *x = under(l, e->args[1], c);
    borg_inst *y = under(l, e->args[2], borg_lower_not(l, c));
    if (e->type == BORG_C_VOID) return NULL;
    return borg_lower_elem(l, BORG_SELECT, x->type, c, x, y);
}

static borg_inst *lower_assign(borg_lowerer *l, const borg_expr *e) {
    place p = place_of(l, e->args[0]);
    borg_ctype type = e->type;
    borg_inst *v = borg_lower_expr(l, e->args[1]);
    if (e->text[1]) {
        /* the value has the common type (of a shift: of the place, promoted) */
        borg_ctype common = e->args[1]->type;
        borg_inst *old = convert(l, read_place(l, &p), type, common);
        v = convert(l, arithmetic(l, e->text, common, old, v), common, type);
    }
    l->b.loc = e->loc;
    write_place(l, &p, v);
    return v;
}

static borg_inst *lower_step(borg_lowerer *l, const borg_expr *e) {
    place p = place_of(l, e->args[0]);
    borg_ctype common = e->type == BORG_C_BOOL ? BORG_C_INT : e->type;
    borg_inst *old = read_place(l, &p);
    borg_inst *one = borg_lower_const(l, BORG_I32, 1);
    char op[2] = {e->text[0], 0};
    borg_inst *v = arithmetic(l, op, common, convert(l, old, e->type, common),
                              convert(l, one, BORG_C_INT, common));
    v = convert(l, v, common, e->type);
    write_place(l, &p, v);
    return e->post ? old : v;
}

static borg_inst *lower_unary(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x = borg_lower_expr(l, e->args[0]);
    switch (e->text[0]) {
    case '-':
        return borg_lower_elem(l, borg_is_float(x->type) ? BORG_FNEG : BORG_NEG, x->type, x, NULL,
                               NULL);
    case '!':
    case '~':
        return borg_lower_elem(l, BORG_NOT, x->type, x, NULL, NULL);
    default:
        return x;
    }
}

/* ---- built-in functions ------------------------------------------------------------------------
 */

static void require_all(borg_lowerer *l, const borg_expr *e) {
    if (!l->mask || l->mask->spread < BORG_WI) return;
    borg_report(l->diags, BORG_ERROR, e->loc,
                "'%s' under a condition that differs between the work-items of a group: those that "
                "do not get here cannot take part",
                e->text);
}

static borg_inst *lower_shuffle(borg_lowerer *l, const borg_expr *e) {
    require_all(l, e);
    borg_inst *x = borg_lower_expr(l, e->args[0]), *lane = borg_lower_expr(l, e->args[1]);
    if (x->spread < BORG_WI) return x; /* the same for all */
    lane = borg_lower_elem(l, BORG_UMIN, BORG_I32, lane, integer(l, l->m->size - 1), NULL);
    int32_t rows = x->rows > lane->rows ? x->rows : lane->rows;
    borg_spread spread = lane->spread == BORG_WI ? BORG_WI : BORG_WG;
    x = borg_lower_unify(l, x, BORG_WI, rows);
    lane = borg_lower_unify(l, lane, spread, rows);
    borg_inst *v = borg_emit(&l->b, BORG_SHUFV, x->type, spread, rows, 2);
    v->args[0] = x;
    v->args[1] = lane;
    return borg_lower_simplify(l, v);
}

/* row -1: all rows */
static borg_inst *one_mma(borg_lowerer *l, borg_inst *const *x, int32_t row, int32_t half) {
    borg_inst *args[3];
    for (int i = 0; i < 3; ++i)
        args[i] = row < 0 ? x[i] : borg_lower_simplify(l, borg_emit_rows(&l->b, 1, &x[i], &row));
    borg_inst *v = borg_emit(&l->b, BORG_MMA, args[0]->type, BORG_WI, args[0]->rows, 3);
    for (int i = 0; i < 3; ++i) v->args[i] = args[i];
    v->index = half;
    return v;
}

/* While a loop runs as vectors the half may be another one in each row. */
static borg_inst *lower_mma(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x[4];
    int32_t rows = 1;
    require_all(l, e);
    for (int i = 0; i < 4; ++i) x[i] = borg_lower_expr(l, e->args[i]);
    for (int i = 0; i < 4; ++i) rows = x[i]->rows > rows ? x[i]->rows : rows;
    if (l->m->size != 32) {
        borg_report(l->diags, BORG_ERROR, e->loc, "'%s' is for WG_SIZE 32", e->text);
        return x[2];
    }
    bool good = x[3]->op == BORG_CONST && x[3]->spread == BORG_UNI;
    for (int32_t r = 0; good && r < x[3]->rows; ++r) good = borg_const_bits(l->m, x[3], r, 0) <= 1;
    if (!good) {
        borg_report(l->diags, BORG_ERROR, e->args[3]->loc,
                    "the last argument of '%s' is the constant 0 or 1", e->text);
        return x[2];
    }
    for (int i = 0; i < 3; ++i) x[i] = borg_lower_unify(l, x[i], BORG_WI, rows);
    if (borg_is_splat(x[3])) return one_mma(l, x, -1, (int32_t)x[3]->bits[0]);
    borg_inst **each = BORG_NEW(l->arena, rows, borg_inst *);
    int32_t *map = BORG_NEW(l->arena, rows, int32_t);
    for (int32_t r = 0; r < rows; ++r)
        each[r] = one_mma(l, x, r, (int32_t)borg_const_bits(l->m, x[3], r, 0));
    return borg_lower_simplify(l, borg_emit_rows(&l->b, rows, each, map));
}

static borg_inst *lower_reduce(borg_lowerer *l, const borg_expr *e) {
    static const struct {
        borg_builtin builtin;
        borg_op op;
    } ops[] = {{BORG_B_SUM, BORG_RSUM},        {BORG_B_RMAX, BORG_RMAX}, {BORG_B_RMIN, BORG_RMIN},
               {BORG_B_RMAXIDX, BORG_RMAXIDX}, {BORG_B_ANY, BORG_ANY},   {BORG_B_ALL, BORG_ALL}};
    require_all(l, e);
    borg_inst *x = borg_lower_expr(l, e->args[0]);
    bool logical = e->builtin == BORG_B_ANY || e->builtin == BORG_B_ALL;
    if (logical && x->spread < BORG_WI) return x;
    x = borg_lower_unify(l, x, BORG_WI, x->rows);
    borg_op op = BORG_RSUM;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
        if (ops[i].builtin == e->builtin) op = ops[i].op;
    borg_inst *v =
        borg_emit(&l->b, op, op == BORG_RMAXIDX ? BORG_I32 : x->type, BORG_WG, x->rows, 1);
    v->args[0] = x;
    v->uns = borg_is_int(x->type) && op != BORG_RSUM && borg_ctype_unsigned(e->args[0]->type);
    return borg_lower_simplify(l, v);
}

static borg_inst *lower_max(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x = borg_lower_expr(l, e->args[0]), *y = borg_lower_expr(l, e->args[1]);
    bool most = e->builtin == BORG_B_MAX, uns = borg_ctype_unsigned(e->type);
    borg_op op = borg_is_float(x->type) ? (most ? BORG_FMAX : BORG_FMIN)
                 : uns                  ? (most ? BORG_UMAX : BORG_UMIN)
                                        : (most ? BORG_SMAX : BORG_SMIN);
    return borg_lower_elem(l, op, x->type, x, y, NULL);
}

static borg_inst *local_id(borg_lowerer *l) {
    uint64_t bits[BORG_MAX_SIZE];
    for (int32_t w = 0; w < l->m->size; ++w) bits[w] = (uint64_t)w;
    return borg_emit_table(&l->b, BORG_I32, BORG_WI, 1, bits);
}

static borg_inst *lower_builtin(borg_lowerer *l, const borg_expr *e) {
    borg_inst *x;
    switch (e->builtin) {
    case BORG_B_LOCAL_ID:
        return local_id(l);
    case BORG_B_LOCAL_SIZE:
        return integer(l, l->m->size);
    case BORG_B_GROUP_ID:
        return borg_emit(&l->b, BORG_GID, BORG_I64, BORG_WG, 1, 0);
    case BORG_B_MAX:
    case BORG_B_MIN:
        return lower_max(l, e);
    case BORG_B_SHUFFLE:
        return lower_shuffle(l, e);
    case BORG_B_MMA:
        return lower_mma(l, e);
    case BORG_B_SUM:
    case BORG_B_RMAX:
    case BORG_B_RMIN:
    case BORG_B_RMAXIDX:
    case BORG_B_ANY:
    case BORG_B_ALL:
        return lower_reduce(l, e);
    case BORG_B_BARRIER:
        require_all(l, e);
        borg_emit(&l->b, BORG_BARRIER, BORG_VOID, BORG_UNI, 0, 0);
        return NULL;
    default:
        break;
    }
    x = borg_lower_expr(l, e->args[0]);
    switch (e->builtin) {
    case BORG_B_SQRT:
        return borg_lower_elem(l, BORG_SQRT, x->type, x, NULL, NULL);
    case BORG_B_RCP:
        return borg_lower_elem(l, BORG_RCP, x->type, x, NULL, NULL);
    case BORG_B_FABS:
        return borg_lower_elem(l, BORG_FABS, x->type, x, NULL, NULL);
    case BORG_B_ABS:
        if (borg_ctype_unsigned(e->type)) return x;
        return borg_lower_elem(l, borg_is_float(x->type) ? BORG_FABS : BORG_ABS, x->type, x, NULL,
                               NULL);
    case BORG_B_MAGNITUDE:
        return borg_lower_elem(l, BORG_MAGNITUDE, BORG_I32, x, NULL, NULL);
    case BORG_B_ISNAN:
        return borg_lower_cmp(l, BORG_FCMP, BORG_NE, false, x, x);
    default:
        return borg_lower_elem(l, BORG_FMA, x->type, x, borg_lower_expr(l, e->args[1]),
                               borg_lower_expr(l, e->args[2]));
    }
}

static uint64_t real_bits(const borg_expr *e) {
    uint64_t bits = 0;
    if (e->type == BORG_C_FLOAT) {
        float x = (float)e->real;
        memcpy(&bits, &x, sizeof x);
    } else {
        memcpy(&bits, &e->real, sizeof bits);
    }
    return bits;
}

borg_inst *borg_lower_expr(borg_lowerer *l, const borg_expr *e) {
    l->b.loc = e->loc;
    if (l->over) return borg_lower_const(l, borg_ctype_ir(e->type ? e->type : BORG_C_INT), 0);
    switch (e->kind) {
    case BORG_E_INT: {
        borg_type type = borg_ctype_ir(e->type);
        return borg_lower_const(l, type, type == BORG_I32 ? (uint32_t)e->integer : e->integer);
    }
    case BORG_E_FLOAT:
        return borg_lower_const(l, borg_ctype_ir(e->type), real_bits(e));
    case BORG_E_NAME:
    case BORG_E_INDEX: {
        place p = place_of(l, e);
        return read_place(l, &p);
    }
    case BORG_E_UNARY:
        return lower_unary(l, e);
    case BORG_E_BINARY:
        return lower_binary(l, e);
    case BORG_E_LOGICAL:
        return lower_logical(l, e);
    case BORG_E_TERNARY:
        return lower_ternary(l, e);
    case BORG_E_ASSIGN:
        return lower_assign(l, e);
    case BORG_E_STEP:
        return lower_step(l, e);
    case BORG_E_CAST:
        return convert(l, borg_lower_expr(l, e->args[0]), e->args[0]->type, e->type);
    case BORG_E_CALL:
        return e->function ? borg_lower_call(l, e) : lower_builtin(l, e);
    case BORG_E_COMMA:
        borg_lower_expr(l, e->args[0]);
        return borg_lower_expr(l, e->args[1]);
    default:
        return borg_lower_const(l, BORG_I32, 0);
    }
}
