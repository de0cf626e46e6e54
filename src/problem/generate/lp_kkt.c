/* SPDX-License-Identifier: BSD-3-Clause */
/** Interior-point systems of linear programs: [Theta^-1 A^T; A -delta I], A with M rows and N
 * columns of full structural rank; inertia (N, M, 0). */
#include "generate.h"

#include <string.h>

/* A row near `centre` on the square grid of the rows, or any row. */
static int64_t pick_row(mpki_generator *g, bool local, int64_t rows, int64_t width,
                        int64_t centre) {
    enum { REACH = 6 };
    if (!local) return mpki_draw_index(g, rows);
    int64_t x = centre % width + mpki_draw_index(g, 2 * REACH + 1) - REACH;
    int64_t y = centre / width + mpki_draw_index(g, 2 * REACH + 1) - REACH;
    if (x < 0) x = -x;
    if (y < 0) y = -y;
    if (x >= width) x = width - 1;
    int64_t row = y * width + x;
    return row < rows ? row : rows - 1;
}

/* The rows of a column: increasing, distinct, `centre` among them; returns their number. */
static int column_rows(mpki_generator *g, bool local, int64_t rows, int64_t width, int64_t centre,
                       int wanted, int64_t *list) {
    int count = 0;
    list[count++] = centre;
    for (int k = 1; k < wanted; k++) {
        int64_t row = pick_row(g, local, rows, width, centre);
        int at = count;
        while (at > 0 && list[at - 1] > row) at--;
        if (at > 0 && list[at - 1] == row) continue; /* had already: one entry less */
        memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
        list[at] = row;
        count++;
    }
    return count;
}

enum { MAX_COLUMN = 64 };

static mpk_status lp_kkt(mpki_generator *g) {
    const int64_t rows = (int64_t)g->value[0], cols = (int64_t)g->value[1];
    const double decades = g->value[2], delta = g->value[5];
    const int wanted = (int)g->value[3];
    const bool local = g->value[4] == 0;
    if (rows > cols)
        return mpki_error(g->ctx, MPK_ERR_ARGUMENT, "generate", -1,
                          "lp-kkt: M = %lld rows must not exceed N = %lld columns", (long long)rows,
                          (long long)cols);
    mpk_status status = mpki_generator_size(g, (double)rows + (double)cols,
                                            (double)cols * (1 + wanted) + (double)rows);
    if (mpk_failed(status)) return status;
    int64_t width = 1;
    while (width * width < rows) width++;
    for (int64_t j = 0; j < cols && !mpki_asks(&g->asking, 16); j++) {
        int64_t list[MAX_COLUMN + 1], centre = j * rows / cols;
        mpki_emit(g, j, j, mpki_draw_magnitude(g, decades));
        int count = column_rows(g, local, rows, width, centre, wanted, list);
        for (int k = 0; k < count; k++) {
            double size = 0.5 + 1.5 * mpki_draw_unit(g);
            mpki_emit(g, cols + list[k], j, mpki_random_next(&g->random) >> 63 ? -size : size);
        }
    }
    for (int64_t i = 0; i < rows && delta > 0; i++) mpki_emit(g, cols + i, cols + i, -delta);
    return MPK_OK;
}

static const char *const couplings[] = {"local", "random", NULL};
static const mpki_parameter parameters[] = {
    {.name = "M", .integer = true, .required = true, .least = 1, .most = INT32_MAX},
    {.name = "N", .integer = true, .required = true, .least = 1, .most = INT32_MAX},
    {.name = "decades", .initial = 6, .least = 0, .most = 40},
    {.name = "column", .integer = true, .initial = 3, .least = 1, .most = MAX_COLUMN},
    {.name = "coupling", .words = couplings},
    {.name = "delta", .initial = 0, .least = 0, .most = 1e16},
    {.name = NULL}};
const mpki_family mpki_family_lp_kkt = {"lp-kkt", parameters, lp_kkt};
