/* SPDX-License-Identifier: BSD-3-Clause */
/* The panels of Fig. 9.4 of the thesis: sizes of the warps, cycles and utilisation over slots with
 * a curve for each threshold; and what the slots of the best setting did first. Lengths in CSS
 * pixels. */
#include "sim/vector/sweep.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDE = 360, TALL = 230, LEFT = 76, GAP = 96, TOP = 92, ROW = TALL + 84, LANE = 15 };

#define INK "#1d2733"
#define SOFT "#64707d"
#define FRAME "#c9d1d9"
#define GRID "#eceff2"

static const char *const colours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
                                      "#8250df", "#0e7c86", "#bf3989", "#57606a"};
enum { COLOURS = sizeof colours / sizeof *colours };

static void put_text(borg_sink *out, double x, double y, const char *class, const char *text) {
    borg_put(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    for (const unsigned char *c = (const unsigned char *)text; *c; ++c) {
        if (*c == '&')
            borg_put(out, "&amp;");
        else if (*c == '<')
            borg_put(out, "&lt;");
        else if (*c == '>')
            borg_put(out, "&gt;");
        else
            borg_put(out, "%c", *c < 32 || *c > 126 ? '?' : *c);
    }
    borg_put(out, "</text>\n");
}

/* A round step of which at most five reach `most`. */
static double step_to(double most) {
    double unit = pow(10, floor(log10(most > 0 ? most : 1)) - 1);
    static const double steps[] = {1, 2, 2.5, 5, 10, 20, 25, 50};
    for (int k = 0; k < 8; ++k)
        if (5 * steps[k] * unit >= most) return steps[k] * unit;
    return most;
}

static const char *number(borg_sink *out, double x) {
    if (x >= 1e6) return borg_format(out->arena, "%gM", x / 1e6);
    return x >= 1e3 ? borg_format(out->arena, "%gk", x / 1e3) : borg_format(out->arena, "%g", x);
}

/* Frame, lines and numbers of the y axis from 0 to `top`; the title. */
static void put_frame(borg_sink *out, const char *title, double top, double step,
                      const char *unit) {
    put_text(out, 0, -12, "t", title);
    for (int k = 0; k * step <= top * 1.0001; ++k) {
        double y = TALL - TALL * k * step / top;
        borg_put(out, "<line x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"" GRID "\"/>\n", WIDE, y,
                 y);
        put_text(out, -8, y + 4, "e", borg_format(out->arena, "%s%s", number(out, k * step), unit));
    }
    borg_put(out, "<rect width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"" FRAME "\"/>\n", WIDE,
             TALL);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void put_sizes(const vs_sweep *s, borg_sink *out) {
    enum { MOST = 48 };
    int32_t count[MOST] = {0}, range = s->most_warp - s->least_warp + 1;
    int32_t bins = range < MOST ? range : MOST, most = 1;
    for (int32_t i = 0; i < s->nwarps; ++i) {
        int32_t bin = (int32_t)((int64_t)(s->sizes[i] - s->least_warp) * bins / range);
        if (++count[bin] > most) most = count[bin];
    }
    double step = step_to(most), top = ceil(most / step) * step;
    put_frame(out, "warps by their threads", top, step, "");
    for (int32_t k = 0; k < bins; ++k) {
        double high = TALL * count[k] / top;
        borg_put(out,
                 "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#1f6feb\"/>\n",
                 (double)WIDE * k / bins + 0.5, TALL - high, (double)WIDE / bins - 1, high);
    }
    for (int k = 0; k <= 4; ++k) {
        if (k > 0 && k < 4 && bins < 5) continue;
        int32_t value = s->least_warp + (int32_t)((int64_t)(range - 1) * k / 4);
        put_text(out, WIDE * (value - s->least_warp + 0.5) / range, TALL + 18, "m",
                 borg_format(out->arena, "%d", value));
    }
    put_text(out, WIDE / 2.0, TALL + 38, "m", "threads of a warp");
}

/* ---- curves over slots ----------------------------------------------------------------------- */

static double value_of(const vs_spread *x, double scale, int which) {
    return scale * (which == 0 ? x->mean : which == 1 ? x->least : x->most);
}

static const vs_spread *spread_of(const vs_setting *x, bool used) {
    return used ? &x->utilisation : &x->cycles;
}

static void put_curve(const vs_sweep *s, int32_t t, bool used, double top, double scale,
                      borg_sink *out) {
    const int32_t n = s->options->nslots, nt = s->options->nthresholds;
    const char *colour = colours[t % COLOURS];
    borg_sink points = {.arena = out->arena};
    for (int32_t j = 0; j < n; ++j) {
        const vs_setting *x = &s->settings[t * n + j];
        if (x->impossible) continue;
        const vs_spread *v = spread_of(x, used);
        /* side by side, so that error bars can be told apart */
        double at = WIDE * (j + 0.5) / n + 5.0 * (t - (nt - 1) / 2.0);
        double y[3];
        for (int k = 0; k < 3; ++k) y[k] = TALL - TALL * value_of(v, scale, k) / top;
        if (v->most > v->least)
            borg_put(out,
                     "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\" stroke=\"%s\" "
                     "fill=\"none\"/>\n",
                     at, y[1], y[2], at - 3, y[1], at - 3, y[2], colour);
        borg_put(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", at, y[0], colour);
        borg_put(&points, " %.1f,%.1f", at, y[0]);
    }
    if (points.text)
        borg_put(out,
                 "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"/>\n",
                 points.text + 1, colour);
}

static void put_panel(const vs_sweep *s, bool used, borg_sink *out) {
    const int32_t n = s->options->nslots;
    double most = 0, scale = used ? 100 : 1;
    for (int32_t i = 0; i < s->nsettings; ++i)
        if (!s->settings[i].impossible &&
            value_of(spread_of(&s->settings[i], used), scale, 2) > most)
            most = value_of(spread_of(&s->settings[i], used), scale, 2);
    double step = step_to(most), top = ceil(most / step) * step;
    if (!(top > 0)) top = step = 1;
    put_frame(out, used ? "vector units in use" : "cycles, least to most of the orders", top, step,
              used ? "%" : "");
    for (int32_t j = 0; j < n; ++j)
        put_text(out, WIDE * (j + 0.5) / n, TALL + 18, "m",
                 borg_format(out->arena, "%d", s->options->slots[j]));
    put_text(out, WIDE / 2.0, TALL + 38, "m", "slots");
    for (int32_t t = 0; t < s->options->nthresholds; ++t) put_curve(s, t, used, top, scale, out);
}

/* ---- the first cycles ------------------------------------------------------------------------ */

/* A row for each slot: its partitions pale, its instructions by the kind of their unit. */
static void put_timeline(const vs_sweep *s, int32_t wide, borg_sink *out) {
    static const char *const kinds[] = {"#1f6feb", "#8250df", "#d1242f", "#1a7f37"};
    const vs_setting *x = &s->settings[s->best];
    double scale = (double)wide / (double)s->log.until;
    char threshold[24] = "no packing";
    if (x->threshold >= 0) snprintf(threshold, sizeof threshold, "threshold %d", (int)x->threshold);
    put_text(out, 0, -12, "t",
             borg_format(out->arena, "the first %d cycles of %d slots, %s", (int)s->log.until,
                         x->slots, threshold));
    borg_put(out, "<svg width=\"%d\" height=\"%d\" overflow=\"hidden\">\n", wide, x->slots * LANE);
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = 0; i < s->log.count; ++i) {
            const vs_event *e = &s->log.events[i];
            if ((e->inst < 0) != (pass == 0)) continue;
            double width = (double)(e->end - e->start) * scale - (pass == 0 ? 1 : 0);
            borg_put(out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                     (double)e->start * scale, e->slot * LANE + 1, width > 0.6 ? width : 0.6,
                     LANE - 3, pass == 0 ? "#e4e9ee" : kinds[e->unit]);
        }
    borg_put(out, "</svg>\n");
    double at = 0;
    for (int k = 0; k < VS_UNITS; ++k, at += 110) {
        borg_put(out, "<rect x=\"%.0f\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", at,
                 x->slots * LANE + 10, kinds[k]);
        put_text(out, at + 18, x->slots * LANE + 20, "s", vs_unit_text[k]);
    }
}

void vs_put_svg(const vs_sweep *s, const char *title, borg_sink *out) {
    const vs_sweep_options *o = s->options;
    bool lanes = s->log.count > 0 && s->best >= 0;
    int32_t wide = LEFT + 3 * WIDE + 2 * GAP + 30,
            rows = lanes ? s->settings[s->best].slots * LANE + 60 : 0;
    int32_t tall = TOP + ROW + 10 + rows;
    borg_put(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 "
             "%d %d\" role=\"img\">\n"
             "<style>text{font-family:Inter,'Helvetica Neue',Helvetica,Arial,'DejaVu "
             "Sans',sans-serif;fill:" INK ";font-size:12px}"
             ".h{font-size:19px;font-weight:600}.t{font-size:14px;font-weight:600}.s{fill:" SOFT "}"
             ".e{fill:" SOFT ";text-anchor:end}.m{fill:" SOFT ";text-anchor:middle}</style>\n"
             "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
             wide, tall, wide, tall, wide, tall);
    put_text(out, LEFT, 32, "h",
             borg_format(out->arena, "%s: %s on %s", title, s->program->name, o->machine.name));
    double at = LEFT;
    for (int32_t t = 0; t < o->nthresholds; ++t) {
        const char *name = o->thresholds[t] < 0
                               ? "no packing"
                               : borg_format(out->arena, "threshold %" PRId64, o->thresholds[t]);
        borg_put(out, "<rect x=\"%.0f\" y=\"46\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", at,
                 colours[t % COLOURS]);
        put_text(out, at + 18, 56, "s", name);
        at += 110;
    }
    for (int k = 0; k < 3; ++k) {
        borg_put(out, "<g transform=\"translate(%d %d)\">\n", LEFT + k * (WIDE + GAP), TOP);
        if (k == 0)
            put_sizes(s, out);
        else
            put_panel(s, k == 2, out);
        borg_put(out, "</g>\n");
    }
    if (lanes) {
        borg_put(out, "<g transform=\"translate(%d %d)\">\n", LEFT, TOP + ROW);
        put_timeline(s, 3 * WIDE + 2 * GAP, out);
        borg_put(out, "</g>\n");
    }
    borg_put(out, "</svg>\n");
}
