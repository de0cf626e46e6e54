/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a device's direct factor or a part of it: the order of the sweeps. */
#include "solver.h"

#define DID(call) mpki_cuda_solver_did(s, (call))

/* Places of what is unset before sweeps of s->sweep.nrhs right-hand sides; x of L^-T goes to
 * `out`. */
static void place_sweeps(mpki_direct_solver *s, void *out, int64_t ldout) {
    const mpki_direct *f = s->f;
    mpki_cuda_sweep *w = &s->sweep;
    char *const from = s->vectors[MPKI_CUDA_UNSET].at;
    int64_t at[5];
    w->again = w->sheets > 1 && mpki_cuda_solver_shares(s, s->block, s->sheets);
    mpki_cuda_solver_unset(s, w->nrhs, w->again, at);
    const bool spread = f->tree.scalar == MPK_D && w->sheets > MPKI_CUDA_SHEETS_TOGETHER;
    w->down = s->down[spread], w->downs = s->downs[spread];
    w->up = s->up[spread], w->ups = s->ups[spread];
    w->y = s->vectors[MPKI_CUDA_BY_POSITION].at;
    w->ticket = (int32_t *)(void *)from;
    w->finished = w->ticket + 2;
    w->sent = from + at[0], w->sent_back = from + at[1];
    w->u = from + at[2], w->x = from + at[3];
    w->sheet = at[4];
    w->unset = w->sheets * at[4];
    w->out = out, w->ldout = ldout, w->perm = f->perm, w->scale = f->on.scale;
}

/* NULL: it is too little. */
static void *memory_for_squares(const mpki_direct_solver *s) {
    return mpki_cuda_solver_squares(s) <= s->f->idle_bytes ? s->f->idle : NULL;
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
    const mpki_direct *f = s->f;
    const bool rounds =
        s->wanted && atomic_load(&f->squared) && mpki_cuda_solver_half_copies(s) > 0;
    /* another solve may write there */
    char *const memory = rounds && s->owns_idle ? f->idle + mpki_cuda_solver_squares(s) : NULL;
    w->rounds = rounds;
    w->half_copied = memory && atomic_load(&f->half_copied);
    w->half_copy =
        w->half_copied || atomic_load(&f->corrections) >= MPKI_HALF_COPY_AFTER ? memory : NULL;
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
    const int64_t idle = s->idle;
    const int32_t tries[] = {columns, s->block < columns ? s->block : columns, 1};
    int k = 0;
    while (!mpki_cuda_solver_room(s, MPKI_CUDA_STAGED,
                                  mpki_cuda_solver_vectors(s, MPKI_CUDA_STAGED, tries[k], 1))) {
        mpki_clear_error(s->ctx);
        if (++k < 2) continue;
        s->vectors[MPKI_CUDA_STAGED].at = s->one;
        break;
    }
    s->idle = idle; /* it is free again after this application */
    return tries[k];
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
    void *const stage = s->vectors[MPKI_CUDA_STAGED].at;
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
