/* SPDX-License-Identifier: BSD-3-Clause */
/* The map from values in the caller's order to stored entries, kept with the pattern. */
#include "given.h"

#include <string.h>

/* ---- the map --------------------------------------------------------------------------------- */

/* Entry of row i in the sorted column j; it is there. */
static int64_t find(const mpki_layout *layout, int32_t i, int32_t j) {
    int64_t low = layout->ap[j], high = layout->ap[j + 1] - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (layout->ai[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Most callers' columns are sorted: then a column's next entry, from either triangle, is the one
 * after its last, and nothing is searched. */
static int64_t entry_of(const mpki_layout *layout, int64_t *next, int32_t i, int32_t j) {
    int64_t k = next[j];
    if (k >= layout->ap[j + 1] || layout->ai[k] != i) k = find(layout, i, j);
    next[j] = k + 1;
    return k;
}

static int64_t place_of(const mpki_layout *layout, bool general, mpk_triangle triangle,
                        int64_t *lower, int64_t *upper, int32_t i, int32_t j) {
    if (i < j && !general) {
        if (triangle == MPK_LOWER) return MPKI_PLACE_NONE;
        return mpki_place_mirrored(entry_of(layout, upper, j, i));
    }
    if (i > j && triangle == MPK_UPPER) return MPKI_PLACE_NONE;
    return entry_of(layout, lower, i, j);
}

static void put(mpki_layout *layout, int64_t k, int64_t place) {
    if (layout->wide)
        ((int64_t *)layout->place)[k] = place;
    else
        ((int32_t *)layout->place)[k] = (int32_t)place;
}

mpk_status mpki_given_map(mpk_context *ctx, const char *stage, mpk_symmetry symmetry,
                          mpk_triangle triangle, int64_t count, const int32_t *rows,
                          const int64_t *ap, const int32_t *cols, mpki_layout *layout) {
    const int32_t n = layout->n;
    const bool general = symmetry == MPK_GENERAL;
    mpk_status status = MPK_OK;
    layout->wide = layout->nnz >= INT32_MAX - 1;
    layout->place = mpki_alloc(ctx, stage, count, layout->wide ? sizeof(int64_t) : sizeof(int32_t));
    int64_t *next = MPKI_NEW(ctx, stage, 2 * (int64_t)n, int64_t);
    if (!layout->place || !next) {
        status = mpki_failed(ctx); /* the place goes with the layout */
        goto done;
    }
    for (int32_t j = 0; j < n; j++) next[j] = next[n + j] = layout->ap[j];
    bool same = count == layout->nnz;
    int64_t counted = 0, k = 0;
    for (int32_t j = 0; k < count; k++) {
        if (ap)
            while (k >= ap[j + 1]) j++;
        else
            j = cols[k];
        const int64_t place = place_of(layout, general, triangle, next, next + n, rows[k], j);
        put(layout, k, place);
        same &= place == k;
        counted += place != MPKI_PLACE_NONE;
    }
    layout->triangle = triangle;
    layout->given = count;
    layout->duplicates = counted != layout->nnz;
    if (same) {
        mpki_release(ctx, layout->place);
        layout->place = NULL;
    }
done:
    mpki_release(ctx, next);
    return status;
}

/* ---- values through it ----------------------------------------------------------------------- */

static const mpki_given_table *const tables[] = {&mpki_s_given, &mpki_d_given, &mpki_c_given,
                                                 &mpki_z_given};

/* Column that holds entry k. */
static int32_t column_of(const mpki_layout *layout, int64_t k) {
    int32_t low = 0, high = layout->n - 1;
    while (low < high) {
        const int32_t middle = low + (high - low + 1) / 2;
        if (layout->ap[middle] <= k)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int64_t find_wild(const mpki_layout *layout, bool mapped, mpk_scalar scalar, int64_t count,
                         const void *values, int32_t *row, int32_t *column) {
    int64_t k = mpki_next_nonfinite(scalar, 0, count, values);
    while (k >= 0 && mapped && mpki_place(layout, k) == MPKI_PLACE_NONE) /* not looked at */
        k = mpki_next_nonfinite(scalar, k + 1, count, values);
    if (k < 0) return -1;
    const int64_t place = mapped ? mpki_place(layout, k) : k;
    const int64_t entry = place >= 0 ? place : -2 - place;
    *(place >= 0 ? row : column) = layout->ai[entry];
    *(place >= 0 ? column : row) = column_of(layout, entry);
    return k;
}

int64_t mpki_given_wild(const mpki_layout *layout, mpk_scalar scalar, const void *given,
                        int32_t *row, int32_t *column) {
    return find_wild(layout, layout->place != NULL, scalar, layout->given, given, row, column);
}

static mpk_status check_finite(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                               bool mapped, mpk_scalar scalar, int64_t count, const void *values) {
    int32_t row = 0, column = 0;
    const int64_t k = find_wild(layout, mapped, scalar, count, values, &row, &column);
    if (k < 0) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_INPUT, stage, k,
                      "value %lld: row %d, column %d is NaN or infinite", (long long)k, row,
                      column);
}

static mpki_assembly how_of(const char *stage, const mpki_layout *layout, mpk_scalar scalar,
                            mpk_symmetry symmetry) {
    return (mpki_assembly){.stage = stage,
                           .n = layout->n,
                           .scalar = scalar,
                           .symmetry = symmetry,
                           .triangle = layout->triangle,
                           .tolerance = layout->symmetry_tolerance};
}

mpk_status mpki_given_copy(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                           mpk_scalar scalar, mpk_symmetry symmetry, const void *values, void *ax,
                           mpki_skew **skew) {
    *skew = NULL;
    mpk_status status = check_finite(ctx, stage, layout, false, scalar, layout->nnz, values);
    if (mpk_failed(status)) return status;
    if (layout->nnz > 0 && ax != values)
        memcpy(ax, values, (size_t)layout->nnz * mpk_scalar_size(scalar));
    const mpki_assembly how = how_of(stage, layout, scalar, symmetry);
    status = tables[scalar]->diagonal(ctx, &how, layout, ax, skew);
    if (mpk_failed(status)) mpki_skew_free(ctx, skew);
    return status;
}

mpk_status mpki_given_gather(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                             mpk_scalar scalar, mpk_symmetry symmetry, const void *given, void *ax,
                             mpki_skew **skew) {
    if (!layout->place)
        return mpki_given_copy(ctx, stage, layout, scalar, symmetry, given, ax, skew);
    *skew = NULL;
    mpk_status status = check_finite(ctx, stage, layout, true, scalar, layout->given, given);
    const mpki_assembly how = how_of(stage, layout, scalar, symmetry);
    if (!mpk_failed(status)) status = tables[scalar]->gather(ctx, &how, layout, given, ax, skew);
    if (!mpk_failed(status)) status = tables[scalar]->diagonal(ctx, &how, layout, ax, skew);
    if (mpk_failed(status)) mpki_skew_free(ctx, skew);
    return status;
}
