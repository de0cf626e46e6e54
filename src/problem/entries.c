/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of entries that grows. */
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
