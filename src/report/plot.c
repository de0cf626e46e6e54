/* SPDX-License-Identifier: BSD-3-Clause */
/** One picture of a run: pattern of A, pattern of the permuted factor, time by phase, and, where a
 *  Krylov method ran, the residual over its iterations. */
#include "../core/floats.h"
#include "plot.h"

#include <math.h>
#include <string.h>

static void put_head(mpki_buffer *out, const mpk_report *report) {
    const mpk_run *run = &report->run;
    const int height = run->history ? CURVE_TOP + CURVE_HEIGHT + 64 : HEIGHT;
    mpki_buffer_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
        "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n"
        "<style>text{font-family:Inter,'Helvetica Neue',Helvetica,Arial,'DejaVu Sans',sans-serif;"
        "fill:" INK ";font-size:13px}.h{font-size:21px;font-weight:600}.t{font-size:15px;"
        "font-weight:600}.s{fill:" SOFT "}.e{fill:" SOFT ";text-anchor:end}.w{fill:#fff;"
        "text-anchor:middle}</style>\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
        WIDTH, height, WIDTH, height, WIDTH, height);
    /* the file's name without its folder; a long name keeps its end, which tells files apart */
    char title[80], n[MPKI_UNIT_MAX], nnz[MPKI_UNIT_MAX], facts[256];
    const char *source = run->source ? run->source : "matrix";
    const char *slash = strrchr(source, '/');
    if (slash && slash[1]) source = slash + 1;
    size_t length = strlen(source);
    mpki_print(title, sizeof title, "%s%s", length > 66 ? "..." : "",
               length > 66 ? source + length - 63 : source);
    mpki_plot_text(out, MARGIN, 52, "h", title);
    mpki_print(facts, sizeof facts, "n = %s,  %s entries in the lower triangle,  %s %s",
               mpki_show_count(n, run->problem.n), mpki_show_count(nnz, run->problem.nnz),
               run->problem.scalar >= MPK_C ? "complex" : "real",
               mpki_symmetry_name(run->problem.symmetry));
    mpki_plot_text(out, MARGIN, 76, "s", facts);
}

/* ---- time ------------------------------------------------------------------------------------ */

typedef struct phase {
    const char *name, *colour;
    double time_s;
} phase;

enum { PHASES = 7 /* at most */ };

static int list_phases(const mpk_run *run, phase phases[PHASES]) {
    const mpk_analysis_info *a = &run->analysis;
    int count = 0;
    phases[count++] = (phase){"read", "#93a1af", run->time_read_s};
    if (run->have_analysis) {
        double rest = a->time_s - a->time_match_s - a->time_order_s;
        if (a->time_match_s != 0) /* what was not done has no place in the legend */
            phases[count++] = (phase){"match", "#e3b341", a->time_match_s};
        phases[count++] = (phase){"order", "#d9793d", a->time_order_s};
        phases[count++] = (phase){"symbolic", "#a8578f", rest};
    }
    if (run->have_factor) phases[count++] = (phase){"factorize", "#2a5a9f", run->factor.time_s};
    if (run->have_selected) phases[count++] = (phase){"inverse", "#7a6fb0", run->selected.time_s};
    if (run->have_solve) phases[count++] = (phase){"solve", "#3b9a86", run->solve.time_s};
    for (int k = 0; k < count; k++)
        if (!(phases[k].time_s >= 0) || !isfinite(phases[k].time_s)) phases[k].time_s = 0;
    return count;
}

/* A time, with the sign for micro. */
static const char *show_time(char *out, double time_s) {
    char plain[MPKI_UNIT_MAX];
    mpki_show_time(plain, time_s);
    char *us = strstr(plain, " us");
    mpki_print(out, MPKI_UNIT_MAX, "%.*s%s", us ? (int)(us - plain) : MPKI_UNIT_MAX, plain,
               us ? " \u00b5s" : "");
    return out;
}

static void put_times(mpki_buffer *out, const mpk_run *run) {
    phase phases[PHASES];
    int count = list_phases(run, phases);
    double total = 0, x = MARGIN, length = WIDTH - 2 * MARGIN;
    char shown[MPKI_UNIT_MAX], label[2 * MPKI_UNIT_MAX];
    for (int k = 0; k < count; k++) total += phases[k].time_s;
    mpki_plot_text(out, MARGIN, BAR_TOP - 14, "t", "Time by phase");
    mpki_print(label, sizeof label, "%s in all", show_time(shown, total));
    mpki_plot_text(out, WIDTH - MARGIN, BAR_TOP - 14, "e", label);
    mpki_buffer_printf(
        out,
        "<clipPath id=\"bar\"><rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%d\" "
        "rx=\"5\"/></clipPath>\n<g clip-path=\"url(#bar)\">\n<rect x=\"%d\" y=\"%d\" "
        "width=\"%.0f\" height=\"%d\" fill=\"#eef1f4\"/>\n",
        MARGIN, BAR_TOP, length, BAR_HEIGHT, MARGIN, BAR_TOP, length, BAR_HEIGHT);
    for (int k = 0; k < count; k++) {
        double width = total > 0 ? length * phases[k].time_s / total : 0;
        mpki_buffer_printf(out,
                           "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                           x, BAR_TOP, width, BAR_HEIGHT, phases[k].colour);
        /* the name is in the bar only if it fits; the legend below has all names */
        if (width > 8.0 * (double)strlen(phases[k].name) + 20)
            mpki_plot_text(out, x + width / 2, BAR_TOP + 20, "w", phases[k].name);
        x += width;
    }
    mpki_buffer_printf(out, "</g>\n");
    for (int k = 0; k < count; k++) {
        double left = MARGIN + k * (length / 6);
        int y = BAR_TOP + BAR_HEIGHT + 22;
        mpki_buffer_printf(out,
                           "<rect x=\"%.0f\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2\" "
                           "fill=\"%s\"/>\n",
                           left, y, phases[k].colour);
        mpki_plot_text(out, left + 18, y + 10, "", phases[k].name);
        double share = total > 0 ? 100 * phases[k].time_s / total : 0;
        mpki_print(label, sizeof label, "%s,  %.*f %%", show_time(shown, phases[k].time_s),
                   share >= 0.05 && share < 9.95 ? 1 : 0, share);
        mpki_plot_text(out, left + 18, y + 29, "s", label);
    }
}

/* ---- residuals over iterations --------------------------------------------------------------- */

/* The frame of the curve: iterations 0 .. count, decades least .. most. */
typedef struct curve {
    int32_t count;
    int least, most;
} curve;

static double curve_x(const curve *c, double iteration) {
    return CURVE_LEFT + (WIDTH - MARGIN - CURVE_LEFT) * iteration / c->count;
}

static double curve_y(const curve *c, double residual) {
    double t = (c->most - log10(residual)) / (c->most - c->least);
    return CURVE_TOP + CURVE_HEIGHT * fmin(1, fmax(0, t));
}

static bool drawable(double residual) {
    return residual > 0 && isfinite(residual);
}

static curve frame_of(const mpk_run *run) {
    double least = drawable(run->solve.krylov.tolerance) ? run->solve.krylov.tolerance : 1;
    double most = 1;
    for (int32_t k = 0; k < run->history_count; k++) {
        if (!drawable(run->history[k])) continue;
        least = fmin(least, run->history[k]);
        most = fmax(most, run->history[k]);
    }
    least = fmax(least, 1e-18 * most); /* below that there are only rounding errors */
    curve c = {run->history_count, (int)floor(log10(least)), (int)ceil(log10(most))};
    if (c.least == c.most) c.least--;
    return c;
}

/* A step of 1, 2 or 5 times a power of ten that cuts `length` into at most `parts`. */
static int64_t round_step(int64_t length, int parts) {
    int64_t step = 1;
    static const int factor[] = {2, 5, 10};
    for (int64_t unit = 1; step * parts < length; unit *= 10)
        for (int k = 0; k < 3 && step * parts < length; k++) step = unit * factor[k];
    return step;
}

static void put_axes(mpki_buffer *out, const curve *c) {
    char label[MPKI_UNIT_MAX];
    const double right = WIDTH - MARGIN, bottom = CURVE_TOP + CURVE_HEIGHT;
    const int step = (int)round_step(c->most - c->least, 10);
    for (int decade = c->most; decade >= c->least; decade -= step) {
        double y = CURVE_TOP + CURVE_HEIGHT * (double)(c->most - decade) / (c->most - c->least);
        mpki_buffer_printf(out, "<path d=\"M%d %.1fH%.0f\" stroke=\"#e6eaee\"/>\n", CURVE_LEFT, y,
                           right);
        mpki_print(label, sizeof label, decade == 0 ? "1" : "1e%+03d", decade);
        mpki_plot_text(out, CURVE_LEFT - 8, y + 4, "e", label);
    }
    for (int64_t k = 0, by = round_step(c->count, 10); k <= c->count; k += by) {
        double x = curve_x(c, (double)k);
        mpki_buffer_printf(out, "<path d=\"M%.1f %.0fv5\" stroke=\"" SOFT "\"/>\n", x, bottom);
        mpki_buffer_printf(out,
                           "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" class=\"s\">"
                           "%s</text>\n",
                           x, bottom + 20, mpki_show_count(label, k));
    }
    mpki_buffer_printf(out, "<path d=\"M%d %d.5V%.1fH%.0f\" fill=\"none\" stroke=\"" FRAME "\"/>\n",
                       CURVE_LEFT, CURVE_TOP, bottom + 0.5, right);
    mpki_plot_text(out, right, bottom + 42, "e", "iteration");
}

static void put_residuals(mpki_buffer *out, const mpk_run *run) {
    const mpk_krylov_info *k = &run->solve.krylov;
    const curve c = frame_of(run);
    char label[192], a[MPKI_UNIT_MAX], b[MPKI_UNIT_MAX];
    mpki_print(label, sizeof label, "Relative residual, %s", mpki_show_krylov(k->method));
    mpki_plot_text(out, MARGIN, CURVE_TOP - 22, "t", label);
    mpki_print(label, sizeof label, "%s iteration%s, true residual %s",
               mpki_show_count(a, k->iterations), k->iterations == 1 ? "" : "s",
               mpki_show_error(b, k->residual));
    mpki_plot_text(out, WIDTH - MARGIN, CURVE_TOP - 22, "e", label);
    put_axes(out, &c);
    if (drawable(k->tolerance)) {
        double y = curve_y(&c, k->tolerance);
        mpki_buffer_printf(
            out, "<path d=\"M%d %.1fH%d\" stroke=\"#d9793d\" stroke-dasharray=\"6 4\"/>\n",
            CURVE_LEFT, y, WIDTH - MARGIN);
        mpki_plot_text(out, CURVE_LEFT + 6, y - 6, "s", "tolerance");
    }
    mpki_buffer_printf(out, "<polyline fill=\"none\" stroke=\"#2a5a9f\" stroke-width=\"1.8\" "
                            "stroke-linejoin=\"round\" points=\"");
    mpki_buffer_printf(out, "%.1f,%.1f", curve_x(&c, 0), curve_y(&c, 1)); /* x = 0 */
    const int32_t stride = (run->history_count + CURVE_MOST - 1) / CURVE_MOST;
    for (int32_t i = 0; i < run->history_count; i++)
        if ((i % stride == 0 || i + 1 == run->history_count) && !isnan(run->history[i]))
            mpki_buffer_printf(out, " %.1f,%.1f", curve_x(&c, i + 1),
                               curve_y(&c, fmax(run->history[i], 1e-300)));
    mpki_buffer_printf(out, "\"/>\n");
    if (drawable(k->residual) && k->iterations <= run->history_count)
        mpki_buffer_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#d9793d\"/>\n",
                           curve_x(&c, k->iterations), curve_y(&c, k->residual));
}

/* Instead of a factor, if there is none: facts about the matrix. */
static void put_facts(mpki_buffer *out, const mpk_report *report, const mpki_stats *s) {
    char value[MPKI_UNIT_MAX];
    const struct {
        const char *name;
        int64_t value;
    } facts[] = {{"rows", report->run.problem.n},
                 {"entries, lower triangle", report->run.problem.nnz},
                 {"entries in the longest row", s->longest_row},
                 {"half bandwidth", s->bandwidth},
                 {"diagonal entries stored", s->diagonal},
                 {"of them zero", s->diagonal_zero},
                 {"explicit zeros", s->explicit_zeros},
                 {"empty rows", s->empty_rows}};
    double x = MARGIN + PANEL + GAP;
    mpki_plot_text(out, x, TOP - 12, "t", "The matrix in numbers");
    for (int k = 0; k < (int)(sizeof facts / sizeof *facts); k++) {
        mpki_plot_text(out, x, TOP + 18 + 28 * k, "s", facts[k].name);
        mpki_buffer_printf(out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
                           x + PANEL, TOP + 18 + 28 * k, mpki_show_count(value, facts[k].value));
        mpki_buffer_printf(out, "<path d=\"M%.0f %d.5h%d\" stroke=\"#e6eaee\"/>\n", x,
                           TOP + 26 + 28 * k, PANEL);
    }
}

static mpk_status put_numbers(mpk_context *ctx, mpki_buffer *out, const mpk_report *report,
                              const mpk_problem_view *a) {
    mpki_stats stats;
    int32_t *counts = MPKI_NEW(ctx, "plot", a->n > 0 ? a->n : 1, int32_t);
    if (!counts) return mpki_failed(ctx);
    mpki_stats_get(a, counts, &stats);
    mpki_release(ctx, counts);
    put_facts(out, report, &stats);
    return MPK_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

mpk_status mpk_report_plot(mpk_context *ctx, const mpk_report *report, const mpk_problem *problem,
                           const mpk_analysis *an, const mpk_factor *fac, const char *path) {
    MPKI_CALM;
    mpki_clear_error(ctx);
    if (!ctx || !report || !problem || !path || (an && an->n != problem->n))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "plot", -1,
                          "report, matrix or file name not valid");
    mpk_problem_view view = {problem->n,  problem->nnz, problem->scalar, problem->symmetry,
                             problem->ap, problem->ai,  problem->ax};
    mpki_buffer svg;
    mpki_buffer_init(&svg, ctx);
    put_head(&svg, report);
    mpk_status status = mpki_plot_matrix(ctx, &svg, &view);
    if (mpk_failed(status)) goto done;
    /* columns that the direct solver delays are not shown: the pattern is that of the analysis */
    const bool ordered = an && (an->info.factor_nnz > 0 || an->info.supernodes > 0);
    if (ordered)
        status = mpki_plot_factor(ctx, &svg, report, &view, an, fac);
    else
        status = put_numbers(ctx, &svg, report, &view);
    if (mpk_failed(status)) goto done;
    put_times(&svg, &report->run);
    if (report->run.history) put_residuals(&svg, &report->run);
    mpki_buffer_printf(&svg, "</svg>\n");
    status = mpk_failed(svg.status) ? svg.status : mpk_text_write(ctx, path, svg.data, svg.size);
done:
    mpki_buffer_free(&svg);
    return status;
}
