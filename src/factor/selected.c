/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of the inverse: the engine computes them, and they are checked here. */
#include "../core/floats.h"
#include "selected.h"

#include <stdio.h>
#include <string.h>

static const char STAGE[] = "inverse";

/* Entries of a selection; -1: there is no such one. */
static int64_t entries(const mpk_analysis *an, mpk_selection what) {
    return what == MPK_SELECT_DIAGONAL ? an->n : what == MPK_SELECT_PATTERN ? an->nnz : -1;
}

size_t mpk_selected_size(const mpk_factor *fac, mpk_selection what) {
    const int64_t count = fac ? entries(fac->an, what) : -1;
    return count < 0 ? 0 : (size_t)count * mpk_scalar_size(fac->an->scalar);
}

static mpk_status check(mpk_context *ctx, const mpk_factor *fac, mpk_selection what,
                        const void *out, size_t bytes) {
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (!fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor holds no factorization");
    if (entries(fac->an, what) < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, (int64_t)what, "there is no selection %d",
                          (int)what);
    const size_t needed = mpk_selected_size(fac, what);
    if (bytes < needed || (!out && needed > 0))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the output has %zu bytes, not %zu",
                          out ? bytes : 0, needed);
    if (mpk_failed(mpki_factor_whole(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (mpk_failed(mpki_factor_wide(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (!fac->direct)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "entries of the inverse come from a factor of method ldlt, not %s%s",
                          mpk_method_name(fac->an->options.method),
                          fac->an->symmetry == MPK_GENERAL ? ", and of a symmetric matrix" : "");
    if (mpk_failed(mpki_factor_symmetric(ctx, STAGE, fac, "entries of the inverse")))
        return mpki_failed(ctx);
    if (!fac->engine->direct->selected_inverse)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "entries of the inverse are computed by the processor alone: factorize "
                          "with device = cpu");
    return MPK_OK;
}

/* What the numbers in *info say of the result. */
static mpk_status verdict(mpk_context *ctx, const mpk_factor *fac, double accuracy,
                          const mpk_selected_info *info) {
    const bool replaced = fac->info.perturbed > 0;
    char why[80] = "";
    if (replaced)
        snprintf(why, sizeof why, ": %lld pivots were replaced, and this is the inverse of A + E",
                 (long long)fac->info.perturbed);
    if (info->deviation > 0.1)
        return mpki_error(ctx, MPK_INACCURATE, STAGE, info->row,
                          "row %d of A times the inverse is off by %.1e on the diagonal%s",
                          info->row, info->deviation,
                          replaced ? why : ": A is singular or nearly so");
    if (info->error > accuracy)
        return mpki_error(ctx, MPK_INACCURATE, STAGE, info->row,
                          "the error is at least %.1e, and at most %.1e was asked for%s",
                          info->error, accuracy, why);
    if (replaced)
        return mpki_error(ctx, MPK_PERTURBED, STAGE, fac->info.perturbed,
                          "%lld pivots of %d were replaced: this is the inverse of A + E, and "
                          "(A Z)_ii - 1 is up to %.1e",
                          (long long)fac->info.perturbed, fac->an->n, info->deviation);
    return MPK_OK;
}

static mpk_status compute(mpk_context *ctx, const mpk_factor *fac, mpk_selection what, void *out,
                          const mpk_options *options, mpk_selected_info *info) {
    const mpk_analysis *an = fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    const bool diagonal = what == MPK_SELECT_DIAGONAL;
    const mpk_problem_view a = mpki_system_of(ctx, fac).a;
    void *pattern = mpki_calloc(ctx, STAGE, an->nnz, size);
    void *wanted = diagonal ? mpki_alloc(ctx, STAGE, an->n, size) : NULL;
    double *work = MPKI_NEW(ctx, STAGE, 3 * (int64_t)an->n, double);
    const mpki_selected_wish wish = {.diagonal = wanted,
                                     .pattern = pattern,
                                     .threads = options->threads,
                                     .memory_limit = options->memory_limit};
    mpki_selected_done done = {0};
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = fac->engine->direct->selected_inverse(ctx, fac->direct, &wish, &done);
    info->flops = done.flops;
    info->threads = done.threads;
    if (!mpk_failed(status) &&
        !MPKI_DISPATCH(an->scalar, selected_check)(&a, pattern, wanted, work, info))
        status = mpki_error(ctx, MPK_ERR_NUMERIC, STAGE, -1, "an entry of the inverse overflows");
    if (!mpk_failed(status)) memcpy(out, diagonal ? wanted : pattern, mpk_selected_size(fac, what));
    mpki_release(ctx, work);
    mpki_release(ctx, wanted);
    mpki_release(ctx, pattern);
    return status;
}

mpk_status mpki_selected_inverse(mpk_context *ctx, const mpk_factor *fac, mpk_selection what,
                                 void *out, size_t bytes, const mpk_options *given,
                                 mpk_selected_info *info) {
    const double start = mpki_now_s();
    mpk_selected_info found = {.row = -1, .threads = 1};
    mpk_options options;
    int64_t before, peak;
    mpk_status status = check(ctx, fac, what, out, bytes);
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, given, &options);
    if (!mpk_failed(status)) status = mpki_factor_bring(ctx, fac);
    if (mpk_failed(status)) return status;
    const mpk_analysis *an = fac->an;
    if (fac->info.inertia.zero > 0) {
        MPKI_DISPATCH(an->scalar, selected_none)(entries(an, what), out);
        if (info) *info = found;
        return mpki_error(ctx, MPK_SINGULAR, STAGE, fac->info.inertia.zero,
                          "%lld of %d pivots are zero: to working precision A has no inverse",
                          (long long)fac->info.inertia.zero, an->n);
    }
    const bool single = an->scalar == MPK_S || an->scalar == MPK_C;
    const double accuracy = options.accuracy >= 0 ? options.accuracy : single ? 1e-4 : 1e-8;
    mpk_memory_usage(ctx, &before, NULL);
    mpk_memory_reset_peak(ctx);
    mpki_memory_bound(ctx, 0, options.memory_limit);
    if (an->n > 0) status = compute(ctx, fac, what, out, &options, &found);
    mpki_memory_bound(ctx, 0, 0);
    if (mpk_failed(status)) return status;
    mpk_memory_usage(ctx, NULL, &peak);
    found.peak_bytes = peak - before;
    found.time_s = mpki_now_s() - start;
    if (info) *info = found;
    return verdict(ctx, fac, accuracy, &found);
}

mpk_status mpk_selected_inverse(mpk_context *ctx, const mpk_factor *fac, mpk_selection what,
                                void *out, size_t bytes, const mpk_options *options,
                                mpk_selected_info *info) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    return mpki_selected_inverse(ctx, fac, what, out, bytes, options, info);
}
