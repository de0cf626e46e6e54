/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the scaling of a factorization. */
#include "../analysis/block/block.h"
#include "../core/pool.h"
#include "../problem/columns.h"
#include "factor.h"

#include <math.h>
#include <string.h>

/* With scaling off A is left as it is, unless its largest entry is beyond these or their inverses:
 * the factors would over- or underflow. */
static const double MOST = 0x1p300, MOST_SINGLE = 0x1p40;

static bool single(const mpk_analysis *an) {
    return an->scalar == MPK_S || an->scalar == MPK_C;
}

/* By the factor's precision, which on blocks may be less than A's. */
static double range_of(const mpk_analysis *an, const mpk_options *options) {
    const mpk_scalar stored = mpki_stored_scalar(an->scalar, an->options.method, options);
    return stored == MPK_S || stored == MPK_C ? MOST_SINGLE : MOST;
}

/* Passes over entries and rows: by ranges of them, where there are threads. */
enum { ENTRIES_EACH = 1 << 15, ROWS_EACH = 1 << 12, WORTH_THREADS = 100000 };

typedef struct pass {
    const mpk_analysis *an;
    const char *ax;
    double *absval, *scale;
} pass;

static int64_t items_of(int64_t count, int64_t each) {
    return (count + each - 1) / each;
}

static void moduli_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const pass *p = arg;
    const int64_t begin = item * ENTRIES_EACH, left = p->an->nnz - begin;
    const size_t size = mpk_scalar_size(p->an->scalar);
    MPKI_DISPATCH(p->an->scalar, column_moduli)
    (left < ENTRIES_EACH ? left : ENTRIES_EACH, p->ax + (size_t)begin * size, p->absval + begin);
}

/* Round to powers of two (the nearest, from the bits): scaling then commits no rounding error. */
static void round_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const mpk_analysis *an = ((const pass *)arg)->an;
    double *scale = ((const pass *)arg)->scale;
    const double sqrt2 = 1.4142135623730951;
    const double most = single(an) ? 0x1p120 : 0x1p1000;
    const int64_t all = mpki_scales(an), begin = item * ROWS_EACH;
    for (int64_t i = begin; i < begin + ROWS_EACH && i < all; i++) {
        double x = scale[i] > 0 ? scale[i] * sqrt2 : 1;
        x = x < 1 / most ? 1 / most : x > most ? most : x;
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits &= UINT64_C(0x7ff) << 52;
        memcpy(&scale[i], &bits, sizeof bits);
    }
}

static void to_powers_of_two(const mpk_analysis *an, mpki_pool *pool, double *scale) {
    pass p = {.an = an, .scale = scale};
    mpki_pool_for(pool, 0, items_of(mpki_scales(an), ROWS_EACH), round_item, &p);
}

/* One power of two for all rows; and the largest entry after it. */
static double shift_range(const mpk_analysis *an, double range, const double *entry,
                          double *scale) {
    double most = 0, s = 1;
    int exponent = 0;
    for (int64_t k = 0; k < an->nnz; k++)
        if (fabs(entry[k]) > most) most = fabs(entry[k]);
    if (most > range || (most > 0 && most < 1 / range)) {
        frexp(most, &exponent);
        s = ldexp(1, -exponent / 2);
    }
    for (int64_t i = 0; i < mpki_scales(an); i++) scale[i] = s;
    return most > 0 ? most * s * s : 1;
}

mpk_status mpki_find_scaling_there(mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    if (!mpki_computes_there(fac) || fac->options.scaling == MPK_OFF)
        return mpki_find_scaling(fac->ctx, an, &fac->options, fac->ax, false, fac->scale,
                                 &fac->size);
    for (int32_t i = 0; i < an->n; i++) fac->scale[i] = an->scale ? an->scale[i] : 1;
    fac->size = 1;
    const mpk_status status =
        fac->engine->vectors->equilibrate(fac->matrix, an->scale ? 1 : 4, fac->scale);
    if (!mpk_failed(status)) to_powers_of_two(an, NULL, fac->scale);
    return status;
}

mpk_status mpki_find_scaling(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                             const void *ax, bool rescaled, double *scale, double *size) {
    const double *matched = rescaled ? NULL : an->scale;
    /* of real numbers in double the signs do not matter: no copy of them is made */
    const bool copied = an->scalar != MPK_D || an->symmetry == MPK_GENERAL;
    double *absval = copied ? MPKI_NEW(ctx, "factorize", an->nnz, double) : NULL;
    if (copied && !absval) return mpki_failed(ctx);
    const double *entry = copied ? absval : ax;
    const bool several =
        an->nnz >= WORTH_THREADS && mpki_context_threads(ctx, options->threads) > 1;
    mpki_pool *pool = several ? mpki_context_pool(ctx, options->threads, 1) : NULL;
    pass p = {.an = an, .ax = ax, .absval = absval};
    mpki_pool_for(pool, 0, copied ? items_of(an->nnz, ENTRIES_EACH) : 0, moduli_item, &p);
    for (int64_t i = 0; i < mpki_scales(an); i++) scale[i] = matched ? matched[i] : 1;
    *size = 1;
    mpk_status status = MPK_OK;
    if (options->scaling == MPK_OFF) {
        *size = shift_range(an, range_of(an, options), entry, scale);
    } else if (an->symmetry == MPK_GENERAL) {
        status = mpki_equilibrate_rows(ctx, an->n, an->ap, an->ai, absval, matched ? 1 : 4,
                                       options->threads, scale);
        to_powers_of_two(an, pool, scale);
    } else {
        const bool level = rescaled && !an->scale_far;
        if (level) status = mpki_level(ctx, an->n, an->ap, an->ai, entry, scale);
        if (!mpk_failed(status))
            status = mpki_equilibrate(ctx, an->n, an->ap, an->ai, entry, matched || level ? 1 : 4,
                                      options->threads, scale);
        to_powers_of_two(an, pool, scale);
    }
    mpki_release(ctx, absval);
    return status;
}

mpk_status mpki_scale_outer(mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const mpki_split *split = an->split;
    const int32_t n = an->n, outer = mpki_split_rows(split);
    const int64_t count = outer ? mpki_split_entries(split) : 0;
    double *scale = fac->scale + n;
    if (outer == 0) return MPK_OK;
    double *absval = MPKI_NEW(fac->ctx, "factorize", count, double);
    if (!absval) return mpki_failed(fac->ctx);
    MPKI_DISPATCH(an->scalar, column_moduli)(count, mpki_outer_values(fac, false), absval);
    for (int32_t i = 0; i < outer; i++) scale[i] = 0;
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = split->ap[j]; k < split->ap[j + 1]; k++) {
            const double size = absval[k] * fac->scale[j];
            if (size > scale[split->ai[k]]) scale[split->ai[k]] = size;
        }
    for (int32_t i = 0; i < outer; i++) {
        const double most = single(an) ? 0x1p80 : 0x1p600; /* times size, that is in range */
        int exponent = 0;
        if (scale[i] > 0 && scale[i] < most && scale[i] > 1 / most) frexp(scale[i], &exponent);
        scale[i] = ldexp(fac->size, -exponent);
    }
    mpki_release(fac->ctx, absval);
    return MPK_OK;
}

/* How far apart two scalings must be to be tried both, as in the analysis; for single precision,
 * whose zero pivots are up to 5e-6. */
static const double FAR = 1000, FAR_SINGLE = 10;

mpk_status mpki_scalings_differ(const mpk_factor *fac, bool *far) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const mpk_options *o = &fac->options;
    *far = an->scale_far && o->scaling == MPK_AUTO;
    if (*far || an->scale_far || o->scaling == MPK_OFF) return MPK_OK;
    double *other = MPKI_NEW(ctx, "factorize", an->n, double), size, least = INFINITY, most = 0;
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_find_scaling(ctx, an, o, fac->ax, !fac->rescaled, other, &size);
    for (int32_t i = 0; !mpk_failed(status) && i < an->n; i++) {
        const double ratio = other[i] / fac->scale[i];
        least = fmin(least, ratio), most = fmax(most, ratio);
    }
    mpki_release(ctx, other);
    *far = most > (single(an) ? FAR_SINGLE : FAR) * least;
    return status;
}
