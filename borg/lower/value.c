/* SPDX-License-Identifier: BSD-3-Clause */
/* Values: constants, conversions of layout, operations that fold at once. */
#include "borg/lower/core.h"

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

void borg_lower_unify_all(borg_lowerer *l, borg_inst **v, int32_t count) {
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
    borg_lower_unify_all(l, v, z ? 3 : y ? 2 : 1);
    return borg_lower_simplify(l, borg_emit_elem(&l->b, op, type, v[0], v[1], v[2]));
}

borg_inst *borg_lower_cmp(borg_lowerer *l, borg_op op, borg_pred pred, bool uns, borg_inst *x,
                          borg_inst *y) {
    borg_inst *v[2] = {x, y};
    borg_lower_unify_all(l, v, 2);
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

borg_inst *borg_lower_int(borg_lowerer *l, int32_t value) {
    return borg_lower_const(l, BORG_I32, (uint32_t)value);
}
