/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of a singular factor's matrix, as its zero pivots show it. */
#include "deflate.h"
#include "../problem/columns.h"
#include "rank.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

void mpki_basis_free(mpk_context *ctx, mpki_basis *basis) {
    mpki_release(ctx, basis->v);
    *basis = (mpki_basis){0};
}

/* Room for one more vector; NULL: no memory. */
static char *room(mpk_context *ctx, const mpk_factor *fac, mpki_basis *basis) {
    const int64_t n = fac->an->n, size = (int64_t)mpk_scalar_size(fac->an->scalar);
    void *v = mpki_resize(ctx, STAGE, basis->v, (basis->count + 1) * n, (size_t)size);
    if (!v) return NULL;
    basis->v = v;
    return (char *)v + basis->count * n * size;
}

static void join(const mpk_factor *fac, mpki_basis *basis, void *v) {
    basis->count += MPKI_DISPATCH(fac->an->scalar, basis_join)(fac->an->n, fac->scale, basis->count,
                                                               basis->v, v);
}

/* How nearly A takes v to zero, roughly; work->r := -A v. */
static double rough(mpki_solve_work *work, void *v) {
    const mpk_factor *fac = work->m.fac;
    return MPKI_DISPATCH(fac->an->scalar, flatness)(fac->scale, INFINITY, work, v).rough;
}

/* v := S P^T L^-T v, and less of what A leaves of it, if that is much. False: it is none of the
 * kernel. */
static bool settle(mpki_solve_work *work, void *v) {
    static const double CLEAR = 1e4, FLAT = 10;
    const mpk_factor *fac = work->m.fac;
    const int32_t n = fac->an->n;
    const double bound = mpki_default_zero_tolerance(fac->an->scalar);
    mpki_apply(&work->m, MPK_PART_LT, 1, v, n, v, n);
    const double first = rough(work, v);
    if (first <= FLAT * bound || !isfinite(first)) return isfinite(first);
    mpki_apply_inverse(work, work->r);
    MPKI_DISPATCH(fac->an->scalar, column_add)(n, 0, work->r, v);
    return rough(work, v) <= CLEAR * bound;
}

/* Vectors of single zero pivots, until there are as many as zero pivots. */
static mpk_status join_each(mpki_solve_work *work, mpki_basis *basis) {
    const mpk_factor *fac = work->m.fac;
    const int64_t zeros = fac->info.inertia.zero;
    mpki_weak_pivot list[MPKI_BASIS_MOST];
    const int there = fac->engine->direct->zeros(fac->direct, zeros, MPKI_BASIS_MOST, list);
    for (int k = 0; k < there && basis->count < zeros; k++) {
        char *v = room(work->m.ctx, fac, basis);
        if (!v) return mpki_failed(work->m.ctx);
        MPKI_DISPATCH(fac->an->scalar, null_of_weak)(&list[k], fac->an->n, v);
        if (settle(work, v)) join(fac, basis, v);
    }
    return MPK_OK;
}

static mpk_status probe(mpki_solve_work *work, mpki_basis *basis) {
    const mpk_factor *fac = work->m.fac;
    char *v = room(work->m.ctx, fac, basis);
    if (!v) return mpki_failed(work->m.ctx);
    fac->engine->direct->at_zeros(fac->direct, v);
    MPKI_DISPATCH(fac->an->scalar, basis_mix)(fac->an->n, v);
    basis->probed = settle(work, v);
    if (basis->probed) join(fac, basis, v);
    return MPK_OK;
}

mpk_status mpki_basis_make(mpki_solve_work *work, bool all, mpki_basis *basis) {
    const mpk_factor *fac = work->m.fac;
    const mpki_rank_memory *known = &fac->known;
    mpk_context *ctx = work->m.ctx;
    const int64_t n = fac->an->n, size = (int64_t)mpk_scalar_size(fac->an->scalar);
    const int64_t zeros = fac->info.inertia.zero;
    mpk_status status = MPK_OK;
    for (int k = 0; !basis->made && k < known->count; k++) {
        char *v = room(ctx, fac, basis);
        if (!v) return mpki_failed(ctx);
        memcpy(v, (const char *)known->vector + k * n * size, (size_t)(n * size));
        join(fac, basis, v);
    }
    if (!basis->made && basis->count < zeros) status = probe(work, basis);
    basis->made = true;
    if (!mpk_failed(status) && all && basis->count < zeros && zeros <= MPKI_BASIS_MOST)
        status = join_each(work, basis);
    basis->whole = basis->count == zeros;
    return status;
}
