/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of refinement on the device: made, kept, released. */
#include "refining.h"

static const char STAGE[] = "solve";

static const mpki_cuda_refine_kind *kernels(const mpki_direct *f) {
    return f->device->table->direct->refine[f->tree.scalar];
}

/* Give back all that is on the device. */
static void leave(const mpki_direct *f, mpki_cuda_refining *z) {
    mpki_cuda_vector_room_leave(f, &z->sums);
    z->columns = 0;
    for (int k = 0; k < MPKI_CUDA_EXTRAS; k++) mpki_cuda_vector_room_leave(f, &z->extra[k]);
    mpki_cuda_vector_room_leave(f, &z->asked);
    z->stamp = 0;
    mpki_cuda_nulls_free(f, &z->nulls);
}

static void release(const mpki_direct *f, mpki_cuda_refining *z) {
    if (!z) return;
    if (z->a.report) (void)kernels(f)->hold(f->device->cuda, 0, &z->a.report);
    leave(f, z);
    mpki_release(f->ctx, z);
}

static int64_t vector_bytes(const mpki_direct *f, int32_t columns) {
    return columns * (int64_t)f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
}

void mpki_cuda_refining_keep(const mpki_direct *f, mpki_cuda_refining *z) {
    if (z && z->columns > 1) mpki_cuda_vector_room_end(f, 0, &z->sums);
    if (z && !z->sums.own) z->columns = 0;
    for (int k = 0; z && k < MPKI_CUDA_EXTRAS; k++)
        mpki_cuda_vector_room_end(f, vector_bytes(f, 1), &z->extra[k]);
    /* what a factor keeps for its next solve is no part of it */
    release(f, atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, z));
}

void mpki_cuda_direct_drop_refining(mpki_direct *f) {
    mpki_cuda_refining_keep(f, NULL);
}

/* Room for sums of so many right-hand sides, and what kernels are given. Returns false: there is no
 * memory. */
static bool make_sums(const mpki_direct *f, mpki_cuda_refining *z, int32_t columns) {
    const int64_t n = f->tree.n;
    const mpki_cuda_by_rows *rows = mpki_cuda_direct_rows(f);
    if (!rows) return false;
    const int64_t blocks = (n + rows->longs) / MPKI_CUDA_REFINE_ROWS + 2;
    const int64_t sums = rows->pieces * (int64_t)MPKI_CUDA_REFINE_SUMS;
    const int64_t part[] = {2 * blocks * (columns + 1) * 8, sums * (columns + 1) * 8,
                            (columns + 1) * (int64_t)sizeof(mpki_cuda_errors)};
    enum { PARTS = sizeof part / sizeof *part };
    char *at[PARTS];
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) bytes += (part[k] + 255) & ~(int64_t)255;
    if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit) return false;
    mpki_cuda_vector_room_leave(f, &z->sums);
    z->columns = 0;
    if (mpk_failed(mpki_cuda_vector_room_make(f, bytes, &z->sums))) return false;
    mpki_cuda_errors *report = z->a.report;
    char *next = z->sums.at;
    for (int k = 0; k < PARTS; k++) at[k] = next, next += (part[k] + 255) & ~(int64_t)255;
    /* without it errors are copied */
    if (report && z->reported < columns) (void)kernels(f)->hold(f->device->cuda, 0, &report);
    if (z->reported < columns) {
        z->reported = columns;
        if (mpk_failed(kernels(f)->hold(f->device->cuda, columns + 1, &report))) report = NULL;
    }
    z->a = (mpki_cuda_refine){.a = *rows,
                              .ax = f->ax,
                              .scale = f->given_scale,
                              .lanes = f->tree.nnz <= 6 * n    ? 4
                                       : f->tree.nnz <= 24 * n ? 8
                                                               : 32,
                              .partial = (double *)(void *)at[0],
                              .piece = (double *)(void *)at[1],
                              .partials = 2 * blocks,
                              .sums = sums,
                              .errors = (mpki_cuda_errors *)(void *)at[2],
                              .report = report};
    z->columns = columns;
    return true;
}

mpki_cuda_refining *mpki_cuda_refining_take(const mpki_direct *f, int32_t columns) {
    mpki_cuda_refining *z = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, NULL);
    if (!z) z = mpki_calloc(f->ctx, STAGE, 1, sizeof *z);
    if (!z) return NULL;
    const int32_t most = z->columns > z->nulls.columns ? z->columns : z->nulls.columns;
    z->few = columns <= most / MPKI_CUDA_FEW ? z->few + 1 : 0;
    if (z->few >= MPKI_CUDA_FEW_SOLVES) leave(f, z);
    if (z->columns >= columns || make_sums(f, z, columns)) return z;
    release(f, z);
    return NULL;
}

char *mpki_cuda_refining_extra(const mpki_direct *f, mpki_direct_solver *s, mpki_cuda_refining *z,
                               int32_t columns, int which) {
    const int64_t bytes = vector_bytes(f, columns);
    mpki_cuda_room *r = &z->extra[which];
    char *lent = r->bytes >= bytes
                     ? r->own
                     : mpki_cuda_direct_lend(s, columns, which == MPKI_CUDA_EXTRA_BEST);
    if (lent) return lent;
    mpki_cuda_vector_room_leave(f, r);
    if ((f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit) ||
        mpk_failed(mpki_cuda_vector_room_make(f, bytes, r)))
        return NULL;
    return r->own;
}

int64_t mpki_cuda_refining_bytes(const mpki_direct *f, const mpki_cuda_refining *z) {
    int64_t bytes = z->sums.bytes + z->asked.bytes + mpki_cuda_nulls_bytes(f, &z->nulls);
    for (int k = 0; k < MPKI_CUDA_EXTRAS; k++) bytes += z->extra[k].bytes;
    return bytes;
}

int64_t mpki_cuda_direct_beside(const mpki_direct *f) {
    /* nobody else has it while it is looked at */
    mpki_cuda_refining *z = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, NULL);
    const int64_t refining = z ? mpki_cuda_refining_bytes(f, z) : 0;
    if (z) mpki_cuda_refining_keep(f, z);
    return refining + mpki_cuda_direct_spare_held(f) + mpki_cuda_direct_taking_held(f) +
           mpki_cuda_direct_rows_held(f);
}
