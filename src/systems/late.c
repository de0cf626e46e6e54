/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns that come late. Pivots of a template hold for the values that it is made from; of values
 * near these others fail, other ones in each system, and would have to wait for a front above. So
 * some values near the analysed ones are factorized for a trial, by the engine that delays columns;
 * and each column of the template comes where the trials had it at the latest. */
#include "../core/random.h"
#include "object.h"

#include <string.h>

static const char STAGE[] = "systems";

/* How far trials are from the analysed values; how many there are, at most; and how many in a row
 * find nothing new before the last one: bench/results/systems.md. */
static const double SPREAD = 0.02;
enum { TRIALS = 12, IN_VAIN = 2 };

/* The analysed values, each times 1 + SPREAD u. */
static void vary(const mpk_analysis *an, uint64_t trial, void *ax) {
    const int64_t reals = an->nnz * (an->scalar >= MPK_C ? 2 : 1);
    const bool single = an->scalar == MPK_S || an->scalar == MPK_C, pairs = an->scalar >= MPK_C;
    uint64_t state = mpki_random_mix(trial);
    double by = 1;
    for (int64_t k = 0; k < reals; k++) {
        if (!pairs || k % 2 == 0) by = 1 + SPREAD * mpki_random_signed(&state);
        if (single)
            ((float *)ax)[k] = (float)(((const float *)an->values->ax)[k] * by);
        else
            ((double *)ax)[k] = ((const double *)an->values->ax)[k] * by;
    }
}

/* late[k], by position: the highest front that eliminated the column in any trial. *more: one is
 * higher than before */
static mpk_status try_values(mpk_context *ctx, const mpk_analysis *own, const mpk_options *options,
                             const void *ax, int32_t *node, int32_t *late, bool *more) {
    mpk_factor *fac = NULL;
    mpk_options o = *options;
    o.matching = MPK_OFF; /* the tree stays */
    *more = false;
    const mpk_status status = mpk_factorize_lower(ctx, own, ax, &o, &fac);
    if (status == MPK_ERR_MEMORY || status == MPK_ERR_CANCELLED) return status;
    if (status == MPK_OK && fac->an == own && fac->direct && fac->engine->direct->nodes) {
        fac->engine->direct->nodes(fac->direct, node);
        for (int32_t k = 0; k < own->n; k++)
            if (node[k] > late[k]) late[k] = node[k], *more = true;
    }
    mpk_factor_destroy(&fac);
    mpki_clear_error(ctx); /* values that fail are no trial */
    return MPK_OK;
}

/* Fronts in their order: the columns that come in time, then those that come late. */
static void put_in_order(const mpk_analysis *own, const int32_t *late, int32_t *start,
                         int32_t *order) {
    for (int32_t s = 0; s <= own->nsuper; s++) start[s] = 0;
    for (int32_t k = 0; k < own->n; k++) start[late[k] + 1]++;
    for (int32_t s = 0; s < own->nsuper; s++) start[s + 1] += start[s];
    for (int in_time = 1; in_time >= 0; in_time--)
        for (int32_t s = 0; s < own->nsuper; s++)
            for (int32_t k = own->sptr[s]; k < own->sptr[s + 1]; k++)
                if ((late[k] == s) == (in_time == 1)) order[start[late[k]]++] = own->perm[k];
}

mpk_status mpki_late_order(mpk_context *ctx, const mpk_analysis *own, const mpk_options *options,
                           int32_t *order, bool *some) {
    const int32_t n = own->n;
    int32_t *late = MPKI_NEW(ctx, STAGE, 3 * (int64_t)n + 1, int32_t), *node = late + n;
    void *ax = mpki_alloc(ctx, STAGE, own->nnz, mpk_scalar_size(own->scalar));
    mpk_status status = late && ax ? MPK_OK : mpki_failed(ctx);
    *some = false;
    for (int32_t s = 0; !mpk_failed(status) && s < own->nsuper; s++)
        for (int32_t k = own->sptr[s]; k < own->sptr[s + 1]; k++) late[k] = s;
    for (int trial = 1, in_vain = 0; trial <= TRIALS && in_vain < IN_VAIN && !mpk_failed(status);
         trial++) {
        bool more;
        vary(own, (uint64_t)trial, ax);
        status = try_values(ctx, own, options, ax, node, late, &more);
        in_vain = more ? 0 : in_vain + 1;
        *some |= more;
    }
    if (!mpk_failed(status) && *some) put_in_order(own, late, node, order);
    mpki_release(ctx, late);
    mpki_release(ctx, ax);
    return status;
}
