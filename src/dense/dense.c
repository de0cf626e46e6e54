/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of metapack/dense.h: arguments, memory, the place, the method; then the ladder. */
#include "config.h"
#include "refine.h"

#include <float.h>
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

/* ---- arguments ----------------------------------------------------------------------------------
 */

static double eps_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
}

#define REFUSE(...) return mpki_error(ctx, MPK_ERR_ARGUMENT, "dense", __VA_ARGS__)

static mpk_status resolve(mpk_context *ctx, const mpk_dense *given, mpk_dense *d) {
    mpk_dense_init(d);
    if (!given) REFUSE(-1, "dense is NULL");
    if (given->struct_size < sizeof *d) REFUSE(-1, "dense was not filled by mpk_dense_init()");
    *d = *given;
    if ((unsigned)d->scalar > MPK_Z || (unsigned)d->symmetry > MPK_HERMITIAN)
        REFUSE(-1, "no such scalar or symmetry");
    if (d->symmetry == MPK_HERMITIAN && d->scalar < MPK_C)
        REFUSE(-1, "real matrices are symmetric, not Hermitian");
    if (d->uplo != MPK_LOWER && d->uplo != MPK_UPPER)
        REFUSE(d->uplo, "uplo is neither lower nor upper");
    if (d->n < 0) REFUSE(d->n, "n is negative");
    if (d->n > INT32_MAX - 8)
        return mpki_error(ctx, MPK_ERR_SIZE, "dense", d->n, "n is above 2^31");
    if ((unsigned)d->memory > MPK_DEVICE) REFUSE(d->memory, "no such memory");
    if ((unsigned)d->method >= MPK_DENSE_COUNT) REFUSE(d->method, "no such method");
    if ((unsigned)d->precision > MPK_DENSE_HALF) REFUSE(d->precision, "no such precision");
    if ((unsigned)d->refinement > MPK_DENSE_REFINE_GMRES)
        REFUSE(d->refinement, "no such refinement");
    if (!(d->pivot_threshold > 0 && d->pivot_threshold <= 0.5))
        REFUSE(-1, "pivot_threshold is not in (0, 0.5]");
    if (d->tile != 0 && (d->tile < 32 || d->tile > 256))
        REFUSE(d->tile, "tile is not in 32 .. 256");
    if (d->depth < 1 || d->depth > 2) REFUSE(d->depth, "depth is neither 1 nor 2");
    if (d->refine < 0 || d->threads < 0) REFUSE(-1, "refine or threads is negative");
    if (isnan(d->zero_tolerance) || isnan(d->accuracy)) REFUSE(-1, "a tolerance is NaN");
    if (d->precision == MPK_DENSE_SINGLE && (d->scalar == MPK_S || d->scalar == MPK_C))
        d->precision = MPK_DENSE_WORKING;
    if (d->accuracy < 0) {
        const double root = sqrt((double)d->n);
        d->accuracy = eps_of(d->scalar) * (root > 4 ? root : 4);
    }
    return MPK_OK;
}

static mpk_scalar factor_scalar(const mpk_dense *d) {
    if (d->precision == MPK_DENSE_WORKING) return d->scalar;
    return d->scalar == MPK_D || d->scalar == MPK_S ? MPK_S : MPK_C;
}

/* What depends on the method: zero_tolerance, threads, the factor's scalar. */
static mpki_dense_call call_of(mpk_context *ctx, const mpk_dense *d, mpk_dense_info *info) {
    mpki_dense_call call = {
        .ctx = ctx, .dense = *d, .info = info, .scale = 1, .host = &mpki_dense_host};
    call.factor_scalar = factor_scalar(d);
    if (call.dense.zero_tolerance < 0)
        call.dense.zero_tolerance = (double)d->n * eps_of(call.factor_scalar);
    if (d->method == MPK_DENSE_AUTO) call.dense.method = MPK_DENSE_TILE;
    return call;
}

const mpki_dense_methods *mpki_dense_place(mpk_context *ctx, const mpk_dense *dense) {
    if (dense->memory == MPK_HOST) return &mpki_dense_host;
#if MPKI_HAVE_CUDA
    return mpki_cuda_dense(ctx, dense->device);
#else
    mpki_error(ctx, MPK_ERR_DEVICE, "dense", dense->device,
               "this build has no device backend (it was configured without CUDA)");
    return NULL;
#endif
}

typedef struct range {
    const char *first, *last;
} range;

static range span(const void *x, int64_t rows, int64_t cols, int64_t ld, size_t size) {
    const char *first = x;
    if (!x || rows == 0 || cols == 0) return (range){first, first};
    return (range){first, first + ((size_t)(cols - 1) * (size_t)ld + (size_t)rows) * size};
}

static bool overlap(range a, range b) {
    return a.first < b.last && b.first < a.last;
}

static mpk_status check_matrix(mpk_context *ctx, const mpk_dense *d, const char *name,
                               const void *a, int64_t lda, size_t size) {
    if (!a && d->n > 0) REFUSE(-1, "%s is NULL", name);
    if (lda < d->n || lda < 1)
        REFUSE(lda, "the leading dimension of %s is %lld, less than n = %lld", name, (long long)lda,
               (long long)d->n);
    if (d->n > 0 && lda > INT64_MAX / d->n / (int64_t)size)
        return mpki_error(ctx, MPK_ERR_SIZE, "dense", lda, "%s does not fit", name);
    return MPK_OK;
}

static mpk_status check_factor(mpk_context *ctx, const mpk_dense *d, const mpk_dense_factor *f,
                               int64_t extra) {
    if (!f) REFUSE(-1, "f is NULL");
    if (f->struct_size < sizeof *f) REFUSE(-1, "f->struct_size is not sizeof(mpk_dense_factor)");
    mpk_status status = check_matrix(ctx, d, "f", f->f, f->ldf, mpk_scalar_size(factor_scalar(d)));
    if (status < 0) return status;
    if (!f->pivots && d->n > 0) REFUSE(-1, "f->pivots is NULL");
    if (!f->extra && extra > 0 && d->n > 0) REFUSE(-1, "f->extra is NULL");
    if (extra > 0 && (uintptr_t)f->extra % 64) REFUSE(-1, "f->extra is not aligned to 64 bytes");
    return MPK_OK;
}

static mpk_status check_work(mpk_context *ctx, const void *work, int64_t bytes, int64_t wanted) {
    if (!work) return MPK_OK;
    if ((uintptr_t)work % 64) REFUSE(-1, "work is not aligned to 64 bytes");
    if (bytes < wanted)
        REFUSE(bytes, "work has %lld bytes of %lld", (long long)bytes, (long long)wanted);
    return MPK_OK;
}

/* ---- sizes --------------------------------------------------------------------------------------
 */

static int64_t round64(int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* For one method and precision; threads must be known, so the place has begun. */
static mpk_status sizes_of(const mpki_dense_methods *place, const mpki_dense_call *call,
                           int32_t nrhs, mpk_dense_sizes *sizes) {
    mpki_dense_need need = {0};
    mpk_status status = place->method[call->dense.method].need
                            ? place->method[call->dense.method].need(call, nrhs, &need)
                            : mpki_error(call->ctx, MPK_ERR_UNSUPPORTED, "dense",
                                         call->dense.method, "%s has no method '%s'", place->name(),
                                         mpk_dense_method_name(call->dense.method));
    if (status < 0) return status;
    const int64_t n = call->dense.n;
    sizes->factor_bytes = n * n * (int64_t)mpk_scalar_size(call->factor_scalar);
    sizes->pivots = need.pivots;
    sizes->extra_bytes = need.extra_bytes;
    sizes->factorize_bytes = round64(need.factorize_bytes + n / 8 + 64);
    sizes->solve_bytes = round64(need.solve_bytes) + mpki_dense_solve_bytes(place, call, nrhs) + 64;
    sizes->sysv_bytes =
        sizes->factorize_bytes > sizes->solve_bytes ? sizes->factorize_bytes : sizes->solve_bytes;
    if (round64(need.inertia_bytes) > sizes->sysv_bytes)
        sizes->sysv_bytes = round64(need.inertia_bytes);
    return MPK_OK;
}

static bool rung_applies(const mpki_dense_rung *rung, const mpk_dense *d) {
    if (rung->method == MPK_DENSE_AUTO || d->n < rung->from_n) return false;
    return rung->precision == MPK_DENSE_WORKING || d->scalar == MPK_D || d->scalar == MPK_Z;
}

#define LARGER(field)                                                                              \
    if (one.field > sizes->field) sizes->field = one.field

static mpk_status sizes_for(const mpki_dense_methods *place, const mpki_dense_call *call,
                            bool ladder, int32_t nrhs, mpk_dense_sizes *sizes) {
    memset(sizes, 0, sizeof *sizes);
    if (!ladder) return sizes_of(place, call, nrhs, sizes);
    for (int k = 0; k < MPK_DENSE_ATTEMPTS; k++) {
        const mpki_dense_rung *rung = &place->ladder[k];
        mpk_dense_sizes one = {0};
        mpki_dense_call step = *call;
        if (rung->method == MPK_DENSE_AUTO) break;
        if (!rung_applies(rung, &call->dense)) continue;
        step.dense.method = rung->method, step.dense.precision = rung->precision;
        step.factor_scalar = factor_scalar(&step.dense);
        mpk_status status = sizes_of(place, &step, nrhs, &one);
        if (status < 0) return status;
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
    mpk_dense d;
    mpk_dense_info info = {0};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = resolve(ctx, dense, &d);
    if (status < 0) return status;
    if (!sizes || nrhs < 0) REFUSE(nrhs, "sizes is NULL or nrhs negative");
    const mpki_dense_methods *place = mpki_dense_place(ctx, &d);
    if (!place) return mpki_failed(ctx);
    mpki_dense_call call = call_of(ctx, &d, &info);
    status = place->begin(&call);
    mpk_dense_sizes full = {0};
    if (status >= 0) {
        status = sizes_for(place, &call, d.method == MPK_DENSE_AUTO, nrhs, &full);
        place->end(&call);
    }
    if (status >= 0) *sizes = full;
    return status;
}

/* ---- factorize ----------------------------------------------------------------------------------
 */

/* A power of two that brings max |A| near 1: for factors of less than working precision, and where
 * in working precision (on the host, not in place) pivots would over- or underflow. */
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

/* Arguments checked, place begun, work given; call->most is known. */
static mpk_status run_factorize(const mpki_dense_methods *place, mpki_dense_call *call) {
    mpk_dense_info *info = call->info;
    const double start = mpki_now_s();
    call->scale = scale_for(call);
    info->two_by_two = info->delayed = info->zero_pivots = 0;
    info->growth = info->max_l = 0;
    info->inertia = (mpk_inertia){0, 0, 0, 0};
    mpk_status status = place->method[call->dense.method].factorize(call);
    info->factorize_s = mpki_now_s() - start;
    info->method = call->dense.method;
    info->precision = call->dense.precision;
    if (status < 0) return status;
    call->f->method = call->dense.method;
    call->f->precision = call->dense.precision;
    call->f->n = call->dense.n;
    call->f->scale = call->scale;
    if (call->dense.method == MPK_DENSE_NONE || call->dense.method == MPK_DENSE_BUTTERFLY)
        info->inertia.certified = 0; /* nothing bounds the growth */
    call->f->inertia = info->inertia;
    if (status == MPK_SINGULAR)
        mpki_error(
            call->ctx, MPK_SINGULAR, "dense", info->zero_pivots,
            "singular: %lld zero pivots of %lld: less than %.1e of the largest entry is left of "
            "them",
            (long long)info->zero_pivots, (long long)call->dense.n, call->dense.zero_tolerance);
    return status;
}

static mpk_status check_finite(const mpki_dense_methods *place, mpki_dense_call *call,
                               double *norm) {
    mpk_status status = place->largest(call, &call->most, norm);
    if (status >= 0 && !isfinite(call->most))
        status = mpki_error(call->ctx, MPK_ERR_INPUT, "dense", -1,
                            "the matrix has an entry that is NaN or infinite");
    return status;
}

/* a, f, work, x as the caller gave them: only a == f is allowed to coincide */
static mpk_status check_overlap(mpk_context *ctx, const mpk_dense *d, const void *a, int64_t lda,
                                const mpk_dense_factor *f, const mpk_dense_sizes *sizes,
                                const void *work, int64_t work_bytes, bool writes) {
    const range ra = span(a, d->n, d->n, lda, mpk_scalar_size(d->scalar));
    const range rf = span(f->f, d->n, d->n, f->ldf, mpk_scalar_size(factor_scalar(d)));
    const range rw = span(work, work_bytes, 1, work_bytes, 1);
    const range re = span(f->extra, sizes->extra_bytes, 1, sizes->extra_bytes, 1);
    const range rp = span(f->pivots, sizes->pivots, 1, sizes->pivots, sizeof(int32_t));
    const bool in_place = writes && a == f->f && lda == f->ldf && factor_scalar(d) == d->scalar;
    if (a == f->f && a && d->n > 0 && !in_place)
        REFUSE(-1, writes ? "in place: f and a must agree in leading dimension and precision"
                          : "a is f: the matrix is gone, it cannot refine");
    if ((!in_place && overlap(ra, rf)) || overlap(ra, rw) || overlap(rf, rw) || overlap(ra, re) ||
        overlap(rf, re) || overlap(re, rw) || overlap(rp, ra) || overlap(rp, rf) ||
        overlap(rp, rw) || overlap(rp, re))
        REFUSE(-1, "a, f, pivots, extra and work overlap");
    return MPK_OK;
}

/* What all verbs begin with. On success the place has begun and work is there; finish() ends it. */
typedef struct session {
    const mpki_dense_methods *place;
    mpki_dense_call call;
    mpk_dense_info info;
    mpk_dense_sizes sizes;
    void *taken;
    bool begun;
    bool by_default; /* zero_tolerance was not given */
} session;

static mpk_status start(mpk_context *ctx, const mpk_dense *given, const mpk_dense_factor *f,
                        int32_t nrhs, bool ladder, session *s) {
    mpk_dense d;
    memset(s, 0, sizeof *s);
    mpk_status status = resolve(ctx, given, &d);
    if (status < 0) return status;
    if (nrhs < 0) REFUSE(nrhs, "nrhs is negative");
    if (!f) REFUSE(-1, "f is NULL");
    s->place = mpki_dense_place(ctx, &d);
    if (!s->place) return mpki_failed(ctx);
    s->call = call_of(ctx, &d, &s->info);
    s->by_default = given->zero_tolerance < 0;
    s->call.f = (mpk_dense_factor *)(uintptr_t)f; /* solves only read it */
    s->info.place = s->place->name();
    status = s->place->begin(&s->call);
    if (status < 0) return status;
    s->begun = true;
    status = sizes_for(s->place, &s->call, ladder, nrhs, &s->sizes);
    return status < 0 ? status : check_factor(ctx, &s->call.dense, f, s->sizes.extra_bytes);
}

static mpk_status take_work(session *s, void *work, int64_t bytes, int64_t wanted) {
    mpk_status status = check_work(s->call.ctx, work, bytes, wanted);
    if (status < 0) return status;
    if (!work) work = s->taken = s->place->alloc(&s->call, wanted);
    if (!work) return mpki_failed(s->call.ctx);
    s->call.work = work;
    s->call.work_bytes = wanted;
    return MPK_OK;
}

static mpk_status finish(session *s, mpk_status status, mpk_dense_info *info) {
    s->call.info = &s->info;
    if (s->taken) s->place->release(&s->call, s->taken);
    if (s->begun) s->place->end(&s->call);
    if (info && status >= 0) *info = s->info;
    return status;
}

mpk_status mpk_dense_factorize(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                               mpk_dense_factor *f, void *work, int64_t work_bytes,
                               mpk_dense_info *info) {
    session s;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = start(ctx, dense, f, 1, false, &s);
    mpki_dense_call *call = &s.call;
    if (status >= 0)
        status = check_matrix(ctx, &call->dense, "a", a, lda, mpk_scalar_size(call->dense.scalar));
    if (status >= 0)
        status = check_overlap(ctx, &call->dense, a, lda, f, &s.sizes, work, work_bytes, true);
    if (status >= 0) status = take_work(&s, work, work_bytes, s.sizes.factorize_bytes);
    call->a = a, call->lda = lda;
    s.info.method = call->dense.method, s.info.precision = call->dense.precision;
    if (status >= 0 && call->dense.n == 0) {
        f->method = call->dense.method, f->precision = call->dense.precision;
        f->n = 0, f->scale = 1, f->inertia = (mpk_inertia){0, 0, 0, 1};
        return finish(&s, MPK_OK, info);
    }
    if (status >= 0) status = check_finite(s.place, call, NULL);
    if (status >= 0) status = run_factorize(s.place, call);
    return finish(&s, status, info);
}

/* ---- solve --------------------------------------------------------------------------------------
 */

static mpk_status check_sides(session *s, const void *a, int64_t lda, int32_t nrhs, const void *b,
                              int64_t ldb, const void *x, int64_t ldx, const void *work,
                              int64_t work_bytes) {
    mpk_context *ctx = s->call.ctx;
    const mpk_dense *d = &s->call.dense;
    const mpk_dense_factor *f = s->call.f;
    const size_t size = mpk_scalar_size(d->scalar);
    if (nrhs == 0 || d->n == 0) return MPK_OK;
    if (!b || !x) REFUSE(-1, "b or x is NULL");
    if (ldb < d->n || ldx < d->n) REFUSE(ldb < d->n ? ldb : ldx, "ldb or ldx is less than n");
    const range rb = span(b, d->n, nrhs, ldb, size), rx = span(x, d->n, nrhs, ldx, size);
    const range ra = span(a, d->n, d->n, lda, size);
    const range rf = span(f->f, d->n, d->n, f->ldf, mpk_scalar_size(factor_scalar(d)));
    const range rw = span(work, work_bytes, 1, work_bytes, 1);
    if ((b == x ? ldb != ldx : overlap(rb, rx)) || overlap(rx, ra) || overlap(rx, rf) ||
        overlap(rx, rw) || overlap(rb, rw) || overlap(rb, rf))
        REFUSE(-1, "b, x, a, f and work overlap");
    return MPK_OK;
}

/* Is a column of the right-hand sides finite? Squares may overflow where entries do not. */
static mpk_status check_rhs(session *s, int32_t nrhs, const void *b, int64_t ldb) {
    mpki_dense_call *call = &s->call;
    const mpk_scalar scalar = call->dense.scalar;
    const int64_t n = call->dense.n, size = (int64_t)mpk_scalar_size(scalar);
    const int64_t reals = scalar == MPK_C || scalar == MPK_Z ? 2 * n : n;
    mpk_status status = MPK_OK;
    for (int32_t c = 0; c < nrhs && status >= 0; c++) {
        const char *column = (const char *)b + c * ldb * size;
        double square[2];
        status = s->place->dot(call, column, column, square);
        if (status < 0 || isfinite(square[0])) continue;
        const bool host = call->dense.memory == MPK_HOST;
        void *taken = host ? NULL : mpki_alloc(call->ctx, "dense", n, (size_t)size);
        const void *here = host ? column : taken;
        status = !here  ? mpki_failed(call->ctx)
                 : host ? MPK_OK
                        : s->place->get(call, column, taken);
        for (int64_t k = 0; k < reals && status >= 0; k++) {
            const bool single = scalar == MPK_S || scalar == MPK_C;
            if (!isfinite(single ? (double)((const float *)here)[k] : ((const double *)here)[k]))
                status = mpki_error(call->ctx, MPK_ERR_INPUT, "dense", c,
                                    "right-hand side %d has an entry that is NaN or infinite", c);
        }
        if (taken) mpki_release(call->ctx, taken);
    }
    return status;
}

/* The factor is there; call->work holds the slot's part and the rest. */
static mpk_status run_solve(session *s, mpki_dense_call *call, double norm_inf, int32_t nrhs,
                            const void *b, int64_t ldb, void *x, int64_t ldx) {
    mpki_dense_need need = {0};
    mpk_status status = s->place->method[call->dense.method].need(call, nrhs, &need);
    if (status < 0) return status;
    mpki_dense_solve solve = {s->place, *call, NULL, norm_inf};
    solve.call.work_bytes = round64(need.solve_bytes);
    solve.work = call->work + solve.call.work_bytes;
    status = mpki_dense_refined(&solve, nrhs, b, ldb, x, ldx);
    if (status >= 0 && call->dense.condition == MPK_ON && call->a) {
        mpk_status estimated = mpki_dense_condition(&solve, &call->info->condition);
        if (estimated < 0) return estimated;
    }
    return status;
}

mpk_status mpk_dense_solve(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                           const mpk_dense_factor *f, int32_t nrhs, const void *b, int64_t ldb,
                           void *x, int64_t ldx, void *work, int64_t work_bytes,
                           mpk_dense_info *info) {
    session s;
    mpk_dense same;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!dense || dense->struct_size < sizeof same || !f || f->struct_size < sizeof *f)
        REFUSE(-1, "dense or f is NULL, or was not filled");
    same = *dense;
    same.method = f->method, same.precision = f->precision;
    if (f->method == MPK_DENSE_AUTO || f->n != dense->n)
        REFUSE(f->n, "f holds no factorization of this order");
    mpk_status status = start(ctx, &same, f, nrhs, false, &s);
    mpki_dense_call *call = &s.call;
    double norm = 0;
    if (status >= 0 && a)
        status = check_matrix(ctx, &same, "a", a, lda, mpk_scalar_size(same.scalar));
    if (status >= 0)
        status = check_overlap(ctx, &same, a, lda, f, &s.sizes, work, work_bytes, false);
    if (status >= 0) status = check_sides(&s, a, lda, nrhs, b, ldb, x, ldx, work, work_bytes);
    if (status >= 0) status = take_work(&s, work, work_bytes, s.sizes.solve_bytes);
    call->a = a, call->lda = lda, call->scale = f->scale;
    s.info.method = f->method, s.info.precision = f->precision;
    if (status < 0 || nrhs == 0 || dense->n == 0) return finish(&s, status, info);
    if (a) status = check_finite(s.place, call, &norm);
    if (status >= 0) status = check_rhs(&s, nrhs, b, ldb);
    if (status >= 0) status = run_solve(&s, call, norm, nrhs, b, ldb, x, ldx);
    return finish(&s, status, info);
}

/* ---- both, and the ladder -----------------------------------------------------------------------
 */

/* One rung: factors and solution in place; what came of it in *attempt. */
static mpk_status climb(session *s, const mpki_dense_rung *rung, double norm, int32_t nrhs,
                        const void *b, int64_t ldb, void *x, int64_t ldx,
                        mpk_dense_attempt *attempt) {
    mpki_dense_call call = s->call;
    const double begun = mpki_now_s();
    call.dense.method = rung->method, call.dense.precision = rung->precision;
    call.factor_scalar = factor_scalar(&call.dense);
    if (rung->precision != MPK_DENSE_WORKING && s->by_default)
        call.dense.zero_tolerance = (double)call.dense.n * eps_of(call.factor_scalar);
    if (rung->method == MPK_DENSE_ROOK && s->by_default)
        call.dense.zero_tolerance = 0; /* the last resort: rows that are small are not zero */
    *attempt = (mpk_dense_attempt){rung->method, rung->precision, MPK_OK, INFINITY, 0};
    mpk_status status = run_factorize(s->place, &call), factored = status;
    if (status >= 0) {
        call.work_bytes = s->call.work_bytes;
        status = run_solve(s, &call, norm, nrhs, b, ldb, x, ldx);
        attempt->componentwise = call.info->componentwise;
        status = mpki_worse(status, factored);
    }
    attempt->status = status;
    attempt->time_s = mpki_now_s() - begun;
    return status;
}

/* A better method can help; memory, a device or a cancellation it cannot. */
static bool may_fall_back(mpk_status status) {
    return status == MPK_INACCURATE || status == MPK_SINGULAR || status == MPK_ERR_NUMERIC;
}

/* On the host: do rows differ so much in size that what is nothing beside one counts in another? In
 * single precision, where zero pivots are up to 5e-6, any difference may do that. */
static bool badly_scaled(const mpki_dense_call *call) {
    const mpk_dense *d = &call->dense;
    const bool single = d->scalar == MPK_S || d->scalar == MPK_C;
    const int64_t parts = d->scalar >= MPK_C ? 2 : 1;
    if (d->memory != MPK_HOST) return false;
    double *most = MPKI_ZNEW(call->ctx, "dense", d->n, double);
    if (!most) return false;
    for (int64_t j = 0; j < d->n; j++) {
        const int64_t i0 = d->uplo == MPK_UPPER ? 0 : j, i1 = d->uplo == MPK_UPPER ? j + 1 : d->n;
        for (int64_t i = i0; i < i1; i++)
            for (int64_t h = 0; h < parts; h++) {
                const int64_t k = parts * (i + j * call->lda) + h;
                const double a = fabs(single ? (double)((const float *)call->a)[k]
                                             : ((const double *)call->a)[k]);
                if (a > most[i]) most[i] = a;
                if (a > most[j]) most[j] = a;
            }
    }
    double least = INFINITY;
    for (int64_t i = 0; i < d->n; i++) least = fmin(least, most[i]);
    mpki_release(call->ctx, most);
    return least > 0 && least < (single ? 0.5 : 1e-3) * call->most;
}

static mpk_status ladder(session *s, double norm, int32_t nrhs, const void *b, int64_t ldb, void *x,
                         int64_t ldx) {
    mpk_status status = MPK_ERR_UNSUPPORTED;
    mpk_dense_info *info = &s->info;
    const mpki_dense_rung *back = NULL; /* to go back to, if no later one does better */
    mpk_status said = MPK_OK;           /* by that rung */
    for (int k = 0; k < MPK_DENSE_ATTEMPTS; k++) {
        const mpki_dense_rung *rung = &s->place->ladder[k];
        if (rung->method == MPK_DENSE_AUTO) break;
        if (!rung_applies(rung, &s->call.dense)) continue;
        if (info->attempts > 0) mpki_clear_error(s->call.ctx);
        status = climb(s, rung, norm, nrhs, b, ldb, x, ldx, &info->attempt[info->attempts++]);
        if (!may_fall_back(status)) break;
        if (status < 0) continue;
        /* a singular matrix stays singular, once it was found so in working precision; but a row
         * may only be small */
        const bool settled = status == MPK_SINGULAR && rung->precision == MPK_DENSE_WORKING &&
                             info->componentwise <= s->call.dense.accuracy;
        if (settled && (rung->method == MPK_DENSE_ROOK || !badly_scaled(&s->call))) break;
        if (said == MPK_SINGULAR) continue;
        back = rung, said = settled ? MPK_SINGULAR : MPK_INACCURATE;
    }
    if (back && info->attempts < MPK_DENSE_ATTEMPTS &&
        (status == MPK_ERR_NUMERIC || (said == MPK_SINGULAR && status == MPK_INACCURATE))) {
        mpki_clear_error(s->call.ctx);
        status = climb(s, back, norm, nrhs, b, ldb, x, ldx, &info->attempt[info->attempts++]);
    }
    info->fallbacks = info->attempts > 0 ? info->attempts - 1 : 0;
    return status;
}

mpk_status mpk_dense_sysv(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                          mpk_dense_factor *f, int32_t nrhs, const void *b, int64_t ldb, void *x,
                          int64_t ldx, void *work, int64_t work_bytes, mpk_dense_info *info) {
    session s;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    const bool in_place = f && a && f->struct_size >= sizeof *f && f->f == a;
    const bool automatic = dense && dense->method == MPK_DENSE_AUTO && !in_place;
    mpk_status status = start(ctx, dense, f, nrhs, automatic, &s);
    mpki_dense_call *call = &s.call;
    double norm = 0;
    if (status >= 0)
        status = check_matrix(ctx, &call->dense, "a", a, lda, mpk_scalar_size(call->dense.scalar));
    if (status >= 0)
        status = check_overlap(ctx, &call->dense, a, lda, f, &s.sizes, work, work_bytes, true);
    if (status >= 0) status = check_sides(&s, a, lda, nrhs, b, ldb, x, ldx, work, work_bytes);
    if (status >= 0 && b == x && automatic && call->dense.n > 0 && nrhs > 0)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "dense", -1,
                            "method auto needs b once more if a method fails: x must not be b");
    if (status >= 0) status = take_work(&s, work, work_bytes, s.sizes.sysv_bytes);
    call->a = a, call->lda = lda;
    s.info.method = call->dense.method, s.info.precision = call->dense.precision;
    if (status >= 0 && call->dense.n == 0) {
        f->method = call->dense.method, f->precision = call->dense.precision;
        f->n = 0, f->scale = 1, f->inertia = (mpk_inertia){0, 0, 0, 1};
    }
    if (status < 0 || call->dense.n == 0) return finish(&s, status, info);
    status = check_finite(s.place, call, &norm);
    if (status >= 0) status = check_rhs(&s, nrhs, b, ldb);
    if (status < 0) return finish(&s, status, info);
    if (automatic) return finish(&s, ladder(&s, norm, nrhs, b, ldb, x, ldx), info);
    status = run_factorize(s.place, call);
    mpk_status factored = status;
    if (in_place) call->a = NULL;
    if (status >= 0 && nrhs > 0) status = run_solve(&s, call, norm, nrhs, b, ldb, x, ldx);
    return finish(&s, mpki_worse(status, factored), info);
}

/* ---- inertia ------------------------------------------------------------------------------------
 */

mpk_status mpk_dense_inertia(mpk_context *ctx, const mpk_dense *dense, const mpk_dense_factor *f,
                             void *work, int64_t work_bytes, mpk_inertia *inertia) {
    session s;
    mpk_dense same;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!dense || dense->struct_size < sizeof same || !f || f->struct_size < sizeof *f || !inertia)
        REFUSE(-1, "dense, f or inertia is NULL, or was not filled");
    same = *dense;
    same.method = f->method, same.precision = f->precision;
    if (f->method == MPK_DENSE_AUTO || f->n != dense->n)
        REFUSE(f->n, "f holds no factorization of this order");
    mpk_status status = start(ctx, &same, f, 1, false, &s);
    if (status >= 0) status = take_work(&s, work, work_bytes, s.sizes.sysv_bytes);
    mpk_inertia found = {0, 0, 0, 0};
    if (status >= 0 && dense->n > 0) {
        const mpki_dense_method *method = &s.place->method[f->method];
        s.call.scale = f->scale;
        if (method->inertia)
            status = method->inertia(&s.call, &found);
        else
            found = f->inertia;
    }
    if (status >= 0) *inertia = found;
    return finish(&s, status, NULL);
}
