/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a device's direct factor or a part of it: work space there, and the order of the sweeps. */
#include "direct_sweep.h"

#include <string.h>

static const char STAGE[] = "solve";

struct mpki_direct_solver {
    mpk_context *ctx;
    const mpki_direct *f;
    int32_t block;  /* most right-hand sides swept together: a power of two */
    uint64_t shape; /* of the factor that the lists are for */
    char *room;     /* device */
    void *stage;    /* device, n x block: vectors of the host */
    mpki_cuda_sweep sweep;
};

/* Did a call of the module succeed? A solve may have a context of its own, without a device. */
static bool did(const mpki_direct_solver *s, int status) {
    const mpki_device *d = s->f->device;
    if (mpk_failed(status))
        mpki_error(s->ctx, (mpk_status)status, STAGE, -1, "%s", d->table->last_error(d->cuda));
    return !mpk_failed(status);
}

#define DID(call) did(s, (call))

static void release(mpki_direct_solver *s) {
    if (!s) return;
    if (s->room) s->f->device->table->release(s->f->device->cuda, s->room);
    mpki_release(s->f->ctx, s);
}

static void keep(const mpki_direct *f, mpki_direct_solver *s) {
    /* what a factor keeps for its next solve is no part of it */
    release(atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, s));
}

void mpki_cuda_direct_drop_spare(mpki_direct *f) {
    keep(f, NULL);
}

/* A solve leaves its work space to the next one: to make it takes longer than to solve. */
void mpki_cuda_direct_solver_free(mpki_direct_solver **handle) {
    mpki_direct_solver *s = *handle;
    if (s) keep(s->f, s);
    *handle = NULL;
}

enum { PARTS = 14 };

/* What lies on the device, and what of it comes from the host. */
typedef struct part {
    int64_t bytes;
    const void *from;
    int64_t at; /* bytes from the begin */
} part;

/* Fills `parts` (PARTS) for so many right-hand sides at once. Returns the bytes of all. */
static int64_t list_parts(const mpki_direct *f, const mpki_cuda_sweep_lists *l, int32_t block,
                          part *parts) {
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar), n = f->tree.n;
    const int64_t fronts = f->plan.fronts, word = sizeof(int32_t);
    const part all[PARTS] = {{fronts * (int64_t)sizeof *l->at, l->at, 0},
                             {fronts * word, l->parent, 0},
                             {fronts * word, l->goal, 0},
                             {l->downs * (int64_t)sizeof *l->down, l->down, 0},
                             {l->ups * (int64_t)sizeof *l->up, l->up, 0},
                             {(1 + 2 * fronts) * word, NULL, 0},
                             {l->handed * block * size, NULL, 0}, /* behind the counters */
                             {n * block * size, NULL, 0},
                             {n * block * size, NULL, 0},
                             {l->rows * block * size, NULL, 0},
                             {l->chains * (int64_t)sizeof *l->chain, l->chain, 0},
                             {l->segments * (int64_t)sizeof *l->segment, l->segment, 0},
                             {l->strips * word, l->strip, 0},
                             {fronts * word, l->goal_up, 0}};
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) {
        parts[k] = all[k];
        parts[k].at = bytes;
        bytes += (all[k].bytes + 255) & ~(int64_t)255;
    }
    return bytes;
}

mpk_status mpki_cuda_direct_solver_bytes(mpk_context *ctx, const mpki_direct *f, int64_t *bytes) {
    mpki_cuda_sweep_lists l;
    part parts[PARTS];
    const mpk_status status = mpki_cuda_sweep_lists_make(ctx, f, &l);
    *bytes = mpk_failed(status) ? 0 : list_parts(f, &l, 1, parts);
    mpki_cuda_sweep_lists_free(ctx, &l);
    return status;
}

static mpk_status fill(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const int64_t fronts = f->plan.fronts;
    mpki_cuda_sweep_lists l;
    part parts[PARTS];
    void *room = NULL;
    if (mpk_failed(mpki_cuda_sweep_lists_make(s->ctx, f, &l))) goto done;
    const int64_t bytes = list_parts(f, &l, s->block, parts);
    if (f->limit > 0 && (double)bytes + (double)f->room_bytes > f->limit) {
        mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, bytes,
                   "factor and solve need %.4g bytes of device memory; device_memory_limit allows "
                   "%.4g",
                   (double)bytes + (double)f->room_bytes, f->limit);
        goto done;
    }
    if (!DID(f->device->table->alloc(cuda, bytes, &room))) goto done;
    s->room = room;
    for (int k = 0; k < PARTS; k++)
        if (parts[k].from && parts[k].bytes > 0 &&
            !DID(to->copy(cuda, s->room + parts[k].at, parts[k].from, parts[k].bytes, 1)))
            goto done;
    int32_t *ticket = (int32_t *)(void *)(s->room + parts[5].at);
    s->stage = s->room + parts[7].at;
    s->sweep = (mpki_cuda_sweep){
        .y = s->room + parts[8].at,
        .u = s->room + parts[9].at,
        .at = (const int64_t *)(const void *)(s->room + parts[0].at),
        .downs = l.downs,
        .ups = l.ups,
        .parent = (const int32_t *)(const void *)(s->room + parts[1].at),
        .goal = (const int32_t *)(const void *)(s->room + parts[2].at),
        .down = (const mpki_cuda_piece *)(const void *)(s->room + parts[3].at),
        .up = (const mpki_cuda_piece *)(const void *)(s->room + parts[4].at),
        .chain = (const mpki_cuda_chain *)(const void *)(s->room + parts[10].at),
        .segment = (const mpki_cuda_segment *)(const void *)(s->room + parts[11].at),
        .strip = (const int32_t *)(const void *)(s->room + parts[12].at),
        .goal_up = (const int32_t *)(const void *)(s->room + parts[13].at),
        .unset = parts[7].at - parts[5].at,
        .ticket = ticket,
        .finished = ticket + 1,
        .gathered = ticket + 1 + fronts,
        .handed = s->room + parts[6].at,
    };
    (void)DID(to->wait(cuda));
done:
    mpki_cuda_sweep_lists_free(s->ctx, &l);
    return mpki_failed(s->ctx);
}

mpk_status mpki_cuda_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                        int32_t columns, mpki_direct_solver **out) {
    (void)threads;
    *out = NULL;
    const int32_t most = mpk_scalar_size(f->tree.scalar) > 8 ? MPKI_CUDA_RHS / 2 : MPKI_CUDA_RHS;
    int32_t block = 1;
    while (2 * block <= columns && block < most) block *= 2;
    mpki_direct_solver *s = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, NULL);
    if (s && s->block >= block && s->shape == f->shape) {
        s->ctx = ctx;
        *out = s;
        return MPK_OK;
    }
    release(s);
    s = MPKI_ZNEW(f->ctx, STAGE, 1, mpki_direct_solver);
    if (!s) return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, (int64_t)sizeof *s, "out of host memory");
    s->ctx = ctx;
    s->f = f;
    s->block = block;
    s->shape = f->shape;
    const mpk_status status = f->tree.n > 0 ? fill(s) : MPK_OK;
    if (mpk_failed(status))
        release(s);
    else
        *out = s;
    return status;
}

/* L^-1 or L^-T. */
static bool sweep(mpki_direct_solver *s, bool back) {
    const mpki_direct *f = s->f;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    return DID((back ? to->backward : to->forward)(f->device->cuda, &f->on, &s->sweep));
}

/* A few columns at once: s->sweep.nrhs. */
static bool apply_columns(mpki_direct_solver *s, mpk_part part, const char *b, int64_t ldb, char *x,
                          int64_t ldx) {
    const mpki_direct *f = s->f;
    const mpki_device *device = f->device;
    const mpki_cuda_direct_table *to = device->table->direct;
    const mpk_scalar scalar = f->tree.scalar;
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(scalar);
    const int32_t nrhs = s->sweep.nrhs;
    const bool all = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const bool in = all || part == MPK_PART_L, out = all || part == MPK_PART_LT;
    const bool diagonal = all || part == MPK_PART_D;
    const bool b_away = device->table->is_device(device->cuda, b);
    const bool x_away = device->table->is_device(device->cuda, x);
    for (int32_t r = 0; r < nrhs && !b_away; r++)
        if (!DID(to->copy(device->cuda, (char *)s->stage + r * n * size, b + r * ldb * size,
                          n * size, 1)))
            return false;
    if (!DID(to->take(device->cuda, scalar, (int32_t)n, nrhs, in ? f->perm : NULL, f->on.scale,
                      b_away ? (const void *)b : s->stage, b_away ? ldb : n, s->sweep.y)) ||
        (in && !sweep(s, false)) ||
        (diagonal && !DID(to->diagonal(device->cuda, &f->on, &s->sweep, part == MPK_PART_ABS))) ||
        (out && !sweep(s, true)) ||
        !DID(to->give(device->cuda, scalar, (int32_t)n, nrhs, out ? f->perm : NULL, f->on.scale,
                      s->sweep.y, x_away ? (void *)x : s->stage, x_away ? ldx : n)))
        return false;
    for (int32_t r = 0; r < nrhs && !x_away; r++)
        if (!DID(to->copy(device->cuda, x + r * ldx * size, (char *)s->stage + r * n * size,
                          n * size, 0)))
            return false;
    return x_away || DID(to->wait(device->cuda));
}

mpk_status mpki_cuda_direct_apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
    const int64_t size = (int64_t)mpk_scalar_size(s->f->tree.scalar);
    if (s->f->tree.n == 0) return MPK_OK;
    for (int32_t r = 0; r < nrhs; r += s->sweep.nrhs) {
        s->sweep.nrhs = s->block;
        while (s->sweep.nrhs > nrhs - r) s->sweep.nrhs /= 2;
        if (!apply_columns(s, part, (const char *)b + r * ldb * size, ldb,
                           (char *)x + r * ldx * size, ldx))
            return mpki_failed(s->ctx);
    }
    return MPK_OK;
}
