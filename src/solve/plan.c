/* SPDX-License-Identifier: BSD-3-Clause */
/* Who solves which right-hand sides: looked at before any of them is solved. */
#include "iterate.h"
#include "../core/pool.h"
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

/* Columns of b, of each the first row that is not finite. */
enum { LOOKED_AT_ONCE = 64, LOOKED_BY_ONE = 1 << 18 /* entries */ };
typedef struct looking {
    const mpki_columns *c;
    int32_t first;
    int64_t bad[LOOKED_AT_ONCE];
} looking;

static void look(mpki_pool *pool, int worker, void *arg, int64_t k) {
    looking *l = arg;
    const mpki_columns *c = l->c;
    const mpk_analysis *an = c->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    const char *b = (const char *)c->b + (size_t)((l->first + k) * c->ldb) * size;
    (void)pool, (void)worker;
    l->bad[k] = mpki_first_nonfinite(an->scalar, an->n, b);
}

mpk_status mpki_check_finite(const mpki_columns *c) {
    const int32_t n = c->fac->an->n;
    const bool shared = c->nrhs > 1 && (int64_t)n * c->nrhs >= LOOKED_BY_ONE;
    const int threads = shared ? mpki_context_threads(c->ctx, c->options->threads) : 1;
    mpki_pool *pool = threads > 1 ? mpki_context_pool(c->ctx, threads, 1) : NULL;
    const int team = mpki_pool_set_team(pool, threads);
    looking l = {.c = c};
    int64_t bad = -1;
    for (; n > 0 && bad < 0 && l.first < c->nrhs; l.first += LOOKED_AT_ONCE) {
        const int32_t left = c->nrhs - l.first,
                      count = left < LOOKED_AT_ONCE ? left : LOOKED_AT_ONCE;
        mpki_pool_for(pool, 0, count, look, &l);
        for (int32_t k = 0; k < count && bad < 0; k++) {
            bad = l.bad[k];
            if (bad >= 0)
                mpki_error(c->ctx, MPK_ERR_INPUT, STAGE, bad,
                           "right-hand side %d is not finite in row %lld",
                           c->first + l.first + k + 1, (long long)bad + 1);
        }
    }
    mpki_pool_set_team(pool, team);
    return bad >= 0 ? MPK_ERR_INPUT : MPK_OK;
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
