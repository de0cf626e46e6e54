/* SPDX-License-Identifier: BSD-3-Clause */
/** Generates matrices that are not symmetric: convection and diffusion on a grid, upwind. */
#include "generate.h"

#include <math.h>

/* The values of the parameters, in the order of the table. */
enum { SIDE, DIMENSION, SPEED, WIND, DAMPING, ROWS, STRETCH, REACTION };

/* The velocity at a point of the unit square or cube, times the speed. */
static void wind_at(const mpki_generator *g, const double x[3], double w[3]) {
    const double speed = g->value[SPEED];
    if (g->value[WIND] == 0) {
        w[0] = speed, w[1] = speed / 2, w[2] = speed / 4;
        return;
    }
    /* around the middle, no flow through the walls */
    w[0] = 16 * speed * x[0] * (1 - x[0]) * (x[1] - 0.5);
    w[1] = -16 * speed * x[1] * (1 - x[1]) * (x[0] - 0.5);
    w[2] = 0;
}

/* Along an axis. */
static double diffusion(const mpki_generator *g, int axis) {
    return axis == 0 ? g->value[STRETCH] : 1;
}

static void emit_value(mpki_generator *g, int64_t row, int64_t col, double re, double im) {
    if (g->scalar == MPK_Z)
        mpki_emit_complex(g, row, col, re, im);
    else
        mpki_emit(g, row, col, re);
}

/* The row of point k, which is row `row` of the matrix. */
static void emit_point(mpki_generator *g, int64_t side, int dimension, int64_t k, int64_t row) {
    const double h = 1.0 / ((double)side + 1);
    const int64_t at[3] = {k % side, k / side % side, k / (side * side)};
    double x[3], w[3], diagonal = h * h * g->value[REACTION];
    int64_t step = 1;
    for (int a = 0; a < 3; a++) x[a] = ((double)at[a] + 1) * h;
    wind_at(g, x, w);
    for (int a = 0; a < dimension; a++) diagonal += 2 * diffusion(g, a);
    for (int a = 0; a < dimension; a++) diagonal += h * fabs(w[a]);
    emit_value(g, row, k, diagonal, g->value[DAMPING] * h * h);
    for (int a = 0; a < dimension; a++, step *= side) {
        const double with = h * (w[a] > 0 ? w[a] : 0), against = h * (w[a] < 0 ? -w[a] : 0);
        if (at[a] > 0) emit_value(g, row, k - step, -diffusion(g, a) - with, 0);
        if (at[a] + 1 < side) emit_value(g, row, k + step, -diffusion(g, a) - against, 0);
    }
}

static mpk_status convection(mpki_generator *g) {
    const int dimension = g->value[DIMENSION] == 1 ? 3 : 2;
    const double side = g->value[SIDE], points = side * side * (dimension == 3 ? side : 1);
    int32_t *row = NULL;
    g->symmetry = MPK_GENERAL;
    if (g->value[DAMPING] != 0) g->scalar = MPK_Z;
    mpk_status status = mpki_generator_size(g, points, (2 * dimension + 1) * points);
    if (mpk_failed(status)) return status;
    row = MPKI_NEW(g->ctx, "generate", g->n, int32_t);
    if (!row) return mpki_failed(g->ctx);
    for (int32_t k = 0; k < g->n; k++) row[k] = k;
    for (int32_t k = g->n - 1; k > 0 && g->value[ROWS] == 1; k--) { /* Fisher & Yates 1938 */
        const int32_t j = (int32_t)mpki_draw_index(g, (int64_t)k + 1), swap = row[k];
        row[k] = row[j];
        row[j] = swap;
    }
    for (int64_t k = 0; k < g->n && !mpki_asks(&g->asking, 32); k++)
        emit_point(g, (int64_t)side, dimension, k, row[k]);
    mpki_release(g->ctx, row);
    return MPK_OK;
}

static const char *const dimensions[] = {"2d", "3d", NULL};
static const char *const winds[] = {"constant", "circular", NULL};
static const char *const orders[] = {"ordered", "shuffled", NULL};
static const mpki_parameter parameters[] = {
    {.name = "N", .integer = true, .required = true, .least = 1, .most = 1 << 20},
    {.name = "dimension", .words = dimensions},
    {.name = "speed", .initial = 100, .least = 0, .most = 1e9},
    {.name = "wind", .words = winds},
    {.name = "damping", .initial = 0, .least = -1e9, .most = 1e9},
    {.name = "rows", .words = orders},
    {.name = "stretch", .initial = 1, .least = 1e-6, .most = 1e6},
    {.name = "reaction", .initial = 0, .least = 0, .most = 1e12},
    {.name = NULL}};
const mpki_family mpki_family_convection = {"convection", parameters, convection};
