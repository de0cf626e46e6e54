/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a device's direct factor or a part of it: work space there, and the order of the sweeps. */
#include "direct_factor.h"

#include <string.h>

static const char STAGE[] = "solve";

enum { SMALL_THREADS = 128, LARGE_THREADS = 1024 };

struct mpki_direct_solver {
    mpk_context *ctx;
    const mpki_direct *f;
    int32_t block;        /* most right-hand sides swept together: a power of two */
    char *room;           /* device */
    mpki_cuda_task *task; /* device: those of the plan, then one for each large front */
    void *stage;          /* device, n x block: vectors of the host */
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

void mpki_cuda_direct_solver_free(mpki_direct_solver **handle) {
    mpki_direct_solver *s = *handle;
    if (!s) return;
    if (s->room) s->f->device->table->release(s->f->device->cuda, s->room);
    mpki_release(s->ctx, s);
    *handle = NULL;
}

static mpk_status fill(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const mpki_cuda_plan *plan = &f->plan;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar), n = f->tree.n;
    const int64_t tasks = (int64_t)plan->tasks + plan->larges, fronts = plan->fronts;
    int64_t *at = MPKI_NEW(s->ctx, STAGE, fronts + 1, int64_t), rows = 0;
    mpki_cuda_task *task = MPKI_NEW(s->ctx, STAGE, tasks + 1, mpki_cuda_task);
    if (!at || !task) goto done;
    for (int32_t k = 0; k < fronts; k++) {
        at[k] = rows;
        rows += plan->node[k].rows + f->now[k].nelim;
    }
    if (plan->tasks > 0) memcpy(task, plan->task, (size_t)plan->tasks * sizeof *task);
    for (int32_t k = 0; k < plan->larges; k++)
        task[plan->tasks + k] = (mpki_cuda_task){plan->large[k], plan->large[k], 0, 0};
    const int64_t parts[] = {tasks * (int64_t)sizeof *task, fronts * (int64_t)sizeof *at,
                             n * s->block * size, n * s->block * size, rows * s->block * size};
    enum { PARTS = sizeof parts / sizeof *parts };
    int64_t where[PARTS], bytes = 0;
    void *room = NULL;
    for (int k = 0; k < PARTS; k++) {
        where[k] = bytes;
        bytes += (parts[k] + 255) & ~(int64_t)255;
    }
    if (f->limit > 0 && (double)bytes + (double)f->room_bytes > f->limit) {
        mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, bytes,
                   "factor and solve need %.4g bytes of device memory; device_memory_limit allows "
                   "%.4g",
                   (double)bytes + (double)f->room_bytes, f->limit);
        goto done;
    }
    if (!DID(f->device->table->alloc(cuda, bytes, &room))) goto done;
    s->room = room;
    s->task = (mpki_cuda_task *)(void *)(s->room + where[0]);
    s->stage = s->room + where[2];
    s->sweep = (mpki_cuda_sweep){.y = s->room + where[3],
                                 .u = s->room + where[4],
                                 .at = (const int64_t *)(const void *)(s->room + where[1])};
    (void)(DID(to->copy(cuda, s->room + where[0], task, parts[0], 1)) &&
           DID(to->copy(cuda, s->room + where[1], at, parts[1], 1)) && DID(to->wait(cuda)));
done:
    mpki_release(s->ctx, at);
    mpki_release(s->ctx, task);
    return mpki_failed(s->ctx);
}

mpk_status mpki_cuda_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                        int32_t columns, mpki_direct_solver **out) {
    (void)threads;
    *out = NULL;
    mpki_direct_solver *s = MPKI_ZNEW(ctx, STAGE, 1, mpki_direct_solver);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->f = f;
    s->block = 1;
    while (2 * s->block <= columns && s->block < MPKI_CUDA_RHS) s->block *= 2;
    *out = s;
    const mpk_status status = f->tree.n > 0 ? fill(s) : MPK_OK;
    if (mpk_failed(status)) mpki_cuda_direct_solver_free(out);
    return status;
}

/* L^-1, deepest level first, or L^-T, the other way. */
static bool sweep(mpki_direct_solver *s, bool back) {
    const mpki_direct *f = s->f;
    const mpki_cuda_plan *plan = &f->plan;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    for (int32_t k = 0; k < plan->levels; k++) {
        const mpki_cuda_level *level = &plan->level[back ? plan->levels - 1 - k : k];
        const mpki_cuda_task *small = s->task + level->task[0];
        const mpki_cuda_task *large = s->task + plan->tasks + level->large_first;
        const int32_t smalls = level->task[MPKI_CUDA_CLASSES] - level->task[0];
        const int32_t larges = level->large_last - level->large_first;
        if (!DID((back ? to->backward : to->forward)(f->device->cuda, &f->on, small, smalls,
                                                     SMALL_THREADS, &s->sweep)) ||
            !DID((back ? to->backward : to->forward)(f->device->cuda, &f->on, large, larges,
                                                     LARGE_THREADS, &s->sweep)))
            return false;
    }
    return true;
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
        if (!DID(to->copy(device->cuda, (char *)s->stage + r * n * size, b + r * ldb * size, n * size,
                          1)))
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
        if (!DID(to->copy(device->cuda, x + r * ldx * size, (char *)s->stage + r * n * size, n * size,
                          0)))
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
        if (!apply_columns(s, part, (const char *)b + r * ldb * size, ldb, (char *)x + r * ldx * size,
                           ldx))
            return mpki_failed(s->ctx);
    }
    return MPK_OK;
}
