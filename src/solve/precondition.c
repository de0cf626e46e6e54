/* SPDX-License-Identifier: BSD-3-Clause */
#include "precondition.h"

mpk_status mpki_preconditioner_make(mpk_context *ctx, const mpk_factor *fac, int threads,
                                    mpki_preconditioner *p) {
    *p = (mpki_preconditioner){.fac = fac};
    p->y = mpki_alloc(ctx, "solve", fac->an->n, mpk_scalar_size(fac->an->scalar));
    if (!p->y || mpki_sweeps_make(ctx, fac, threads, 1, &p->sweeps) < 0)
        mpki_preconditioner_free(ctx, p);
    return p->fac ? MPK_OK : mpki_failed(ctx);
}

void mpki_preconditioner_free(mpk_context *ctx, mpki_preconditioner *p) {
    if (p->fac) mpki_sweeps_free(ctx, &p->sweeps);
    mpki_release(ctx, p->y);
    *p = (mpki_preconditioner){0};
}

static void apply_direct(mpki_preconditioner *p, bool abs, void *x) {
    const mpk_factor *fac = p->fac;
    const mpk_scalar scalar = fac->an->scalar;
    MPKI_DISPATCH(scalar, permute_in)(fac, 1, x, fac->an->n, p->y);
    MPKI_DISPATCH(scalar, forward)(&p->sweeps, p->y);
    if (abs)
        MPKI_DISPATCH(scalar, diagonal_abs)(fac, p->y);
    else
        MPKI_DISPATCH(scalar, diagonal)(fac, 1, p->y);
    MPKI_DISPATCH(scalar, backward)(&p->sweeps, p->y);
    MPKI_DISPATCH(scalar, permute_out)(fac, 1, p->y, x, fac->an->n);
}

mpk_status mpki_precondition(mpk_context *ctx, mpki_preconditioner *p, bool abs, int32_t nrhs,
                             void *x, int64_t ldx) {
    const mpk_analysis *an = p->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    if (abs && an->scalar >= MPK_C && an->symmetry == MPK_SYMMETRIC)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "solve", -1,
                          "|D| of a complex symmetric factor is not defined");
    for (int32_t r = 0; an->n > 0 && r < nrhs; r++)
        apply_direct(p, abs, (char *)x + (size_t)(r * ldx) * size);
    return MPK_OK;
}
