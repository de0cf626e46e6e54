/* SPDX-License-Identifier: BSD-3-Clause */
/** KKT systems of optimal control of an elliptic equation in the unit cube. Unknowns: states y,
 * controls u, adjoints p; inertia (states + controls, adjoints, 0). */
#include "generate.h"

#include <stdlib.h>

/* ---- one-dimensional linear elements on N points, spacing h ------------------------------- */

/* 6 / h times the mass matrix and h times the stiffness matrix: row i, offset d in -1 .. 1. */
static inline int mass(int i, int d, int n) {
    return d ? 1 : i == 0 || i == n - 1 ? 2 : 4;
}
static inline int stiffness(int i, int d, int n) {
    return d ? -1 : i == 0 || i == n - 1 ? 1 : 2;
}
/* Trapezoidal weight over h, doubled: the lumped mass. */
static inline int weight2(int i, int n) {
    return i == 0 || i == n - 1 ? 1 : 2;
}

/* ---- nlpkkt: boundary control ------------------------------------------------------------- */

/* The numbers of points per side N and of points in all, and the scales of the blocks. */
typedef struct grid {
    int n;
    int64_t points, controls;
    double h, alpha, barrier;
    bool dirichlet;
} grid;

/* Finite differences for -52 h^2 Laplace: the entry between two points that differ in `axes` of
 * their coordinates, by one step each. */
static double difference(int axes) {
    static const double weight[] = {200, -16, -8, -1};
    return weight[axes];
}

/* The entry between x and x + d: finite differences, or trilinear elements for -Laplace + 1. */
static double element(const grid *g, const int x[3], const int d[3]) {
    if (g->dirichlet) return difference(abs(d[0]) + abs(d[1]) + abs(d[2]));
    int m[3], k[3];
    for (int a = 0; a < 3; a++) {
        m[a] = mass(x[a], d[a], g->n);
        k[a] = stiffness(x[a], d[a], g->n);
    }
    int laplace = k[0] * m[1] * m[2] + m[0] * k[1] * m[2] + m[0] * m[1] * k[2];
    return g->h / 36 * laplace + g->h * g->h * g->h / 216 * (m[0] * m[1] * m[2]);
}

static bool inside(int i, int n) {
    return i >= 0 && i < n;
}

static int64_t point(const grid *g, const int x[3]) {
    return ((int64_t)x[2] * g->n + x[1]) * g->n + x[0];
}

/* The diagonal entry of the state at x: the lumped mass, or 1 with what the bound y <= 3.5 adds at
 * the target 3 + 5 a (a - 1) b (b - 1) with multiplier 1. */
static double state_weight(const grid *g, const int x[3]) {
    if (g->dirichlet) {
        const double a = g->h * (x[0] + 1), b = g->h * (x[1] + 1);
        return 1 + 1 / (0.5 - 5 * (a * (a - 1)) * (b * (b - 1)));
    }
    return g->h * g->h * g->h *
           (weight2(x[0], g->n) * weight2(x[1], g->n) * weight2(x[2], g->n) * 0.125);
}

/* Column of the state at x: the mass M, then K in the rows of the adjoints. */
static void state_column(mpki_generator *out, const grid *g, const int x[3]) {
    int64_t col = point(g, x), adjoints = g->points + g->controls;
    double barrier = g->barrier > 0 ? mpki_draw_magnitude(out, g->barrier) : 0;
    mpki_emit(out, col, col, state_weight(g, x) * (1 + barrier));
    int d[3];
    for (d[2] = -1; d[2] <= 1; d[2]++)
        for (d[1] = -1; d[1] <= 1; d[1]++)
            for (d[0] = -1; d[0] <= 1; d[0]++) {
                int to[3] = {x[0] + d[0], x[1] + d[1], x[2] + d[2]};
                if (inside(to[0], g->n) && inside(to[1], g->n) && inside(to[2], g->n))
                    mpki_emit(out, adjoints + point(g, to), col, element(g, x, d));
            }
}

/* Of the control at (a, b) on a face: the diagonal entry, with dirichlet that of 0 <= u <= 10 at 5
 * with multipliers 1, too; and the entry of a point (da, db) from the one next to it. */
static double control_weight(const grid *g, int a, int b) {
    if (g->dirichlet) return g->alpha / g->h + 0.4;
    return g->alpha * g->h * g->h * (weight2(a, g->n) * weight2(b, g->n) * 0.25);
}
static double control_entry(const grid *g, int a, int da, int b, int db) {
    if (g->dirichlet) return difference(1 + abs(da) + abs(db));
    return -(g->h * g->h / 36) * (mass(a, da, g->n) * mass(b, db, g->n));
}

/* Column of the control at (a, b) on a face: alpha R, then -B. */
static void control_column(mpki_generator *out, const grid *g, int face, int a, int b) {
    const int n = g->n, axis = face / 2, first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    int64_t col = g->points + ((int64_t)face * n + b) * n + a, adjoints = g->points + g->controls;
    double barrier = g->barrier > 0 ? mpki_draw_magnitude(out, g->barrier) : 0;
    mpki_emit(out, col, col, control_weight(g, a, b) * (1 + barrier));
    for (int db = -1; db <= 1; db++)
        for (int da = -1; da <= 1; da++) {
            int to[3];
            if (!inside(a + da, n) || !inside(b + db, n)) continue;
            to[axis] = face % 2 ? n - 1 : 0;
            to[first] = a + da;
            to[second] = b + db;
            mpki_emit(out, adjoints + point(g, to), col, control_entry(g, a, da, b, db));
        }
}

static mpk_status nlpkkt(mpki_generator *out) {
    const int n = (int)out->value[0];
    const double side = n, couplings = 3 * side - 2;
    grid g = {.n = n,
              .points = (int64_t)n * n * n,
              .controls = 6 * (int64_t)n * n,
              .h = out->value[3] == 1 ? 1 / (side + 1) : 1 / (side - 1),
              .alpha = out->value[1],
              .barrier = out->value[2],
              .dirichlet = out->value[3] == 1};
    /* the lower triangle: M, alpha R, K, B */
    mpk_status status =
        mpki_generator_size(out, 2 * side * side * side + 6 * side * side,
                            side * side * side + 6 * side * side +
                                couplings * couplings * couplings + 6 * couplings * couplings);
    if (mpk_failed(status)) return status;
    int x[3];
    for (x[2] = 0; x[2] < n; x[2]++) {
        if (mpki_progress(out->ctx, "read", x[2] / side))
            return mpki_error(out->ctx, MPK_ERR_CANCELLED, "generate", -1, "stopped on request");
        for (x[1] = 0; x[1] < n && !mpki_cancelled(out->ctx); x[1]++)
            for (x[0] = 0; x[0] < n; x[0]++) state_column(out, &g, x);
    }
    for (int face = 0; face < 6; face++)
        for (int b = 0; b < n; b++)
            for (int a = 0; a < n; a++) control_column(out, &g, face, a, b);
    return MPK_OK;
}

static const char *const boundaries[] = {"neumann", "dirichlet", NULL};
static const mpki_parameter nlpkkt_parameters[] = {
    {.name = "N", .integer = true, .required = true, .least = 2, .most = 1 << 20},
    {.name = "alpha", .initial = 0.01, .least = 1e-16, .most = 1e16},
    {.name = "barrier", .initial = 0, .least = 0, .most = 32},
    {.name = "boundary", .words = boundaries},
    {.name = NULL}};
const mpki_family mpki_family_nlpkkt = {"nlpkkt", nlpkkt_parameters, nlpkkt};

/* ---- control-distributed: a control in every point, finite differences -------------------- */

static mpk_status control_distributed(mpki_generator *out) {
    const int64_t n = (int64_t)out->value[0], plane = n * n, points = plane * n;
    const double side = (double)n, h = 1 / (side + 1), alpha = out->value[1];
    const double m = h * h * h, cube = side * side * side; /* h^3 I is the mass */
    mpk_status status = mpki_generator_size(out, 3 * cube, 3 * cube + 7 * cube - 6 * side * side);
    if (mpk_failed(status)) return status;
    for (int64_t col = 0; col < points && !mpki_asks(&out->asking, 8); col++) {
        const int64_t x = col % n, y = col / n % n, z = col / plane, row = 2 * points + col;
        mpki_emit(out, col, col, m);
        if (z > 0) mpki_emit(out, row - plane, col, -h);
        if (y > 0) mpki_emit(out, row - n, col, -h);
        if (x > 0) mpki_emit(out, row - 1, col, -h);
        mpki_emit(out, row, col, 6 * h + m);
        if (x < n - 1) mpki_emit(out, row + 1, col, -h);
        if (y < n - 1) mpki_emit(out, row + n, col, -h);
        if (z < n - 1) mpki_emit(out, row + plane, col, -h);
    }
    for (int64_t k = 0; k < points && !mpki_asks(&out->asking, 4); k++) {
        mpki_emit(out, points + k, points + k, alpha * m);
        mpki_emit(out, 2 * points + k, points + k, -m);
    }
    return MPK_OK;
}

static const mpki_parameter distributed_parameters[] = {
    {.name = "N", .integer = true, .required = true, .least = 1, .most = 1 << 20},
    {.name = "alpha", .initial = 1e-4, .least = 1e-16, .most = 1e16},
    {.name = NULL}};
const mpki_family mpki_family_control_distributed = {"control-distributed", distributed_parameters,
                                                     control_distributed};
