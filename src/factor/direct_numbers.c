/* SPDX-License-Identifier: BSD-3-Clause */
/* One factorization by the multifrontal method: scales the values, calls the engine, describes what
 * came of it. */
#include "direct_numbers.h"
#include "measured.h"
#include "narrow.h"
#include "tuning.h"

#include <math.h>

static bool single_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* A column that a factor in single precision takes as zero: below the rounding of its numbers, for
 * whether A is singular is not its to say. */
static const double NARROW_ZERO = 0x1p-30;

/* What rounding leaves of entries that should cancel, in a matrix scaled to 1: about 45 eps. With
 * this bound the counts of zero pivots agree with the eigenvalues of the singular matrices in the
 * test set (table in docs/design/verdicts.md). */
double mpki_default_zero_tolerance(mpk_scalar scalar) {
    return (single_of(scalar) ? 0x1p29 : 1) * 1e-14;
}

mpk_status mpki_factorize_once(mpk_factor *fac, const mpki_stop *stop,
                               mpki_numeric_result *result) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const bool away = fac->away; /* then they are scaled, too */
    mpk_status status = MPK_OK;
    mpki_measured_age(fac);
    if (away)
        fac->size = 1;
    else
        status = mpki_find_scaling(ctx, an, &fac->options, fac->ax, fac->rescaled, fac->scale,
                                   &fac->size);
    if (!mpk_failed(status)) status = mpki_scale_outer(fac);
    if (mpk_failed(status)) return status;
    const bool single = single_of(an->scalar);
    const double small = fac->options.zero_tolerance >= 0 ? fac->options.zero_tolerance
                         : fac->narrow                    ? NARROW_ZERO
                         : fac->raised > 0                ? fac->raised
                         : fac->lowered                   ? (single ? 0x1p-23 : 0x1p-52)
                                                          : mpki_default_zero_tolerance(an->scalar);
    const mpki_pivot_rules rules = {.threshold = fac->options.pivot_threshold,
                                    .small = small * fac->size,
                                    .shift = fac->options.static_shift * fac->size,
                                    .size = fac->size,
                                    .threads = fac->options.threads,
                                    .low_rank = fac->low_rank,
                                    .memory_limit = fac->options.memory_limit,
                                    .device_memory_limit = fac->options.device_memory_limit,
                                    .keep = fac->options.updates == MPK_ON,
                                    .fp64_emulation = fac->options.fp64_emulation};
    void *values = fac->narrow ? mpki_narrow_values(fac) : NULL;
    if (fac->narrow && !values) return mpki_failed(ctx);
    const void *ax = away ? NULL : values ? values : fac->ax;
    const double *scale = away ? NULL : values ? fac->ones : fac->scale;
    status = fac->engine->direct->factorize(fac->direct, ax, scale, &rules, stop, result);
    mpki_release(ctx, values);
    return status;
}

double mpki_pivot_noise(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const double eps = single_of(an->scalar) ? 0x1p-24 : 0x1p-53;
    const double wider = fac->info.emulated > 0 ? MPKI_EMULATED_NOISE : 1;
    return 10 * wider * eps * sqrt((double)an->n + 1) * fmax(fac->info.growth, 1);
}

void mpki_factor_describe(mpk_factor *fac, const mpki_numeric_result *r) {
    const mpk_analysis *an = fac->an;
    mpk_factor_info *info = &fac->info;
    const bool counted =
        an->symmetry == MPK_HERMITIAN || an->scalar == MPK_S || an->scalar == MPK_D;
    *info =
        (mpk_factor_info){.nnz = r->nnz,
                          .flops = r->flops,
                          .bytes = fac->form->bytes(fac),
                          .precision = fac->narrow ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE,
                          .low_rank_tolerance = fac->low_rank,
                          .low_rank_nnz = fac->low_rank > 0 ? r->low_nnz : r->nnz,
                          .low_rank_flops = fac->low_rank > 0 ? r->low_flops : r->flops,
                          .rejected = r->delayed,
                          .two_by_two = r->two_by_two,
                          .perturbed = r->perturbed,
                          .growth = r->max_d / fac->size,
                          .min_pivot = isfinite(r->min_d) ? r->min_d / fac->size : 0,
                          .max_front = r->max_front,
                          .threads = r->threads ? r->threads : mpki_factor_threads(fac),
                          .kept_bytes = r->kept_bytes,
                          .untouched = r->untouched,
                          .emulated = r->emulated,
                          .redone = r->untouched == 0 ? 1
                                    : r->flops > 0    ? 1 - r->untouched_flops / r->flops
                                                      : 0};
    info->inertia.zero = r->zero;
    fac->broken = r->broken;
    if (!counted) return;
    info->inertia.positive = r->positive;
    info->inertia.negative = r->negative;
}

mpki_stop mpki_fresh_stop(const mpk_analysis *an) {
    return (mpki_stop){MPKI_STOP_TIMES * an->info.factor_flops + MPKI_STOP_LEAST_FLOPS,
                       (int64_t)an->n + MPKI_STOP_LEAST_REJECTED};
}
