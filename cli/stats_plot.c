/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of metapack stats, after Fig. 1 of Thuerck et al. 2018 and Fig. 8.11 of Thuerck 2021.
 * Lengths in CSS pixels. */
#include "stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 300, TALL = 220, LEFT = 74, RIGHT = 66, GAP = 16, TOP = 96, ROW = TALL + 76 };

#define INK "#1d2733"
#define SOFT "#64707d"
#define FRAME "#c9d1d9"

/* By ordering, in the order of mpk_ordering; AMD red, RCM green, GMC blue as in the papers. */
static const char *const colours[] = {"#1d2733", "#c8372d", "#d98a1f", "#8a5a2b", "#2f9e44",
                                      "#64707d", "#64707d", "#7b4fc9", "#2b6cc4"};

/* What is drawn against what. */
typedef struct axes {
    bool over_blocks;            /* x: block sizes, else levels */
    int points, rows;            /* of panels: one for each block size, if x is the levels */
    double blocks[2], levels[2]; /* least and most, over all panels: they compare */
} axes;

static const mpk_block_level *point(const stats_table *t, const axes *a, int s, int o, int row,
                                    int k) {
    return a->over_blocks ? &stats_at(t, s, o, k)->stats.row[0]
                          : &stats_at(t, s, o, row)->stats.row[k];
}

static void widen(double range[2], double x) {
    if (x < 1) x = 1;
    if (x < range[0]) range[0] = x;
    if (x > range[1]) range[1] = x;
}

static axes measure(const stats_table *t) {
    axes a = {.over_blocks = t->levels == 1 && t->blocks > 1};
    a.points = a.over_blocks ? t->blocks : t->levels;
    a.rows = a.over_blocks ? 1 : t->blocks;
    a.blocks[0] = a.levels[0] = INFINITY;
    for (int s = 0; s < t->strategies; s++)
        for (int o = 0; o < t->orderings; o++)
            for (int r = 0; r < a.rows; r++)
                for (int k = 0; k < a.points; k++) {
                    const mpk_block_level *p = point(t, &a, s, o, r, k);
                    widen(a.blocks, (double)p->blocks);
                    widen(a.levels, p->levels);
                }
    double *ranges[2] = {a.blocks, a.levels};
    for (int k = 0; k < 2; k++) { /* whole decades, at least one */
        ranges[k][0] = pow(10, floor(log10(ranges[k][0]) + 1e-9));
        ranges[k][1] = pow(10, ceil(log10(ranges[k][1]) - 1e-9));
        if (ranges[k][1] <= ranges[k][0]) ranges[k][1] = 10 * ranges[k][0];
    }
    return a;
}

static double height_of(double x, const double range[2]) {
    if (x < 1) x = 1;
    return TALL - TALL * log(x / range[0]) / log(range[1] / range[0]);
}

static double x_of(const axes *a, int k) {
    return a->points == 1 ? PANEL / 2.0 : 18 + (PANEL - 36) * (double)k / (a->points - 1);
}

static void put_escaped(FILE *out, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if (*s == '&')
            fputs("&amp;", out);
        else if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '>')
            fputs("&gt;", out);
        else
            fputc(*s < 0x20 || *s >= 0x7f ? '?' : *s, out);
    }
}

/* Powers of ten: 1, 10, 100, 10^3, ... */
static void put_power(FILE *out, double x) {
    int power = (int)lround(log10(x));
    if (power <= 2)
        fprintf(out, "%.0f", x);
    else
        fprintf(out, "10<tspan dy=\"-5\" font-size=\"9\">%d</tspan>", power);
}

/* Grid, frame and the numbers of both axes. */
static void put_frame(const stats_table *t, const axes *a, bool first, bool last, FILE *out) {
    fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"" FRAME "\"/>\n", PANEL,
            TALL);
    for (double x = a->blocks[0]; x <= a->blocks[1] * 1.01; x *= 10) {
        double y = height_of(x, a->blocks);
        fprintf(out, "<line x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#eceff2\"/>\n", PANEL, y, y);
        if (!first) continue;
        fprintf(out, "<text class=\"e\" x=\"-8\" y=\"%.1f\">", y + 4);
        put_power(out, x);
        fprintf(out, "</text>\n");
    }
    for (double x = a->levels[0]; last && x <= a->levels[1] * 1.01; x *= 10) {
        fprintf(out, "<text class=\"s\" x=\"%d\" y=\"%.1f\">", PANEL + 8,
                height_of(x, a->levels) + 4);
        put_power(out, x);
        fprintf(out, "</text>\n");
    }
    for (int k = 0; k < a->points; k++) {
        fprintf(out, "<text class=\"m\" x=\"%.1f\" y=\"%d\">", x_of(a, k), TALL + 18);
        if (a->over_blocks)
            fprintf(out, "%d", t->block[k]);
        else if (t->level[k] < 0)
            fprintf(out, "full");
        else
            fprintf(out, "%d", t->level[k]);
        fprintf(out, "</text>\n");
    }
    fprintf(out, "<text class=\"m\" x=\"%d\" y=\"%d\">%s</text>\n", PANEL / 2, TALL + 36,
            a->over_blocks ? "rows of a block, at most" : "level of fill");
}

static void put_curve(const stats_table *t, const axes *a, int s, int o, int row, bool levels,
                      FILE *out) {
    const double *range = levels ? a->levels : a->blocks;
    const char *colour = colours[t->ordering[o]];
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
            levels ? " stroke-dasharray=\"6 4\"" : "");
    for (int k = 0; k < a->points; k++) {
        const mpk_block_level *p = point(t, a, s, o, row, k);
        fprintf(out, "%s%.1f,%.1f", k ? " " : "", x_of(a, k),
                height_of(levels ? p->levels : (double)p->blocks, range));
    }
    fprintf(out, "\"/>\n");
    for (int k = 0; k < a->points; k++) {
        const mpk_block_level *p = point(t, a, s, o, row, k);
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.8\" fill=\"%s\" stroke=\"%s\" "
                "stroke-width=\"1.5\"/>\n",
                x_of(a, k), height_of(levels ? p->levels : (double)p->blocks, range),
                levels ? "#fff" : colour, colour);
    }
}

/* 1 062 400 */
static void put_grouped(int32_t n, FILE *out) {
    char digits[16];
    const int length = snprintf(digits, sizeof digits, "%d", n);
    for (int k = 0; k < length; k++)
        fprintf(out, "%s%c", k > 0 && (length - k) % 3 == 0 ? " " : "", digits[k]);
}

static void put_legend(const stats_table *t, FILE *out) {
    double x = LEFT;
    char name[32];
    fprintf(out,
            "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"72\" y2=\"72\" stroke=\"" INK
            "\" stroke-width=\"2\"/><text x=\"%.0f\" y=\"76\">blocks (left)</text>\n",
            x, x + 28, x + 34);
    fprintf(out,
            "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"72\" y2=\"72\" stroke=\"" INK
            "\" stroke-width=\"2\" stroke-dasharray=\"6 4\"/><text x=\"%.0f\" y=\"76\">level sets "
            "(right)</text>\n",
            x + 126, x + 154, x + 160);
    x += 290;
    for (int o = 0; o < t->orderings; o++, x += 74) {
        fprintf(out,
                "<rect x=\"%.0f\" y=\"66\" width=\"12\" height=\"12\" fill=\"%s\"/><text "
                "x=\"%.0f\" y=\"76\">%s</text>\n",
                x, colours[t->ordering[o]], x + 17,
                stats_upper(name, mpk_ordering_name(t->ordering[o])));
    }
}

static void write_svg(const stats_table *t, FILE *out) {
    char name[32];
    axes a = measure(t);
    int width = LEFT + t->strategies * (PANEL + GAP) - GAP + RIGHT;
    int legend = LEFT + 290 + 74 * t->orderings + 10;
    if (width < legend) width = legend;
    int height = TOP + a.rows * ROW + 4;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" role=\"img\">\n<style>text{font-family:Inter,'Helvetica Neue',Helvetica,Arial,"
            "'DejaVu Sans',sans-serif;fill:" INK
            ";font-size:13px}.h{font-size:19px;font-weight:600}"
            ".t{font-size:14px;font-weight:600}.s{fill:" SOFT "}.e{fill:" SOFT ";text-anchor:end}"
            ".m{fill:" SOFT ";text-anchor:middle}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height, width, height);
    const char *source = t->source, *slash = strrchr(t->source, '/');
    if (slash && slash[1]) source = slash + 1;
    size_t length = strlen(source);
    fprintf(out, "<text class=\"h\" x=\"%d\" y=\"36\">%s", LEFT, length > 52 ? "..." : "");
    put_escaped(out, length > 52 ? source + length - 49 : source);
    fprintf(out, "<tspan class=\"s\" dx=\"12\" font-size=\"13\" font-weight=\"400\">n = ");
    put_grouped(t->problem.n, out);
    fprintf(out, "</tspan></text>\n");
    put_legend(t, out);
    for (int r = 0; r < a.rows; r++)
        for (int s = 0; s < t->strategies; s++) {
            fprintf(out, "<g transform=\"translate(%d %d)\">\n", LEFT + s * (PANEL + GAP),
                    TOP + 20 + r * ROW);
            fprintf(out, "<text class=\"t\" y=\"-8\">%s",
                    stats_upper(name, mpk_option_word("strategy", t->strategy[s])));
            if (!a.over_blocks) fprintf(out, ", blocks of %d", t->block[r]);
            fprintf(out, "</text>\n");
            put_frame(t, &a, s == 0, s == t->strategies - 1, out);
            for (int o = 0; o < t->orderings; o++) {
                put_curve(t, &a, s, o, r, false, out);
                put_curve(t, &a, s, o, r, true, out);
            }
            fprintf(out, "</g>\n");
        }
    fprintf(out, "</svg>\n");
}

int stats_write_plot(const cli_args *args, const stats_table *t) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory) write_svg(t, memory);
    const bool bad = !memory || ferror(memory);
    if ((memory && fclose(memory)) || bad) {
        free(text);
        fprintf(stderr, "metapack stats: no memory for the picture\n");
        cli_print_failure(args, MPK_ERR_MEMORY, "no memory for the picture");
        return mpk_exit_code(MPK_ERR_MEMORY);
    }
    const int code = cli_write_text(args, args->plot, text, size);
    free(text);
    return code;
}
