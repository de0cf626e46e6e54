/* SPDX-License-Identifier: BSD-3-Clause */
#include "assemble.h"

mpk_status mpki_entries_reserve(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                                mpki_entries *e, int64_t capacity) {
    if (capacity <= e->capacity && e->row) return MPK_OK;
    int32_t *row = mpki_resize(ctx, stage, e->row, capacity, sizeof *row);
    if (!row) return mpki_failed(ctx);
    e->row = row;
    int32_t *col = mpki_resize(ctx, stage, e->col, capacity, sizeof *col);
    if (!col) return mpki_failed(ctx);
    e->col = col;
    void *value = mpki_resize(ctx, stage, e->value, capacity, mpk_scalar_size(scalar));
    if (!value) return mpki_failed(ctx);
    e->value = value;
    e->capacity = capacity;
    return MPK_OK;
}

void mpki_entries_free(mpk_context *ctx, mpki_entries *e) {
    mpki_release(ctx, e->row);
    mpki_release(ctx, e->col);
    mpki_release(ctx, e->value);
    *e = (mpki_entries){0};
}

mpk_status mpki_assemble(mpk_context *ctx, const mpki_assembly *how, mpki_entries *entries,
                         mpk_problem **problem) {
    static mpki_assemble_fn *const table[] = {mpki_s_assemble, mpki_d_assemble, mpki_c_assemble,
                                              mpki_z_assemble};
    mpk_status status = MPK_OK;
    mpk_problem *made = MPKI_ZNEW(ctx, how->stage, 1, mpk_problem);
    if (!made) {
        status = mpki_failed(ctx);
        goto done;
    }
    *made = (mpk_problem){.ctx = ctx, .n = how->n, .scalar = how->scalar};
    status = table[how->scalar](ctx, how, entries, made);
    if (status) goto done;
    *problem = made;
    made = NULL;
done:
    mpki_entries_free(ctx, entries);
    mpk_problem_destroy(&made);
    return status;
}
