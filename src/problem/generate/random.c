/* SPDX-License-Identifier: BSD-3-Clause */
/** Random indefinite matrices: real, complex symmetric or Hermitian, or real and not symmetric.
 * Rows without a diagonal entry are joined in pairs, so that the matrix is structurally regular. */
#include "generate.h"

/* A value of modulus about 1 times a random magnitude. */
static void emit_random(mpki_generator *g, int64_t row, int64_t col, double decades) {
    double size = decades > 0 ? mpki_draw_magnitude(g, decades) : 1;
    double re = mpki_draw_signed(g) * size;
    if (g->scalar == MPK_D) {
        mpki_emit(g, row, col, re);
        return;
    }
    double im = mpki_draw_signed(g) * size;
    mpki_emit_complex(g, row, col, re, g->symmetry == MPK_HERMITIAN && row == col ? 0 : im);
}

static mpk_status make_random(mpki_generator *g) {
    const double n = g->value[0], density = g->value[1], zeros = g->value[2];
    const bool general = g->value[3] == 3;
    const double places = general ? n * (n - 1) : n * (n - 1) / 2;
    const double drawn = density * places, decades = g->value[4];
    if (g->value[3] == 1 || g->value[3] == 2) g->scalar = MPK_Z;
    if (g->value[3] == 2) g->symmetry = MPK_HERMITIAN;
    if (general) g->symmetry = MPK_GENERAL;
    mpk_status status = mpki_generator_size(g, n, n + drawn + 1);
    if (mpk_failed(status)) return status;
    const int64_t order = (int64_t)n;
    int64_t single = -1; /* a row without diagonal entry that has no partner yet */
    for (int64_t k = 0; k < order && !mpki_asks(&g->asking, 4); k++) {
        if (mpki_draw_unit(g) >= zeros) {
            emit_random(g, k, k, decades);
        } else if (single < 0) {
            single = k;
        } else {
            emit_random(g, k, single, decades);
            if (general) emit_random(g, single, k, decades);
            single = -1;
        }
    }
    if (single >= 0) emit_random(g, single, single, decades);
    for (int64_t k = 0; k < (int64_t)drawn && order > 1 && !mpki_asks(&g->asking, 8); k++) {
        int64_t i = mpki_draw_index(g, order), j = mpki_draw_index(g, order - 1);
        if (j >= i) j++;
        const bool turned = i < j && !general;
        emit_random(g, turned ? j : i, turned ? i : j, decades);
    }
    return MPK_OK;
}

static const char *const kinds[] = {"real", "complex", "hermitian", "general", NULL};
static const mpki_parameter parameters[] = {
    {.name = "N", .integer = true, .required = true, .least = 1, .most = INT32_MAX},
    {.name = "density", .initial = 0.01, .least = 0, .most = 1},
    {.name = "zeros", .initial = 0.3, .least = 0, .most = 1},
    {.name = "entries", .words = kinds},
    {.name = "decades", .initial = 0, .least = 0, .most = 40},
    {.name = NULL}};
const mpki_family mpki_family_random = {"random", parameters, make_random};
