/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace as a file: Chrome's format, or a picture of the run and of its factorization, that with a
 * lane for the caller, one for the inspector and one for an accelerator (Thuerck 2021, fig. 8.4). */
#include "../core/trace.h"
#include "../problem/sink.h"
#include "plot.h"

#include <math.h>
#include <string.h>

static const char *const lanes[MPKI_LANES] = {"executor", "inspector", "machine"};

/* What the picture tells apart, in the order of the legends. Others are "other steps". */
typedef enum part { OF_RUN, OF_FACTOR } part;
static const struct {
    const char *name, *label, *colour;
    part part;
} kinds[] = {{"match", "matching", "#e3b341", OF_RUN},
             {"block", "order and blocks", "#d9793d", OF_RUN},
             {"sweeps made", "triangles made ready", "#6aa5a9", OF_RUN},
             {"matrix made", "products made ready", "#a8c3b0", OF_RUN},
             {"iterations", "iterations", "#3b9a86", OF_RUN},
             {"measured", "errors measured", "#a77b4f", OF_RUN},
             {"scaling", "scaling", "#c4a7b5", OF_FACTOR},
             {"both triangles", "A into blocks", "#b9c4cf", OF_FACTOR},
             {"A mirrored", "A mirrored", "#93a1af", OF_FACTOR},
             {"fill and index", "fill and index", "#8a6fc0", OF_FACTOR},
             {"level sets", "level sets", "#b48ad6", OF_FACTOR},
             {"lists", "lists", "#5b6abf", OF_FACTOR},
             {"I pivots", "I pivots", "#c6414b", OF_FACTOR},
             {"II solve", "II solve", "#2f8f6b", OF_FACTOR},
             {"III store", "III store", "#7cc08a", OF_FACTOR},
             {"downdates", "downdates", "#d98aa8", OF_FACTOR},
             {"scalar factor", "scalar factor", "#c6414b", OF_FACTOR},
             {"sweeps", "sweeps", "#c6414b", OF_FACTOR},
             {"push back", "push back", "#20242a", OF_FACTOR},
             {"dense pivot", "dense pivot", "#3a76b8", OF_FACTOR},
             {"portion", "portion", "#c6414b", OF_FACTOR},
             {"upload", "upload", "#c9a227", OF_FACTOR},
             {"download", "download", "#8d7a2f", OF_FACTOR},
             {"F factorize", "F factorize", "#c6414b", OF_FACTOR},
             {"S solve", "S solve", "#2f8f6b", OF_FACTOR},
             {"D downdate", "D downdate", "#d98aa8", OF_FACTOR},
             {"T transpose", "T transpose", "#6aa5a9", OF_FACTOR},
             {"Z zero out", "Z zero out", "#b0b7bf", OF_FACTOR},
             {"P permute", "P permute", "#a77b4f", OF_FACTOR},
             {"queued", "kernels queued", "#5b6abf", OF_FACTOR},
             {"wait", "waited for results", "#e6dfcf", OF_FACTOR},
             {"approximate inverses", "approximate inverses", "#4fb0c6", OF_FACTOR}};
enum { KINDS = sizeof kinds / sizeof *kinds, OTHER = KINDS };
static const char OTHERS[] = "#d5dadf", FACTORIZATION[] = "#2a5a9f";

static int64_t recorded(const mpki_trace *t) {
    const int64_t count = atomic_load(&t->count);
    return count < t->room ? count : t->room;
}

/* Not every method has an inspector, and few runs an accelerator with a clock of its own. */
static bool has_lane(const mpki_trace *t, int lane) {
    for (int64_t k = 0; k < recorded(t); k++)
        if ((int)t->span[k].lane == lane) return true;
    return lane == MPKI_LANE_CALLER;
}

/* https://chromium.googlesource.com/catapult: complete events, microseconds. */
static void put_events(mpki_buffer *out, const mpki_trace *t) {
    mpki_buffer_printf(out,
                       "{ \"displayTimeUnit\": \"ms\", \"otherData\": { \"lost\": %lld },\n"
                       "\"traceEvents\": [\n",
                       (long long)(atomic_load(&t->count) - recorded(t)));
    const int last = has_lane(t, MPKI_LANE_MACHINE) ? MPKI_LANE_MACHINE : MPKI_LANE_INSPECTOR;
    for (int lane = 0; lane <= last; lane++)
        mpki_buffer_printf(out,
                           "{ \"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, "
                           "\"args\": { \"name\": \"%s\" } }%s\n",
                           lane, lanes[lane], lane < last || recorded(t) ? "," : "");
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

enum { LEFT = 110, RUN_TOP = 96, BAR = 40, BAND = 56, LEGEND = 225, COLUMNS = 4, LINE = 22 };

/* A span of time, or of x. */
typedef struct range {
    double from, to;
} range;

static int kind_of(const char *name) {
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].name, name) != 0) k++;
    return k;
}

/* All of the solve, of which the parts are drawn. */
static bool drawn(const mpki_span *s) {
    return strcmp(s->name, "solve") != 0;
}

static bool of_factor(int kind) {
    return kind < KINDS && kinds[kind].part == OF_FACTOR;
}

/* From the first to the last span of the factorization, or of all of them. */
static range extent(const mpki_trace *t, bool factor) {
    range r = {INFINITY, -INFINITY};
    for (int64_t k = 0; k < recorded(t); k++) {
        const mpki_span *s = &t->span[k];
        if (!drawn(s) || (factor && !of_factor(kind_of(s->name)))) continue;
        r.from = fmin(r.from, s->begin_s);
        r.to = fmax(r.to, s->end_s);
    }
    return r.to > r.from ? r : (range){0, 0}; /* an axis without anything */
}

/* The spans of a lane that are of one kind, joined where the gap could not be seen. */
static void put_bars(mpki_buffer *out, const mpki_trace *t, int kind, int lane, range window,
                     double y, const char *colour) {
    const double unit = (WIDTH - LEFT - MARGIN) / (window.to - window.from);
    range bar = {-1, -1};
    for (int64_t k = 0; k <= recorded(t); k++) {
        const mpki_span *s = k < recorded(t) ? &t->span[k] : NULL;
        if (s && (!drawn(s) || s->end_s < window.from || s->begin_s > window.to)) continue;
        const int its = s ? kind_of(s->name) : -1;
        if (s && (its != kind || (int)s->lane != lane)) continue;
        const double begin = s ? LEFT + unit * (fmax(s->begin_s, window.from) - window.from) : 0;
        const double end = s ? LEFT + unit * (fmin(s->end_s, window.to) - window.from) : 0;
        if (s && bar.from >= 0 && begin < bar.to + 0.15 && end >= bar.from) {
            bar = (range){fmin(bar.from, begin), fmax(bar.to, end)};
            continue;
        }
        if (bar.from >= 0)
            mpki_buffer_printf(out,
                               "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" "
                               "fill=\"%s\"/>\n",
                               bar.from, y, fmax(0.2, bar.to - bar.from), BAR, colour);
        bar = s ? (range){begin, end} : (range){-1, -1};
    }
}

/* The line of time under bars. */
static void put_axis(mpki_buffer *out, double y, double length_s) {
    char text[MPKI_UNIT_MAX];
    const int wide = WIDTH - LEFT - MARGIN;
    mpki_buffer_printf(out, "<path d=\"M%d %.0fH%d\" stroke=\"" SOFT "\" stroke-width=\"1\"/>\n",
                       LEFT, y, LEFT + wide);
    for (int k = 0; k <= 4; k++)
        mpki_plot_text(out, LEFT + wide * k / 4.0, y + 18, k ? "e" : "s",
                       mpki_show_time(text, length_s * k / 4));
}

/* Entry `at` of a legend: the colour, and how long it took in all. */
static void put_entry(mpki_buffer *out, int at, double top, const char *colour, const char *label,
                      double time_s) {
    char text[64], time[MPKI_UNIT_MAX];
    const double x = MARGIN + at % COLUMNS * LEGEND, y = top + at / COLUMNS * LINE;
    mpki_buffer_printf(out,
                       "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                       y, colour);
    mpki_print(text, sizeof text, "%s, %s", label, mpki_show_time(time, time_s));
    mpki_plot_text(out, x + 18, y + 11, "s", text);
}

/* What there is of each kind, from `window` alone: seconds, 0: none of it. */
static void measure(const mpki_trace *t, range window, double time_s[KINDS + 1]) {
    for (int k = 0; k <= KINDS; k++) time_s[k] = 0;
    for (int64_t k = 0; k < recorded(t); k++) {
        const mpki_span *s = &t->span[k];
        const double from = fmax(s->begin_s, window.from), to = fmin(s->end_s, window.to);
        if (drawn(s) && to >= from) time_s[kind_of(s->name)] += fmax(to - from, 1e-12);
    }
}

/* The whole run as a strip, with its legend; returns the height of that. Of several attempts the
 * factorization goes from the first to the last, and what was done between lies over it. */
static int put_run(mpki_buffer *out, const mpki_trace *t, range all, range factor) {
    const double unit = (WIDTH - LEFT - MARGIN) / (all.to - all.from);
    const double legend = RUN_TOP + BAR + 46;
    double time_s[KINDS + 1];
    int at = 0;
    measure(t, all, time_s);
    mpki_plot_text(out, MARGIN, RUN_TOP + 25, "s", "the run");
    if (factor.to > factor.from)
        mpki_buffer_printf(out,
                           "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                           LEFT + unit * (factor.from - all.from), RUN_TOP,
                           fmax(0.2, unit * (factor.to - factor.from)), BAR, FACTORIZATION);
    for (int kind = 0; kind < KINDS; kind++) {
        if (of_factor(kind) || time_s[kind] <= 0) continue;
        put_bars(out, t, kind, MPKI_LANE_CALLER, all, RUN_TOP, kinds[kind].colour);
        put_entry(out, at++, legend, kinds[kind].colour, kinds[kind].label, time_s[kind]);
    }
    put_entry(out, at++, legend, FACTORIZATION, "factorization", factor.to - factor.from);
    put_axis(out, RUN_TOP + BAR + 8, all.to - all.from);
    return (at + COLUMNS - 1) / COLUMNS * LINE;
}

/* Executor and inspector of the factorization, from `top` on. */
static int put_factorization(mpki_buffer *out, const mpki_trace *t, range window, double top) {
    int used = 0;
    for (int lane = 0; lane < MPKI_LANES; lane++) used += has_lane(t, lane);
    const double axis = top + 16 + used * BAND, legend = axis + 38;
    double time_s[KINDS + 1];
    int at = 0;
    measure(t, window, time_s);
    mpki_plot_text(out, MARGIN, top, "t",
                   used > 2   ? "The factorization: executor, inspector and machine"
                   : used > 1 ? "The factorization: executor and inspector"
                              : "The factorization");
    for (int lane = 0, place = 0; lane < MPKI_LANES; lane++) {
        const double y = top + 20 + place * BAND;
        if (!has_lane(t, lane)) continue;
        place++;
        mpki_plot_text(out, MARGIN, y + 25, "s", lanes[lane]);
        for (int kind = KINDS; kind >= 0; kind--) /* others under what is known */
            if (time_s[kind] > 0)
                put_bars(out, t, kind, lane, window, y, kind < KINDS ? kinds[kind].colour : OTHERS);
    }
    put_axis(out, axis, window.to - window.from);
    for (int kind = 0; kind <= KINDS; kind++)
        if (time_s[kind] > 0)
            put_entry(out, at++, legend, kind < KINDS ? kinds[kind].colour : OTHERS,
                      kind < KINDS ? kinds[kind].label : "other steps", time_s[kind]);
    return (int)legend + (at + COLUMNS - 1) / COLUMNS * LINE + 20;
}

static void put_picture(mpki_buffer *out, const mpki_trace *t) {
    const range all = extent(t, false), window = extent(t, true);
    mpki_buffer body;
    mpki_buffer_init(&body, out->ctx);
    mpki_plot_text(&body, MARGIN, 46, "h", "What was done when");
    mpki_plot_text(&body, MARGIN, 72, "s", "The run, and its factorization in more detail");
    const int used = put_run(&body, t, all, window);
    const int height = put_factorization(&body, t, window, RUN_TOP + BAR + 46 + used + 40);
    mpki_buffer_bytes(&body, "", 0);
    mpki_buffer_printf(out,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                       "viewBox=\"0 0 %d %d\" role=\"img\">\n<style>text{font-family:Inter,"
                       "'Helvetica Neue',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:" INK
                       ";font-size:13px}.h{font-size:21px;font-weight:600}.t{font-size:15px;"
                       "font-weight:600}.s{fill:" SOFT "}.e{fill:" SOFT
                       ";text-anchor:end}</style>\n"
                       "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                       WIDTH, height, WIDTH, height, WIDTH, height);
    if (!mpk_failed(body.status)) mpki_buffer_bytes(out, body.data, body.size);
    if (mpk_failed(body.status)) out->status = body.status;
    mpki_buffer_free(&body);
    mpki_buffer_printf(out, "</svg>\n");
}

mpk_status mpki_trace_write(mpk_context *ctx, const char *path) {
    const mpki_trace *t = mpki_trace_of(ctx);
    mpki_buffer out;
    if (!t) return MPK_OK;
    mpki_buffer_init(&out, ctx);
    static const char *const drawn_as[] = {".svg", ".svg.gz", ".svg.xz", ".png", ".pdf"};
    bool draws = false;
    for (int k = 0; k < 5; k++) draws |= mpki_name_ends(path, drawn_as[k]);
    if (draws)
        put_picture(&out, t);
    else
        put_events(&out, t);
    mpk_status status = out.status;
    if (!mpk_failed(status)) status = mpk_text_write(ctx, path, out.data, out.size);
    mpki_buffer_free(&out);
    return status;
}
