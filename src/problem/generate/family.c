/* SPDX-License-Identifier: BSD-3-Clause */
/* What the families use: a size that fits, magnitudes. */
#include "generate.h"

static const char STAGE[] = "generate";

mpk_status mpki_generator_size(mpki_generator *g, double n, double nnz) {
    if (n > INT32_MAX || nnz > 1e15)
        return mpki_error(g->ctx, MPK_ERR_SIZE, STAGE, -1,
                          "%s: %.0f rows with %.0f entries are too many (at most %d rows)",
                          g->family, n, nnz, INT32_MAX);
    g->n = (int32_t)n;
    if (g->sizes) {
        g->sizes[0] = n;
        g->sizes[1] = nnz;
        return MPK_ERR_CANCELLED; /* not an error: the family stops here */
    }
    /* at the least: most families make their entries sorted */
    const mpk_status status = mpki_memory_check(g->ctx, STAGE, g->family,
                                                mpki_assemble_bytes(n, nnz, g->scalar, true), 0);
    if (mpk_failed(status)) return status;
    return mpki_entries_reserve(g->ctx, STAGE, g->scalar, &g->entries, (int64_t)nnz);
}

double mpki_draw_magnitude(mpki_generator *g, double decades) {
    int64_t powers = (int64_t)(decades * 3.3219280948873623 + 0.5); /* log2(10) */
    double x = 1 + mpki_draw_unit(g);
    int64_t k = mpki_draw_index(g, powers > 0 ? powers : 1) - powers / 2;
    for (; k > 0; k--) x *= 2;
    for (; k < 0; k++) x /= 2;
    return x;
}
