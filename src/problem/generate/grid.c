/* SPDX-License-Identifier: BSD-3-Clause */
/** Generates shifted Laplacians on grids: lin (a Hamiltonian) and helmholtz. */
#include "generate.h"

#include <math.h>

/* ---- lin ---------------------------------------------------------------------------------- */

/* A potential well: -depth / (1 + |x - at|^2 / width^2). */
typedef struct well {
    double at[3], depth, width;
} well;
enum { MAX_WELLS = 64 };

static double potential(const well *wells, int count, const double x[3]) {
    double v = 0;
    for (int k = 0; k < count; k++) {
        double square = 0;
        for (int a = 0; a < 3; a++) square += (x[a] - wells[k].at[a]) * (x[a] - wells[k].at[a]);
        v -= wells[k].depth / (1 + square / (wells[k].width * wells[k].width));
    }
    return v;
}

static mpk_status lin(mpki_generator *g) {
    const double size[3] = {g->value[0], g->value[1], g->value[2]}, sigma = g->value[3];
    const int count = (int)g->value[4];
    const double n = size[0] * size[1] * size[2];
    mpk_status status = mpki_generator_size(g, n, 4 * n);
    if (mpk_failed(status)) return status;
    well wells[MAX_WELLS];
    for (int k = 0; k < count; k++) {
        for (int a = 0; a < 3; a++) wells[k].at[a] = mpki_draw_unit(g) * (size[a] - 1);
        wells[k].depth = 0.5 + mpki_draw_unit(g);
        wells[k].width = 2 + 4 * mpki_draw_unit(g);
    }
    const int64_t nx = (int64_t)size[0], ny = (int64_t)size[1], nz = (int64_t)size[2];
    for (int64_t k = 0; k < nx * ny * nz && !mpki_asks(&g->asking, 16); k++) {
        const int64_t x = k % nx, y = k / nx % ny, z = k / (nx * ny);
        const double at[3] = {(double)x, (double)y, (double)z};
        mpki_emit(g, k, k, 6 + potential(wells, count, at) - sigma);
        if (x + 1 < nx) mpki_emit(g, k + 1, k, -1);
        if (y + 1 < ny) mpki_emit(g, k + nx, k, -1);
        if (z + 1 < nz) mpki_emit(g, k + nx * ny, k, -1);
    }
    return MPK_OK;
}

static const mpki_parameter lin_parameters[] = {
    {.name = "nx", .integer = true, .initial = 80, .least = 1, .most = 1 << 20},
    {.name = "ny", .integer = true, .initial = 80, .least = 1, .most = 1 << 20},
    {.name = "nz", .integer = true, .initial = 40, .least = 1, .most = 1 << 20},
    {.name = "sigma", .initial = 1, .least = -100, .most = 100},
    {.name = "wells", .integer = true, .initial = 8, .least = 0, .most = MAX_WELLS},
    {.name = NULL}};
const mpki_family mpki_family_lin = {"lin", lin_parameters, lin};

/* ---- helmholtz ---------------------------------------------------------------------------- */

/* What the diagonal entry of a cell is made of. */
typedef struct medium {
    double kh, shift, damping;
    bool absorbing;
    int dimension;
} medium;

static void emit_cell(mpki_generator *g, const medium *m, int64_t k, int faces) {
    if (m->absorbing)
        mpki_emit_complex(g, k, k, 2 * m->dimension - faces - m->shift,
                          -m->shift * m->damping - m->kh * faces);
    else if (g->scalar == MPK_Z)
        mpki_emit_complex(g, k, k, 2 * m->dimension - m->shift, -m->shift * m->damping);
    else
        mpki_emit(g, k, k, 2 * m->dimension - m->shift);
}

static void emit_neighbour(mpki_generator *g, int64_t row, int64_t col) {
    if (g->scalar == MPK_Z)
        mpki_emit_complex(g, row, col, -1, 0);
    else
        mpki_emit(g, row, col, -1);
}

static mpk_status helmholtz(mpki_generator *g) {
    const int64_t n = (int64_t)g->value[1], depth = g->value[0] == 1 ? n : 1;
    const double side = (double)n, total = side * side * (double)depth, wavenumber = g->value[5];
    medium m = {.shift = g->value[2],
                .absorbing = g->value[3] == 1,
                .damping = g->value[4],
                .dimension = depth > 1 || g->value[0] == 1 ? 3 : 2};
    if (wavenumber > 0) {
        const double kh = wavenumber / (m.absorbing ? side : side + 1);
        m.shift = kh * kh;
    }
    m.kh = sqrt(m.shift > 0 ? m.shift : 0);
    if (m.absorbing || m.damping != 0) g->scalar = MPK_Z;
    mpk_status status = mpki_generator_size(g, total, (m.dimension + 1) * total);
    if (mpk_failed(status)) return status;
    for (int64_t k = 0; k < n * n * depth && !mpki_asks(&g->asking, 8); k++) {
        const int64_t x = k % n, y = k / n % n, z = k / (n * n);
        int faces = (x == 0) + (x == n - 1) + (y == 0) + (y == n - 1);
        if (m.dimension == 3) faces += (z == 0) + (z == n - 1);
        emit_cell(g, &m, k, faces);
        if (x + 1 < n) emit_neighbour(g, k + 1, k);
        if (y + 1 < n) emit_neighbour(g, k + n, k);
        if (z + 1 < depth) emit_neighbour(g, k + n * n, k);
    }
    return MPK_OK;
}

static const char *const dimensions[] = {"2d", "3d", NULL};
static const char *const boundaries[] = {"dirichlet", "absorbing", NULL};
static const mpki_parameter helmholtz_parameters[] = {
    {.name = "dimension", .words = dimensions, .required = true},
    {.name = "N", .integer = true, .required = true, .least = 1, .most = 1 << 20},
    {.name = "shift", .initial = 0.3, .least = -100, .most = 100},
    {.name = "boundary", .words = boundaries},
    {.name = "damping", .initial = 0, .least = -10, .most = 10},
    {.name = "k", .initial = 0, .least = 0, .most = 1e9},
    {.name = NULL}};
const mpki_family mpki_family_helmholtz = {"helmholtz", helmholtz_parameters, helmholtz};
