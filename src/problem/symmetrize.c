/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_symmetrize: the law of symmetry for a dense matrix. */
#include "../core/floats.h"
#include "symmetrize.h"

mpk_status mpk_symmetrize(mpk_context *ctx, int32_t n, mpk_scalar scalar, mpk_symmetry symmetry,
                          void *a, int64_t lda, mpk_asymmetry *asymmetry) {
    MPKI_CALM;
    static mpki_symmetrize_fn *const table[] = {mpki_s_symmetrize, mpki_d_symmetrize,
                                                mpki_c_symmetrize, mpki_z_symmetrize};
    static const char stage[] = "problem";
    mpk_asymmetry told = {0, 0, 0};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (n < 0 || (unsigned)scalar > MPK_Z || (unsigned)symmetry > MPK_HERMITIAN || lda < n ||
        (n > 0 && !a) || (symmetry == MPK_HERMITIAN && scalar < MPK_C))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "a is NULL, or its order, scalar, symmetry or lda is none");
    const mpki_assembly how = {.stage = stage,
                               .n = n,
                               .scalar = scalar,
                               .symmetry = symmetry,
                               .triangle = MPK_FULL,
                               .tolerance = mpki_symmetry_tolerance(ctx)};
    const mpk_status status = table[scalar](ctx, &how, a, lda, &told);
    if (asymmetry && !mpk_failed(status)) *asymmetry = told;
    return status;
}
