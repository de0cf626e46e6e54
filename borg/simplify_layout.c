/* SPDX-License-Identifier: BSD-3-Clause */
/* Simplifies one operation that moves lanes. */
#include "borg/passes.h"
#include <string.h>

static borg_inst *simplify_rows(borg_builder *b, borg_inst *v) {
    const borg_module *m = b->module;
    bool same = v->rows == v->args[0]->rows;
    for (int32_t r = 0; r < v->rows; ++r) same = same && v->args[r] == v->args[0] && v->map[r] == r;
    if (same) return v->args[0];
    if (borg_all_const(v)) {
        int32_t count = borg_table_length(m, v), items = v->spread == BORG_WI ? m->size : 1;
        uint64_t *bits = BORG_NEW(m->arena, count, uint64_t);
        for (int32_t l = 0; l < count; ++l)
            bits[l] = borg_const_bits(m, v->args[l / items], v->map[l / items], l % items);
        return borg_emit_table(b, v->type, v->spread, v->rows, bits);
    }
    bool nested = false, uniform = true;
    borg_spread narrow = BORG_UNI;
    for (int32_t r = 0; r < v->rows; ++r) {
        const borg_inst *x = v->args[r];
        nested = nested || x->op == BORG_ROWS;
        uniform = uniform && x->op == BORG_BCAST;
        if (x->op == BORG_BCAST && x->args[0]->spread > narrow) narrow = x->args[0]->spread;
    }
    if (!nested && !uniform) return v;
    borg_inst **from = BORG_NEW(m->arena, v->rows, borg_inst *);
    int32_t *map = BORG_NEW(m->arena, v->rows, int32_t);
    for (int32_t r = 0; r < v->rows; ++r) {
        borg_inst *x = v->args[r];
        map[r] = v->map[r];
        from[r] = x;
        if (uniform) {
            from[r] = borg_emit_bcast(b, x->args[0], narrow);
        } else if (x->op == BORG_ROWS) {
            from[r] = x->args[v->map[r]];
            map[r] = x->map[v->map[r]];
        }
    }
    borg_inst *n = borg_simplify(b, borg_emit_rows(b, v->rows, from, map));
    return uniform ? borg_emit_bcast(b, n, v->spread) : n;
}

/* Where lane (row, wi) of x comes from, through layouts that only move lanes. */
static void trace(const borg_module *m, borg_inst **x, int32_t *row, int32_t *wi) {
    for (;;) {
        borg_inst *v = *x;
        if (v->op == BORG_ROWS) {
            *x = v->args[*row];
            *row = v->map[*row];
        } else if (v->op == BORG_PERM) {
            const int32_t *from = &v->map[2 * (*row * m->size + *wi)];
            *x = v->args[0];
            *row = from[0];
            *wi = from[1];
        } else {
            return;
        }
    }
}

static borg_inst *one_row(borg_builder *b, borg_inst *x, int32_t row) {
    if (x->rows == 1) return x;
    return borg_simplify(b, borg_emit_rows(b, 1, &x, &row));
}

static borg_inst *simplify_lane(borg_builder *b, borg_inst *v) {
    const borg_module *m = b->module;
    if (borg_all_const(v)) {
        uint64_t *bits = BORG_NEW(m->arena, v->rows, uint64_t);
        for (int32_t r = 0; r < v->rows; ++r)
            bits[r] = borg_const_bits(m, v->args[0], v->map[2 * r], v->map[2 * r + 1]);
        return borg_emit_table(b, v->type, BORG_WG, v->rows, bits);
    }
    if (v->rows != 1) return v;
    borg_inst *x = v->args[0];
    int32_t row = v->map[0], wi = v->map[1];
    trace(m, &x, &row, &wi);
    if (x->op == BORG_CONST) {
        return borg_emit_const(b, v->type, BORG_WG, 1, borg_const_bits(m, x, row, wi));
    }
    if (x->op == BORG_BCAST) return borg_emit_bcast(b, one_row(b, x->args[0], row), BORG_WG);
    if (x == v->args[0]) return v;
    int32_t map[2] = {row, wi};
    return borg_emit_lane(b, x, 1, map);
}

static borg_inst *simplify_perm(borg_builder *b, borg_inst *v) {
    const borg_module *m = b->module;
    int32_t size = m->size, count = v->rows * size;
    borg_inst *x = v->args[0];
    bool identity = v->rows == x->rows, in_row = true, uniform = v->rows == 1;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t *from = &v->map[2 * i];
        identity = identity && from[0] == i / size && from[1] == i % size;
        in_row = in_row && from[0] == v->map[2 * (i / size * size)] && from[1] == i % size;
        uniform = uniform && from[0] == v->map[0] && from[1] == v->map[1];
    }
    if (identity) return x;
    if (x->op == BORG_CONST) {
        uint64_t *bits = BORG_NEW(m->arena, count, uint64_t);
        for (int32_t i = 0; i < count; ++i)
            bits[i] = borg_const_bits(m, x, v->map[2 * i], v->map[2 * i + 1]);
        return borg_emit_table(b, v->type, BORG_WI, v->rows, bits);
    }
    if (in_row) { /* rows are chosen, lanes stay */
        borg_inst **from = BORG_NEW(m->arena, v->rows, borg_inst *);
        int32_t *map = BORG_NEW(m->arena, v->rows, int32_t);
        for (int32_t r = 0; r < v->rows; ++r) {
            from[r] = x;
            map[r] = v->map[2 * r * size];
        }
        return borg_simplify(b, borg_emit_rows(b, v->rows, from, map));
    }
    if (uniform) {
        borg_inst *lane = borg_simplify(b, borg_emit_lane(b, x, 1, v->map));
        return borg_emit_bcast(b, lane, BORG_WI);
    }
    /* composed with what the operand is, if all lanes then come from one value */
    int32_t *map = BORG_NEW(m->arena, 2 * count, int32_t);
    borg_inst *source = NULL;
    for (int32_t i = 0; i < count; ++i) {
        borg_inst *from = x;
        map[2 * i] = v->map[2 * i];
        map[2 * i + 1] = v->map[2 * i + 1];
        trace(m, &from, &map[2 * i], &map[2 * i + 1]);
        if (source && from != source) return v;
        source = from;
    }
    if (source == x || !source) return v;
    return borg_simplify(b, borg_emit_perm(b, source, v->rows, map));
}

static borg_inst *simplify_shufv(borg_builder *b, borg_inst *v) {
    const borg_module *m = b->module;
    borg_inst *x = v->args[0], *index = v->args[1];
    if (x->op == BORG_BCAST) return borg_emit_bcast(b, x->args[0], v->spread);
    if (index->op == BORG_CONST && v->spread == BORG_WI) {
        int32_t count = v->rows * m->size;
        int32_t *map = BORG_NEW(m->arena, 2 * count, int32_t);
        for (int32_t i = 0; i < count; ++i) {
            map[2 * i] = i / m->size;
            map[2 * i + 1] = (int32_t)borg_const_bits(m, index, i / m->size, i % m->size);
            if (map[2 * i + 1] < 0 || map[2 * i + 1] >= m->size) return v;
        }
        return borg_simplify(b, borg_emit_perm(b, x, v->rows, map));
    }
    if (index->op == BORG_CONST) {
        int32_t *map = BORG_NEW(m->arena, 2 * v->rows, int32_t);
        for (int32_t r = 0; r < v->rows; ++r) {
            map[2 * r] = r;
            map[2 * r + 1] = (int32_t)borg_const_bits(m, index, r, 0);
            if (map[2 * r + 1] < 0 || map[2 * r + 1] >= m->size) return v;
        }
        return borg_simplify(b, borg_emit_lane(b, x, v->rows, map));
    }
    if (v->spread == BORG_WI && index->op == BORG_BCAST) {
        borg_inst *n = borg_emit(b, BORG_SHUFV, v->type, BORG_WG, v->rows, 2);
        n->args[0] = x;
        n->args[1] = index->args[0];
        if (index->args[0]->spread < BORG_WG) {
            borg_unlink(n);
            n->args[1] = borg_emit_bcast(b, index->args[0], BORG_WG);
            borg_insert(b->block, b->before, n);
        }
        return borg_emit_bcast(b, n, BORG_WI);
    }
    return v;
}

borg_inst *borg_simplify_layout(borg_builder *b, borg_inst *v) {
    borg_inst *x = v->args[0];
    switch (v->op) {
    case BORG_BCAST:
        if (borg_is_splat(x)) return borg_constant_like(b, v, x->bits[0]);
        if (x->op == BORG_CONST) {
            int32_t count = borg_table_length(b->module, v);
            int32_t items = v->spread == BORG_WI ? b->module->size : 1;
            uint64_t *bits = BORG_NEW(b->module->arena, count, uint64_t);
            for (int32_t l = 0; l < count; ++l) bits[l] = x->bits[l / items];
            return borg_emit_table(b, v->type, v->spread, v->rows, bits);
        }
        return x->op == BORG_BCAST ? borg_emit_bcast(b, x->args[0], v->spread) : v;
    case BORG_ROWS:
        return simplify_rows(b, v);
    case BORG_PERM:
        return simplify_perm(b, v);
    case BORG_LANE:
        return simplify_lane(b, v);
    case BORG_SHUFV:
        return simplify_shufv(b, v);
    case BORG_MMA:
        return v;
    default:
        if (borg_is_splat(v->args[1]) && v->args[1]->bits[0] < (uint64_t)x->rows)
            return one_row(b, x, (int32_t)v->args[1]->bits[0]);
        return v;
    }
}
