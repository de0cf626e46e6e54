/* SPDX-License-Identifier: BSD-3-Clause */
/* When the pivots of a system will do: the same on the processor and on a device. */
#include "object.h"

#include <math.h>

mpki_lanes_rules mpki_systems_rules(const mpk_systems *s) {
    const mpk_options *o = &s->options;
    const mpk_scalar scalar = s->an->scalar;
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double eps = single ? 0x1p-23 : 0x1p-52;
    /* The single engine looks again at pivots that may be rounding; here such systems go to it, from a
     * bound on that is wider than its own: with the same one 27 of 2400 singular matrices were told
     * as regular that it finds singular (test_outcomes.c), with this none; of 80 000 up to order 29
     * 14. Regular ones in bench/results/systems.md stay with the template all the same. */
    const double wider = single ? 1e3 : 2e4;
    return (mpki_lanes_rules){.bound = 1 / fmax(o->pivot_threshold, eps),
                              .small = o->zero_tolerance >= 0 ? o->zero_tolerance
                                                              : mpki_default_zero_tolerance(scalar),
                              .noise = wider * eps / 2 * sqrt((double)s->an->n + 1)};
}
