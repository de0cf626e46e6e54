/* SPDX-License-Identifier: BSD-3-Clause */
/* floor, exp, log and pow, made of operations that every target has: so each target's results have
 * the interpreter's bits, as far as fused operations are not formed. Of floats all but floor are
 * computed in doubles and rounded. Nothing here branches or traps. */
#include "borg/lower/leaves.h"
#include <math.h>
#include <string.h>

#define L borg_lowerer *l
typedef borg_inst val;

static val *num(L, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return borg_lower_const(l, BORG_F64, bits);
}
static val *add(L, val *x, val *y) {
    return borg_lower_elem(l, BORG_FADD, x->type, x, y, NULL);
}
static val *sub(L, val *x, val *y) {
    return borg_lower_elem(l, BORG_FSUB, x->type, x, y, NULL);
}
static val *mul(L, val *x, val *y) {
    return borg_lower_elem(l, BORG_FMUL, x->type, x, y, NULL);
}
static val *quotient(L, val *x, val *y) {
    return borg_lower_elem(l, BORG_FDIV, x->type, x, y, NULL);
}
static val *fused(L, val *x, val *y, val *z) {
    return borg_lower_elem(l, BORG_FMA, x->type, x, y, z);
}
static val *minus(L, val *x) {
    return borg_lower_elem(l, BORG_FNEG, x->type, x, NULL, NULL);
}
static val *size_of(L, val *x) {
    return borg_lower_elem(l, BORG_FABS, x->type, x, NULL, NULL);
}
static val *is(L, borg_pred pred, val *x, val *y) {
    return borg_lower_cmp(l, BORG_FCMP, pred, false, x, y);
}
static val *choose(L, val *c, val *x, val *y) {
    return borg_lower_elem(l, BORG_SELECT, x->type, c, x, y);
}
static val *either(L, val *x, val *y) {
    return borg_lower_elem(l, BORG_OR, BORG_I1, x, y, NULL);
}

/* Of a float, or as a double. */
static val *like(L, val *x, double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return x->type == BORG_F32 ? borg_lower_const(l, BORG_F32, bits) : num(l, value);
}

/* Adding 2^52 (2^23) rounds a smaller number to an integer; what is larger is one. */
static val *floor_of(L, val *x) {
    val *unit = like(l, x, x->type == BORG_F32 ? 0x1p23 : 0x1p52), *zero = like(l, x, 0);
    val *near = sub(l, add(l, size_of(l, x), unit), unit);
    near = choose(l, is(l, BORG_LT, x, zero), minus(l, near), near);
    val *below = choose(l, is(l, BORG_GT, near, x), sub(l, near, like(l, x, 1)), near);
    val *small = is(l, BORG_LT, size_of(l, x), unit);
    return choose(l, borg_lower_and(l, small, is(l, BORG_NE, x, zero)), below, x);
}

/* The nearest integer of |x| < 2^51. */
static val *nearest(L, val *x) {
    val *unit = num(l, 0x1.8p52);
    return sub(l, add(l, x, unit), unit);
}

/* The upper half of a double without its sign, shifted, and some bits of it, as an integer. */
static val *upper(L, val *x, int shift, int mask) {
    val *bits = borg_lower_elem(l, BORG_MAGNITUDE, BORG_I32, x, NULL, NULL);
    bits = borg_lower_elem(l, BORG_LSHR, BORG_I32, bits, borg_lower_int(l, shift), NULL);
    return borg_lower_elem(l, BORG_AND, BORG_I32, bits, borg_lower_int(l, mask), NULL);
}

/* 2^k for an integer |k| < 1024, by powers of two; |k| + 2^20 has k's bits in its upper half. */
static val *power_of_two(L, val *k) {
    val *bits = upper(l, add(l, size_of(l, k), num(l, 0x1p20)), 0, 1023), *p = num(l, 1);
    for (int i = 0; i < 10; ++i) {
        val *bit = borg_lower_elem(l, BORG_AND, BORG_I32, bits, borg_lower_int(l, 1 << i), NULL);
        bit = borg_lower_cmp(l, BORG_ICMP, BORG_NE, false, bit, borg_lower_int(l, 0));
        p = choose(l, bit, mul(l, p, num(l, ldexp(1, 1 << i))), p);
    }
    return choose(l, is(l, BORG_LT, k, num(l, 0)), quotient(l, num(l, 1), p), p);
}

/* x 2^k for an integer |k| <= 1100, rounded once where x 2^(k/2) neither overflows nor is
 * subnormal. */
static val *scaled(L, val *x, val *k) {
    val *half = nearest(l, mul(l, k, num(l, 0.5)));
    val *rest = sub(l, k, add(l, half, half)), *p = power_of_two(l, half);
    val *q = choose(l, is(l, BORG_GT, rest, num(l, 0)), add(l, p, p), p);
    q = choose(l, is(l, BORG_LT, rest, num(l, 0)), mul(l, p, num(l, 0.5)), q);
    return mul(l, mul(l, x, p), q);
}

#define LN2_HIGH 0x1.62e42fefa38p-1 /* 42 bits: its multiples by exponents are exact */
#define LN2_LOW 0x1.ef35793c7673p-45

/* e^(x + low): x = k ln 2 + r, and r's series up to r^13 / 13!. low: NULL is 0. */
static val *exponential(L, val *x, val *low) {
    double factorial = 6227020800.0;                                    /* 13! */
    x = borg_lower_elem(l, BORG_FMAX, BORG_F64, x, num(l, -750), NULL); /* a NaN stays */
    x = borg_lower_elem(l, BORG_FMIN, BORG_F64, x, num(l, 720), NULL);
    val *k = nearest(l, mul(l, x, num(l, 0x1.71547652b82fep0)));
    val *r = fused(l, k, num(l, -LN2_LOW), fused(l, k, num(l, -LN2_HIGH), x));
    val *sum = num(l, 1 / factorial);
    if (low) r = add(l, r, low);
    for (int i = 13; i > 2; --i) {
        factorial /= i; /* (i - 1)! */
        sum = fused(l, sum, r, num(l, 1 / factorial));
    }
    return scaled(l, add(l, num(l, 1), fused(l, mul(l, r, r), sum, r)), k);
}

/* log x for finite x > 0 as h + *low, to some 2^-65: x = 2^e m, m between 0.7 and 1.42, s = (m - 1)
 * / (m + 1), log m = 2 (s + s^3 / 3 + ...). */
static val *logarithm(L, val *x, val **low) {
    val *tiny = is(l, BORG_LT, x, num(l, 0x1p-1022)), *one = num(l, 1);
    val *y = choose(l, tiny, mul(l, x, num(l, 0x1p54)), x), *high = upper(l, y, 20, 2047);
    val *e = borg_lower_elem(l, BORG_SITOFP, BORG_F64, high, NULL, NULL);
    e = sub(l, e, num(l, 1023));
    val *m = scaled(l, y, minus(l, e)), *large = is(l, BORG_GT, m, num(l, 0x1.6a09e667f3bcdp0));
    m = choose(l, large, mul(l, m, num(l, 0.5)), m);
    e = add(l, e, choose(l, large, one, num(l, 0)));
    e = sub(l, e, choose(l, tiny, num(l, 54), num(l, 0)));
    val *f = sub(l, m, one), *d = add(l, m, one), *lost = sub(l, m, sub(l, d, one));
    val *s = quotient(l, f, d), *back = minus(l, s); /* and rest is what s lacks */
    val *rest = quotient(l, fused(l, back, lost, fused(l, back, d, f)), d);
    val *z = mul(l, s, s), *cube = mul(l, z, s), *third = num(l, 2.0 / 3), *sum = num(l, 2.0 / 25);
    for (int i = 23; i > 3; i -= 2) sum = fused(l, sum, z, num(l, 2.0 / i));
    val *next = mul(l, cube, third); /* 2 s^3 / 3, and what it lacks */
    val *lack = fused(l, fused(l, s, s, minus(l, z)), s, fused(l, z, s, minus(l, cube)));
    lack =
        fused(l, lack, third,
              fused(l, cube, num(l, 0x1.5555555555555p-55), fused(l, cube, third, minus(l, next))));
    sum = fused(l, mul(l, cube, z), sum, lack);
    sum = add(l, sum, mul(l, rest, fused(l, z, num(l, 2), num(l, 2))));
    val *big = mul(l, e, num(l, LN2_HIGH)), *twice = add(l, s, s), *part = add(l, twice, next);
    val *h = add(l, big, part); /* big is larger than part, or 0 */
    val *error = add(l, sub(l, next, sub(l, part, twice)), sub(l, part, sub(l, h, big)));
    *low = add(l, sum, fused(l, e, num(l, LN2_LOW), error));
    return h;
}

static val *log_of(L, val *x) {
    val *low, *h = logarithm(l, x, &low), *zero = num(l, 0);
    val *y = choose(l, is(l, BORG_LT, x, num(l, INFINITY)), add(l, h, low), x);
    y = choose(l, is(l, BORG_EQ, x, zero), num(l, -INFINITY), y);
    return choose(l, is(l, BORG_LT, x, zero), num(l, NAN), y);
}

/* Special values as C's pow has them. */
static val *power(L, val *x, val *y) {
    val *zero = num(l, 0), *one = num(l, 1), *endless = num(l, INFINITY), *low;
    val *a = size_of(l, x), *h = logarithm(l, a, &low), *p = mul(l, y, h);
    val *within = is(l, BORG_LT, size_of(l, p), num(l, 800)); /* beyond, p decides */
    low = fused(l, y, low, fused(l, y, h, minus(l, p)));
    val *z = exponential(l, p, choose(l, within, low, zero));
    /* 0 and infinity, and to an infinite power */
    val *grows = is(l, BORG_GT, y, zero), *more = is(l, BORG_GT, a, one);
    val *up = choose(l, grows, endless, zero), *down = choose(l, grows, zero, endless);
    z = choose(l, is(l, BORG_EQ, size_of(l, y), endless), choose(l, more, up, down), z);
    z = choose(l, is(l, BORG_EQ, a, zero), down, z);
    z = choose(l, is(l, BORG_EQ, a, endless), up, z);
    z = choose(l, is(l, BORG_EQ, a, one), one, z);
    /* the sign: of odd powers */
    val *whole = is(l, BORG_EQ, floor_of(l, y), y), *half = mul(l, y, num(l, 0.5));
    val *odd = borg_lower_and(l, whole, is(l, BORG_NE, floor_of(l, half), half));
    val *negative = either(l, is(l, BORG_LT, x, zero), is(l, BORG_LT, quotient(l, one, x), zero));
    z = choose(l, borg_lower_and(l, negative, odd), minus(l, z), z);
    val *none = borg_lower_and(l, is(l, BORG_LT, x, zero), borg_lower_not(l, whole));
    none = borg_lower_and(l, none, is(l, BORG_LT, a, endless));
    none = either(l, none, either(l, is(l, BORG_NE, x, x), is(l, BORG_NE, y, y)));
    z = choose(l, none, num(l, NAN), z);
    return choose(l, either(l, is(l, BORG_EQ, y, zero), is(l, BORG_EQ, x, one)), one, z);
}

static val *widened(L, val *x) {
    return x->type == BORG_F32 ? borg_lower_elem(l, BORG_FPEXT, BORG_F64, x, NULL, NULL) : x;
}

borg_inst *borg_lower_math(borg_lowerer *l, borg_builtin which, borg_inst *x, borg_inst *y) {
    borg_type type = x->type;
    if (which == BORG_B_FLOOR) return floor_of(l, x);
    x = widened(l, x);
    val *z = which == BORG_B_EXP   ? exponential(l, x, NULL)
             : which == BORG_B_LOG ? log_of(l, x)
                                   : power(l, x, widened(l, y));
    return type == BORG_F64 ? z : borg_lower_elem(l, BORG_FPTRUNC, type, z, NULL, NULL);
}
