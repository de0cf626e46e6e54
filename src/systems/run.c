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
    *p = (mpki_lanes_pack){0};
}

static mpk_status pack_make(mpk_systems *s, mpki_lanes_pack *p) {
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
    const bool whole = p->ax && p->l && p->d && p->dinv && p->scale && p->row_norm;
    if (!whole) pack_free(ctx, p);
    return whole ? MPK_OK : mpki_failed(ctx);
}

mpk_status mpki_packs_make(mpk_systems *s, int64_t count) {
    const int64_t packs = s->template && !s->engine ? (count + s->width - 1) / s->width : 0;
    if (packs <= s->packs) return MPK_OK;
    mpki_lanes_pack *pack = mpki_resize(s->ctx, STAGE, s->pack, packs, sizeof *pack);
    if (!pack) return mpki_failed(s->ctx);
    s->pack = pack;
    for (; s->packs < packs; s->packs++) {
        pack[s->packs] = (mpki_lanes_pack){0};
        if (mpk_failed(pack_make(s, &pack[s->packs]))) return mpki_failed(s->ctx);
    }
    return MPK_OK;
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
    for (int w = 0; s->work && w < s->workers; w++) work_free(s->ctx, &s->work[w]);
    mpki_release(s->ctx, s->pack);
    mpki_release(s->ctx, s->work);
    s->pack = NULL, s->work = NULL, s->packs = 0;
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

/* Which packs are at work, and who is in their lanes. */
static mpk_status list_packs(mpki_systems_job *job) {
    mpk_systems *s = job->s;
    if (!s->template || s->engine) return MPK_OK;
    job->in_pack = MPKI_NEW(s->ctx, STAGE, s->packs * s->width, int64_t);
    job->list = MPKI_NEW(s->ctx, STAGE, s->packs, int64_t);
    if (!job->in_pack || !job->list) return mpki_failed(s->ctx);
    for (int64_t k = 0; k < s->packs * s->width; k++) job->in_pack[k] = -1;
    for (int64_t p = 0; p < s->packs; p++) job->list[p] = 0;
    for (int64_t b = 0; b < s->count; b++) {
        const mpki_slot *slot = &s->slot[b];
        if (slot->tier != MPK_TIER_TEMPLATE) continue;
        job->in_pack[slot->place] = b;
        if (s->said[b].active && !s->said[b].factor) job->list[slot->place / s->width] = 1;
    }
    for (int64_t p = 0; p < s->packs; p++)
        if (job->list[p]) job->list[job->packs++] = p;
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

mpk_status mpki_systems_run(mpki_systems_job *job) {
    mpk_systems *s = job->s;
    mpk_context *ctx = s->ctx;
    mpki_pool *pool = NULL;
    mpk_status status = list_packs(job);
    if (!mpk_failed(status) && s->workers > 1 && s->count > 1) {
        pool = mpki_context_pool(ctx, s->workers, 4);
        if (!pool) status = mpki_failed(ctx);
    }
    if (job->packs > 0 && !s->work) s->work = MPKI_ZNEW(ctx, STAGE, s->workers, mpki_pack_work);
    if (job->packs > 0 && !s->work) status = mpki_failed(ctx);
    /* which worker takes an item is not known: all of them have room, or there is one */
    for (int w = 0; !mpk_failed(status) && job->packs > 0 && w < (pool ? s->workers : 1); w++)
        status = work_make(s, &s->work[w], job->b ? job->nrhs : 0);
    if (mpk_failed(status)) goto done;
    if (s->engine)
        status = mpki_device_run(job);
    else
        mpki_pool_for(pool, 0, job->packs, pack_item, job);
    if (!mpk_failed(status) && !job->failed && wants_single(s)) {
        if (s->engine)
            status = mpki_device_singles(job, pool, single_item);
        else
            mpki_pool_for(pool, 0, s->workers, single_item, job);
    }
    if (mpk_failed(status)) goto done;
    if (job->failed == MPK_ERR_CANCELLED)
        status = mpki_stopped(ctx, STAGE);
    else if (job->failed)
        status = mpki_error(ctx, (mpk_status)job->failed, STAGE, -1, "no room for all systems: %s",
                            mpk_status_text((mpk_status)job->failed));
done:
    mpki_release(ctx, job->in_pack);
    mpki_release(ctx, job->list);
    return status;
}
