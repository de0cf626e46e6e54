/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call tells its caller: the last error, progress, and whether to stop. */
#define _GNU_SOURCE
#include "context.h"
#include "cpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- errors ---------------------------------------------------------------------------------- */

mpk_status mpki_error(mpk_context *ctx, mpk_status status, const char *stage, int64_t index,
                      const char *format, ...) {
    if (!ctx) return status;
    mpki_lock_take(&ctx->lock);
    /* the first failure is kept, later ones follow from it; a failure replaces a positive status */
    if (ctx->status == MPK_OK || (ctx->status > 0 && mpk_failed(status))) {
        ctx->status = status;
        ctx->index = index;
        snprintf(ctx->stage, sizeof ctx->stage, "%s", stage);
        va_list args;
        va_start(args, format);
        vsnprintf(ctx->text, sizeof ctx->text, format, args);
        va_end(args);
    }
    mpki_lock_give(&ctx->lock);
    return status;
}

void mpki_clear_error(mpk_context *ctx) {
    if (!ctx) return;
    ctx->status = MPK_OK;
    ctx->index = -1;
    ctx->stage[0] = ctx->text[0] = '\0';
    atomic_store(&ctx->cancelled, false);
    if (ctx->forks == mpki_forks()) return;
    ctx->forks = mpki_forks(); /* a call that another thread was in does not go on here */
    atomic_store(&ctx->bound_bytes, 0);
}

mpk_status mpki_failed(const mpk_context *ctx) {
    return ctx ? ctx->status : MPK_ERR_ARGUMENT;
}

mpk_status mpk_last_error(const mpk_context *ctx, const char **stage, int64_t *index,
                          const char **text) {
    if (stage) *stage = ctx ? ctx->stage : "";
    if (index) *index = ctx ? ctx->index : -1;
    if (text) *text = ctx ? ctx->text : "no context";
    if (ctx) return ctx->status;
    const char *why;
    mpk_status wish = mpki_cpu_wish(NULL, &why);
    if (mpk_failed(wish) && text) *text = why;
    return mpk_failed(wish) ? wish : MPK_ERR_ARGUMENT;
}

/* ---- progress and time ----------------------------------------------------------------------- */

bool mpki_progress(mpk_context *ctx, const char *stage, double fraction) {
    if (!ctx->progress) return false;
    if (atomic_load(&ctx->cancelled)) return true;
    double now = mpki_now_s();
    bool new_stage = stage != atomic_load(&ctx->progress_stage); /* told at once */
    if (now < atomic_load(&ctx->progress_next_s) && fraction > 0 && fraction < 1 && !new_stage)
        return false;
    if (!mpki_lock_try(&ctx->lock)) return false; /* another thread is telling */
    atomic_store(&ctx->progress_next_s, now + ctx->progress_each_s);
    atomic_store(&ctx->progress_stage, stage);
    atomic_store(&ctx->progress_fraction, fraction);
    if (ctx->progress(stage, fraction, ctx->progress_user)) atomic_store(&ctx->cancelled, true);
    mpki_lock_give(&ctx->lock);
    return atomic_load(&ctx->cancelled);
}

bool mpki_stop_wanted(mpk_context *ctx, const char *stage) {
    if (!ctx->progress) return false;
    if (atomic_load(&ctx->cancelled)) return true;
    if (mpki_now_s() < atomic_load(&ctx->progress_next_s)) return false;
    const char *last = atomic_load(&ctx->progress_stage);
    if (!last || strcmp(last, stage) != 0) return mpki_progress(ctx, stage, 0);
    return mpki_progress(ctx, last, atomic_load(&ctx->progress_fraction));
}

void mpki_progress_each(mpk_context *ctx, double seconds) {
    ctx->progress_each_s = seconds;
}

bool mpki_cancelled(const mpk_context *ctx) {
    return atomic_load(&ctx->cancelled);
}

mpk_status mpki_stopped(mpk_context *ctx, const char *stage) {
    return mpki_error(ctx, MPK_ERR_CANCELLED, stage, -1, "stopped on request");
}

double mpki_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
