/* SPDX-License-Identifier: BSD-3-Clause */
#include "factor.h"

#include <string.h>

/* Scaling by powers of two commits no rounding error of its own: the nearest one, from the bits. */
static void to_powers_of_two(int32_t n, mpk_scalar scalar, double *scale) {
    const double sqrt2 = 1.4142135623730951;
    const double most = scalar == MPK_S || scalar == MPK_C ? 0x1p120 : 0x1p1000;
    for (int32_t i = 0; i < n; i++) {
        double x = scale[i] * sqrt2;
        if (!(x >= 1 / most && x <= most)) {
            scale[i] = 1;
            continue;
        }
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits &= UINT64_C(0x7ff) << 52;
        memcpy(&scale[i], &bits, sizeof bits);
    }
}

mpk_status mpki_find_scaling(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                             const void *ax, bool equilibrated, double *scale) {
    const double *matched = equilibrated ? NULL : an->scale;
    for (int32_t i = 0; i < an->n; i++) scale[i] = matched ? matched[i] : 1;
    if (options->scaling == MPK_OFF) {
        for (int32_t i = 0; i < an->n; i++) scale[i] = 1;
        return MPK_OK;
    }
    double *absval = MPKI_NEW(ctx, "factorize", an->nnz, double);
    if (!absval) return mpki_failed(ctx);
    MPKI_DISPATCH(an->scalar, moduli)(an->nnz, ax, absval);
    mpk_status status =
        mpki_equilibrate(ctx, an->n, an->ap, an->ai, absval, matched ? 1 : 4, scale);
    mpki_release(ctx, absval);
    to_powers_of_two(an->n, an->scalar, scale);
    return status;
}

double mpki_scaled_size(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                        const void *ax) {
    double most = 0;
    if (options->scaling != MPK_OFF) return 1;
    double *absval = MPKI_NEW(ctx, "factorize", an->nnz, double);
    if (!absval) return 1;
    MPKI_DISPATCH(an->scalar, moduli)(an->nnz, ax, absval);
    for (int64_t k = 0; k < an->nnz; k++)
        if (absval[k] > most) most = absval[k];
    mpki_release(ctx, absval);
    return most > 0 ? most : 1;
}
