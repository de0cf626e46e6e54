/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_SYSTEMS_ENTRY_H
#define MPKI_CPU_SYSTEMS_ENTRY_H
/** An entry of all lanes in registers, for kernels that are compiled without contraction. */
#include "kernels/isa.h"
#include "kernels/vector.h"
#include "lanes.h"

enum { EL = PARTS * LANES }; /* reals of an entry of all lanes */

typedef struct entry {
    vec re;
#if MPKI_COMPLEX
    vec im;
#endif
} entry;

#if MPKI_PRECISION == 0 || MPKI_PRECISION == 2
typedef int32_t lane_int;
#else
typedef int64_t lane_int;
#endif
typedef lane_int mask __attribute__((vector_size(VBYTES))); /* -1: true, 0: false */

INLINE vec v_pick(mask m, vec yes, vec no) {
    return (vec)(((mask)yes & m) | ((mask)no & ~m));
}
INLINE vec v_ones(mask m) {
    return v_pick(m, v_all(1), v_all(0));
}
INLINE vec v_size(vec x) { /* |x| by its bits */
    const mask sign = (mask)v_all((R)-0.0);
    return (vec)((mask)x & ~sign);
}
INLINE vec v_root(vec x) {
    for (int q = 0; q < LANES; q++) x[q] = r_sqrt(x[q]);
    return x;
}

INLINE entry e_load(const R *p) {
    entry x;
    x.re = v_load(p);
#if MPKI_COMPLEX
    x.im = v_load(p + LANES);
#endif
    return x;
}
INLINE void e_store(R *p, entry x) {
    v_store(p, x.re);
#if MPKI_COMPLEX
    v_store(p + LANES, x.im);
#endif
}
INLINE entry e_zero(void) {
    return (entry){.re = v_all(0)};
}
INLINE entry e_real(vec x) {
    return (entry){.re = x};
}
INLINE entry e_conj(entry x, bool conjugate) {
#if MPKI_COMPLEX
    if (conjugate) x.im = -x.im;
#endif
    (void)conjugate;
    return x;
}
INLINE entry e_add(entry x, entry y) {
    x.re += y.re;
#if MPKI_COMPLEX
    x.im += y.im;
#endif
    return x;
}
INLINE entry e_sub(entry x, entry y) {
    x.re -= y.re;
#if MPKI_COMPLEX
    x.im -= y.im;
#endif
    return x;
}
INLINE entry e_scaled(entry x, vec s) {
    x.re *= s;
#if MPKI_COMPLEX
    x.im *= s;
#endif
    return x;
}
INLINE entry e_mul(entry x, entry y) {
#if MPKI_COMPLEX
    return (entry){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
#else
    return (entry){x.re * y.re};
#endif
}
/* c - x y */
INLINE entry e_less(entry c, entry x, entry y) {
    c.re -= x.re * y.re;
#if MPKI_COMPLEX
    c.re += x.im * y.im;
    c.im -= x.re * y.im;
    c.im -= x.im * y.re;
#endif
    return c;
}
/* The larger part of an entry, as t_abs1() of a complex one within sqrt(2) of its modulus. */
INLINE vec e_most(entry x) {
    vec m = v_size(x.re);
#if MPKI_COMPLEX
    m = v_max(v_size(x.im), m);
#endif
    return m;
}
INLINE vec e_modulus(entry x) {
#if MPKI_PRECISION == 2 /* squares of floats underflow where errors are still looked at */
    const vec a = v_size(x.re), b = v_size(x.im), most = v_max(a, b);
    const vec q = v_pick(b < a, b, a) / most;
    return v_pick(most == 0, v_all(0), most * v_root(1 + q * q));
#elif MPKI_COMPLEX
    return v_root(x.re * x.re + x.im * x.im);
#else
    return v_size(x.re);
#endif
}
INLINE entry e_inverse(entry x) {
#if MPKI_COMPLEX
    const vec s = 1 / (x.re * x.re + x.im * x.im);
    return (entry){x.re * s, -x.im * s};
#else
    return (entry){1 / x.re};
#endif
}

/* Where the real e * EL of an array begins. */
INLINE R *at(void *array, int64_t e) {
    return (R *)array + e * EL;
}
INLINE const R *at_const(const void *array, int64_t e) {
    return (const R *)array + e * EL;
}

#endif
