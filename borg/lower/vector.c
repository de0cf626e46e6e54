/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over array elements as vectors: the counter's values are split progressively into index
 * sets whose turns can be executed together, statement by statement (thesis of 2021,
 * section 7.3.1). Ours looks at every access to an element, not at write conflicts alone: a set
 * grows as long as no turn in it must see, or must not see, what another one does. */
#include "borg/lower/leaves.h"
#include <string.h>

enum { MAX_VECTOR_TRIPS = 512, MAX_ACCESSES = 64, MAX_COUNTED_TRIPS = 1 << 20 };

typedef struct access {
    int32_t cell; /* element */
    int32_t statement;
    bool write;
} access;

typedef struct trip {
    int64_t value;
    access list[MAX_ACCESSES];
    int32_t count;
} trip;

typedef struct vectoriser {
    borg_lowerer *l;
    const borg_stmt *s;
    const borg_decl *counter;
    int64_t value;              /* of the counter while accesses are collected */
    const borg_decl *inner[64]; /* scalars declared in the body: one copy for each turn */
    int32_t ninner;
    const borg_decl *stored, *loaded[16]; /* memory */
    int32_t nloaded, nstores;
    int32_t statement;
    trip *now;
    bool bad;
} vectoriser;

/* ---- constants under the present state ---------------------------------------------------------
 */

static bool known(vectoriser *k, const borg_expr *e, int64_t *value);

static bool known_pair(vectoriser *k, const borg_expr *e, int64_t *value) {
    int64_t a, b;
    if (!known(k, e->args[0], &a) || !known(k, e->args[1], &b)) return false;
    borg_expr x = {.kind = BORG_E_INT, .integer = (uint64_t)a};
    borg_expr y = {.kind = BORG_E_INT, .integer = (uint64_t)b}, *args[2] = {&x, &y};
    borg_expr both = {.kind = e->kind, .text = e->text, .nargs = 2, .args = args};
    return borg_constant(&both, k->l->m->size, value);
}

static bool known(vectoriser *k, const borg_expr *e, int64_t *value) {
    switch (e->kind) {
    case BORG_E_NAME: {
        if (e->decl == k->counter) {
            *value = k->value;
            return true;
        }
        if (e->decl->array || e->decl->depth || borg_ctype_float(e->type)) return false;
        const borg_inst *v = borg_lower_cell(k->l, e->decl, 0)->value;
        if (!v || !borg_is_splat(v)) return false;
        *value = v->type == BORG_I32 && !borg_ctype_unsigned(e->type)
                     ? (int32_t)(uint32_t)v->bits[0]
                     : (int64_t)v->bits[0];
        return true;
    }
    case BORG_E_BINARY:
    case BORG_E_LOGICAL:
        return known_pair(k, e, value);
    case BORG_E_CAST:
        if (borg_ctype_float(e->type) || borg_ctype_float(e->args[0]->type) ||
            !known(k, e->args[0], value))
            return false;
        if (e->type == BORG_C_BOOL) *value = *value != 0;
        if (e->type == BORG_C_INT) *value = (int32_t)(uint32_t)(uint64_t)*value;
        if (e->type == BORG_C_UINT) *value = (int64_t)(uint32_t)(uint64_t)*value;
        return true;
    case BORG_E_UNARY: {
        int64_t a;
        if (borg_ctype_float(e->type) || !known(k, e->args[0], &a)) return false;
        borg_expr x = {.kind = BORG_E_INT, .integer = (uint64_t)a}, *args[1] = {&x};
        borg_expr one = {.kind = e->kind, .text = e->text, .nargs = 1, .args = args};
        return borg_constant(&one, k->l->m->size, value);
    }
    case BORG_E_INT:
    case BORG_E_CALL:
        return borg_constant(e, k->l->m->size, value);
    default:
        return false;
    }
}

/* ---- what a turn touches -----------------------------------------------------------------------
 */

static bool is_inner(const vectoriser *k, const borg_decl *d) {
    for (int32_t i = 0; i < k->ninner; ++i)
        if (k->inner[i] == d) return true;
    return false;
}

static void note(vectoriser *k, int32_t cell, bool write) {
    if (k->now->count == MAX_ACCESSES) {
        k->bad = true;
        return;
    }
    k->now->list[k->now->count++] = (access){cell, k->statement, write};
}

static void collect_expr(vectoriser *k, const borg_expr *e);

static void collect_place(vectoriser *k, const borg_expr *e, bool read, bool write) {
    const borg_decl *d = borg_lower_variable(k->l, e->decl);
    for (int32_t i = 0; i < e->nargs; ++i) collect_expr(k, e->args[i]);
    if (d == k->counter) {
        k->bad = k->bad || write;
    } else if (d->storage == BORG_PARAMETER && d->depth) {
        if (write) {
            k->bad = k->bad || k->nstores++ > 0;
            k->stored = d;
        }
        if (read && k->nloaded < 16) k->loaded[k->nloaded++] = d;
        if (k->nloaded == 16) k->bad = true;
    } else if (d->storage == BORG_LOCAL_REGISTERS || d->storage == BORG_LOCAL_MEMORY) {
        k->bad = true;
    } else if (!is_inner(k, d)) {
        int64_t index = 0;
        if (e->kind == BORG_E_INDEX &&
            (!known(k, e->args[0], &index) || index < 0 || index >= d->count)) {
            k->bad = true;
            return;
        }
        int32_t cell = borg_lower_cells_of(k->l, d) + (int32_t)index;
        if (read) note(k, cell, false);
        if (write) note(k, cell, true);
    } else if (e->kind == BORG_E_INDEX) {
        k->bad = true;
    }
}

static void collect_expr(vectoriser *k, const borg_expr *e) {
    if (k->bad || !e) return;
    switch (e->kind) {
    case BORG_E_NAME:
    case BORG_E_INDEX:
        collect_place(k, e, true, false);
        return;
    case BORG_E_ASSIGN:
    case BORG_E_STEP:
        k->bad = true;
        return; /* inside of an expression */
    case BORG_E_CALL:
        if (e->function || e->builtin == BORG_B_BARRIER) k->bad = true;
        break;
    default:
        break;
    }
    for (int32_t i = 0; i < e->nargs; ++i) collect_expr(k, e->args[i]);
}

static void collect_stmt(vectoriser *k, const borg_stmt *s) {
    if (k->bad || !s) return;
    ++k->statement;
    switch (s->kind) {
    case BORG_S_EXPR: {
        const borg_expr *e = s->expr;
        if (e->kind == BORG_E_ASSIGN) {
            collect_expr(k, e->args[1]);
            collect_place(k, e->args[0], e->text[1] != 0, true);
        } else if (e->kind == BORG_E_STEP) {
            collect_place(k, e->args[0], true, true);
        } else {
            collect_expr(k, e);
        }
        return;
    }
    case BORG_S_DECL:
        for (const borg_decl *d = s->decls; d; d = d->next) {
            if (d->array || k->ninner == 64) {
                k->bad = true;
                return;
            }
            collect_expr(k, d->init);
            if (!is_inner(k, d)) k->inner[k->ninner++] = d;
            ++k->statement;
        }
        return;
    case BORG_S_BLOCK:
        for (const borg_stmt *t = s->body; t; t = t->next) collect_stmt(k, t);
        return;
    case BORG_S_IF:
        collect_expr(k, s->expr);
        collect_stmt(k, s->body);
        collect_stmt(k, s->other);
        return;
    case BORG_S_EMPTY:
        return;
    default:
        k->bad = true;
        return;
    }
}

/* Executed statement by statement for both turns, do the accesses of p before i keep their order?
 */
static bool independent(const trip *p, const trip *i) {
    for (int32_t a = 0; a < p->count; ++a) {
        for (int32_t b = 0; b < i->count; ++b) {
            const access *x = &p->list[a], *y = &i->list[b];
            if (x->cell != y->cell || (!x->write && !y->write)) continue;
            bool kept = x->statement < y->statement ||
                        (x->statement == y->statement && !x->write && y->write);
            if (!kept) return false;
        }
    }
    return true;
}

/* ---- the counter -------------------------------------------------------------------------------
 */

static bool next_value(vectoriser *k, int64_t *value) {
    const borg_expr *e = k->s->step;
    int64_t operand;
    if (e->kind == BORG_E_STEP && e->args[0]->decl == k->counter) {
        *value = k->value + (e->text[0] == '+' ? 1 : -1);
        return true;
    }
    if (e->kind != BORG_E_ASSIGN || e->args[0]->decl != k->counter ||
        e->args[0]->kind != BORG_E_NAME || !known(k, e->args[1], &operand))
        return false;
    *value = operand;
    if (e->text[0] == '+') *value = k->value + operand;
    if (e->text[0] == '-') *value = k->value - operand;
    return e->text[0] == '=' || e->text[0] == '+' || e->text[0] == '-';
}

/* The counter: the one variable that the step changes. */
static bool find_counter(vectoriser *k) {
    const borg_stmt *s = k->s;
    if (!s->step || !s->expr || (s->step->kind != BORG_E_STEP && s->step->kind != BORG_E_ASSIGN))
        return false;
    const borg_decl *d = s->step->args[0]->decl;
    if (!d || d->array || d->depth || d->storage == BORG_LOCAL_REGISTERS ||
        (d->type != BORG_C_INT && d->type != BORG_C_LONG && d->type != BORG_C_UINT))
        return false;
    const borg_inst *v = borg_lower_cell(k->l, d, 0)->value;
    if (!v || !borg_is_splat(v)) return false;
    k->counter = d;
    k->value = d->type == BORG_C_INT ? (int32_t)(uint32_t)v->bits[0] : (int64_t)v->bits[0];
    return true;
}

static trip *find_trips(vectoriser *k, int32_t *count, int64_t *last) {
    trip *trips = NULL;
    size_t capacity = 0;
    int64_t holds, next;
    for (*count = 0;; ++*count) {
        if (!known(k, k->s->expr, &holds)) return NULL;
        if (!holds) break;
        if (*count == MAX_VECTOR_TRIPS || !next_value(k, &next)) return NULL;
        if (next < INT32_MIN || next > INT32_MAX) return NULL;
        trips = borg_grow(k->l->arena, trips, (size_t)*count + 1, &capacity, sizeof *trips);
        k->now = &trips[*count];
        k->now->count = 0;
        k->now->value = k->value;
        k->statement = 0;
        k->ninner = 0;
        k->nstores = k->nloaded = 0;
        collect_stmt(k, k->s->body);
        for (int32_t i = 0; i < k->nloaded; ++i) k->bad = k->bad || k->loaded[i] == k->stored;
        if (k->bad) return NULL;
        k->value = next;
    }
    *last = k->value;
    return trips;
}

/* ---- index sets --------------------------------------------------------------------------------
 */

/* What bounds and step are made of must not change on the way. */
static bool bounds_change(borg_lowerer *l, const borg_stmt *s, const borg_decl *counter) {
    const bool *set = borg_lower_assigned(l, s, false);
    for (int32_t c = 0; c < l->ncells; ++c) {
        const borg_inst *v = l->cells[c].value;
        if (!v || !borg_is_splat(v) || !set[l->owner[c]->number]) continue;
        if (l->owner[c] == counter || borg_lower_mentions(l, s->expr, l->owner[c]) ||
            (s->step && borg_lower_mentions(l, s->step, l->owner[c])))
            return true;
    }
    return false;
}

int64_t borg_lower_trips(borg_lowerer *l, const borg_stmt *s) {
    vectoriser k = {.l = l, .s = s};
    int64_t holds, next, count = 0;
    if (s->kind != BORG_S_FOR || !find_counter(&k) || bounds_change(l, s, k.counter)) return -1;
    for (; count < MAX_COUNTED_TRIPS; ++count) {
        if (!known(&k, s->expr, &holds)) return -1;
        if (!holds) return count;
        if (!next_value(&k, &next)) return -1;
        k.value = next;
    }
    return -1;
}

bool borg_lower_index_sets(borg_lowerer *l, const borg_stmt *s, borg_index_sets *sets) {
    vectoriser k = {.l = l, .s = s};
    int32_t count;
    if (l->options->no_vector || !find_counter(&k)) return false;
    /* the counter of a loop that already runs as vectors, or a mask of many rows: one at a time */
    if (l->mask && l->mask->rows > 1) return false;
    if (bounds_change(l, s, k.counter)) return false;
    trip *trips = find_trips(&k, &count, &sets->last);
    if (!trips || count < 2) return false;
    sets->counter = k.counter;
    sets->values = BORG_NEW(l->arena, count, int64_t);
    sets->ends = BORG_NEW(l->arena, count, int32_t);
    for (int32_t i = 0; i < count; ++i) sets->values[i] = trips[i].value;
    for (int32_t from = 0, to; from < count; from = to) {
        to = from + 1;
        for (bool fits = true; fits && to < count; to += fits)
            for (int32_t p = from; fits && p < to; ++p) fits = independent(&trips[p], &trips[to]);
        sets->ends[sets->count++] = to;
    }
    return true;
}
