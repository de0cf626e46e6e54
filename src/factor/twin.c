/* SPDX-License-Identifier: BSD-3-Clause */
/* A second factor of the same values: factorized in another way, and kept if it is better. */
#include "rank.h"

static const char STAGE[] = "factorize";

/* Exchange the results of two numeric phases. */
void mpki_exchange_numbers(mpk_factor *a, mpk_factor *b) {
#define SWAP(type, field)                                                                          \
    do {                                                                                           \
        type kept = a->field;                                                                      \
        a->field = b->field;                                                                       \
        b->field = kept;                                                                           \
    } while (0)
    SWAP(bool, rescaled);
    SWAP(double, size);
    SWAP(bool, lowered);
    SWAP(double, raised);
    SWAP(double *, scale);
    SWAP(mpki_direct *, direct);
    SWAP(int64_t, broken);
    SWAP(mpk_factor_info, info);
    SWAP(mpki_rank_memory, known);
    SWAP(struct mpki_measured *, measured);
#undef SWAP
}

/* Another factor of the same values and analysis, empty. */
mpk_factor *mpki_twin(const mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    mpk_factor *other = MPKI_ZNEW(ctx, STAGE, 1, mpk_factor);
    if (!other) return NULL;
    mpki_lock_init(&other->bringing);
    other->forks = fac->forks;
    other->ctx = ctx;
    other->form = fac->form;
    other->engine = fac->engine;
    other->base = fac->base;
    other->an = fac->an;
    other->options = fac->options;
    other->values = mpki_values_share(ctx, STAGE, fac->an->scalar, fac->values);
    other->ax = fac->ax;
    other->norm_inf = fac->norm_inf;
    other->rescaled = fac->rescaled;
    other->lowered = fac->lowered;
    other->raised = fac->raised;
    other->known = (mpki_rank_memory){
        .zeros = fac->known.zeros, .tried = fac->known.tried, .core = fac->known.core};
    other->effort = fac->effort;
    other->scale =
        MPKI_NEW(ctx, STAGE, (int64_t)fac->an->n + mpki_split_rows(fac->an->split), double);
    const mpki_tree_view tree = mpki_tree_view_of(fac->an);
    (void)fac->engine->direct->make(ctx, &tree, &other->direct); /* a failure is recorded */
    return other;
}
