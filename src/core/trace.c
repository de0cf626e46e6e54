/* SPDX-License-Identifier: BSD-3-Clause */
/* Records what a context did when. */
#include "context.h"

mpki_trace *mpki_trace_of(const mpk_context *ctx) {
    return ctx->trace;
}

void mpki_context_set_trace(mpk_context *ctx, mpki_trace *trace) {
    ctx->trace = trace;
}

mpk_status mpki_trace_start(mpk_context *ctx, int64_t room) {
    mpki_trace_stop(ctx);
    mpki_trace *t = mpki_alloc(ctx, "trace", 1, sizeof *t + (size_t)room * sizeof(mpki_span));
    if (!t) return mpki_failed(ctx);
    t->room = room;
    atomic_init(&t->count, 0);
    t->start_s = mpki_now_s();
    mpki_context_set_trace(ctx, t);
    return MPK_OK;
}

void mpki_trace_stop(mpk_context *ctx) {
    mpki_release(ctx, mpki_trace_of(ctx));
    mpki_context_set_trace(ctx, NULL);
}

double mpki_trace_begin(const mpk_context *ctx) {
    return mpki_trace_of(ctx) ? mpki_now_s() : 0;
}

void mpki_trace_add(mpk_context *ctx, mpki_lane lane, const char *name, int32_t number,
                    double begin_s, double end_s) {
    mpki_trace *t = mpki_trace_of(ctx);
    if (!t) return;
    const int64_t k = atomic_fetch_add(&t->count, 1);
    if (k < t->room) t->span[k] = (mpki_span){name, lane, number, begin_s, end_s};
}

void mpki_trace_end(mpk_context *ctx, mpki_lane lane, const char *name, int32_t number,
                    double begin_s) {
    if (begin_s != 0) mpki_trace_add(ctx, lane, name, number, begin_s, mpki_now_s());
}
