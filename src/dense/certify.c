/* SPDX-License-Identifier: BSD-3-Clause */
/* Is the inertia of dense factors that of A? By the slots of any engine; vectors are drawn, and
 * what comes of them measured, on the host. */
#include "refine.h"
#include "../problem/certificate.h"

#include <string.h>

/* S; 1 where A lies on a device. */
static void find_scale(const mpki_dense_call *call, double *scale, double *work) {
    const mpk_dense *d = &call->dense;
    for (int64_t i = 0; i < d->n; i++) scale[i] = 1;
    if (d->memory == MPK_HOST) MPKI_DISPATCH(d->scalar, certificate_scale)
    (d->n, call->a, call->lda, d->uplo == MPK_UPPER, scale, work);
}

/* A hash of A: of its triangle, or where that lies on a device of -A z for a z drawn without it. */
static mpk_status hash(mpki_dense_solve *s, void *z, void *y, uint64_t *state) {
    const mpki_dense_call *call = &s->call;
    const mpk_dense *d = &call->dense;
    const int64_t n = d->n, size = (int64_t)mpk_scalar_size(d->scalar);
    if (d->memory != MPK_HOST) {
        MPKI_DISPATCH(d->scalar, gaussian)(n, NULL, state, z);
        mpk_status status = mpki_dense_backward(s, z, y, true);
        *state = mpki_certificate_hash(*state, y, n * size);
        return status;
    }
    for (int64_t j = 0; j < n; j++) {
        const int64_t i0 = d->uplo == MPK_UPPER ? 0 : j,
                      rows = d->uplo == MPK_UPPER ? j + 1 : n - j;
        *state = mpki_certificate_hash(*state, (const char *)call->a + (i0 + j * call->lda) * size,
                                       rows * size);
    }
    return MPK_OK;
}

mpk_status mpki_dense_examine(mpki_dense_solve *s, mpk_certificate *found) {
    const mpki_dense_call *call = &s->call;
    const mpk_dense *d = &call->dense;
    const size_t size = mpk_scalar_size(d->scalar);
    const bool open = call->f->inertia.zero == 0;
    *found = (mpk_certificate){.certified = open, .miss_bound = !open};
    if (!open || d->n == 0) return MPK_OK;
    void *z = mpki_alloc(call->ctx, "dense", d->n, size);
    void *y = mpki_alloc(call->ctx, "dense", d->n, size);
    double *scale = MPKI_NEW(call->ctx, "dense", 2 * d->n, double);
    uint64_t state = mpki_certificate_seed(d->n, d->seed);
    if (scale) find_scale(call, scale, scale + d->n);
    mpk_status status = scale && z && y ? hash(s, z, y, &state) : mpki_failed(call->ctx);
    for (bool more = true; more && !mpk_failed(status);) {
        MPKI_DISPATCH(d->scalar, gaussian)(d->n, scale, &state, z);
        status = mpki_dense_backward(s, z, y, false);
        if (!mpk_failed(status))
            more = mpki_certificate_next(found,
                                         MPKI_DISPATCH(d->scalar, contraction)(d->n, scale, z, y));
    }
    mpki_release(call->ctx, z);
    mpki_release(call->ctx, y);
    mpki_release(call->ctx, scale);
    return status;
}

bool mpki_dense_counts(const mpk_dense *d) {
    const bool counted = d->scalar <= MPK_D || d->symmetry == MPK_HERMITIAN;
    return counted && d->method != MPK_DENSE_AASEN;
}

mpk_status mpki_dense_examine_counts(mpki_dense_solve *s, mpk_certificate *found) {
    mpk_inertia *inertia = &s->call.info->inertia;
    const mpk_status status = mpki_dense_examine(s, found);
    if (mpk_failed(status)) {
        found->certified = 0;
        return status;
    }
    inertia->examined = 1;
    inertia->certified = found->certified && mpki_dense_counts(&s->call.dense);
    return status;
}
