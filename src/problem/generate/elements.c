/* SPDX-License-Identifier: BSD-3-Clause */
/** Generates matrices of finite elements: triangles, tetrahedra, shells; positive definite. */
#include "generate.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "generate";

/* The values of the parameters, in the order of the table. */
enum { SHAPE, NX, NY, NZ, STRETCH, MASS, DECADES, JITTER, CELLS, BOUNDARY, TILE, UNKNOWNS };
enum { TRIANGLES, TETRAHEDRA, SHELL };
enum { MAX_UNKNOWNS = 8, CORNERS = 4 };

typedef struct mesh {
    mpki_generator *g;
    int dimension, unknowns;
    int64_t side[3], all[3]; /* unknown points, and points with those that are held */
    int64_t points;
    double stretch[3];
    double *at;      /* coordinates, `dimension` a point; of a shell NULL */
    int32_t *number; /* of the unknown points; -1: held */
} mesh;

/* ---- points ---------------------------------------------------------------------------------- */

static int64_t point(const mesh *m, const int64_t at[3]) {
    return (at[2] * m->all[1] + at[1]) * m->all[0] + at[0];
}

/* Numbers within a tile: there and back along its lines, so that neighbours follow each other. */
static int32_t number_tile(mesh *m, const int64_t low[3], const int64_t high[3], int32_t next) {
    const int64_t held = m->g->value[BOUNDARY] == 0, across = high[1] - low[1];
    const int64_t along = high[0] - low[0];
    for (int64_t k = low[2]; k < high[2]; k++)
        for (int64_t j = 0; j < across; j++)
            for (int64_t i = 0; i < along; i++) {
                const bool tiled = m->g->value[TILE] > 1;
                const bool back = tiled && (k - low[2]) % 2, turn = tiled && (j + k - low[2]) % 2;
                int64_t at[3] = {low[0] + (turn ? along - 1 - i : i),
                                 low[1] + (back ? across - 1 - j : j), k};
                for (int d = 0; d < m->dimension; d++) at[d] += held;
                m->number[point(m, at)] = next++;
            }
    return next;
}

static void number_points(mesh *m) {
    const int64_t tile = (int64_t)m->g->value[TILE];
    int64_t step[3], low[3], high[3];
    int32_t next = 0;
    for (int d = 0; d < 3; d++) step[d] = tile > 1 ? tile : m->side[d];
    memset(m->number, -1, (size_t)m->points * sizeof *m->number);
    for (low[2] = 0; low[2] < m->side[2]; low[2] += step[2])
        for (low[1] = 0; low[1] < m->side[1]; low[1] += step[1])
            for (low[0] = 0; low[0] < m->side[0]; low[0] += step[0]) {
                for (int d = 0; d < 3; d++)
                    high[d] = low[d] + step[d] < m->side[d] ? low[d] + step[d] : m->side[d];
                next = number_tile(m, low, high, next);
            }
}

static void place_points(mesh *m) {
    const double jitter = m->g->value[JITTER];
    for (int64_t p = 0; p < m->points; p++) {
        const int64_t at[3] = {p % m->all[0], p / m->all[0] % m->all[1],
                               p / (m->all[0] * m->all[1])};
        for (int d = 0; d < m->dimension; d++)
            m->at[p * m->dimension + d] =
                (double)at[d] + (jitter > 0 ? jitter * (mpki_draw_unit(m->g) - 0.5) : 0);
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

static void emit_number(mesh *m, int64_t p, int64_t q, double value) {
    const int32_t row = m->number[p], col = m->number[q];
    if (col >= 0 && row >= col) mpki_emit(m->g, row, col, value);
}

static void triangle(mesh *m, int64_t a, int64_t b, int64_t c, double conductivity) {
    const int64_t p[3] = {a, b, c};
    double ex[3], ey[3];
    for (int k = 0; k < 3; k++) {
        const double *q = m->at + 2 * p[(k + 1) % 3], *r = m->at + 2 * p[(k + 2) % 3];
        ex[k] = r[0] - q[0], ey[k] = r[1] - q[1];
    }
    const double area = fabs(ex[0] * ey[1] - ex[1] * ey[0]) / 2;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double s = m->stretch[0] * ey[i] * ey[j] + m->stretch[1] * ex[i] * ex[j];
            emit_number(m, p[i], p[j],
                        conductivity * s / (4 * area) +
                            m->g->value[MASS] * area * (1 + (i == j)) / 12);
        }
}

static void cross(const double a[3], const double b[3], double to[3]) {
    for (int d = 0; d < 3; d++)
        to[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static void tetrahedron(mesh *m, const int64_t p[4], double conductivity) {
    double e[3][3], g[4][3];
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++) e[k][d] = m->at[3 * p[k + 1] + d] - m->at[3 * p[0] + d];
    cross(e[1], e[2], g[1]);
    cross(e[2], e[0], g[2]);
    cross(e[0], e[1], g[3]);
    const double det = fabs(e[0][0] * g[1][0] + e[0][1] * g[1][1] + e[0][2] * g[1][2]);
    for (int d = 0; d < 3; d++) g[0][d] = -g[1][d] - g[2][d] - g[3][d];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double s = 0;
            for (int d = 0; d < 3; d++) s += m->stretch[d] * g[i][d] * g[j][d];
            emit_number(m, p[i], p[j],
                        conductivity * s / (6 * det) +
                            m->g->value[MASS] * det * (1 + (i == j)) / 120);
        }
}

/* Bilinear: a square times a random positive definite matrix of the unknowns of a point. */
static void square(mesh *m, const int64_t p[4], double conductivity) {
    static const double mass[2][2] = {{2, 1}, {1, 2}}, stiff[2][2] = {{1, -1}, {-1, 1}};
    const int u = m->unknowns;
    double q[MAX_UNKNOWNS][MAX_UNKNOWNS], b[MAX_UNKNOWNS][MAX_UNKNOWNS];
    for (int i = 0; i < u; i++)
        for (int j = 0; j < u; j++) q[i][j] = mpki_draw_unit(m->g) - 0.5;
    for (int i = 0; i < u; i++)
        for (int j = 0; j < u; j++) {
            b[i][j] = i == j ? 0.5 : 0;
            for (int k = 0; k < u; k++) b[i][j] += q[i][k] * q[j][k];
        }
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j < CORNERS; j++) {
            const int x[2] = {i % 2, j % 2}, y[2] = {i / 2, j / 2};
            const double s = (m->stretch[0] * stiff[x[0]][x[1]] * mass[y[0]][y[1]] +
                              m->stretch[1] * mass[x[0]][x[1]] * stiff[y[0]][y[1]]) /
                             6;
            const double w = mass[x[0]][x[1]] * mass[y[0]][y[1]] / 36;
            const int32_t row = m->number[p[i]], col = m->number[p[j]];
            if (col < 0 || row < col) continue;
            for (int k = 0; k < u; k++)
                for (int l = 0; l < (row == col ? k + 1 : u); l++)
                    mpki_emit(m->g, (int64_t)u * row + k, (int64_t)u * col + l,
                              conductivity * s * b[k][l] + (k == l ? m->g->value[MASS] * w : 0));
        }
}

/* ---- cells ----------------------------------------------------------------------------------- */

static double draw_conductivity(mesh *m) {
    return m->g->value[DECADES] > 0 ? mpki_draw_magnitude(m->g, m->g->value[DECADES]) : 1;
}

static void cut_square(mesh *m, int64_t a) {
    const int64_t b = a + 1, c = a + m->all[0], d = c + 1;
    const double conductivity = draw_conductivity(m);
    if (m->g->value[SHAPE] == SHELL) {
        const int64_t p[4] = {a, b, c, d};
        square(m, p, conductivity);
        return;
    }
    const bool other = m->g->value[CELLS] == 1 && mpki_draw_unit(m->g) < 0.5;
    triangle(m, a, b, other ? d : c, conductivity);
    triangle(m, other ? a : b, other ? c : d, other ? d : c, conductivity);
}

/* Kuhn's six tetrahedra of a cube: the ways from a corner to the opposite one. */
static void cut_cube(mesh *m, int64_t corner) {
    static const int ways[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int64_t step[3] = {1, m->all[0], m->all[0] * m->all[1]};
    const double conductivity = draw_conductivity(m);
    for (int w = 0; w < 6; w++) {
        int64_t p[4] = {corner, 0, 0, 0};
        for (int k = 0; k < 3; k++) p[k + 1] = p[k] + step[ways[w][k]];
        tetrahedron(m, p, conductivity);
    }
}

static void emit_cells(mesh *m) {
    int64_t at[3];
    for (at[2] = 0; at[2] < (m->dimension == 3 ? m->all[2] - 1 : 1); at[2]++)
        for (at[1] = 0; at[1] + 1 < m->all[1]; at[1]++) {
            if (mpki_asks(&m->g->asking, m->all[0])) return;
            for (at[0] = 0; at[0] + 1 < m->all[0]; at[0]++) {
                const int64_t corner = point(m, at);
                if (m->dimension == 3)
                    cut_cube(m, corner);
                else
                    cut_square(m, corner);
            }
        }
}

/* What has no effect on a shape is refused. */
static mpk_status check(const mpki_generator *g) {
    const char *what = NULL;
    const int shape = (int)g->value[SHAPE];
    if (shape != TETRAHEDRA && g->value[NZ] != 0) what = "nz";
    if (shape != TRIANGLES && g->value[CELLS] != 0) what = "cells";
    if (shape != SHELL && g->value[UNKNOWNS] != 0) what = "unknowns";
    if (shape == SHELL && g->value[JITTER] != 0) what = "jitter";
    if (!what) return MPK_OK;
    return mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s: %s has no effect on this shape",
                      g->family, what);
}

static mpk_status elements(mpki_generator *g) {
    static const double emitted[] = {2 * 6, 6 * 10, CORNERS * (CORNERS + 1) / 2};
    const int shape = (int)g->value[SHAPE];
    mesh m = {.g = g, .dimension = shape == TETRAHEDRA ? 3 : 2, .unknowns = 1};
    double points = 1, cells = 1, n;
    mpk_status status = check(g);
    if (mpk_failed(status)) return status;
    if (shape == SHELL) m.unknowns = g->value[UNKNOWNS] > 0 ? (int)g->value[UNKNOWNS] : 4;
    n = m.unknowns;
    for (int d = 0; d < 3; d++) {
        const double given = g->value[NX + d] > 0 ? g->value[NX + d] : g->value[NX];
        const bool there = d < m.dimension;
        m.side[d] = there ? (int64_t)given : 1;
        m.all[d] = there ? m.side[d] + (g->value[BOUNDARY] == 0 ? 2 : 0) : 1;
        m.stretch[d] = d == 0 ? g->value[STRETCH] : 1;
        n *= (double)m.side[d];
        points *= (double)m.all[d];
        if (there) cells *= (double)(m.all[d] - 1);
    }
    status = mpki_generator_size(g, n, cells * emitted[shape] * m.unknowns * m.unknowns);
    if (mpk_failed(status)) return status;
    if (points > INT32_MAX)
        return mpki_error(g->ctx, MPK_ERR_SIZE, STAGE, -1, "%s: %.0f points are too many",
                          g->family, points);
    m.points = (int64_t)points;
    m.number = MPKI_NEW(g->ctx, STAGE, m.points, int32_t);
    if (shape != SHELL) m.at = MPKI_NEW(g->ctx, STAGE, m.points * m.dimension, double);
    if (m.number && (m.at || shape == SHELL)) {
        number_points(&m);
        if (m.at) place_points(&m);
        emit_cells(&m);
    } else {
        status = mpki_failed(g->ctx);
    }
    mpki_release(g->ctx, m.number);
    mpki_release(g->ctx, m.at);
    return status;
}

static const char *const shapes[] = {"triangles", "tetrahedra", "shell", NULL};
static const char *const cuts[] = {"alike", "random", NULL};
static const char *const boundaries[] = {"dirichlet", "neumann", NULL};
static const mpki_parameter parameters[] = {
    {.name = "shape", .words = shapes, .required = true},
    {.name = "nx", .integer = true, .required = true, .least = 2, .most = 1 << 20},
    {.name = "ny", .integer = true, .initial = 0, .least = 2, .most = 1 << 20},
    {.name = "nz", .integer = true, .initial = 0, .least = 2, .most = 1 << 20},
    {.name = "stretch", .initial = 1, .least = 1e-6, .most = 1e6},
    {.name = "mass", .initial = 0, .least = 0, .most = 1e9},
    {.name = "decades", .initial = 0, .least = 0, .most = 12},
    {.name = "jitter", .initial = 0, .least = 0, .most = 0.5},
    {.name = "cells", .words = cuts},
    {.name = "boundary", .words = boundaries},
    {.name = "tile", .integer = true, .initial = 1, .least = 1, .most = 1 << 20},
    {.name = "unknowns", .integer = true, .initial = 0, .least = 1, .most = MAX_UNKNOWNS},
    {.name = NULL}};
const mpki_family mpki_family_elements = {"elements", parameters, elements};
