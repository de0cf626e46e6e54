/* SPDX-License-Identifier: BSD-3-Clause */
/* char, short and half: kept in registers as int and float, narrow in memory. All of it is made of
 * operations that every target has, so their bits are the same everywhere. */
#include "borg/lower/leaves.h"
#include <string.h>

static borg_inst *real(borg_lowerer *l, borg_type type, double x) {
    uint64_t bits = 0;
    const float f = (float)x;
    if (type == BORG_F32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &x, sizeof x);
    return borg_lower_const(l, type, bits);
}

static borg_inst *two(borg_lowerer *l, borg_op op, borg_inst *x, borg_inst *y) {
    return borg_lower_elem(l, op, x->type, x, y, NULL);
}

static borg_inst *with(borg_lowerer *l, borg_op op, borg_inst *x, int32_t y) {
    return two(l, op, x, borg_lower_int(l, y));
}

static borg_inst *choose(borg_lowerer *l, borg_inst *c, borg_inst *x, borg_inst *y) {
    return borg_lower_elem(l, BORG_SELECT, x->type, c, x, y);
}

static borg_inst *below(borg_lowerer *l, borg_inst *x, borg_inst *y) {
    return borg_lower_cmp(l, BORG_FCMP, BORG_LT, false, x, y);
}

static borg_inst *is(borg_lowerer *l, borg_inst *x, int32_t y) {
    return borg_lower_cmp(l, BORG_ICMP, BORG_EQ, false, x, borg_lower_int(l, y));
}

/* 2^k of an integer 0 <= k < 32. */
static borg_inst *power(borg_lowerer *l, borg_type type, borg_inst *k) {
    static const double factor[] = {2, 4, 16, 256, 65536};
    borg_inst *p = NULL;
    for (int32_t bit = 0; bit < 5; ++bit) {
        borg_inst *off = is(l, with(l, BORG_AND, k, 1 << bit), 0);
        borg_inst *f = choose(l, off, real(l, type, 1), real(l, type, factor[bit]));
        p = p ? two(l, BORG_FMUL, p, f) : f;
    }
    return p;
}

/* A double to the nearest half, even if there are two: a number is added whose last bit is worth
 * what a half's last bit is at that size, and taken off again. */
static borg_inst *to_half(borg_lowerer *l, borg_inst *x) {
    const borg_type f64 = BORG_F64;
    borg_inst *a = borg_lower_elem(l, BORG_FABS, f64, x, NULL, NULL);
    borg_inst *k =
        with(l, BORG_LSHR, borg_lower_elem(l, BORG_MAGNITUDE, BORG_I32, x, NULL, NULL), 20);
    k = with(l, BORG_SMIN, with(l, BORG_SMAX, with(l, BORG_SUB, k, 1023 - 14), 0), 31);
    borg_inst *m = two(l, BORG_FMUL, power(l, f64, k), real(l, f64, 1.5 * 0x1p28));
    borg_inst *r = two(l, BORG_FSUB, two(l, BORG_FADD, a, m), m);
    r = choose(l, below(l, real(l, f64, 65504), r), real(l, f64, 1e300 * 1e300), r);
    r = choose(l, below(l, x, real(l, f64, 0)), borg_lower_elem(l, BORG_FNEG, f64, r, NULL, NULL),
               r);
    borg_inst *zero = borg_lower_cmp(l, BORG_FCMP, BORG_EQ, false, x, real(l, f64, 0));
    return borg_lower_elem(l, BORG_FPTRUNC, BORG_F32, choose(l, zero, x, r), NULL, NULL);
}

borg_inst *borg_lower_narrow(borg_lowerer *l, borg_inst *v, borg_ctype from, borg_ctype to) {
    if (to == BORG_C_HALF) return to_half(l, borg_lower_convert(l, v, from, BORG_C_DOUBLE));
    const bool uns = to == BORG_C_UCHAR || to == BORG_C_USHORT;
    const int32_t width = to == BORG_C_CHAR || to == BORG_C_UCHAR ? 8 : 16;
    v = borg_lower_convert(l, v, from, BORG_C_INT);
    if (borg_ctype_float(from)) { /* saturates, as to int */
        v = with(l, BORG_SMAX, v, uns ? 0 : -(1 << (width - 1)));
        return with(l, BORG_SMIN, v, (1 << (uns ? width : width - 1)) - 1);
    }
    if (uns) return with(l, BORG_AND, v, (1 << width) - 1);
    return with(l, BORG_ASHR, with(l, BORG_SHL, v, 32 - width), 32 - width);
}

borg_inst *borg_lower_of_memory(borg_lowerer *l, borg_inst *bits, borg_ctype type) {
    if (type == BORG_C_CHAR || type == BORG_C_SHORT)
        return borg_lower_narrow(l, bits, BORG_C_INT, type);
    if (type != BORG_C_HALF) return bits;
    const borg_type f32 = BORG_F32;
    borg_inst *e = with(l, BORG_AND, with(l, BORG_LSHR, bits, 10), 31);
    borg_inst *m = with(l, BORG_AND, bits, 1023), *none = is(l, e, 0);
    borg_inst *whole = choose(l, none, m, with(l, BORG_ADD, m, 1024));
    borg_inst *x = borg_lower_elem(l, BORG_UITOFP, f32, whole, NULL, NULL);
    x = two(l, BORG_FMUL, two(l, BORG_FMUL, x, power(l, f32, with(l, BORG_SMAX, e, 1))),
            real(l, f32, 0x1p-25));
    borg_inst *infinity = real(l, f32, 1e300 * 1e300);
    borg_inst *last = choose(l, is(l, m, 0), infinity, two(l, BORG_FSUB, infinity, infinity));
    x = choose(l, is(l, e, 31), last, x);
    borg_inst *plus = is(l, with(l, BORG_AND, bits, 0x8000), 0);
    return choose(l, plus, x, borg_lower_elem(l, BORG_FNEG, f32, x, NULL, NULL));
}

borg_inst *borg_lower_to_memory(borg_lowerer *l, borg_inst *v, borg_ctype type) {
    if (type != BORG_C_HALF) return v;
    const borg_type f32 = BORG_F32;
    borg_inst *zero = real(l, f32, 0), *a = borg_lower_elem(l, BORG_FABS, f32, v, NULL, NULL);
    borg_inst *b = borg_lower_elem(l, BORG_MAGNITUDE, BORG_I32, v, NULL, NULL);
    borg_inst *normal = with(l, BORG_SUB, with(l, BORG_LSHR, b, 13), (127 - 15) << 10);
    borg_inst *tiny = borg_lower_elem(l, BORG_FPTOSI, BORG_I32,
                                      two(l, BORG_FMUL, a, real(l, f32, 0x1p24)), NULL, NULL);
    borg_inst *bits = choose(l, below(l, a, real(l, f32, 0x1p-14)), tiny, normal);
    bits = choose(l, below(l, real(l, f32, 65504), a), borg_lower_int(l, 0x7c00), bits);
    borg_inst *number = borg_lower_cmp(l, BORG_FCMP, BORG_EQ, false, v, v);
    bits = choose(l, number, bits, borg_lower_int(l, 0x7e00));
    /* the sign of a zero shows in its reciprocal */
    borg_inst *signs = choose(l, borg_lower_cmp(l, BORG_FCMP, BORG_EQ, false, v, zero),
                              two(l, BORG_FDIV, real(l, f32, 1), v), v);
    borg_inst *minus =
        choose(l, below(l, signs, zero), borg_lower_int(l, 0x8000), borg_lower_int(l, 0));
    return two(l, BORG_OR, bits, minus);
}
