/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks on the device: what triangular/make.c made is
 * applied. */
#include "engines/cuda/inverse/factor.h"
#include "state.h"

static const char STAGE[] = "solve";

/* ---- device memory --------------------------------------------------------------------------- */

mpk_status mpki_solver_status(const mpki_block_solver *s, int status) {
    return mpki_cuda_status(s->ctx, STAGE, status);
}

enum { PLACE = 256, LOT_MOST = 1 << 24 };

static int64_t padded(int64_t bytes) {
    return bytes < PLACE ? PLACE : (bytes + PLACE - 1) / PLACE * PLACE;
}

static mpk_status allocate(mpki_block_solver *s, int64_t bytes, bool lot, void **p) {
    const mpk_status status = mpki_solver_status(s, s->d->table->take(s->d->cuda, bytes, p));
    if (mpk_failed(status)) return status;
    s->is_lot[s->buffers] = lot;
    s->buffer[s->buffers++] = *p;
    s->bytes += bytes;
    return MPK_OK;
}

mpk_status mpki_solver_may_take(mpki_block_solver *s, int64_t more, int arrays) {
    const double limit = s->stages->options->device_memory_limit;
    const double bytes = (double)s->bytes + (double)more;
    if (limit > 0 && !(bytes <= limit))
        return mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, (int64_t)bytes,
                          "solves need %.3f GiB of device memory beside the factor; "
                          "device_memory_limit is %.3f GiB",
                          bytes * 0x1p-30, limit * 0x1p-30);
    const int64_t lot = more + (int64_t)arrays * PLACE;
    s->lot_left = 0;
    if (lot > LOT_MOST || (limit > 0 && !((double)(s->bytes + lot) <= limit))) return MPK_OK;
    const mpk_status status = allocate(s, lot, true, (void **)&s->lot);
    if (!mpk_failed(status)) s->lot_left = lot;
    return status;
}

mpk_status mpki_solver_take(mpki_block_solver *s, int64_t bytes, void **p) {
    const int64_t place = padded(bytes);
    if (place > s->lot_left) return allocate(s, bytes < 16 ? 16 : bytes, false, p);
    *p = s->lot;
    s->lot += place, s->lot_left -= place;
    return MPK_OK;
}

void mpki_solver_give(mpki_block_solver *s, void *p, int64_t bytes) {
    for (int k = s->buffers - 1; k >= 0 && p; k--) {
        if (s->buffer[k] != p || s->is_lot[k]) continue;
        s->d->table->give(s->d->cuda, p);
        s->buffers--;
        s->buffer[k] = s->buffer[s->buffers], s->is_lot[k] = s->is_lot[s->buffers];
        s->bytes -= bytes < 16 ? 16 : bytes;
        return;
    }
}

mpk_status mpki_solver_copy(const mpki_block_solver *s, void *to, const void *from, int64_t bytes,
                            bool up) {
    void *stream = s->d->table->sweeps->stream(s->d->cuda);
    return mpki_solver_status(
        s, s->d->table->copy(s->d->cuda, to, bytes, from, bytes, bytes, 1, up, stream));
}

mpk_status mpki_solver_wait(const mpki_block_solver *s) {
    void *stream = s->d->table->sweeps->stream(s->d->cuda);
    return mpki_solver_status(s, s->d->table->synchronize(s->d->cuda, stream));
}

mpk_status mpki_solver_upload(mpki_block_solver *s, const void *from, int64_t bytes, void **to) {
    const mpk_status status = mpki_solver_take(s, bytes, to);
    return mpk_failed(status) ? status : mpki_solver_copy(s, *to, from, bytes, true);
}

int64_t mpki_solver_size(const mpki_block_solver *s) {
    return (int64_t)mpk_scalar_size(s->stored >= MPK_C ? MPK_Z : MPK_D);
}

static void release(mpk_context *ctx, mpki_block_solver *s) {
    if (!s) return;
    for (int k = 0; k < s->buffers; k++) s->d->table->give(s->d->cuda, s->buffer[k]);
    for (int k = 0; k < MPKI_SOLVER_TRIALS; k++)
        if (s->clock[k]) s->d->table->sweeps->clock_free(s->d->cuda, s->clock[k]);
    mpki_release(ctx, s);
}

void mpki_cuda_sweeps_free(mpk_context *ctx, mpki_block_solver **handle) {
    mpki_block_solver *s = *handle;
    release(ctx, s && s->home ? atomic_exchange(s->home, s) : s);
    *handle = NULL;
}

void mpki_cuda_sweeps_keep(mpki_block_solver *s, mpki_kept_solver *home) {
    s->home = home;
}

mpki_block_solver *mpki_cuda_sweeps_kept(mpki_kept_solver *home, int32_t columns, int32_t *takes) {
    mpki_block_solver *s = atomic_exchange(home, NULL);
    if (s && s->asked < columns && s->takes < columns) {
        release(s->ctx, s);
        return NULL;
    }
    if (s) *takes = s->takes;
    return s;
}

void mpki_cuda_sweeps_drop(mpk_context *ctx, mpki_kept_solver *home) {
    release(ctx, atomic_exchange(home, NULL));
}

mpk_status mpki_cuda_sweeps_of_products(mpk_context *ctx, mpki_isai_factor *isai,
                                        mpki_block_solver **out, int32_t *takes) {
    mpki_block_solver *s = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_solver);
    *takes = 1;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx, s->d = mpki_cuda_kept(ctx), s->isai = isai;
    return MPK_OK;
}

/* ---- applying -------------------------------------------------------------------------------- */

typedef struct application {
    mpki_block_solver *s;
    mpk_part part;
    mpki_sweeps_move move;
    mpki_sweeps_run run;
    int launches;
} application;

static bool forward(mpk_part part) {
    return part == MPK_PART_ALL || part == MPK_PART_ABS || part == MPK_PART_L;
}
static bool backward(mpk_part part) {
    return part == MPK_PART_ALL || part == MPK_PART_ABS || part == MPK_PART_LT;
}

static mpk_status launch(application *a, int64_t first, int64_t end) {
    mpki_block_solver *s = a->s;
    a->run.first = (int32_t)first, a->run.end = (int32_t)end;
    a->run.ticket = s->ticket + a->launches++;
    if (first == end) return MPK_OK;
    return mpki_solver_status(s, s->d->table->sweeps->run(s->d->cuda, &a->run));
}

/* ---- how many warps: as many as fit on the device, half of them, a quarter. One that waits too
 * long, or too many that ask whether results are there, change nothing but the time ---- */

static int32_t warps_of(const mpki_block_solver *s, int kind, int which) {
    int32_t warps = s->warps[kind];
    warps = which == 1 ? warps / 2 : which == 2 ? warps / 4 : warps;
    return warps < 1 ? 1 : warps > s->most_warps[kind] ? s->most_warps[kind] : warps;
}

/* The trials' times, as far as the device has come; after all of them, the choice. */
static mpk_status learn(mpki_block_solver *s) {
    int which = 0;
    for (double seconds; s->read < MPKI_SOLVER_TRIALS; s->read++) {
        const mpk_status status = mpki_solver_status(
            s, s->d->table->sweeps->clock_read(s->d->cuda, s->clock[s->read], &seconds));
        if (mpk_failed(status) || seconds < 0) return status;
        double *best = &s->best_s[s->read % 3];
        if (s->read < 3 || seconds < *best) *best = seconds;
    }
    for (int k = 1; k < 3; k++)
        if (s->best_s[k] < s->best_s[which]) which = k;
    for (int k = 0; k < 4; k++) s->warps[k] = warps_of(s, k, which);
    return MPK_OK;
}

static mpk_status sweeps(application *a);

/* The sweeps of a whole application with one vector are timed. */
static mpk_status timed(application *a) {
    mpki_block_solver *s = a->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    const bool whole = forward(a->part) && backward(a->part) && a->run.nrhs == 1;
    mpk_status status = MPK_OK;
    if (s->read == MPKI_SOLVER_TRIALS || !whole || s->stages->options->solve_sweeps ||
        table->captured(s->d->cuda))
        return sweeps(a);
    if (s->trials == MPKI_SOLVER_TRIALS) {
        status = learn(s);
        a->run.warps = s->warps[0];
        return mpk_failed(status) ? status : sweeps(a);
    }
    mpki_sweeps_clock **clock = &s->clock[s->trials];
    a->run.warps = warps_of(s, 0, s->trials % 3);
    if (!*clock) status = mpki_solver_status(s, table->clock_make(s->d->cuda, clock));
    if (!mpk_failed(status)) status = mpki_solver_status(s, table->clock_start(s->d->cuda, *clock));
    if (!mpk_failed(status)) status = sweeps(a);
    if (!mpk_failed(status)) status = mpki_solver_status(s, table->clock_stop(s->d->cuda, *clock));
    if (!mpk_failed(status)) s->trials++;
    return status;
}

/* ---- the dense pivot that ends the stages, between the sweeps: its rows have the last slots -- */

/* D^-1 or |D|^-1 of it. */
static mpk_status border_scale(application *a, void *vector) {
    mpki_block_solver *s = a->s;
    const int64_t size = mpki_solver_size(s), first = s->n - s->border.rows;
    mpki_sweeps_move m = a->move;
    if (!s->border.rows) return MPK_OK;
    m.n = s->border.rows;
    m.y = (char *)vector + first * m.slot_width * size;
    return mpki_solver_status(
        s, s->d->table->sweeps->scale(s->d->cuda, &m, s->border_diagonal[a->part == MPK_PART_ABS],
                                      s->border_partner));
}

static mpk_status border_multiply(application *a, bool back, void *vector) {
    mpki_block_solver *s = a->s;
    const int64_t size = mpki_solver_size(s), first = s->n - s->border.rows;
    mpki_sweeps_border b = s->border;
    if (!b.rows) return MPK_OK;
    b.slot_width = a->move.slot_width, b.backward = back;
    b.y = (char *)vector + first * b.slot_width * size;
    return mpki_solver_status(s, s->d->table->sweeps->border(s->d->cuda, &b));
}

/* Between the sweeps, the vector that the first of them left, or the one that the second begins
 * with. */
static mpk_status border_between(application *a, void *vector) {
    const bool ahead = forward(a->part), back = backward(a->part);
    mpk_status status = ahead ? border_multiply(a, false, vector) : MPK_OK;
    if (!mpk_failed(status) && ahead && back) status = border_scale(a, vector);
    return mpk_failed(status) || !back ? status : border_multiply(a, true, vector);
}

/* Results in vector[1], backward in vector[2]. */
static mpk_status exact(application *a) {
    mpki_block_solver *s = a->s;
    const bool both = forward(a->part) && backward(a->part);
    a->run.half[0] = (mpki_sweeps_half){s->vector[0], s->vector[1], s->vector[1]};
    a->run.half[1] = (mpki_sweeps_half){s->vector[both ? 1 : 0], s->vector[2], s->vector[2]};
    a->move.y = s->vector[backward(a->part) ? 2 : 1];
    const int64_t first = forward(a->part) ? 0 : s->task[1];
    const int64_t end = backward(a->part) ? s->task[2] : s->task[1];
    if (!s->border.rows) return launch(a, first, end);
    mpk_status status = launch(a, first, s->task[1]);
    if (!mpk_failed(status)) status = border_between(a, s->vector[forward(a->part) ? 1 : 0]);
    return mpk_failed(status) ? status : launch(a, s->task[1], end);
}

/* One direction: x := M b, then sweeps of x := M (b - (L - M^-1) x). `start` is the number of the
 * vector that b is in; returns the result's. */
static mpk_status jacobi(application *a, int half, int start, int *result) {
    mpki_block_solver *s = a->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    int from = (start + 1) % 3, to = (start + 2) % 3;
    const int64_t bytes = (int64_t)s->n * a->run.nrhs * mpki_solver_size(s);
    mpk_status status = mpki_solver_status(s, table->set(s->d->cuda, s->vector[from], 0, bytes));
    for (int sweep = 0; sweep <= s->stages->options->solve_sweeps && !mpk_failed(status); sweep++) {
        a->run.half[half] = (mpki_sweeps_half){s->vector[start], s->vector[from], s->vector[to]};
        status = launch(a, s->task[half], s->task[half + 1]);
        const int swap = from;
        from = to, to = swap;
    }
    *result = from;
    return status;
}

static mpk_status sweeps(application *a) {
    int at = 0;
    mpk_status status = MPK_OK;
    if (!a->s->stages->options->solve_sweeps) return exact(a);
    if (forward(a->part)) status = jacobi(a, 0, at, &at);
    if (!mpk_failed(status)) status = border_between(a, a->s->vector[at]);
    if (!mpk_failed(status) && backward(a->part)) status = jacobi(a, 1, at, &at);
    a->move.y = a->s->vector[at];
    return status;
}

/* b and x in device memory. */
static mpk_status on_device(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                            int64_t ldb, void *x, int64_t ldx) {
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    mpki_cuda *cuda = s->d->cuda;
    application a = {.s = s, .part = part};
    const bool sweeping = forward(part) || backward(part), all = forward(part) && backward(part);
    const bool wait_for = sweeping && !s->stages->options->solve_sweeps;
    int32_t slot_width = 1, kind = 0;
    while (slot_width < nrhs) slot_width *= 2, kind++;
    a.move = (mpki_sweeps_move){.scalar = s->scalar, .pivots = s->stored, .n = s->n, .nrhs = nrhs};
    a.move.stored = s->stored >= MPK_C ? MPK_Z : MPK_D;
    a.move.slot_width = slot_width;
    a.move.y = s->vector[0];
    a.move.x = (void *)(uintptr_t)b, a.move.ldx = ldb;
    a.move.index = forward(part) ? s->row : s->position[backward(part)];
    a.move.scale = forward(part) ? s->scale[0] : NULL;
    for (int k = 0; k < 2; k++) a.move.wait[k] = wait_for ? s->vector[k + 1] : NULL;
    a.run = (mpki_sweeps_run){.scalar = s->stored, .nrhs = slot_width, .warps = s->warps[kind]};
    a.run.task = s->tasks, a.run.packets = s->packets, a.run.part = s->part;
    a.run.diagonal = all ? s->diagonal[part == MPK_PART_ABS] : NULL;
    a.run.partner = s->partner, a.run.ahead = s->ahead;
    a.move.ticket = s->ticket;
    a.move.tickets = sweeping ? 2 * ((int64_t)s->stages->options->solve_sweeps + 1) : 0;
    mpk_status status = mpki_solver_status(s, table->in(cuda, &a.move));
    if (!mpk_failed(status) && sweeping) {
        status = timed(&a);
    } else if (!mpk_failed(status)) {
        status = mpki_solver_status(
            s, table->scale(cuda, &a.move, s->diagonal[part == MPK_PART_ABS], s->partner));
        if (!mpk_failed(status)) status = border_scale(&a, a.move.y);
    }
    a.move.x = x, a.move.ldx = ldx;
    a.move.index = s->slot_at[backward(part)];
    a.move.scale = backward(part) ? s->scale[1] : NULL;
    return mpk_failed(status) ? status : mpki_solver_status(s, table->out(cuda, &a.move));
}

mpk_status mpki_cuda_sweeps_apply(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
    const mpki_cuda_table *table = s->d->table;
    mpki_cuda *cuda = s->d->cuda;
    const int64_t size = (int64_t)mpk_scalar_size(s->scalar), n = s->n;
    if (s->isai) return nrhs == 0 ? MPK_OK : mpki_isai_factor_apply(s->isai, part, b, x);
    if (n == 0 || nrhs == 0) return MPK_OK;
    void *stream = table->sweeps->stream(cuda);
    const bool b_here = table->is_device(cuda, b), x_here = table->is_device(cuda, x);
    mpk_status status = MPK_OK;
    if (!b_here) {
        status = mpki_solver_status(
            s, table->copy(cuda, s->staging, n * size, b, ldb * size, n * size, nrhs, 1, stream));
        b = s->staging, ldb = n;
    }
    if (mpk_failed(status)) return status;
    status = on_device(s, part, nrhs, b, ldb, x_here ? x : s->staging, x_here ? ldx : n);
    if (!mpk_failed(status) && !x_here)
        status = mpki_solver_status(
            s, table->copy(cuda, x, ldx * size, s->staging, n * size, n * size, nrhs, 0, stream));
    return mpk_failed(status) || (x_here && b_here) ? status : mpki_solver_wait(s);
}
