/* SPDX-License-Identifier: BSD-3-Clause */
/* Pivots that elimination has lost to rounding, measured with A itself. */
#include "measured.h"
#include "../problem/columns.h"

#include <string.h>

static const char STAGE[] = "factorize";

void mpki_measured_drop(mpk_factor *fac) {
    struct mpki_measured *m = fac->measured;
    if (!m) return;
    mpki_release(fac->ctx, m->u);
    mpki_release(fac->ctx, m->inverse);
    mpki_release(fac->ctx, m);
    fac->measured = NULL;
}

void mpki_measured_age(mpk_factor *fac) {
    if (fac->measured) fac->measured->valid = false;
}

int64_t mpki_measured_bytes(const mpk_factor *fac) {
    const int64_t size = (int64_t)mpk_scalar_size(fac->an->scalar);
    return fac->measured ? fac->measured->count * (int64_t)fac->an->n * size : 0;
}

/* x := M^+ x for `count` vectors. */
static mpk_status without(mpki_application *m, const struct mpki_measured *pivots, int count,
                          void *x) {
    const mpk_scalar scalar = m->fac->an->scalar;
    const int32_t n = m->fac->an->n;
    const size_t bytes = (size_t)n * mpk_scalar_size(scalar);
    static const mpk_part parts[] = {MPK_PART_L, MPK_PART_D, MPK_PART_LT};
    mpk_status status = MPK_OK;
    for (int k = 0; k < 3 && !mpk_failed(status); k++) {
        status = mpki_apply(m, parts[k], count, x, n, x, n);
        for (int c = 0; c < count && parts[k] != MPK_PART_LT; c++)
            MPKI_DISPATCH(scalar, null_project)
        (pivots->list, pivots->count, (char *)x + (size_t)c * bytes);
    }
    return status;
}

/* r_k := -A u_k, level[k] := |u_k|^T |A| |u_k| */
static void products(mpki_solve_work *work, const struct mpki_measured *m, char *r, double *level) {
    const mpk_problem_view *a = &work->system.a;
    const size_t bytes = (size_t)a->n * mpk_scalar_size(a->scalar);
    memset(r, 0, (size_t)m->count * bytes);
    for (int k = 0; k < m->count; k++) {
        char *const rk = r + (size_t)k * bytes;
        const char *const uk = (const char *)m->u + (size_t)k * bytes;
        mpki_residual(a, uk, rk, rk, work->w, work->sums);
        level[k] = MPKI_DISPATCH(a->scalar, measured_level)(a->n, uk, work->w);
    }
}

/* The vectors, refined by the other pivots; T. older [in] they are those of older values */
static mpk_status measure(mpk_factor *fac, struct mpki_measured *m, bool older) {
    const int steps = older ? 1 : 2;
    const mpk_scalar scalar = fac->an->scalar;
    const int32_t n = fac->an->n;
    const size_t bytes = (size_t)n * mpk_scalar_size(scalar);
    double level[MPKI_WEAK_MOST];
    mpki_solve_work work;
    mpk_status status = mpki_solve_work_make(fac->ctx, fac, fac->options.threads, m->count, &work);
    if (mpk_failed(status)) return status;
    char *r = mpki_alloc(fac->ctx, STAGE, m->count, bytes);
    for (int k = 0; r && k < m->count && !older; k++)
        MPKI_DISPATCH(scalar, null_of_weak)(&m->list[k], n, (char *)m->u + (size_t)k * bytes);
    if (r && !older) status = mpki_apply(&work.m, MPK_PART_LT, m->count, m->u, n, m->u, n);
    for (int step = 0; r && step < steps && !mpk_failed(status); step++) {
        products(&work, m, r, level);
        status = without(&work.m, m, m->count, r);
        for (int k = 0; k < m->count; k++) MPKI_DISPATCH(scalar, column_add)
        (n, 0, r + (size_t)k * bytes, (char *)m->u + (size_t)k * bytes);
    }
    if (r && !mpk_failed(status)) {
        products(&work, m, r, level);
        m->valid = MPKI_DISPATCH(scalar, measured_inverse)(n, m->count, m->u, r, level, m->inverse);
    }
    mpki_release(fac->ctx, r);
    mpki_solve_work_free(fac->ctx, &work);
    return mpk_failed(status) ? status : mpki_failed(fac->ctx);
}

static void by_place(mpki_weak_pivot *list, int count) {
    for (int k = 1; k < count; k++) {
        const mpki_weak_pivot p = list[k];
        int at = k;
        for (; at > 0 && list[at - 1].at[0] > p.at[0]; at--) list[at] = list[at - 1];
        list[at] = p;
    }
}

/* Are these pivots where those of `m` were? */
static bool same_places(const struct mpki_measured *m, const mpki_weak_pivot *list, int count) {
    bool same = m && m->count == count;
    for (int k = 0; same && k < count; k++)
        same = m->list[k].at[0] == list[k].at[0] && m->list[k].pair == list[k].pair;
    return same;
}

/* The pivots that are measured, by their places. Returns how many; MPKI_WEAK_MOST + 1: too many. */
static int find(const mpk_factor *fac, mpki_weak_pivot list[MPKI_WEAK_MOST + 1]) {
    const mpk_scalar scalar = fac->an->scalar;
    const double small = scalar == MPK_S || scalar == MPK_C ? 1e-5 : 1e-13; /* mostly rounding */
    const mpki_direct_engine *direct = fac->engine->direct;
    const int64_t zeros = fac->info.inertia.zero;
    if (zeros > MPKI_WEAK_MOST) return MPKI_WEAK_MOST + 1;
    int count = direct->zeros(fac->direct, zeros, MPKI_WEAK_MOST, list);
    count += direct->weak(fac->direct, small, MPKI_WEAK_MOST + 1 - count, list + count);
    by_place(list, count);
    return count;
}

mpk_status mpki_measured_make(mpk_factor *fac, bool *made) {
    const mpk_analysis *an = fac->an;
    const bool counted = an->scalar <= MPK_D || an->symmetry == MPK_HERMITIAN;
    const size_t size = mpk_scalar_size(an->scalar);
    mpki_weak_pivot list[MPKI_WEAK_MOST + 1];
    *made = false;
    mpki_measured_age(fac);
    if (!counted || an->split || mpki_lossy(fac) || fac->engine->memory != MPK_HOST) return MPK_OK;
    const int count = find(fac, list);
    if (count == 0 || count > MPKI_WEAK_MOST) return MPK_OK;
    const bool older = same_places(fac->measured, list, count);
    if (!older) {
        mpki_measured_drop(fac);
        fac->measured = MPKI_ZNEW(fac->ctx, STAGE, 1, struct mpki_measured);
    }
    struct mpki_measured *m = fac->measured;
    if (!m) return mpki_failed(fac->ctx);
    if (!older) {
        m->count = count;
        m->u = mpki_alloc(fac->ctx, STAGE, count * (int64_t)an->n, size);
        m->inverse = mpki_alloc(fac->ctx, STAGE, count * count, size);
    }
    memcpy(m->list, list, sizeof m->list);
    mpk_status status = m->u && m->inverse ? measure(fac, m, older) : mpki_failed(fac->ctx);
    *made = m->valid && !mpk_failed(status);
    if (!*made) mpki_measured_drop(fac);
    return status;
}

void mpki_measured_put(mpki_archive *a, const mpk_factor *fac) {
    const struct mpki_measured *m = fac->measured;
    const size_t size = mpk_scalar_size(fac->an->scalar);
    mpki_archive_put(a, m->u, m->count * (int64_t)fac->an->n, size);
    mpki_archive_put(a, m->inverse, m->count * m->count, size);
}

bool mpki_measured_get(mpki_archive *a, mpk_factor *fac, int count) {
    const size_t size = mpk_scalar_size(fac->an->scalar);
    struct mpki_measured *m = MPKI_ZNEW(fac->ctx, STAGE, 1, struct mpki_measured);
    if (!m) {
        a->status = mpki_failed(fac->ctx);
        return false;
    }
    fac->measured = m;
    m->count = count;
    m->u = mpki_archive_array(a, count * (int64_t)fac->an->n, size);
    m->inverse = m->u ? mpki_archive_array(a, count * count, size) : NULL;
    return m->inverse != NULL;
}

bool mpki_measured_found(mpk_factor *fac) {
    struct mpki_measured *m = fac->measured;
    mpki_weak_pivot list[MPKI_WEAK_MOST + 1];
    m->valid = find(fac, list) == m->count;
    if (m->valid) memcpy(m->list, list, sizeof m->list);
    return m->valid;
}

mpk_status mpki_measured_apply(mpki_application *a, void *x) {
    const struct mpki_measured *m = a->fac->measured;
    const mpk_scalar scalar = a->fac->an->scalar;
    const int32_t n = a->fac->an->n;
    double c[2 * MPKI_WEAK_MOST];
    MPKI_DISPATCH(scalar, measured_part)(n, m, x, c);
    const mpk_status status = without(a, m, 1, x);
    MPKI_DISPATCH(scalar, measured_add)(n, m, c, x);
    return status;
}
