/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs: arguments checked, systems marked and placed, results told. */
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../engines/cpu/batch/batch.h"
#include "object.h"

#include <stdio.h>

static const char STAGE[] = "systems";

/* ---- arguments ------------------------------------------------------------------------------- */

mpk_status mpki_systems_check_array(mpk_context *ctx, const mpki_systems_engine *engine,
                                    mpk_scalar scalar, int64_t count, const char *name,
                                    const mpk_batch_array *x, int64_t rows, int64_t columns) {
    const mpk_batch shape = {.scalar = scalar, .count = count};
    mpk_batch_array column = x ? *x : (mpk_batch_array){0};
    if (x && columns < 0) column.ld = rows > 1 ? (int32_t)rows : 1, columns = 1; /* not read */
    mpk_status status =
        mpki_batch_check_array(ctx, &shape, name, x ? &column : NULL, rows, columns);
    if (!mpk_failed(status) && x->memory == MPK_DEVICE && !engine)
        return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1,
                          "%s lies in a device's memory, and these systems were made for the "
                          "processor: device = cuda",
                          name);
    const bool some = x && count > 0 && rows > 0 && columns != 0;
    if (!mpk_failed(status) && some && x->memory == MPK_DEVICE && !engine->is_here(ctx, x->data))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "%s is said to lie in device memory, and does not", name);
    return status;
}

static mpk_status check_array(mpk_context *ctx, const mpk_systems *s, const char *name,
                              const mpk_batch_array *x, int64_t rows, int64_t columns) {
    return mpki_systems_check_array(ctx, s->engine, s->an->scalar, s->count, name, x, rows,
                                    columns);
}

static mpk_status check(mpki_systems_job *job, mpk_context *ctx) {
    const mpk_systems *s = job->s;
    mpk_status status = MPK_OK;
    if (!s || s->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the systems are NULL, or were made with another context");
    if (job->ax) {
        const int64_t given = s->an->layout->given;
        if (given > INT32_MAX)
            return mpki_error(ctx, MPK_ERR_SIZE, STAGE, given, "more than 2^31 - 1 values");
        status = check_array(ctx, s, "ax", job->ax, given, -1);
    }
    if (mpk_failed(status) || (!job->b && !job->x)) return status;
    if (job->nrhs < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, job->nrhs, "nrhs is negative");
    status = check_array(ctx, s, "b", job->b, s->an->n, job->nrhs);
    if (!mpk_failed(status)) status = check_array(ctx, s, "x", job->x, s->an->n, job->nrhs);
    return status;
}

/* ---- marks and places ------------------------------------------------------------------------ */

/* What a factorization does with each system: who begins with it, and where. */
static void begin_factorization(mpki_systems_job *job, const uint8_t *mask) {
    mpk_systems *s = job->s;
    int64_t place = 0;
    for (int64_t b = 0; b < s->count; b++) {
        mpki_slot *slot = &s->slot[b];
        mpki_said *said = &s->said[b];
        *said = (mpki_said){.active = !mask || mask[b]};
        if (!said->active) {
            if (!s->keep && slot->tier != MPK_TIER_NONE) {
                mpki_single_drop(slot);
                slot->tier = MPK_TIER_NONE;
                slot->status = MPK_ERR_ARGUMENT;
            }
            continue;
        }
        const bool anew = job->fresh || slot->anew;
        if (!anew && slot->tier == MPK_TIER_OWN) {
            said->own = true;
            continue;
        }
        const bool lanes = s->template && (anew || slot->tier != MPK_TIER_SINGLE);
        if (lanes) mpki_single_drop(slot);
        slot->anew = false;
        slot->tier = lanes ? MPK_TIER_TEMPLATE : slot->tier;
        said->factor = !lanes;
        if (lanes) slot->place = s->keep ? b : place++;
    }
}

static void begin_solve(mpki_systems_job *job, const uint8_t *mask) {
    mpk_systems *s = job->s;
    for (int64_t b = 0; b < s->count; b++) {
        mpki_said *said = &s->said[b];
        *said = (mpki_said){.active = !mask || mask[b], .status = s->slot[b].status};
        if (s->slot[b].tier == MPK_TIER_NONE && !mpk_failed(said->status))
            said->status = MPK_ERR_ARGUMENT;
    }
}

/* A call that failed half way: nobody knows whose factors are which. */
static void give_up(mpki_systems_job *job) {
    for (int64_t b = 0; b < job->s->count; b++) {
        if (job->s->said[b].active) mpki_slot_give_up(&job->s->slot[b]);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Of a factorization. */
static mpk_status tell_factors(const mpk_systems *s, int64_t b, const mpk_systems_results *r) {
    const mpki_slot *slot = &s->slot[b];
    const bool single = slot->tier == MPK_TIER_SINGLE, none = slot->tier == MPK_TIER_NONE;
    const mpk_factor_info *info = single ? &slot->fac->info : NULL;
    mpk_status status = MPK_OK;
    if (r->rank) r->rank[b] = single ? (int32_t)info->rank : MPK_RANK_FULL;
    if (r->growth) r->growth[b] = none ? 0 : single ? info->growth : slot->lane.growth;
    if (r->certified) r->certified[b] = !none && slot->examined && slot->certified;
    if (r->inertia) {
        int64_t *counts = r->inertia + 3 * b;
        counts[0] = counts[1] = counts[2] = 0;
        if (!none && s->an->symmetry != MPK_GENERAL)
            status = mpk_systems_get(s->ctx, s, b, MPK_GET_INERTIA, counts, 24);
    }
    if (r->logdet) {
        double *logdet = r->logdet + 3 * b;
        logdet[0] = logdet[1] = logdet[2] = 0;
        if (!none && !mpk_failed(status))
            status = mpk_systems_get(s->ctx, s, b, MPK_GET_LOGDET, logdet, 24);
    }
    return status;
}

/* Of each system. */
static mpk_status tell_each(mpki_systems_job *job, const mpk_systems_results *r) {
    mpk_systems *s = job->s;
    for (int64_t b = 0; b < s->count; b++) {
        const mpki_said *said = &s->said[b];
        const bool bad = mpk_failed(said->status);
        if (!said->active) continue;
        if (r->status) r->status[b] = said->status;
        if (r->tier) r->tier[b] = (int32_t)s->slot[b].tier;
        if ((job->ax || said->moved) && mpk_failed(tell_factors(s, b, r)))
            return mpki_failed(s->ctx);
        if (!job->b || job->bare) continue;
        if (r->steps) r->steps[b] = bad ? 0 : said->steps;
        if (r->omega) r->omega[b] = bad ? INFINITY : said->omega;
        if (r->normwise) r->normwise[b] = bad ? INFINITY : said->normwise;
    }
    return MPK_OK;
}

/* Why a system has no result. */
static const char *words(const mpki_said *said, char *text, size_t size) {
    const mpk_systems_refusal *r = &said->refusal;
    if (said->status != MPK_ERR_INPUT || r->what == MPK_REFUSED_OTHERWISE)
        return mpk_status_text(said->status);
    if (r->what == MPK_REFUSED_VALUE)
        snprintf(text, size, "value %lld: row %d, column %d is NaN or infinite",
                 (long long)r->entry, r->row, r->column);
    else
        snprintf(text, size, "row %d of right-hand side %d is NaN or infinite", r->row, r->column);
    return text;
}

mpk_status mpki_systems_sum(mpk_context *ctx, const mpki_said *said, int64_t count) {
    int64_t failed = 0, first = -1, doubtful = 0;
    char why[160];
    mpk_status worst = MPK_OK;
    for (int64_t b = 0; b < count; b++) {
        const mpk_status status = said[b].status;
        if (!said[b].active) continue;
        if (mpk_failed(status) && failed++ == 0) first = b;
        if (mpk_failed(status) || !status) continue;
        if (doubtful++ == 0) first = failed ? first : b;
        if (!worst || status < worst) worst = status;
    }
    if (failed > 0)
        return mpki_error(ctx, MPK_PARTIAL, STAGE, first,
                          "%lld of %lld systems have no result, number %lld the first of them: %s",
                          (long long)failed, (long long)count, (long long)first,
                          words(&said[first], why, sizeof why));
    if (worst)
        return mpki_error(ctx, worst, STAGE, first,
                          "%lld of %lld systems have another status than ok, number %lld the first "
                          "of them: %s",
                          (long long)doubtful, (long long)count, (long long)first,
                          mpk_status_text(said[first].status));
    return MPK_OK;
}

/* ---- the verbs ------------------------------------------------------------------------------- */

mpk_status mpki_systems_verb(mpk_context *ctx, mpki_systems_job *job, const uint8_t *mask,
                             const mpk_systems_results *results) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (job->s && job->s->of_mixed) return job->s->of_mixed->call(ctx, job, mask, results);
    mpk_status status = check(job, ctx);
    if (mpk_failed(status)) return status;
    job->certify = job->ax && results && results->certified;
    if (job->ax)
        begin_factorization(job, mask);
    else
        begin_solve(job, mask);
    status = mpki_systems_run(job);
    if (mpk_failed(status)) {
        if (job->ax) give_up(job);
        return status;
    }
    status = mpki_systems_find_refusals(job);
    if (!mpk_failed(status) && results) status = tell_each(job, results);
    return mpk_failed(status) ? status : mpki_systems_sum(ctx, job->s->said, job->s->count);
}

static mpk_status missing(mpk_context *ctx, const char *name) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s is NULL", name);
}

static mpk_status factorize(mpk_context *ctx, mpk_systems *s, const mpk_batch_array *ax, bool fresh,
                            const uint8_t *mask, const mpk_systems_results *results) {
    mpki_systems_job job = {.s = s, .ax = ax, .fresh = fresh};
    return ax ? mpki_systems_verb(ctx, &job, mask, results) : missing(ctx, "ax");
}

mpk_status mpk_systems_factorize(mpk_context *ctx, mpk_systems *s, const mpk_batch_array *ax,
                                 const uint8_t *mask, const mpk_systems_results *results) {
    MPKI_CALM;
    return factorize(ctx, s, ax, true, mask, results);
}

mpk_status mpk_systems_refactorize(mpk_context *ctx, mpk_systems *s, const mpk_batch_array *ax,
                                   const uint8_t *mask, const mpk_systems_results *results) {
    MPKI_CALM;
    return factorize(ctx, s, ax, false, mask, results);
}

static mpk_status solve(mpk_context *ctx, mpki_systems_job *job, const uint8_t *mask,
                        const mpk_systems_results *results) {
    if (!job->b || !job->x) return missing(ctx, job->b ? "x" : "b");
    return mpki_systems_verb(ctx, job, mask, results);
}

mpk_status mpk_systems_solve(mpk_context *ctx, mpk_systems *s, int32_t nrhs,
                             const mpk_batch_array *b, const mpk_batch_array *x, int bare,
                             const uint8_t *mask, const mpk_systems_results *results) {
    MPKI_CALM;
    mpki_systems_job job = {.s = s, .b = b, .x = x, .nrhs = nrhs, .bare = bare != 0};
    return solve(ctx, &job, mask, results);
}

mpk_status mpk_systems_factorize_solve(mpk_context *ctx, mpk_systems *s, const mpk_batch_array *ax,
                                       int32_t nrhs, const mpk_batch_array *b,
                                       const mpk_batch_array *x, int bare, const uint8_t *mask,
                                       const mpk_systems_results *results) {
    MPKI_CALM;
    mpki_systems_job job = {.s = s, .ax = ax, .b = b, .x = x, .nrhs = nrhs, .bare = bare != 0};
    job.fresh = true;
    return ax ? solve(ctx, &job, mask, results) : missing(ctx, "ax");
}

mpk_status mpk_systems_refactorize_solve(mpk_context *ctx, mpk_systems *s,
                                         const mpk_batch_array *ax, int32_t nrhs,
                                         const mpk_batch_array *b, const mpk_batch_array *x,
                                         int bare, const uint8_t *mask,
                                         const mpk_systems_results *results) {
    MPKI_CALM;
    mpki_systems_job job = {.s = s, .ax = ax, .b = b, .x = x, .nrhs = nrhs, .bare = bare != 0};
    return ax ? solve(ctx, &job, mask, results) : missing(ctx, "ax");
}
