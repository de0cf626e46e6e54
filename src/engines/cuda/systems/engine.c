/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine for many systems (engines/interface/systems.h): homes, arrays of the host on
 * their way, one launch for a call. */
#include "state.h"

#include <string.h>

static const char STAGE[] = "systems";

/* ---- homes ----------------------------------------------------------------------------------- */

static void many_free(mpk_context *ctx, mpki_many *many) {
    if (!many) return;
    mpki_cuda_room *const rooms[] = {&many->lists, &many->work, &many->items, &many->found,
                                     &many->ax,    &many->b,    &many->x};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) mpki_cuda_room_free(many, rooms[k]);
    for (int64_t k = 0; k < many->slabs; k++)
        many->device->table->release(many->device->cuda, many->slab[k].p);
    mpki_release(ctx, many->slab);
    mpki_release(ctx, many->item);
    mpki_release(ctx, many);
}

/* many->shape for so many systems and right-hand sides, unless it is that. */
static mpk_status find_shape(mpk_context *ctx, mpki_many *many, int64_t count, int32_t nrhs) {
    const mpki_device *d = many->device;
    if (many->shaped_for == count && many->shaped_nrhs == nrhs) return MPK_OK;
    many->shaped_for = 0;
    const mpk_status status = mpki_cuda_status(
        ctx, STAGE,
        d->table->systems->shape(d->cuda, many->scalar, &many->plan, count, nrhs, &many->shape));
    if (!mpk_failed(status)) many->shaped_for = count, many->shaped_nrhs = nrhs;
    return status;
}

static mpk_status make(mpk_context *ctx, const mpki_systems_view *view, mpki_many **out) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    mpki_many *many = MPKI_ZNEW(ctx, STAGE, 1, mpki_many);
    if (!many) return mpki_failed(ctx);
    many->device = d;
    many->scalar = view->tree.scalar;
    many->n = view->tree.n;
    mpk_status status = mpki_cuda_systems_plan_make(ctx, many, view);
    if (!mpk_failed(status)) status = find_shape(ctx, many, 1, 1); /* is there one? */
    if (mpk_failed(status))
        many_free(ctx, many);
    else
        *out = many;
    return status;
}

static mpk_status grow(mpk_context *ctx, mpki_many *many, int64_t count) {
    const int64_t more = count - many->places;
    if (more <= 0) return MPK_OK;
    mpki_cuda_slab *slab = mpki_resize(ctx, STAGE, many->slab, many->slabs + 1, sizeof *slab);
    if (!slab) return mpki_failed(ctx);
    many->slab = slab;
    mpki_cuda_room room = {0};
    const mpk_status status = mpki_cuda_room_make(ctx, many, &room, more * many->plan.home.bytes);
    if (mpk_failed(status)) return status;
    slab[many->slabs++] = (mpki_cuda_slab){room.p, many->places, more};
    many->places = count;
    return MPK_OK;
}

static void *home_of(const mpki_many *many, int64_t place) {
    int64_t k = many->slabs - 1;
    while (many->slab[k].first > place) k--;
    return (char *)many->slab[k].p + (place - many->slab[k].first) * many->plan.home.bytes;
}

static int64_t bytes_of(const mpki_many *many) {
    return many->places * many->plan.home.bytes + many->lists.bytes + many->work.bytes +
           many->items.bytes + many->found.bytes + many->ax.bytes + many->b.bytes + many->x.bytes;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool is_here(mpk_context *ctx, const void *p) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    return d->table->is_device(d->cuda, p) != 0;
}

static mpk_status settle(mpk_context *ctx) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    return mpki_cuda_status(ctx, STAGE, d->table->settle(d->cuda));
}

/* Entry (i, j) of slot b of an array in host memory. */
static char *host_entry(const mpk_batch_array *a, int64_t b, int64_t size, int64_t *step) {
    *step = a->layout == MPK_BATCH_INTERLEAVED ? a->width : 1;
    if (a->layout == MPK_BATCH_POINTERS) return ((char *const *)a->data)[b];
    if (a->layout == MPK_BATCH_STRIDED) return (char *)a->data + b * a->stride * size;
    return (char *)a->data + (b / a->width * a->stride + b % a->width) * size;
}

/* rows x cols of slot b between an array of the host and its column in `flat`. */
static void turn(const mpk_batch_array *a, int64_t b, int64_t rows, int64_t cols, size_t size,
                 char *flat, bool back) {
    int64_t step;
    char *p = host_entry(a, b, (int64_t)size, &step);
    for (int64_t j = 0; j < cols; j++, flat += rows * (int64_t)size) {
        char *q = p + j * a->ld * step * (int64_t)size;
        for (int64_t i = 0; step > 1 && i < rows; i++)
            memcpy(back ? q + i * step * (int64_t)size : flat + i * (int64_t)size,
                   back ? flat + i * (int64_t)size : q + i * step * (int64_t)size, size);
        if (step == 1) memcpy(back ? q : flat, back ? flat : q, (size_t)rows * size);
    }
}

/* The array as kernels see it. One of the host is sent, system by system of the call. */
static mpk_status bring(mpk_context *ctx, mpki_many *many, const mpki_many_call *call,
                        const mpk_batch_array *a, int64_t rows, int64_t cols, mpki_cuda_room *room,
                        bool in, mpki_cuda_systems_array *out) {
    const size_t size = mpk_scalar_size(many->scalar);
    const int64_t each = rows * cols;
    if (a->memory == MPK_DEVICE) {
        *out = (mpki_cuda_systems_array){a->data, a->stride, a->ld, a->width > 0 ? a->width : 1,
                                         (int32_t)a->layout};
        return MPK_OK;
    }
    mpk_status status = mpki_cuda_room_make(ctx, many, room, call->slots * each * (int64_t)size);
    if (mpk_failed(status)) return status;
    *out = (mpki_cuda_systems_array){room->p, each, rows, 1, MPK_BATCH_STRIDED};
    if (!in || each == 0) return MPK_OK;
    const bool plain = a->layout == MPK_BATCH_STRIDED && (a->stride == each || call->slots == 1) &&
                       (cols == 1 || a->ld == rows);
    if (plain)
        return mpki_cuda_systems_copy(ctx, many, room->p, a->data,
                                      call->slots * each * (int64_t)size, true);
    char *flat = mpki_calloc(ctx, STAGE, call->slots * each, size);
    if (!flat) return mpki_failed(ctx);
    for (int64_t k = 0; k < call->count; k++)
        turn(a, call->slot[k], rows, cols, size, flat + call->slot[k] * each * (int64_t)size,
             false);
    status =
        mpki_cuda_systems_copy(ctx, many, room->p, flat, call->slots * each * (int64_t)size, true);
    if (!mpk_failed(status))
        status =
            mpki_cuda_status(ctx, STAGE, many->device->table->systems->wait(many->device->cuda));
    mpki_release(ctx, flat);
    return status;
}

/* Solutions to an array of the host: those of systems that have one. */
static mpk_status take_x(mpk_context *ctx, mpki_many *many, const mpki_many_call *call) {
    const size_t size = mpk_scalar_size(many->scalar);
    const int64_t each = (int64_t)many->n * call->nrhs;
    if (call->x->memory == MPK_DEVICE || each == 0) return MPK_OK;
    char *flat = mpki_alloc(ctx, STAGE, call->slots * each, size);
    if (!flat) return mpki_failed(ctx);
    const mpk_status status = mpki_cuda_systems_copy(ctx, many, flat, many->x.p,
                                                     call->slots * each * (int64_t)size, false);
    for (int64_t k = 0; !mpk_failed(status) && k < call->count; k++)
        if (call->certify || call->found[k].solved)
            turn(call->x, call->slot[k], many->n, call->nrhs, size,
                 flat + call->slot[k] * each * (int64_t)size, true);
    mpki_release(ctx, flat);
    return status;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static mpki_system_found read_found(const mpki_cuda_systems_found *f) {
    return (mpki_system_found){.good = f->flags & MPKI_FOUND_GOOD,
                               .infinite = f->flags & MPKI_FOUND_INPUT,
                               .differ = f->flags & MPKI_FOUND_DIFFER,
                               .bad_b = f->flags & MPKI_FOUND_B,
                               .solved = f->flags & MPKI_FOUND_SOLVED,
                               .positive = f->positive,
                               .negative = f->negative,
                               .two_by_two = f->two_by_two,
                               .steps = f->steps,
                               .growth = f->growth,
                               .min_pivot = f->min_pivot,
                               .norm_inf = f->norm_inf,
                               .omega = f->omega,
                               .normwise = f->normwise,
                               .logdet = {f->logdet[0], f->logdet[1], f->logdet[2]}};
}

static mpk_status bring_all(mpk_context *ctx, mpki_many *many, const mpki_many_call *call,
                            mpki_cuda_systems_job *job) {
    mpk_status status = MPK_OK;
    if (call->ax)
        status = bring(ctx, many, call, call->ax, many->plan.given, 1, &many->ax, true, &job->ax);
    if (!mpk_failed(status) && call->b)
        status = bring(ctx, many, call, call->b, many->n, call->nrhs, &many->b, true, &job->b);
    if (!mpk_failed(status) && call->x)
        status = bring(ctx, many, call, call->x, many->n, call->nrhs, &many->x, false, &job->x);
    return status;
}

/* The list of systems, unless the last call had the same. */
static mpk_status send_items(mpk_context *ctx, mpki_many *many, const mpki_many_call *call) {
    const int64_t bytes = call->count * (int64_t)sizeof(mpki_cuda_systems_item);
    bool same = many->sent == call->count;
    if (!same) {
        many->sent = 0;
        mpki_cuda_systems_item *item =
            mpki_resize(ctx, STAGE, many->item, call->count, sizeof *item);
        if (!item) return mpki_failed(ctx);
        many->item = item;
    }
    for (int64_t k = 0; k < call->count; k++) {
        const mpki_cuda_systems_item item = {call->slot[k], home_of(many, call->place[k])};
        same = same && many->item[k].slot == item.slot && many->item[k].home == item.home;
        many->item[k] = item;
    }
    if (same) return MPK_OK;
    many->sent = 0;
    mpk_status status = mpki_cuda_room_make(ctx, many, &many->items, bytes);
    if (!mpk_failed(status))
        status = mpki_cuda_systems_copy(ctx, many, many->items.p, many->item, bytes, true);
    if (!mpk_failed(status)) many->sent = call->count;
    return status;
}

static mpk_status run(mpk_context *ctx, mpki_many *many, const mpki_many_call *call) {
    const mpki_device *d = many->device;
    const mpki_cuda_systems_table *module = d->table->systems;
    const mpki_cuda_systems_shape *shape = &many->shape;
    mpki_cuda_systems_job job = {.plan = many->plan,
                                 .count = (int32_t)call->count,
                                 .factor = call->factor,
                                 .solve = call->solve,
                                 .bare = call->bare,
                                 .certify = call->certify,
                                 .nrhs = call->nrhs,
                                 .bound = call->bound,
                                 .small = call->small,
                                 .noise = call->noise,
                                 .left = call->left,
                                 .accuracy = call->accuracy,
                                 .large_growth = call->large_growth,
                                 .refine = call->refine};
    if (call->count == 0) return MPK_OK;
    if (call->count > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, call->count,
                          "a call has at most 2^31 - 1 systems on a GPU");
    const int64_t founds = call->count * (int64_t)sizeof(mpki_cuda_systems_found);
    mpki_cuda_systems_found *found = mpki_alloc(ctx, STAGE, founds, 1);
    mpk_status status = found ? find_shape(ctx, many, call->count, call->nrhs) : mpki_failed(ctx);
    if (!mpk_failed(status)) status = bring_all(ctx, many, call, &job);
    if (!mpk_failed(status))
        status = mpki_cuda_room_make(ctx, many, &many->work, shape->gangs * shape->gang_bytes);
    if (!mpk_failed(status)) status = mpki_cuda_room_make(ctx, many, &many->found, founds);
    if (!mpk_failed(status)) status = send_items(ctx, many, call);
    if (mpk_failed(status)) goto done;
    job.item = many->items.p, job.found = many->found.p;
    job.work = many->work.p, job.gang_bytes = shape->gang_bytes;
    job.gangs = shape->gangs, job.blocks = shape->blocks, job.threads = shape->threads;
    job.gang_rows = shape->gang_rows, job.depth = shape->depth, job.shared = shape->shared;
    status = mpki_cuda_status(ctx, STAGE, module->run(d->cuda, many->scalar, &job));
    if (!mpk_failed(status))
        status = mpki_cuda_systems_copy(ctx, many, found, many->found.p, founds, false);
    for (int64_t k = 0; !mpk_failed(status) && !call->certify && k < call->count; k++)
        call->found[k] = read_found(&found[k]);
    if (!mpk_failed(status) && call->x) status = take_x(ctx, many, call);
done:
    mpki_release(ctx, found);
    return status;
}

/* ---- what is asked of it --------------------------------------------------------------------- */

static mpk_status fetch(mpk_context *ctx, const mpki_many *many, int64_t place,
                        mpki_system_part part, void *out) {
    const int64_t size = (int64_t)mpk_scalar_size(many->scalar),
                  real = many->scalar >= MPK_C ? size / 2 : size;
    const mpki_cuda_systems_home *home = &many->plan.home;
    const char *p = home_of(many, place);
    switch (part) {
    case MPKI_SYSTEM_SCALE:
        return mpki_cuda_systems_copy(ctx, many, out, p + home->scale, many->n * real, false);
    case MPKI_SYSTEM_D:
        return mpki_cuda_systems_copy(ctx, many, out, p + home->d, 2 * (int64_t)many->n * size,
                                      false);
    case MPKI_SYSTEM_VALUES:
        return mpki_cuda_systems_copy(ctx, many, out, p + home->values, many->plan.nnz * size,
                                      false);
    }
    return MPK_OK;
}

static mpk_status copy(mpk_context *ctx, void *to, int64_t to_pitch, const void *from,
                       int64_t from_pitch, int64_t width, int64_t count, bool to_device) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    int status =
        d->table->copy(d->cuda, to, to_pitch, from, from_pitch, width, count, to_device, NULL);
    if (!mpk_failed(status)) status = d->table->synchronize(d->cuda, NULL);
    return mpki_cuda_status(ctx, STAGE, status);
}

static mpk_status move(mpk_context *ctx, mpk_scalar scalar, const mpk_batch_array *a, int64_t slot,
                       int64_t rows, int64_t cols, void *host, bool to_device) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    char *p = a->data;
    int64_t step = 1;
    mpk_status status = MPK_OK;
    if (rows == 0 || cols == 0) return MPK_OK;
    if (a->layout == MPK_BATCH_POINTERS) {
        status =
            copy(ctx, &p, sizeof p, (char *const *)a->data + slot, sizeof p, sizeof p, 1, false);
    } else if (a->layout == MPK_BATCH_STRIDED) {
        p += slot * a->stride * size;
    } else {
        step = a->width;
        p += (slot / a->width * a->stride + slot % a->width) * size;
    }
    for (int64_t j = 0; !mpk_failed(status) && j < cols; j++) {
        char *there = p + j * a->ld * step * size, *here = (char *)host + j * rows * size;
        const int64_t width = step == 1 ? rows * size : size, count = step == 1 ? 1 : rows;
        const int64_t pitch = step == 1 ? width : step * size; /* never less than a column */
        status = to_device ? copy(ctx, there, pitch, here, width, width, count, true)
                           : copy(ctx, here, width, there, pitch, width, count, false);
    }
    return status;
}

static const mpki_systems_engine table = {.make = make,
                                          .free = many_free,
                                          .grow = grow,
                                          .run = run,
                                          .fetch = fetch,
                                          .is_here = is_here,
                                          .settle = settle,
                                          .move = move,
                                          .bytes = bytes_of};

const mpki_systems_engine *mpki_cuda_systems_engine(mpk_context *ctx, int device) {
    const mpki_device *d = mpki_cuda_keep(ctx, device);
    if (!d) return NULL;
    if (!d->table->systems) {
        mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1, "the CUDA module has no many systems");
        return NULL;
    }
    return &table;
}
