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
    mpki_quality q = MPKI_UNMEASURED;
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

/* What A leaves of the large entries of x, beside |A| |x|, though b does not ask for it: where that
 * is little, x lies in the kernel of A, or nearly. growth [in] ||A|| ||x|| / ||b||: how little b
 * asks for. On the host alone; on a device, and without memory, it is infinite. */
static double kernel_share(const mpki_dense_solve *s, const void *x, double growth) {
    const mpki_dense_call *call = &s->call;
    const mpk_dense *d = &call->dense;
    const double eps = d->scalar == MPK_S || d->scalar == MPK_C ? 0x1p-24 : 0x1p-53;
    const double large = fmax(1e-6, 100 / growth);
    const int64_t n = d->n;
    const bool there = d->memory == MPK_HOST;
    double complex *y =
        there ? mpki_alloc(call->ctx, "dense", 2 * n, sizeof(double complex)) : NULL;
    double *w = there ? MPKI_ZNEW(call->ctx, "dense", 2 * n, double) : NULL;
    double share = 0, x_inf = 0;
    for (int64_t j = 0; y && j < n; j++)
        x_inf = fmax(x_inf, cabs(mpki_dense_entry(d->scalar, x, j)));
    for (int64_t j = 0; y && j < n; j++) {
        const double complex v = mpki_dense_entry(d->scalar, x, j);
        y[j] = 0, y[n + j] = cabs(v) >= large * x_inf ? v / x_inf : 0;
    }
    for (int64_t j = 0; y && w && j < n; j++)
        for (int64_t i = j; i < n; i++) {
            const int64_t at = d->uplo == MPK_UPPER ? j + i * call->lda : i + j * call->lda;
            double complex a = mpki_dense_entry(d->scalar, call->a, at);
            const double size = cabs(a);
            if (d->symmetry == MPK_HERMITIAN && d->uplo == MPK_UPPER) a = conj(a);
            y[i] += a * y[n + j], w[i] += size * cabs(y[n + j]), w[n + i] += size;
            if (i == j) continue;
            y[j] += (d->symmetry == MPK_HERMITIAN ? conj(a) : a) * y[n + i];
            w[j] += size * cabs(y[n + i]), w[n + j] += size;
        }
    for (int64_t i = 0; y && w && i < n; i++) {
        const double bound = w[i] > (double)n * eps * w[n + i] ? w[i] : w[n + i];
        if (bound > 0) share = fmax(share, cabs(y[i]) / bound);
    }
    const bool known = y && w;
    mpki_release(call->ctx, y);
    mpki_release(call->ctx, w);
    return known ? share : INFINITY;
}

mpki_dense_worth mpki_dense_settle(const mpki_dense_solve *s, const void *b, const void *x,
                                   const mpki_dense_error *now) {
    const mpki_dense_call *call = &s->call;
    const mpk_scalar scalar = call->dense.scalar;
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double flat = 1e-3, rounding = (double)call->dense.n * (single ? 0x1p-24 : 0x1p-53);
    mpki_quality q = {.componentwise = now->omega};
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
    mpki_dense_worth worth = {.omega = q.componentwise, .normwise = q.normwise, .sound = true};
    const double most = fmin(single ? 1e4 : 1e12, 0.1 / call->dense.accuracy);
    if (q.growth >= most && q.relative > (single ? 1e-4 : 1e-6)) {
        const double share = kernel_share(s, x, q.growth);
        /* on a device rows of many sizes would be in doubt, too */
        worth.sound = call->dense.memory != MPK_HOST;
        worth.flat = share <= flat;
        worth.kernel = share <= rounding;
    }
    worth.solved = mpki_solves(scalar, q.componentwise, q.relative);
    return worth;
}
