/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as halfs, and back. */
#include "borg/ir.h"
#include <math.h>

uint16_t borg_half_bits(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    if (x == 0) return sign;
    x = fabs(x);
    if (x != x) return 0x7e00;
    if (x >= 65520) return sign | 0x7c00;
    frexp(x, &e); /* 2^(e-1) <= x */
    if (e < -13) e = -13;
    const double last = ldexp(1, e - 11);
    const uint16_t whole = (uint16_t)nearbyint(x / last); /* up to 2048: carries into e */
    return (uint16_t)(sign | (uint16_t)(((e + 13) << 10) + whole));
}

double borg_half_value(uint16_t bits) {
    const int e = bits >> 10 & 31, m = bits & 1023;
    const double x =
        e == 31 ? (m ? (double)NAN : (double)INFINITY) : ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
    return bits & 0x8000 ? -x : x;
}
