/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores whose work-items lie apart, side by side with each other, become one store of as many
 * rows: where work-item w of the k-th goes to p[off + c + k + b*w], a machine with vectors
 * transposes in registers and writes what one work-item has at once. One group alone. What lies
 * between two of them must not meet the earlier one: it moves down to the last. */
#include "borg/passes.h"
#include "borg/perm.h"
#include <string.h>

enum { LEAST = 4 };

typedef struct run {
    borg_inst *store[BORG_MAX_VECTOR];
    int32_t count;
} run;

static bool affine(const borg_inst *v) {
    return v->op == BORG_LOADA || v->op == BORG_STOREA;
}

static const borg_inst *value_of(const borg_inst *v) {
    const borg_inst *stored = borg_stored(v);
    return stored ? stored : v;
}

static bool candidate(const borg_module *m, const borg_inst *v) {
    if (v->op != BORG_STOREA || m->pack > 1) return false;
    const borg_inst *x = borg_stored(v), *mask = borg_mask(v);
    return x->rows == 1 && x->spread == BORG_WI && v->b > 1 && (!mask || mask->op == BORG_CONST);
}

static bool there(const borg_module *m, const borg_inst *v, int32_t row, int32_t w) {
    const borg_inst *mask = borg_mask(v);
    return !mask || mask->op != BORG_CONST || (borg_const_bits(m, mask, row, w) & 1);
}

/* Whether two affine accesses with the same offset share an element. */
static bool overlap(const borg_module *m, const borg_inst *x, const borg_inst *y) {
    const borg_inst *u = value_of(x), *v = value_of(y);
    int32_t nu = u->spread == BORG_WI ? m->size : 1, nv = v->spread == BORG_WI ? m->size : 1;
    for (int32_t r = 0; r < u->rows; ++r)
        for (int32_t w = 0; w < nu; ++w)
            for (int32_t q = 0; q < v->rows && there(m, x, r, w); ++q) {
                int64_t at = x->c[r] + x->b * w - y->c[q];
                if (nv == 1 || y->b == 0) {
                    if (at == 0) return true;
                } else if (at % y->b == 0 && at / y->b >= 0 && at / y->b < nv &&
                           there(m, y, q, (int32_t)(at / y->b))) {
                    return true;
                }
            }
    return false;
}

static bool may_meet(const borg_module *m, const borg_inst *x, const borg_inst *y) {
    if (!borg_may_meet(m, x, y)) return false;
    if (!affine(y) || x->args[0] != y->args[0] || x->args[1] != y->args[1]) return true;
    if (value_of(x)->type != value_of(y)->type) return true;
    return overlap(m, x, y);
}

static bool goes_on(const run *k, const borg_inst *v) {
    const borg_inst *last = k->store[k->count - 1];
    return v->args[0] == last->args[0] && v->args[1] == last->args[1] && v->b == last->b &&
           v->c[0] == last->c[0] + 1 && borg_stored(v)->type == borg_stored(last)->type &&
           k->count < last->b;
}

/* One store of all rows at the place of the last. */
static void join(borg_module *m, run *k) {
    if (k->count >= LEAST) {
        borg_inst *last = k->store[k->count - 1], *rows[BORG_MAX_VECTOR];
        borg_builder b = {.module = m, .block = last->parent, .before = last, .loc = last->loc};
        uint64_t *bits = BORG_NEW(m->arena, k->count * m->size, uint64_t);
        bool masked = false;
        last->c = BORG_NEW(m->arena, k->count, int64_t);
        for (int32_t i = 0; i < k->count; ++i) {
            rows[i] = borg_stored(k->store[i]);
            last->c[i] = k->store[0]->c[0] + i;
            for (int32_t w = 0; w < m->size; ++w)
                masked = !(bits[i * m->size + w] = there(m, k->store[i], 0, w)) || masked;
        }
        int32_t *map = BORG_NEW(m->arena, k->count, int32_t);
        borg_inst *args[4] = {last->args[0], last->args[1], borg_emit_rows(&b, k->count, rows, map),
                              NULL};
        if (masked) args[3] = borg_emit_table(&b, BORG_I1, BORG_WI, k->count, bits);
        last->nargs = masked ? 4 : 3;
        last->args = BORG_NEW(m->arena, 4, borg_inst *);
        memcpy(last->args, args, sizeof args);
        for (int32_t i = 0; i + 1 < k->count; ++i) borg_unlink(k->store[i]);
    }
    k->count = 0;
}

static void visit(borg_module *m, borg_block *block, int32_t most) {
    run k = {.count = 0};
    for (borg_inst *v = block->first, *next; v; v = next) {
        next = v->next;
        borg_class class = borg_op_table[v->op].class;
        if (class == BORG_CONTROL) {
            join(m, &k);
            if (v->block[0]) visit(m, v->block[0], most);
            if (v->block[1]) visit(m, v->block[1], most);
        } else if (class == BORG_MEMORY) {
            bool same = k.count && candidate(m, v) && goes_on(&k, v), meets = false;
            for (int32_t i = 0; i < k.count && !meets; ++i) meets = may_meet(m, k.store[i], v);
            if (k.count && (meets || k.count == most || (!same && candidate(m, v)))) join(m, &k);
            if (candidate(m, v) && (same || k.count == 0)) k.store[k.count++] = v;
        }
    }
    join(m, &k);
}

void borg_pass_join(borg_module *m, const borg_options *options) {
    const borg_backend *backend = options->backend;
    if (!backend || !backend->machine.transposes) return;
    visit(m, m->body, backend->machine.vector_bytes / 4);
}
