/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of k rows become k values of one row: registers, on every machine there is today. What is
 * left of ROWS disappears; only PICKV still looks at a value of many rows, made of ROWS. */
#include "borg/passes.h"
#include <string.h>

typedef struct splitter {
    borg_module *m;
    borg_builder b;
} splitter;

static borg_inst **rows_of(const borg_inst *v) {
    return v->aux;
}

static borg_inst *row(const borg_inst *v, int32_t r) {
    borg_inst **rows = rows_of(v);
    return rows ? rows[r] : (borg_inst *)v;
}

static borg_inst *joined(splitter *s, borg_inst *v) {
    if (!rows_of(v)) return v;
    int32_t *map = BORG_NEW(s->m->arena, v->rows, int32_t);
    return borg_emit_rows(&s->b, v->rows, rows_of(v), map);
}

static borg_inst *copy_row(splitter *s, const borg_inst *v, int32_t r) {
    borg_inst *n =
        borg_emit(&s->b, v->op, v->type, v->spread, v->type == BORG_VOID ? 0 : 1, v->nargs);
    n->pred = v->pred;
    n->uns = v->uns;
    n->index = v->index;
    n->a = v->a;
    n->b = v->b;
    n->name = v->name;
    if (v->ix) {
        int32_t *ix = BORG_NEW(s->m->arena, 1, int32_t);
        ix[0] = v->ix[r];
        n->ix = ix;
    }
    if (v->c) {
        n->c = BORG_NEW(s->m->arena, 1, int64_t);
        n->c[0] = v->c[r];
    }
    return n;
}

static borg_inst *const_row(splitter *s, const borg_inst *v, int32_t r) {
    if (v->ntable == 1) return borg_emit_const(&s->b, v->type, v->spread, 1, v->bits[0]);
    int32_t items = v->spread == BORG_WI ? s->m->size : 1;
    return borg_emit_table(&s->b, v->type, v->spread, 1, v->bits + (int64_t)r * items);
}

/* A PERM whose row gathers from several rows of its operand stays on the joined value. */
static borg_inst *perm_row(splitter *s, const borg_inst *v, int32_t r, borg_inst **whole) {
    int32_t size = s->m->size, first = v->map[2 * r * size];
    int32_t *map = BORG_NEW(s->m->arena, 2 * size, int32_t);
    bool one = true;
    for (int32_t w = 0; w < size; ++w) {
        const int32_t *from = &v->map[2 * (r * size + w)];
        one = one && from[0] == first;
        map[2 * w] = from[0];
        map[2 * w + 1] = from[1];
    }
    if (!one) {
        if (!*whole) *whole = joined(s, v->args[0]);
        return borg_emit_perm(&s->b, *whole, 1, map);
    }
    for (int32_t w = 0; w < size; ++w) map[2 * w] = 0;
    return borg_emit_perm(&s->b, row(v->args[0], first), 1, map);
}

static borg_inst *row_of_layout(splitter *s, const borg_inst *v, int32_t r, borg_inst **whole) {
    if (v->op == BORG_ROWS) return row(v->args[r], v->map[r]);
    if (v->op == BORG_PERM) return perm_row(s, v, r, whole);
    int32_t map[2] = {0, v->map[2 * r + 1]};
    return borg_emit_lane(&s->b, row(v->args[0], v->map[2 * r]), 1, map);
}

static void split_inst(splitter *s, borg_inst *v) {
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
    bool affine = v->op == BORG_LOADA || v->op == BORG_STOREA;
    int32_t count = value->rows;
    borg_inst **rows = BORG_NEW(s->m->arena, count, borg_inst *), *whole = NULL;
    for (int32_t r = 0; r < count; ++r) {
        if (v->op == BORG_CONST) {
            rows[r] = const_row(s, v, r);
        } else if (v->op == BORG_ROWS || v->op == BORG_PERM || v->op == BORG_LANE) {
            rows[r] = row_of_layout(s, v, r, &whole);
        } else {
            rows[r] = copy_row(s, v, r);
            for (int32_t i = 0; i < v->nargs; ++i) {
                bool shared =
                    (i == 0 && borg_op_table[v->op].class == BORG_MEMORY) || (i == 1 && affine);
                rows[r]->args[i] = row(v->args[i], shared ? 0 : r);
            }
        }
    }
    borg_unlink(v);
    if (v->type != BORG_VOID) v->aux = rows;
}

static void split_block(splitter *s, borg_block *block);

/* PHIs and RESULTs of many rows become as many; the YIELD is expanded alike. */
static void expand_yield(splitter *s, borg_inst *yield) {
    int32_t count = 0, at = 0;
    for (int32_t i = 0; i < yield->nargs; ++i) count += yield->args[i]->rows;
    borg_inst **args = BORG_NEW(s->m->arena, count + 1, borg_inst *);
    for (int32_t i = 0; i < yield->nargs; ++i)
        for (int32_t r = 0; r < yield->args[i]->rows; ++r) args[at++] = row(yield->args[i], r);
    yield->args = args;
    yield->nargs = count;
}

static void split_control(splitter *s, borg_inst *v) {
    int32_t *first = NULL;
    if (v->op == BORG_RESULT) {
        first = v->args[0]->map; /* where the rows of each result begin */
        borg_inst **rows = BORG_NEW(s->m->arena, v->rows, borg_inst *);
        for (int32_t r = 0; r < v->rows; ++r) {
            rows[r] = v->rows == 1 ? v : copy_row(s, v, r);
            rows[r]->args[0] = v->args[0];
            rows[r]->index = first[v->index] + r;
        }
        if (v->rows > 1) {
            borg_unlink(v);
            v->aux = rows;
        }
        return;
    }
    if (v->op == BORG_PHI) {
        if (v->rows == 1) {
            v->args[0] = row(v->args[0], 0);
            return;
        }
        borg_inst **rows = BORG_NEW(s->m->arena, v->rows, borg_inst *);
        for (int32_t r = 0; r < v->rows; ++r) {
            rows[r] = copy_row(s, v, r);
            rows[r]->args[0] = row(v->args[0], r);
        }
        borg_unlink(v);
        v->aux = rows;
        return;
    }
    if (v->op != BORG_LOOP && v->op != BORG_IF) return;
    borg_inst *yield = v->block[1]->last;
    int32_t *starts = BORG_NEW(s->m->arena, yield->nargs + 1, int32_t);
    for (int32_t i = 0; i < yield->nargs; ++i) starts[i + 1] = starts[i] + yield->args[i]->rows;
    v->map = starts;
    borg_builder saved = s->b;
    split_block(s, v->block[0]);
    split_block(s, v->block[1]);
    if (v->op == BORG_IF) expand_yield(s, v->block[0]->last);
    expand_yield(s, v->block[1]->last);
    s->b = saved;
}

static void split_block(splitter *s, borg_block *block) {
    for (borg_inst *v = block->first, *next; v; v = next) {
        next = v->next;
        v->aux = NULL;
        s->b.block = block;
        s->b.before = v;
        s->b.loc = v->loc;
        const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
        if (borg_op_table[v->op].class == BORG_CONTROL) {
            split_control(s, v);
            s->b.block = block;
        } else if (v->op == BORG_PICKV) {
            v->args[0] = joined(s, v->args[0]);
        } else if (value->rows > 1) {
            split_inst(s, v);
        } else if (v->op == BORG_ROWS) { /* one row of several */
            borg_inst **rows = BORG_NEW(s->m->arena, 1, borg_inst *);
            rows[0] = row(v->args[0], v->map[0]);
            borg_unlink(v);
            v->aux = rows;
        } else if (v->op == BORG_PERM || v->op == BORG_LANE) {
            if (v->args[0]->rows > 1) split_inst(s, v);
        }
        if (!v->parent) continue;
        /* operands of one row may have been replaced, too */
        for (int32_t i = 0; i < v->nargs; ++i)
            if (v->op != BORG_RESULT && v->op != BORG_YIELD && v->args[i]->rows == 1)
                v->args[i] = row(v->args[i], 0);
    }
}

static void clear(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->op == BORG_LOOP || v->op == BORG_IF) v->map = NULL;
        if (v->block[0]) clear(v->block[0]);
        if (v->block[1]) clear(v->block[1]);
    }
}

void borg_pass_split(borg_module *m, const borg_options *options) {
    (void)options;
    splitter s = {.m = m, .b = {.module = m}};
    split_block(&s, m->body);
    clear(m->body);
}
