/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores: whole vectors where lanes follow each other in memory, else gathers and
 * scatters. */
#include "borg/emit/llvm/llvm.h"

typedef struct access {
    const borg_inst *v, *value;
    int32_t row, lanes, bytes;
    const char *type, *mask; /* of the row; NULL: all lanes */
} access;

/* Lanes that follow each other in memory, from one address. */
static bool contiguous(const ll *e, const borg_inst *v, const borg_inst *value) {
    int32_t size = ll_items(e, value->spread), pack = ll_groups(e, value->spread);
    if (v->op == BORG_LOAD || v->op == BORG_STORE) return false;
    if (v->args[1]->spread != BORG_UNI && pack > 1) return false;
    if (v->args[0]->spread != BORG_UNI && pack > 1) return false;
    if (size * pack == 1) return true;
    for (int32_t w = 0; w < size; ++w)
        for (int32_t g = 0; g < pack; ++g)
            if (v->b * w + v->a * g != ll_number(e, w, g, size)) return false;
    return true;
}

static const char *indices(ll *e, const access *a) {
    const borg_inst *v = a->v, *off = v->args[1];
    int32_t size = ll_items(e, a->value->spread), pack = ll_groups(e, a->value->spread);
    uint64_t *bits = BORG_NEW(e->arena, a->lanes, uint64_t);
    if ((v->op == BORG_LOAD || v->op == BORG_STORE) && off->type == BORG_I64)
        return ll_get(off, a->row);
    if (v->op == BORG_LOAD || v->op == BORG_STORE)
        return ll_let(e, "sext %s %s to %s", ll_type(e, BORG_I32, a->lanes), ll_get(off, a->row),
                      ll_type(e, BORG_I64, a->lanes));
    for (int32_t w = 0; w < size; ++w)
        for (int32_t g = 0; g < pack; ++g)
            bits[ll_number(e, w, g, size)] = (uint64_t)(v->c[a->row] + v->b * w + v->a * g);
    return ll_let(e, "add %s %s, %s", ll_type(e, BORG_I64, a->lanes),
                  ll_widen(e, off, 0, a->value->spread), ll_constant(e, BORG_I64, bits, a->lanes));
}

/* One lane. Where its mask is 0 a harmless place is read, or written, in place of its own. */
static void one_lane(ll *e, const access *a, borg_inst *result) {
    const char *p = ll_let(e, "getelementptr %s, ptr %s, i64 %s", a->type, ll_get(a->v->args[0], 0),
                           indices(e, a));
    if (result) {
        if (a->mask) p = ll_let(e, "select i1 %s, ptr %s, ptr @borg.zero", a->mask, p);
        ll_name(e, result, a->row, ll_let(e, "load %s, ptr %s, align %d", a->type, p, a->bytes));
    } else {
        if (a->mask) p = ll_let(e, "select i1 %s, ptr %s, ptr %%nowhere", a->mask, p);
        ll_line(e, "store %s %s, ptr %s, align %d", a->type, ll_get(a->value, a->row), p, a->bytes);
    }
}

static void whole(ll *e, const access *a, borg_inst *result) {
    const borg_inst *v = a->v;
    const char *off = ll_let(e, "add i64 %s, %lld", ll_get(v->args[1], 0), (long long)v->c[a->row]);
    const char *p = ll_let(e, "getelementptr %s, ptr %s, i64 %s", ll_type(e, a->value->type, 1),
                           ll_get(v->args[0], 0), off);
    const char *mt = ll_type(e, BORG_I1, a->lanes);
    if (result && a->mask) {
        const char *f = ll_intrinsic(e, "masked.load", a->value->type, a->lanes, a->type,
                                     borg_format(e->arena, "ptr, i32, %s, %s", mt, a->type));
        ll_name(e, result, a->row,
                ll_let(e, "call %s %s(ptr %s, i32 %d, %s %s, %s zeroinitializer)", a->type, f, p,
                       a->bytes, mt, a->mask, a->type));
    } else if (result) {
        ll_name(e, result, a->row, ll_let(e, "load %s, ptr %s, align %d", a->type, p, a->bytes));
    } else if (a->mask) {
        const char *f = ll_intrinsic(e, "masked.store", a->value->type, a->lanes, "void",
                                     borg_format(e->arena, "%s, ptr, i32, %s", a->type, mt));
        ll_line(e, "call void %s(%s %s, ptr %s, i32 %d, %s %s)", f, a->type,
                ll_get(a->value, a->row), p, a->bytes, mt, a->mask);
    } else {
        ll_line(e, "store %s %s, ptr %s, align %d", a->type, ll_get(a->value, a->row), p, a->bytes);
    }
}

/* x with zeros behind it, `wide` lanes. */
static const char *padded(ll *e, borg_type type, const char *x, int32_t lanes, int32_t wide) {
    int32_t *from = BORG_NEW(e->arena, wide, int32_t);
    if (lanes == wide) return x;
    for (int32_t i = 0; i < wide; ++i) from[i] = i < lanes ? i : lanes;
    return ll_shuffle(e, type, x, "zeroinitializer", lanes, from, wide);
}

/* Gathers and scatters are filled up to a power of two lanes. LLVM 16 fills up others with
 * undefined indices, and may then put the index into the result's register, which processors
 * refuse. */
static void scattered(ll *e, const access *a, borg_inst *result) {
    int32_t lanes = a->lanes, wide = 1;
    while (wide < lanes) wide *= 2;
    const char *pt = ll_type(e, BORG_PTR, wide), *mt = ll_type(e, BORG_I1, wide);
    const char *type = ll_type(e, a->value->type, wide);
    const char *base =
        padded(e, BORG_PTR, ll_widen(e, a->v->args[0], 0, a->value->spread), lanes, wide);
    const char *index = padded(e, BORG_I64, indices(e, a), lanes, wide);
    const char *p = ll_let(e, "getelementptr %s, %s %s, %s %s", ll_type(e, a->value->type, 1), pt,
                           base, ll_type(e, BORG_I64, wide), index);
    const char *mask =
        padded(e, BORG_I1, a->mask ? a->mask : ll_splat(e, BORG_I1, 1, lanes), lanes, wide);
    if (result) {
        const char *f = ll_intrinsic(e, "masked.gather", a->value->type, wide, type,
                                     borg_format(e->arena, "%s, i32, %s, %s", pt, mt, type));
        const char *got = ll_let(e, "call %s %s(%s %s, i32 %d, %s %s, %s zeroinitializer)", type, f,
                                 pt, p, a->bytes, mt, mask, type);
        int32_t *from = BORG_NEW(e->arena, lanes, int32_t);
        for (int32_t i = 0; i < lanes; ++i) from[i] = i;
        if (lanes < wide)
            got = ll_shuffle(e, a->value->type, got, "zeroinitializer", wide, from, lanes);
        ll_name(e, result, a->row, got);
    } else {
        const char *f = ll_intrinsic(e, "masked.scatter", a->value->type, wide, "void",
                                     borg_format(e->arena, "%s, %s, i32, %s", type, pt, mt));
        ll_line(e, "call void %s(%s %s, %s %s, i32 %d, %s %s)", f, type,
                padded(e, a->value->type, ll_get(a->value, a->row), lanes, wide), pt, p, a->bytes,
                mt, mask);
    }
}

void ll_memory(ll *e, borg_inst *v) {
    const borg_inst *value = borg_stored(v), *mask = borg_mask(v);
    borg_inst *result = value ? NULL : v;
    if (v->op == BORG_BARRIER) return;
    if (!value) value = v;
    for (int32_t r = 0; r < value->rows; ++r) {
        access a = {.v = v, .value = value, .row = r, .lanes = ll_lanes(e, value)};
        a.bytes = borg_type_bytes(value->type);
        a.type = ll_type(e, value->type, a.lanes);
        a.mask = mask ? ll_get(mask, r) : NULL;
        if (a.lanes == 1) {
            one_lane(e, &a, result);
        } else if (contiguous(e, v, value)) {
            whole(e, &a, result);
        } else {
            scattered(e, &a, result);
        }
    }
}
