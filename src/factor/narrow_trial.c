/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a direct factor in single precision, or in low rank, do for its matrix? A solve of it is
 * refined. */
#include "narrow.h"
#include "refine.h"
#include "../core/random.h"

#include <string.h>

/* Numbers that look random in the rows of S A S. */
static void trial_side(const mpk_factor *fac, void *b) {
    const bool single = fac->an->scalar == MPK_S || fac->an->scalar == MPK_C;
    const int parts = fac->an->scalar >= MPK_C ? 2 : 1;
    float *x = b;
    double *wide = b;
    uint64_t state = 1;
    for (int32_t i = 0; i < fac->an->n; i++)
        for (int k = 0; k < parts; k++) {
            const double value = mpki_random_signed(&state) / fac->scale[i];
            if (single)
                *x++ = (float)value;
            else
                *wide++ = value;
        }
}

mpk_status mpki_narrow_does(mpk_factor *fac, bool *does) {
    enum { STEPS = 10 };
    const mpk_analysis *an = fac->an;
    const double times = an->scalar == MPK_S || an->scalar == MPK_C ? 0x1p29 : 1;
    const double ACCURACY = 1e-14 * times, NEXT = 1e-15 * times, RATE = 0.25;
    const double RESIDUAL = times > 1 ? 1e-2 : 1e-6;
    const size_t size = mpk_scalar_size(an->scalar);
    mpki_solve_work work;
    *does = false;
    mpk_status status = mpki_solve_work_make(fac->ctx, fac, fac->options.threads, 1, &work);
    if (mpk_failed(status)) return status;
    void *x = mpki_alloc(fac->ctx, "factorize", an->n, size);
    if (x) {
        trial_side(fac, work.b);
        memcpy(x, work.b, (size_t)an->n * size);
        mpki_apply_inverse(&work, x);
        mpki_quality q =
            MPKI_DISPATCH(an->scalar, measure)(&work.system, x, work.b, work.r, work.w, work.sums);
        const mpki_contraction c =
            MPKI_DISPATCH(an->scalar, refine_narrow)(&work, STEPS, ACCURACY, RATE, x, &q);
        /* the last: beside a vector of the kernel b would not count */
        *does = c.held && c.next <= NEXT && q.componentwise <= ACCURACY && q.rows <= RESIDUAL;
    }
    mpki_release(fac->ctx, x);
    mpki_solve_work_free(fac->ctx, &work);
    return mpki_failed(fac->ctx);
}
