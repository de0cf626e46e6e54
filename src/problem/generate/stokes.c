/* SPDX-License-Identifier: BSD-3-Clause */
/** Stokes flow in the unit square, no slip on the walls: [A B^T; B 0], A = viscosity times the
 * vector Laplacian, B = minus the divergence. The last pressure is left out, so that the matrix is
 * regular: inertia (velocities, pressures - 1, 0). */
#include "generate.h"

/* ---- MAC: staggered finite differences (Harlow & Welch 1965), times h^2 ------------------- */

/* Column of a velocity between two cells: the five-point row, then the two pressures.
 *  i, width: position and extent along its direction and across; step: to the next one. */
typedef struct mac {
    int64_t n; /* cells per side */
    double viscosity, h;
} mac;

static void pressure(mpki_generator *g, const mac *m, int64_t cell, int64_t col, double value) {
    if (cell < m->n * m->n - 1) mpki_emit(g, 2 * m->n * (m->n - 1) + cell, col, value);
}

static void horizontal(mpki_generator *g, const mac *m, int64_t i, int64_t j) {
    const int64_t n = m->n, col = j * (n - 1) + i, cell = j * n + i;
    const int walls = (j == 0) + (j == n - 1); /* u = 0 half a cell away: one more each */
    mpki_emit(g, col, col, m->viscosity * (4 + walls));
    if (i + 1 < n - 1) mpki_emit(g, col + 1, col, -m->viscosity);
    if (j + 1 < n) mpki_emit(g, col + n - 1, col, -m->viscosity);
    pressure(g, m, cell, col, -m->h);
    pressure(g, m, cell + 1, col, m->h);
}

static void vertical(mpki_generator *g, const mac *m, int64_t i, int64_t j) {
    const int64_t n = m->n, cell = j * n + i, col = n * (n - 1) + cell;
    const int walls = (i == 0) + (i == n - 1);
    mpki_emit(g, col, col, m->viscosity * (4 + walls));
    if (i + 1 < n) mpki_emit(g, col + 1, col, -m->viscosity);
    if (j + 1 < n - 1) mpki_emit(g, col + n, col, -m->viscosity);
    pressure(g, m, cell, col, -m->h);
    pressure(g, m, cell + n, col, m->h);
}

static mpk_status stokes_mac(mpki_generator *g) {
    const double side = g->value[1], velocities = 2 * side * (side - 1);
    mac m = {.n = (int64_t)side, .viscosity = g->value[2], .h = 1 / side};
    mpk_status status = mpki_generator_size(g, velocities + side * side - 1, 5 * velocities);
    if (mpk_failed(status)) return status;
    for (int64_t j = 0; j < m.n && !mpki_asks(&g->asking, 8 * m.n); j++)
        for (int64_t i = 0; i < m.n - 1; i++) horizontal(g, &m, i, j);
    for (int64_t j = 0; j < m.n - 1 && !mpki_asks(&g->asking, 8 * m.n); j++)
        for (int64_t i = 0; i < m.n; i++) vertical(g, &m, i, j);
    return MPK_OK;
}

/* ---- Taylor-Hood: biquadratic velocities, bilinear pressures (Taylor & Hood 1973) --------- */

/* One-dimensional quadratic elements; node i, even: a vertex, odd: a midpoint; offset d in -2 .. 2.
 * 30 / h times the mass and 3 h times the stiffness between inner nodes; 0: no element in common.
 */
static int mass(int64_t i, int d) {
    if (d == 0) return i % 2 ? 16 : 8;
    if (d == 1 || d == -1) return 2;
    return i % 2 ? 0 : -1;
}
static int stiffness(int64_t i, int d) {
    if (d == 0) return i % 2 ? 16 : 14;
    if (d == 1 || d == -1) return -8;
    return i % 2 ? 0 : 1;
}

/* A linear function at vertex a (even node 2 a) against the quadratic one at inner node i: 6 / h
 * times the integral of the product, and 6 times that of the product with the derivative. d = 2 a -
 * i. */
static int mixed_mass(int64_t i, int64_t d) {
    if (i % 2) return d == 1 || d == -1 ? 2 : 0;
    return d == 0 ? 2 : 0;
}
static int mixed_derivative(int64_t i, int64_t d) {
    if (i % 2) return d == -1 ? 4 : d == 1 ? -4 : 0;
    return d == -2 ? 1 : d == 2 ? -1 : 0;
}

/* Column of a velocity component at the inner node (i, j), 1 <= i, j <= 2 N - 1. */
static void taylor_hood_column(mpki_generator *g, int64_t n, int component, int64_t i, int64_t j) {
    const int64_t inner = 2 * n - 1, nodes = inner * inner;
    const int64_t col = component * nodes + (j - 1) * inner + (i - 1);
    const double viscosity = g->value[2], h = 1 / (double)n;
    for (int dj = 0; dj <= 2; dj++)
        for (int di = dj ? -2 : 0; di <= 2; di++) {
            if (i + di < 1 || i + di > inner || j + dj > inner) continue;
            int x = stiffness(i, di) * mass(j, dj) + mass(i, di) * stiffness(j, dj);
            if (x) mpki_emit(g, col + dj * inner + di, col, viscosity * x / 90);
        }
    for (int64_t b = (j - 1) / 2; b <= (j + 2) / 2; b++)
        for (int64_t a = (i - 1) / 2; a <= (i + 2) / 2; a++) {
            int x = component == 0 ? mixed_derivative(i, 2 * a - i) * mixed_mass(j, 2 * b - j)
                                   : mixed_mass(i, 2 * a - i) * mixed_derivative(j, 2 * b - j);
            int64_t row = b * (n + 1) + a;
            if (x && row < (n + 1) * (n + 1) - 1) mpki_emit(g, 2 * nodes + row, col, -h * x / 36);
        }
}

static mpk_status stokes_taylor_hood(mpki_generator *g) {
    const double side = g->value[1], inner = 2 * side - 1;
    const int64_t n = (int64_t)side;
    /* at most 13 entries below a velocity, and 6 pressures */
    mpk_status status = mpki_generator_size(g, 2 * inner * inner + (side + 1) * (side + 1) - 1,
                                            2 * inner * inner * 19);
    if (mpk_failed(status)) return status;
    for (int component = 0; component < 2; component++)
        for (int64_t j = 1; j <= 2 * n - 1 && !mpki_asks(&g->asking, 100 * n); j++)
            for (int64_t i = 1; i <= 2 * n - 1; i++) taylor_hood_column(g, n, component, i, j);
    return MPK_OK;
}

static mpk_status stokes(mpki_generator *g) {
    return g->value[0] == 0 ? stokes_mac(g) : stokes_taylor_hood(g);
}

static const char *const schemes[] = {"mac", "q2q1", NULL};
static const mpki_parameter stokes_parameters[] = {
    {.name = "scheme", .words = schemes, .required = true},
    {.name = "N", .integer = true, .required = true, .least = 2, .most = 1 << 20},
    {.name = "viscosity", .initial = 1, .least = 1e-16, .most = 1e16},
    {.name = NULL}};
const mpki_family mpki_family_stokes = {"stokes", stokes_parameters, stokes};
