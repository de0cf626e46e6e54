/* SPDX-License-Identifier: BSD-3-Clause */
/* cabs of all pairs of a number, zero, infinity and NaN, of either sign. */
#ifdef SINGLE
#define R float
#else
#define R double
#endif
static R part(int k, R x) { const R zero = x - x; return k == 0 ? x : k == 1 ? zero : k == 2 ? 1 / zero : k == 3 ? -1 / zero : zero / zero; }
__kernel void absolute(__global R *r, R x, int m) {
    long i = get_group_id() * WG_SIZE + get_local_id();
    r[i] = cabs(CMPLX(part((int)i % 5, x), part((int)i / 5 % 5, x * m)));
}
