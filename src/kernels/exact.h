/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_EXACT_H
#define MPKI_EXACT_H
/** Products and sums of doubles together with their rounding errors (Dekker 1971; Knuth 1969). A
 * file that includes this must be compiled without floating-point contraction. */
#include <math.h>

/** a b = *high + *low, unless something over- or underflows. */
static inline void exact_product(double a, double b, double *high, double *low) {
    const double p = a * b;
    *high = p;
#ifdef __FP_FAST_FMA
    *low = __builtin_fma(a, b, -p);
#else /* halves of 26 bits: their products have no rounding error */
    const double unit = 0x1p27 + 1, ta = unit * a, tb = unit * b;
    const double ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
    *low = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/** *sum + *low += x: only rounding in the last bit of *low is lost. */
static inline void exact_add(double x, double *sum, double *low) {
    const double s = *sum + x, t = s - *sum;
    *low += (*sum - (s - t)) + (x - t);
    *sum = s;
}

/** *sum + *low += a b */
static inline void exact_add_product(double a, double b, double *sum, double *low) {
    double p, e;
    exact_product(a, b, &p, &e);
    exact_add(p, sum, low);
    *low += e;
}

#endif
