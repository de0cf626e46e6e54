/* SPDX-License-Identifier: BSD-3-Clause */
/* A dense matrix that was given whole, to the mean of its triangles, in one precision. */
#include "law.h"
#include "symmetrize.h"

mpk_status FN(symmetrize)(mpk_context *ctx, const mpki_assembly *how, void *va, int64_t lda,
                          mpk_asymmetry *asymmetry) {
    const bool hermitian = MPKI_COMPLEX && how->symmetry == MPK_HERMITIAN;
    const law l = law_of(how->tolerance);
    const int64_t n = how->n;
    T *a = va;
    breach worst = {0};
    bool exact = true, finite = true;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            const T low = a[i + j * lda], high = a[j + i * lda];
            exact &= low == conj_if(hermitian, high);
            finite &= finite_entry(low) && finite_entry(high);
        }
    if (exact || !finite) return MPK_OK;
    double *scale = MPKI_ZNEW(ctx, how->stage, n, double);
    if (!scale) return mpki_failed(ctx);
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++) scale_by(scale, i, j, a[i + j * lda], a[j + i * lda]);
    negate(how->n, scale);
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++) count_in(scale, i, j, a[i + j * lda], a[j + i * lda]);
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++) {
            const T low = a[i + j * lda], high = a[j + i * lda];
            if (low == conj_if(hermitian, high)) continue;
            compare(&l, scale, i, j, low, high, hermitian, &worst);
            (void)count_apart(&l, scale, i, j, low, high, hermitian, asymmetry);
        }
    mpki_release(ctx, scale);
    if (!(worst.ratio <= 1)) return unsymmetric(ctx, how, &worst, hermitian);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            const T m = i == j ? t_make(t_re(a[i + j * lda]), hermitian ? 0 : t_im(a[i + j * lda]))
                               : mean(a[i + j * lda], a[j + i * lda], hermitian);
            a[i + j * lda] = m;
            a[j + i * lda] = conj_if(hermitian, m);
        }
    return MPK_OK;
}
