/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries in any order to compressed columns, of the lower triangle or of all of a general matrix:
 * duplicates summed, checked. */
#include "assemble.h"

mpk_status mpki_entries_skew(mpk_context *ctx, const mpki_assembly *how, mpki_entries *e) {
    const int64_t count = e->count;
    const int parts = how->scalar == MPK_Z ? 2 : 1;
    double *value;
    mpk_status status = mpki_entries_reserve(ctx, how->stage, how->scalar, e, 2 * count);
    if (mpk_failed(status)) return status;
    value = e->value;
    for (int64_t k = 0; k < count; k++) {
        const int32_t row = e->row[k], col = e->col[k];
        const bool zero = value[parts * k] == 0 && value[parts * k + parts - 1] == 0;
        if (row < col || (row == col && !zero))
            return mpki_error(
                ctx, MPK_ERR_INPUT, how->stage, (int64_t)row + how->base,
                "%s%srow %lld, column %lld: a skew-symmetric matrix lists the entries "
                "below its diagonal, and is zero on it",
                how->source ? how->source : "", how->source ? ": " : "", (long long)row + how->base,
                (long long)col + how->base);
        if (row == col) continue;
        e->row[e->count] = col;
        e->col[e->count] = row;
        for (int p = 0; p < parts; p++) value[parts * e->count + p] = -value[parts * k + p];
        e->count++;
    }
    return MPK_OK;
}

double mpki_assemble_bytes(double n, double nnz, mpk_scalar scalar, bool sorted) {
    const double size = (double)mpk_scalar_size(scalar), index = sizeof(int32_t);
    const double entries = nnz * (2 * index + size), columns = nnz * (index + size);
    return entries + (sorted ? 0 : columns) + n * (double)sizeof(int64_t);
}

mpk_status mpki_assemble(mpk_context *ctx, const mpki_assembly *given, mpki_entries *entries,
                         mpk_problem **problem) {
    static mpki_assemble_fn *const table[] = {mpki_s_assemble, mpki_d_assemble, mpki_c_assemble,
                                              mpki_z_assemble};
    mpki_assembly with = *given;
    const mpki_assembly *how = &with;
    with.tolerance = mpki_symmetry_tolerance(ctx);
    with.or_general = given->or_general && !(with.tolerance >= 0);
    mpki_assembled a = {0};
    mpk_problem *made = MPKI_ZNEW(ctx, how->stage, 1, mpk_problem);
    mpk_status status = mpki_failed(ctx);
    if (made) {
        made->ctx = ctx;
        status = table[how->scalar](ctx, how, entries, &a);
    }
    if (!mpk_failed(status)) {
        const int64_t bytes = a.nnz * (int64_t)mpk_scalar_size(how->scalar);
        made->scalar = how->scalar;
        made->symmetry = a.symmetry;
        made->layout = mpki_layout_new(ctx, how->stage, how->n, a.nnz, a.ap, a.ai);
        if (made->layout) made->values = mpki_values_take(ctx, how->stage, bytes, a.ax);
        status = mpki_failed(ctx);
    }
    if (!mpk_failed(status)) {
        made->layout->symmetry_tolerance = how->tolerance;
        made->values->skew = a.skew;
        mpki_problem_look(made);
        *problem = made;
    } else {
        if (made && made->layout) a.ap = NULL, a.ai = NULL;
        mpki_release(ctx, a.ap);
        mpki_release(ctx, a.ai);
        mpki_release(ctx, a.ax);
        mpki_skew_free(ctx, &a.skew);
        mpk_problem_destroy(&made);
    }
    mpki_entries_free(ctx, entries);
    return status;
}
