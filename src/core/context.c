/* SPDX-License-Identifier: BSD-3-Clause */
/* The context: made, told what its calls shall do, and ended. */
#include "context.h"
#include "cpu.h"

#include <metapack/problem.h>
#include <string.h>

mpk_status mpk_context_create(const mpk_allocator *allocator, mpk_context **out) {
    if (!out || *out) return MPK_ERR_ARGUMENT;
    if (allocator && (!allocator->alloc || !allocator->release)) return MPK_ERR_ARGUMENT;
    mpk_status wish = mpki_cpu_wish(NULL, NULL);
    if (mpk_failed(wish)) return wish;
    if (!mpki_count_forks()) return MPK_ERR_MEMORY;
    mpk_allocator chosen = mpki_allocator_of(allocator);
    mpk_context *ctx = chosen.alloc(chosen.user, sizeof *ctx);
    if (!ctx) return MPK_ERR_MEMORY;
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = chosen;
    ctx->index = -1;
    ctx->symmetry_tolerance = -1;
    ctx->progress_each_s = 0.05;
    ctx->forks = mpki_forks();
    if (!mpki_lock_init(&ctx->lock)) {
        chosen.release(chosen.user, ctx, sizeof *ctx);
        return MPK_ERR_MEMORY;
    }
    if (!mpki_lock_init(&ctx->kept.lock)) {
        mpki_lock_end(&ctx->lock);
        chosen.release(chosen.user, ctx, sizeof *ctx);
        return MPK_ERR_MEMORY;
    }
    *out = ctx;
    return MPK_OK;
}

const void *mpki_context_engine(const mpk_context *ctx) {
    return ctx->engine;
}

void mpki_context_set_engine(mpk_context *ctx, const void *engine) {
    ctx->engine = engine;
}

void mpki_context_own_engine(mpk_context *ctx, void *engine,
                             void (*close)(void *engine, mpk_context *ctx)) {
    if (ctx->own_engine) ctx->engine_close(ctx->own_engine, ctx);
    ctx->engine = ctx->own_engine = engine;
    ctx->engine_close = close;
}

void *mpki_context_device(const mpk_context *ctx) {
    return ctx->device;
}

void mpki_context_set_device(mpk_context *ctx, void *device, void (*close)(void *device)) {
    if (ctx->device) ctx->device_close(ctx->device);
    ctx->device = device;
    ctx->device_close = close;
}

void mpk_context_destroy(mpk_context **ctx) {
    if (!ctx || !*ctx) return;
    mpki_context_own_engine(*ctx, NULL, NULL);
    mpki_context_set_device(*ctx, NULL, NULL);
    mpki_pool_destroy(&(*ctx)->pool);
    mpki_trace_stop(*ctx);
    mpk_allocator allocator = (*ctx)->allocator;
    mpki_kept_release(*ctx);
    mpki_lock_end(&(*ctx)->kept.lock);
    mpki_lock_end(&(*ctx)->lock);
    allocator.release(allocator.user, *ctx, sizeof **ctx);
    *ctx = NULL;
}

const mpk_allocator *mpki_context_allocator(const mpk_context *ctx) {
    return &ctx->allocator;
}

int mpki_context_threads(mpk_context *ctx, int threads) {
    if (ctx->cores == 0) ctx->cores = mpki_cores();
    return threads < 1 ? 1 : threads < ctx->cores ? threads : ctx->cores;
}

void mpki_context_set_cores(mpk_context *ctx, int cores) {
    ctx->cores = cores;
    ctx->takes_all = cores > 0;
}

bool mpki_context_takes_all(const mpk_context *ctx) {
    return ctx->takes_all;
}

mpki_pool *mpki_context_pool(mpk_context *ctx, int threads, int64_t capacity) {
    threads = mpki_context_threads(ctx, threads);
    if (ctx->pool && (mpki_pool_most(ctx->pool) < threads || mpki_pool_is_lost(ctx->pool)))
        mpki_pool_destroy(&ctx->pool);
    if (!ctx->pool) ctx->pool = mpki_pool_create(ctx, threads);
    if (!ctx->pool || !mpki_pool_reserve(ctx->pool, capacity)) return NULL;
    mpki_pool_set_team(ctx->pool, threads);
    return ctx->pool;
}

int mpki_context_took(mpk_context *ctx) {
    return mpki_pool_took(ctx->pool);
}

double mpki_context_wake_s(mpk_context *ctx, int threads) {
    if (ctx->wake_s > 0) return ctx->wake_s;
    mpki_pool *pool = mpki_context_pool(ctx, threads, 1);
    if (pool) ctx->wake_s = mpki_pool_wake_s(pool);
    return ctx->wake_s;
}

/* ---- what its calls shall do ----------------------------------------------------------------- */

void mpk_context_set_progress(mpk_context *ctx, mpk_progress_fn progress, void *user) {
    if (!ctx) return;
    ctx->progress = progress;
    ctx->progress_user = user;
}

void mpki_set_symmetry_tolerance(mpk_context *ctx, double tolerance) {
    ctx->symmetry_tolerance = tolerance;
}

mpk_status mpk_context_set_symmetry_tolerance(mpk_context *ctx, double tolerance) {
    mpki_clear_error(ctx);
    if (!ctx || !(tolerance <= 1))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "problem", -1,
                          "symmetry_tolerance = %g: expected a number from 0 to 1, or below 0 for "
                          "the default",
                          tolerance);
    mpki_set_symmetry_tolerance(ctx, tolerance);
    return MPK_OK;
}

bool mpki_rank_is_asked(const mpk_context *ctx) {
    return ctx->rank_asked;
}

void mpki_ask_for_rank(mpk_context *ctx, bool ask) {
    ctx->rank_asked = ask;
}

double mpki_symmetry_tolerance(const mpk_context *ctx) {
    return ctx->symmetry_tolerance;
}
