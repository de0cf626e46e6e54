/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over array elements as vectors: the counter's values are split progressively into index
 * sets whose turns can be executed together, statement by statement (thesis of 2021,
 * section 7.3.1). Ours looks at every access to an element, not at write conflicts alone: a set
 * grows as long as no turn in it must see, or must not see, what another one does. */
#include "borg/lower/leaves.h"
#include <string.h>

enum { MAX_VECTOR_TRIPS = 512, MAX_ACCESSES = 64 };

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
    borg_counter at;            /* the turn of which accesses are collected */
    const borg_decl *inner[64]; /* scalars declared in the body: one copy for each turn */
    int32_t ninner;
    const borg_decl *stored, *loaded[16]; /* memory */
    int32_t nloaded, nstores;
    int32_t statement;
    trip *now;
    bool bad;
} vectoriser;

/* ---- what a turn touches --------------------------------------------------------------------- */

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
    if (borg_ctype_complex(d->type)) k->bad = true; /* rows are its parts */
    for (int32_t i = 0; i < e->nargs; ++i) collect_expr(k, e->args[i]);
    if (d == k->at.decl) {
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
            (!borg_counter_known(&k->at, e->args[0], &index) || index < 0 || index >= d->count)) {
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
    if (borg_ctype_complex(e->type)) k->bad = true;
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
            if (d->array || k->ninner == 64 || borg_ctype_complex(d->type)) {
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

static trip *find_trips(vectoriser *k, int32_t *count, int64_t *last) {
    trip *trips = NULL;
    size_t capacity = 0;
    int64_t holds, next;
    for (*count = 0;; ++*count) {
        if (!borg_counter_known(&k->at, k->at.loop->expr, &holds)) return NULL;
        if (!holds) break;
        if (*count == MAX_VECTOR_TRIPS || !borg_counter_next(&k->at, &next)) return NULL;
        if (next < INT32_MIN || next > INT32_MAX) return NULL;
        trips = borg_grow(k->l->arena, trips, (size_t)*count + 1, &capacity, sizeof *trips);
        k->now = &trips[*count];
        k->now->count = 0;
        k->now->value = k->at.value;
        k->statement = 0;
        k->ninner = 0;
        k->nstores = k->nloaded = 0;
        collect_stmt(k, k->at.loop->body);
        for (int32_t i = 0; i < k->nloaded; ++i) k->bad = k->bad || k->loaded[i] == k->stored;
        if (k->bad) return NULL;
        k->at.value = next;
    }
    *last = k->at.value;
    return trips;
}

/* ---- index sets ------------------------------------------------------------------------------ */

bool borg_lower_index_sets(borg_lowerer *l, const borg_stmt *s, borg_index_sets *sets) {
    vectoriser k = {.l = l};
    int32_t count;
    if (l->options->no_vector || !borg_counter_find(l, s, &k.at)) return false;
    /* the counter of a loop that already runs as vectors, or a mask of many rows: one at a time */
    if (l->mask && l->mask->rows > 1) return false;
    trip *trips = find_trips(&k, &count, &sets->last);
    if (!trips || count < 2) return false;
    sets->counter = k.at.decl;
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
