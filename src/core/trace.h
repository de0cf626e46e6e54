/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TRACE_H
#define MPKI_TRACE_H
/** What a context did when: spans of time in a few lanes. Recording costs two looks at a clock for
 *  each span, and nothing but a test while nobody asked for it. From any thread. */
#include "core.h"

/** Who did it. */
typedef enum mpki_lane {
    MPKI_LANE_CALLER,
    MPKI_LANE_INSPECTOR,
    MPKI_LANE_MACHINE, /* an accelerator, by its own clock */
    MPKI_LANES
} mpki_lane;

typedef struct mpki_span {
    const char *name; /* a literal */
    mpki_lane lane;
    int32_t number; /* of a level, stage or iteration; -1: none */
    double begin_s, end_s;
} mpki_span;

typedef struct mpki_trace {
    int64_t room;
    _Atomic int64_t count; /* of all spans; those beyond `room` are lost */
    double start_s;
    mpki_span span[];
} mpki_trace;

/** The context's; NULL: it records nothing. */
mpki_trace *mpki_trace_of(const mpk_context *ctx);
void mpki_context_set_trace(mpk_context *ctx, mpki_trace *trace);
/** Begin to record, at most `room` spans, and forget what was recorded. MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_trace_start(mpk_context *ctx, int64_t room);
void mpki_trace_stop(mpk_context *ctx);

/** The beginning of a span: the time, or 0 where nothing is recorded. */
double mpki_trace_begin(const mpk_context *ctx);
/** Its end. number: see mpki_span */
void mpki_trace_end(mpk_context *ctx, mpki_lane lane, const char *name, int32_t number,
                    double begin_s);
/** A span of which both times are known. */
void mpki_trace_add(mpk_context *ctx, mpki_lane lane, const char *name, int32_t number,
                    double begin_s, double end_s);

#endif
