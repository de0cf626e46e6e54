/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems by the single engine: a factor each, made in a context of its own thread, and kept. */
#include "../problem/problem.h"
#include "object.h"

#include <stdio.h>
#include <string.h>

static const char STAGE[] = "systems";

void mpki_single_drop(mpki_slot *slot) {
    mpk_factor_destroy(&slot->fac);
    slot->tier = MPK_TIER_NONE;
}

void mpki_slot_give_up(mpki_slot *slot) {
    mpki_single_drop(slot);
    slot->status = MPK_ERR_ARGUMENT;
}

/* What ends a call, where it befell one system; all else is that system's own. */
static bool ends(mpki_systems_job *job, mpk_status status) {
    if (status != MPK_ERR_MEMORY && status != MPK_ERR_CANCELLED && status != MPK_ERR_SIZE)
        return false;
    job->failed = status;
    return true;
}

mpk_status mpki_systems_blame(const mpk_systems *s, mpk_status status) {
    char text[400];
    snprintf(text, sizeof text, "%s", mpk_status_text(status));
    for (int w = s->workers - 1; w >= 0; w--) { /* a child may be s->ctx itself */
        const char *own = NULL;
        if (mpk_last_error(s->child[w], NULL, NULL, &own) == status && *own)
            snprintf(text, sizeof text, "%s", own);
    }
    return mpki_error(s->ctx, status, STAGE, -1, "%s%s",
                      status == MPK_ERR_MEMORY ? "no room for all systems: " : "", text);
}

/* The factor of system b, whose status says how that went. job->failed: the call ends. */
static void settle(mpki_systems_job *job, int64_t b) {
    mpki_slot *slot = &job->s->slot[b];
    const mpk_status status = job->s->said[b].status;
    slot->tier = mpk_failed(status) ? MPK_TIER_NONE : MPK_TIER_SINGLE;
    slot->status = status;
    slot->examined = false;
    if (mpk_failed(status)) mpki_single_drop(slot);
    ends(job, status);
}

/* A context's factor of system b, from the caller's values. */
static void factorize(mpki_systems_job *job, mpk_context *ctx, int64_t b) {
    mpk_systems *s = job->s;
    mpki_slot *slot = &s->slot[b];
    const mpk_analysis *an = s->an;
    const size_t size = mpk_scalar_size(an->scalar);
    mpki_strand from = mpki_strand_of(job->ax, b, size);
    void *copy = NULL;
    if (job->fresh) mpk_factor_destroy(&slot->fac);
    if (from.step != 1 && (copy = mpki_alloc(ctx, STAGE, an->layout->given, size)) != NULL) {
        mpki_strand_copy(size, an->layout->given, from, (mpki_strand){copy, 1});
        from.p = copy;
    }
    s->said[b].status = from.step != 1 && !copy
                            ? mpki_failed(ctx)
                            : mpk_factorize(ctx, an, from.p, &s->single, &slot->fac);
    mpki_release(ctx, copy);
    settle(job, b);
}

/* The same from the values of its lane, or those that a device had: its solution was no good. */
static void factorize_again(mpki_systems_job *job, mpk_context *ctx, int64_t b) {
    mpk_systems *s = job->s;
    mpki_slot *slot = &s->slot[b];
    mpki_said *said = &s->said[b];
    const mpk_analysis *an = s->an;
    const size_t size = mpk_scalar_size(an->scalar);
    void *copy = mpki_alloc(ctx, STAGE, an->nnz, size);
    mpk_factor_destroy(&slot->fac);
    if (copy && job->values)
        memcpy(copy, job->values[b], (size_t)an->nnz * size);
    else if (copy)
        MPKI_DISPATCH(an->scalar, lane_values)(s, slot, copy);
    said->status =
        copy ? mpk_factorize_lower(ctx, an, copy, &s->single, &slot->fac) : mpki_failed(ctx);
    mpki_release(ctx, copy);
    said->moved = true;
    if (said->status != MPK_ERR_MEMORY && said->status != MPK_ERR_CANCELLED) {
        settle(job, b);
        return;
    }
    mpk_factor_destroy(&slot->fac); /* the template's factors stay */
    ends(job, said->status);
}

static void certify(mpki_systems_job *job, mpk_context *ctx, int64_t b) {
    mpki_slot *slot = &job->s->slot[b];
    mpk_certificate found;
    const mpk_status status = mpk_certify(ctx, slot->fac, &found);
    if (ends(job, status) || mpk_failed(status)) return;
    slot->examined = true;
    slot->certified = found.certified;
}

static void solve(mpki_systems_job *job, mpk_context *ctx, int64_t b) {
    mpk_systems *s = job->s;
    mpki_said *said = &s->said[b];
    const mpki_slot *slot = &s->slot[b];
    const int64_t n = s->an->n;
    const size_t size = mpk_scalar_size(s->an->scalar);
    mpk_solve_info info = {0};
    void *x =
        mpki_alloc(ctx, STAGE, n * job->nrhs, size); /* kept from the caller until it is right */
    if (!x) {
        ends(job, said->status = mpki_failed(ctx));
        return;
    }
    const mpki_strand from = mpki_strand_of(job->b, b, size), to = mpki_strand_of(job->x, b, size);
    for (int32_t j = 0; j < job->nrhs; j++) {
        mpki_strand column = from;
        column.p += j * (int64_t)job->b->ld * from.step * (int64_t)size;
        mpki_strand_copy(size, n, column, (mpki_strand){(char *)x + j * n * (int64_t)size, 1});
    }
    if (job->bare) {
        said->status = mpki_first_nonfinite(s->an->scalar, n * job->nrhs, x) < 0 ? slot->status
                                                                                 : MPK_ERR_INPUT;
        if (!mpk_failed(said->status)) {
            mpk_status status = mpk_solve_part(ctx, slot->fac, MPK_PART_ALL, job->nrhs, x, n);
            if (!mpk_failed(status) && mpki_first_nonfinite(s->an->scalar, n * job->nrhs, x) >= 0)
                status = MPK_ERR_NUMERIC;
            if (mpk_failed(status)) said->status = status;
        }
    } else {
        said->status = mpk_solve(ctx, slot->fac, job->nrhs, x, n, x, n, &s->single, &info);
    }
    said->steps = info.iterations;
    said->omega = info.componentwise;
    said->normwise = info.normwise;
    for (int32_t j = 0; !mpk_failed(said->status) && j < job->nrhs; j++) {
        mpki_strand column = to;
        column.p += j * (int64_t)job->x->ld * to.step * (int64_t)size;
        mpki_strand_copy(size, n, (mpki_strand){(char *)x + j * n * (int64_t)size, 1}, column);
    }
    mpki_release(ctx, x);
    ends(job, said->status);
}

void mpki_single_run(mpki_systems_job *job, int home) {
    mpk_systems *s = job->s;
    mpk_context *ctx = s->child[home];
    for (int64_t b = 0; b < s->count && !job->failed; b++) {
        mpki_said *said = &s->said[b];
        mpki_slot *slot = &s->slot[b];
        if (!said->active || slot->home != home) continue;
        mpki_clear_error(ctx);
        if (said->factor) {
            factorize(job, ctx, b);
            if (job->failed || mpk_failed(said->status)) continue;
            if (job->certify) certify(job, ctx, b);
        } else if (slot->tier != MPK_TIER_SINGLE && !said->solve) {
            continue;
        } else if (said->solve && mpki_slot_in_lane(slot)) { /* its solution was no good */
            factorize_again(job, ctx, b);
            if (job->failed || mpk_failed(said->status)) continue;
            if (job->certify) certify(job, ctx, b);
        } else if (job->certify && !slot->examined) {
            certify(job, ctx, b);
        }
        if (job->b && slot->tier == MPK_TIER_SINGLE && !job->failed) solve(job, ctx, b);
        if (mpki_stop_wanted(s->ctx, job->b ? "solve" : "factorize"))
            job->failed = MPK_ERR_CANCELLED;
    }
}
