/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SCALED_H
#define MPKI_SCALED_H
/** Entries times two scales whose product may be beyond the range of doubles, and the rules by
 *  which equilibration changes scales: the same on a processor and on a device. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MPKI_SCALED_FN static __host__ __device__ inline
#else
#define MPKI_SCALED_FN static inline
#endif

/** Are the products of any two such scales well inside the range? */
static inline bool mpki_scale_near(double s) {
    return (s > 0x1p-500) & (s < 0x1p+500);
}
static inline bool mpki_scales_near(int32_t n, const double *s) {
    bool all = true;
    for (int32_t i = 0; i < n; i++) all &= mpki_scale_near(s[i]);
    return all;
}

/** s a t, also where s t is beyond the range. */
MPKI_SCALED_FN double mpki_scaled(double a, double s, double t) {
    const double p = s * t;
    if (p > 0x1p-1000 && p < 0x1p+1000) return a * p;
    const double least = s < t ? s : t, most = s < t ? t : s;
    return fabs(a) < 1 ? a * most * least : a * least * most;
}

/** Sweeps of equilibration beyond those asked for, each of which halves the exponents of the rows'
 *  maxima, while some are not near 1. */
enum { MPKI_MORE_SWEEPS = 12 };

/** Is a row's largest entry m near 1? */
#define MPKI_EVEN_MOST 0x1p+16
#define MPKI_EVEN_LEAST 0x1p-16
MPKI_SCALED_FN bool mpki_even(double m) {
    return (m <= MPKI_EVEN_MOST) & ((m >= MPKI_EVEN_LEAST) | (m == 0));
}

/** What a scale may be. */
#define MPKI_SCALE_MOST 0x1p+1000
#define MPKI_SCALE_LEAST 0x1p-1000

/** The scale s of a row whose largest scaled entry is m > 0, after a sweep. */
MPKI_SCALED_FN double mpki_rescaled(double s, double m) {
    const double x = s / sqrt(m);
    return x < MPKI_SCALE_LEAST ? MPKI_SCALE_LEAST : x > MPKI_SCALE_MOST ? MPKI_SCALE_MOST : x;
}

#endif
