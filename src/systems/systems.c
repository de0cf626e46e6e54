/* SPDX-License-Identifier: BSD-3-Clause */
/* The object: made, resized, looked at, freed. */
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../problem/problem.h"
#include "object.h"

#include <string.h>

static const char STAGE[] = "systems";

/* Another order is taken where it is expected to take less than this share of the time; orders are
 * tried from so many unknowns on. */
static const double WORTH_ANOTHER = 0.9;
enum { WORTH_ORDERS = 100 };

void mpk_systems_options_init(mpk_systems_options *options) {
    if (!options) return;
    *options = (mpk_systems_options){.struct_size = sizeof *options, .keep = 1};
}

/* Packs of single threads ask the caller's context whether to stop. */
static int forward(const char *stage, double fraction, void *user) {
    (void)fraction;
    return mpki_stop_wanted(user, stage);
}

mpk_status mpki_systems_children(mpk_systems *s) {
    s->child = MPKI_ZNEW(s->ctx, STAGE, s->workers, mpk_context *);
    if (s->child && s->borrows) {
        s->child[0] = s->ctx;
        return MPK_OK;
    }
    for (int w = 0; s->child && w < s->workers; w++) {
        if (mpk_failed(mpk_context_create(mpki_context_allocator(s->ctx), &s->child[w])))
            return mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, w, "out of host memory");
        mpk_context_set_progress(s->child[w], forward, s->ctx);
    }
    return s->child ? MPK_OK : mpki_failed(s->ctx);
}

static mpk_status refuse(mpk_context *ctx, const mpk_analysis *an) {
    if (an->block)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "the analysis is for a method on blocks: analyse with method = ldlt");
    if (an->split)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "the analysis is that of an interior beside a Schur complement");
    return MPK_OK;
}

static mpk_status grow(mpk_systems *s, int64_t count) {
    mpki_slot *slot = mpki_resize(s->ctx, STAGE, s->slot, count, sizeof *slot);
    if (!slot) return mpki_failed(s->ctx);
    s->slot = slot;
    mpki_said *said = mpki_resize(s->ctx, STAGE, s->said, count, sizeof *said);
    if (!said) return mpki_failed(s->ctx);
    s->said = said;
    if (s->many && mpk_failed(s->engine->grow(s->ctx, s->many, count))) return mpki_failed(s->ctx);
    if (mpk_failed(mpki_packs_make(s, count))) return mpki_failed(s->ctx);
    for (int64_t b = s->count; b < count; b++) {
        said[b] = (mpki_said){0};
        slot[b] =
            (mpki_slot){.status = MPK_ERR_ARGUMENT, .home = (int)(b % s->workers), .place = b};
    }
    s->count = count;
    return MPK_OK;
}

mpk_status mpki_systems_check_count(mpk_context *ctx, int64_t count) {
    if (count < 0) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, count, "the count is negative");
    if (count > INT64_MAX >> 20)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, count,
                          "%lld systems: that is more than any memory has", (long long)count);
    return MPK_OK;
}

static void choose_kernels(mpk_systems *s) {
    const int most = s->expected < 64 ? (int)s->expected : 64;
    s->kernels = MPKI_DISPATCH(s->an->scalar, lanes_choose)(most, &s->width);
}

/* An order of elimination; leaf: where nested dissection ends, 0: as elsewhere. */
typedef struct order {
    mpk_ordering method;
    int32_t leaf;
} order;

/* A template for a factor's values, in such an order. *out [out] NULL: there is none, and *reason
 * says why */
static mpk_status model(mpk_systems *s, const mpk_factor *fac, order how, mpki_template **out,
                        const char **reason) {
    const mpk_problem problem = {.ctx = s->ctx,
                                 .scalar = s->an->scalar,
                                 .symmetry = s->an->symmetry,
                                 .layout = s->an->layout,
                                 .values = fac->values,
                                 .n = s->an->n,
                                 .nnz = s->an->nnz,
                                 .ap = s->an->ap,
                                 .ai = s->an->ai,
                                 .ax = fac->ax,
                                 .leaf = how.leaf};
    mpk_analysis *an = NULL;
    mpk_options o = s->options;
    o.method = MPK_METHOD_LDLT;
    o.ordering = how.method;
    if (o.ordering == MPK_ORDERING_GIVEN) o.given_perm = s->an->perm;
    *out = NULL;
    mpk_status status = mpki_analyse(s->ctx, &problem, &o, NULL, NULL, &an);
    if (!mpk_failed(status)) status = mpki_template_make(s->ctx, an, &s->single, out, reason);
    if (*out) {
        (*out)->source = an; /* whose scaling it has */
        (*out)->leaf = how.leaf;
    } else {
        mpk_analysis_destroy(&an);
    }
    return mpk_failed(status) ? status : MPK_OK;
}

/* Places for systems of a new template: packs, or on the device. */
static mpk_status make_places(mpk_systems *s) {
    s->pack = s->own = NULL, s->work = NULL, s->packs = s->own_packs = 0;
    s->many = NULL;
    if (!s->engine) {
        choose_kernels(s);
        return mpki_packs_make(s, s->count);
    }
    const mpk_status status = mpki_device_make(s);
    if (mpk_failed(status)) return status;
    if (!s->many)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1, "there is no template: %s",
                          s->reason);
    return s->engine->grow(s->ctx, s->many, s->count);
}

static void leave_template(mpk_systems *s) {
    mpki_packs_free(s);
    mpki_device_free(s);
    mpki_template_free(s->ctx, &s->template);
}

/* A template for a factor's values, and places for it. After a failure all is as it was. */
static mpk_status take_template(mpk_systems *s, const mpk_factor *fac) {
    mpki_template *template = NULL;
    const char *reason = "";
    mpk_systems old = *s;
    order how = {s->options.ordering, 0};
    if (s->engine && s->template && how.method == MPK_ORDERING_AUTO) /* chosen at creation */
        how = (order){(mpk_ordering)s->template->an->info.ordering, s->template->leaf};
    mpk_status status = model(s, fac, how, &template, &reason);
    if (mpk_failed(status)) return status;
    if (!template)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1, "there is no template: %s",
                          reason);
    s->template = template, s->reason = "";
    status = make_places(s);
    leave_template(mpk_failed(status) ? s : &old);
    if (mpk_failed(status)) *s = old;
    return status;
}

/* A template in that order in place of the one there is, if it is expected to be enough sooner. */
static mpk_status try_order(mpk_systems *s, const mpk_factor *fac, order how) {
    mpki_template *template = NULL;
    const char *reason = "";
    mpk_systems old = *s;
    const double now_s = s->engine->expect(s->many).time_s;
    mpk_status status = model(s, fac, how, &template, &reason);
    if (mpk_failed(status) || !template) return status;
    s->template = template, s->many = NULL;
    status = mpki_device_make(s);
    const bool wins =
        !mpk_failed(status) && s->many && s->engine->expect(s->many).time_s < WORTH_ANOTHER * now_s;
    leave_template(wins ? &old : s);
    if (!wins) *s = old;
    return status;
}

/* A device that is to do s->expected systems: where it waits for the path of the tree, or where
 * another order has less to do, that one is taken. Orders that the caller chose stay. */
static mpk_status choose_order(mpk_systems *s) {
    static const order orders[] = {
        {MPK_ORDERING_AMD, 0}, {MPK_ORDERING_ND, 0}, {MPK_ORDERING_ND, 40}};
    const mpk_ordering own = (mpk_ordering)s->an->info.ordering;
    if (s->options.ordering != MPK_ORDERING_AUTO || s->an->n < WORTH_ORDERS ||
        (own != MPK_ORDERING_AMD && own != MPK_ORDERING_ND))
        return MPK_OK;
    mpk_factor *fac = NULL;
    mpk_status status = mpk_factorize(s->ctx, s->an, NULL, &s->single, &fac);
    for (size_t k = 0; !mpk_failed(status) && k < sizeof orders / sizeof *orders; k++)
        if (orders[k].method != own || orders[k].leaf > 0) status = try_order(s, fac, orders[k]);
    mpk_factor_destroy(&fac);
    return status;
}

mpk_status mpki_systems_make(mpk_context *ctx, const mpk_analysis *an, const mpk_options *o,
                             const mpk_systems_options *how, int64_t count, bool borrows,
                             bool alone, mpk_systems **out) {
    mpk_status status = refuse(ctx, an);
    if (mpk_failed(status)) return status;
    mpk_systems *s = MPKI_ZNEW(ctx, STAGE, 1, mpk_systems);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx, s->an = an;
    s->options = *o;
    s->options.device = MPK_ON_CPU;
    s->single = s->options;
    s->single.threads = 1;
    s->keep = how->keep;
    s->expected = how->expected > 0 ? how->expected : count;
    s->workers = mpki_context_threads(ctx, o->threads > 0 ? o->threads : mpki_threads_default());
    s->borrows = borrows && s->workers == 1;
    s->width = 1;
    s->reason = "no other system has this pattern";
    status = mpki_systems_children(s);
    if (!mpk_failed(status) && o->device == MPK_ON_CUDA) status = mpki_device_open(s);
    if (!mpk_failed(status) && !alone)
        status = mpki_template_make(ctx, an, &s->single, &s->template, &s->reason);
    if (s->template && s->engine)
        status = mpki_device_make(s);
    else if (s->template)
        choose_kernels(s);
    if (!mpk_failed(status) && s->many) status = choose_order(s);
    if (!mpk_failed(status)) status = grow(s, count);
    if (mpk_failed(status))
        mpk_systems_destroy(&s);
    else
        *out = s;
    return status;
}

mpk_status mpki_systems_options_read(mpk_context *ctx, const mpk_systems_options *how,
                                     mpk_systems_options *full) {
    *full = (mpk_systems_options){.struct_size = sizeof *full, .keep = 1};
    if (how && !mpki_read_struct(full, sizeof *full, how, sizeof full->struct_size))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "mpk_systems_options_init() was not called");
    if (full->expected < 0 || (full->keep != 0 && full->keep != 1))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, full->expected,
                          "expected is negative, or keep neither 0 nor 1");
    return MPK_OK;
}

mpk_status mpk_systems_create(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                              const mpk_systems_options *how, int64_t count, mpk_systems **out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_systems_options full;
    mpk_options o;
    if (!an || !out || *out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the analysis is NULL, or out is, or *out is not");
    mpk_status status = mpki_systems_options_read(ctx, how, &full);
    if (!mpk_failed(status)) status = mpki_systems_check_count(ctx, count);
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, options, &o);
    if (mpk_failed(status)) return status;
    return mpki_systems_make(ctx, an, &o, &full, count, false, false, out);
}

mpk_status mpk_systems_resize(mpk_context *ctx, mpk_systems *s, int64_t count) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!s || s->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the systems are NULL, or were made with another context");
    mpk_status status = mpki_systems_check_count(ctx, count);
    if (mpk_failed(status) || count == s->count) return status;
    if (s->of_mixed)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "systems of several patterns stay as many as they are");
    if (count > s->count) return grow(s, count);
    for (int64_t b = count; b < s->count; b++) mpki_single_drop(&s->slot[b]);
    s->count = count;
    return MPK_OK;
}

/* A template of the values of one system. */
static mpk_status learn(mpk_systems *s, const mpki_slot *slot) {
    if (slot->fac) return take_template(s, slot->fac);
    mpk_factor *fac = NULL;
    void *ax = mpki_alloc(s->ctx, STAGE, s->an->nnz, mpk_scalar_size(s->an->scalar));
    mpk_status status = ax ? MPK_OK : mpki_failed(s->ctx);
    if (ax) MPKI_DISPATCH(s->an->scalar, lane_values)(s, slot, ax);
    if (ax) status = mpk_factorize_lower(s->ctx, s->an, ax, &s->single, &fac);
    if (!mpk_failed(status)) status = take_template(s, fac);
    mpk_factor_destroy(&fac);
    mpki_release(s->ctx, ax);
    return status;
}

mpk_status mpk_systems_learn(mpk_context *ctx, mpk_systems *s, int64_t b) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!s || s->ctx != ctx || b < 0 || b >= s->count)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b,
                          "there is no system of that number, or it was made with another context");
    if (s->of_mixed)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "systems of several patterns keep the templates that they have");
    if (s->slot[b].tier == MPK_TIER_NONE)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b, "the system has no factors");
    if (s->slot[b].tier == MPK_TIER_TEMPLATE) return MPK_OK;
    const mpk_status status = learn(s, &s->slot[b]);
    for (int64_t k = 0; !mpk_failed(status) && k < s->count; k++) {
        if (mpki_slot_in_lane(&s->slot[k])) mpki_slot_give_up(&s->slot[k]);
        s->slot[k].anew = s->slot[k].tier == MPK_TIER_SINGLE;
    }
    return status;
}

void mpk_systems_destroy(mpk_systems **out) {
    if (!out || !*out) return;
    mpk_systems *s = *out;
    mpk_context *ctx = s->ctx;
    *out = NULL;
    if (s->of_mixed) s->of_mixed->free(s);
    for (int64_t b = 0; s->slot && b < s->count; b++) mpki_single_drop(&s->slot[b]);
    mpki_packs_free(s);
    mpki_device_free(s);
    mpki_template_free(ctx, &s->template);
    for (int w = 0; s->child && !s->borrows && w < s->workers; w++)
        mpk_context_destroy(&s->child[w]);
    mpki_release(ctx, s->child);
    mpki_release(ctx, s->slot);
    mpki_release(ctx, s->said);
    mpki_release(ctx, s);
}

/* ---- looking at it --------------------------------------------------------------------------- */

static int64_t pack_bytes(const mpk_systems *s) {
    const mpk_analysis *an = s->an;
    const int64_t size = (int64_t)mpk_scalar_size(an->scalar);
    const int64_t real = an->scalar >= MPK_C ? size / 2 : size;
    const int64_t l = s->template ? s->template->l[s->template->an->nsuper] : 0;
    const int64_t each = (an->nnz + l + 4 * (int64_t)an->n) * size + 2 * an->n * real;
    return s->packs * s->width * each +
           s->own_packs * s->width * (each + (int64_t)sizeof(int32_t) * an->n);
}

void mpk_systems_info_get(const mpk_systems *s, mpk_systems_info *info) {
    if (!info) return;
    *info = (mpk_systems_info){.reason = ""};
    if (!s) return;
    if (s->of_mixed) {
        s->of_mixed->info(s, info);
        return;
    }
    const mpk_analysis *an = s->template ? s->template->an : s->an;
    info->count = s->count;
    info->patterns = 1;
    info->n = s->an->n;
    info->width = s->width;
    info->reason = s->reason;
    info->max_front = an->info.max_front;
    info->factor_nnz = an->info.factor_nnz;
    info->flops = an->info.factor_flops;
    info->ordering = an->info.ordering;
    info->bytes = s->many ? s->engine->bytes(s->many) : pack_bytes(s);
    for (int64_t b = 0; b < s->count; b++) {
        info->by_template += s->slot[b].tier == MPK_TIER_TEMPLATE;
        info->by_own += s->slot[b].tier == MPK_TIER_OWN;
        info->by_single += s->slot[b].tier == MPK_TIER_SINGLE;
        if (s->slot[b].fac) info->bytes += s->slot[b].fac->info.bytes;
    }
}

static void get_perm(const mpk_systems *s, const mpki_slot *slot, int32_t *out) {
    const mpk_analysis *own = s->template->an;
    memcpy(out, own->perm, (size_t)own->n * sizeof *out);
    if (slot->tier != MPK_TIER_OWN) return;
    const int32_t *perm = mpki_slot_pack(s, slot)->perm + slot->place % s->width;
    for (int32_t f = 0; f < own->nsuper; f++)
        for (int32_t k = own->sptr[f]; k < own->sptr[f + 1]; k++)
            out[k] = own->perm[own->sptr[f] + perm[(int64_t)k * s->width]];
}

static mpk_status get_lane(const mpk_systems *s, const mpki_slot *slot, mpk_quantity what,
                           void *out) {
    const mpk_scalar scalar = s->an->scalar;
    const bool counted = scalar <= MPK_D || s->an->symmetry == MPK_HERMITIAN;
    int64_t *counts = out;
    if (s->many && what != MPK_GET_INERTIA && what != MPK_GET_PERM)
        return mpki_device_get(s, slot, what, out);
    switch (what) {
    case MPK_GET_INERTIA:
        counts[0] = counted ? slot->lane.positive : 0;
        counts[1] = counted ? slot->lane.negative : 0;
        counts[2] = 0;
        break;
    case MPK_GET_PERM:
        get_perm(s, slot, out);
        break;
    case MPK_GET_SCALE:
        MPKI_DISPATCH(scalar, lane_scale)(s, slot, out);
        break;
    case MPK_GET_D:
        MPKI_DISPATCH(scalar, lane_d)(s, slot, out);
        break;
    case MPK_GET_LOGDET:
        MPKI_DISPATCH(scalar, lane_logdet)(s, slot, out);
    }
    return MPK_OK;
}

mpk_status mpk_systems_get(mpk_context *ctx, const mpk_systems *s, int64_t b, mpk_quantity what,
                           void *out, size_t bytes) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!s || !out || b < 0 || b >= s->count)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", b, "there is no system of that number");
    if (s->of_mixed) s = s->of_mixed->part(s, b, &b);
    if (s->slot[b].tier == MPK_TIER_NONE)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", b, "the system has no factors");
    if ((unsigned)what > MPK_GET_LOGDET)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", what, "there is no quantity %d", (int)what);
    const size_t n = (size_t)s->an->n;
    const size_t need = what == MPK_GET_PERM    ? n * sizeof(int32_t)
                        : what == MPK_GET_SCALE ? (size_t)mpki_scales(s->an) * sizeof(double)
                        : what == MPK_GET_D     ? 2 * n * mpk_scalar_size(s->an->scalar)
                                                : 24;
    if (bytes < need)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", (int64_t)bytes,
                          "%zu bytes given, %zu needed", bytes, need);
    if (s->slot[b].tier == MPK_TIER_SINGLE) return mpk_get(ctx, s->slot[b].fac, what, out, bytes);
    return get_lane(s, &s->slot[b], what, out);
}
