/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace as a file: Chrome's format, or a picture with a lane for the caller and one for the
 * inspector (Thuerck 2021, fig. 8.4). */
#include "../core/trace.h"
#include "../problem/sink.h"
#include "plot.h"

#include <math.h>
#include <string.h>

static const char *const lanes[] = {"executor", "inspector"};

/* What the picture tells apart, in the order of the legend. Others are drawn in grey. */
static const struct {
    const char *name, *colour;
} kinds[] = {{"fill and index", "#8a6fc0"}, {"level sets", "#b48ad6"},  {"lists", "#5b6abf"},
             {"I pivots", "#c6414b"},       {"II solve", "#2f8f6b"},    {"III store", "#7cc08a"},
             {"downdates", "#d98aa8"},      {"push back", "#20242a"},   {"dense pivot", "#3a76b8"},
             {"upload", "#c9a227"},         {"F factorize", "#c6414b"}, {"S solve", "#2f8f6b"},
             {"D downdate", "#d98aa8"},     {"T transpose", "#6aa5a9"}, {"Z zero out", "#b0b7bf"},
             {"P permute", "#a77b4f"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int64_t recorded(const mpki_trace *t) {
    const int64_t count = atomic_load(&t->count);
    return count < t->room ? count : t->room;
}

/* https://chromium.googlesource.com/catapult: complete events, microseconds. */
static void put_events(mpki_buffer *out, const mpki_trace *t) {
    mpki_buffer_printf(out,
                       "{ \"displayTimeUnit\": \"ms\", \"otherData\": { \"lost\": %lld },\n"
                       "\"traceEvents\": [\n",
                       (long long)(atomic_load(&t->count) - recorded(t)));
    for (int lane = 0; lane < MPKI_LANES; lane++)
        mpki_buffer_printf(out,
                           "{ \"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, "
                           "\"args\": { \"name\": \"%s\" } }%s\n",
                           lane, lanes[lane], lane + 1 < MPKI_LANES || recorded(t) ? "," : "");
    for (int64_t k = 0; k < recorded(t); k++) {
        const mpki_span *s = &t->span[k];
        mpki_buffer_printf(out,
                           "{ \"name\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, "
                           "\"ts\": %.3f, \"dur\": %.3f",
                           s->name, (int)s->lane, 1e6 * (s->begin_s - t->start_s),
                           1e6 * (s->end_s - s->begin_s));
        if (s->number >= 0) mpki_buffer_printf(out, ", \"args\": { \"number\": %d }", s->number);
        mpki_buffer_printf(out, " }%s\n", k + 1 < recorded(t) ? "," : "");
    }
    mpki_buffer_printf(out, "] }\n");
}

enum { LEFT = 110, BAND = 56, UPPER = 92, LEGEND = 150 };

static int kind_of(const char *name) {
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].name, name) != 0) k++;
    return k;
}

/* The picture is of the factorization; what stands before and after it is in the JSON. */
static bool drawn(const char *name) {
    return strcmp(name, "match") != 0 && strcmp(name, "block") != 0 && strcmp(name, "solve") != 0;
}

/* Spans of one kind in one lane, joined where the gap could not be seen. */
static void put_bars(mpki_buffer *out, const mpki_trace *t, int kind, int lane, double start,
                     double unit) {
    double from = -1, to = -1;
    const char *colour = kind < KINDS ? kinds[kind].colour : "#93a1af";
    for (int64_t k = 0; k <= recorded(t); k++) {
        const mpki_span *s = k < recorded(t) ? &t->span[k] : NULL;
        if (s && ((int)s->lane != lane || kind_of(s->name) != kind || !drawn(s->name))) continue;
        const double begin = s ? LEFT + unit * (s->begin_s - start) : 0;
        if (s && from >= 0 && begin < to + 0.15) {
            to = LEFT + unit * (s->end_s - start);
            continue;
        }
        if (from >= 0)
            mpki_buffer_printf(out,
                               "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
                               "fill=\"%s\"/>\n",
                               from, UPPER + lane * BAND, to - from > 0.2 ? to - from : 0.2,
                               BAND - 16, colour);
        from = begin;
        to = s ? LEFT + unit * (s->end_s - start) : 0;
    }
}

static void put_picture(mpki_buffer *out, const mpki_trace *t) {
    const int height = UPPER + MPKI_LANES * BAND + 30 + (KINDS + 6) / 6 * 22 + 20;
    const int wide = WIDTH - LEFT - MARGIN;
    double start = INFINITY, end = -INFINITY;
    char text[MPKI_UNIT_MAX];
    bool there[KINDS + 1] = {false};
    for (int64_t k = 0; k < recorded(t); k++) {
        const mpki_span *s = &t->span[k];
        if (!drawn(s->name)) continue;
        if (s->begin_s < start) start = s->begin_s;
        if (s->end_s > end) end = s->end_s;
        there[kind_of(s->name)] = true;
    }
    if (!(end > start)) start = end = 0; /* an axis without anything */
    const double unit = end > start ? wide / (end - start) : 0;
    mpki_buffer_printf(out,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                       "viewBox=\"0 0 %d %d\" role=\"img\">\n<style>text{font-family:Inter,"
                       "'Helvetica Neue',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:" INK
                       ";font-size:13px}.h{font-size:21px;font-weight:600}.s{fill:" SOFT "}"
                       ".e{fill:" SOFT ";text-anchor:end}</style>\n"
                       "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                       WIDTH, height, WIDTH, height, WIDTH, height);
    mpki_plot_text(out, MARGIN, 46, "h", "The factorization: executor and inspector");
    for (int lane = 0; lane < MPKI_LANES; lane++) {
        mpki_plot_text(out, MARGIN, UPPER + lane * BAND + 25, "s", lanes[lane]);
        for (int kind = 0; kind <= KINDS; kind++)
            if (there[kind]) put_bars(out, t, kind, lane, start, unit);
    }
    const int axis = UPPER + MPKI_LANES * BAND;
    mpki_buffer_printf(out, "<path d=\"M%d %dH%d\" stroke=\"" SOFT "\" stroke-width=\"1\"/>\n",
                       LEFT, axis, LEFT + wide);
    for (int k = 0; k <= 4; k++)
        mpki_plot_text(out, LEFT + wide * k / 4.0, axis + 18, k ? "e" : "s",
                       mpki_show_time(text, (end - start) * k / 4));
    for (int kind = 0, at = 0; kind < KINDS; kind++) {
        if (!there[kind]) continue;
        const int x = MARGIN + at % 6 * LEGEND, y = axis + 40 + at / 6 * 22;
        mpki_buffer_printf(out,
                           "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                           y, kinds[kind].colour);
        mpki_plot_text(out, x + 18, y + 11, "s", kinds[kind].name);
        at++;
    }
    mpki_buffer_printf(out, "</svg>\n");
}

mpk_status mpki_trace_write(mpk_context *ctx, const char *path) {
    const mpki_trace *t = mpki_trace_of(ctx);
    const size_t length = strlen(path);
    mpki_buffer out;
    mpki_sink *sink = NULL;
    if (!t) return MPK_OK;
    mpki_buffer_init(&out, ctx);
    if (length > 4 && !strcmp(path + length - 4, ".svg"))
        put_picture(&out, t);
    else
        put_events(&out, t);
    mpk_status status = out.status;
    if (!mpk_failed(status)) status = mpki_sink_open(ctx, path, &sink);
    if (!mpk_failed(status)) status = mpki_sink_bytes(sink, out.data, out.size);
    status = mpki_sink_close(&sink, status);
    mpki_buffer_free(&out);
    return status;
}
