/* SPDX-License-Identifier: BSD-3-Clause */
/* Who solves which right-hand sides: looked at before any of them is solved. */
#include "iterate.h"
#include "../factor/lend.h"
#include "../problem/columns.h"

static const char STAGE[] = "solve";

mpki_columns mpki_columns_from(const mpki_columns *c, int32_t k) {
    const int64_t size = (int64_t)mpk_scalar_size(c->fac->an->scalar);
    mpki_columns rest = *c;
    rest.first += k, rest.nrhs -= k;
    rest.b += k * c->ldb * size, rest.x += k * c->ldx * size;
    return rest;
}

mpk_status mpki_check_finite(const mpki_columns *c) {
    const mpk_analysis *an = c->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    for (int32_t r = 0; an->n > 0 && r < c->nrhs; r++) {
        const int64_t bad =
            mpki_first_nonfinite(an->scalar, an->n, c->b + (size_t)(r * c->ldb) * size);
        if (bad >= 0)
            return mpki_error(c->ctx, MPK_ERR_INPUT, STAGE, bad,
                              "right-hand side %d is not finite in row %lld", c->first + r + 1,
                              (long long)bad + 1);
    }
    return MPK_OK;
}

/* Has the engine's refinement all that this solve asks for? */
static bool plain(const mpk_factor *fac, const mpk_options *options) {
    const mpk_factor_info *info = &fac->info;
    return fac->direct && fac->engine->direct->refine && !mpki_wants_krylov(fac, options) &&
           options->condition != MPK_ON && info->perturbed == 0 &&
           !mpki_skew_of(fac); /* the device has no other A than the mean */
}

mpki_plan mpki_plan_of(const mpki_columns *c) {
    const mpki_engine *engine = c->fac->engine;
    const bool some = c->nrhs > 0 && c->fac->an->n > 0;
    mpki_plan p = {.by_engine = some && plain(c->fac, c->options) ? c->nrhs : 0,
                   .iterates = mpki_wants_krylov(c->fac, c->options),
                   .b_there = some && mpki_is_there(c->ctx, engine, c->b),
                   .x_there = some && mpki_is_there(c->ctx, engine, c->x)};
    p.blocks = p.by_engine > MPKI_REFINE_TOGETHER;
    const mpk_factor_info *info = &c->fac->info;
    const bool regular = info->rank == MPK_RANK_FULL && info->inertia.zero == 0;
    p.keeps_b = p.by_engine > 0 && c->b == c->x && (p.blocks || c->ldb != c->ldx || !regular);
    return p;
}
