/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of VRPTX: lines, registers, literals, values by lane. */
#include "borg/emit/vrptx/core.h"
#include <inttypes.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

static void put_line(borg_sink *out, const char *format, va_list arguments) {
    borg_put(out, "    ");
    borg_vput(out, format, arguments);
    borg_put(out, ";\n");
}

void vx_line(vx *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_line(e->out, format, arguments);
    va_end(arguments);
}

void vx_once(vx *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_line(&e->first, format, arguments);
    va_end(arguments);
}

char vx_letter(borg_type type) {
    return "?prlfdl"[type];
}

const char *vx_new(vx *e, borg_type type) {
    if (type == BORG_PTR) type = BORG_I64;
    return borg_format(e->arena, "%%%c%d", vx_letter(type), e->registers[type]++);
}

const char *vx_type(borg_type type) {
    static const char *const text[] = {"?", "pred", "b32", "b64", "f32", "f64", "b64"};
    return text[type];
}

const char *vx_get(const borg_inst *v, int32_t row) {
    return ((const char *const *)v->aux)[row];
}

void vx_name(vx *e, borg_inst *v, int32_t row, const char *name) {
    if (!v->aux) v->aux = BORG_NEW(e->arena, v->rows, const char *);
    ((const char **)v->aux)[row] = name;
}

const char *vx_literal(vx *e, borg_type type, uint64_t bits) {
    switch (type) {
    case BORG_I1:
        return bits & 1 ? "1" : "0";
    case BORG_I32:
        return borg_format(e->arena, "%" PRId32, (int32_t)(uint32_t)bits);
    case BORG_F32:
        return borg_format(e->arena, "0f%08" PRIx32, (uint32_t)bits);
    case BORG_F64:
        return borg_format(e->arena, "0d%016" PRIx64, bits);
    default:
        return borg_format(e->arena, "%" PRId64, (int64_t)bits);
    }
}

const char *vx_in_register(vx *e, borg_type type, const char *text) {
    if (*text == '%') return text;
    const char *name = vx_new(e, type);
    vx_line(e, "mov.%s %s, %s", vx_type(type), name, text);
    return name;
}

const char *vx_widen(vx *e, const char *predicate) {
    const char *word = vx_new(e, BORG_I32);
    vx_line(e, "selp.b32 %s, 1, 0, %s", word, predicate);
    return word;
}

const char *vx_narrow(vx *e, const char *word) {
    const char *p = vx_new(e, BORG_I1);
    vx_line(e, "setp.ne.s32 %s, %s, 0", p, word);
    return p;
}

/* ---- by lane ---------------------------------------------------------------------------------- */

static const char *table_like(vx *e, borg_type type, const uint64_t *bits) {
    const int32_t n = e->m->size;
    for (vx_table *t = e->known; t; t = t->next)
        if (t->type == type && memcmp(t->bits, bits, (size_t)n * sizeof *bits) == 0) return t->name;
    vx_table *t = BORG_NEW(e->arena, 1, vx_table);
    uint64_t *copy = BORG_NEW(e->arena, n, uint64_t);
    memcpy(copy, bits, (size_t)n * sizeof *bits);
    *t = (vx_table){copy, type, borg_format(e->arena, "b_t%d", e->ntables++), e->known};
    e->known = t;
    borg_put(&e->tables, "    .const .%s %s[%d] = {", vx_type(type), t->name, n);
    for (int32_t w = 0; w < n; ++w)
        borg_put(&e->tables, "%s%s", w ? ", " : "", vx_literal(e, type, bits[w]));
    borg_put(&e->tables, "};\n");
    return t->name;
}

/* One lane of its own kind, or the lanes below one: a comparison. NULL: no such thing. */
static const char *compared(vx *e, const uint64_t *bits) {
    const int32_t n = e->m->size;
    int32_t ones = 0, first = n, changes = 0, odd = 0;
    for (int32_t w = 0; w < n; ++w) {
        ones += bits[w] & 1;
        if (w && (bits[w] & 1) != (bits[w - 1] & 1)) {
            ++changes;
            first = w;
        }
    }
    const bool one = ones == 1;
    for (int32_t w = 0; w < n; ++w)
        if ((bits[w] & 1) == one) odd = w;
    if (changes != 1 && !one && ones != n - 1) return NULL;
    const char *p = vx_new(e, BORG_I1);
    if (changes == 1)
        vx_line(e, "setp.%s.u32 %s, $tid, %d", bits[0] & 1 ? "lt" : "ge", p, first);
    else
        vx_line(e, "setp.%s.u32 %s, $tid, %d", one ? "eq" : "ne", p, odd);
    return p;
}

const char *vx_by_lane(vx *e, borg_type type, const uint64_t *bits) {
    bool same = true, own = type == BORG_I32;
    for (int32_t w = 0; w < e->m->size; ++w) {
        same = same && bits[w] == bits[0];
        own = own && bits[w] == (uint64_t)w;
    }
    if (same) return vx_literal(e, type, bits[0]);
    if (own) return "$tid";
    if (type == BORG_I1) {
        const char *p = compared(e, bits);
        if (p) return p;
    }
    borg_type as = type == BORG_I1 ? BORG_I32 : type;
    const char *name = vx_new(e, as), *table = table_like(e, as, bits);
    vx_line(e, "ld.const.%s %s, [%s + $tid]", vx_type(as), name, table);
    return type == BORG_I1 ? vx_narrow(e, name) : name;
}
