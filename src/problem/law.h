/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_LAW_H
#define MPKI_PROBLEM_LAW_H
/** What makes entries those of a symmetric or Hermitian matrix, and what is said where they are
 *  not: the one place where this is decided. Where both triangles are given an entry and its mirror
 *  image may differ by rounding. Sums of rounded products, as finite elements are assembled from,
 *  leave some eps of sqrt(a_ii a_jj), also where they cancel and both entries are nothing but that;
 *  so a difference is rounding if it is small beside the larger of the two entries, or very small
 *  beside the geometric mean of their rows' sizes and small beside the smaller of these. The larger
 *  row alone proves nothing: a coupling of +b against -b disappears in a row of large units. */
#include "../core/precision.h"
#include "assemble.h"
#include "skew.h"

#include <math.h>
#include <stdio.h>

/** The larger part of an entry in modulus: as good a size as any, and it never overflows. */
static inline double part_size(T x) {
    return fmax(fabs((double)t_re(x)), fabs((double)t_im(x)));
}

/** Where rows have nothing but rounding their sizes say nothing: they are made negative, and then
 *  those with an entry that counts positive again. Call negate() and, of all pairs, count_in(). */
static inline void negate(int32_t n, double *scale) {
    for (int32_t i = 0; i < n; i++) scale[i] = -scale[i];
}
static inline void count_in(double *scale, int32_t i, int32_t j, T lower, T upper) {
    const double size = fmax(part_size(lower), part_size(upper));
    const double rows = fmax(fabs(scale[i]), fabs(scale[j]));
    if (!(size > 4 * (double)R_EPS * rows)) return;
    scale[i] = fabs(scale[i]);
    scale[j] = fabs(scale[j]);
}

/** How far an entry and its mirror image may be apart; r_i, r_j: the largest entries of their rows.
 *  By default pairs max(|a_ij|, |a_ji|), or the lesser of pairs min(r_i, r_j) and
 *  noise sqrt(r_i r_j). A tolerance of the caller's own: that times max(r_i, r_j). */
typedef struct law {
    double given; /* the caller's; below 0: none */
    double pairs, noise;
} law;

static inline law law_of(double given) {
    return sizeof(R) == sizeof(float) ? (law){given, 1e-4, 1e-5} : (law){given, 1.5e-6, 1e-11};
}

/** The difference that rounding may leave of a pair. noise_alone: what it leaves as a rule; more is
 *  taken for rounding, too, but told. */
static inline double allowed(const law *l, bool noise_alone, double size, double ri, double rj) {
    const double pairs = noise_alone ? l->noise : l->pairs;
    if (l->given >= 0 && !noise_alone) return l->given * fmax(fabs(ri), fabs(rj));
    if (ri < 0) ri = fabs(rj);
    if (rj < 0) rj = ri;
    return fmax(pairs * size, fmin(l->pairs * fmin(ri, rj), l->noise * (sqrt(ri) * sqrt(rj))));
}

/** The entry that is furthest from its mirror image, in terms of what is allowed. */
typedef struct breach {
    double ratio;            /* 0: none; above 1: no rounding */
    double gap, bound, rows; /* rows: the larger of their rows' sizes */
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
static inline void compare(const law *l, const double *scale, int32_t i, int32_t j, T lower,
                           T upper, bool hermitian, breach *worst) {
    const T other = conj_if(hermitian, upper);
    if (lower == other) return;
    const double gap = part_size(lower - other), size = fmax(part_size(lower), part_size(upper));
    const double bound = allowed(l, false, size, scale[i], scale[j]);
    const double ratio = gap / bound; /* NaN of sums that overflow: the worst */
    if (ratio <= worst->ratio) return;
    *worst = (breach){ratio, gap, bound, fmax(fabs(scale[i]), fabs(scale[j])), i, j, lower, upper};
}

/** What is solved with. */
static inline T mean(T lower, T upper, bool hermitian) {
    const T other = conj_if(hermitian, upper);
    return lower == other ? lower : lower * (R)0.5 + other * (R)0.5;
}

/** Count a pair that differs; false: by no more than the rounding of these numbers themselves. */
static inline bool count_apart(const law *l, const double *scale, int32_t i, int32_t j, T lower,
                               T upper, bool hermitian, mpk_asymmetry *a) {
    const T other = conj_if(hermitian, upper);
    const double gap = part_size(lower - other), size = fmax(part_size(lower), part_size(upper));
    if (gap <= 4 * (double)R_EPS * size) return false;
    a->pairs++;
    if (gap > allowed(l, true, size, scale[i], scale[j])) a->rough++;
    a->apart = fmax(a->apart, gap / size);
    return true;
}

/** Keep what a pair differs by from its mean, the entry `entry` of column j. On the diagonal the
 *  law is Hermitian, and upper = lower. Returns MPK_OK | MPK_ERR_MEMORY */
static inline mpk_status keep_apart(mpk_context *ctx, const char *stage, const law *l,
                                    const double *scale, int64_t entry, int32_t i, int32_t j,
                                    T lower, T upper, bool hermitian, mpki_skew **skew) {
    mpk_asymmetry told = mpki_asymmetry_of(*skew);
    if (!count_apart(l, scale, i, j, lower, upper, hermitian, &told)) return MPK_OK;
    const T stored = i == j ? t_make(t_re(lower), 0) : mean(lower, upper, hermitian);
    const T low = lower - stored, high = upper - conj_if(hermitian, stored);
    if (mpk_failed(FN(skew_push)(ctx, stage, entry, j, &low, &high, skew))) return mpki_failed(ctx);
    (*skew)->rough = told.rough;
    (*skew)->apart = told.apart;
    return MPK_OK;
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
    char lower[64], upper[64], rest[200];
    if (MPKI_COMPLEX) {
        snprintf(lower, sizeof lower, "(%.17g, %.17g)", (double)t_re(at->lower),
                 (double)t_im(at->lower));
        snprintf(upper, sizeof upper, "(%.17g, %.17g)", (double)t_re(at->upper),
                 (double)t_im(at->upper));
    } else {
        snprintf(lower, sizeof lower, "%.17g", (double)t_re(at->lower));
        snprintf(upper, sizeof upper, "%.17g", (double)t_re(at->upper));
    }
    if (how->tolerance >= 0)
        snprintf(rest, sizeof rest,
                 " (the difference %.3g is more than the tolerance, %.3g times the rows' largest "
                 "entry %.3g: option symmetry_tolerance)",
                 at->gap, how->tolerance, at->rows);
    else
        snprintf(rest, sizeof rest,
                 " (the difference %.3g is more than rounding leaves, %.3g: give one triangle, or "
                 "solve it as a general matrix, or set symmetry_tolerance)",
                 at->gap, at->bound);
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
