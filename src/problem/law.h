/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_LAW_H
#define MPKI_PROBLEM_LAW_H
/** What makes entries those of a symmetric or Hermitian matrix, and what is said where they are
 *  not. Where both triangles are given an entry and its mirror image may differ by rounding:
 *  tolerance times the largest entry of their two rows. */
#include "../core/precision.h"
#include "assemble.h"

#include <math.h>
#include <stdio.h>

/** The larger part of an entry in modulus: as good a size as any, and it never overflows. */
static inline double part_size(T x) {
    return fmax(fabs((double)t_re(x)), fabs((double)t_im(x)));
}

/** The entry that is furthest from its mirror image, in terms of its rows' largest entry. */
typedef struct breach {
    double ratio; /* 0: none */
    double gap, scale;
    int32_t i, j;
    T lower, upper;
} breach;

/** scale[i], scale[j] at least the size of the entries (i, j) and (j, i). */
static inline void scale_by(double *scale, int32_t i, int32_t j, T lower, T upper) {
    const double size = fmax(part_size(lower), part_size(upper));
    scale[i] = fmax(scale[i], size);
    scale[j] = fmax(scale[j], size);
}

/** Entries (i, j) and (j, i); of the diagonal upper = lower. */
static inline void compare(const double *scale, int32_t i, int32_t j, T lower, T upper,
                           bool hermitian, breach *worst) {
    const T other = conj_if(hermitian, upper);
    if (lower == other) return;
    const double gap = part_size(lower - other), rows = fmax(scale[i], scale[j]);
    const double ratio = gap / rows; /* NaN of sums that overflow: the worst */
    if (ratio <= worst->ratio) return;
    *worst = (breach){ratio, gap, rows, i, j, lower, upper};
}

/** What is solved with. */
static inline T mean(T lower, T upper, bool hermitian) {
    const T other = conj_if(hermitian, upper);
    return lower == other ? lower : lower * (R)0.5 + other * (R)0.5;
}

static inline bool finite_entry(T x) {
    return isfinite(t_re(x)) && isfinite(t_im(x));
}

/* "file: " or nothing. */
static inline const char *source(const mpki_assembly *how) {
    return how->source ? how->source : "";
}
static inline const char *colon(const mpki_assembly *how) {
    return how->source ? ": " : "";
}

static inline mpk_status complain(mpk_context *ctx, const mpki_assembly *how, int32_t i, int32_t j,
                                  const char *what) {
    long long row = (long long)i + how->base, col = (long long)j + how->base;
    return mpki_error(ctx, MPK_ERR_INPUT, how->stage, row, "%s%srow %lld, column %lld: %s",
                      source(how), colon(how), row, col, what);
}

static inline mpk_status unsymmetric(mpk_context *ctx, const mpki_assembly *how, const breach *at,
                                     bool hermitian) {
    const long long row = (long long)at->i + how->base, col = (long long)at->j + how->base;
    const char *law = hermitian ? "Hermitian" : "symmetric";
    char lower[64], upper[64], rest[160];
    if (MPKI_COMPLEX) {
        snprintf(lower, sizeof lower, "(%.17g, %.17g)", (double)t_re(at->lower),
                 (double)t_im(at->lower));
        snprintf(upper, sizeof upper, "(%.17g, %.17g)", (double)t_re(at->upper),
                 (double)t_im(at->upper));
    } else {
        snprintf(lower, sizeof lower, "%.17g", (double)t_re(at->lower));
        snprintf(upper, sizeof upper, "%.17g", (double)t_re(at->upper));
    }
    snprintf(rest, sizeof rest,
             " (the difference %.3g is more than the tolerance, %.3g times the rows' largest entry "
             "%.3g: option symmetry_tolerance)",
             at->gap, how->tolerance, at->scale);
    if (at->i == at->j)
        return mpki_error(ctx, MPK_ERR_INPUT, how->stage, row,
                          "%s%srow %lld, column %lld is %s: a Hermitian matrix has a real "
                          "diagonal%s",
                          source(how), colon(how), row, col, lower, rest);
    return mpki_error(ctx, MPK_ERR_INPUT, how->stage, row,
                      "%s%srow %lld, column %lld is %s but row %lld, column %lld is %s: the matrix "
                      "is not %s%s",
                      source(how), colon(how), row, col, lower, col, row, upper, law, rest);
}

#endif
