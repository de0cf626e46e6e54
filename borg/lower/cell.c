/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells: the elements of variables and their current values; states to return to. */
#include "borg/lower/leaves.h"
#include <string.h>

borg_inst *borg_lower_read_cell(borg_lowerer *l, borg_cell cell) {
    if (cell.row < 0 || cell.value->rows == 1) return cell.value;
    return borg_lower_simplify(l, borg_emit_rows(&l->b, 1, &cell.value, &cell.row));
}

int32_t borg_lower_local_rows(const borg_lowerer *l, const borg_decl *d) {
    return (d->count + l->m->size - 1) / l->m->size;
}

int32_t borg_lower_cell_count(const borg_lowerer *l, const borg_decl *d) {
    return d->storage == BORG_LOCAL_REGISTERS ? borg_lower_local_rows(l, d) : d->count;
}

int32_t borg_lower_cells_of(borg_lowerer *l, const borg_decl *d) {
    size_t old = l->first_capacity, wanted = (size_t)d->number + 1;
    if (wanted > old) {
        l->first = borg_grow(l->arena, l->first, wanted, &l->first_capacity, sizeof *l->first);
        for (size_t i = old; i < l->first_capacity; ++i) l->first[i] = -1;
    }
    if (l->first[d->number] >= 0) return l->first[d->number];
    int32_t count = borg_lower_cell_count(l, d);
    size_t total = (size_t)l->ncells + (size_t)count;
    l->cells = borg_grow(l->arena, l->cells, total, &l->cells_capacity, sizeof *l->cells);
    l->owner = borg_grow(l->arena, l->owner, total, &l->owner_capacity, sizeof *l->owner);
    l->born = borg_grow(l->arena, l->born, total, &l->born_capacity, sizeof *l->born);
    l->first[d->number] = l->ncells;
    for (int32_t i = 0; i < count; ++i) l->owner[l->ncells + i] = d;
    l->ncells += count;
    return l->first[d->number];
}

void borg_lower_set_cell(borg_lowerer *l, const borg_decl *d, int32_t element, borg_inst *v,
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
borg_inst *borg_lower_mask_of(borg_lowerer *l, const borg_decl *d) {
    return l->mask == l->born[borg_lower_cells_of(l, d)] ? NULL : l->mask;
}

void borg_lower_born(borg_lowerer *l, const borg_decl *d) {
    int32_t first = borg_lower_cells_of(l, d);
    l->born[first] = l->mask;
}

static bool in_memory(const borg_lowerer *l, const borg_decl *d) {
    return d->storage == BORG_LOCAL_MEMORY || borg_lower_placed(l, d);
}

static const char *unused_name(const borg_lowerer *l, const char *name) {
    for (int32_t i = 0; i < l->m->nlocals; ++i)
        if (strcmp(l->m->locals[i].name, name) == 0)
            return borg_format(l->arena, "%s_%d", name, l->m->nlocals);
    return name;
}

/* A __local volatile array is made at the kernel's top, where all work-items are. So is one that is
 * placed in memory (roll.c), which has its work-items' elements side by side. */
static void declare_memory(borg_lowerer *l, const borg_decl *d) {
    borg_module *m = l->m;
    size_t count = (size_t)m->nlocals + 1;
    const bool items = borg_lower_placed(l, d) && borg_lower_placed_spread(l, d) == BORG_WI;
    for (int32_t i = 0; i < m->nlocals; ++i)
        if (l->locals[i].decl == d) return; /* by an attempt to lower a loop */
    m->locals = borg_grow(l->arena, m->locals, count, &l->table_capacity, sizeof *m->locals);
    l->locals = borg_grow(l->arena, l->locals, count, &l->locals_capacity, sizeof *l->locals);
    borg_builder top = {.module = m, .block = m->body, .before = m->body->first, .loc = l->b.loc};
    borg_inst *v = borg_emit(&top, BORG_LOCAL, BORG_PTR, BORG_WG, 1, 0);
    v->index = m->nlocals;
    m->locals[m->nlocals] = (borg_local){
        .name = unused_name(l, d->name),
        .elem = borg_ctype_ir(d->type),
        .uns = borg_ctype_unsigned(d->type),
        .count = d->count * (items                         ? m->size
                             : borg_ctype_complex(d->type) ? 2
                                                           : 1),
    };
    l->locals[m->nlocals++] = (borg_lower_array){d, v};
}

borg_inst *borg_lower_local_memory(borg_lowerer *l, const borg_decl *d) {
    int32_t i = 0;
    while (l->locals[i].decl != d) ++i;
    return l->locals[i].address;
}

borg_inst *borg_lower_zero(borg_lowerer *l, const borg_decl *d) {
    const borg_type type = borg_ctype_ir(d->type);
    if (borg_ctype_complex(d->type)) return borg_emit_const(&l->b, type, BORG_UNI, 2, 0);
    return borg_lower_const(l, type, 0);
}

void borg_lower_declare(borg_lowerer *l, const borg_decl *d, borg_inst *const *values) {
    if (in_memory(l, d)) {
        declare_memory(l, d);
        return;
    }
    for (int32_t i = 0; i < borg_lower_cell_count(l, d); ++i)
        borg_lower_set_cell(l, d, i, values[i], values[i]->rows > 1 ? -1 : 0);
}

void borg_lower_declare_dead(borg_lowerer *l, const borg_decl *d) {
    if (in_memory(l, d)) {
        declare_memory(l, d);
        return;
    }
    borg_inst *zero = borg_lower_zero(l, d);
    borg_lower_born(l, d);
    if (d->storage == BORG_LOCAL_REGISTERS)
        zero = borg_emit_const(&l->b, zero->type, BORG_WI, 1, 0);
    for (int32_t i = 0; i < borg_lower_cell_count(l, d); ++i)
        borg_lower_set_cell(l, d, i, zero, zero->rows > 1 ? -1 : 0);
}

void borg_lower_forget(borg_lowerer *l, const borg_decl *d) {
    if (in_memory(l, d)) return;
    int32_t first = borg_lower_cells_of(l, d);
    for (int32_t i = 0; i < borg_lower_cell_count(l, d); ++i) l->cells[first + i].value = NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

borg_cell *borg_lower_copy_cells(borg_lowerer *l) {
    borg_cell *copy = BORG_NEW(l->arena, l->ncells + 1, borg_cell);
    if (l->ncells) memcpy(copy, l->cells, (size_t)l->ncells * sizeof *copy);
    return copy;
}

void borg_lower_put_cells(borg_lowerer *l, const borg_cell *cells, int32_t count) {
    if (count) memcpy(l->cells, cells, (size_t)count * sizeof *cells);
    for (int32_t i = count; i < l->ncells; ++i) l->cells[i].value = NULL;
}

borg_checkpoint borg_lower_save(borg_lowerer *l) {
    borg_checkpoint c = {.block = l->b.block,
                         .last = l->b.block->last,
                         .mask = l->mask,
                         .cells = borg_lower_copy_cells(l),
                         .ncells = l->ncells,
                         .errors = l->diags->errors,
                         .warnings = l->diags->warnings,
                         .unrolling = l->unrolling,
                         .diag = l->diags->last,
                         .loop = l->loop};
    if (l->loop) {
        c.broken = l->loop->broken;
        c.skipped = l->loop->skipped;
    }
    return c;
}

void borg_lower_restore(borg_lowerer *l, const borg_checkpoint *c) {
    l->b.block = c->block;
    l->b.before = NULL;
    /* constants at the kernel's top may have been put before everything: they stay */
    while (c->block->last != c->last && c->block->last && c->last) borg_unlink(c->block->last);
    if (!c->last) {
        for (borg_inst *v = c->block->last, *prev; v; v = prev) {
            prev = v->prev;
            bool pooled = c->block == l->m->body &&
                          (v->op == BORG_CONST || v->op == BORG_PARAM || v->op == BORG_LOCAL);
            if (!pooled) borg_unlink(v);
        }
    }
    l->mask = c->mask;
    borg_lower_put_cells(l, c->cells, c->ncells);
    l->diags->errors = c->errors;
    l->diags->warnings = c->warnings;
    l->diags->last = c->diag;
    if (c->diag) {
        c->diag->next = NULL;
    } else {
        l->diags->first = NULL;
    }
    l->unrolling = c->unrolling;
    l->loop = c->loop;
    if (l->loop) {
        l->loop->broken = c->broken;
        l->loop->skipped = c->skipped;
    }
    l->over = false;
}
