/* SPDX-License-Identifier: BSD-3-Clause */
/* The factors applied to vectors of working precision, whatever precision they have: right-hand
 * sides of less are scaled to a largest entry of 1 before, so that nothing overflows on the way. */
#include "apply.h"

#include <math.h>

static int64_t padded(int64_t n) {
    return (n + 15) / 16 * 16;
}

bool mpki_dense_low(const mpki_dense_call *call) {
    return call->factor_scalar != call->dense.scalar;
}

static int64_t together(int32_t nrhs) {
    return nrhs < 1 ? 1 : mpki_dense_together(nrhs);
}

int64_t mpki_dense_solve_bytes(const mpki_dense_engine *engine, const mpki_dense_call *call,
                               int32_t nrhs) {
    const int64_t all = nrhs > 1 ? nrhs : 1;
    const int64_t column = padded(call->dense.n) * (int64_t)mpk_scalar_size(call->dense.scalar);
    return column * (all + 5 * together(nrhs) + MPKI_DENSE_KRYLOV + 2) +
           (engine->residual_bytes(call, mpki_dense_together(nrhs)) + 63) / 64 * 64 + 256;
}

mpki_dense_parts mpki_dense_cut(const mpki_dense_solve *s, int32_t nrhs) {
    const int64_t all = nrhs > 1 ? nrhs : 1;
    mpki_dense_parts p = {.ld = padded(s->call.dense.n)};
    p.column = p.ld * (int64_t)mpk_scalar_size(s->call.dense.scalar);
    const int64_t block = together(nrhs) * p.column;
    p.x = s->work;
    p.b = p.x + block;
    p.r = p.b + block;
    p.best = p.r + block;
    p.low = p.best + block;
    p.keep = p.low + block;
    p.basis = p.keep + all * p.column;
    p.residual = p.basis + (MPKI_DENSE_KRYLOV + 2) * p.column;
    return p;
}

mpk_status mpki_dense_shift(mpki_dense_solve *s, int exponent, char *y, int64_t ldy) {
    mpki_dense_call *call = &s->call;
    const mpk_scalar scalar = call->dense.scalar;
    mpk_status status = MPK_OK;
    const double part[2] = {ldexp(1, exponent / 2), ldexp(1, exponent - exponent / 2)};
    for (int k = 0; k < 2 && !mpk_failed(status); k++)
        status = s->engine->copy(call, call->dense.n, 1, scalar, y, ldy, scalar, y, ldy, &part[k]);
    return status;
}

mpk_status mpki_dense_precondition(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t nrhs,
                                   char *y, int64_t ldy, const double *sizes) {
    mpki_dense_call *call = &s->call;
    const mpki_dense_engine *engine = s->engine;
    const mpk_scalar scalar = call->dense.scalar, factor = call->factor_scalar;
    const int64_t n = call->dense.n, size = (int64_t)mpk_scalar_size(scalar);
    const mpki_dense_method *method = &engine->method[call->f->method];
    mpk_status status = MPK_OK;
    if (!mpki_dense_low(call)) {
        int exponent;
        frexp(call->f->scale, &exponent);
        status = method->solve(call, nrhs, y, ldy);
        for (int32_t c = 0; c < nrhs && !mpk_failed(status) && exponent != 1; c++)
            status = mpki_dense_shift(s, exponent - 1, y + c * ldy * size, ldy);
        return status;
    }
    /* t = y / size, rounded; t := (scale A)^-1 t; y = scale size t */
    double to[MPKI_DENSE_TOGETHER], back[MPKI_DENSE_TOGETHER];
    for (int32_t c = 0; c < nrhs; c++) {
        to[c] = sizes[c] > 0 ? 1 / sizes[c] : 0;
        back[c] = sizes[c] * call->f->scale;
    }
    status = engine->copy(call, n, nrhs, scalar, y, ldy, factor, p->low, p->ld, to);
    if (!mpk_failed(status)) status = method->solve(call, nrhs, p->low, p->ld);
    if (!mpk_failed(status))
        status = engine->copy(call, n, nrhs, factor, p->low, p->ld, scalar, y, ldy, back);
    return status;
}

mpk_status mpki_dense_backward(mpki_dense_solve *s, const void *z, void *y, bool product_alone) {
    const mpki_dense_parts p = mpki_dense_cut(s, 1);
    mpki_dense_error error;
    mpk_status status = s->engine->put(&s->call, z, p.best);
    if (!mpk_failed(status))
        status = s->engine->residual(&s->call, 1, p.best, p.ld, NULL, p.ld, p.r, p.ld, &error,
                                     p.residual);
    if (!mpk_failed(status) && !product_alone)
        status = mpki_dense_precondition(s, &p, 1, p.r, p.ld, &error.r_inf);
    return mpk_failed(status) ? status : s->engine->get(&s->call, p.r, y);
}
