/* SPDX-License-Identifier: BSD-3-Clause */
/* The text form of InfReg-IR. */
#include "borg/ir.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void print_bits(borg_type type, uint64_t bits, borg_sink *sink) {
    if (borg_is_float(type)) {
        double value;
        if (type == BORG_F32) {
            float single;
            uint32_t low = (uint32_t)bits;
            memcpy(&single, &low, sizeof single);
            value = single;
        } else {
            memcpy(&value, &bits, sizeof value);
        }
        if (isnan(value)) {
            borg_put(sink, "0x%" PRIx64, bits);
        } else if (isinf(value)) {
            borg_put(sink, value < 0 ? "-inf" : "inf");
        } else {
            borg_put(sink, "%.*g", type == BORG_F32 ? 9 : 17, value);
        }
    } else if (type == BORG_I32) {
        borg_put(sink, "%" PRId32, (int32_t)(uint32_t)bits);
    } else {
        borg_put(sink, "%" PRId64, (int64_t)bits);
    }
}

static void print_map(const int32_t *map, int32_t count, borg_sink *sink) {
    borg_put(sink, "{");
    for (int32_t i = 0; i < count; ++i) borg_put(sink, i ? ", %d" : "%d", map[i]);
    borg_put(sink, "}");
}

static void print_shape(const borg_inst *v, borg_sink *sink) {
    borg_put(sink, v->rows == 1 ? " %s<" : " %s<%d x ", borg_spread_text(v->spread), v->rows);
    borg_put(sink, "%s>", borg_type_text(v->type));
}

static void print_args(const borg_inst *v, borg_sink *sink) {
    const borg_inst *mask = borg_mask(v);
    for (int32_t i = 0; i < v->nargs; ++i) {
        borg_put(sink, i ? ", " : " ");
        if (v->args[i] == mask && i == v->nargs - 1) borg_put(sink, "mask ");
        borg_put(sink, "%%%d", v->args[i]->id);
    }
}

static void print_payload(const borg_module *m, const borg_inst *v, borg_sink *sink) {
    switch (v->op) {
    case BORG_PARAM:
        borg_put(sink, " @%s", m->params[v->index].name);
        break;
    case BORG_LOCAL:
        borg_put(sink, " @%s", m->locals[v->index].name);
        break;
    case BORG_CONST:
        borg_put(sink, v->ntable == 1 ? " " : " {");
        for (int32_t i = 0; i < v->ntable; ++i) {
            if (i) borg_put(sink, ", ");
            print_bits(v->type, v->bits[i], sink);
        }
        if (v->ntable != 1) borg_put(sink, "}");
        break;
    case BORG_ROWS:
        borg_put(sink, ", map "), print_map(v->map, v->rows, sink);
        break;
    case BORG_PERM:
        borg_put(sink, ", map "), print_map(v->map, 2 * v->rows * m->size, sink);
        break;
    case BORG_LANE:
        borg_put(sink, ", map "), print_map(v->map, 2 * v->rows, sink);
        break;
    case BORG_RESULT:
    case BORG_MMA:
        borg_put(sink, ", %d", v->index);
        break;
    case BORG_LOADA:
    case BORG_STOREA: {
        int32_t rows = v->op == BORG_LOADA ? v->rows : borg_stored(v)->rows;
        borg_put(sink, ", a %" PRId64 ", b %" PRId64 ", c {", v->a, v->b);
        for (int32_t r = 0; r < rows; ++r) borg_put(sink, r ? ", %" PRId64 : "%" PRId64, v->c[r]);
        borg_put(sink, "}");
        break;
    }
    default:
        break;
    }
}

static void print_block(const borg_module *m, const borg_block *block, int depth, borg_sink *sink);

static void print_inst(const borg_module *m, const borg_inst *v, int depth, borg_sink *sink) {
    borg_put(sink, "%*s", 2 * depth, "");
    if (v->id >= 0) borg_put(sink, "%%%d = ", v->id);
    borg_put(sink, "%s%s", borg_op_table[v->op].text, v->uns ? ".u" : "");
    if (v->op == BORG_ICMP || v->op == BORG_FCMP) borg_put(sink, " %s", borg_pred_text(v->pred));
    if (v->type != BORG_VOID) print_shape(v, sink);
    if (v->op == BORG_LOOP && v->trip >= 0) borg_put(sink, " trip %" PRId64, v->trip);
    print_args(v, sink);
    print_payload(m, v, sink);
    if (v->name) {
        borg_put(sink, " !%s", v->name);
        if (v->ix) print_map(v->ix, v->rows, sink);
    }
    if (v->block[0]) {
        borg_put(sink, " {\n");
        print_block(m, v->block[0], depth + 1, sink);
        borg_put(sink, "%*s} %s {\n", 2 * depth, "", v->op == BORG_LOOP ? "do" : "else");
        print_block(m, v->block[1], depth + 1, sink);
        borg_put(sink, "%*s}", 2 * depth, "");
    }
    borg_put(sink, "\n");
}

static void print_block(const borg_module *m, const borg_block *block, int depth, borg_sink *sink) {
    for (const borg_inst *v = block->first; v; v = v->next) print_inst(m, v, depth, sink);
}

static void print_param(const borg_param *p, borg_sink *sink) {
    const char *sign = p->uns ? "u." : "";
    if (p->type != BORG_PTR) {
        borg_put(sink, "%s%s", sign, borg_type_text(p->type));
    } else {
        borg_put(sink, p->depth == 2 ? "ptr<ptr<%s%s>>" : "ptr<%s%s>", sign,
                 borg_type_text(p->elem));
    }
    borg_put(sink, "%s%s @%s", p->readonly ? " readonly" : "", p->restricted ? " restrict" : "",
             p->name);
}

void borg_print(borg_module *m, borg_sink *sink) {
    borg_number(m);
    borg_put(sink, "kernel @%s size %d pack %d order %s%s%s (", m->name, m->size, m->pack,
             m->order == BORG_WG_MINOR ? "wg" : "wi", m->strict ? " strict" : "",
             m->fast_rcp ? " fast_rcp" : "");
    for (int32_t i = 0; i < m->nparams; ++i) {
        if (i) borg_put(sink, ", ");
        print_param(&m->params[i], sink);
    }
    for (int32_t i = 0; i < m->nlocals; ++i) {
        const borg_local *d = &m->locals[i];
        borg_put(sink, "%s%s%s @%s[%d]", i ? ", " : ") local (", d->uns ? "u." : "",
                 borg_type_text(d->elem), d->name, d->count);
    }
    borg_put(sink, ") {\n");
    print_block(m, m->body, 1, sink);
    borg_put(sink, "}\n");
}

/* ---- the thesis's type aliases: every shape in use with the metadata of its lanes ------------ */

typedef struct shape {
    borg_type type;
    borg_spread spread;
    int32_t rows;
} shape;

static size_t collect_shapes(const borg_block *block, shape **shapes, size_t count,
                             size_t *capacity, borg_arena *arena) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        size_t i = 0;
        while (i < count && !((*shapes)[i].type == v->type && (*shapes)[i].spread == v->spread &&
                              (*shapes)[i].rows == v->rows))
            ++i;
        if (i == count && v->type != BORG_VOID && v->type != BORG_PTR) {
            *shapes = borg_grow(arena, *shapes, count + 1, capacity, sizeof **shapes);
            (*shapes)[count++] = (shape){v->type, v->spread, v->rows};
        }
        for (int i2 = 0; i2 < 2; ++i2)
            if (v->block[i2]) count = collect_shapes(v->block[i2], shapes, count, capacity, arena);
    }
    return count;
}

static void print_alias(const borg_module *m, size_t number, shape s, borg_sink *sink) {
    borg_inst v = {.type = s.type, .spread = s.spread, .rows = s.rows};
    int32_t lanes = borg_lanes(m, &v), rowlanes = borg_row_lanes(m, &v);
    borg_put(sink, "; %%IR%zu = type <%d x %s> metadata {ix, wi, wg} <{", number, lanes,
             borg_type_text(s.type));
    for (int32_t l = 0; l < lanes && l < 64; ++l) {
        int32_t r = l / rowlanes, in = l % rowlanes;
        bool wg_minor = m->order == BORG_WG_MINOR;
        int32_t g = s.spread == BORG_WG ? in : wg_minor ? in % m->pack : in / m->size;
        int32_t w = wg_minor ? in / m->pack : in % m->size;
        borg_put(sink, l ? ", {%d,%.*s" : "{%d,%.*s", r, s.spread == BORG_WI ? 0 : 1, "*");
        if (s.spread == BORG_WI) borg_put(sink, "%d", w);
        if (s.spread == BORG_UNI) {
            borg_put(sink, ",*}");
        } else {
            borg_put(sink, ",%d}", g);
        }
    }
    borg_put(sink, lanes > 64 ? ", ...}>\n" : "}>\n");
}

void borg_print_lanes(borg_module *m, borg_sink *sink) {
    shape *shapes = NULL;
    size_t capacity = 0, count = collect_shapes(m->body, &shapes, 0, &capacity, sink->arena);
    for (size_t i = 0; i < count; ++i) print_alias(m, i, shapes[i], sink);
    borg_print(m, sink);
}
