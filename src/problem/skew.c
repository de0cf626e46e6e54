/* SPDX-License-Identifier: BSD-3-Clause */
/* What the triangles of a matrix differ by: its memory, and the choice of the precision. */
#include "skew.h"

#include <string.h>

void mpki_skew_free(mpk_context *ctx, mpki_skew **handle) {
    mpki_skew *skew = *handle;
    *handle = NULL;
    if (!skew) return;
    mpki_release(ctx, skew->entry);
    mpki_release(ctx, skew->column);
    mpki_release(ctx, skew->low);
    mpki_release(ctx, skew->high);
    mpki_release(ctx, skew);
}

mpki_skew *mpki_skew_copy(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                          const mpki_skew *from) {
    const size_t count = (size_t)from->count, size = mpk_scalar_size(scalar);
    mpki_skew *to = MPKI_ZNEW(ctx, stage, 1, mpki_skew);
    if (!to) return NULL;
    *to = (mpki_skew){from->count, from->count, from->rough, from->apart, NULL, NULL, NULL, NULL};
    to->entry = MPKI_NEW(ctx, stage, from->count, int64_t);
    to->column = MPKI_NEW(ctx, stage, from->count, int32_t);
    to->low = mpki_alloc(ctx, stage, from->count, size);
    to->high = mpki_alloc(ctx, stage, from->count, size);
    if (!to->entry || !to->column || !to->low || !to->high) {
        mpki_skew_free(ctx, &to);
        return NULL;
    }
    memcpy(to->entry, from->entry, count * sizeof *to->entry);
    memcpy(to->column, from->column, count * sizeof *to->column);
    memcpy(to->low, from->low, count * size);
    memcpy(to->high, from->high, count * size);
    return to;
}

double mpki_skew_row_sums(const mpki_skew *skew, const mpk_problem_view *s, double *sums) {
    static void (*const table[])(const mpki_skew *, const mpk_problem_view *, double *) = {
        mpki_s_skew_row_sums, mpki_d_skew_row_sums, mpki_c_skew_row_sums, mpki_z_skew_row_sums};
    double norm = 0;
    table[s->scalar](skew, s, sums);
    for (int32_t i = 0; i < s->n; i++)
        if (!(sums[i] <= norm)) norm = sums[i];
    return norm;
}

void mpki_skew_multiply(const mpki_skew *skew, const mpk_problem_view *s, const void *x, void *y) {
    static void (*const table[])(const mpki_skew *, const mpk_problem_view *, const void *,
                                 void *) = {mpki_s_skew_multiply, mpki_d_skew_multiply,
                                            mpki_c_skew_multiply, mpki_z_skew_multiply};
    table[s->scalar](skew, s, x, y);
}
