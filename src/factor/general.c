/* SPDX-License-Identifier: BSD-3-Clause */
/* A general matrix as its factorization reads it. */
#include "stages.h"

mpk_status mpki_general_transposed(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                                   mpki_full *at, mpk_problem_view *view) {
    const int32_t n = an->n;
    int32_t *place = MPKI_NEW(ctx, "factorize", n, int32_t);
    int32_t *col = MPKI_NEW(ctx, "factorize", an->nnz, int32_t);
    if (!place || !col) {
        mpki_release(ctx, place);
        mpki_release(ctx, col);
        return mpki_failed(ctx);
    }
    for (int32_t j = 0; j < n; j++) place[an->row_of ? an->row_of[j] : j] = j;
    for (int64_t k = 0; k < an->nnz; k++) col[k] = place[an->ai[k]];
    mpki_release(ctx, place);
    *at = (mpki_full){.n = n,
                      .nnz = an->nnz,
                      .scalar = an->scalar,
                      .ptr = (int64_t *)an->ap,
                      .col = col,
                      .val = (void *)ax};
    *view = (mpk_problem_view){n, an->nnz, an->scalar, an->symmetry, an->ap, col, ax};
    return MPK_OK;
}
