/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems on a device: its engine does those with the pivots of the template; what it leaves goes to
 * the single engine, on the processor, with values and right-hand sides brought there. */
#include "../problem/certificate.h"
#include "../problem/given.h"
#include "../problem/measure.h"
#include "../solve/judge.h"
#include "config.h"
#include "object.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "systems";

/* ---- made ------------------------------------------------------------------------------------ */

/* Were both triangles given, and their patterns differ? */
static bool lopsided(const mpki_layout *layout, const int32_t *ptr, const int32_t *mirror) {
    if (layout->triangle != MPK_FULL) return false;
    for (int32_t j = 0; j < layout->n; j++)
        for (int64_t k = layout->ap[j]; k < layout->ap[j + 1]; k++)
            if (layout->ai[k] != j && (mirror[k] == ptr[k] || mirror[k] == ptr[k + 1])) return true;
    return false;
}

/* Which of the caller's values each stored one is the sum of. */
static mpk_status map_values(mpk_context *ctx, const mpki_layout *layout, mpk_scalar scalar,
                             mpki_systems_view *view, int32_t **memory, const char **reason) {
    const int64_t nnz = layout->nnz, given = layout->given;
    view->given = given;
    *memory = NULL;
    if (!layout->place) return MPK_OK;
    int32_t *ptr = *memory = MPKI_ZNEW(ctx, STAGE, 2 * nnz + 1 + given, int32_t);
    if (!ptr) return mpki_failed(ctx);
    int32_t *mirror = ptr + nnz + 1, *list = mirror + nnz;
    for (int64_t k = 0; k < given; k++) {
        const int64_t place = mpki_place(layout, k);
        if (place == MPKI_PLACE_NONE) continue;
        ptr[(place >= 0 ? place : -2 - place) + 1]++;
        if (place >= 0) mirror[place]++;
    }
    for (int64_t e = 0; e < nnz; e++) mirror[e] += ptr[e], ptr[e + 1] += ptr[e];
    for (int lower = 1; lower >= 0; lower--) /* then those of the other triangle */
        for (int64_t k = 0; k < given; k++) {
            const int64_t place = mpki_place(layout, k);
            if (place != MPKI_PLACE_NONE && (place >= 0) == (lower == 1))
                list[ptr[place >= 0 ? place : -2 - place]++] = (int32_t)k;
        }
    for (int64_t e = nnz; e > 0; e--) ptr[e] = ptr[e - 1];
    ptr[0] = 0;
    view->gather_ptr = ptr, view->gather_mirror = mirror, view->gather = list;
    /* law.h has the last word, by way of the single engine */
    view->symmetry_noise = layout->symmetry_tolerance >= 0      ? 0
                           : scalar == MPK_S || scalar == MPK_C ? 1e-5
                                                                : 1e-11;
    if (lopsided(layout, ptr, mirror))
        *reason = "both triangles were given, and their patterns differ";
    return MPK_OK;
}

mpk_status mpki_device_open(mpk_systems *s) {
#if MPKI_HAVE_CUDA
    s->engine = mpki_cuda_systems_engine(s->ctx, s->options.device_number);
    return s->engine ? MPK_OK : mpki_failed(s->ctx);
#else
    return mpki_error(s->ctx, MPK_ERR_DEVICE, STAGE, -1, "METAPACK was built without CUDA");
#endif
}

mpk_status mpki_device_make(mpk_systems *s) {
    const mpki_template *t = s->template;
    mpki_systems_view view = {.tree = t->plan.tree,
                              .l = t->l,
                              .c = t->c,
                              .contributions = t->plan.contributions,
                              .pair = t->pair,
                              .matched = t->plan.matched,
                              .expected = s->expected};
    int32_t *memory = NULL;
    if (s->an->layout->given > INT32_MAX)
        return mpki_error(s->ctx, MPK_ERR_SIZE, STAGE, s->an->layout->given,
                          "more than 2^31 - 1 values");
    const char *reason = NULL;
    mpk_status status = map_values(s->ctx, s->an->layout, s->an->scalar, &view, &memory, &reason);
    if (!mpk_failed(status) && !reason) status = s->engine->make(s->ctx, &view, &s->many);
    mpki_release(s->ctx, memory);
    if (status == MPK_ERR_UNSUPPORTED) reason = "its fronts are too large for a block on the GPU";
    if (!reason) return status;
    mpki_clear_error(s->ctx); /* the single engine takes all of them */
    mpki_template_free(s->ctx, &s->template);
    s->reason = reason;
    return MPK_OK;
}

/* ---- the engine's part ----------------------------------------------------------------------- */

static void tell_factor(mpki_slot *slot, mpki_said *said, const mpki_system_found *f) {
    said->status = f->infinite ? MPK_ERR_INPUT : MPK_OK;
    slot->status = said->status;
    slot->examined = slot->regular = false;
    if (f->infinite) {
        slot->tier = MPK_TIER_NONE;
        return;
    }
    slot->lane = (mpki_lane_outcome){.good = f->good,
                                     .positive = f->positive,
                                     .negative = f->negative,
                                     .two_by_two = f->two_by_two,
                                     .growth = f->growth,
                                     .min_pivot = f->min_pivot,
                                     .norm_inf = f->norm_inf};
    memcpy(slot->logdet, f->logdet, sizeof slot->logdet);
    said->factor = !f->good; /* also where its triangles differ: the single engine knows */
}

static void tell_solve(mpki_said *said, const mpki_system_found *f) {
    said->status = f->bad_b ? MPK_ERR_INPUT : MPK_OK;
    said->solve = !f->bad_b && !f->solved;
    said->steps = f->steps, said->omega = f->omega, said->normwise = f->normwise;
}

/* Is this system the engine's? */
static bool on_device(const mpk_systems *s, int64_t b) {
    const mpki_said *said = &s->said[b];
    return said->active && !said->factor && !said->solve && s->slot[b].tier == MPK_TIER_TEMPLATE;
}

/* Vectors for open systems: one more contraction of each (mpki_certify()).
 * most: above 0: as many as it takes to tell that A is regular, and contractions of at most that */
static mpk_status contract(mpk_systems *s, mpki_many_call *call, const int64_t *slot, double most,
                           uint64_t *state, mpk_certificate *found, char *z, char *y, double *scale,
                           int64_t *place, int64_t *open, int64_t *left) {
    const mpk_scalar scalar = s->an->scalar;
    const int64_t n = s->an->n, size = (int64_t)mpk_scalar_size(scalar);
    mpk_status status = MPK_OK;
    int64_t still = 0;
    for (int64_t k = 0; k < *left; k++) {
        const int64_t o = open[k];
        place[k] = s->slot[slot[o]].place;
        MPKI_DISPATCH(scalar, gaussian)(n, scale + o * n, &state[o], z + k * n * size);
    }
    int64_t *const number = place + *left;
    for (int64_t k = 0; k < *left; k++) number[k] = k;
    const mpk_batch_array b = {MPK_BATCH_STRIDED, MPK_HOST, z, n, (int32_t)n, 1},
                          x = {MPK_BATCH_STRIDED, MPK_HOST, y, n, (int32_t)n, 1};
    call->count = call->slots = *left;
    call->slot = number, call->place = place;
    call->b = &b, call->x = &x;
    status = s->engine->run(s->ctx, s->many, call);
    for (int64_t k = 0; !mpk_failed(status) && k < *left; k++) {
        const int64_t o = open[k];
        const double c = MPKI_DISPATCH(scalar, contraction)(n, scale + o * n, z + k * n * size,
                                                            y + k * n * size);
        mpki_slot *own = &s->slot[slot[o]];
        const bool more = mpki_certificate_next(&found[o], c);
        own->certified = !more && found[o].certified;
        own->regular = own->certified || mpki_certificate_miss(&found[o]) <= MPKI_SYSTEMS_MISS;
        if (most > 0) own->examined = own->certified, own->regular &= found[o].contraction <= most;
        const bool enough = own->regular || !(found[o].contraction <= most);
        if (more && !(most > 0 && enough)) open[still++] = o;
    }
    *left = still;
    return status;
}

/* Scales of a system, as doubles. */
static mpk_status scales(const mpk_systems *s, int64_t place, double *out) {
    const mpk_status status = s->engine->fetch(s->ctx, s->many, place, MPKI_SYSTEM_SCALE, out);
    if (s->an->scalar == MPK_S || s->an->scalar == MPK_C)
        for (int64_t i = s->an->n - 1; i >= 0; i--) { /* in place, from behind */
            float x;
            memcpy(&x, (const char *)out + (size_t)i * sizeof x, sizeof x);
            out[i] = (double)x;
        }
    return status;
}

/* Is this system to be examined? again: those that are at work once more */
static bool wants_certificate(const mpk_systems *s, int64_t b, const bool *again) {
    return on_device(s, b) && (again ? again[b] : !s->slot[b].examined);
}

/* Those from number `from` on, TOGETHER at most. *to [out] where the next ones begin */
static mpk_status certify_some(mpki_systems_job *job, const bool *again, double most, int64_t from,
                               int64_t *to) {
    enum { TOGETHER = 512 };
    mpk_systems *s = job->s;
    const mpk_analysis *an = s->an;
    const int64_t n = an->n, size = (int64_t)mpk_scalar_size(an->scalar);
    const bool counts = an->scalar <= MPK_D || an->symmetry == MPK_HERMITIAN;
    int64_t count = 0;
    for (*to = from; *to < s->count && count < TOGETHER; ++*to)
        count += wants_certificate(s, *to, again);
    if (count == 0) return MPK_OK;
    int64_t *slot = MPKI_NEW(s->ctx, STAGE, 4 * count, int64_t), *open = slot + count;
    uint64_t *state = MPKI_NEW(s->ctx, STAGE, count, uint64_t);
    mpk_certificate *found = MPKI_ZNEW(s->ctx, STAGE, count, mpk_certificate);
    char *z = mpki_alloc(s->ctx, STAGE, count * n, (size_t)size);
    char *y = mpki_alloc(s->ctx, STAGE, count * n, (size_t)size);
    char *values = mpki_alloc(s->ctx, STAGE, an->nnz, (size_t)size);
    double *scale = MPKI_NEW(s->ctx, STAGE, count * n, double);
    mpk_status status =
        slot && state && found && z && y && values && scale ? MPK_OK : mpki_failed(s->ctx);
    int64_t left = 0;
    for (int64_t b = from; !mpk_failed(status) && b < *to; b++) {
        mpki_slot *own = &s->slot[b];
        if (!wants_certificate(s, b, again)) continue;
        status = s->engine->fetch(s->ctx, s->many, own->place, MPKI_SYSTEM_VALUES, values);
        if (!mpk_failed(status)) status = scales(s, own->place, scale + left * n);
        state[left] = mpki_certificate_hash(mpki_certificate_seed(n, s->options.seed), values,
                                            an->nnz * size);
        found[left] = (mpk_certificate){.certified = 1};
        own->examined = true, own->regular = own->certified = false;
        slot[left] = b, open[left] = left;
        left++;
    }
    mpki_many_call call = {.certify = true, .nrhs = 1};
    while ((counts || again) && !mpk_failed(status) && left > 0)
        status = contract(s, &call, slot, most, state, found, z, y, scale, slot + 2 * count, open,
                          &left);
    for (int64_t k = 0; !counts && !mpk_failed(status) && k < count; k++)
        s->slot[slot[k]].certified = false;
    mpki_release(s->ctx, slot);
    mpki_release(s->ctx, state);
    mpki_release(s->ctx, found);
    mpki_release(s->ctx, z);
    mpki_release(s->ctx, y);
    mpki_release(s->ctx, values);
    mpki_release(s->ctx, scale);
    return status;
}

static mpk_status certify(mpki_systems_job *job, const bool *again, double most) {
    mpk_status status = MPK_OK;
    for (int64_t from = 0, to; !mpk_failed(status) && from < job->s->count; from = to)
        status = certify_some(job, again, most, from, &to);
    return status;
}

/* The systems of a list by the engine, and what is told of them. */
static mpk_status run_list(mpki_systems_job *job, mpki_many_call *call, int64_t *slot,
                           int64_t *place) {
    mpk_systems *s = job->s;
    mpki_system_found *found = MPKI_NEW(s->ctx, STAGE, s->count, mpki_system_found);
    call->slot = slot, call->place = place, call->found = found;
    for (int64_t k = 0; k < call->count; k++) place[k] = s->slot[slot[k]].place;
    const mpk_status status = found ? s->engine->run(s->ctx, s->many, call) : mpki_failed(s->ctx);
    for (int64_t k = 0; !mpk_failed(status) && k < call->count; k++) {
        mpki_said *said = &s->said[slot[k]];
        if (call->factor) tell_factor(&s->slot[slot[k]], said, &found[k]);
        if (call->solve && !said->factor && !mpk_failed(said->status)) tell_solve(said, &found[k]);
    }
    mpki_release(s->ctx, found);
    return status;
}

/* Systems whose pivots failed, once more with pivots that may be rounding. Those are kept that a
 * certificate shows to be regular. */
static mpk_status look_again(mpki_systems_job *job, const mpki_many_call *first, int64_t *slot,
                             int64_t *place) {
    mpk_systems *s = job->s;
    mpki_many_call call = *first;
    bool *again = MPKI_ZNEW(s->ctx, STAGE, s->count, bool);
    mpk_status status = again ? MPK_OK : mpki_failed(s->ctx);
    call.count = 0;
    for (int64_t b = 0; !mpk_failed(status) && b < s->count; b++) {
        const mpki_slot *own = &s->slot[b];
        again[b] = s->said[b].active && s->said[b].factor && own->tier == MPK_TIER_TEMPLATE &&
                   !own->lane.good && own->lane.norm_inf > 0;
        if (again[b]) slot[call.count++] = b;
    }
    if (mpk_failed(status) || call.count == 0) goto done;
    call.solve = false, call.nrhs = 0, call.b = call.x = NULL;
    call.noise = call.rounding = 0;
    status = run_list(job, &call, slot, place);
    if (!mpk_failed(status)) status = certify(job, again, 1);
    call.count = 0;
    for (int64_t b = 0; !mpk_failed(status) && b < s->count; b++) {
        if (!again[b] || s->said[b].factor) continue;
        s->said[b].factor = !s->slot[b].regular;
        if (s->slot[b].regular) slot[call.count++] = b;
    }
    if (mpk_failed(status) || !first->solve || call.count == 0) goto done;
    call.factor = false, call.solve = true, call.nrhs = first->nrhs;
    call.ax = NULL, call.b = first->b, call.x = first->x;
    status = run_list(job, &call, slot, place);
done:
    mpki_release(s->ctx, again);
    return status;
}

/* Systems whose solutions are in doubt, as those of singular ones would be: where a certificate shows
 * that they are regular, solutions may be as large as they are. */
static mpk_status solve_again(mpki_systems_job *job, const mpki_many_call *first, int64_t *slot,
                              int64_t *place) {
    mpk_systems *s = job->s;
    mpki_many_call call = *first;
    bool *again = MPKI_ZNEW(s->ctx, STAGE, s->count, bool);
    mpk_status status = again ? MPK_OK : mpki_failed(s->ctx);
    call.count = 0;
    for (int64_t b = 0; !mpk_failed(status) && b < s->count; b++) {
        mpki_said *said = &s->said[b];
        if (!said->active || !said->solve || said->factor || s->slot[b].tier != MPK_TIER_TEMPLATE)
            continue;
        said->solve = false;
        again[b] = !s->slot[b].regular;
        slot[call.count++] = b;
    }
    const int64_t count = call.count;
    if (mpk_failed(status) || count == 0) goto done;
    status = certify(job, again, 1);
    call.count = 0;
    for (int64_t k = 0; !mpk_failed(status) && k < count; k++) {
        s->said[slot[k]].solve = !s->slot[slot[k]].regular;
        if (s->slot[slot[k]].regular) slot[call.count++] = slot[k];
    }
    call.factor = false, call.ax = NULL;
    call.large_growth = INFINITY;
    if (!mpk_failed(status) && call.count > 0) status = run_list(job, &call, slot, place);
done:
    mpki_release(s->ctx, again);
    return status;
}

mpk_status mpki_device_run(mpki_systems_job *job) {
    mpk_systems *s = job->s;
    const mpki_lanes_rules rules = mpki_systems_rules(s);
    mpki_many_call call = {.factor = job->ax != NULL,
                           .solve = job->b != NULL,
                           .bare = job->bare,
                           .nrhs = job->nrhs,
                           .slots = s->count,
                           .ax = job->ax,
                           .b = job->b,
                           .x = job->x,
                           .stress = rules.stress,
                           .rounding = rules.rounding,
                           .small = rules.small,
                           .noise = rules.noise,
                           .accuracy = mpki_accuracy(&s->options, s->an->scalar),
                           .large_growth = mpki_large_growth(s->an->scalar),
                           .refine = s->options.refine};
    const mpk_batch_array *arrays[] = {job->ax, job->b, job->x};
    bool there = false;
    mpk_status status = MPK_OK;
    for (int k = 0; k < 3; k++) there |= arrays[k] && arrays[k]->memory == MPK_DEVICE;
    if (there && !job->settled) status = s->engine->settle(s->ctx);
    if (!s->many || mpk_failed(status)) return status;
    int64_t *slot = MPKI_NEW(s->ctx, STAGE, 2 * s->count, int64_t), *place = slot + s->count;
    if (!slot) status = mpki_failed(s->ctx);
    for (int64_t b = 0; !mpk_failed(status) && b < s->count; b++)
        if (on_device(s, b)) slot[call.count++] = b;
    if (!mpk_failed(status)) status = run_list(job, &call, slot, place);
    if (call.factor && !mpk_failed(status)) status = look_again(job, &call, slot, place);
    if (!mpk_failed(status) && call.solve && !call.bare)
        status = solve_again(job, &call, slot, place);
    mpki_release(s->ctx, slot);
    if (!mpk_failed(status) && job->certify) status = certify(job, NULL, 0);
    return status;
}

/* ---- what the single engine needs of it ------------------------------------------------------ */

/* Does the single engine work on this system? */
static bool wanted(const mpk_systems *s, int64_t b) {
    const mpki_said *said = &s->said[b];
    return said->active && (said->factor || said->solve || s->slot[b].tier == MPK_TIER_SINGLE);
}

/* Columns of those systems in host memory, in place of an array on the device. */
static mpk_status bring(mpki_systems_job *job, const mpk_batch_array *from, int64_t rows,
                        int64_t cols, mpk_batch_array *to) {
    mpk_systems *s = job->s;
    const size_t size = mpk_scalar_size(s->an->scalar);
    void **column = MPKI_ZNEW(s->ctx, STAGE, s->count, void *);
    mpk_status status = column ? MPK_OK : mpki_failed(s->ctx);
    *to =
        (mpk_batch_array){MPK_BATCH_POINTERS, MPK_HOST, column, 0, rows > 1 ? (int32_t)rows : 1, 1};
    for (int64_t b = 0; !mpk_failed(status) && b < s->count; b++) {
        if (!wanted(s, b)) continue;
        column[b] = mpki_alloc(s->ctx, STAGE, rows * cols, size);
        status = column[b]
                     ? s->engine->move(s->ctx, s->an->scalar, from, b, rows, cols, column[b], false)
                     : mpki_failed(s->ctx);
    }
    return status;
}

static void drop(mpk_systems *s, mpk_batch_array *a) {
    void **column = a->data;
    for (int64_t b = 0; column && b < s->count; b++) mpki_release(s->ctx, column[b]);
    mpki_release(s->ctx, column);
    a->data = NULL;
}

mpk_status mpki_device_singles(mpki_systems_job *job, mpki_pool *pool, mpki_task_fn item) {
    mpk_systems *s = job->s;
    const int64_t n = s->an->n, nnz = s->an->nnz;
    mpki_systems_job host = *job;
    mpk_batch_array ax = {0}, b = {0}, x = {0};
    const bool moved = job->x && job->x->memory == MPK_DEVICE;
    mpk_status status = MPK_OK;
    if (job->ax && job->ax->memory == MPK_DEVICE) {
        status = bring(job, job->ax, s->an->layout->given, 1, &ax);
        host.ax = &ax;
    }
    if (!mpk_failed(status) && job->b && job->b->memory == MPK_DEVICE) {
        status = bring(job, job->b, n, job->nrhs, &b);
        host.b = &b;
    }
    if (!mpk_failed(status) && moved) { /* columns without a solution stay as they are */
        status = bring(job, job->x, n, job->nrhs, &x);
        host.x = &x;
    }
    /* values of systems whose solution was no good */
    host.values = MPKI_ZNEW(s->ctx, STAGE, s->count, void *);
    if (!host.values) status = mpki_failed(s->ctx);
    for (int64_t k = 0; !mpk_failed(status) && k < s->count; k++) {
        if (!wanted(s, k) || !s->said[k].solve || s->slot[k].tier != MPK_TIER_TEMPLATE) continue;
        host.values[k] = mpki_alloc(s->ctx, STAGE, nnz, mpk_scalar_size(s->an->scalar));
        status = host.values[k] ? s->engine->fetch(s->ctx, s->many, s->slot[k].place,
                                                   MPKI_SYSTEM_VALUES, host.values[k])
                                : mpki_failed(s->ctx);
    }
    if (!mpk_failed(status)) {
        mpki_pool_for(pool, 0, s->workers, item, &host);
        job->failed = host.failed;
    }
    for (int64_t k = 0; !mpk_failed(status) && moved && k < s->count; k++)
        if (wanted(s, k) && !mpk_failed(s->said[k].status))
            status = s->engine->move(s->ctx, s->an->scalar, job->x, k, n, job->nrhs,
                                     ((void **)x.data)[k], true);
    for (int64_t k = 0; host.values && k < s->count; k++) mpki_release(s->ctx, host.values[k]);
    mpki_release(s->ctx, host.values);
    drop(s, &ax), drop(s, &b), drop(s, &x);
    return status;
}

/* ---- what is asked of a system --------------------------------------------------------------- */

mpk_status mpki_device_get(const mpk_systems *s, const mpki_slot *slot, mpk_quantity what,
                           void *out) {
    if (what == MPK_GET_SCALE) return scales(s, slot->place, out);
    if (what == MPK_GET_D)
        return s->engine->fetch(s->ctx, s->many, slot->place, MPKI_SYSTEM_D, out);
    memcpy(out, slot->logdet, sizeof slot->logdet);
    return MPK_OK;
}

void mpki_device_free(mpk_systems *s) {
    if (s->many) s->engine->free(s->ctx, s->many);
    s->many = NULL;
}
