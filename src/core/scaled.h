/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SCALED_H
#define MPKI_SCALED_H
/** Entries times two scales whose product may be beyond the range of doubles. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/** Are the products of any two such scales well inside the range? */
static inline bool mpki_scale_near(double s) {
    return s > 0x1p-500 && s < 0x1p+500;
}
static inline bool mpki_scales_near(int32_t n, const double *s) {
    bool all = true;
    for (int32_t i = 0; i < n; i++) all &= mpki_scale_near(s[i]);
    return all;
}

/** s a t, also where s t is beyond the range. */
static inline double mpki_scaled(double a, double s, double t) {
    const double p = s * t;
    if (p > 0x1p-1000 && p < 0x1p+1000) return a * p;
    const double least = s < t ? s : t, most = s < t ? t : s;
    return fabs(a) < 1 ? a * most * least : a * least * most;
}

#endif
