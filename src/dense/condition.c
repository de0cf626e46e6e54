/* SPDX-License-Identifier: BSD-3-Clause */
/* The estimate of the condition (Hager 1984, Higham 1988), by the slots of any engine. */
#include "apply.h"
#include "../core/random.h"

#include <math.h>

static void set(mpk_scalar scalar, void *x, int64_t i, double complex v) {
    switch (scalar) {
    case MPK_S:
        ((float *)x)[i] = (float)creal(v);
        break;
    case MPK_D:
        ((double *)x)[i] = creal(v);
        break;
    case MPK_C:
        ((float complex *)x)[i] = (float complex)v;
        break;
    default:
        ((double complex *)x)[i] = v;
    }
}

/* v := A^-1 v, or A^-H v where conjugate; v in host memory */
static mpk_status inverse(mpki_dense_solve *s, const mpki_dense_parts *p, void *v, bool conjugate) {
    const mpk_dense *d = &s->call.dense;
    double most = 0;
    for (int64_t i = 0; i < d->n; i++) {
        if (conjugate) set(d->scalar, v, i, conj(mpki_dense_entry(d->scalar, v, i)));
        most = fmax(most, cabs(mpki_dense_entry(d->scalar, v, i)));
    }
    mpk_status status = s->engine->put(&s->call, v, p->r);
    if (!mpk_failed(status)) status = mpki_dense_precondition(s, p, 1, p->r, p->ld, &most);
    if (!mpk_failed(status)) status = s->engine->get(&s->call, p->r, v);
    for (int64_t i = 0; conjugate && i < d->n && !mpk_failed(status); i++)
        set(d->scalar, v, i, conj(mpki_dense_entry(d->scalar, v, i)));
    return status;
}

/* Hager's ascent from x, a vector of norm 1, by at most so many columns of A^-1: *estimate becomes
 * larger, *last is the column. */
static mpk_status ascend(mpki_dense_solve *s, const mpki_dense_parts *p, void *x, int rounds,
                         double *estimate, int64_t *last) {
    const mpk_dense *d = &s->call.dense;
    const int64_t n = d->n;
    /* A^-H is A^-1 for real and Hermitian matrices, conj(A^-1 conj(.)) for complex symmetric
     * ones */
    const bool turn = d->scalar >= MPK_C && d->symmetry != MPK_HERMITIAN;
    for (int round = 0; round <= rounds; round++) {
        mpk_status status = inverse(s, p, x, false);
        if (mpk_failed(status)) return status;
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += cabs(mpki_dense_entry(d->scalar, x, i));
        if (round > 0 && !(sum > *estimate)) break;
        if (sum > *estimate) *estimate = sum;
        if (round == rounds) break;
        for (int64_t i = 0; i < n; i++) {
            double complex v = mpki_dense_entry(d->scalar, x, i);
            set(d->scalar, x, i, cabs(v) > 0 ? v / cabs(v) : 1);
        }
        status = inverse(s, p, x, turn);
        if (mpk_failed(status)) return status;
        int64_t place = 0;
        for (int64_t i = 1; i < n; i++)
            if (cabs(mpki_dense_entry(d->scalar, x, i)) >
                cabs(mpki_dense_entry(d->scalar, x, place)))
                place = i;
        if (place == *last) break;
        *last = place;
        for (int64_t i = 0; i < n; i++) set(d->scalar, x, i, i == place);
    }
    return MPK_OK;
}

mpk_status mpki_dense_condition(mpki_dense_solve *s, double *condition) {
    const mpk_dense *d = &s->call.dense;
    const int64_t n = d->n;
    const mpki_dense_parts p = mpki_dense_cut(s, 1);
    const bool host = d->memory == MPK_HOST; /* p.best is free by now */
    void *x = host ? p.best : mpki_alloc(s->call.ctx, "dense", n, mpk_scalar_size(d->scalar));
    double estimate = 0;
    int64_t last = -1;
    uint64_t state = 1;
    mpk_status status = MPK_OK;
    *condition = 0;
    if (!x) return mpki_failed(s->call.ctx);
    for (int64_t i = 0; i < n; i++) set(d->scalar, x, i, 1.0 / (double)n);
    status = ascend(s, &p, x, 4, &estimate, &last);
    if (mpk_failed(status)) goto done;
    /* Higham's second vector, with random sizes: src/factor/refine_t.c */
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = mpki_random_unit(mpki_random_next(&state)) + 1e-3;
        set(d->scalar, x, i, i % 2 ? -size : size);
        sum += size;
    }
    for (int64_t i = 0; i < n; i++) set(d->scalar, x, i, mpki_dense_entry(d->scalar, x, i) / sum);
    status = ascend(s, &p, x, 1, &estimate, &last);
    if (!mpk_failed(status)) *condition = s->norm_inf * estimate;
done:
    if (!host) mpki_release(s->call.ctx, x);
    return status;
}
