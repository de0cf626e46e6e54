/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_LAW_H
#define MPKI_PROBLEM_LAW_H
/** When entries are those of a symmetric or Hermitian matrix, and the error if they are not. */
#include "../core/precision.h"
#include "assemble.h"

static inline bool agree(T lower, T upper, bool hermitian) {
    T other = conj_if(hermitian, upper);
    R larger = fmax(t_abs(lower), t_abs(other));
    if (!isfinite(larger)) { /* a modulus beyond the type, of parts that are not */
        lower *= (R)0.25, other *= (R)0.25;
        larger = fmax(t_abs(lower), t_abs(other));
    }
    return t_abs(lower - other) <= 10 * R_EPS * larger;
}

static inline bool diagonal_real(T d) {
    return r_abs(t_im(d)) <= 10 * R_EPS * r_abs(t_re(d));
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

static inline mpk_status unsymmetric(mpk_context *ctx, const mpki_assembly *how, int32_t i,
                                     int32_t j, T lower, T upper, bool hermitian) {
    long long row = (long long)i + how->base, col = (long long)j + how->base;
    const char *law = hermitian ? "Hermitian" : "symmetric";
    if (MPKI_COMPLEX)
        return mpki_error(
            ctx, MPK_ERR_INPUT, how->stage, row,
            "%s%srow %lld, column %lld is (%.17g, %.17g) but row %lld, column %lld is "
            "(%.17g, %.17g): the matrix is not %s",
            source(how), colon(how), row, col, (double)t_re(lower), (double)t_im(lower), col, row,
            (double)t_re(upper), (double)t_im(upper), law);
    return mpki_error(ctx, MPK_ERR_INPUT, how->stage, row,
                      "%s%srow %lld, column %lld is %.17g but row %lld, column %lld is %.17g: the "
                      "matrix is not %s",
                      source(how), colon(how), row, col, (double)t_re(lower), col, row,
                      (double)t_re(upper), law);
}

#endif
