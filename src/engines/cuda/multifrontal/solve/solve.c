/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a device's direct factor or a part of it: work space there, and the order of the
 * sweeps. */
#include "lists.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

struct mpki_direct_solver {
    mpk_context *ctx;
    const mpki_direct *f;
    int32_t block;  /* most right-hand sides of a sheet: a power of two */
    int32_t sheets; /* most that are swept side by side */
    int32_t asked;  /* right-hand sides that it was made for */
    uint64_t shape; /* of the factor that the lists are for */
    int few;        /* solves in a row that have asked for far fewer */
    char *memory;   /* device */
    int64_t bytes;  /* of that */
    void *stage;    /* device, n x block: vectors of the host */
    void *staging;  /* likewise n x staged, for more of them; NULL: none were wanted */
    int32_t staged;
    int64_t rows, sent, squares, half_copy; /* as the lists have them */
    mpki_cuda_sweep sweep;
    int32_t *pivot;   /* device, n: number of the pivot at each position; NULL: never asked for */
    int64_t pivot_of; /* the factorization that these are of */
    bool by_pivots;   /* between parts vectors are in their order */
    const unsigned long long *wanted; /* as mpki_cuda_direct_apply_if() is given it */
    void *zero; /* device: so many bytes there are cleared with what comes next */
    int64_t zeros;
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
    if (s->memory) s->f->device->table->release(s->f->device->cuda, s->memory);
    if (s->staging) s->f->device->table->release(s->f->device->cuda, s->staging);
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

/* A solve leaves its work space to the next one: to make it takes longer than to solve. */
void mpki_cuda_direct_solver_free(mpki_direct_solver **handle) {
    mpki_direct_solver *s = *handle;
    if (s) keep(s->f, s);
    *handle = NULL;
}

enum { PARTS = 14, STAGED = 11, BY_POSITION, UNSET };

/* What lies on the device, and what of it comes from the host. */
typedef struct part {
    int64_t bytes;
    const void *from;
    int64_t at; /* bytes from the begin */
} part;

static int64_t padded(int64_t bytes) {
    return (bytes + 255) & ~(int64_t)255;
}

/* Where, from the first counter on, lies what is unset before a sweep of `nrhs` right-hand sides:
 * at [out] 5: values sent forward and back, u, x, the end. */
static void place_unset(const mpki_direct *f, int64_t sent, int64_t rows, int64_t nrhs,
                        int64_t *at) {
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar) * nrhs;
    at[0] = padded((2 + (int64_t)f->plan.fronts) * (int64_t)sizeof(int32_t));
    at[1] = at[0] + padded(sent * size);
    at[2] = at[1] + padded(sent * size);
    at[3] = at[2] + padded(rows * size);
    at[4] = at[3] + padded(f->tree.n * size);
}

/* Fills `parts` (PARTS) for so many sheets of so many right-hand sides. Returns the bytes of
 * all. */
static int64_t list_parts(const mpki_direct *f, const mpki_cuda_sweep_lists *l, int32_t block,
                          int32_t sheets, part *parts) {
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar), n = f->tree.n;
    const int64_t fronts = f->plan.fronts, word = sizeof(int32_t);
    int64_t unset[5];
    place_unset(f, l->sent, l->rows, block, unset);
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
                             [STAGED] = {n * block * size, NULL, 0},
                             [BY_POSITION] = {n * block * sheets * size, NULL, 0},
                             [UNSET] = {unset[4] * sheets, NULL, 0}};
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) {
        parts[k] = all[k];
        parts[k].at = bytes;
        bytes += padded(all[k].bytes);
    }
    return bytes;
}

mpk_status mpki_cuda_direct_solver_bytes(mpk_context *ctx, const mpki_direct *f, int64_t *bytes) {
    mpki_cuda_sweep_lists l;
    part parts[PARTS];
    const mpk_status status = mpki_cuda_sweep_lists_make(ctx, f, &l);
    *bytes = mpk_failed(status) ? 0 : list_parts(f, &l, 1, 1, parts);
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

static mpk_status fill(mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    mpki_cuda_sweep_lists l;
    part parts[PARTS];
    void *memory = NULL;
    if (mpk_failed(mpki_cuda_sweep_lists_make(s->ctx, f, &l))) goto done;
    const int64_t least = list_parts(f, &l, s->block, 1, parts);
    const int64_t more = list_parts(f, &l, s->block, 2, parts) - least;
    int64_t room = mpki_cuda_direct_room(f);
    if (f->limit > 0 && room > f->limit - (double)f->memory_bytes - (double)least)
        room = (int64_t)fmax(0, f->limit - (double)f->memory_bytes - (double)least);
    while (s->sheets > 1 && (s->sheets - 1) * more > room) s->sheets--;
    const int64_t bytes = list_parts(f, &l, s->block, s->sheets, parts);
    if (f->limit > 0 && (double)bytes + (double)f->memory_bytes > f->limit) {
        mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, bytes,
                   "factor and solve need %.4g bytes of device memory; device_memory_limit allows "
                   "%.4g",
                   (double)bytes + (double)f->memory_bytes, f->limit);
        goto done;
    }
    if (!DID(f->device->table->alloc(cuda, bytes, &memory))) goto done;
    s->memory = memory, s->bytes = bytes;
    for (int k = 0; k < PARTS; k++)
        if (parts[k].from && parts[k].bytes > 0 &&
            !DID(to->copy(cuda, s->memory + parts[k].at, parts[k].from, parts[k].bytes, 1)))
            goto done;
    s->stage = s->memory + parts[STAGED].at;
    s->rows = l.rows, s->sent = l.sent, s->squares = l.squares;
    s->half_copy = l.half_copy;
    s->sweep = (mpki_cuda_sweep){
        .y = s->memory + parts[BY_POSITION].at,
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
        .ticket = (int32_t *)(void *)(s->memory + parts[UNSET].at),
    };
    (void)DID(to->wait(cuda));
done:
    mpki_cuda_sweep_lists_free(s->ctx, &l);
    return mpki_failed(s->ctx);
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

mpk_status mpki_cuda_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                        int32_t columns, mpki_direct_solver **out) {
    (void)threads;
    *out = NULL;
    const int32_t most = most_together(f);
    int32_t block = 1;
    while (block < columns && block < most) block *= 2;
    if (columns > MPKI_CUDA_SHEETS_RHS) columns = MPKI_CUDA_SHEETS_RHS;
    mpki_direct_solver *s = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, NULL);
    if (s) s->few = columns <= s->asked / MPKI_CUDA_FEW ? s->few + 1 : 0;
    if (s && s->block >= block && s->asked >= columns && s->shape == f->shape &&
        s->few < MPKI_CUDA_FEW_SOLVES) {
        s->ctx = ctx;
        s->by_pivots = false;
        *out = s;
        return MPK_OK;
    }
    release(s);
    s = MPKI_ZNEW(f->ctx, STAGE, 1, mpki_direct_solver);
    if (!s) return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, (int64_t)sizeof *s, "out of host memory");
    s->ctx = ctx;
    s->f = f;
    s->block = block;
    /* kernels of fewer right-hand sides know no sheets */
    const bool full =
        most == (mpk_scalar_size(f->tree.scalar) > 8 ? MPKI_CUDA_RHS / 2 : MPKI_CUDA_RHS);
    s->sheets = full && block == most ? (columns + most - 1) / most : 1;
    s->asked = columns;
    s->shape = f->shape;
    const mpk_status status = f->tree.n > 0 ? fill(s) : MPK_OK;
    if (mpk_failed(status))
        release(s);
    else
        *out = s;
    return status;
}

/* Places of what is unset before sweeps of s->sweep.nrhs right-hand sides; x of L^-T goes to
 * `out`. */
static void place_sweeps(mpki_direct_solver *s, void *out, int64_t ldout) {
    const mpki_direct *f = s->f;
    mpki_cuda_sweep *w = &s->sweep;
    char *const from = (char *)w->ticket;
    int64_t at[5];
    place_unset(f, s->sent, s->rows, w->nrhs, at);
    w->finished = w->ticket + 2;
    w->sent = from + at[0], w->sent_back = from + at[1];
    w->u = from + at[2], w->x = from + at[3];
    w->sheet = at[4];
    w->unset = w->sheets * at[4];
    w->out = out, w->ldout = ldout, w->perm = f->perm, w->scale = f->on.scale;
}

/* Where inverses of strips and copies of chains are kept: large fronts and contributions have done
 * with their memory. */
static int64_t memory_after(const mpki_direct *f) {
    const char *end = (const char *)f->on.contribution +
                      f->plan.contribution_entries * (int64_t)mpk_scalar_size(f->tree.scalar);
    return end - f->work;
}
static int64_t bytes_of_squares(const mpki_direct_solver *s) {
    return s->squares * MPKI_FRONT_STRIP * MPKI_FRONT_STRIP *
           (int64_t)mpk_scalar_size(s->f->tree.scalar);
}
/* NULL: it is too little. */
static void *memory_for_squares(const mpki_direct_solver *s) {
    return bytes_of_squares(s) <= memory_after(s->f) ? s->f->work : NULL;
}
/* NULL: there is no memory, or it is not worth it. */
static void *memory_for_half_copies(const mpki_direct_solver *s) {
    const mpki_direct *f = s->f;
    const bool single = f->tree.scalar == MPK_S || f->tree.scalar == MPK_C;
    const int64_t bytes = s->half_copy * (int64_t)mpk_scalar_size(f->tree.scalar) / 2;
    return single || s->sweep.nrhs > 1 || s->sweep.small ||
                   bytes_of_squares(s) + bytes > memory_after(f)
               ? NULL
               : f->work + bytes_of_squares(s);
}

void mpki_cuda_direct_corrected(const mpki_direct_solver *s) {
    mpki_direct *f = (mpki_direct *)(uintptr_t)s->f; /* what a factor keeps is no part of it */
    if (s->sweep.half_copy) atomic_store(&f->half_copied, true);
    atomic_fetch_add(&f->corrections, 1);
}

/* What a correction reads of chains: what copies have, since the answer is not to depend on whether
 * they are there. The third one over these numbers makes them, for it takes as long as some
 * corrections save. */
static void choose_half_copies(mpki_direct_solver *s) {
    mpki_cuda_sweep *w = &s->sweep;
    void *const memory =
        s->wanted && atomic_load(&s->f->squared) ? memory_for_half_copies(s) : NULL;
    w->rounds = memory != NULL;
    w->half_copied = memory && atomic_load(&s->f->half_copied);
    w->half_copy =
        w->half_copied || atomic_load(&s->f->corrections) >= MPKI_HALF_COPY_AFTER ? memory : NULL;
}

/* L^-1, or L^-T D^-1, or L^-T. The first one of these numbers that is queued in any case makes the
 * inverses of strips. */
static bool sweep(mpki_direct_solver *s, bool back, bool diagonal) {
    const mpki_direct *f = s->f;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda_sweep *w = &s->sweep;
    /* what a factor keeps for its solves is no part of it */
    atomic_bool *squared = &((mpki_direct *)(uintptr_t)f)->squared;
    w->diagonal = diagonal;
    w->squared = atomic_load(squared);
    w->square = w->squared || !s->wanted ? memory_for_squares(s) : NULL;
    if (!DID((back ? to->backward : to->forward)(f->device->cuda, &f->on, w))) return false;
    if (w->square) atomic_store(squared, true);
    return true;
}

/* How many vectors of the host can be there at once, of so many that would be swept together; most
 * solves have theirs on the device. */
static int32_t stage_for(mpki_direct_solver *s, int32_t columns) {
    const mpki_direct *f = s->f;
    const int64_t bytes = columns * (int64_t)f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
    if (columns <= s->block) return columns;
    if (s->staged >= columns) return columns;
    if (s->staging) f->device->table->release(f->device->cuda, s->staging);
    s->staging = NULL, s->staged = 0;
    const double all = (double)bytes + (double)s->bytes + (double)f->memory_bytes;
    if ((f->limit > 0 && all > f->limit) ||
        mpk_failed(f->device->table->alloc(f->device->cuda, bytes, &s->staging))) {
        s->staging = NULL;
        return s->block;
    }
    return s->staged = columns;
}

char *mpki_cuda_direct_lend(const mpki_direct_solver *s, int32_t columns) {
    return s->block * s->sheets >= columns ? s->sweep.y : NULL;
}

int64_t mpki_cuda_direct_spare_held(const mpki_direct *f) {
    /* nobody else has it while it is looked at */
    mpki_direct_solver *s = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->spare, NULL);
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    if (!s) return 0;
    const int64_t bytes =
        s->bytes + s->staged * n * size + (s->pivot ? n * (int64_t)sizeof *s->pivot : 0);
    keep(f, s);
    return bytes;
}

/* Some columns at once: s->sweep.columns. */
static bool apply_columns(mpki_direct_solver *s, mpk_part part, const char *b, int64_t ldb, char *x,
                          int64_t ldx) {
    const mpki_direct *f = s->f;
    const mpki_device *device = f->device;
    const mpki_cuda_direct_table *to = device->table->direct;
    const mpk_scalar scalar = f->tree.scalar;
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(scalar);
    const int32_t nrhs = s->sweep.nrhs, columns = s->sweep.columns;
    const bool all = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const bool in = all || part == MPK_PART_L, out = all || part == MPK_PART_LT;
    const bool fused = part == MPK_PART_ALL, alone = part == MPK_PART_D || part == MPK_PART_ABS;
    const bool b_away = device->table->is_device(device->cuda, b);
    const bool x_away = device->table->is_device(device->cuda, x);
    void *const stage = columns <= s->block ? s->stage : s->staging;
    for (int32_t r = 0; r < columns && !b_away; r++)
        if (!DID(to->copy(device->cuda, (char *)stage + r * n * size, b + r * ldb * size, n * size,
                          1)))
            return false;
    void *const to_x = x_away ? (void *)x : stage;
    const int64_t ld_x = x_away ? ldx : n;
    place_sweeps(s, to_x, ld_x);
    choose_half_copies(s);
    const int32_t *between = s->by_pivots ? s->pivot : NULL;
    if (!DID(to->take(device->cuda, scalar, (int32_t)n, nrhs, columns, in ? f->perm : between,
                      in ? f->on.scale : NULL, b_away ? (const void *)b : stage, b_away ? ldb : n,
                      s->sweep.y, s->sweep.ticket, in || out ? s->sweep.unset : 0, s->wanted,
                      s->zero, s->zeros)) ||
        (in && !sweep(s, false, false)) ||
        (alone && !DID(to->diagonal(device->cuda, &f->on, &s->sweep, part == MPK_PART_ABS))) ||
        (out && !sweep(s, true, fused)) ||
        (!out && !DID(to->give(device->cuda, scalar, (int32_t)n, nrhs, columns, between, NULL,
                               s->sweep.y, to_x, ld_x))))
        return false;
    s->zero = NULL, s->zeros = 0;
    for (int32_t r = 0; r < columns && !x_away; r++)
        if (!DID(to->copy(device->cuda, x + r * ldx * size, (char *)stage + r * n * size, n * size,
                          0)))
            return false;
    return x_away || DID(to->wait(device->cuda));
}

mpk_status mpki_cuda_direct_apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
    const int64_t size = (int64_t)mpk_scalar_size(s->f->tree.scalar);
    if (s->f->tree.n == 0) return MPK_OK;
    const bool alone = part == MPK_PART_D || part == MPK_PART_ABS;
    const mpki_device *d = s->f->device;
    mpki_cuda_sweep *w = &s->sweep;
    const bool there = d->table->is_device(d->cuda, b) && d->table->is_device(d->cuda, x);
    const int32_t swept = s->block * (alone ? 1 : s->sheets), least = nrhs < swept ? nrhs : swept;
    const int32_t most = there ? least : stage_for(s, least);
    for (int32_t r = 0; r < nrhs; r += w->columns) {
        const int32_t rest = nrhs - r;
        w->columns = rest < most ? rest : most;
        w->nrhs = s->block;
        while (w->nrhs / 2 >= w->columns) w->nrhs /= 2;
        w->sheets = (w->columns + w->nrhs - 1) / w->nrhs;
        if (!apply_columns(s, part, (const char *)b + r * ldb * size, ldb,
                           (char *)x + r * ldx * size, ldx))
            return mpki_failed(s->ctx);
    }
    return MPK_OK;
}

void mpki_cuda_direct_clear_with(mpki_direct_solver *s, void *zero, int64_t bytes) {
    s->zero = zero, s->zeros = bytes;
}

mpk_status mpki_cuda_direct_apply_if(mpki_direct_solver *s, const unsigned long long *wanted,
                                     void *x, bool *half_copy) {
    const int64_t n = s->f->tree.n;
    s->wanted = wanted;
    const mpk_status status = mpki_cuda_direct_apply(s, MPK_PART_ALL, 1, x, n, x, n);
    s->wanted = NULL;
    *half_copy = s->sweep.rounds;
    return status;
}
