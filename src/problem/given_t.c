/* SPDX-License-Identifier: BSD-3-Clause */
/* Values by the map of given.c. They are summed in the same order as in assemble_t.c, so that the
 * same values give the same bits either way. */
#include "given.h"
#include "law.h"

/* One value for each entry, from one triangle. */
static void scatter(const mpki_layout *layout, int hermitian, const T *given, T *ax) {
    for (int64_t k = 0; k < layout->given; k++) {
        const int64_t place = mpki_place(layout, k);
        if (place >= 0)
            ax[place] = given[k];
        else if (place != MPKI_PLACE_NONE)
            ax[-2 - place] = conj_if(hermitian, given[k]);
    }
}

/* Separate sums of what came from the lower and the upper triangle; seen: bit 0 and bit 1. */
static void sum(const mpki_layout *layout, const T *given, T *lower, T *upper, char *seen) {
    for (int64_t k = 0; k < layout->nnz; k++) {
        lower[k] = upper[k] = t_make(0, 0);
        seen[k] = 0;
    }
    for (int64_t k = 0; k < layout->given; k++) {
        const int64_t place = mpki_place(layout, k);
        if (place == MPKI_PLACE_NONE) continue;
        const int64_t entry = place >= 0 ? place : -2 - place;
        const char bit = place >= 0 ? 1 : 2;
        T *to = place >= 0 ? lower : upper;
        to[entry] = seen[entry] & bit ? to[entry] + given[k] : given[k];
        seen[entry] |= bit;
    }
}

/* Where pairs are not equal to the last bit: is that rounding, and what is it? Beyond the diagonal;
 * upper NULL: of the diagonal, whose law is Hermitian. */
static mpk_status tell_apart(mpk_context *ctx, const mpki_assembly *how, const mpki_layout *layout,
                             bool hermitian, const T *lower, const T *upper, mpki_skew **skew) {
    const law l = law_of(how->tolerance);
    breach worst = {0};
    double *scale = MPKI_ZNEW(ctx, how->stage, layout->n, double);
    if (!scale) return mpki_failed(ctx);
    for (int32_t j = 0; j < layout->n; j++)
        for (int64_t k = layout->ap[j]; k < layout->ap[j + 1]; k++)
            scale_by(scale, layout->ai[k], j, lower[k], upper ? upper[k] : lower[k]);
    negate(layout->n, scale);
    for (int32_t j = 0; j < layout->n; j++)
        for (int64_t k = layout->ap[j]; k < layout->ap[j + 1]; k++)
            count_in(scale, layout->ai[k], j, lower[k], upper ? upper[k] : lower[k]);
    mpk_status status = MPK_OK;
    for (int32_t j = 0; j < layout->n; j++)
        for (int64_t k = layout->ap[j]; k < layout->ap[j + 1] && !mpk_failed(status); k++) {
            const int32_t i = layout->ai[k];
            if ((i == j) != (upper == NULL)) continue;
            const T other = upper ? upper[k] : lower[k];
            compare(&l, scale, i, j, lower[k], other, hermitian, &worst);
            if (worst.ratio <= 1)
                status = keep_apart(ctx, how->stage, &l, scale, k, i, j, lower[k], other, hermitian,
                                    skew);
        }
    mpki_release(ctx, scale);
    if (mpk_failed(status) || worst.ratio <= 1) return status;
    return unsymmetric(ctx, how, &worst, hermitian);
}

/* Both triangles into one. */
static mpk_status settle(mpk_context *ctx, const mpki_assembly *how, const mpki_layout *layout,
                         int hermitian, T *ax, const T *upper, const char *seen, mpki_skew **skew) {
    const bool pairs = how->triangle == MPK_FULL && how->symmetry != MPK_GENERAL;
    bool exact = true;
    for (int32_t j = 0; j < layout->n && pairs; j++)
        for (int64_t k = layout->ap[j]; k < layout->ap[j + 1]; k++)
            exact &= layout->ai[k] == j || ax[k] == conj_if(hermitian, upper[k]);
    if (!exact) {
        const mpk_status status = tell_apart(ctx, how, layout, hermitian, ax, upper, skew);
        if (mpk_failed(status)) return status;
    }
    for (int32_t j = 0; j < layout->n; j++)
        for (int64_t k = layout->ap[j]; k < layout->ap[j + 1]; k++) {
            const int32_t i = layout->ai[k];
            if (!exact && i != j)
                ax[k] = mean(ax[k], upper[k], hermitian);
            else if (!(seen[k] & 1))
                ax[k] = conj_if(hermitian, upper[k]);
            if (!finite_entry(ax[k]))
                return complain(ctx, how, i, j, "the sum of the duplicates overflows");
        }
    return MPK_OK;
}

static mpk_status gather(mpk_context *ctx, const mpki_assembly *how, const mpki_layout *layout,
                         const void *given, void *ax, mpki_skew **skew) {
    const int hermitian = MPKI_COMPLEX && how->symmetry == MPK_HERMITIAN;
    if (!layout->duplicates && (how->triangle != MPK_FULL || how->symmetry == MPK_GENERAL)) {
        scatter(layout, hermitian, given, ax);
        return MPK_OK;
    }
    T *upper = MPKI_NEW(ctx, how->stage, layout->nnz, T);
    char *seen = MPKI_NEW(ctx, how->stage, layout->nnz, char);
    mpk_status status = upper && seen ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) {
        sum(layout, given, ax, upper, seen);
        status = settle(ctx, how, layout, hermitian, ax, upper, seen, skew);
    }
    mpki_release(ctx, upper);
    mpki_release(ctx, seen);
    return status;
}

static mpk_status diagonal(mpk_context *ctx, const mpki_assembly *how, const mpki_layout *layout,
                           void *vax, mpki_skew **skew) {
    T *ax = vax;
    bool exact = true;
    if (!MPKI_COMPLEX || how->symmetry != MPK_HERMITIAN) return MPK_OK;
    for (int32_t j = 0; j < layout->n; j++) {
        const int64_t k = layout->ap[j];
        if (k < layout->ap[j + 1] && layout->ai[k] == j) exact &= t_im(ax[k]) == 0;
    }
    if (!exact) {
        const mpk_status status = tell_apart(ctx, how, layout, true, ax, NULL, skew);
        if (mpk_failed(status)) return status;
    }
    for (int32_t j = 0; j < layout->n; j++) {
        const int64_t k = layout->ap[j];
        if (k < layout->ap[j + 1] && layout->ai[k] == j) ax[k] = t_make(t_re(ax[k]), 0);
    }
    return MPK_OK;
}

const mpki_given_table FN(given) = {gather, diagonal};
