/* SPDX-License-Identifier: BSD-3-Clause */
/* A direct factor in single precision of a matrix in double: its values, applications, and what it
 * tells. A complex entry is two numbers here. */
#include "narrow.h"
#include "../core/scaled.h"

#include <float.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* Numbers of an entry. */
static int parts_of(const mpk_factor *fac) {
    return fac->an->scalar == MPK_Z ? 2 : 1;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool mpki_narrow_ones(mpk_factor *fac) {
    if (fac->ones) return true;
    fac->ones = MPKI_NEW(fac->ctx, STAGE, fac->an->n, double);
    for (int32_t i = 0; fac->ones && i < fac->an->n; i++) fac->ones[i] = 1;
    return fac->ones != NULL;
}

void *mpki_narrow_values(mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const double *s = fac->scale, *ax = fac->ax;
    const int parts = parts_of(fac);
    float *out = mpki_narrow_ones(fac) ? MPKI_NEW(ctx, STAGE, an->nnz * parts, float) : NULL;
    bool beyond = false;
    if (!out) return NULL;
    for (int32_t j = 0; j < an->n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++) {
            for (int64_t p = k * parts; p < (k + 1) * parts; p++) {
                const double x = mpki_scaled(ax[p], s[j], s[an->ai[k]]);
                beyond |= !(fabs(x) <= FLT_MAX);
                out[p] = fabs(x) >= FLT_MIN ? (float)x : 0;
            }
        }
    if (!beyond) return out;
    mpki_release(ctx, out);
    mpki_error(ctx, MPK_ERR_NUMERIC, STAGE, -1, "an entry is too large for single precision");
    return NULL;
}

/* ---- applications ---------------------------------------------------------------------------- */

enum { TOGETHER = 64 /* vectors that have room at once */ };

/* Of one solve. */
typedef struct narrow_work {
    mpki_direct_solver *solver;
    float *x; /* n x columns */
    int32_t columns;
    int exponent[TOGETHER]; /* vector k was multiplied by 2^exponent */
} narrow_work;

mpk_status mpki_narrow_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                            void **work) {
    narrow_work *w = MPKI_ZNEW(ctx, "solve", 1, narrow_work);
    *work = w;
    if (!w) return mpki_failed(ctx);
    w->columns = columns < TOGETHER ? columns : TOGETHER;
    w->x = MPKI_NEW(ctx, "solve", (int64_t)fac->an->n * w->columns * parts_of(fac), float);
    mpk_status status =
        w->x ? fac->engine->direct->solver_make(ctx, fac->direct, threads, w->columns, &w->solver)
             : mpki_failed(ctx);
    if (mpk_failed(status)) mpki_narrow_end(ctx, fac, work);
    return status;
}

void mpki_narrow_end(mpk_context *ctx, const mpk_factor *fac, void **work) {
    narrow_work *w = *work;
    *work = NULL;
    if (!w) return;
    if (w->solver) fac->engine->direct->solver_free(&w->solver);
    mpki_release(ctx, w->x);
    mpki_release(ctx, w);
}

mpk_status mpki_narrow_by_pivots(const mpk_factor *fac, void *work) {
    narrow_work *w = work;
    return fac->engine->direct->by_pivots(w->solver);
}

/* x := 2^exponent S b in single, where the exponent brings the largest to 1; scale NULL: 1 */
static int to_single(int32_t n, int parts, const double *scale, const double *b, float *x) {
    double most = 0;
    int exponent = 0;
    for (int32_t i = 0; i < n; i++)
        for (int64_t p = (int64_t)i * parts; p < (int64_t)(i + 1) * parts; p++)
            most = fmax(most, fabs(b[p]) * (scale ? scale[i] : 1));
    if (most > 0 && most <= DBL_MAX) frexp(most, &exponent);
    const double half = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent + exponent / 2);
    for (int32_t i = 0; i < n; i++)
        for (int64_t p = (int64_t)i * parts; p < (int64_t)(i + 1) * parts; p++) {
            const double y = b[p] * (scale ? scale[i] : 1) * half * rest;
            x[p] = fabs(y) < FLT_MIN ? 0 : (float)y;
        }
    return -exponent;
}

/* x := 2^-exponent S y */
static void to_double(int32_t n, int parts, const double *scale, int exponent, const float *y,
                      double *x) {
    const double half = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent + exponent / 2);
    for (int32_t i = 0; i < n; i++)
        for (int64_t p = (int64_t)i * parts; p < (int64_t)(i + 1) * parts; p++)
            x[p] = (double)y[p] * half * (scale ? scale[i] : 1) * rest;
}

mpk_status mpki_narrow_apply(const mpk_factor *fac, void *work, mpk_part part, int32_t nrhs,
                             const void *b, int64_t ldb, void *x, int64_t ldx) {
    narrow_work *w = work;
    const int32_t n = fac->an->n;
    const int parts = parts_of(fac);
    const double *before = part == MPK_PART_D || part == MPK_PART_LT ? NULL : fac->scale;
    const double *after = part == MPK_PART_D || part == MPK_PART_L ? NULL : fac->scale;
    const double *from = b;
    double *to = x;
    mpk_status status = MPK_OK;
    for (int32_t r = 0; r < nrhs && !mpk_failed(status); r += w->columns) {
        const int32_t some = nrhs - r < w->columns ? nrhs - r : w->columns;
        for (int32_t k = 0; k < some; k++)
            w->exponent[k] = to_single(n, parts, before, from + (r + k) * ldb * parts,
                                       w->x + (int64_t)k * n * parts);
        status = fac->engine->direct->apply(w->solver, part, some, w->x, n, w->x, n);
        for (int32_t k = 0; k < some && !mpk_failed(status); k++)
            to_double(n, parts, after, w->exponent[k], w->x + (int64_t)k * n * parts,
                      to + (r + k) * ldx * parts);
    }
    return status;
}

/* ---- what it tells --------------------------------------------------------------------------- */

mpk_status mpki_narrow_get(const mpk_factor *fac, mpk_quantity what, void *out) {
    const mpk_analysis *an = fac->an;
    mpk_status status = MPK_OK;
    if (what == MPK_GET_D) { /* D's floats lie in the second half, and are read before they go */
        const int64_t count = 2 * (int64_t)an->n * parts_of(fac);
        double *d = out;
        float *half = (float *)(d + count / 2);
        status = fac->engine->direct->get(fac->direct, what, half);
        for (int64_t k = 0; k < count && !mpk_failed(status); k++) {
            float x;
            memcpy(&x, (const char *)half + (size_t)k * sizeof x, sizeof x);
            const double wide = x;
            memcpy((char *)out + (size_t)k * sizeof wide, &wide, sizeof wide);
        }
        return status;
    }
    status = fac->engine->direct->get(fac->direct, what, out);
    if (what == MPK_GET_LOGDET && !mpk_failed(status)) {
        double sum = 0;
        for (int32_t i = 0; i < an->n; i++) sum += log(fac->scale[i]);
        ((double *)out)[0] -= 2 * sum;
    }
    return status;
}
