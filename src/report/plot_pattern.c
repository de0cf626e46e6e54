/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns in the picture of a run: embedded PNGs of at most 400 x 400 cells, so that the file
 * stays small for any n. */
#include "plot.h"

#include <math.h>
#include <string.h>

enum { LEVELS = 24 }; /* shades of each ramp */

static void put_base64(mpki_buffer *out, const uint8_t *data, int64_t size) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int64_t k = 0; k < size; k += 3) {
        uint32_t b1 = k + 1 < size ? data[k + 1] : 0, b2 = k + 2 < size ? data[k + 2] : 0;
        uint32_t word = (uint32_t)data[k] << 16 | b1 << 8 | b2;
        char four[4] = {digit[word >> 18], digit[word >> 12 & 63],
                        k + 1 < size ? digit[word >> 6 & 63] : '=',
                        k + 2 < size ? digit[word & 63] : '='};
        mpki_buffer_bytes(out, four, 4);
    }
}

/* Colours 1 .. LEVELS: blue ramp, LEVELS + 1 .. 2 LEVELS: orange ramp; 0: paper. */
static void make_palette(uint8_t palette[][3]) {
    static const double light[2][3] = {{190, 212, 240}, {250, 214, 178}};
    static const double dark[2][3] = {{10, 48, 110}, {178, 72, 8}};
    for (int c = 0; c < 3; c++) palette[0][c] = 255;
    for (int ramp = 0; ramp < 2; ramp++)
        for (int k = 0; k < LEVELS; k++)
            for (int c = 0; c < 3; c++) {
                double t = (double)k / (LEVELS - 1);
                palette[1 + ramp * LEVELS + k][c] =
                    (uint8_t)(light[ramp][c] + t * (dark[ramp][c] - light[ramp][c]) + 0.5);
            }
}

/* Shades by the logarithm of the density, from the sparsest cell that is not empty to the densest.
 */
static void shade(const mpki_raster *raster, int ramp, uint8_t *shades, bool strictly_upper) {
    double least = INFINITY, most = 0;
    int64_t cells = raster->cells;
    for (int64_t k = 0; k < cells * cells; k++) {
        if (raster->count[k] > 0 && raster->count[k] < least) least = raster->count[k];
        if (raster->count[k] > most) most = raster->count[k];
    }
    double range = most > least ? log(most / least) : 0;
    for (int64_t r = 0; r < cells; r++) {
        for (int64_t c = strictly_upper ? r + 1 : 0; c < cells; c++) {
            double count = raster->count[r * cells + c];
            if (!(count > 0)) continue;
            double t = range > 0 ? log(count / least) / range : 0.75;
            shades[r * cells + c] = (uint8_t)(1 + ramp * LEVELS + (int)(t * (LEVELS - 1) + 0.5));
        }
    }
}

/* Shades as an embedded picture with a border, at least 800 pixels wide so that it stays sharp. */
static mpk_status put_picture(mpk_context *ctx, mpki_buffer *out, int32_t cells,
                              const uint8_t *shades, double x) {
    uint8_t palette[1 + 2 * LEVELS][3];
    make_palette(palette);
    int32_t scale = (2 * MPKI_RASTER_MAX + cells - 1) / cells, size = scale * cells;
    int32_t gap = scale >= 16 ? scale / 16 : 0; /* lines of paper between the cells of tiny ones */
    uint8_t *pixels = MPKI_ZNEW(ctx, "plot", (int64_t)size * size, uint8_t);
    mpki_buffer png;
    mpki_buffer_init(&png, ctx);
    mpk_status status = MPK_ERR_MEMORY;
    if (!pixels) goto done;
    for (int32_t y = 0; y < size; y++)
        for (int32_t u = 0; u < size; u++)
            if (y % scale >= gap && u % scale >= gap)
                pixels[(int64_t)y * size + u] = shades[(int64_t)(y / scale) * cells + u / scale];
    status =
        mpki_png_write(ctx, size, size, pixels, (const uint8_t(*)[3])palette, 1 + 2 * LEVELS, &png);
    if (mpk_failed(status)) goto done;
    mpki_buffer_printf(out,
                       "<image x=\"%.0f\" y=\"%d\" width=\"%d\" height=\"%d\" "
                       "xlink:href=\"data:image/png;base64,",
                       x, TOP, PANEL, PANEL);
    put_base64(out, (const uint8_t *)png.data, png.size);
    mpki_buffer_printf(out,
                       "\"/>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\" "
                       "stroke=\"" FRAME "\"/>\n",
                       x - 0.5, TOP - 0.5, PANEL + 1, PANEL + 1);
    status = out->status;
done:
    mpki_release(ctx, pixels);
    mpki_buffer_free(&png);
    return status;
}

/* "sparse [ramp] dense", its right end at x. */
static void put_ramp(mpki_buffer *out, double x, double y) {
    uint8_t palette[1 + 2 * LEVELS][3];
    make_palette(palette);
    mpki_plot_text(out, x, y, "e", "dense");
    for (int k = 0; k < 12; k++) {
        const uint8_t *c = palette[1 + k * (LEVELS - 1) / 11];
        mpki_buffer_printf(out,
                           "<rect x=\"%.0f\" y=\"%.0f\" width=\"6.2\" height=\"10\" "
                           "fill=\"#%02x%02x%02x\"/>\n",
                           x - 116 + 6 * k, y - 9, c[0], c[1], c[2]);
    }
    mpki_plot_text(out, x - 123, y, "e", "sparse");
}

mpk_status mpki_plot_matrix(mpk_context *ctx, mpki_buffer *out, const mpk_problem_view *a) {
    mpki_raster raster;
    uint8_t *shades = NULL;
    mpk_status status = mpki_raster_create(ctx, a->n, &raster);
    if (mpk_failed(status)) return status;
    mpki_raster_add_matrix(&raster, a, NULL, NULL);
    shades = MPKI_ZNEW(ctx, "plot", (int64_t)raster.cells * raster.cells, uint8_t);
    if (!shades) {
        status = MPK_ERR_MEMORY;
        goto done;
    }
    shade(&raster, 0, shades, false);
    mpki_plot_text(out, MARGIN, TOP - 12, "t", "A in the order given");
    status = put_picture(ctx, out, raster.cells, shades, MARGIN);
    if (a->n > MPKI_RASTER_MAX) put_ramp(out, MARGIN + PANEL, TOP + PANEL + 22);
done:
    mpki_release(ctx, shades);
    mpki_raster_free(ctx, &raster);
    return status;
}

/* A square of a colour under the picture, and what it stands for. */
static void put_key(mpki_buffer *out, double x, const char *colour, const char *text) {
    mpki_buffer_printf(out,
                       "<rect x=\"%.0f\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2\" "
                       "fill=\"%s\"/>\n",
                       x, TOP + PANEL + 12, colour);
    mpki_plot_text(out, x + 18, TOP + PANEL + 22, "s", text);
}

/* L below the diagonal, the permuted A above it. */
mpk_status mpki_plot_factor(mpk_context *ctx, mpki_buffer *out, const mpk_report *report,
                            const mpk_problem_view *a, const mpk_analysis *an,
                            const mpk_factor *fac) {
    const mpk_run *run = &report->run;
    double x = MARGIN + PANEL + GAP;
    mpki_raster upper = {0}, lower = {0};
    uint8_t *shades = NULL;
    int32_t *iperm = NULL, *rows = NULL;
    mpk_status status = mpki_raster_create(ctx, a->n, &upper);
    if (!mpk_failed(status)) status = mpki_raster_create(ctx, a->n, &lower);
    const bool shaped =
        fac && fac->valid && fac->form->shape && !mpk_failed(mpki_factor_usable(NULL, "plot", fac));
    if (!mpk_failed(status) && shaped) {
        iperm = MPKI_NEW(ctx, "plot", a->n, int32_t);
        status =
            iperm ? fac->form->shape(fac, iperm, mpki_raster_add_tile, &lower) : mpki_failed(ctx);
    }
    if (!mpk_failed(status) && an->row_of) { /* rows that the matching brings to the diagonal */
        rows = MPKI_NEW(ctx, "plot", a->n, int32_t);
        status = rows ? MPK_OK : mpki_failed(ctx);
        for (int32_t j = 0; rows && j < a->n; j++) rows[an->row_of[j]] = j;
    }
    if (mpk_failed(status)) goto done;
    shades = MPKI_ZNEW(ctx, "plot", (int64_t)upper.cells * upper.cells, uint8_t);
    status = MPK_ERR_MEMORY;
    if (!shades) goto done;
    mpki_raster_add_matrix(&upper, a, shaped ? iperm : mpki_positions(an), rows);
    if (!shaped) mpki_raster_add_factor(&lower, an);
    const int64_t entries = run->have_factor ? run->factor.nnz : an->info.factor_nnz;
    if (entries > 0) shade(&lower, 0, shades, false);
    shade(&upper, 1, shades, entries > 0); /* where there is no L yet, all of A */
    char title[96], caption[128], nnz[MPKI_UNIT_MAX], name[MPKI_UNIT_MAX];
    mpk_ordering ordering = run->have_analysis ? run->analysis.ordering : an->info.ordering;
    mpki_print(title, sizeof title, "%s, %s ordering", entries > 0 ? "The factor L" : "A permuted",
               mpki_show_ordering(name, ordering));
    mpki_plot_text(out, x, TOP - 12, "t", title);
    if (entries > 0) {
        mpki_print(caption, sizeof caption, "L: %s entries, %.1f times A",
                   mpki_show_si(nnz, (double)entries, ""),
                   a->nnz > 0 ? (double)entries / (double)a->nnz : 0.0);
        put_key(out, x, "#2a5a9f", caption);
        put_key(out, x + PANEL - 98, "#d98a4b", "A, permuted");
    }
    status = put_picture(ctx, out, upper.cells, shades, x);
done:
    mpki_release(ctx, shades);
    mpki_release(ctx, iperm);
    mpki_release(ctx, rows);
    mpki_raster_free(ctx, &upper);
    mpki_raster_free(ctx, &lower);
    return status;
}
