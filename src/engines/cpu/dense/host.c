/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's engine for dense matrices: each slot calls that of the matrix's, or the factor's,
 * precision. */
#include "engines/cpu/isa/level.h"
#include "methods_t.h"

#include <string.h>

enum { THREADS_MOST = 256 };

static const mpki_host_methods *of_factor(const mpki_dense_call *call) {
    static const mpki_host_methods *const table[] = {&mpki_s_host, &mpki_d_host, &mpki_c_host,
                                                     &mpki_z_host};
    return table[call->factor_scalar];
}

static const mpki_host_methods *of_matrix(const mpki_dense_call *call) {
    mpki_dense_call same = {.factor_scalar = call->dense.scalar};
    return of_factor(&same);
}

static const mpki_dense_method *method_of(const mpki_dense_call *call) {
    return &of_factor(call)->method[call->dense.method];
}

static mpk_status need(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    if (call->dense.precision > MPK_DENSE_SINGLE)
        return mpki_error(call->ctx, MPK_ERR_UNSUPPORTED, "dense", call->dense.precision,
                          "the processor factors in working or single precision");
    if (!method_of(call)->need)
        return mpki_error(call->ctx, MPK_ERR_UNSUPPORTED, "dense", call->dense.method,
                          "the processor has no method '%s'",
                          mpk_dense_method_name(call->dense.method));
    return method_of(call)->need(call, nrhs, need);
}

static mpk_status factorize(mpki_dense_call *call) {
    return method_of(call)->factorize(call);
}

static mpk_status solve(mpki_dense_call *call, int32_t nrhs, void *x, int64_t ldx) {
    const mpk_status status = method_of(call)->solve(call, nrhs, x, ldx);
    /* sweeps that were stopped leave x unfinished */
    if (mpki_stop_wanted(call->ctx, "solve")) return mpki_stopped(call->ctx, "solve");
    return status;
}

static mpk_status inertia(mpki_dense_call *call, mpk_inertia *inertia) {
    if (method_of(call)->inertia) return method_of(call)->inertia(call, inertia);
    *inertia = call->f->inertia;
    return MPK_OK;
}

static mpk_status begin(mpki_dense_call *call) {
    int threads = call->dense.threads ? call->dense.threads : mpki_threads_default();
    if (threads > THREADS_MOST) threads = THREADS_MOST;
    call->threads = threads;
    call->pool = NULL;
    if (threads > 1) {
        call->pool = mpki_context_pool(call->ctx, threads, 4);
        if (!call->pool) return mpki_failed(call->ctx);
    }
    return MPK_OK;
}

static void end(mpki_dense_call *call) {
    call->pool = NULL; /* it belongs to the context */
}

static void *take(mpki_dense_call *call, int64_t bytes) {
    return mpki_alloc(call->ctx, "dense", bytes, 1);
}

static void release(mpki_dense_call *call, void *ptr) {
    mpki_release(call->ctx, ptr);
}

static mpk_status largest(mpki_dense_call *call, double *max, double *norm_inf) {
    return of_matrix(call)->largest(call, max, norm_inf);
}

static mpk_status copy(mpki_dense_call *call, int64_t rows, int64_t cols, mpk_scalar from,
                       const void *src, int64_t lds, mpk_scalar to, void *dst, int64_t ldd,
                       const double *scale) {
    const size_t size = mpk_scalar_size(to);
    (void)call;
    if (from == to && src && !scale) {
        for (int64_t j = 0; j < cols; j++)
            memmove((char *)dst + (size_t)(j * ldd) * size,
                    (const char *)src + (size_t)(j * lds) * size, (size_t)rows * size);
        return MPK_OK;
    }
    mpki_dense_call as = {.factor_scalar = to};
    of_factor(&as)->convert(rows, cols, from, src, lds, dst, ldd, scale);
    return MPK_OK;
}

static mpk_status axpy(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *x,
                       int64_t ldx, void *y, int64_t ldy) {
    return of_matrix(call)->axpy(call, cols, alpha, x, ldx, y, ldy);
}

static mpk_status dot(mpki_dense_call *call, int64_t cols, const void *x, int64_t ldx,
                      const void *y, int64_t ldy, double *result) {
    return of_matrix(call)->dot(call, cols, x, ldx, y, ldy, result);
}

static mpk_status residual(mpki_dense_call *call, int32_t nrhs, const void *x, int64_t ldx,
                           const void *b, int64_t ldb, void *r, int64_t ldr,
                           mpki_dense_error *error, char *work) {
    return of_matrix(call)->residual(call, nrhs, x, ldx, b, ldb, r, ldr, error, work);
}

static int64_t residual_bytes(const mpki_dense_call *call, int32_t nrhs) {
    return of_matrix(call)->residual_bytes(call, nrhs);
}

static mpk_status put(mpki_dense_call *call, const void *host, void *y) {
    memcpy(y, host, (size_t)call->dense.n * mpk_scalar_size(call->dense.scalar));
    return MPK_OK;
}

static mpk_status get(mpki_dense_call *call, const void *y, void *host) {
    memcpy(host, y, (size_t)call->dense.n * mpk_scalar_size(call->dense.scalar));
    return MPK_OK;
}

#define METHOD                                                                                     \
    { need, factorize, solve, inertia }

const mpki_dense_engine mpki_dense_host = {
    .name = mpki_cpu_name,
    .method = {{NULL, NULL, NULL, NULL}, METHOD, METHOD, METHOD, METHOD, METHOD, METHOD},
    .ladder = {{MPK_DENSE_TILE, MPK_DENSE_SINGLE, 1000, 1000},
               {MPK_DENSE_TILE, MPK_DENSE_WORKING, 0, 0},
               {MPK_DENSE_ROOK, MPK_DENSE_WORKING, 0, 0}},
    .begin = begin,
    .end = end,
    .alloc = take,
    .release = release,
    .largest = largest,
    .copy = copy,
    .axpy = axpy,
    .dot = dot,
    .residual = residual,
    .residual_bytes = residual_bytes,
    .put = put,
    .get = get};
