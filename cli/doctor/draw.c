/* SPDX-License-Identifier: BSD-3-Clause */
/* The pictures of a page, as SVG that takes its colours from the page's style. */
#include "doctor.h"

#include <math.h>
#include <string.h>

/* A picture is W x H units; a chart leaves room for its labels. */
enum { W = 480, H = 300, LEFT = 72, RIGHT = 12, TOP = 14, BOTTOM = 46, SHADES = 5, SIDE = 384 };

typedef struct axes {
    FILE *out;
    double low, high; /* of y, as decades */
} axes;

static void begin(FILE *out, const char *title, int width, int height, const char *label) {
    fprintf(out,
            "<figure>\n<figcaption>%s</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"%s\">\n",
            title, width, height, label);
}

static void end(FILE *out, const char *note) {
    fprintf(out, "</svg>\n<p class=\"below\">%s</p>\n</figure>\n", note);
}

static double x_at(double share) {
    return LEFT + share * (W - LEFT - RIGHT);
}

static double y_at(const axes *a, double decades) {
    const double span = a->high - a->low;
    return H - BOTTOM - (decades - a->low) / (span > 0 ? span : 1) * (H - BOTTOM - TOP);
}

/* Lines and labels at whole decades, at most six of them. */
static void decades(const axes *a) {
    const double step = fmax(1, ceil((a->high - a->low) / 6));
    for (double v = ceil(a->low); v <= a->high + 1e-9; v += step) {
        fprintf(a->out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                "class=\"end\">1e%+.0f</text>\n",
                LEFT, y_at(a, v), W - RIGHT, LEFT - 6, y_at(a, v) + 4, v + 0.0);
    }
    fprintf(a->out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, H - BOTTOM,
            W - RIGHT);
}

static void below(FILE *out, const char *first, const char *middle, const char *last) {
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" class=\"mid\">%s</text><text "
            "x=\"%d\" y=\"%d\" class=\"end\">%s</text>\n",
            LEFT, H - BOTTOM + 18, first, (LEFT + W - RIGHT) / 2, H - 6, middle, W - RIGHT,
            H - BOTTOM + 18, last);
}

static axes fit(FILE *out, double least, double most) {
    axes a = {out, floor(log10(least) * 2) / 2, ceil(log10(most) * 2) / 2};
    if (a.high - a.low < 1) a.low = floor(a.low), a.high = a.low + 1;
    if (a.high < log10(most)) a.high = ceil(log10(most));
    return a;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Rows that a cell stands for. */
static double rows_of(int32_t n, int32_t cells, int32_t cell) {
    const int64_t first = ((int64_t)cell * n + cells - 1) / cells;
    const int64_t next = ((int64_t)(cell + 1) * n + cells - 1) / cells;
    return (double)(next - first);
}

/* 0: empty. One entry is seen, however large n is. */
static int shade_of(int32_t n, int32_t cells, const double (*grid)[DOCTOR_GRID], int32_t i,
                    int32_t j) {
    const double share = grid[i][j] / (rows_of(n, cells, i) * rows_of(n, cells, j));
    if (!(share > 0)) return 0;
    const int shade = 1 + (int)(SHADES - 1 + log10(fmin(share, 1)) * 1.25);
    return shade < 1 ? 1 : shade;
}

/* Cells as one path for each shade: the darker, the fuller. */
static void draw_pattern(FILE *out, const char *title, const char *note, int32_t n, int32_t cells,
                         const double (*grid)[DOCTOR_GRID]) {
    const double side = (double)SIDE / cells;
    begin(out, title, SIDE, SIDE, title);
    fprintf(out, "<rect class=\"frame\" width=\"%d\" height=\"%d\"/>\n", SIDE, SIDE);
    for (int shade = 1; shade <= SHADES; shade++) {
        fprintf(out, "<path class=\"cell s%d\" d=\"", shade);
        for (int32_t i = 0; i < cells; i++)
            for (int32_t j = 0; j < cells; j++) {
                if (shade_of(n, cells, grid, i, j) != shade) continue;
                int32_t to = j + 1; /* a run of one shade */
                while (to < cells && shade_of(n, cells, grid, i, to) == shade) to++;
                fprintf(out, "M%.4g %.4gh%.4gv%.4gh-%.4gz", j * side, i * side, (to - j) * side,
                        side, (to - j) * side);
                j = to - 1;
            }
        fprintf(out, "\"/>\n");
    }
    end(out, note);
}

static void draw_patterns(const doctor_facts *d, FILE *out) {
    const doctor_pictures *p = &d->pictures;
    char note[256], n[DOCTOR_NAME], k[DOCTOR_NAME];
    snprintf(note, sizeof note,
             "Rows as they stand: %s nonzero entries, %s rows; a darker cell is fuller.",
             doctor_count(k, (double)d->look.nonzeros), doctor_count(n, d->a.n));
    draw_pattern(out, "Pattern of A", note, d->a.n, p->cells, p->before);
    if (!p->have_after) return;
    if (p->have_tree)
        snprintf(note, sizeof note,
                 "Above the diagonal A in the order of the analysis (%s), below it L; entries "
                 "predicted in L: %s.",
                 mpk_ordering_name(d->work.analysis.ordering),
                 doctor_count(k, (double)d->work.analysis.factor_nnz));
    else
        snprintf(note, sizeof note, "A in the order of the blocks.");
    draw_pattern(out, p->have_tree ? "After ordering: A and L" : "After ordering", note, d->a.n,
                 p->cells, p->after);
}

/* ---- along the order ------------------------------------------------------------------------- */

static void draw_fronts(const doctor_facts *d, FILE *out) {
    const doctor_pictures *p = &d->pictures;
    double most = 1;
    char note[256], last[DOCTOR_NAME];
    if (!p->have_tree) return;
    for (int b = 0; b < p->bins; b++) most = fmax(most, p->front[b]);
    axes a = fit(out, 1, most);
    a.low = 0;
    begin(out, "Sizes of fronts", W, H, "Rows of the fronts along the order of elimination");
    decades(&a);
    fprintf(out, "<path class=\"bar a\" d=\"");
    for (int b = 0; b < p->bins; b++) {
        if (p->front[b] < 1) continue;
        const double y = y_at(&a, log10(p->front[b])), w = (x_at(1) - x_at(0)) / p->bins;
        const double foot = fmin(y + fmax(H - BOTTOM - y, 1), H - BOTTOM);
        fprintf(out, "M%.1f %.1fh%.2fV%.1fh-%.2fz", x_at((double)b / p->bins), fmin(y, foot - 1), w,
                foot, w);
    }
    fprintf(out, "\"/>\n");
    below(out, "1", "column in the order of elimination", doctor_count(last, d->a.n));
    end(out,
        (snprintf(note, sizeof note,
                  "Rows of the largest front at each place: work goes with the cube of it. The "
                  "tree has %d front%s, and its height is %d.",
                  d->work.analysis.supernodes, d->work.analysis.supernodes == 1 ? "" : "s",
                  d->work.analysis.tree_height),
         note));
}

static void draw_pivots(const doctor_facts *d, FILE *out) {
    const doctor_pictures *p = &d->pictures;
    double least = HUGE_VAL, most = 0;
    char last[DOCTOR_NAME], note[256];
    const bool signs = doctor_has_inertia(d);
    if (!p->have_pivots) return;
    for (int b = 0; b < p->bins; b++) {
        if (p->pivot_most[b] == 0) continue;
        least = fmin(least, p->pivot_least[b]), most = fmax(most, p->pivot_most[b]);
    }
    if (most == 0) return;
    const axes a = fit(out, least, most);
    begin(out, "Sizes of pivots", W, H, "Moduli of the pivots along the order of elimination");
    decades(&a);
    for (int sign = 0; sign < 2; sign++) {
        fprintf(out, "<path class=\"bar %s\" d=\"", sign ? "b" : "a");
        for (int b = 0; b < p->bins; b++) {
            if (p->pivot_most[b] == 0 || (signs && p->pivot_negative[b]) != sign) continue;
            const double y = y_at(&a, log10(p->pivot_most[b]));
            const double foot = fmax(y_at(&a, log10(p->pivot_least[b])), y + 2);
            fprintf(out, "M%.1f %.1fh%.2fV%.1fh-%.2fz", x_at((double)b / p->bins), y,
                    fmax((x_at(1) - x_at(0)) / p->bins, 1), foot,
                    fmax((x_at(1) - x_at(0)) / p->bins, 1));
        }
        fprintf(out, "\"/>\n");
    }
    below(out, "1", "column in the order of elimination", doctor_count(last, d->a.n));
    snprintf(note, sizeof note,
             "Moduli from the least to the largest at each place, of the scaled matrix.%s",
             signs ? " Orange where some are negative, blue where all are positive." : "");
    end(out, note);
}

static void draw_norms(const doctor_facts *d, FILE *out) {
    const doctor_pictures *p = &d->pictures;
    char last[DOCTOR_NAME], note[256];
    bool begun = false;
    if (!(d->look.most_row_norm > 0)) return;
    const axes a = fit(out, d->look.least_row, d->look.most_row_norm);
    begin(out, "Sizes of rows", W, H, "Largest moduli of the rows, in falling order");
    decades(&a);
    fprintf(out, "<path class=\"line\" d=\"");
    for (int b = 0; b < p->norms; b++) {
        if (!(p->norm[b] > 0)) continue;
        fprintf(out, "%c%.1f %.1f", begun ? 'L' : 'M',
                x_at(p->norms > 1 ? (double)b / (p->norms - 1) : 0.5), y_at(&a, log10(p->norm[b])));
        if (p->norms == 1) fprintf(out, "h4");
        begun = true;
    }
    fprintf(out, "\"/>\n");
    below(out, "largest", "rows, sorted", doctor_count(last, d->a.n));
    snprintf(note, sizeof note,
             "Largest modulus of each row, in falling order: %.1f decades; scaling "
             "leaves %.1f.",
             d->look.spread, d->look.spread_balanced);
    end(out, note);
}

/* ---- the spectrum ---------------------------------------------------------------------------- */

/* Decades above `floor` with a sign, linear between. */
static double squeeze(double v, double floor) {
    return copysign(log10(1 + fabs(v) / floor), v);
}

static void draw_spectrum(const doctor_facts *d, FILE *out) {
    enum { CELLS = 60 };
    const doctor_spectrum *s = &d->spectrum;
    double low = HUGE_VAL, high = -HUGE_VAL, cell[CELLS] = {0}, most = 0;
    char first[DOCTOR_NAME], last[DOCTOR_NAME], note[512];
    if (s->count == 0) return;
    for (int k = 0; k < s->count; k++) low = fmin(low, s->value[k]), high = fmax(high, s->value[k]);
    const double floor = fmax(fmax(fabs(low), fabs(high)) * 1e-4, 1e-300);
    const double from = squeeze(low, floor), to = squeeze(high, floor);
    const double span = to > from ? to - from : 1;
    for (int k = 0; k < s->count; k++) {
        const int c = (int)((squeeze(s->value[k], floor) - from) / span * (CELLS - 1) + 0.5);
        cell[c] += s->weight[k];
        most = fmax(most, cell[c]);
    }
    begin(out, "Where the eigenvalues lie", W, H, "Estimated density of the eigenvalues");
    for (int g = 1; g <= 4; g++) {
        const double y = H - BOTTOM - g / 4.0 * (H - BOTTOM - TOP);
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" class=\"end\">"
                "%.3g %%</text>\n",
                LEFT, y, W - RIGHT, LEFT - 6, y + 4, 100 * most * g / 4);
    }
    for (int sign = 0; sign < 2; sign++) {
        fprintf(out, "<path class=\"bar %s\" d=\"", sign ? "b" : "a");
        for (int c = 0; c < CELLS; c++) {
            const double middle = from + span * c / (CELLS - 1), w = (x_at(1) - x_at(0)) / CELLS;
            if (cell[c] == 0 || (middle < 0) != sign) continue;
            const double tall = fmax(cell[c] / most * (H - BOTTOM - TOP), 1.5);
            fprintf(out, "M%.1f %dv-%.1fh%.2fv%.1fz", x_at((double)c / CELLS), H - BOTTOM, tall,
                    w - 1, tall);
        }
        fprintf(out, "\"/>\n");
    }
    fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, H - BOTTOM, W - RIGHT);
    if (from < 0 && to > 0) {
        const double zero = (-from / span * (CELLS - 1) + 0.5) / CELLS;
        fprintf(out, "<path class=\"zero\" d=\"M%.1f %dV%d\"/>\n", x_at(zero), TOP, H - BOTTOM);
        if (zero > 0.2 && zero < 0.8) /* else it meets the labels of the ends */
            fprintf(out, "<text x=\"%.1f\" y=\"%d\" class=\"mid\">0</text>\n", x_at(zero),
                    H - BOTTOM + 18);
    }
    snprintf(first, sizeof first, "%.2g", low);
    snprintf(last, sizeof last, "%.2g", high);
    below(out, first, "eigenvalue, logarithmic away from zero", last);
    snprintf(
        note, sizeof note,
        "Share of the eigenvalues near each value%s: by %d steps of Lanczos&rsquo; method from "
        "%d random vector%s%s. Eigenvalues next to zero may be missed: the inertia counts them.",
        s->balanced ? ", of the matrix scaled to rows of one size" : "", s->steps, s->starts,
        s->starts == 1 ? "" : "s", s->exact ? ", which met all that it could" : "");
    end(out, note);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void draw_time(const doctor_facts *d, FILE *out) {
    enum { BAR = 26, NAMES = 230 };
    double all = 0, most = 0;
    char note[128], t[DOCTOR_NAME];
    for (int k = 0; k < d->phases; k++)
        all += d->phase[k].time_s, most = fmax(most, d->phase[k].time_s);
    if (!(most > 0)) return;
    begin(out, "Where the time goes", W, d->phases * BAR + 8, "Seconds of each phase");
    for (int k = 0; k < d->phases; k++) {
        const double wide = d->phase[k].time_s / most * (W - NAMES - 78);
        fprintf(out,
                "<text x=\"%d\" y=\"%d\" class=\"end\">%s</text><rect class=\"bar a\" x=\"%d\" "
                "y=\"%d\" "
                "width=\"%.1f\" height=\"%d\"/><text x=\"%.1f\" y=\"%d\">%s</text>\n",
                NAMES - 8, k * BAR + 20, d->phase[k].name, NAMES, k * BAR + 6, fmax(wide, 1),
                BAR - 8, NAMES + wide + 6, k * BAR + 20, doctor_time(t, d->phase[k].time_s));
    }
    snprintf(note, sizeof note, "%s in all, of this command; a solve alone takes less.",
             doctor_time(t, all));
    end(out, note);
}

void doctor_draw(const doctor_facts *d, FILE *out) {
    fprintf(out, "<div class=\"pictures\">\n");
    draw_patterns(d, out);
    draw_fronts(d, out);
    draw_pivots(d, out);
    draw_norms(d, out);
    draw_spectrum(d, out);
    draw_time(d, out);
    fprintf(out, "</div>\n");
}
