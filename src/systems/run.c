/* SPDX-License-Identifier: BSD-3-Clause */
/* A call's two phases on the threads, and the room that packs take. */
#include "object.h"

static const char STAGE[] = "systems";

/* ---- room ------------------------------------------------------------------------------------ */

static void pack_free(mpk_context *ctx, mpki_lanes_pack *p) {
    mpki_release(ctx, p->ax);
    mpki_release(ctx, p->l);
    mpki_release(ctx, p->d);
    mpki_release(ctx, p->dinv);
    mpki_release(ctx, p->scale);
    mpki_release(ctx, p->row_norm);
    mpki_release(ctx, p->perm);
    *p = (mpki_lanes_pack){0};
}

static mpk_status pack_make(mpk_systems *s, mpki_lanes_pack *p, bool own) {
    mpk_context *ctx = s->ctx;
    const mpk_analysis *an = s->an;
    const size_t all = mpk_scalar_size(an->scalar) * (size_t)s->width;
    const size_t reals = (an->scalar >= MPK_C ? all / 2 : all);
    p->ax = mpki_calloc(ctx, STAGE, an->nnz, all); /* lanes without a system hold zeros */
    p->l = mpki_alloc(ctx, STAGE, s->template->l[s->template->an->nsuper], all);
    p->d = mpki_alloc(ctx, STAGE, 2 * (int64_t)an->n, all);
    p->dinv = mpki_alloc(ctx, STAGE, 2 * (int64_t)an->n, all);
    p->scale = mpki_alloc(ctx, STAGE, an->n, reals);
    p->row_norm = mpki_alloc(ctx, STAGE, an->n, reals);
    if (own) p->perm = mpki_alloc(ctx, STAGE, an->n, (size_t)s->width * sizeof *p->perm);
    const bool whole =
        p->ax && p->l && p->d && p->dinv && p->scale && p->row_norm && (!own || p->perm);
    if (!whole) pack_free(ctx, p);
    return whole ? MPK_OK : mpki_failed(ctx);
}

/* At least `wanted` packs in a list of *packs. */
static mpk_status packs_grow(mpk_systems *s, int64_t wanted, bool own, int64_t *packs,
                             mpki_lanes_pack **list) {
    if (wanted <= *packs) return MPK_OK;
    mpki_lanes_pack *pack = mpki_resize(s->ctx, STAGE, *list, wanted, sizeof *pack);
    if (!pack) return mpki_failed(s->ctx);
    *list = pack;
    for (; *packs < wanted; ++*packs) {
        pack[*packs] = (mpki_lanes_pack){0};
        if (mpk_failed(pack_make(s, &pack[*packs], own))) return mpki_failed(s->ctx);
    }
    return MPK_OK;
}

mpk_status mpki_packs_make(mpk_systems *s, int64_t count) {
    const int64_t packs = s->template && !s->engine ? (count + s->width - 1) / s->width : 0;
    return packs_grow(s, packs, false, &s->packs, &s->pack);
}

static void work_free(mpk_context *ctx, mpki_pack_work *w) {
    mpki_release(ctx, w->lanes.w);
    mpki_release(ctx, w->lanes.contribution);
    for (int k = 0; k < 4; k++) mpki_release(ctx, w->lanes.x[k]);
    mpki_release(ctx, w->values);
    mpki_release(ctx, w->best);
    mpki_release(ctx, w->b);
    mpki_release(ctx, w->x);
    mpki_release(ctx, w->z);
    mpki_release(ctx, w->scale);
    *w = (mpki_pack_work){0};
}

void mpki_packs_free(mpk_systems *s) {
    for (int64_t p = 0; p < s->packs; p++) pack_free(s->ctx, &s->pack[p]);
    for (int64_t p = 0; p < s->own_packs; p++) pack_free(s->ctx, &s->own[p]);
    for (int w = 0; s->work && w < s->workers; w++) work_free(s->ctx, &s->work[w]);
    mpki_release(s->ctx, s->pack);
    mpki_release(s->ctx, s->own);
    mpki_release(s->ctx, s->work);
    s->pack = s->own = NULL, s->work = NULL, s->packs = s->own_packs = 0;
}

/* A worker's room, for so many right-hand sides. */
static mpk_status work_make(mpk_systems *s, mpki_pack_work *w, int32_t sides) {
    mpk_context *ctx = s->ctx;
    const mpk_analysis *an = s->an;
    const size_t all = mpk_scalar_size(an->scalar) * (size_t)s->width;
    const mpki_lanes_plan *plan = &s->template->plan;
    if (sides < 1) sides = 1;
    if (w->x && w->sides >= sides) return MPK_OK;
    work_free(ctx, w);
    w->lanes.w =
        mpki_alloc(ctx, STAGE, MPKI_DISPATCH(an->scalar, lanes_panel)(plan, s->kernels), 1);
    w->lanes.contribution = mpki_alloc(ctx, STAGE, plan->contributions, all);
    bool whole = w->lanes.w && w->lanes.contribution;
    for (int k = 0; k < 4; k++) {
        w->lanes.x[k] = mpki_alloc(ctx, STAGE, an->n, all);
        whole &= w->lanes.x[k] != NULL;
    }
    w->values = mpki_alloc(ctx, STAGE, an->nnz, all);
    w->best = mpki_alloc(ctx, STAGE, an->n, all);
    w->b = mpki_alloc(ctx, STAGE, an->n, all);
    w->x = mpki_alloc(ctx, STAGE, (int64_t)an->n * sides, all);
    w->z = mpki_alloc(ctx, STAGE, an->n, all);
    w->scale = MPKI_NEW(ctx, STAGE, an->n, double);
    w->sides = sides;
    whole &= w->values && w->best && w->b && w->x && w->z && w->scale;
    if (!whole) work_free(ctx, w);
    return whole ? MPK_OK : mpki_failed(ctx);
}

/* ---- the phases ------------------------------------------------------------------------------ */

/* Which packs of a kind are at work, and who is in their lanes. */
static mpk_status list_packs(mpki_systems_job *job) {
    mpk_systems *s = job->s;
    const int64_t packs = job->own ? s->own_packs : s->packs;
    const mpk_systems_tier tier = job->own ? MPK_TIER_OWN : MPK_TIER_TEMPLATE;
    job->packs = 0, job->done = 0;
    if (!s->template || s->engine) return MPK_OK;
    mpki_release(s->ctx, job->in_pack);
    mpki_release(s->ctx, job->list);
    job->in_pack = MPKI_NEW(s->ctx, STAGE, packs * s->width, int64_t);
    job->list = MPKI_NEW(s->ctx, STAGE, packs, int64_t);
    if (!job->in_pack || !job->list) return mpki_failed(s->ctx);
    for (int64_t k = 0; k < packs * s->width; k++) job->in_pack[k] = -1;
    for (int64_t p = 0; p < packs; p++) job->list[p] = 0;
    for (int64_t b = 0; b < s->count; b++) {
        const mpki_slot *slot = &s->slot[b];
        if (slot->tier != tier) continue;
        job->in_pack[slot->place] = b;
        if (s->said[b].active && !s->said[b].factor && !s->said[b].own)
            job->list[slot->place / s->width] = 1;
    }
    for (int64_t p = 0; p < packs; p++)
        if (job->list[p]) job->list[job->packs++] = p;
    return MPK_OK;
}

/* Places for the systems that are to have pivots of their own, in the first gaps that there are. */
static mpk_status place_own(mpk_systems *s) {
    int64_t wanted = 0, place = 0;
    for (int64_t b = 0; b < s->count; b++)
        wanted += s->slot[b].tier == MPK_TIER_OWN || s->said[b].own;
    mpk_status status =
        packs_grow(s, (wanted + s->width - 1) / s->width, true, &s->own_packs, &s->own);
    if (mpk_failed(status)) return status;
    const int64_t places = s->own_packs * s->width;
    char *taken = MPKI_ZNEW(s->ctx, STAGE, places, char);
    if (!taken) return mpki_failed(s->ctx);
    for (int64_t b = 0; b < s->count; b++)
        if (s->slot[b].tier == MPK_TIER_OWN) taken[s->slot[b].place] = 1;
    for (int64_t b = 0; b < s->count; b++) {
        mpki_slot *slot = &s->slot[b];
        if (!s->said[b].own) continue;
        s->said[b].own = false;
        if (slot->tier == MPK_TIER_OWN) continue;
        while (taken[place]) place++;
        taken[place] = 1;
        slot->tier = MPK_TIER_OWN, slot->place = place;
    }
    mpki_release(s->ctx, taken);
    return MPK_OK;
}

static void pack_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    mpki_systems_job *job = arg;
    (void)pool;
    if (job->failed) return;
    if (mpki_stop_wanted(job->s->ctx, job->b ? "solve" : "factorize")) {
        job->failed = MPK_ERR_CANCELLED;
        return;
    }
    MPKI_DISPATCH(job->s->an->scalar, pack_run)(job, worker, job->list[item]);
    const int64_t done = atomic_fetch_add(&job->done, 1) + 1;
    if (mpki_progress(job->s->ctx, job->b ? "solve" : "factorize",
                      (double)done / (double)job->packs) &&
        done < job->packs)
        job->failed = MPK_ERR_CANCELLED;
}

static void single_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    mpki_single_run(arg, (int)item);
}

static bool wants_single(const mpk_systems *s) {
    for (int64_t b = 0; b < s->count; b++) {
        const mpki_said *said = &s->said[b];
        if (!said->active) continue;
        if (said->factor || said->solve || s->slot[b].tier == MPK_TIER_SINGLE) return true;
    }
    return false;
}

/* The packs of a kind, on the threads. */
static mpk_status run_packs(mpki_systems_job *job, mpki_pool *pool) {
    mpk_systems *s = job->s;
    mpk_status status = list_packs(job);
    if (mpk_failed(status) || job->packs == 0) return status;
    if (!s->work) s->work = MPKI_ZNEW(s->ctx, STAGE, s->workers, mpki_pack_work);
    if (!s->work) return mpki_failed(s->ctx);
    /* which worker takes an item is not known: all of them have room, or there is one */
    for (int w = 0; !mpk_failed(status) && w < (pool ? s->workers : 1); w++)
        status = work_make(s, &s->work[w], job->b ? job->nrhs : 0);
    if (!mpk_failed(status)) mpki_pool_for(pool, 0, job->packs, pack_item, job);
    return status;
}

static mpk_status run_all(mpki_systems_job *job, mpki_pool *pool) {
    mpk_systems *s = job->s;
    mpk_status status = s->engine ? mpki_device_run(job) : run_packs(job, pool);
    if (mpk_failed(status) || job->failed) return status;
    if (s->template && !s->engine) {
        status = place_own(s);
        job->own = true;
        if (!mpk_failed(status)) status = run_packs(job, pool);
    }
    if (mpk_failed(status) || job->failed || !wants_single(s)) return status;
    if (s->engine) return mpki_device_singles(job, pool, single_item);
    mpki_pool_for(pool, 0, s->workers, single_item, job);
    return MPK_OK;
}

mpk_status mpki_systems_run(mpki_systems_job *job) {
    mpk_systems *s = job->s;
    mpk_context *ctx = s->ctx;
    mpki_pool *pool = NULL;
    mpk_status status = MPK_OK;
    if (s->workers > 1 && s->count > 1) {
        pool = mpki_context_pool(ctx, s->workers, 4);
        if (!pool) status = mpki_failed(ctx);
    }
    if (!mpk_failed(status)) status = run_all(job, pool);
    if (!mpk_failed(status) && job->failed == MPK_ERR_CANCELLED)
        status = mpki_stopped(ctx, STAGE);
    else if (!mpk_failed(status) && job->failed)
        status = mpki_systems_blame(s, (mpk_status)job->failed);
    mpki_release(ctx, job->in_pack);
    mpki_release(ctx, job->list);
    return status;
}
