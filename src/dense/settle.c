/* SPDX-License-Identifier: BSD-3-Clause */
/* What the errors of a dense solution are worth: measured again in extended range where they lie
 * near the ends of a double's range, and in doubt where x is so large that b hardly counts. */
#include "refine.h"
#include "../problem/measure.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* The lower triangle of a, packed by columns; NULL: no memory. */
static void *pack(const mpki_dense_call *call, int64_t *ap, int32_t *ai) {
    const mpk_dense *d = &call->dense;
    const size_t size = mpk_scalar_size(d->scalar);
    const int64_t n = d->n;
    char *ax = mpki_alloc(call->ctx, "dense", n * (n + 1) / 2, size);
    int64_t k = 0;
    for (int64_t j = 0; ax && j < n; j++) {
        ap[j] = k;
        for (int64_t i = j; i < n; i++, k++) {
            const int64_t at = d->uplo == MPK_UPPER ? j + i * call->lda : i + j * call->lda;
            char *to = ax + (size_t)k * size;
            ai[k] = (int32_t)i;
            memcpy(to, (const char *)call->a + (size_t)at * size, size);
            if (d->symmetry != MPK_HERMITIAN) continue;
            const double turn = i == j ? 0 : d->uplo == MPK_UPPER ? -1 : 1;
            if (d->scalar == MPK_C) ((float *)(void *)to)[1] *= (float)turn;
            if (d->scalar == MPK_Z) ((double *)(void *)to)[1] *= turn;
        }
    }
    ap[n] = k;
    return ax;
}

/* Measured in extended range, on the host. For a matrix on a device nothing is measured: the errors
 * are infinite. */
static mpki_quality measure_far(const mpki_dense_solve *s, const void *b, const void *x) {
    const mpki_dense_call *call = &s->call;
    const mpk_dense *d = &call->dense;
    mpki_quality q = {INFINITY, INFINITY, INFINITY, INFINITY, 0};
    if (d->memory != MPK_HOST) return q;
    mpk_context *ctx = call->ctx;
    const int64_t n = d->n, nnz = n * (n + 1) / 2;
    int64_t *ap = MPKI_NEW(ctx, "dense", n + 1, int64_t);
    int32_t *ai = MPKI_NEW(ctx, "dense", nnz, int32_t);
    void *r = mpki_alloc(ctx, "dense", n, mpk_scalar_size(d->scalar));
    void *ax = ap && ai && r ? pack(call, ap, ai) : NULL;
    if (ax) {
        const mpki_system system = {
            .ctx = ctx, .a = {(int32_t)n, nnz, d->scalar, d->symmetry, ap, ai, ax}, .plain = true};
        q = d->scalar == MPK_S   ? mpki_s_measure_wide(&system, x, b, r)
            : d->scalar == MPK_D ? mpki_d_measure_wide(&system, x, b, r)
            : d->scalar == MPK_C ? mpki_c_measure_wide(&system, x, b, r)
                                 : mpki_z_measure_wide(&system, x, b, r);
    }
    mpki_release(ctx, ap);
    mpki_release(ctx, ai);
    mpki_release(ctx, r);
    mpki_release(ctx, ax);
    return q;
}

double complex mpki_dense_entry(mpk_scalar scalar, const void *x, int64_t i) {
    switch (scalar) {
    case MPK_S:
        return ((const float *)x)[i];
    case MPK_D:
        return ((const double *)x)[i];
    case MPK_C:
        return ((const float complex *)x)[i];
    default:
        return ((const double complex *)x)[i];
    }
}

bool mpki_dense_settle(const mpki_dense_solve *s, const void *b, const void *x,
                       const mpki_dense_error *now, double *omega, double *normwise) {
    const mpki_dense_call *call = &s->call;
    const bool single = call->dense.scalar == MPK_S || call->dense.scalar == MPK_C;
    mpki_quality q = {now->omega, 0, 0, 0, 0};
    if (now->far || !isfinite(now->omega) || !(s->norm_inf < 1e300) || !(s->norm_inf > 1e-270)) {
        q = measure_far(s, b, x);
    } else {
        const double bound = s->norm_inf * now->x_inf + now->b_inf;
        q.normwise = now->r_inf == 0 ? 0 : now->r_inf / bound;
        q.relative = now->r_inf == 0 ? 0 : now->b_inf > 0 ? now->r_inf / now->b_inf : INFINITY;
        q.growth = now->x_inf == 0  ? 0
                   : now->b_inf > 0 ? s->norm_inf * (now->x_inf / now->b_inf)
                                    : INFINITY;
    }
    *omega = q.componentwise;
    *normwise = q.normwise;
    const double most = fmin(single ? 1e4 : 1e12, 0.1 / call->dense.accuracy);
    return q.growth < most || q.relative <= (single ? 1e-4 : 1e-6) ||
           call->dense.memory != MPK_HOST; /* rows of many sizes would be in doubt there, too */
}
