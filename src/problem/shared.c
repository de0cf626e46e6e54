/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns and values that count their holders. */
#include "shared.h"
#include "skew.h"

#include <string.h>

mpki_layout *mpki_layout_new(mpk_context *ctx, const char *stage, int32_t n, int64_t nnz,
                             int64_t *ap, int32_t *ai) {
    mpki_layout *layout = MPKI_ZNEW(ctx, stage, 1, mpki_layout);
    if (!layout) return NULL;
    layout->ctx = ctx;
    atomic_init(&layout->holders, 1);
    layout->n = n;
    layout->nnz = layout->given = nnz;
    layout->ap = ap;
    layout->ai = ai;
    layout->symmetry_tolerance = -1;
    return layout;
}

static void *copy(mpk_context *ctx, const char *stage, const void *from, int64_t count,
                  size_t size) {
    void *to = mpki_alloc(ctx, stage, count, size);
    if (to && count > 0 && from) memcpy(to, from, (size_t)count * size);
    return to;
}

static mpki_layout *layout_copy(mpk_context *ctx, const char *stage, const mpki_layout *from) {
    const size_t size = from->wide ? sizeof(int64_t) : sizeof(int32_t);
    int64_t *ap = copy(ctx, stage, from->ap, (int64_t)from->n + 1, sizeof *ap);
    int32_t *ai = copy(ctx, stage, from->ai, from->nnz, sizeof *ai);
    void *place = from->place ? copy(ctx, stage, from->place, from->given, size) : NULL;
    mpki_layout *to = NULL;
    if (ap && ai && (place || !from->place))
        to = mpki_layout_new(ctx, stage, from->n, from->nnz, ap, ai);
    if (!to) {
        mpki_release(ctx, ap);
        mpki_release(ctx, ai);
        mpki_release(ctx, place);
        return NULL;
    }
    to->triangle = from->triangle;
    to->given = from->given;
    to->place = place;
    to->wide = from->wide;
    to->duplicates = from->duplicates;
    to->symmetry_tolerance = from->symmetry_tolerance;
    return to;
}

mpki_layout *mpki_layout_share(mpk_context *ctx, const char *stage, mpki_layout *layout) {
    if (layout->ctx != ctx) return layout_copy(ctx, stage, layout);
    atomic_fetch_add(&layout->holders, 1);
    return layout;
}

void mpki_layout_release(mpki_layout **handle) {
    mpki_layout *layout = *handle;
    *handle = NULL;
    if (!layout || atomic_fetch_sub(&layout->holders, 1) > 1) return;
    mpki_release(layout->ctx, layout->ap);
    mpki_release(layout->ctx, layout->ai);
    mpki_release(layout->ctx, layout->place);
    mpki_release(layout->ctx, layout);
}

mpki_values *mpki_values_take(mpk_context *ctx, const char *stage, int64_t bytes, void *ax) {
    mpki_values *values = MPKI_ZNEW(ctx, stage, 1, mpki_values);
    if (!values) return NULL;
    values->ctx = ctx;
    atomic_init(&values->holders, 1);
    values->bytes = bytes;
    values->ax = ax;
    return values;
}

mpki_values *mpki_values_new(mpk_context *ctx, const char *stage, int64_t bytes) {
    void *ax = mpki_alloc(ctx, stage, bytes, 1);
    mpki_values *values = ax ? mpki_values_take(ctx, stage, bytes, ax) : NULL;
    if (!values) mpki_release(ctx, ax);
    return values;
}

mpki_values *mpki_values_share(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                               mpki_values *values) {
    if (values->ctx != ctx) {
        mpki_values *own = mpki_values_new(ctx, stage, values->bytes);
        if (own && values->bytes > 0) memcpy(own->ax, values->ax, (size_t)values->bytes);
        if (own && values->skew) own->skew = mpki_skew_copy(ctx, stage, scalar, values->skew);
        if (own && values->skew && !own->skew) mpki_values_release(&own);
        return own;
    }
    atomic_fetch_add(&values->holders, 1);
    return values;
}

bool mpki_values_own(const mpki_values *values) {
    return values && atomic_load(&values->holders) == 1;
}

void mpki_values_release(mpki_values **handle) {
    mpki_values *values = *handle;
    *handle = NULL;
    if (!values || atomic_fetch_sub(&values->holders, 1) > 1) return;
    mpki_release(values->ctx, values->ax);
    mpki_skew_free(values->ctx, &values->skew);
    mpki_release(values->ctx, values);
}
