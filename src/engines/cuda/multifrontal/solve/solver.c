/* SPDX-License-Identifier: BSD-3-Clause */
/* The work space of solves with a device's direct factor: made, lent, kept for the next one. */
#include "solver.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

bool mpki_cuda_solver_did(const mpki_direct_solver *s, int status) {
    const mpki_device *d = s->f->device;
    if (mpk_failed(status))
        mpki_error(s->ctx, (mpk_status)status, STAGE, -1, "%s", d->table->last_error(d->cuda));
    return !mpk_failed(status);
}

#define DID(call) mpki_cuda_solver_did(s, (call))

int mpki_cuda_vector_room_make(const mpki_direct *f, int64_t bytes, mpki_cuda_room *room) {
    const mpki_cuda_table *table = f->device->table;
    const bool pooled = bytes > MPKI_CUDA_KEPT && bytes <= MPKI_CUDA_POOLED;
    void *memory = NULL;
    const int status = (pooled ? table->take : table->alloc)(f->device->cuda, bytes, &memory);
    if (!mpk_failed(status)) *room = (mpki_cuda_room){memory, memory, bytes, pooled};
    return status;
}

void mpki_cuda_vector_room_end(const mpki_direct *f, int64_t one, mpki_cuda_room *room) {
    if (room->bytes > MPKI_CUDA_KEPT && room->bytes > one) mpki_cuda_vector_room_leave(f, room);
}

void mpki_cuda_vector_room_leave(const mpki_direct *f, mpki_cuda_room *room) {
    const mpki_cuda_table *table = f->device->table;
    if (room->own) (room->pooled ? table->give : table->release)(f->device->cuda, room->own);
    *room = (mpki_cuda_room){0};
}

/* Release what vectors have of their own. */
static void leave(mpki_direct_solver *s, int which) {
    mpki_cuda_vector_room_leave(s->f, &s->vectors[which]);
}

static void release(mpki_direct_solver *s) {
    if (!s) return;
    if (s->memory) s->f->device->table->release(s->f->device->cuda, s->memory);
    for (int k = 0; k < MPKI_CUDA_VECTORS; k++) leave(s, k);
    if (s->pivot) s->f->device->table->release(s->f->device->cuda, s->pivot);
    mpki_release(s->f->ctx, s);
}

static void keep(const mpki_direct *f, mpki_direct_solver *s) {
    /* what a factor keeps for its next solve is no part of it */
    release(atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, s));
}

void mpki_cuda_direct_drop_spare(mpki_direct *f) {
    keep(f, NULL);
}

/* What factorizations work in behind the panels is idle between them: the first of some
 * solves at the same time has it. At its begin inverses of strips and copies of chains are kept. */
static void take_idle(mpki_direct_solver *s) {
    atomic_bool *taken = &((mpki_direct *)(uintptr_t)s->f)->idle_taken;
    s->owns_idle = !atomic_exchange(taken, true);
    s->idle = 0;
}
static void give_idle(mpki_direct_solver *s) {
    if (s->owns_idle) atomic_store(&((mpki_direct *)(uintptr_t)s->f)->idle_taken, false);
    s->owns_idle = false;
}

/* A solve leaves its work space to the next one: to make it takes longer than to solve. Not large vectors of
 * several right-hand sides, which may be more than the factor: they are anybody's again. */
void mpki_cuda_direct_solver_free(mpki_direct_solver **handle) {
    mpki_direct_solver *s = *handle;
    for (int k = 0; s && s->columns > 1 && k < MPKI_CUDA_VECTORS; k++)
        mpki_cuda_vector_room_end(s->f, 0, &s->vectors[k]);
    if (s) give_idle(s), keep(s->f, s);
    *handle = NULL;
}

enum { PARTS = 13 };

/* A list on the device. */
typedef struct part {
    int64_t bytes;
    const void *from;
    int64_t at; /* bytes from the begin */
} part;

void mpki_cuda_solver_unset(const mpki_direct_solver *s, int64_t nrhs, bool together, int64_t *at) {
    const mpki_direct *f = s->f;
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar) * nrhs;
    const int64_t sent = mpki_cuda_padded(s->sent * size), u = mpki_cuda_padded(s->rows * size);
    const int64_t x = mpki_cuda_padded(f->tree.n * size);
    at[0] = mpki_cuda_padded((2 + (int64_t)f->plan.fronts) * (int64_t)sizeof(int32_t));
    at[1] = together ? at[0] : at[0] + sent;
    at[2] = at[1] + sent;
    at[3] = together && !s->spills ? at[2] : at[2] + u;
    at[4] = at[2] + u > at[3] + x ? at[2] + u : at[3] + x;
}

bool mpki_cuda_solver_shares(const mpki_direct_solver *s, int32_t block, int32_t sheets) {
    int64_t unset[5];
    if (sheets <= 1) return false;
    mpki_cuda_solver_unset(s, block, false, unset);
    return sheets * unset[4] > s->f->apart_most;
}

int64_t mpki_cuda_solver_vectors(const mpki_direct_solver *s, int which, int32_t block,
                                 int32_t sheets) {
    const int64_t size = (int64_t)mpk_scalar_size(s->f->tree.scalar);
    int64_t unset[5];
    if (which != MPKI_CUDA_UNSET) return mpki_cuda_padded(s->f->tree.n * size * block * sheets);
    mpki_cuda_solver_unset(s, block, mpki_cuda_solver_shares(s, block, sheets), unset);
    return unset[4] * sheets;
}

/* Fills `parts` (PARTS). Returns the bytes of all. */
static int64_t list_parts(const mpki_direct *f, const mpki_cuda_sweep_lists *l, part *parts) {
    const int64_t fronts = f->plan.fronts, word = sizeof(int32_t);
    const part all[PARTS] = {{fronts * (int64_t)sizeof *l->at, l->at, 0},
                             {fronts * word, l->parent, 0},
                             {fronts * word, l->goal, 0},
                             {l->downs * (int64_t)sizeof *l->down, l->down, 0},
                             {l->ups * (int64_t)sizeof *l->up, l->up, 0},
                             {l->chains * (int64_t)sizeof *l->chain, l->chain, 0},
                             {l->segments * (int64_t)sizeof *l->segment, l->segment, 0},
                             {l->strips * word, l->strip, 0},
                             {fronts * (int64_t)sizeof *l->slot, l->slot, 0},
                             {l->slots * word, l->place, 0},
                             {l->contributions * word, l->contribution, 0},
                             {l->downs_spread * (int64_t)sizeof *l->down, l->down_spread, 0},
                             {l->ups_spread * (int64_t)sizeof *l->up, l->up_spread, 0}};
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) {
        parts[k] = all[k];
        parts[k].at = bytes;
        bytes += mpki_cuda_padded(all[k].bytes);
    }
    return bytes;
}

/* What s needs of the lists, which are gone after it is made. */
static void read_lists(mpki_direct_solver *s, const mpki_cuda_sweep_lists *l) {
    s->rows = l->rows, s->sent = l->sent, s->squares = l->squares;
    s->half_copy = l->half_copy, s->spills = l->spills;
    s->sweep.small = l->small;
}

/* ---- vectors ---- */

int64_t mpki_cuda_solver_squares(const mpki_direct_solver *s) {
    return s->squares * MPKI_FRONT_STRIP * MPKI_FRONT_STRIP *
           (int64_t)mpk_scalar_size(s->f->tree.scalar);
}
int64_t mpki_cuda_solver_half_copies(const mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const bool single = f->tree.scalar == MPK_S || f->tree.scalar == MPK_C;
    const int64_t bytes = s->half_copy * (int64_t)mpk_scalar_size(f->tree.scalar) / 2;
    return single || s->sweep.small || mpki_cuda_solver_squares(s) + bytes > f->idle_bytes ? 0
                                                                                           : bytes;
}

/* So many bytes of what is idle, after what is taken; one right-hand side leaves copies alone.
 * NULL: it is not this solve's, or too little. */
static char *cut_idle(mpki_direct_solver *s, int64_t bytes) {
    const mpki_direct *f = s->f;
    const int64_t squares = mpki_cuda_solver_squares(s), copies = mpki_cuda_solver_half_copies(s);
    const int64_t kept = mpki_cuda_padded(squares > f->idle_bytes ? 0 : squares);
    const int64_t at = (f->idle_bytes - s->idle - bytes) & ~(int64_t)255;
    if (!s->owns_idle || at < kept + (s->columns > 1 ? 0 : copies)) return NULL;
    if (at < kept + copies) atomic_store(&((mpki_direct *)(uintptr_t)f)->half_copied, false);
    s->idle = f->idle_bytes - at;
    return f->idle + at;
}

/* Device memory of its own that s holds. */
static int64_t bytes_of_own(const mpki_direct_solver *s) {
    int64_t bytes = s->bytes;
    for (int k = 0; k < MPKI_CUDA_VECTORS; k++) bytes += s->vectors[k].bytes;
    return bytes;
}

/* Does the limit allow so many bytes more? */
static bool allowed(const mpki_direct_solver *s, int64_t bytes) {
    const double all =
        (double)bytes + (double)mpki_cuda_direct_held(s->f) + (double)bytes_of_own(s);
    if (s->f->limit <= 0 || all <= s->f->limit) return true;
    mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, bytes,
               "factor and solve need %.4g bytes of device memory; device_memory_limit allows %.4g",
               all, s->f->limit);
    return false;
}

bool mpki_cuda_solver_room(mpki_direct_solver *s, int which, int64_t bytes) {
    const mpki_direct *f = s->f;
    mpki_cuda_room *r = &s->vectors[which];
    if (r->bytes >= bytes) {
        r->at = r->own;
        return true;
    }
    char *idle = cut_idle(s, bytes);
    mpki_cuda_room made;
    if (idle) {
        r->at = idle;
        return true;
    }
    if (!allowed(s, bytes) || !DID(mpki_cuda_vector_room_make(f, bytes, &made))) return false;
    leave(s, which);
    *r = made;
    return true;
}

/* Bytes that are idle and that solves of so many columns may have. */
static int64_t idle_for(const mpki_direct_solver *s) {
    const int64_t squares = mpki_cuda_solver_squares(s), idle = s->f->idle_bytes;
    const int64_t kept =
        (squares > idle ? 0 : squares) + (s->columns > 1 ? 0 : mpki_cuda_solver_half_copies(s));
    return idle - mpki_cuda_padded(kept) - 255;
}

/* Memory of its own that so many sheets take where so much is idle [inout]. */
static int64_t own_of(const mpki_direct_solver *s, int32_t sheets, int64_t *idle) {
    int64_t own = 0;
    for (int k = MPKI_CUDA_UNSET; k <= MPKI_CUDA_BY_POSITION; k++) {
        const int64_t bytes = mpki_cuda_solver_vectors(s, k, s->block, sheets);
        if (bytes <= *idle && s->vectors[k].bytes < bytes)
            *idle -= bytes;
        else
            own += bytes;
    }
    return own;
}

/* How many sheets of so many there is room for. */
static int32_t sheets_for(const mpki_direct_solver *s, int32_t sheets, int64_t idle) {
    const mpki_direct *f = s->f;
    double room = (double)mpki_cuda_direct_room(f);
    if (f->limit > 0)
        room = fmin(room, f->limit - (double)mpki_cuda_direct_held(f) - (double)s->bytes);
    for (; sheets > 1; sheets--) {
        int64_t left = idle;
        if ((double)own_of(s, sheets, &left) <= room) break;
    }
    return sheets;
}

/* Room for the vectors of a solve, as many of the sheets as may be swept side by side. */
static bool make_vectors(mpki_direct_solver *s, int32_t sheets) {
    take_idle(s);
    s->sheets = sheets_for(s, sheets, s->owns_idle ? idle_for(s) : 0);
    for (int k = MPKI_CUDA_UNSET; k <= MPKI_CUDA_STAGED; k++) {
        const bool one = k == MPKI_CUDA_STAGED; /* a vector of the host is never refused later */
        const int64_t bytes =
            mpki_cuda_solver_vectors(s, k, one ? 1 : s->block, one ? 1 : s->sheets);
        if (!one && s->vectors[k].bytes < bytes) leave(s, k);
        if (!mpki_cuda_solver_room(s, k, bytes)) return false;
    }
    s->one = s->vectors[MPKI_CUDA_STAGED].at;
    s->swept = s->idle;
    return true;
}

/* Most right-hand sides that a sweep takes at once. Four of complex doubles want 104 KB of a
 * block's shared memory, which GPUs of 8.6, 8.9 and 12.0 have not. */
static int32_t most_together(const mpki_direct *f) {
    enum { FOUR = 104 << 10 };
    if (mpk_scalar_size(f->tree.scalar) <= 8) return MPKI_CUDA_RHS;
    const int64_t shared =
        f->device->table->direct->class_bytes(f->device->cuda, MPKI_CUDA_CLASSES - 1);
    return shared < FOUR ? MPKI_CUDA_RHS / 4 : MPKI_CUDA_RHS / 2;
}

/* So many right-hand sides are so many sheets, which is returned, of so many, s->block. Kernels of
 * fewer know no sheets. */
static int32_t divide(mpki_direct_solver *s, int32_t columns) {
    const int32_t most = most_together(s->f);
    const bool full =
        most == (mpk_scalar_size(s->f->tree.scalar) > 8 ? MPKI_CUDA_RHS / 2 : MPKI_CUDA_RHS);
    s->columns = columns < MPKI_CUDA_SHEETS_RHS ? columns : MPKI_CUDA_SHEETS_RHS;
    s->block = 1;
    while (s->block < columns && s->block < most) s->block *= 2;
    return full && s->block == most ? (s->columns + most - 1) / most : 1;
}

int32_t mpki_cuda_refined_together(const mpki_direct *f, const mpki_direct_solver *s,
                                   int32_t nrhs) {
    enum { LEAST = 8, VECTORS = 2 };
    const int64_t each = VECTORS * f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
    const int64_t room = mpki_cuda_direct_room(f);
    int32_t most = s->block * s->sheets;
    if (most > MPKI_REFINE_TOGETHER) most = MPKI_REFINE_TOGETHER;
    while (most > LEAST && most * each > room) most /= 2;
    return nrhs < most ? nrhs : most;
}

mpk_status mpki_cuda_direct_solver_bytes(mpk_context *ctx, const mpki_direct *f, int32_t columns,
                                         bool refined, int64_t *lists, int64_t *vectors) {
    mpki_cuda_sweep_lists l;
    part parts[PARTS];
    mpki_direct_solver s = {.f = f};
    const mpk_status status = mpki_cuda_sweep_lists_make(ctx, f, &l);
    *lists = *vectors = 0;
    if (!mpk_failed(status)) {
        read_lists(&s, &l);
        *lists = list_parts(f, &l, parts);
        const int32_t sheets = divide(&s, columns);
        int64_t idle = idle_for(&s);
        const int32_t most = sheets_for(&s, sheets, idle);
        *vectors = own_of(&s, most, &idle) + mpki_cuda_solver_vectors(&s, MPKI_CUDA_STAGED, 1, 1);
        s.sheets = most;
        const int64_t residuals = mpki_cuda_solver_vectors(
            &s, MPKI_CUDA_STAGED, mpki_cuda_refined_together(f, &s, columns), 1);
        if (refined && residuals > idle) *vectors += residuals;
    }
    mpki_cuda_sweep_lists_free(ctx, &l);
    return status;
}

mpk_status mpki_cuda_direct_by_pivots(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    const int64_t n = f->tree.n, bytes = n * (int64_t)sizeof(int32_t);
    if (n == 0) return MPK_OK;
    s->by_pivots = s->pivot && s->pivot_of == f->turn;
    if (s->by_pivots) return MPK_OK;
    int32_t *inverse = MPKI_NEW(s->ctx, STAGE, n, int32_t);
    if (!inverse) return mpki_failed(s->ctx);
    for (int64_t k = 0; k < n; k++) inverse[f->tree.perm[k]] = (int32_t)k;
    int32_t *perm = MPKI_NEW(s->ctx, STAGE, n, int32_t), *pivot = NULL;
    mpk_status status = perm ? mpki_cuda_direct_get(f, MPK_GET_PERM, perm) : mpki_failed(s->ctx);
    if (!mpk_failed(status) && !(pivot = MPKI_NEW(s->ctx, STAGE, n, int32_t)))
        status = mpki_failed(s->ctx);
    for (int64_t k = 0; !mpk_failed(status) && k < n; k++) pivot[inverse[perm[k]]] = (int32_t)k;
    void *memory = s->pivot;
    if (!mpk_failed(status) && !memory &&
        !DID(f->device->table->alloc(f->device->cuda, bytes, &memory)))
        status = mpki_failed(s->ctx);
    s->pivot = memory;
    if (!mpk_failed(status) && (!DID(to->copy(f->device->cuda, memory, pivot, bytes, 1)) ||
                                !DID(to->wait(f->device->cuda))))
        status = mpki_failed(s->ctx);
    s->by_pivots = !mpk_failed(status);
    s->pivot_of = s->by_pivots ? f->turn : 0;
    mpki_release(s->ctx, inverse);
    mpki_release(s->ctx, perm);
    mpki_release(s->ctx, pivot);
    return status;
}

int64_t mpki_cuda_direct_room(const mpki_direct *f) {
    const int64_t room = f->memory_bytes / MPKI_CUDA_SHEETS_SHARE;
    return room < MPKI_CUDA_SHEETS_FREE ? MPKI_CUDA_SHEETS_FREE : room;
}

/* Lists, on the device. */
static mpk_status fill(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    mpki_cuda_sweep_lists l;
    part parts[PARTS];
    void *memory = NULL;
    if (mpk_failed(mpki_cuda_sweep_lists_make(s->ctx, f, &l))) goto done;
    read_lists(s, &l);
    const int64_t bytes = list_parts(f, &l, parts);
    if (!allowed(s, bytes) || !DID(f->device->table->alloc(cuda, bytes, &memory))) goto done;
    s->memory = memory, s->bytes = bytes;
    for (int k = 0; k < PARTS; k++)
        if (parts[k].from && parts[k].bytes > 0 &&
            !DID(to->copy(cuda, s->memory + parts[k].at, parts[k].from, parts[k].bytes, 1)))
            goto done;
    s->sweep = (mpki_cuda_sweep){
        .at = (const int64_t *)(const void *)(s->memory + parts[0].at),
        .small = l.small,
        .downs = l.downs,
        .ups = l.ups,
        .parent = (const int32_t *)(const void *)(s->memory + parts[1].at),
        .goal = (const int32_t *)(const void *)(s->memory + parts[2].at),
        .down = (const mpki_cuda_piece *)(const void *)(s->memory + parts[3].at),
        .up = (const mpki_cuda_piece *)(const void *)(s->memory + parts[4].at),
        .chain = (const mpki_cuda_chain *)(const void *)(s->memory + parts[5].at),
        .segment = (const mpki_cuda_segment *)(const void *)(s->memory + parts[6].at),
        .strip = (const int32_t *)(const void *)(s->memory + parts[7].at),
        .slot = (const int64_t *)(const void *)(s->memory + parts[8].at),
        .slots = (const int32_t *)(const void *)(s->memory + parts[9].at),
        .contribution = (const int32_t *)(const void *)(s->memory + parts[10].at),
    };
    s->down[0] = s->sweep.down, s->downs[0] = l.downs;
    s->up[0] = s->sweep.up, s->ups[0] = l.ups;
    s->down[1] = (const mpki_cuda_piece *)(const void *)(s->memory + parts[11].at);
    s->up[1] = (const mpki_cuda_piece *)(const void *)(s->memory + parts[12].at);
    s->downs[1] = l.downs_spread, s->ups[1] = l.ups_spread;
    (void)DID(to->wait(cuda));
done:
    mpki_cuda_sweep_lists_free(s->ctx, &l);
    return mpki_failed(s->ctx);
}

mpk_status mpki_cuda_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                        int32_t columns, mpki_direct_solver **out) {
    (void)threads;
    *out = NULL;
    mpki_direct_solver *s = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, NULL);
    if (s && s->shape != f->shape) {
        release(s);
        s = NULL;
    }
    const bool made = !s;
    if (made) s = MPKI_ZNEW(f->ctx, STAGE, 1, mpki_direct_solver);
    if (!s) return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, (int64_t)sizeof *s, "out of host memory");
    s->ctx = ctx, s->f = f, s->shape = f->shape, s->by_pivots = false;
    const int32_t sheets = divide(s, columns);
    s->few = s->columns <= s->asked / MPKI_CUDA_FEW ? s->few + 1 : 0;
    if (s->few >= MPKI_CUDA_FEW_SOLVES)
        for (int k = 0; k < MPKI_CUDA_VECTORS; k++) leave(s, k);
    if (s->few >= MPKI_CUDA_FEW_SOLVES || s->columns > s->asked) s->asked = s->columns, s->few = 0;
    if (f->tree.n > 0 && ((made && mpk_failed(fill(s))) || !make_vectors(s, sheets))) {
        give_idle(s);
        release(s);
        return mpki_failed(ctx);
    }
    *out = s;
    return MPK_OK;
}

void mpki_cuda_direct_lend_anew(mpki_direct_solver *s) {
    s->idle = s->swept;
}

char *mpki_cuda_direct_lend(mpki_direct_solver *s, int32_t columns, bool between) {
    if (between && s->block * s->sheets >= columns) return s->vectors[MPKI_CUDA_BY_POSITION].at;
    return cut_idle(s,
                    columns * (int64_t)s->f->tree.n * (int64_t)mpk_scalar_size(s->f->tree.scalar));
}

int64_t mpki_cuda_direct_spare_held(const mpki_direct *f) {
    /* nobody else has it while it is looked at */
    mpki_direct_solver *s = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, NULL);
    if (!s) return 0;
    const int64_t bytes = bytes_of_own(s) + (s->pivot ? f->tree.n * (int64_t)sizeof *s->pivot : 0);
    keep(f, s);
    return bytes;
}
