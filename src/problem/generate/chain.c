/* SPDX-License-Identifier: BSD-3-Clause */
/** Generates discrete-time linear-quadratic optimal control: minimise the sum of x'Qx + u'Ru
 *  subject to x(t+1) = A x(t) + B u(t), x(0) given. Step by step: controls u(t), multipliers l(t),
 *  states x(t+1); block tridiagonal, inertia (T (states + controls), T states, 0). */
#include "generate.h"

enum { MAX_BLOCK = 512 };

/* The blocks, the same in every stage; row-major. */
typedef struct system {
    int states, controls;
    double *a, *b, *q, *r; /* states^2, states * controls, states^2, controls */
} system;

static mpk_status draw(mpki_generator *g, system *s) {
    const int nx = s->states, nu = s->controls;
    const double coupling = 0.5 / nx;
    s->a = MPKI_NEW(g->ctx, "generate", (int64_t)2 * nx * nx + (int64_t)nx * nu + nu, double);
    if (!s->a) return mpki_failed(g->ctx);
    s->b = s->a + (size_t)nx * (size_t)nx;
    s->q = s->b + (size_t)nx * (size_t)nu;
    s->r = s->q + (size_t)nx * (size_t)nx;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < nx; j++) {
            s->a[i * nx + j] = (i == j ? 1 : 0) + coupling * mpki_draw_signed(g);
            /* diagonally dominant: positive definite */
            s->q[i * nx + j] = i == j  ? 1 + mpki_draw_unit(g)
                               : j < i ? coupling * mpki_draw_signed(g)
                                       : 0;
        }
    for (int i = 0; i < nx * nu; i++) s->b[i] = mpki_draw_signed(g);
    for (int i = 0; i < nu; i++) s->r[i] = 0.1 + mpki_draw_unit(g);
    return MPK_OK;
}

static void emit_stage(mpki_generator *g, const system *s, int64_t stage, bool last) {
    const int nx = s->states, nu = s->controls;
    const int64_t width = 2 * nx + nu, u = stage * width, l = u + nu, x = l + nx;
    for (int j = 0; j < nu; j++) {
        mpki_emit(g, u + j, u + j, s->r[j]);
        for (int i = 0; i < nx; i++) mpki_emit(g, l + i, u + j, -s->b[i * nu + j]);
    }
    for (int j = 0; j < nx; j++) mpki_emit(g, x + j, l + j, 1);
    for (int j = 0; j < nx; j++) {
        for (int i = j; i < nx; i++) mpki_emit(g, x + i, x + j, s->q[i * nx + j]);
        for (int i = 0; i < nx && !last; i++) mpki_emit(g, l + width + i, x + j, -s->a[i * nx + j]);
    }
}

static mpk_status optimal_control(mpki_generator *g) {
    const double horizon = g->value[0], nx = g->value[1], nu = g->value[2];
    system s = {.states = (int)nx, .controls = (int)nu};
    mpk_status status = mpki_generator_size(
        g, horizon * (2 * nx + nu), horizon * (nu + nx * nu + nx + nx * (nx + 1) / 2 + nx * nx));
    if (!mpk_failed(status)) status = draw(g, &s);
    if (mpk_failed(status)) return status;
    for (int64_t t = 0; t < (int64_t)horizon && !mpki_asks(&g->asking, 64); t++)
        emit_stage(g, &s, t, t + 1 == (int64_t)horizon);
    mpki_release(g->ctx, s.a);
    return MPK_OK;
}

static const mpki_parameter parameters[] = {
    {.name = "T", .integer = true, .required = true, .least = 1, .most = INT32_MAX},
    {.name = "states", .integer = true, .initial = 8, .least = 1, .most = MAX_BLOCK},
    {.name = "controls", .integer = true, .initial = 3, .least = 1, .most = MAX_BLOCK},
    {.name = NULL}};
const mpki_family mpki_family_optimal_control = {"optimal-control", parameters, optimal_control};
