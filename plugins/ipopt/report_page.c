/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as one page: four pictures over the factorizations. No script, nothing loaded, light and dark. */
#include "report.h"

#include <math.h>

enum { BINS = 400, WIDE = 1040, LEFT = 84, HIGH = 170, BELOW = 34, ABOVE = 12 };

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--card:#f6f8fa;--ink:#1d2733;--soft:#5a6672;"
    "--line:#d4dae0;--blue:#2463b0;--orange:#b9500f;--grey:#8b96a1;--bad:#b3261e}\n"
    "@media (prefers-color-scheme:dark){:root{--back:#12171d;--card:#1a2129;--ink:#e4e9ee;"
    "--soft:#a3afba;--line:#37424d;--blue:#7db3f2;--orange:#f0a067;--grey:#75818c;--bad:#ff8a80}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1120px;margin:0 auto;padding:24px 20px 48px}\n"
    "h1{font-size:1.5rem;line-height:1.3;margin:0 0 8px}\n"
    "ul{margin:0 0 20px;padding-left:20px}\n"
    "figure{margin:0 0 18px;padding:14px;background:var(--card);border:1px solid var(--line);"
    "border-radius:8px}\n"
    "figcaption{font-weight:600;margin-bottom:6px}\n"
    "figcaption span{font-weight:400;margin-left:14px;color:var(--soft)}\n"
    "i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:5px}\n"
    "i.a,.a{background:var(--orange);fill:var(--orange)}i.b,.b{background:var(--blue);fill:var(--"
    "blue)}\n"
    "i.c,.c{background:var(--grey);fill:var(--grey)}i.d,.d{background:var(--bad);fill:var(--bad)}\n"
    "figure{overflow-x:auto}svg{display:block;width:100%;min-width:640px;height:auto}\n"
    "text{fill:var(--soft);font:14px "
    "system-ui,sans-serif}.end{text-anchor:end}.mid{text-anchor:middle}\n"
    ".grid{stroke:var(--line)}\n"
    "@media print{figure{break-inside:avoid}}\n";

/** Factorizations first to last, as one column of a picture. */
typedef struct bin {
    double seconds[3]; /* analysis, factorization, solves */
    double shift, negative;
    int solves, refused;
} bin;

static int gather(const ip_run *run, bin *bins) {
    const int count = run->count < BINS ? run->count : BINS;
    for (int b = 0; b < count; b++) {
        const int first = (int)((int64_t)b * run->count / count);
        const int end = (int)((int64_t)(b + 1) * run->count / count);
        bins[b] = (bin){{0}, 0, 0, 0, 0};
        for (int k = first; k < end; k++) {
            const ip_event *e = &run->event[k];
            bins[b].seconds[0] += e->analysis_s;
            bins[b].seconds[1] += e->time_s;
            bins[b].seconds[2] += e->solve_s;
            bins[b].shift = fmax(bins[b].shift, fmax(e->shift[0], e->shift[1]));
            bins[b].negative = fmax(bins[b].negative, e->negative);
            if (e->solves > bins[b].solves) bins[b].solves = e->solves;
            bins[b].refused |= ip_report_refused(run, k);
        }
    }
    return count;
}

static double nice(double top) {
    if (!(top > 0)) return 1;
    const double unit = pow(10, floor(log10(top)));
    return top <= unit ? unit : top <= 2 * unit ? 2 * unit : top <= 5 * unit ? 5 * unit : 10 * unit;
}

static double x_of(int b, int count) {
    return LEFT + (WIDE - LEFT - 8.0) * b / count;
}

static void open_figure(FILE *out, const char *title, const char *legend) {
    fprintf(out,
            "<figure><figcaption>%s%s</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"%s\">\n",
            title, legend, WIDE, ABOVE + HIGH + BELOW, title);
}

static void close_figure(FILE *out, const ip_run *run) {
    const int step = (int)fmax(1, nice(run->count / 8.0));
    for (int k = 0; k < run->count; k += step)
        fprintf(out, "<text class=\"mid\" x=\"%.1f\" y=\"%d\">%d</text>\n",
                LEFT + (WIDE - LEFT - 8.0) * (k + 0.5) / run->count, ABOVE + HIGH + 22, k + 1);
    fputs("</svg></figure>\n", out);
}

static void line(FILE *out, double y, const char *label) {
    fprintf(out,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"end\" "
            "x=\"%d\" y=\"%.1f\">%s</text>\n",
            LEFT, WIDE - 8, y, y, LEFT - 8, y + 5, label);
}

static void axis(FILE *out, double top) {
    char text[40];
    for (int k = 0; k <= 2; k++) {
        snprintf(text, sizeof text, "%.4g", top * k / 2);
        line(out, ABOVE + HIGH - HIGH * k / 2.0, text);
    }
}

static void bar(FILE *out, char class, int b, int count, double from, double to) {
    const double x = x_of(b, count), width = x_of(b + 1, count) - x;
    if (!(to > from)) return;
    fprintf(out, "<rect class=\"%c\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
            class, x, ABOVE + HIGH - HIGH * to, fmax(width * 0.86, 0.8), HIGH * (to - from));
}

static void times(const ip_run *run, const bin *bins, int count, FILE *out) {
    double top = 0;
    for (int b = 0; b < count; b++)
        top = fmax(top, bins[b].seconds[0] + bins[b].seconds[1] + bins[b].seconds[2]);
    top = nice(top);
    open_figure(out, "Seconds",
                "<span><i class=\"a\"></i>analysis</span><span><i class=\"b\"></i>"
                "factorization</span><span><i class=\"c\"></i>solves</span>");
    axis(out, top);
    for (int b = 0; b < count; b++) {
        double from = 0;
        for (int k = 0; k < 3; k++) {
            bar(out, "abc"[k], b, count, from / top, (from + bins[b].seconds[k]) / top);
            from += bins[b].seconds[k];
        }
    }
    close_figure(out, run);
}

static void inertia(const ip_run *run, const bin *bins, int count, FILE *out) {
    double top = 0, least = HUGE_VAL;
    for (int b = 0; b < count; b++) {
        top = fmax(top, bins[b].negative);
        least = fmin(least, bins[b].negative);
    }
    const double room = ceil(fmax(1, 0.15 * (top - least))), low = fmax(0, least - room);
    char text[40];
    top = low + 2 * ceil((top + room - low) / 2); /* so that the middle is whole, too */
    open_figure(
        out, "Negative eigenvalues",
        "<span><i class=\"b\"></i>accepted</span><span><i class=\"d\"></i>not accepted: Ipopt "
        "factorized again before it solved</span>");
    for (int k = 0; k <= 2; k++) {
        snprintf(text, sizeof text, "%.6g", low + (top - low) * k / 2);
        line(out, ABOVE + HIGH - HIGH * k / 2.0, text);
    }
    for (int b = 0; b < count; b++)
        fprintf(out, "<circle class=\"%c\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\"/>\n",
                bins[b].refused ? 'd' : 'b', (x_of(b, count) + x_of(b + 1, count)) / 2,
                ABOVE + HIGH - HIGH * (bins[b].negative - low) / (top - low),
                count > 150 ? 2.5 : 4.);
    close_figure(out, run);
}

static void shifts(const ip_run *run, const bin *bins, int count, FILE *out) {
    double most = -HUGE_VAL, least = HUGE_VAL;
    char text[40];
    for (int b = 0; b < count; b++)
        if (bins[b].shift > 0) {
            most = fmax(most, ceil(log10(bins[b].shift)));
            least = fmin(least, floor(log10(bins[b].shift)));
        }
    if (least > most) return; /* none */
    most = fmax(most, least + 1);
    open_figure(out, "Correction of the diagonal, beside the matrix before", "");
    const int step = most - least > 6 ? (int)ceil((most - least) / 4) : 1;
    for (int e = (int)least; e <= (int)most; e += step) {
        snprintf(text, sizeof text, "1e%d", e);
        line(out, ABOVE + HIGH - HIGH * (e - least) / (most - least), text);
    }
    for (int b = 0; b < count; b++)
        if (bins[b].shift > 0)
            bar(out, 'a', b, count, 0, fmax(0.01, (log10(bins[b].shift) - least) / (most - least)));
    close_figure(out, run);
}

static void solves(const ip_run *run, const bin *bins, int count, FILE *out) {
    double top = 0;
    for (int b = 0; b < count; b++) top = fmax(top, bins[b].solves);
    top = fmax(2, nice(top));
    open_figure(
        out, "Solves with each factor",
        "<span>two of a usual step: what is more are corrections and Ipopt's refinement</span>");
    axis(out, top);
    for (int b = 0; b < count; b++) bar(out, 'c', b, count, 0, bins[b].solves / top);
    close_figure(out, run);
}

void ip_report_page(const ip_run *run, FILE *out) {
    bin bins[BINS];
    const int count = gather(run, bins);
    fprintf(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\">\n<title>METAPACK under Ipopt</title>\n<style>\n%s</style>"
        "</head><body><main>\n<h1>METAPACK %s under Ipopt</h1>\n<ul>\n",
        style, mpk_version());
    ip_report_summary(run, out, "<li>", "</li>");
    fputs("</ul>\n", out);
    times(run, bins, count, out);
    inertia(run, bins, count, out);
    shifts(run, bins, count, out);
    solves(run, bins, count, out);
    fprintf(out,
            "<p>Numbers below the pictures count factorizations%s.</p>\n</main></body></html>\n",
            run->count > BINS ? "; several of them share a column" : "");
}
