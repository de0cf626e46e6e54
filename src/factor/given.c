/* SPDX-License-Identifier: BSD-3-Clause */
/* What a caller gave last, in the caller's order. */
#include "given.h"
#include "../problem/given.h"

#include <string.h>

static const char STAGE[] = "factorize";

static const mpki_layout *layout_of(const mpk_factor *fac) {
    return fac->base->split ? fac->base->split->layout : fac->base->layout;
}

int64_t mpki_given_count(const mpk_factor *fac) {
    return fac->given.lower ? layout_of(fac)->nnz : layout_of(fac)->given;
}

/* The conjugate of what stands at x. */
static void conjugate(mpk_scalar scalar, void *x) {
    if (scalar == MPK_C) ((float *)x)[1] = -((float *)x)[1];
    if (scalar == MPK_Z) ((double *)x)[1] = -((double *)x)[1];
}

/* What was given, from what was stored, where each stored entry is one value. NULL: MPK_ERR_MEMORY,
 * or there is no way back, which is no error. */
static void *way_back(const mpk_factor *fac, const mpki_values *stored) {
    const mpki_layout *layout = layout_of(fac);
    const mpk_scalar scalar = fac->base->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const bool hermitian = fac->base->symmetry == MPK_HERMITIAN;
    const bool mapped = !fac->given.lower && layout->place;
    if (stored->skew) return NULL;
    const int64_t count = mpki_given_count(fac);
    char *out = mpki_alloc(fac->ctx, STAGE, count, size), *seen = NULL;
    if (!out) return NULL;
    if (!mapped) {
        memcpy(out, stored->ax, (size_t)count * size);
        return out;
    }
    /* bits 1 and 2: a value from the lower and from the upper triangle */
    seen = mpki_calloc(fac->ctx, STAGE, layout->nnz, 1);
    bool once = seen != NULL;
    for (int64_t k = 0; k < count && once; k++) {
        const int64_t place = mpki_place(layout, k), at = place >= 0 ? place : -2 - place;
        char *to = out + (size_t)k * size, bit = place >= 0 ? 1 : 2;
        if (place == MPKI_PLACE_NONE) {
            memset(to, 0, size);
            continue;
        }
        once = !(seen[at] & bit);
        seen[at] = (char)(seen[at] | bit);
        memcpy(to, (const char *)stored->ax + (size_t)at * size, size);
        if (place < 0 && hermitian) conjugate(scalar, to);
    }
    mpki_release(fac->ctx, seen);
    if (!once) mpki_release(fac->ctx, out);
    return once ? out : NULL;
}

mpk_status mpki_given_keep(mpk_factor *fac, const void *ax, bool lower, const mpki_values *whole) {
    mpki_given_drop(fac);
    fac->given.lower = lower;
    const int64_t count = mpki_given_count(fac);
    if (fac->options.updates != MPK_ON || (!ax && !whole)) return MPK_OK;
    if (!ax) {
        fac->given.values = way_back(fac, whole);
        return mpki_failed(fac->ctx);
    }
    const size_t size = mpk_scalar_size(fac->base->scalar);
    fac->given.values = mpki_alloc(fac->ctx, STAGE, count, size);
    if (!fac->given.values) return mpki_failed(fac->ctx);
    memcpy(fac->given.values, ax, (size_t)count * size);
    return MPK_OK;
}

void *mpki_given_copy_of(mpk_factor *fac) {
    const size_t size = mpk_scalar_size(fac->base->scalar);
    const int64_t count = mpki_given_count(fac);
    if (!fac->given.values) {
        if (fac->base->split || !fac->values || mpk_failed(mpki_factor_bring(fac->ctx, fac)))
            return NULL;
        return way_back(fac, fac->values);
    }
    void *out = mpki_alloc(fac->ctx, STAGE, count, size);
    if (out) memcpy(out, fac->given.values, (size_t)count * size);
    return out;
}
