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
    return MPKI_DISPATCH(fac->an->scalar, flatness)(fac->scale, INFINITY, MPKI_FLATNESS_MOST, work,
                                                    v)
        .rough;
}

enum { AT_ONCE = 16 /* vectors that go through the factor together */ };

/* v := S P^T L^-T v for `count` vectors, and less of what A leaves of them, if that is much.
 * r [work] as many; of one vector work->r will do. kernel [out] is it one of the kernel? */
static void settle(mpki_solve_work *work, mpki_application *m, int count, char *v, char *r,
                   bool *kernel) {
    static const double CLEAR = 1e4, FLAT = 10;
    const mpk_factor *fac = m->fac;
    const mpk_scalar scalar = fac->an->scalar;
    const int32_t n = fac->an->n;
    const int64_t bytes = n * (int64_t)mpk_scalar_size(scalar);
    const double bound = mpki_default_zero_tolerance(scalar);
    bool more[AT_ONCE], any = false;
    mpki_apply(m, MPK_PART_LT, count, v, n, v, n);
    for (int k = 0; k < count; k++) {
        const double first = rough(work, v + k * bytes);
        kernel[k] = isfinite(first);
        more[k] = kernel[k] && !(first <= FLAT * bound);
        any = any || more[k];
        if (r != work->r) memcpy(r + k * bytes, work->r, (size_t)bytes);
    }
    if (any) mpki_apply(m, MPK_PART_ALL, count, r, n, r, n);
    for (int k = 0; k < count; k++) {
        if (!more[k]) continue;
        MPKI_DISPATCH(scalar, column_add)(n, 0, r + k * bytes, v + k * bytes);
        kernel[k] = rough(work, v + k * bytes) <= CLEAR * bound;
    }
}

/* Vectors of single zero pivots, until there are as many as zero pivots. */
static mpk_status join_each(mpki_solve_work *work, mpki_basis *basis) {
    const mpk_factor *fac = work->m.fac;
    mpk_context *ctx = work->m.ctx;
    const int64_t zeros = fac->info.inertia.zero, n = fac->an->n;
    const size_t bytes = (size_t)n * mpk_scalar_size(fac->an->scalar);
    mpki_weak_pivot list[MPKI_BASIS_MOST];
    const int there = fac->engine->direct->zeros(fac->direct, zeros, MPKI_BASIS_MOST, list);
    const int at_once = there < AT_ONCE ? there : AT_ONCE;
    mpki_application m;
    if (there == 0) return MPK_OK;
    mpk_status status = mpki_apply_make(ctx, fac, fac->options.threads, at_once, &m);
    if (mpk_failed(status)) return status;
    char *v = mpki_alloc(ctx, STAGE, 2 * at_once, bytes), *to;
    if (!v) status = mpki_failed(ctx);
    for (int from = 0; v && from < there && basis->count < zeros; from += at_once) {
        const int count = there - from < at_once ? there - from : at_once;
        bool kernel[AT_ONCE];
        for (int k = 0; k < count; k++) MPKI_DISPATCH(fac->an->scalar, null_of_weak)
        (&list[from + k], fac->an->n, v + (size_t)k * bytes);
        settle(work, &m, count, v, v + (size_t)at_once * bytes, kernel);
        for (int k = 0; k < count && basis->count < zeros; k++) {
            if (!kernel[k]) continue;
            to = room(ctx, fac, basis);
            if (!to) {
                status = mpki_failed(ctx);
                break;
            }
            memcpy(to, v + (size_t)k * bytes, bytes);
            join(fac, basis, to);
        }
        if (mpk_failed(status)) break;
    }
    mpki_release(ctx, v);
    mpki_apply_free(&m);
    return status;
}

static mpk_status probe(mpki_solve_work *work, mpki_basis *basis) {
    const mpk_factor *fac = work->m.fac;
    char *v = room(work->m.ctx, fac, basis);
    if (!v) return mpki_failed(work->m.ctx);
    fac->engine->direct->at_zeros(fac->direct, v);
    MPKI_DISPATCH(fac->an->scalar, basis_mix)(fac->an->n, v);
    settle(work, &work->m, 1, v, work->r, &basis->probed);
    if (basis->probed) join(fac, basis, v);
    return MPK_OK;
}

/* ---- from one solve to the next -------------------------------------------------------------- */

int64_t mpki_kept_basis_bytes(const mpk_factor *fac) {
    return atomic_load(&fac->basis_bytes);
}

/* After a fork: a thread that is gone may have written half of it. */
static void forget_kept(mpk_factor *fac) {
    fac->basis = (mpki_kept_basis){0};
    atomic_store(&fac->basis_bytes, 0);
}

void mpki_kept_basis_drop(mpk_factor *fac) {
    mpki_release(fac->ctx, fac->basis.v);
    forget_kept(fac);
}

static int vectors_kept(const mpki_kept_basis *kept, bool all) {
    return !kept->made ? 0 : all && kept->all ? kept->count : kept->first;
}

static bool enough_is_kept(const mpki_kept_basis *kept, bool all) {
    return kept->made && (!all || kept->all);
}

bool mpki_basis_kept(const mpk_factor *fac, bool all, mpki_basis *basis) {
    mpk_factor *own = (mpk_factor *)(uintptr_t)fac; /* a lock is no part of it */
    mpki_kept_basis *kept = &own->basis;
    if (mpki_lock_take(&own->bringing)) forget_kept(own);
    const bool enough = enough_is_kept(kept, all);
    if (enough)
        *basis = (mpki_basis){.made = true,
                              .probed = kept->probed,
                              .count = vectors_kept(kept, all),
                              .stamp = kept->stamp};
    mpki_lock_give(&own->bringing);
    basis->whole = enough && basis->count == fac->info.inertia.zero;
    return enough;
}

/* Vectors that an earlier solve has found, the same that this one would find. Returns whether they
 * are all that is asked for. */
static bool take_kept(mpk_context *ctx, mpk_factor *fac, bool all, mpki_basis *basis) {
    const size_t bytes = (size_t)fac->an->n * mpk_scalar_size(fac->an->scalar);
    mpki_kept_basis *kept = &fac->basis;
    if (mpki_lock_take(&fac->bringing)) forget_kept(fac);
    const bool enough = enough_is_kept(kept, all);
    const int count = vectors_kept(kept, all);
    if (count > basis->count) {
        void *v = mpki_resize(ctx, STAGE, basis->v, count, bytes);
        if (v) {
            memcpy(v, kept->v, (size_t)count * bytes);
            basis->v = v, basis->count = count, basis->stamp = kept->stamp;
        }
    }
    if (kept->made && !basis->made) basis->probed = kept->probed, basis->made = true;
    mpki_lock_give(&fac->bringing);
    return enough;
}

/* first [in] vectors before those of each zero pivot. Nothing is kept where that would be much
 * beside the factor, or in memory that another thread's context gives. */
static void keep(mpk_context *ctx, mpk_factor *fac, bool all, int first, mpki_basis *basis) {
    enum { KEPT_ANYWAY = 8 << 20 };
    static _Atomic uint64_t stamps;
    const size_t bytes = (size_t)fac->an->n * mpk_scalar_size(fac->an->scalar);
    const double most = 0.25 * (double)fac->info.nnz * (double)mpk_scalar_size(fac->an->scalar);
    if (ctx != fac->ctx || (double)basis->count * (double)bytes > fmax(most, KEPT_ANYWAY)) return;
    mpki_kept_basis *kept = &fac->basis;
    if (mpki_lock_take(&fac->bringing)) forget_kept(fac);
    if (!kept->made || (all && !kept->all)) {
        void *v = mpki_alloc(ctx, NULL, basis->count + 1, bytes); /* without it nothing is lost */
        if (v) {
            if (basis->count > 0) memcpy(v, basis->v, (size_t)basis->count * bytes);
            mpki_release(ctx, kept->v);
            *kept = (mpki_kept_basis){.made = true,
                                      .probed = basis->probed,
                                      .all = all,
                                      .first = first,
                                      .count = basis->count,
                                      .v = v,
                                      .stamp = 1 + atomic_fetch_add(&stamps, 1)};
            basis->stamp = kept->stamp;
            atomic_store(&fac->basis_bytes, (int64_t)(((size_t)basis->count + 1) * bytes));
        }
    }
    mpki_lock_give(&fac->bringing);
}

mpk_status mpki_basis_make(mpki_solve_work *work, bool all, mpki_basis *basis) {
    const mpk_factor *fac = work->m.fac;
    mpk_factor *own = (mpk_factor *)(uintptr_t)fac; /* what is kept changes no result */
    const mpki_rank_memory *known = &fac->known;
    mpk_context *ctx = work->m.ctx;
    const int64_t n = fac->an->n, size = (int64_t)mpk_scalar_size(fac->an->scalar);
    const int64_t zeros = fac->info.inertia.zero;
    mpk_status status = MPK_OK;
    if (take_kept(ctx, own, all, basis)) {
        basis->whole = basis->count == zeros;
        return mpki_failed(ctx);
    }
    for (int k = 0; !basis->made && k < known->count; k++) {
        char *v = room(ctx, fac, basis);
        if (!v) return mpki_failed(ctx);
        memcpy(v, (const char *)known->vector + k * n * size, (size_t)(n * size));
        join(fac, basis, v);
    }
    if (!basis->made && basis->count < zeros) status = probe(work, basis);
    basis->made = true;
    const int first = basis->count;
    basis->stamp = 0;
    if (!mpk_failed(status) && all && basis->count < zeros && zeros <= MPKI_BASIS_MOST)
        status = join_each(work, basis);
    basis->whole = basis->count == zeros;
    if (!mpk_failed(status)) status = mpki_failed(ctx); /* of applications, or a wish to stop */
    if (!mpk_failed(status)) keep(ctx, own, all, first, basis);
    return status;
}
