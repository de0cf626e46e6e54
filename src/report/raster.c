/* SPDX-License-Identifier: BSD-3-Clause */
/* How many entries of a pattern fall into each cell of a coarse grid. */
#include "report.h"

#include <math.h>

mpk_status mpki_raster_create(mpk_context *ctx, int32_t n, mpki_raster *raster) {
    int32_t cells = n < 1 ? 1 : n < MPKI_RASTER_MAX ? n : MPKI_RASTER_MAX;
    *raster = (mpki_raster){.n = n < 1 ? 1 : n, .cells = cells};
    raster->count = MPKI_ZNEW(ctx, "plot", (int64_t)cells * cells, double);
    return raster->count ? MPK_OK : mpki_failed(ctx);
}

void mpki_raster_free(mpk_context *ctx, mpki_raster *raster) {
    mpki_release(ctx, raster->count);
    raster->count = NULL;
}

static int32_t cell_of(const mpki_raster *raster, int32_t i) {
    return (int32_t)((int64_t)i * raster->cells / raster->n);
}

/* The first index of cell c (of the one after the last: n). */
static int32_t first_of(const mpki_raster *raster, int32_t c) {
    return (int32_t)(((int64_t)c * raster->n + raster->cells - 1) / raster->cells);
}

void mpki_raster_add_matrix(mpki_raster *raster, const mpk_problem_view *a, const int32_t *iperm,
                            const int32_t *rows) {
    for (int32_t j = 0; j < a->n; j++) {
        int32_t c = cell_of(raster, iperm ? iperm[j] : j);
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k], place = rows ? rows[i] : i;
            int32_t r = cell_of(raster, iperm ? iperm[place] : place);
            raster->count[(int64_t)r * raster->cells + c] += 1;
            if (i != j && a->symmetry != MPK_GENERAL)
                raster->count[(int64_t)c * raster->cells + r] += 1;
        }
    }
}

/* Rows r0 .. r1-1 (not of the triangle on the diagonal) in all columns j0 .. j1-1. */
static void add_block(mpki_raster *raster, int32_t row_cell, int64_t rows, int32_t j0, int32_t j1) {
    for (int32_t j = j0; j < j1;) {
        int32_t c = cell_of(raster, j), next = first_of(raster, c + 1);
        int32_t end = next < j1 ? next : j1;
        raster->count[(int64_t)row_cell * raster->cells + c] += (double)rows * (end - j);
        j = end;
    }
}

void mpki_raster_add_factor(mpki_raster *raster, const mpk_analysis *an) {
    for (int32_t s = 0; s < an->nsuper; s++) {
        int32_t j0 = an->sptr[s], j1 = an->sptr[s + 1];
        for (int32_t i = j0; i < j1; i++) add_block(raster, cell_of(raster, i), 1, j0, i + 1);
        for (int64_t k = an->rptr[s]; k < an->rptr[s + 1];) {
            int32_t r = cell_of(raster, an->ridx[k]), next = first_of(raster, r + 1);
            int64_t first = k;
            while (k < an->rptr[s + 1] && an->ridx[k] < next) k++;
            add_block(raster, r, k - first, j0, j1);
        }
    }
}

/* `entries` of them spread over rows i0 .. i1-1 and columns j0 .. j1-1. */
static void add_spread(mpki_raster *raster, double entries, int32_t i0, int32_t i1, int32_t j0,
                       int32_t j1) {
    const double each = entries / ((double)(i1 - i0) * (j1 - j0));
    for (int32_t i = i0; i < i1;) {
        const int32_t r = cell_of(raster, i), below = first_of(raster, r + 1);
        const int32_t last = below < i1 ? below : i1;
        for (int32_t j = j0; j < j1;) {
            const int32_t c = cell_of(raster, j), right = first_of(raster, c + 1);
            const int32_t end = right < j1 ? right : j1;
            raster->count[(int64_t)r * raster->cells + c] +=
                each * (double)(last - i) * (double)(end - j);
            j = end;
        }
        i = last;
    }
}

void mpki_raster_add_tile(void *raster, int64_t entries, int32_t r0, int32_t r1, int32_t c0,
                          int32_t c1) {
    add_spread(raster, (double)entries, r0, r1, c0, c1);
}
