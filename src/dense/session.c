/* SPDX-License-Identifier: BSD-3-Clause */
/* A call from its beginning to its end: arguments checked, the engine begun, work given. */
#include "session.h"
#include "config.h"

#include <string.h>

/* ---- the call and its engine ----------------------------------------------------------------- */

/* What depends on the method: zero_tolerance, threads, the factor's scalar. */
static mpki_dense_call call_of(mpk_context *ctx, const mpk_dense *d, mpk_dense_info *info) {
    mpki_dense_call call = {
        .ctx = ctx, .dense = *d, .info = info, .scale = 1, .host = &mpki_dense_host};
    call.factor_scalar = mpki_dense_factor_scalar(d);
    if (call.dense.zero_tolerance < 0)
        call.dense.zero_tolerance = (double)d->n * mpki_dense_eps(call.factor_scalar);
    if (d->method == MPK_DENSE_AUTO) call.dense.method = MPK_DENSE_TILE;
    return call;
}

const mpki_dense_engine *mpki_dense_engine_of(mpk_context *ctx, const mpk_dense *dense) {
    if (dense->memory == MPK_HOST) return &mpki_dense_host;
#if MPKI_HAVE_CUDA
    return mpki_cuda_dense_engine(ctx, dense->device);
#else
    mpki_error(ctx, MPK_ERR_DEVICE, "dense", dense->device,
               "this build has no device backend (it was configured without CUDA)");
    return NULL;
#endif
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* For one method and precision; threads must be known, so the engine's `begin` has run. */
static mpk_status sizes_of(const mpki_dense_engine *engine, const mpki_dense_call *call,
                           int32_t nrhs, mpk_dense_sizes *sizes) {
    mpki_dense_need need = {0};
    mpk_status status =
        engine->method[call->dense.method].need
            ? engine->method[call->dense.method].need(call, mpki_dense_together(nrhs), &need)
            : mpki_error(call->ctx, MPK_ERR_UNSUPPORTED, "dense", call->dense.method,
                         "%s has no method '%s'", engine->name(),
                         mpk_dense_method_name(call->dense.method));
    if (mpk_failed(status)) return status;
    const int64_t n = call->dense.n;
    sizes->factor_bytes = n * n * (int64_t)mpk_scalar_size(call->factor_scalar);
    sizes->pivots = need.pivots;
    sizes->extra_bytes = need.extra_bytes;
    sizes->factorize_bytes = mpki_dense_round(need.factorize_bytes + n / 8 + 64);
    sizes->solve_bytes =
        mpki_dense_round(need.solve_bytes) + mpki_dense_solve_bytes(engine, call, nrhs) + 64;
    sizes->sysv_bytes =
        sizes->factorize_bytes > sizes->solve_bytes ? sizes->factorize_bytes : sizes->solve_bytes;
    if (mpki_dense_round(need.inertia_bytes) > sizes->sysv_bytes)
        sizes->sysv_bytes = mpki_dense_round(need.inertia_bytes);
    return MPK_OK;
}

bool mpki_dense_rung_applies(const mpki_dense_rung *rung, const mpk_dense *d) {
    const bool asked = rung->precision == d->precision; /* then of any order */
    if (rung->method == MPK_DENSE_AUTO) return false;
    if (rung->precision == MPK_DENSE_WORKING) return d->n >= rung->from_n;
    const int64_t from_n = d->scalar == MPK_D ? rung->from_n : rung->from_n_complex;
    return (d->scalar == MPK_D || d->scalar == MPK_Z) && (asked || (from_n > 0 && d->n >= from_n));
}

#define LARGER(field)                                                                              \
    if (one.field > sizes->field) sizes->field = one.field

static mpk_status sizes_for(const mpki_dense_engine *engine, const mpki_dense_call *call,
                            bool ladder, int32_t nrhs, mpk_dense_sizes *sizes) {
    memset(sizes, 0, sizeof *sizes);
    if (!ladder) return sizes_of(engine, call, nrhs, sizes);
    for (int k = 0; k < MPK_DENSE_ATTEMPTS; k++) {
        const mpki_dense_rung *rung = &engine->ladder[k];
        mpk_dense_sizes one = {0};
        mpki_dense_call step = *call;
        if (rung->method == MPK_DENSE_AUTO) break;
        if (!mpki_dense_rung_applies(rung, &call->dense)) continue;
        step.dense.method = rung->method, step.dense.precision = rung->precision;
        step.factor_scalar = mpki_dense_factor_scalar(&step.dense);
        mpk_status status = sizes_of(engine, &step, nrhs, &one);
        if (mpk_failed(status)) return status;
        LARGER(factor_bytes);
        LARGER(pivots);
        LARGER(extra_bytes);
        LARGER(factorize_bytes);
        LARGER(solve_bytes);
        LARGER(sysv_bytes);
    }
    return MPK_OK;
}

/* ---- begin and end --------------------------------------------------------------------------- */

mpk_status mpki_dense_begin(mpk_context *ctx, const mpk_dense *given, int32_t nrhs, bool ladder,
                            mpki_dense_session *s) {
    mpk_dense d;
    memset(s, 0, sizeof *s);
    mpk_status status = mpki_dense_resolve(ctx, given, &d);
    if (mpk_failed(status)) return status;
    if (mpk_failed(mpki_dense_check_size(ctx, &d, nrhs))) return mpki_failed(ctx);
    s->engine = mpki_dense_engine_of(ctx, &d);
    if (!s->engine) return mpki_failed(ctx);
    s->call = call_of(ctx, &d, &s->info);
    s->by_default = given->zero_tolerance < 0;
    s->info.engine = s->engine->name();
    s->info.method = s->call.dense.method, s->info.precision = s->call.dense.precision;
    status = s->engine->begin(&s->call);
    if (mpk_failed(status)) return status;
    s->begun = true;
    return sizes_for(s->engine, &s->call, ladder, nrhs, &s->sizes);
}

/* Begin, with a factor, and with a matrix where there is one. */
static mpk_status begin_with(mpk_context *ctx, const mpk_dense *given, const void *a, int64_t lda,
                             const mpk_dense_factor *f, int32_t nrhs, bool ladder, bool writes,
                             const mpki_dense_work *work, mpki_dense_session *s) {
    mpk_status status = mpki_dense_begin(ctx, given, nrhs, ladder, s);
    if (mpk_failed(status)) return status;
    const mpk_dense *d = &s->call.dense;
    status = mpki_dense_check_factor(ctx, d, f, s->sizes.extra_bytes);
    if (!mpk_failed(status) && (a || writes))
        status = mpki_dense_check_matrix(ctx, d, "a", a, lda, mpk_scalar_size(d->scalar));
    if (!mpk_failed(status))
        status = mpki_dense_check_overlap(ctx, d, a, lda, f, &s->sizes, work, writes);
    s->call.a = a, s->call.lda = lda;
    s->call.f = (mpk_dense_factor *)(uintptr_t)f; /* solves only read it */
    return status;
}

mpk_status mpki_dense_begin_factor(mpk_context *ctx, const mpk_dense *given, const void *a,
                                   int64_t lda, mpk_dense_factor *f, int32_t nrhs, bool ladder,
                                   const mpki_dense_work *work, mpki_dense_session *s) {
    return begin_with(ctx, given, a, lda, f, nrhs, ladder, true, work, s);
}

mpk_status mpki_dense_begin_solve(mpk_context *ctx, const mpk_dense *given, const void *a,
                                  int64_t lda, const mpk_dense_factor *f, int32_t nrhs,
                                  const mpki_dense_work *work, mpki_dense_session *s) {
    memset(s, 0, sizeof *s);
    mpk_dense same;
    if (!mpki_dense_read(given, &same) || !mpki_dense_factor_filled(f))
        MPKI_REFUSE(-1, "dense or f is NULL, or was not filled");
    if (f->method == MPK_DENSE_AUTO || f->n != same.n)
        MPKI_REFUSE(f->n, "f holds no factorization of this order");
    same.method = f->method, same.precision = f->precision;
    mpk_status status = begin_with(ctx, &same, a, lda, f, nrhs, false, false, work, s);
    if (mpk_failed(status)) return status;
    s->call.scale = f->scale;
    s->info.inertia = f->inertia;
    return MPK_OK;
}

mpk_status mpki_dense_take_work(mpki_dense_session *s, const mpki_dense_work *work,
                                int64_t wanted) {
    mpk_status status = mpki_dense_check_work(s->call.ctx, work, wanted);
    if (mpk_failed(status)) return status;
    void *memory = work->memory;
    if (!memory) memory = s->taken = s->engine->alloc(&s->call, wanted);
    if (!memory) return mpki_failed(s->call.ctx);
    s->call.work = memory;
    s->call.work_bytes = wanted;
    return MPK_OK;
}

mpk_status mpki_dense_finish(mpki_dense_session *s, mpk_status status, mpk_dense_info *info) {
    s->call.info = &s->info;
    if (s->taken) s->engine->release(&s->call, s->taken);
    if (s->begun) s->engine->end(&s->call);
    if (info && !mpk_failed(status)) *info = s->info;
    return status;
}
