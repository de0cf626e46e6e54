/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of mpk_batch.h: check, sort by size, cut into chunks, run them on the context's pool.
 */
#include "../core/floats.h"
#include "../engines/cpu/batch/batch.h"
#include "../engines/interface/batch.h"
#include "../core/pool.h"
#include "config.h"

#include <string.h>

#define DISPATCH(scalar, name)                                                                     \
    ((scalar) == MPK_S   ? mpki_s_batch_##name                                                     \
     : (scalar) == MPK_D ? mpki_d_batch_##name                                                     \
     : (scalar) == MPK_C ? mpki_c_batch_##name                                                     \
                         : mpki_z_batch_##name)

static void chunk_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    mpki_batch_job *job = arg;
    int64_t first = item * job->chunk, last = first + job->chunk;
    (void)pool;
    if (mpki_stop_wanted(job->ctx, job->product ? "solve" : "factorize")) return;
    if (last > job->batch.count) last = job->batch.count;
    job->fn(job, first, last, job->work + worker * job->work_bytes);
}

/* The numbers of the matrices by order; those of one order in the sequence given (counting
 * sort). */
static int64_t *by_size(mpk_context *ctx, const mpk_batch *batch) {
    int64_t start[MPK_BATCH_MAX_N + 2] = {0};
    int64_t *order = MPKI_NEW(ctx, "batch", batch->count, int64_t);
    if (!order) return NULL;
    for (int64_t b = 0; b < batch->count; b++) start[batch->sizes[b] + 1]++;
    for (int n = 0; n <= batch->n; n++) start[n + 1] += start[n];
    for (int64_t b = 0; b < batch->count; b++) order[start[batch->sizes[b]]++] = b;
    return order;
}

/* Matrices of a chunk: some 50 microseconds of work, whole groups of an interleaved operand. */
static int64_t chunk_size(const mpki_batch_job *job) {
    int64_t chunk = (int64_t)(2e5 / (job->flops + 1e3)) / MPKI_BATCH_RUN * MPKI_BATCH_RUN;
    if (chunk < MPKI_BATCH_RUN) chunk = MPKI_BATCH_RUN;
    const mpk_batch_array *x = job->c ? job->c : job->b ? job->b : job->a;
    if (x->layout == MPK_BATCH_INTERLEAVED && x->width < job->batch.count)
        chunk = (chunk + x->width - 1) / x->width * x->width;
    return chunk;
}

/* Run the job on the processor. */
static mpk_status run_here(mpk_context *ctx, mpki_batch_job *job) {
    int64_t *order = NULL;
    mpki_pool *pool = NULL;
    job->ctx = ctx;
    job->chunk = chunk_size(job);
    const int64_t items = (job->batch.count + job->chunk - 1) / job->chunk;
    int threads = job->batch.threads ? job->batch.threads : mpki_threads_default();
    if (threads > items) threads = (int)items;
    if (job->batch.sizes && !job->product) {
        order = by_size(ctx, &job->batch);
        if (!order) goto done;
        job->order = order;
    }
    if (threads > 1) {
        pool = mpki_context_pool(ctx, threads, 4);
        if (!pool) goto done;
    }
    job->work = mpki_alloc(ctx, "batch", threads * job->work_bytes, 1);
    if (!job->work) goto done;
    mpki_pool_for(pool, 0, items, chunk_item, job);
    if (mpki_cancelled(ctx)) mpki_stopped(ctx, "batch");
done:
    mpki_release(ctx, job->work);
    mpki_release(ctx, order);
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    return job->failed ? MPK_PARTIAL : job->singular ? MPK_SINGULAR : MPK_OK;
}

/* Run the job on a device. */
static mpk_status run_there(mpk_context *ctx, const mpki_batch_job *job) {
#if MPKI_HAVE_CUDA
    const mpki_batch_call call = {.batch = job->batch,
                                  .method = job->method,
                                  .a = job->a,
                                  .b = job->b,
                                  .c = job->c,
                                  .d = job->d,
                                  .product = job->product,
                                  .pivots = job->pivots,
                                  .nrhs = job->nrhs,
                                  .results = job->results};
    const mpki_batch_engine *engine = mpki_cuda_batch_engine(ctx, job->batch.device);
    if (!engine) return mpki_failed(ctx);
    return job->batch.count > 0 ? engine->run(ctx, &call) : MPK_OK;
#else
    return mpki_error(ctx, MPK_ERR_DEVICE, "batch", job->batch.device,
                      "this build has no device backend (it was configured without CUDA)");
#endif
}

static mpk_status run(mpk_context *ctx, mpki_batch_job *job) {
    mpk_status status = mpki_batch_check_memory(ctx, job);
    if (mpk_failed(status)) return status;
    if (job->a->memory == MPK_DEVICE)
        status = run_there(ctx, job);
    else if (job->batch.count > 0)
        status = run_here(ctx, job);
    if (status == MPK_PARTIAL)
        return mpki_error(ctx, status, "batch", -1,
                          "some of %lld matrices have no result: outcome tells which, and why",
                          (long long)job->batch.count);
    if (status == MPK_SINGULAR)
        return mpki_error(ctx, status, "batch", -1,
                          "some of %lld matrices are singular: outcome tells which",
                          (long long)job->batch.count);
    return status;
}

static mpk_status factor(mpk_context *ctx, const mpk_batch *batch, mpk_batch_method method,
                         const mpk_batch_array *a, int32_t *pivots,
                         const mpk_batch_results *results) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpki_batch_job job = {.method = method, .a = a, .pivots = pivots};
    mpk_status status = mpki_batch_check_shape(ctx, batch, &job.batch);
    if (!mpk_failed(status))
        status = mpki_batch_check_array(ctx, &job.batch, "a", a, job.batch.n, job.batch.n);
    if (mpk_failed(status)) return status;
    const mpk_pivoting pivoting = job.batch.pivoting;
    const int n = job.batch.n;
    if (!DISPATCH(job.batch.scalar, has)(method, pivoting))
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "batch", pivoting,
                          "LLT has no such pivoting: none or complete");
    if (pivoting == MPK_PIVOTING_NONE) job.pivots = NULL;
    if (pivoting != MPK_PIVOTING_NONE && !pivots && job.batch.count > 0 && n > 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1, "pivoting needs a pivots array");
    if (pivoting == MPK_PIVOTING_STATIC && n > 0)
        status = mpki_batch_check_pivots(ctx, &job.batch, method == MPK_BATCH_LDU,
                                         method == MPK_BATCH_LDLT, pivots);
    if (mpk_failed(status)) return status;
    if (results) job.results = *results;
    job.fn = DISPATCH(job.batch.scalar, factor_chunk);
    job.work_bytes = DISPATCH(job.batch.scalar, work_bytes)(&job);
    job.flops = (double)n * n * n;
    return run(ctx, &job);
}

mpk_status mpk_batch_llt(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *a,
                         int32_t *pivots, const mpk_batch_results *results) {
    MPKI_CALM;
    return factor(ctx, batch, MPK_BATCH_LLT, a, pivots, results);
}

mpk_status mpk_batch_ldlt(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *a,
                          int32_t *pivots, const mpk_batch_results *results) {
    MPKI_CALM;
    return factor(ctx, batch, MPK_BATCH_LDLT, a, pivots, results);
}

mpk_status mpk_batch_ldu(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *a,
                         int32_t *pivots, const mpk_batch_results *results) {
    MPKI_CALM;
    return factor(ctx, batch, MPK_BATCH_LDU, a, pivots, results);
}

mpk_status mpk_batch_solve(mpk_context *ctx, const mpk_batch *batch, mpk_batch_method method,
                           const mpk_batch_array *a, const int32_t *pivots, int32_t nrhs,
                           const mpk_batch_array *b, const mpk_batch_results *results) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpki_batch_job job = {.method = method, .a = a, .b = b, .nrhs = nrhs};
    mpk_status status = mpki_batch_check_shape(ctx, batch, &job.batch);
    if (mpk_failed(status)) return status;
    const int n = job.batch.n;
    if ((unsigned)method > MPK_BATCH_LDU)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", method, "no such method");
    if (nrhs < 0) return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", nrhs, "nrhs is negative");
    if (nrhs > MPK_BATCH_MAX_N)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "batch", nrhs,
                          "%d right-hand sides: batches take up to %d", nrhs, MPK_BATCH_MAX_N);
    status = mpki_batch_check_array(ctx, &job.batch, "a", a, n, n);
    if (!mpk_failed(status)) status = mpki_batch_check_array(ctx, &job.batch, "b", b, n, nrhs);
    if (!mpk_failed(status) && pivots && n > 0)
        status = mpki_batch_check_pivots(ctx, &job.batch, method == MPK_BATCH_LDU,
                                         method == MPK_BATCH_LDLT, pivots);
    if (mpk_failed(status)) return status;
    job.pivots = (int32_t *)(uintptr_t)pivots; /* a solve only reads them */
    if (results) job.results.outcome = results->outcome;
    job.fn = DISPATCH(job.batch.scalar, solve_chunk);
    job.work_bytes = DISPATCH(job.batch.scalar, work_bytes)(&job);
    job.flops = 2.0 * n * n * nrhs;
    return run(ctx, &job);
}

static mpk_status check_product(mpk_context *ctx, const mpk_batch *batch,
                                const mpk_batch_product *p) {
    if (!p) return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1, "the product is NULL");
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->transpose_b < 0 || p->transpose_b > 2)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1,
                          "a size is negative, or transpose_b not 0, 1, 2");
    if (p->m > MPK_BATCH_MAX_N || p->n > MPK_BATCH_MAX_N || p->k > MPK_BATCH_MAX_N)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "batch", -1, "batches are for m, n, k up to %d",
                          MPK_BATCH_MAX_N);
    for (int64_t b = 0; p->sizes && b < batch->count; b++) {
        const int32_t *s = p->sizes + 3 * b;
        if (s[0] < 0 || s[1] < 0 || s[2] < 0 || s[0] > p->m || s[1] > p->n || s[2] > p->k)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", b,
                              "a size is negative or above the largest");
    }
    return MPK_OK;
}

mpk_status mpk_batch_gemm(mpk_context *ctx, const mpk_batch *batch,
                          const mpk_batch_product *product, const mpk_batch_array *a,
                          const mpk_batch_array *d, const mpk_batch_array *b,
                          const mpk_batch_array *c) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpki_batch_job job = {.product = product, .a = a, .b = b, .c = c, .d = d};
    mpk_batch plain; /* the orders in `batch` have no meaning in a product */
    mpk_batch_init(&plain);
    if (batch) {
        memcpy(&plain, batch,
               batch->struct_size < sizeof plain ? batch->struct_size : sizeof plain);
        plain.n = 0, plain.sizes = NULL, plain.pivoting = MPK_PIVOTING_NONE;
        plain.zero_tolerance = -1;
    }
    mpk_status status = mpki_batch_check_shape(ctx, batch ? &plain : NULL, &job.batch);
    if (!mpk_failed(status)) status = check_product(ctx, &job.batch, product);
    if (mpk_failed(status)) return status;
    const int64_t m = product->m, n = product->n, k = product->k;
    const bool t = product->transpose_b != 0;
    status = mpki_batch_check_array(ctx, &job.batch, "c", c, m, n);
    if (!mpk_failed(status)) status = mpki_batch_check_array(ctx, &job.batch, "a", a, m, k);
    if (!mpk_failed(status))
        status = mpki_batch_check_array(ctx, &job.batch, "b", b, t ? n : k, t ? k : n);
    if (!mpk_failed(status) && d) status = mpki_batch_check_array(ctx, &job.batch, "d", d, 2, k);
    if (mpk_failed(status)) return status;
    const void *inputs[] = {a->data, b->data, d ? d->data : NULL};
    for (int i = 0; i < 3; i++)
        if (c->data && c->data == inputs[i] && job.batch.count > 0 && m > 0 && n > 0)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1,
                              "c is %s: a product cannot be in place",
                              (const char *[]){"a", "b", "d"}[i]);
    job.fn = DISPATCH(job.batch.scalar, gemm_chunk);
    job.work_bytes = DISPATCH(job.batch.scalar, gemm_bytes)(&job);
    job.flops = 2.0 * (double)m * (double)n * (double)k;
    return run(ctx, &job);
}
