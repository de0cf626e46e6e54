/* SPDX-License-Identifier: BSD-3-Clause */
/* A few values changed: the array that was given last, with others in these places. */
#include "../core/floats.h"
#include "given.h"

#include <metapack/changes.h>
#include <string.h>

static const char STAGE[] = "factorize";

mpk_status mpk_refactorize_entries(mpk_context *ctx, int64_t count, const int64_t *entry,
                                   const void *value, const mpk_options *options, mpk_factor *fac) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (fac->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor was made with another context");
    if (count < 0 || (count > 0 && (!entry || !value)))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, count,
                          "%lld changed values: positions and values must not be NULL, nor their "
                          "number negative",
                          (long long)count);
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    const int64_t all = mpki_given_count(fac), size = (int64_t)mpk_scalar_size(fac->base->scalar);
    for (int64_t k = 0; k < count; k++)
        if (entry[k] < 0 || entry[k] >= all)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, k,
                              "changed value %lld: position %lld, of %lld values that were given",
                              (long long)k, (long long)entry[k], (long long)all);
    char *given = mpki_given_copy_of(fac);
    if (!given && mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    if (!given)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "the values given last are not known, since several of them make an "
                          "entry: give all of them once, with updates = on, by mpk_refactorize");
    for (int64_t k = 0; k < count; k++)
        memcpy(given + entry[k] * size, (const char *)value + k * size, (size_t)size);
    const mpk_status status = mpki_refactorize_given(ctx, given, fac->given.lower, options, fac);
    mpki_release(ctx, given);
    return status;
}
