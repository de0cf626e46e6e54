/* SPDX-License-Identifier: BSD-3-Clause */
/* A factor on blocks, as the verbs see it: the table of this form. */
#include "apply.h"
#include "stages.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* The first row of A whose entries are all zero; -1: none. */
static int32_t row_of_zeros(const mpk_factor *fac) {
    int32_t row = 0;
    while (row < fac->an->n && fac->row_norm[row] > 0) row++;
    return row < fac->an->n ? row : -1;
}

static mpk_status factorize(mpk_factor *fac, bool is_new) {
    (void)is_new;
    mpk_context *ctx = fac->ctx;
    const mpk_method method = fac->an->options.method;
    const bool general = fac->an->symmetry == MPK_GENERAL;
    /* of a general matrix auto says more than its method */
    if (general && fac->options.method == MPK_METHOD_AUTO && method == MPK_METHOD_ILDLT)
        mpki_imply_general(&fac->options, false);
    else
        fac->options.method = method;
    mpk_status status = mpki_fit_options(ctx, fac->an->symmetry, &fac->options);
    fac->options.method = method;
    fac->info = (mpk_factor_info){.stages = 1, .threads = mpki_factor_threads(fac)};
    if (!mpk_failed(status)) status = mpki_check_options(ctx, &fac->options);
    if (!mpk_failed(status)) status = mpki_block_factorize(fac);
    if (mpk_failed(status)) return status;
    const int32_t empty = fac->info.inertia.zero > 0 ? row_of_zeros(fac) : -1;
    if (empty < 0) return MPK_OK; /* a zero pivot of an incomplete factor tells nothing about A */
    return mpki_error(ctx, MPK_SINGULAR, STAGE, empty, "singular: row %d is zero", empty + 1);
}

static int64_t bytes(const mpk_factor *fac) {
    return fac->blocks ? fac->blocks->stages.info.bytes : 0;
}

static const mpk_block_info *block_info(const mpk_factor *fac) {
    return fac->blocks ? &fac->blocks->stages.info : NULL;
}

static bool symmetric(const mpk_factor *fac) {
    return fac->options.factor_type != MPK_TYPE_LDU;
}

static mpk_status shape(const mpk_factor *fac, int32_t *iperm, mpki_tile_fn *tell, void *self) {
    const mpki_stages *s = &fac->blocks->stages;
    const mpki_blocking *b = s->blocking;
    const mpki_ibcsr *x = &s->index;
    int32_t *start = MPKI_NEW(fac->ctx, "plot", (int64_t)x->m + 1, int32_t);
    if (!start) return mpki_failed(fac->ctx);
    start[0] = 0;
    for (int32_t place = 0; place < x->m; place++) { /* frames that were pushed back come last */
        const int32_t f = x->frame[place];
        start[place + 1] = start[place] + mpki_frame_rows(b, f);
        for (int32_t p = b->bptr[f]; p < b->bptr[f + 1]; p++)
            iperm[b->perm[p]] = start[place] + p - b->bptr[f];
    }
    for (int64_t k = 0; k < x->nblocks; k++) {
        const int32_t row = x->place[mpki_row_frame(x, k)], col = x->place[mpki_col_frame(x, k)];
        const int64_t entries =
            row == col ? 0 : fac->engine->blocks->entries(fac->blocks->numbers, k);
        if (entries > 0)
            tell(self, entries, start[row], start[row + 1], start[col], start[col + 1]);
    }
    const int32_t border = s->info.border_rows ? s->border : x->m;
    for (int32_t place = 0; place < x->m; place++) { /* each pivot's triangle on the diagonal */
        const int32_t first = start[place < border ? place : border];
        for (int32_t i = start[place]; i < start[place + 1]; i++)
            tell(self, i + 1 - first, i, i + 1, first, i + 1);
    }
    mpki_release(fac->ctx, start);
    return MPK_OK;
}

/* ---- applications ---------------------------------------------------------------------------- */

typedef struct application {
    mpki_block_solver *solver;
    int32_t takes; /* columns that one application takes */
} application;

static void apply_free(mpk_context *ctx, const mpk_factor *fac, void **work) {
    application *a = *work;
    if (a) fac->engine->blocks->solver_free(ctx, &a->solver);
    mpki_release(ctx, a);
    *work = NULL;
}

static mpk_status apply_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                             void **work) {
    application *a = *work = MPKI_ZNEW(ctx, "solve", 1, application);
    if (!a) return mpki_failed(ctx);
    mpk_status status = fac->engine->blocks->solver_make(ctx, fac->blocks->numbers, threads,
                                                         columns, &a->solver, &a->takes);
    if (mpk_failed(status)) apply_free(ctx, fac, work);
    return status;
}

static mpk_status apply(mpk_context *ctx, const mpk_factor *fac, void *work, mpk_part part,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx) {
    const application *a = work;
    const size_t size = mpk_scalar_size(fac->an->scalar);
    mpk_status status = MPK_OK;
    if (part == MPK_PART_ABS && !symmetric(fac)) return mpki_no_absolute(ctx);
    for (int32_t r = 0; r < nrhs && !mpk_failed(status); r += a->takes) {
        const int32_t count = nrhs - r < a->takes ? nrhs - r : a->takes;
        status = fac->engine->blocks->apply(a->solver, part, count,
                                            (const char *)b + (size_t)(r * ldb) * size, ldb,
                                            (char *)x + (size_t)(r * ldx) * size, ldx);
    }
    return status;
}

static int64_t beside(const mpk_factor *fac) {
    const mpki_block_engine *blocks = fac->engine->blocks;
    return fac->blocks && blocks->beside ? blocks->beside(fac->blocks->numbers) : 0;
}

const mpki_form mpki_block_form = {.copies_a = true,
                                   .factorize = factorize,
                                   .bytes = bytes,
                                   .beside = beside,
                                   .free = mpki_block_body_free,
                                   .block_info = block_info,
                                   .symmetric = symmetric,
                                   .shape = shape,
                                   .apply_make = apply_make,
                                   .apply_free = apply_free,
                                   .apply = apply};
