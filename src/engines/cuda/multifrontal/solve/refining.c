/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of refinement on the device: made, kept, released. */
#include "refining.h"

#include <string.h>

static const char STAGE[] = "solve";

static void release(const mpki_direct *f, mpki_cuda_refining *z) {
    if (!z) return;
    if (z->a.report)
        (void)f->device->table->direct->refine[f->tree.scalar]->hold(f->device->cuda, 0,
                                                                     &z->a.report);
    if (z->memory) f->device->table->release(f->device->cuda, z->memory);
    for (int k = 0; k < MPKI_CUDA_EXTRAS; k++)
        if (z->extra[k]) f->device->table->release(f->device->cuda, z->extra[k]);
    mpki_cuda_nulls_free(f, &z->nulls);
    mpki_release(f->ctx, z);
}

void mpki_cuda_refining_keep(const mpki_direct *f, mpki_cuda_refining *z) {
    /* what a factor keeps for its next solve is no part of it */
    release(f, atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, z));
}

void mpki_cuda_direct_drop_refining(mpki_direct *f) {
    mpki_cuda_refining_keep(f, NULL);
}

mpki_cuda_refining *mpki_cuda_refining_take(const mpki_direct *f, int32_t columns) {
    mpki_cuda_refining *z = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, NULL);
    if (z) z->few = columns <= z->columns / MPKI_CUDA_FEW ? z->few + 1 : 0;
    if (z && z->columns >= columns && z->few < MPKI_CUDA_FEW_SOLVES) return z;
    release(f, z);
    const int64_t n = f->tree.n;
    const mpki_cuda_by_rows *rows = mpki_cuda_direct_rows(f);
    if (!rows) return NULL;
    const int64_t blocks = (n + rows->longs) / MPKI_CUDA_REFINE_ROWS + 2;
    const int64_t sums = rows->pieces * (int64_t)MPKI_CUDA_REFINE_SUMS;
    const int64_t part[] = {2 * blocks * (columns + 1) * 8, sums * (columns + 1) * 8,
                            (columns + 1) * (int64_t)sizeof(mpki_cuda_errors)};
    enum { PARTS = sizeof part / sizeof *part };
    char *at[PARTS];
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) bytes += (part[k] + 255) & ~(int64_t)255;
    if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit) return NULL;
    z = mpki_alloc(f->ctx, STAGE, 1, sizeof *z);
    if (z) memset(z, 0, sizeof *z);
    if (!z || mpk_failed(f->device->table->alloc(f->device->cuda, bytes, &z->memory))) {
        if (z) z->memory = NULL;
        release(f, z);
        return NULL;
    }
    char *next = z->memory;
    for (int k = 0; k < PARTS; k++) at[k] = next, next += (part[k] + 255) & ~(int64_t)255;
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
                              .errors = (mpki_cuda_errors *)(void *)at[2]};
    /* without it errors are copied */
    if (mpk_failed(f->device->table->direct->refine[f->tree.scalar]->hold(
            f->device->cuda, columns + 1, &z->a.report)))
        z->a.report = NULL;
    z->columns = columns, z->bytes = bytes;
    return z;
}

static int64_t bytes_of_extra(const mpki_direct *f, const mpki_cuda_refining *z) {
    return z->columns * (int64_t)f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
}

char *mpki_cuda_refining_extra(const mpki_direct *f, mpki_direct_solver *s, mpki_cuda_refining *z,
                               int32_t columns, int which) {
    const int64_t bytes = bytes_of_extra(f, z);
    void **p = &z->extra[which];
    char *lent = *p ? NULL : mpki_cuda_direct_lend(s, columns, which == MPKI_CUDA_EXTRA_BEST);
    if (lent) return lent;
    if (*p || (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit))
        return *p;
    if (mpk_failed(f->device->table->alloc(f->device->cuda, bytes, p))) *p = NULL;
    return *p;
}

int64_t mpki_cuda_refining_bytes(const mpki_direct *f, const mpki_cuda_refining *z) {
    int64_t bytes = z->bytes + mpki_cuda_nulls_bytes(f, &z->nulls);
    for (int k = 0; k < MPKI_CUDA_EXTRAS; k++) bytes += z->extra[k] ? bytes_of_extra(f, z) : 0;
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
