/* SPDX-License-Identifier: BSD-3-Clause */
/* Applications of a factor, whatever its form: calls to the form. */
#include "apply.h"

mpk_status mpki_no_absolute(mpk_context *ctx) {
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "solve", -1,
                      "|D| of an unsymmetric factor (factor_type ldu) is not definite");
}

mpk_status mpki_apply_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                           mpki_application *a) {
    void *work = NULL;
    *a = (mpki_application){0};
    mpk_status status = fac->form->apply_make(ctx, fac, threads, columns, &work);
    if (mpk_failed(status)) return status;
    *a = (mpki_application){ctx, fac, work, false};
    return MPK_OK;
}

void mpki_apply_free(mpki_application *a) {
    if (a->fac) a->fac->form->apply_free(a->ctx, a->fac, &a->work);
    *a = (mpki_application){0};
}

mpk_status mpki_apply_by_pivots(mpki_application *a) {
    const mpki_form *form = a->fac->form;
    return form->by_pivots ? form->by_pivots(a->fac, a->work) : MPK_OK;
}

mpk_status mpki_apply(mpki_application *a, mpk_part part, int32_t nrhs, const void *b, int64_t ldb,
                      void *x, int64_t ldx) {
    const mpk_analysis *an = a->fac->an;
    if (part == MPK_PART_ABS && an->scalar >= MPK_C && an->symmetry == MPK_SYMMETRIC)
        return mpki_error(a->ctx, MPK_ERR_UNSUPPORTED, "solve", -1,
                          "|D| of a complex symmetric factor is not defined");
    if (nrhs == 0 || an->n == 0) return MPK_OK;
    if (a->transposed && part == MPK_PART_ALL)
        return a->fac->form->transposed(a->fac, a->work, nrhs, b, ldb, x, ldx);
    return a->fac->form->apply(a->ctx, a->fac, a->work, part, nrhs, b, ldb, x, ldx);
}
