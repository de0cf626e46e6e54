/* SPDX-License-Identifier: BSD-3-Clause */
/* Method none: the factor is nothing but its scaling, M^-1 = S S; of a general matrix M^-1 = C Q R,
 * with the rows Q that its matching brings to the diagonal. */
#include "../analysis/block/block.h"
#include "apply.h"

#include <string.h>

static mpk_status factorize(mpk_factor *fac, bool is_new) {
    (void)is_new;
    fac->options.method = fac->an->options.method;
    fac->info = (mpk_factor_info){.stages = 1, .threads = mpki_factor_threads(fac)};
    return mpki_find_scaling(fac->ctx, fac->an, &fac->options, fac->ax, false, fac->scale,
                             &fac->size);
}

static int64_t bytes(const mpk_factor *fac) {
    (void)fac;
    return 0;
}

static void end(mpk_factor *fac) {
    (void)fac;
}

static bool symmetric(const mpk_factor *fac) {
    return fac->an->symmetry != MPK_GENERAL;
}

/* The engine's scales, where vectors lie with it; else a vector that rows of a general matrix go
 * over. */
typedef struct room {
    mpki_scaler *scales;
    void *row;
} room;

static void apply_free(mpk_context *ctx, const mpk_factor *fac, void **work) {
    room *w = *work;
    if (!w) return;
    if (w->scales) fac->engine->vectors->scales_free(ctx, &w->scales);
    mpki_release(ctx, w->row);
    mpki_release(ctx, w);
    *work = NULL;
}

static mpk_status apply_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                             void **work) {
    const mpk_analysis *an = fac->an;
    const mpki_vector_engine *engine = fac->engine->vectors;
    const bool general = an->symmetry == MPK_GENERAL;
    (void)threads, (void)columns;
    room *w = *work = MPKI_ZNEW(ctx, "solve", 1, room);
    if (!w) return mpki_failed(ctx);
    if (engine->scales_make && an->n > 0)
        engine->scales_make(ctx, an->scalar, an->n, fac->scale + (general ? an->n : 0), fac->scale,
                            general ? an->row_of : NULL, &w->scales);
    else if (general)
        w->row = mpki_alloc(ctx, "solve", an->n, mpk_scalar_size(an->scalar));
    if (mpk_failed(mpki_failed(ctx))) apply_free(ctx, fac, work);
    return mpki_failed(ctx);
}

/* General: x := C Q R b; parts as below, L with R and L^T with C. b may be x: rows go over
 * `work`. */
static void scale_general(const mpk_factor *fac, mpk_part part, void *work, const void *b,
                          void *x) {
    const mpk_analysis *an = fac->an;
    const bool rows = part == MPK_PART_ALL || part == MPK_PART_L;
    const bool columns = part == MPK_PART_ALL || part == MPK_PART_LT;
    const int reals = an->scalar == MPK_C || an->scalar == MPK_Z ? 2 : 1;
    memcpy(work, b, (size_t)an->n * mpk_scalar_size(an->scalar));
    for (int32_t j = 0; j < an->n; j++) {
        const int32_t i = rows && an->row_of ? an->row_of[j] : j;
        const double s = (rows ? fac->scale[an->n + i] : 1) * (columns ? fac->scale[j] : 1);
        for (int k = 0; k < reals; k++)
            if (an->scalar == MPK_S || an->scalar == MPK_C)
                ((float *)x)[(int64_t)reals * j + k] =
                    (float)(s * (double)((float *)work)[(int64_t)reals * i + k]);
            else
                ((double *)x)[(int64_t)reals * j + k] =
                    s * ((double *)work)[(int64_t)reals * i + k];
    }
}

/* x := S S x. As parts: L and L^T are S, D is I. */
static void scale_column(const mpk_factor *fac, mpk_part part, void *x) {
    const mpk_scalar scalar = fac->an->scalar;
    const bool twice = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const int reals = scalar == MPK_C || scalar == MPK_Z ? 2 : 1;
    for (int64_t k = 0; part != MPK_PART_D && k < (int64_t)fac->an->n * reals; k++) {
        const double s = fac->scale[k / reals] * (twice ? fac->scale[k / reals] : 1);
        if (scalar == MPK_S || scalar == MPK_C)
            ((float *)x)[k] *= (float)s;
        else
            ((double *)x)[k] *= s;
    }
}

static mpk_status apply(mpk_context *ctx, const mpk_factor *fac, void *work, mpk_part part,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx) {
    const size_t size = mpk_scalar_size(fac->an->scalar);
    const bool general = fac->an->symmetry == MPK_GENERAL;
    const bool both = part == MPK_PART_ALL || part == MPK_PART_ABS;
    mpk_status status = MPK_OK;
    room *w = work;
    if (general && part == MPK_PART_ABS) return mpki_no_absolute(ctx);
    for (int32_t r = 0; r < nrhs && !mpk_failed(status); r++) {
        const char *from = (const char *)b + (size_t)(r * ldb) * size;
        char *to = (char *)x + (size_t)(r * ldx) * size;
        if (w->scales) {
            status = fac->engine->vectors->scales_apply(w->scales, both || part == MPK_PART_L,
                                                        both || part == MPK_PART_LT, from, to);
        } else if (general) {
            scale_general(fac, part, w->row, from, to);
        } else {
            memmove(to, from, (size_t)fac->an->n * size);
            scale_column(fac, part, to);
        }
    }
    return status;
}

const mpki_form mpki_scaling_form = {.factorize = factorize,
                                     .bytes = bytes,
                                     .free = end,
                                     .symmetric = symmetric,
                                     .apply_make = apply_make,
                                     .apply_free = apply_free,
                                     .apply = apply};
