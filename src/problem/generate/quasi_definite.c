/* SPDX-License-Identifier: BSD-3-Clause */
/** Currents and potentials of an N x N grid of resistors with a capacitor from each node to earth,
 * one implicit time step: [R G; G^T -C], R and C positive diagonal: quasi-definite (Vanderbei 1995,
 *  doi:10.1137/0805005), so that every symmetric permutation has an LDL^T with diagonal D. Inertia
 *  (2 N (N - 1), N^2, 0). */
#include "generate.h"

static mpk_status quasi_definite(mpki_generator *g) {
    const double side = g->value[0], decades = g->value[1], edges = 2 * side * (side - 1);
    mpk_status status = mpki_generator_size(g, edges + side * side, 3 * edges + side * side);
    if (mpk_failed(status)) return status;
    const int64_t n = (int64_t)side, nodes = 2 * n * (n - 1);
    int64_t edge = 0;
    for (int vertical = 0; vertical < 2; vertical++)
        for (int64_t node = 0; node < n * n && !mpki_asks(&g->asking, 8); node++) {
            if (vertical ? node / n == n - 1 : node % n == n - 1) continue;
            mpki_emit(g, edge, edge, mpki_draw_magnitude(g, decades));
            mpki_emit(g, nodes + node, edge, -1);
            mpki_emit(g, nodes + node + (vertical ? n : 1), edge, 1);
            edge++;
        }
    for (int64_t node = 0; node < n * n; node++)
        mpki_emit(g, nodes + node, nodes + node, -mpki_draw_magnitude(g, decades));
    return MPK_OK;
}

static const mpki_parameter parameters[] = {
    {.name = "N", .integer = true, .required = true, .least = 1, .most = 1 << 20},
    {.name = "decades", .initial = 4, .least = 0, .most = 40},
    {.name = NULL}};
const mpki_family mpki_family_quasi_definite = {"quasi-definite", parameters, quasi_definite};
