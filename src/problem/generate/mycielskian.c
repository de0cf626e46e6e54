/* SPDX-License-Identifier: BSD-3-Clause */
/** The adjacency matrix of the Mycielskian of the Mycielskian ... of K2 (Mycielski 1955, Sur le
 *  coloriage des graphes): K = 2 is K2, n = 3 * 2^(K-2) - 1, edges e -> 3 e + n. Ones, zero
 *  diagonal. K = 11: n = 1535 with 134 710 entries, as SuiteSparse's mycielskian11. Vertices: those
 *  of K - 1, their twins in the same order, the one joined to all twins. */
#include "generate.h"

static mpk_status mycielskian(mpki_generator *g) {
    const int32_t order = (int32_t)g->value[0];
    double n = 2, edges = 1;
    for (int32_t k = 2; k < order; k++) {
        edges = 3 * edges + n;
        n = 2 * n + 1;
    }
    mpk_status status = mpki_generator_size(g, n, edges);
    if (mpk_failed(status)) return status;
    mpki_emit(g, 1, 0, 1);
    int64_t vertices = 2;
    for (int32_t k = 2; k < order; k++, vertices = 2 * vertices + 1) {
        const int64_t before = g->entries.count;
        for (int64_t e = 0; e < before && !mpki_asks(&g->asking, 2); e++) {
            const int32_t i = g->entries.row[e], j = g->entries.col[e];
            mpki_emit(g, vertices + i, j, 1);
            mpki_emit(g, vertices + j, i, 1);
        }
        for (int64_t i = 0; i < vertices; i++) mpki_emit(g, 2 * vertices, vertices + i, 1);
    }
    return MPK_OK;
}

static const mpki_parameter parameters[] = {
    {.name = "K", .integer = true, .required = true, .least = 2, .most = 30}, {.name = NULL}};
const mpki_family mpki_family_mycielskian = {"mycielskian", parameters, mycielskian};
