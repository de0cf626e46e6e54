/* SPDX-License-Identifier: BSD-3-Clause */
/* When the pivots of a system will do: the same on the processor and on a device. */
#include "object.h"

#include <math.h>

mpki_lanes_rules mpki_systems_rules(const mpk_systems *s) {
    const mpk_options *o = &s->options;
    const mpk_scalar scalar = s->an->scalar;
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double eps = single ? 0x1p-23 : 0x1p-52, unit = eps / 2 * sqrt((double)s->an->n + 1);
    const double bound = 1 / fmax(o->pivot_threshold, eps);
    /* The single engine looks again at pivots that may be rounding; here such systems go to it, from a
     * bound on that is wider than its own, and with pivots that L may have enlarged rounding to: with
     * these no one of 2400 singular matrices is told as regular that it finds singular
     * (test_outcomes.c), of 80 000 up to order 29 four. Regular ones in bench/results/systems.md stay
     * with the template all the same. */
    const double wider = single ? 1e3 : 2e4, margin = 1024;
    /* What threshold pivoting keeps small is |L| |D| |L|^T, by |L| <= 1/u; that is measured here
     * itself, and may be 1/100 eps^(-1/3) times as large: what a step of refinement mends. */
    return (mpki_lanes_rules){
        .bound = bound,
        .stress = 0.01 * pow(eps, -1.0 / 3) * bound,
        .rounding = margin * unit,
        .noise = wider * unit,
        .small = o->zero_tolerance >= 0 ? o->zero_tolerance : mpki_default_zero_tolerance(scalar)};
}
