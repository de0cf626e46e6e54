/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of LLVM IR: names, types, constants, lanes. */
#include "borg/emit/llvm/llvm.h"
#include <inttypes.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

int32_t ll_items(const ll *e, borg_spread spread) {
    return spread == BORG_WI ? e->m->size : 1;
}

int32_t ll_groups(const ll *e, borg_spread spread) {
    return spread == BORG_UNI ? 1 : e->m->pack;
}

int32_t ll_lanes(const ll *e, const borg_inst *v) {
    return ll_items(e, v->spread) * ll_groups(e, v->spread);
}

int32_t ll_number(const ll *e, int32_t w, int32_t g, int32_t size) {
    return e->m->order == BORG_WG_MINOR ? w * e->m->pack + g : g * size + w;
}

const char *ll_get(const borg_inst *v, int32_t row) {
    return ((const char *const *)v->aux)[row];
}

void ll_name(ll *e, borg_inst *v, int32_t row, const char *name) {
    if (!v->aux) v->aux = BORG_NEW(e->arena, v->rows, const char *);
    ((const char **)v->aux)[row] = name;
}

const char *ll_type(ll *e, borg_type type, int32_t lanes) {
    static const char *const text[] = {"void", "i1", "i32", "i64", "float", "double", "ptr"};
    return lanes == 1 ? text[type] : borg_format(e->arena, "<%d x %s>", lanes, text[type]);
}

void ll_line(ll *e, const char *format, ...) {
    va_list arguments;
    borg_put(e->out, "  ");
    va_start(arguments, format);
    borg_vput(e->out, format, arguments);
    va_end(arguments);
    borg_put(e->out, "\n");
}

const char *ll_let(ll *e, const char *format, ...) {
    va_list arguments;
    const char *name = borg_format(e->arena, "%%t%d", e->temps++);
    borg_put(e->out, "  %s = ", name);
    va_start(arguments, format);
    borg_vput(e->out, format, arguments);
    va_end(arguments);
    borg_put(e->out, "\n");
    return name;
}

/* ---- constants ------------------------------------------------------------------------------- */

static const char *literal(ll *e, borg_type type, uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float f;
    double x;
    switch (type) {
    case BORG_I1:
        return bits & 1 ? "true" : "false";
    case BORG_I32:
        return borg_format(e->arena, "%" PRId32, (int32_t)low);
    case BORG_F32: /* written as the double of that value */
        memcpy(&f, &low, sizeof f);
        x = (double)f;
        memcpy(&bits, &x, sizeof bits);
        return borg_format(e->arena, "0x%016" PRIX64, bits);
    case BORG_F64:
        return borg_format(e->arena, "0x%016" PRIX64, bits);
    case BORG_PTR:
        return "null";
    default:
        return borg_format(e->arena, "%" PRId64, (int64_t)bits);
    }
}

const char *ll_constant(ll *e, borg_type type, const uint64_t *bits, int32_t lanes) {
    bool zero = true;
    if (lanes == 1) return literal(e, type, bits[0]);
    for (int32_t i = 0; i < lanes; ++i) zero = zero && bits[i] == 0;
    if (zero) return "zeroinitializer";
    borg_sink text = {.arena = e->arena};
    for (int32_t i = 0; i < lanes; ++i)
        borg_put(&text, "%s%s %s", i ? ", " : "<", ll_type(e, type, 1), literal(e, type, bits[i]));
    borg_put(&text, ">");
    return text.text;
}

const char *ll_splat(ll *e, borg_type type, uint64_t bits, int32_t lanes) {
    uint64_t *list = BORG_NEW(e->arena, lanes, uint64_t);
    for (int32_t i = 0; i < lanes; ++i) list[i] = bits;
    return ll_constant(e, type, list, lanes);
}

const char *ll_intrinsic(ll *e, const char *name, borg_type type, int32_t lanes, const char *result,
                         const char *arguments) {
    static const char *const text[] = {"", "i1", "i32", "i64", "f32", "f64", "p0"};
    const char *full = lanes == 1
                           ? borg_format(e->arena, "@llvm.%s.%s", name, text[type])
                           : borg_format(e->arena, "@llvm.%s.v%d%s", name, lanes, text[type]);
    bool whole = strcmp(name, "masked.load") == 0 || strcmp(name, "masked.store") == 0;
    if (whole || strncmp(name, "masked.", 7) == 0) /* the type of the address, too */
        full = whole ? borg_format(e->arena, "%s.p0", full)
                     : borg_format(e->arena, "%s.v%dp0", full, lanes);
    const char *line = borg_format(e->arena, "declare %s %s(%s)\n", result, full, arguments);
    for (size_t i = 0; i < e->ndeclared; ++i)
        if (strcmp(e->declared[i], line) == 0) return full;
    e->declared =
        borg_grow(e->arena, e->declared, e->ndeclared + 1, &e->capacity, sizeof *e->declared);
    e->declared[e->ndeclared++] = line;
    return full;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

const char *ll_shuffle(ll *e, borg_type type, const char *x, const char *y, int32_t lanes,
                       const int32_t *from, int32_t count) {
    bool same = count == lanes && !y;
    const char *t = ll_type(e, type, lanes);
    for (int32_t i = 0; i < count; ++i) same = same && (from[i] == i || from[i] < 0);
    if (same) return x;
    if (lanes == 1 && !y) return ll_spread(e, type, x, count);
    if (lanes == 1) { /* two scalars */
        const char *v = "poison", *to = ll_type(e, type, count);
        for (int32_t i = 0; i < count; ++i)
            if (count == 1) {
                return from[0] == 1 ? y : x;
            } else if (from[i] >= 0) {
                v = ll_let(e, "insertelement %s %s, %s %s, i32 %d", to, v, t, from[i] ? y : x, i);
            }
        return v;
    }
    if (count == 1) {
        bool second = from[0] >= lanes;
        return ll_let(e, "extractelement %s %s, i32 %d", t, second ? y : x,
                      from[0] < 0 ? 0 : from[0] % lanes);
    }
    borg_sink mask = {.arena = e->arena};
    for (int32_t i = 0; i < count; ++i)
        borg_put(&mask, from[i] < 0 ? "%si32 undef" : "%si32 %d", i ? ", " : "<", from[i]);
    return ll_let(e, "shufflevector %s %s, %s %s, <%d x i32> %s>", t, x, t, y ? y : "poison", count,
                  mask.text);
}

const char *ll_spread(ll *e, borg_type type, const char *scalar, int32_t lanes) {
    if (lanes == 1) return scalar;
    const char *t = ll_type(e, type, lanes);
    const char *one =
        ll_let(e, "insertelement %s poison, %s %s, i32 0", t, ll_type(e, type, 1), scalar);
    return ll_let(e, "shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", t, one, t,
                  lanes);
}

const char *ll_widen(ll *e, const borg_inst *v, int32_t row, borg_spread spread) {
    int32_t items = ll_items(e, spread), groups = ll_groups(e, spread);
    int32_t *from = BORG_NEW(e->arena, items * groups, int32_t);
    if (v->spread == spread) return ll_get(v, row);
    for (int32_t w = 0; w < items; ++w)
        for (int32_t g = 0; g < groups; ++g)
            from[ll_number(e, w, g, items)] = v->spread == BORG_WG ? g : 0;
    return ll_shuffle(e, v->type, ll_get(v, row), NULL, ll_lanes(e, v), from, items * groups);
}
