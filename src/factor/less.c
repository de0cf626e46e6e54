/* SPDX-License-Identifier: BSD-3-Clause */
/* Which factors may be less than A's: in single precision, or in low rank (narrow.h). */
#include "direct_numbers.h"
#include "narrow.h"

static const char STAGE[] = "factorize";

mpk_status mpki_less_refused(mpk_context *ctx, mpki_less less) {
    return mpki_error(
        ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
        less.narrow ? "method ldlt has precision = single on the processor alone: device = cpu or "
                      "auto, or precision = double"
                    : "method ldlt has low_rank_tolerance on the processor alone: device = cpu or "
                      "auto, or low_rank_tolerance = 0");
}

mpki_less mpki_less_asked(const mpk_analysis *an, const mpk_options *options) {
    if (an->options.method != MPK_METHOD_LDLT) return (mpki_less){0};
    return (mpki_less){.narrow = options->precision == MPK_PRECISION_SINGLE &&
                                 mpki_factor_scalar(true, an) != an->scalar,
                       .low_rank = options->low_rank_tolerance};
}

mpki_less mpki_less_wanted(mpk_factor *fac, mpk_unfit *why) {
    const mpk_analysis *an = fac->an;
    const mpki_tree_view tree = mpki_tree_view_of(an);
    const mpki_direct_engine *direct = fac->engine->direct;
    mpki_less less = mpki_less_asked(an, &fac->options);
    less.narrow = fac->options.precision == MPK_PRECISION_SINGLE && /* of method auto, too */
                  mpki_factor_scalar(true, an) != an->scalar;
    *why = MPK_FIT;
    if (an->n == 0 || direct != &mpki_cpu_direct || fac->away) return (mpki_less){0};
    if (less.low_rank > 0 && !direct->low_rank(&tree)) less.low_rank = 0;
    if (!less.narrow && !(less.low_rank > 0)) return (mpki_less){0};
    if (mpki_core_is_part(&an->core)) {
        *why = MPK_UNFIT_PATTERN;
    } else if (fac->wide_for > 0) {
        fac->wide_for--;
        *why = MPK_UNFIT_BEFORE;
    }
    return *why ? (mpki_less){0} : less;
}
