/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine's copy of A for the products of a Krylov method, brought near 1 by a power of two. */
#include "../../problem/columns.h"
#include "../../problem/full.h"
#include "krylov.h"

#include <math.h>

/* Methods form squares: entries far from 1 are brought near it by one power of two for all. */
static int shift_range(mpki_full *full) {
    const double range = full->scalar == MPK_S || full->scalar == MPK_C ? 0x1p30 : 0x1p250;
    const double most = MPKI_DISPATCH(full->scalar, column_largest)(full->nnz, full->val);
    int exponent = 0;
    if (!(most > 0) || (most < range && most > 1 / range)) return 0;
    frexp(most, &exponent);
    MPKI_DISPATCH(full->scalar, column_shift)(full->nnz, -exponent, full->val);
    return exponent;
}

mpk_status mpki_krylov_matrix(mpk_context *ctx, const mpki_vector_engine *engine,
                              const mpk_problem_view *a, int threads, double limit, mpki_matrix **m,
                              int *exponent, int32_t *longest) {
    mpki_full full;
    mpki_pool *pool = NULL;
    mpk_status status = mpki_full_make(ctx, a, threads, &full, &pool);
    if (mpk_failed(status)) return status;
    *exponent = shift_range(&full);
    *longest = mpki_full_longest(&full);
    return engine->matrix_make(ctx, &full, pool, limit, m);
}
