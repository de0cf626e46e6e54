/* SPDX-License-Identifier: BSD-3-Clause */
#include "precondition.h"

/* x := S S x, all that method none has; its L and L^T are S, its D is I. */
static void apply_scaling(const mpk_factor *fac, mpk_part part, void *x) {
    const mpk_scalar scalar = fac->an->scalar;
    const bool twice = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const int reals = scalar == MPK_C || scalar == MPK_Z ? 2 : 1;
    for (int64_t k = 0; part != MPK_PART_D && k < (int64_t)fac->an->n * reals; k++) {
        const double s = fac->scale[k / reals] * (twice ? fac->scale[k / reals] : 1);
        if (scalar == MPK_S || scalar == MPK_C)
            ((float *)x)[k] *= (float)s;
        else
            ((double *)x)[k] *= s;
    }
}

mpk_status mpki_precondition_part(mpk_context *ctx, mpki_preconditioner *p, mpk_part part,
                                  int32_t nrhs, void *x, int64_t ldx) {
    const mpk_analysis *an = p->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    if (part == MPK_PART_ABS && p->fac->block && p->fac->block->upper != p->fac->block->lower)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "solve", -1,
                          "|D| of an unsymmetric factor (factor_type ldu) is not definite");
    const int step = p->fac->block ? p->blocks.nrhs : nrhs;
    for (int32_t r = 0; an->n > 0 && r < nrhs; r += step) {
        char *xr = (char *)x + (size_t)(r * ldx) * size;
        const int count = nrhs - r < step ? nrhs - r : step;
        if (p->fac->block)
            mpki_block_apply(&p->blocks, part, count, xr, ldx);
        else
            for (int k = 0; k < count; k++)
                apply_scaling(p->fac, part, xr + (size_t)(k * ldx) * size);
    }
    return MPK_OK;
}

mpk_status mpki_preconditioner_make(mpk_context *ctx, const mpk_factor *fac, int threads, int nrhs,
                                    mpki_preconditioner *p) {
    *p = (mpki_preconditioner){.fac = fac};
    if (fac->block) {
        if (mpki_block_sweeps_make(ctx, fac, threads, nrhs, &p->blocks) < 0) p->fac = NULL;
        return p->fac ? MPK_OK : mpki_failed(ctx);
    }
    if (fac->an->block) return MPK_OK; /* method none: the scaling needs no memory */
    p->y = mpki_alloc(ctx, "solve", fac->an->n, mpk_scalar_size(fac->an->scalar));
    if (!p->y || mpki_sweeps_make(ctx, fac, threads, 1, &p->sweeps) < 0)
        mpki_preconditioner_free(ctx, p);
    return p->fac ? MPK_OK : mpki_failed(ctx);
}

void mpki_preconditioner_free(mpk_context *ctx, mpki_preconditioner *p) {
    if (p->fac && p->fac->block) mpki_block_sweeps_free(ctx, &p->blocks);
    if (p->fac && !p->fac->an->block) mpki_sweeps_free(ctx, &p->sweeps);
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
    if (an->block)
        return mpki_precondition_part(ctx, p, abs ? MPK_PART_ABS : MPK_PART_ALL, nrhs, x, ldx);
    for (int32_t r = 0; an->n > 0 && r < nrhs; r++)
        apply_direct(p, abs, (char *)x + (size_t)(r * ldx) * size);
    return MPK_OK;
}
