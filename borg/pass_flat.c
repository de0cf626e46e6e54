/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels whose work-items have nothing to do with each other become flat: instead of groups that
 * go together, elements do that lie side by side, whatever groups they belong to. So all lanes of a
 * register are full for every WG_SIZE, what lives is what one register's elements need, and stores
 * are of whole lines. A group's elements are its rows x work-items in the order of memory; element
 * e of all is lane e - G0 of the flat module, which has `size` elements side by side and in which
 * G0 is the number of the first.
 *
 * It is done where all that lanes do is elementwise, and all that is accessed is  p[off + b*e]  with an off that
 * is the same for all groups, or is the same for all. Work-items of one group are then no longer in
 * step, which shows only where one writes what another reads or writes with no barrier between;
 * where that can be seen, through one parameter, the kernel stays as it is. */
#include "borg/passes.h"
#include <string.h>

typedef struct flat {
    borg_module *m;
    borg_builder b;     /* of the new body */
    int32_t size, rows; /* work-items as they were; rows of what lies in memory */
    int32_t lanes;      /* side by side */
} flat;

/* Instructions are converted in their order; inst->aux is what one has become, NULL where it cannot
 * be had, which matters only if an access to memory needs it: indices by group and work-item are
 * made anew. */
static borg_inst *of(const borg_inst *v) {
    return v->aux;
}

/* The same instruction with converted operands. */
static borg_inst *copied(flat *f, const borg_inst *v, borg_spread spread, int32_t rows) {
    for (int32_t i = 0; i < v->nargs; ++i)
        if (!of(v->args[i])) return NULL;
    borg_inst *n = borg_emit(&f->b, v->op, v->type, spread, rows, v->nargs);
    for (int32_t i = 0; i < v->nargs; ++i) n->args[i] = of(v->args[i]);
    n->pred = v->pred;
    n->uns = v->uns;
    n->index = v->index;
    n->ntable = v->ntable;
    n->bits = v->bits;
    n->map = v->map;
    n->name = v->name;
    n->loc = v->loc;
    n->a = v->a;
    n->b = v->b;
    n->c = v->c;
    return n;
}

/* base + factor * G0, a number for all lanes. */
static borg_inst *from_first(flat *f, int64_t factor, int64_t base) {
    borg_inst *x = borg_emit(&f->b, BORG_G0, BORG_I64, BORG_UNI, 1, 0);
    if (factor != 1) {
        borg_inst *k = borg_emit_const(&f->b, BORG_I64, BORG_UNI, 1, (uint64_t)factor);
        x = borg_emit_elem(&f->b, BORG_MUL, BORG_I64, x, k, NULL);
    }
    if (base == 0) return x;
    borg_inst *k = borg_emit_const(&f->b, BORG_I64, BORG_UNI, 1, (uint64_t)base);
    return borg_emit_elem(&f->b, BORG_ADD, BORG_I64, x, k, NULL);
}

/* Whether p[c[row] + b wi + a g] is c[0] + b e, e the element. */
static bool in_line(const flat *f, int64_t a, int64_t b, const int64_t *c) {
    if (b == 0 || a != b * f->size * f->rows) return false;
    for (int32_t r = 0; r < f->rows; ++r)
        if (c[r] != c[0] + b * f->size * r) return false;
    return true;
}

/* Integers that count elements: base + factor * e. NULL: it is none. */
static borg_inst *counted(flat *f, borg_inst *v) {
    int64_t c[BORG_MAX_ROWS], a = 0, b = 0;
    if (v->type != BORG_I64 || v->rows != f->rows) return NULL;
    for (int32_t r = 0; r < v->rows; ++r) {
        int64_t a2, b2;
        if (!borg_counts_groups(f->m, v, r, &a2, &b2, &c[r])) return NULL;
        if (r > 0 && (a2 != a || b2 != b)) return NULL;
        a = a2;
        b = b2;
    }
    if (!in_line(f, a, b, c)) return NULL;
    borg_inst *first = borg_emit_bcast(&f->b, from_first(f, b, c[0]), BORG_WI);
    uint64_t *place = BORG_NEW(f->m->arena, f->lanes, uint64_t);
    for (int32_t l = 0; l < f->lanes; ++l) place[l] = (uint64_t)(b * l);
    f->m->size = f->lanes; /* of which a table is made */
    borg_inst *table = borg_emit_table(&f->b, BORG_I64, BORG_WI, 1, place);
    f->m->size = f->size;
    return borg_emit_elem(&f->b, BORG_ADD, BORG_I64, first, table, NULL);
}

/* A value of one lane for each row, all rows alike: one row of it. */
static borg_inst *one_row(flat *f, const borg_inst *v) {
    if (v->rows == 1) return of(v);
    if (v->op == BORG_CONST && v->ntable == 1)
        return borg_emit_const(&f->b, v->type, BORG_UNI, 1, v->bits[0]);
    if (v->op != BORG_ROWS) return NULL;
    for (int32_t r = 0; r < v->rows; ++r)
        if (v->args[r] != v->args[0] || v->map[r] != v->map[0]) return NULL;
    return v->args[0]->rows == 1 ? of(v->args[0]) : NULL;
}

static borg_inst *convert_lanes(flat *f, borg_inst *v) {
    borg_inst *n = NULL;
    const borg_class class = borg_op_table[v->op].class;
    const bool elementwise = class == BORG_ELEM || class == BORG_CONVERT;
    if (v->rows != f->rows) return NULL;
    if (v->op == BORG_CONST)
        return v->ntable == 1 ? borg_emit_const(&f->b, v->type, BORG_WI, 1, v->bits[0]) : NULL;
    if (elementwise || v->op == BORG_BCAST) n = counted(f, v);
    if (n) return n;
    if (v->op == BORG_BCAST && v->args[0]->spread == BORG_UNI) {
        n = one_row(f, v->args[0]);
        return n ? borg_emit_bcast(&f->b, n, BORG_WI) : NULL;
    }
    return elementwise ? copied(f, v, BORG_WI, 1) : NULL;
}

static borg_inst *convert(flat *f, borg_inst *v) {
    const borg_class class = borg_op_table[v->op].class;
    if (v->spread == BORG_WI) return convert_lanes(f, v);
    if (v->spread == BORG_UNI && v->op != BORG_G0 &&
        (class == BORG_LEAF || class == BORG_ELEM || class == BORG_CONVERT || v->op == BORG_ROWS))
        return copied(f, v, BORG_UNI, v->rows);
    return NULL;
}

/* The offset of an access in lanes from what it is for element 0, all of whose part of the group's
 * number is `a`. */
static borg_inst *offset_of(flat *f, const borg_inst *v) {
    borg_sum sum;
    if (!borg_sum_of(f->m, v->args[1], &sum) || sum.groups != v->a) return NULL;
    borg_inst *off = from_first(f, v->b, sum.constant);
    for (int32_t i = 0; i < sum.n; ++i) {
        borg_inst *x = of(sum.value[i]);
        if (!x) return NULL;
        borg_inst *k = borg_emit_const(&f->b, BORG_I64, BORG_UNI, 1, (uint64_t)sum.scale[i]);
        if (sum.scale[i] != 1) x = borg_emit_elem(&f->b, BORG_MUL, BORG_I64, x, k, NULL);
        off = borg_emit_elem(&f->b, BORG_ADD, BORG_I64, off, x, NULL);
    }
    return off;
}

/* False: it cannot be had. */
static bool convert_access(flat *f, borg_inst *v) {
    borg_inst *value = borg_stored(v) ? borg_stored(v) : v, *mask = borg_mask(v), *off = NULL;
    if (value->spread == BORG_UNI && value == v) { /* read by all */
        v->aux = copied(f, v, BORG_UNI, v->rows);
        return v->aux != NULL;
    }
    if (value->spread != BORG_WI || v->args[0]->op != BORG_PARAM || value->rows != f->rows)
        return false;
    if (v->op == BORG_LOAD) off = of(v->args[1]);
    if ((v->op == BORG_LOADA || v->op == BORG_STOREA) && in_line(f, v->a, v->b, v->c))
        off = offset_of(f, v);
    if (!off || !of(v->args[0]) || (value != v && !of(value)) || (mask && !of(mask))) return false;
    borg_inst *n = borg_emit(&f->b, v->op, v->type, v->spread, value == v ? 1 : 0, v->nargs);
    n->args[0] = of(v->args[0]);
    n->args[1] = off;
    if (value != v) n->args[2] = of(value);
    if (mask) n->args[v->nargs - 1] = of(mask);
    n->name = v->name;
    n->loc = v->loc;
    if (v->op != BORG_LOAD) {
        n->a = v->b * f->lanes;
        n->b = v->b;
        n->c = BORG_NEW(f->m->arena, 1, int64_t);
        n->c[0] = v->c[0];
    }
    v->aux = n;
    return true;
}

/* Through one parameter: do lanes of different elements touch the same place? */
static bool meet(const flat *f, const borg_inst *x, const borg_inst *y) {
    if (x->args[0] != y->args[0] && x->args[0]->index != y->args[0]->index) return false;
    if ((x->op != BORG_LOADA && x->op != BORG_STOREA) ||
        (y->op != BORG_LOADA && y->op != BORG_STOREA) || x->b == 0 || x->b != y->b)
        return true;
    borg_sum p, q;
    if (!borg_sum_of(f->m, x->args[1], &p) || !borg_sum_of(f->m, y->args[1], &q) || p.n != q.n)
        return true;
    for (int32_t i = 0; i < p.n; ++i)
        if (p.value[i] != q.value[i] || p.scale[i] != q.scale[i]) return true;
    const int64_t apart = x->c[0] + p.constant - y->c[0] - q.constant;
    return apart != 0 && apart % x->b == 0;
}

static bool independent(const flat *f) {
    for (const borg_inst *s = f->m->body->first; s; s = s->next) {
        if (s->op != BORG_STOREA) continue;
        for (const borg_inst *v = f->m->body->first; v; v = v->next)
            if ((v->op == BORG_LOAD || v->op == BORG_LOADA) && meet(f, s, v)) return false;
    }
    return true;
}

/* Rows of what lanes read and write in memory; 0: there is nothing. */
static int32_t rows_in_memory(const borg_module *m) {
    for (borg_inst *v = m->body->first; v; v = v->next) {
        const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
        if (borg_op_table[v->op].class == BORG_MEMORY && value->spread == BORG_WI)
            return value->rows;
    }
    return 0;
}

void borg_pass_flat(borg_module *m, const borg_options *options) {
    if (options->flat_lanes <= 0 || m->flat || m->pack != 1 || m->nlocals) return;
    flat f = {.m = m, .size = m->size, .rows = rows_in_memory(m), .lanes = options->flat_lanes};
    borg_block *body = borg_block_new(m, NULL);
    f.b = (borg_builder){.module = m, .block = body};
    bool stores = false;
    if (!independent(&f)) return;
    for (borg_inst *v = m->body->first; v; v = v->next) {
        const borg_class class = borg_op_table[v->op].class;
        v->aux = NULL;
        if (class == BORG_CONTROL || v->op == BORG_BARRIER) return;
        if (class != BORG_MEMORY) {
            v->aux = convert(&f, v);
        } else if (!convert_access(&f, v)) {
            return;
        }
        stores |= v->op == BORG_STOREA;
    }
    if (!stores) return;
    m->body = body;
    m->flat = f.size * f.rows;
    m->size = f.lanes;
    m->order = BORG_WI_MINOR;
}
