/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of metapack/dense.h: finds the memory and the engine, calls the method. */
#include "../core/floats.h"
#include "config.h"
#include "session.h"

#include <math.h>
#include <string.h>

static const char *const method_names[] = {"auto",  "tile",      "bunch-kaufman", "rook",
                                           "aasen", "butterfly", "none"};
static const char *const precision_names[] = {"working", "single", "tf32", "half"};

const char *mpk_dense_method_name(mpk_dense_method method) {
    return (unsigned)method < MPK_DENSE_COUNT ? method_names[method] : "unknown";
}

const char *mpk_dense_precision_name(mpk_dense_precision precision) {
    return (unsigned)precision <= MPK_DENSE_HALF ? precision_names[precision] : "unknown";
}

void mpk_dense_init(mpk_dense *dense) {
    if (!dense) return;
    memset(dense, 0, sizeof *dense);
    dense->struct_size = sizeof *dense;
    dense->scalar = MPK_D;
    dense->pivot_threshold = 0.01;
    dense->zero_tolerance = -1;
    dense->depth = 2;
    dense->seed = 1;
    dense->refine = 10;
    dense->accuracy = -1;
    dense->condition = MPK_OFF;
}

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

static int64_t round64(int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* For one method and precision; threads must be known, so the engine's `begin` has run. */
static mpk_status sizes_of(const mpki_dense_engine *engine, const mpki_dense_call *call,
                           int32_t nrhs, mpk_dense_sizes *sizes) {
    mpki_dense_need need = {0};
    mpk_status status = engine->method[call->dense.method].need
                            ? engine->method[call->dense.method].need(call, nrhs, &need)
                            : mpki_error(call->ctx, MPK_ERR_UNSUPPORTED, "dense",
                                         call->dense.method, "%s has no method '%s'",
                                         engine->name(), mpk_dense_method_name(call->dense.method));
    if (mpk_failed(status)) return status;
    const int64_t n = call->dense.n;
    sizes->factor_bytes = n * n * (int64_t)mpk_scalar_size(call->factor_scalar);
    sizes->pivots = need.pivots;
    sizes->extra_bytes = need.extra_bytes;
    sizes->factorize_bytes = round64(need.factorize_bytes + n / 8 + 64);
    sizes->solve_bytes =
        round64(need.solve_bytes) + mpki_dense_solve_bytes(engine, call, nrhs) + 64;
    sizes->sysv_bytes =
        sizes->factorize_bytes > sizes->solve_bytes ? sizes->factorize_bytes : sizes->solve_bytes;
    if (round64(need.inertia_bytes) > sizes->sysv_bytes)
        sizes->sysv_bytes = round64(need.inertia_bytes);
    return MPK_OK;
}

bool mpki_dense_rung_applies(const mpki_dense_rung *rung, const mpk_dense *d) {
    if (rung->method == MPK_DENSE_AUTO || d->n < rung->from_n) return false;
    return rung->precision == MPK_DENSE_WORKING || d->scalar == MPK_D || d->scalar == MPK_Z;
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

mpk_status mpk_dense_query(mpk_context *ctx, const mpk_dense *dense, int32_t nrhs,
                           mpk_dense_sizes *sizes) {
    MPKI_CALM;
    mpk_dense d;
    mpk_dense_info info = {0};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = mpki_dense_resolve(ctx, dense, &d);
    if (mpk_failed(status)) return status;
    if (!sizes) MPKI_REFUSE(-1, "sizes is NULL");
    if (mpk_failed(mpki_dense_check_size(ctx, &d, nrhs))) return mpki_failed(ctx);
    const mpki_dense_engine *engine = mpki_dense_engine_of(ctx, &d);
    if (!engine) return mpki_failed(ctx);
    mpki_dense_call call = call_of(ctx, &d, &info);
    status = engine->begin(&call);
    mpk_dense_sizes full = {0};
    if (!mpk_failed(status)) {
        status = sizes_for(engine, &call, d.method == MPK_DENSE_AUTO, nrhs, &full);
        engine->end(&call);
    }
    if (!mpk_failed(status)) *sizes = full;
    return status;
}

/* ---- factorize ------------------------------------------------------------------------------- */

/* A power of two that brings max |A| near 1. For factors in less than working precision; and in
 * working precision (on the host, not in place) where pivots would over- or underflow without
 * it. */
static double scale_for(const mpki_dense_call *call) {
    const bool single = call->dense.scalar == MPK_S || call->dense.scalar == MPK_C;
    const double range = single ? 0x1p40 : 0x1p300;
    int exponent;
    if (!(call->most > 0)) return 1;
    if (call->factor_scalar == call->dense.scalar && call->dense.precision == MPK_DENSE_WORKING &&
        (call->dense.memory != MPK_HOST || call->f->f == call->a ||
         (call->most < range && call->most > 1 / range)))
        return 1;
    frexp(call->most, &exponent);
    if (exponent < -1000) exponent = -1000;
    return ldexp(1, -exponent);
}

/* Arguments are checked, `begin` has run, work is given; call->most is known. */
mpk_status mpki_dense_run_factorize(const mpki_dense_engine *engine, mpki_dense_call *call) {
    mpk_dense_info *info = call->info;
    const double start = mpki_now_s();
    call->scale = scale_for(call);
    info->two_by_two = info->delayed = info->zero_pivots = 0;
    info->growth = info->max_l = 0;
    info->inertia = (mpk_inertia){0};
    const mpk_dense_method held = call->f->method;
    call->f->method = MPK_DENSE_AUTO; /* no factorization, until there is one */
    mpk_status status = engine->method[call->dense.method].factorize(call);
    if (status == MPK_ERR_MEMORY || status == MPK_ERR_UNSUPPORTED)
        call->f->method = held; /* nothing was written */
    info->factorize_s = mpki_now_s() - start;
    info->method = call->dense.method;
    info->precision = call->dense.precision;
    if (mpk_failed(status)) return status;
    call->f->method = call->dense.method;
    call->f->precision = call->dense.precision;
    call->f->n = call->dense.n;
    call->f->scale = call->scale;
    call->f->inertia = info->inertia;
    if (status == MPK_SINGULAR)
        mpki_error(
            call->ctx, MPK_SINGULAR, "dense", info->zero_pivots,
            "singular: %lld zero pivots of %lld: less than %.1e of the largest entry is left of "
            "them",
            (long long)info->zero_pivots, (long long)call->dense.n, call->dense.zero_tolerance);
    return status;
}

static mpk_status check_finite(const mpki_dense_engine *engine, mpki_dense_call *call,
                               double *norm) {
    mpk_status status = engine->largest(call, &call->most, norm);
    if (!mpk_failed(status) && !isfinite(call->most))
        status = mpki_error(call->ctx, MPK_ERR_INPUT, "dense", -1,
                            "the matrix has an entry that is NaN or infinite");
    return status;
}

static mpk_status start(mpk_context *ctx, const mpk_dense *given, const mpk_dense_factor *f,
                        int32_t nrhs, bool ladder, mpki_dense_session *s) {
    mpk_dense d;
    memset(s, 0, sizeof *s);
    mpk_status status = mpki_dense_resolve(ctx, given, &d);
    if (mpk_failed(status)) return status;
    if (mpk_failed(mpki_dense_check_size(ctx, &d, nrhs))) return mpki_failed(ctx);
    if (!f) MPKI_REFUSE(-1, "f is NULL");
    s->engine = mpki_dense_engine_of(ctx, &d);
    if (!s->engine) return mpki_failed(ctx);
    s->call = call_of(ctx, &d, &s->info);
    s->by_default = given->zero_tolerance < 0;
    s->call.f = (mpk_dense_factor *)(uintptr_t)f; /* solves only read it */
    s->info.engine = s->engine->name();
    status = s->engine->begin(&s->call);
    if (mpk_failed(status)) return status;
    s->begun = true;
    status = sizes_for(s->engine, &s->call, ladder, nrhs, &s->sizes);
    return mpk_failed(status)
               ? status
               : mpki_dense_check_factor(ctx, &s->call.dense, f, s->sizes.extra_bytes);
}

static mpk_status take_work(mpki_dense_session *s, void *work, int64_t bytes, int64_t wanted) {
    mpk_status status = mpki_dense_check_work(s->call.ctx, work, bytes, wanted);
    if (mpk_failed(status)) return status;
    if (!work) work = s->taken = s->engine->alloc(&s->call, wanted);
    if (!work) return mpki_failed(s->call.ctx);
    s->call.work = work;
    s->call.work_bytes = wanted;
    return MPK_OK;
}

static mpk_status finish(mpki_dense_session *s, mpk_status status, mpk_dense_info *info) {
    s->call.info = &s->info;
    if (s->taken) s->engine->release(&s->call, s->taken);
    if (s->begun) s->engine->end(&s->call);
    if (info && !mpk_failed(status)) *info = s->info;
    return status;
}

mpk_status mpk_dense_factorize(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                               mpk_dense_factor *f, void *work, int64_t work_bytes,
                               mpk_dense_info *info) {
    MPKI_CALM;
    mpki_dense_session s;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = start(ctx, dense, f, 1, false, &s);
    mpki_dense_call *call = &s.call;
    if (!mpk_failed(status))
        status = mpki_dense_check_matrix(ctx, &call->dense, "a", a, lda,
                                         mpk_scalar_size(call->dense.scalar));
    if (!mpk_failed(status))
        status = mpki_dense_check_overlap(ctx, &call->dense, a, lda, f, &s.sizes, work, work_bytes,
                                          true);
    if (!mpk_failed(status)) status = take_work(&s, work, work_bytes, s.sizes.factorize_bytes);
    call->a = a, call->lda = lda;
    s.info.method = call->dense.method, s.info.precision = call->dense.precision;
    if (!mpk_failed(status) && call->dense.n == 0) {
        f->method = call->dense.method, f->precision = call->dense.precision;
        f->n = 0, f->scale = 1, f->inertia = (mpk_inertia){0};
        return finish(&s, MPK_OK, info);
    }
    if (!mpk_failed(status)) status = check_finite(s.engine, call, NULL);
    if (!mpk_failed(status)) status = mpki_dense_run_factorize(s.engine, call);
    return finish(&s, status, info);
}

/* ---- solve ----------------------------------------------------------------------------------- */

/* Is a column of the right-hand sides finite? Squares may overflow where entries do not. */
static mpk_status check_rhs(mpki_dense_session *s, int32_t nrhs, const void *b, int64_t ldb) {
    mpki_dense_call *call = &s->call;
    const mpk_scalar scalar = call->dense.scalar;
    const int64_t n = call->dense.n, size = (int64_t)mpk_scalar_size(scalar);
    const int64_t reals = scalar == MPK_C || scalar == MPK_Z ? 2 * n : n;
    mpk_status status = MPK_OK;
    for (int32_t c = 0; c < nrhs && !mpk_failed(status); c++) {
        const char *column = (const char *)b + c * ldb * size;
        double square[2];
        status = s->engine->dot(call, column, column, square);
        if (mpk_failed(status) || isfinite(square[0])) continue;
        const bool host = call->dense.memory == MPK_HOST;
        void *taken = host ? NULL : mpki_alloc(call->ctx, "dense", n, (size_t)size);
        const void *here = host ? column : taken;
        status = !here  ? mpki_failed(call->ctx)
                 : host ? MPK_OK
                        : s->engine->get(call, column, taken);
        for (int64_t k = 0; k < reals && !mpk_failed(status); k++) {
            const bool single = scalar == MPK_S || scalar == MPK_C;
            if (!isfinite(single ? (double)((const float *)here)[k] : ((const double *)here)[k]))
                status = mpki_error(call->ctx, MPK_ERR_INPUT, "dense", c,
                                    "right-hand side %d has an entry that is NaN or infinite", c);
        }
        if (taken) mpki_release(call->ctx, taken);
    }
    return status;
}

/* The factor is there; call->work holds the slot's work, then that of refinement. */
mpk_status mpki_dense_run_solve(mpki_dense_session *s, mpki_dense_call *call, double norm_inf,
                                int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx) {
    mpki_dense_need need = {0};
    mpk_status status = s->engine->method[call->dense.method].need(call, nrhs, &need);
    if (mpk_failed(status)) return status;
    mpki_dense_solve solve = {s->engine, *call, NULL, norm_inf};
    solve.call.work_bytes = round64(need.solve_bytes);
    solve.work = call->work + solve.call.work_bytes;
    status = mpki_dense_refined(&solve, nrhs, b, ldb, x, ldx);
    if (!mpk_failed(status) && call->dense.condition == MPK_ON && call->a) {
        mpk_status estimated = mpki_dense_condition(&solve, &call->info->condition);
        if (mpk_failed(estimated)) return estimated;
    }
    return status;
}

mpk_status mpk_dense_solve(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                           const mpk_dense_factor *f, int32_t nrhs, const void *b, int64_t ldb,
                           void *x, int64_t ldx, void *work, int64_t work_bytes,
                           mpk_dense_info *info) {
    MPKI_CALM;
    mpki_dense_session s;
    mpk_dense same;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!mpki_dense_read(dense, &same) || !mpki_dense_factor_filled(f))
        MPKI_REFUSE(-1, "dense or f is NULL, or was not filled");
    same.method = f->method, same.precision = f->precision;
    if (f->method == MPK_DENSE_AUTO || f->n != dense->n)
        MPKI_REFUSE(f->n, "f holds no factorization of this order");
    mpk_status status = start(ctx, &same, f, nrhs, false, &s);
    mpki_dense_call *call = &s.call;
    double norm = 0;
    if (!mpk_failed(status) && a)
        status = mpki_dense_check_matrix(ctx, &same, "a", a, lda, mpk_scalar_size(same.scalar));
    if (!mpk_failed(status))
        status = mpki_dense_check_overlap(ctx, &same, a, lda, f, &s.sizes, work, work_bytes, false);
    if (!mpk_failed(status))
        status = mpki_dense_check_sides(&s, a, lda, nrhs, b, ldb, x, ldx, work, work_bytes);
    if (!mpk_failed(status)) status = take_work(&s, work, work_bytes, s.sizes.solve_bytes);
    call->a = a, call->lda = lda, call->scale = f->scale;
    s.info.method = f->method, s.info.precision = f->precision;
    if (mpk_failed(status) || nrhs == 0 || dense->n == 0) return finish(&s, status, info);
    if (a) status = check_finite(s.engine, call, &norm);
    if (!mpk_failed(status)) status = check_rhs(&s, nrhs, b, ldb);
    if (!mpk_failed(status)) status = mpki_dense_run_solve(&s, call, norm, nrhs, b, ldb, x, ldx);
    return finish(&s, status, info);
}

/* ---- both ------------------------------------------------------------------------------------ */

mpk_status mpk_dense_sysv(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                          mpk_dense_factor *f, int32_t nrhs, const void *b, int64_t ldb, void *x,
                          int64_t ldx, void *work, int64_t work_bytes, mpk_dense_info *info) {
    MPKI_CALM;
    mpki_dense_session s;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    const bool in_place = a && mpki_dense_factor_filled(f) && f->f == a;
    const bool automatic = dense && dense->method == MPK_DENSE_AUTO && !in_place;
    mpk_status status = start(ctx, dense, f, nrhs, automatic, &s);
    mpki_dense_call *call = &s.call;
    double norm = 0;
    if (!mpk_failed(status))
        status = mpki_dense_check_matrix(ctx, &call->dense, "a", a, lda,
                                         mpk_scalar_size(call->dense.scalar));
    if (!mpk_failed(status))
        status = mpki_dense_check_overlap(ctx, &call->dense, a, lda, f, &s.sizes, work, work_bytes,
                                          true);
    if (!mpk_failed(status))
        status = mpki_dense_check_sides(&s, a, lda, nrhs, b, ldb, x, ldx, work, work_bytes);
    if (!mpk_failed(status) && b == x && automatic && call->dense.n > 0 && nrhs > 0)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "dense", -1,
                            "method auto needs b once more if a method fails: x must not be b");
    if (!mpk_failed(status)) status = take_work(&s, work, work_bytes, s.sizes.sysv_bytes);
    call->a = a, call->lda = lda;
    s.info.method = call->dense.method, s.info.precision = call->dense.precision;
    if (!mpk_failed(status) && call->dense.n == 0) {
        f->method = call->dense.method, f->precision = call->dense.precision;
        f->n = 0, f->scale = 1, f->inertia = (mpk_inertia){0};
    }
    if (mpk_failed(status) || call->dense.n == 0) return finish(&s, status, info);
    status = check_finite(s.engine, call, &norm);
    if (!mpk_failed(status)) status = check_rhs(&s, nrhs, b, ldb);
    if (mpk_failed(status)) return finish(&s, status, info);
    if (automatic) return finish(&s, mpki_dense_ladder(&s, norm, nrhs, b, ldb, x, ldx), info);
    status = mpki_dense_run_factorize(s.engine, call);
    mpk_status factored = status;
    if (in_place) call->a = NULL;
    if (!mpk_failed(status) && nrhs > 0)
        status = mpki_dense_run_solve(&s, call, norm, nrhs, b, ldb, x, ldx);
    return finish(&s, mpki_worse(status, factored), info);
}

/* ---- inertia --------------------------------------------------------------------------------- */

mpk_status mpk_dense_inertia(mpk_context *ctx, const mpk_dense *dense, const mpk_dense_factor *f,
                             void *work, int64_t work_bytes, mpk_inertia *inertia) {
    MPKI_CALM;
    mpki_dense_session s;
    mpk_dense same;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!mpki_dense_read(dense, &same) || !mpki_dense_factor_filled(f) || !inertia)
        MPKI_REFUSE(-1, "dense, f or inertia is NULL, or was not filled");
    same.method = f->method, same.precision = f->precision;
    if (f->method == MPK_DENSE_AUTO || f->n != dense->n)
        MPKI_REFUSE(f->n, "f holds no factorization of this order");
    mpk_status status = start(ctx, &same, f, 1, false, &s);
    if (!mpk_failed(status)) status = take_work(&s, work, work_bytes, s.sizes.sysv_bytes);
    mpk_inertia found = {0};
    if (!mpk_failed(status) && dense->n > 0) {
        const mpki_dense_method *method = &s.engine->method[f->method];
        s.call.scale = f->scale;
        if (method->inertia)
            status = method->inertia(&s.call, &found);
        else
            found = f->inertia;
        found.certified = f->inertia.certified, found.examined = f->inertia.examined;
    }
    if (!mpk_failed(status)) *inertia = found;
    return finish(&s, status, NULL);
}

mpk_status mpk_dense_certify(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                             mpk_dense_factor *f, void *work, int64_t work_bytes,
                             mpk_certificate *out) {
    MPKI_CALM;
    mpki_dense_session s;
    mpk_dense same;
    mpk_certificate found = {0};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!mpki_dense_read(dense, &same) || !mpki_dense_factor_filled(f))
        MPKI_REFUSE(-1, "dense or f is NULL, or was not filled");
    same.method = f->method, same.precision = f->precision;
    if (f->method == MPK_DENSE_AUTO || f->n != dense->n)
        MPKI_REFUSE(f->n, "f holds no factorization of this order");
    if (!a && dense->n > 0) MPKI_REFUSE(-1, "a is NULL: a certificate needs the matrix");
    mpk_status status = start(ctx, &same, f, 1, false, &s);
    mpki_dense_call *call = &s.call;
    if (!mpk_failed(status))
        status = mpki_dense_check_matrix(ctx, &same, "a", a, lda, mpk_scalar_size(same.scalar));
    if (!mpk_failed(status))
        status = mpki_dense_check_overlap(ctx, &same, a, lda, f, &s.sizes, work, work_bytes, false);
    if (!mpk_failed(status)) status = take_work(&s, work, work_bytes, s.sizes.sysv_bytes);
    call->a = a, call->lda = lda, call->scale = f->scale;
    mpki_dense_need need = {0};
    if (!mpk_failed(status)) status = s.engine->method[f->method].need(call, 1, &need);
    if (!mpk_failed(status)) {
        mpki_dense_solve solve = {s.engine, *call, NULL, 0};
        solve.call.work_bytes = round64(need.solve_bytes);
        solve.work = call->work + solve.call.work_bytes;
        status = mpki_dense_examine(&solve, &found);
    }
    if (!mpki_dense_counts(&same)) found.certified = 0, found.miss_bound = 1;
    if (!mpk_failed(status)) f->inertia.examined = 1, f->inertia.certified = found.certified;
    if (!mpk_failed(status) && out) *out = found;
    return finish(&s, status, NULL);
}
