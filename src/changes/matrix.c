/* SPDX-License-Identifier: BSD-3-Clause */
/* The changed matrix as a sparse one, which solutions are measured by; and with borders for removed
 * rows, whose inertia the factors count. */
#include "bordered.h"

static const char STAGE[] = "bordered";

void mpki_changed_free(mpk_context *ctx, mpki_changed_matrix *m) {
    mpki_release(ctx, m->ap);
    mpki_release(ctx, m->ai);
    mpki_release(ctx, m->ax);
    mpki_release(ctx, m->row_norm);
    *m = (mpki_changed_matrix){0};
}

/* Columns one after the other. ai NULL: their sizes alone, in ap */
static void fill(const mpk_bordered *w, bool whole, int32_t *next, int64_t *ap, int32_t *ai,
                 char *ax) {
    const int64_t all = mpki_all_rows(w);
    for (int32_t p = 0; p < w->capacity; p++) next[p] = 0;
    ap[0] = 0;
    for (int32_t j = 0; j < all; j++) {
        const int64_t at = ap[j];
        ap[j + 1] = at + MPKI_DISPATCH(w->scalar, bordered_column)(
                             w, w->fac->ax, whole, j, next, ai ? ai + at : NULL,
                             ai ? ax + at * (int64_t)w->size : NULL);
    }
}

mpk_status mpki_changed_make(mpk_bordered *w, bool whole) {
    mpk_context *ctx = w->ctx;
    mpki_changed_matrix *m = whole ? &w->whole : &w->changed;
    const int64_t all = mpki_all_rows(w);
    if (m->made) return MPK_OK;
    mpki_changed_free(ctx, m);
    if (mpk_failed(mpki_factor_bring(ctx, w->fac))) return mpki_failed(ctx);
    int32_t *next = MPKI_NEW(ctx, STAGE, w->capacity, int32_t);
    m->ap = MPKI_NEW(ctx, STAGE, all + 1, int64_t);
    m->row_norm = MPKI_NEW(ctx, STAGE, all, double);
    if (next && m->ap && m->row_norm) {
        fill(w, whole, next, m->ap, NULL, NULL);
        m->ai = MPKI_NEW(ctx, STAGE, m->ap[all] + 1, int32_t);
        m->ax = mpki_alloc(ctx, STAGE, m->ap[all] + 1, w->size);
        if (m->ai && m->ax) fill(w, whole, next, m->ap, m->ai, m->ax);
    }
    mpki_release(ctx, next);
    if (mpk_failed(mpki_failed(ctx))) {
        mpki_changed_free(ctx, m);
        return mpki_failed(ctx);
    }
    m->a = (mpk_problem_view){(int32_t)all, m->ap[all], w->scalar, w->fac->an->symmetry,
                              m->ap,        m->ai,      m->ax};
    m->norm_inf = mpki_row_sums(&m->a, m->row_norm);
    m->made = true;
    return MPK_OK;
}
