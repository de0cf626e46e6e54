/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the text form of InfReg-IR. Any text is survived: the first error ends the parse. */
#include "borg/ir_reader.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_ROWS = BORG_MAX_ROWS, MAX_TABLE = 1 << 20 };

/* ---- values by number ------------------------------------------------------------------------ */

static borg_ir_entry *find(borg_ir_entry *table, size_t capacity, int64_t id) {
    size_t at = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);
    while (table[at].inst && table[at].id != id) at = (at + 1) & (capacity - 1);
    return &table[at];
}

static void define(borg_ir_reader *r, int64_t id, borg_inst *inst) {
    if (2 * (r->count + 1) > r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 256;
        borg_ir_entry *table = BORG_NEW(r->arena, capacity, borg_ir_entry);
        for (size_t i = 0; i < r->capacity; ++i)
            if (r->table[i].inst) *find(table, capacity, r->table[i].id) = r->table[i];
        r->table = table;
        r->capacity = capacity;
    }
    borg_ir_entry *e = find(r->table, r->capacity, id);
    if (e->inst) {
        borg_ir_fail(r, "this value is defined twice");
        return;
    }
    *e = (borg_ir_entry){id, inst};
    ++r->count;
}

static borg_inst *take_value(borg_ir_reader *r) {
    if (r->kind != BORG_IR_VALUE) {
        borg_ir_fail(r, "expected a value");
        return NULL;
    }
    borg_inst *inst = r->capacity ? find(r->table, r->capacity, r->number)->inst : NULL;
    if (!inst) {
        borg_ir_fail(r, "this value is not defined before its use");
        return NULL;
    }
    borg_ir_advance(r);
    return inst;
}

/* ---- shapes and payloads --------------------------------------------------------------------- */

static borg_type take_type(borg_ir_reader *r) {
    for (int t = BORG_I1; t <= BORG_PTR; ++t)
        if (borg_ir_accept(r, borg_type_text((borg_type)t))) return (borg_type)t;
    borg_ir_fail(r, "expected a type: i1 i32 i64 f32 f64 ptr");
    return BORG_I32;
}

/* uni<f64>, wi<4 x f64> */
static bool take_shape(borg_ir_reader *r, borg_inst *v) {
    int s = BORG_UNI;
    while (s <= BORG_WI && !borg_ir_is(r, borg_spread_text((borg_spread)s))) ++s;
    if (s > BORG_WI) return borg_ir_fail(r, "expected a shape: uni<..>, wg<..>, wi<..>");
    borg_ir_advance(r);
    v->spread = (borg_spread)s;
    v->rows = 1;
    if (!borg_ir_expect(r, "<")) return false;
    if (r->kind == BORG_IR_NUMBER) {
        v->rows = (int32_t)borg_ir_take_int(r, 1, MAX_ROWS);
        if (!borg_ir_expect(r, "x")) return false;
    }
    v->type = take_type(r);
    return borg_ir_expect(r, ">");
}

static uint64_t take_bits(borg_ir_reader *r, borg_type type) {
    bool inf = borg_ir_is(r, "inf");
    if (r->kind != BORG_IR_NUMBER && !inf) {
        borg_ir_fail(r, "expected a number");
        return 0;
    }
    char *copy = borg_copy_text(r->arena, r->start, r->length), *rest = copy;
    uint64_t bits = 0;
    errno = 0;
    if (borg_is_float(type) && r->length > 1 && copy[0] == '0' && copy[1] == 'x') {
        bits = strtoull(copy, &rest, 16);
        if (type == BORG_F32 && bits > UINT32_MAX) errno = ERANGE;
    } else if (type == BORG_F32) {
        float value = strtof(copy, &rest);
        uint32_t low;
        memcpy(&low, &value, sizeof low);
        bits = low;
        errno = 0; /* underflow is a number, too */
    } else if (type == BORG_F64) {
        double value = strtod(copy, &rest);
        memcpy(&bits, &value, sizeof bits);
        errno = 0;
    } else {
        long long value = strtoll(copy, &rest, 10);
        if ((type == BORG_I32 && (value < INT32_MIN || value > INT32_MAX)) ||
            (type == BORG_I1 && (value < 0 || value > 1)))
            errno = ERANGE;
        bits = type == BORG_I32 ? (uint32_t)value : (uint64_t)value;
    }
    if (*rest || errno) {
        borg_ir_fail(r, "this number does not fit its type");
        return 0;
    }
    borg_ir_advance(r);
    return bits;
}

static void take_const(borg_ir_reader *r, borg_inst *v) {
    if (!borg_ir_accept(r, "{")) {
        v->ntable = 1;
        v->bits = BORG_NEW(r->arena, 1, uint64_t);
        v->bits[0] = take_bits(r, v->type);
        return;
    }
    int64_t count = (int64_t)v->rows * (v->spread == BORG_WI ? r->b.module->size : 1);
    if (count > MAX_TABLE || count < 2) {
        borg_ir_fail(r, "no table of this length");
        return;
    }
    v->ntable = (int32_t)count;
    v->bits = BORG_NEW(r->arena, count, uint64_t);
    for (int64_t i = 0; i < count && !r->failed; ++i) {
        if (i) borg_ir_expect(r, ",");
        v->bits[i] = take_bits(r, v->type);
    }
    borg_ir_expect(r, "}");
}

static int32_t *take_list(borg_ir_reader *r, int64_t count) {
    if (count > MAX_TABLE) {
        borg_ir_fail(r, "too many lanes");
        return NULL;
    }
    int32_t *list = BORG_NEW(r->arena, count, int32_t);
    borg_ir_expect(r, "{");
    for (int64_t i = 0; i < count && !r->failed; ++i) {
        if (i) borg_ir_expect(r, ",");
        list[i] = (int32_t)borg_ir_take_int(r, INT32_MIN, INT32_MAX);
    }
    borg_ir_expect(r, "}");
    return list;
}

static void take_affine(borg_ir_reader *r, borg_inst *v) {
    const borg_inst *value = v->op == BORG_STOREA && v->nargs > 2 ? v->args[2] : v;
    int32_t rows = value->rows;
    if (!borg_ir_expect(r, "a")) return;
    v->a = borg_ir_take_int(r, INT64_MIN, INT64_MAX);
    if (!borg_ir_expect(r, ",") || !borg_ir_expect(r, "b")) return;
    v->b = borg_ir_take_int(r, INT64_MIN, INT64_MAX);
    if (!borg_ir_expect(r, ",") || !borg_ir_expect(r, "c") || !borg_ir_expect(r, "{")) return;
    v->c = BORG_NEW(r->arena, rows ? rows : 1, int64_t);
    for (int32_t i = 0; i < rows && !r->failed; ++i) {
        if (i) borg_ir_expect(r, ",");
        v->c[i] = borg_ir_take_int(r, INT64_MIN, INT64_MAX);
    }
    borg_ir_expect(r, "}");
}

static void take_map(borg_ir_reader *r, borg_inst *v) {
    if (!borg_ir_expect(r, "map")) return;
    int64_t per_row = v->op == BORG_ROWS ? 1 : v->op == BORG_LANE ? 2 : 2 * r->b.module->size;
    v->map = take_list(r, per_row * v->rows);
}

static void take_param_reference(borg_ir_reader *r, borg_inst *v) {
    char *name = borg_ir_take_name(r, BORG_IR_GLOBAL);
    borg_module *m = r->b.module;
    for (int32_t i = 0; i < m->nparams; ++i) {
        if (strcmp(m->params[i].name, name) == 0) {
            v->index = i;
            return;
        }
    }
    borg_ir_fail(r, "no parameter of this name");
}

static void take_local_reference(borg_ir_reader *r, borg_inst *v) {
    char *name = borg_ir_take_name(r, BORG_IR_GLOBAL);
    borg_module *m = r->b.module;
    for (int32_t i = 0; i < m->nlocals; ++i) {
        if (strcmp(m->locals[i].name, name) == 0) {
            v->index = i;
            return;
        }
    }
    borg_ir_fail(r, "no local array of this name");
}

/* %1, %2, mask %3, map {..}: operands, then what else the operation has */
static void take_operands(borg_ir_reader *r, borg_inst *v) {
    borg_inst *args[MAX_ROWS];
    int32_t count = 0;
    bool more = r->kind == BORG_IR_VALUE && borg_op_table[v->op].operands != 0;
    while (more && !r->failed) {
        if (count == MAX_ROWS) {
            borg_ir_fail(r, "too many operands");
            break;
        }
        borg_ir_accept(r, "mask");
        args[count++] = take_value(r);
        more = borg_ir_accept(r, ",") && (r->kind == BORG_IR_VALUE || borg_ir_is(r, "mask"));
    }
    if (r->failed) return;
    v->nargs = count;
    v->args = count ? BORG_NEW(r->arena, count, borg_inst *) : NULL;
    if (count) memcpy(v->args, args, (size_t)count * sizeof *args);
    if (v->op == BORG_LOADA || v->op == BORG_STOREA) take_affine(r, v);
    if (v->op == BORG_ROWS || v->op == BORG_PERM || v->op == BORG_LANE) take_map(r, v);
    if (v->op == BORG_RESULT || v->op == BORG_MMA)
        v->index = (int32_t)borg_ir_take_int(r, 0, MAX_TABLE);
}

static void take_metadata(borg_ir_reader *r, borg_inst *v) {
    if (r->kind != BORG_IR_PUNCT || r->length < 2 || r->start[0] != '!') return;
    v->name = borg_ir_take_text(r) + 1;
    if (borg_ir_is(r, "{") && v->type != BORG_VOID) v->ix = take_list(r, v->rows);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static borg_op take_op(borg_ir_reader *r, bool *uns) {
    size_t length = r->length;
    *uns = length > 2 && r->start[length - 2] == '.' && r->start[length - 1] == 'u';
    if (*uns) length -= 2;
    for (int op = 0; r->kind == BORG_IR_WORD && op < BORG_NOPS; ++op) {
        const char *text = borg_op_table[op].text;
        if (strlen(text) == length && memcmp(text, r->start, length) == 0) {
            borg_ir_advance(r);
            return (borg_op)op;
        }
    }
    borg_ir_fail(r, "no operation of this name");
    return BORG_BARRIER;
}

static void take_block(borg_ir_reader *r, borg_block *block);

static void take_blocks(borg_ir_reader *r, borg_inst *v) {
    borg_builder saved = r->b;
    if (++r->depth > MAX_DEPTH) borg_ir_fail(r, "nested too deeply");
    for (int i = 0; i < 2 && !r->failed; ++i) {
        v->block[i] = borg_block_new(r->b.module, v);
        if (i) borg_ir_expect(r, v->op == BORG_LOOP ? "do" : "else");
        if (borg_ir_expect(r, "{")) take_block(r, v->block[i]);
    }
    --r->depth;
    r->b = saved;
}

static void take_inst(borg_ir_reader *r) {
    int64_t id = -1;
    r->b.loc = borg_ir_place(r);
    if (r->kind == BORG_IR_VALUE) {
        id = r->number;
        borg_ir_advance(r);
        borg_ir_expect(r, "=");
    }
    bool uns, has_id = id >= 0;
    borg_op op = take_op(r, &uns);
    if (r->failed) return;
    borg_inst *v = borg_emit(&r->b, op, BORG_VOID, BORG_UNI, 0, 0);
    v->uns = uns;
    if (op == BORG_ICMP || op == BORG_FCMP) {
        int pred = BORG_EQ;
        while (pred <= BORG_GE && !borg_ir_accept(r, borg_pred_text((borg_pred)pred))) ++pred;
        if (pred > BORG_GE) borg_ir_fail(r, "expected a comparison: eq ne lt le gt ge");
        v->pred = (borg_pred)(pred > BORG_GE ? BORG_EQ : pred);
    }
    bool control = op == BORG_LOOP || op == BORG_IF;
    if (has_id && !control) take_shape(r, v);
    if (op == BORG_LOOP && borg_ir_accept(r, "trip")) v->trip = borg_ir_take_int(r, 0, INT64_MAX);
    if (op == BORG_PARAM) {
        take_param_reference(r, v);
    } else if (op == BORG_LOCAL) {
        take_local_reference(r, v);
    } else if (op == BORG_CONST) {
        take_const(r, v);
    } else {
        take_operands(r, v);
    }
    take_metadata(r, v);
    if (control) take_blocks(r, v);
    if (has_id && !r->failed) define(r, id, v);
}

static void take_block(borg_ir_reader *r, borg_block *block) {
    r->b.block = block;
    r->b.before = NULL;
    while (!r->failed && !borg_ir_is(r, "}")) {
        if (r->kind == BORG_IR_END) {
            borg_ir_fail(r, "the text ends inside a block");
            return;
        }
        take_inst(r);
        r->b.block = block;
    }
    borg_ir_expect(r, "}");
}

/* ---- kernels --------------------------------------------------------------------------------- */

static borg_type take_elem(borg_ir_reader *r, bool pointer, bool *uns) {
    static const struct {
        const char *text;
        borg_type type;
        bool uns;
    } narrow[] = {{"i8", BORG_I8, false},
                  {"i16", BORG_I16, false},
                  {"f16", BORG_F16, false},
                  {"u.i8", BORG_I8, true},
                  {"u.i16", BORG_I16, true}};
    for (size_t i = 0; pointer && i < sizeof narrow / sizeof *narrow; ++i)
        if (borg_ir_accept(r, narrow[i].text)) return *uns = narrow[i].uns, narrow[i].type;
    *uns = borg_ir_is(r, "u.i32") || borg_ir_is(r, "u.i64");
    if (!*uns) return take_type(r);
    borg_type type = borg_ir_is(r, "u.i32") ? BORG_I32 : BORG_I64;
    borg_ir_advance(r);
    return type;
}

static void take_param(borg_ir_reader *r, borg_param *p) {
    if (borg_ir_accept(r, "ptr")) {
        borg_ir_expect(r, "<");
        p->depth = 1;
        if (borg_ir_accept(r, "ptr")) {
            borg_ir_expect(r, "<");
            p->depth = 2;
        }
        p->elem = take_elem(r, true, &p->uns);
        p->type = BORG_PTR;
        borg_ir_expect(r, ">");
        if (p->depth == 2) borg_ir_expect(r, ">");
        if (borg_ir_accept(r, "readonly")) p->readonly = true;
        if (borg_ir_accept(r, "restrict")) p->restricted = true;
    } else {
        p->type = take_elem(r, false, &p->uns);
        p->elem = BORG_VOID;
    }
    p->name = borg_ir_take_name(r, BORG_IR_GLOBAL);
}

static void take_header(borg_ir_reader *r, borg_module *m) {
    if (borg_ir_accept(r, "strict")) m->strict = true;
    if (borg_ir_accept(r, "fast_rcp")) m->fast_rcp = true;
    size_t capacity = 0;
    borg_ir_expect(r, "(");
    while (!r->failed && !borg_ir_is(r, ")")) {
        if (m->nparams) borg_ir_expect(r, ",");
        m->params =
            borg_grow(r->arena, m->params, (size_t)m->nparams + 1, &capacity, sizeof *m->params);
        take_param(r, &m->params[m->nparams]);
        for (int32_t i = 0; i < m->nparams && !r->failed; ++i)
            if (strcmp(m->params[i].name, m->params[m->nparams].name) == 0)
                borg_ir_fail(r, "two parameters of one name");
        ++m->nparams;
    }
    borg_ir_expect(r, ")");
}

/* local (f64 @u[36], u.i32 @row[8]) */
static void take_locals(borg_ir_reader *r, borg_module *m) {
    size_t capacity = 0;
    if (!borg_ir_accept(r, "local")) return;
    borg_ir_expect(r, "(");
    do {
        m->locals =
            borg_grow(r->arena, m->locals, (size_t)m->nlocals + 1, &capacity, sizeof *m->locals);
        borg_local *d = &m->locals[m->nlocals];
        d->elem = take_elem(r, false, &d->uns);
        d->name = borg_ir_take_name(r, BORG_IR_GLOBAL);
        borg_ir_expect(r, "[");
        d->count = (int32_t)borg_ir_take_int(r, 1, BORG_MAX_ROWS);
        borg_ir_expect(r, "]");
        if (!borg_is_int(d->elem) && !borg_is_float(d->elem))
            borg_ir_fail(r, "no type of an array");
        for (int32_t i = 0; i < m->nlocals && !r->failed; ++i)
            if (strcmp(m->locals[i].name, d->name) == 0)
                borg_ir_fail(r, "two local arrays of one name");
        ++m->nlocals;
    } while (!r->failed && borg_ir_accept(r, ","));
    borg_ir_expect(r, ")");
}

static borg_module *take_kernel(borg_ir_reader *r) {
    borg_ir_expect(r, "kernel");
    char *name = borg_ir_take_name(r, BORG_IR_GLOBAL);
    borg_ir_expect(r, "size");
    int32_t size = (int32_t)borg_ir_take_int(r, 1, BORG_MAX_SIZE);
    borg_ir_expect(r, "pack");
    int32_t pack = (int32_t)borg_ir_take_int(r, 1, BORG_MAX_PACK);
    borg_ir_expect(r, "order");
    borg_order order = borg_ir_accept(r, "wg") ? BORG_WG_MINOR : BORG_WI_MINOR;
    if (order == BORG_WI_MINOR) borg_ir_expect(r, "wi");
    if (r->failed) return NULL;
    borg_module *m = borg_module_new(r->arena, name, size, pack, order);
    r->b = (borg_builder){.module = m, .block = m->body};
    take_header(r, m);
    take_locals(r, m);
    if (borg_ir_expect(r, "{")) {
        r->b.block = m->body;
        /* the closing brace is looked at, not passed: the caller learns where the kernel ends */
        while (!r->failed && !borg_ir_is(r, "}")) {
            if (r->kind == BORG_IR_END)
                return borg_ir_fail(r, "the text ends inside a kernel"), NULL;
            take_inst(r);
        }
    }
    return r->failed ? NULL : m;
}

borg_module *borg_parse(borg_arena *arena, const char *text, size_t length, borg_diags *diags,
                        size_t *end) {
    borg_ir_reader r = {
        .arena = arena, .diags = diags, .text = text, .end = text + length, .at = text};
    r.line_start = text;
    r.line = 1;
    borg_ir_advance(&r);
    borg_module *m = take_kernel(&r);
    if (!m) return NULL;
    if (end) {
        borg_ir_skip_blanks(&r);
        *end = (size_t)(r.at - text);
    } else {
        borg_ir_advance(&r);
        if (r.kind != BORG_IR_END) return borg_ir_fail(&r, "expected the end of the text"), NULL;
    }
    return borg_verify(m, "parsing", diags) ? m : NULL;
}
