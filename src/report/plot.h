/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PLOT_H
#define MPKI_PLOT_H
/** The picture of a run: positions of its parts in CSS pixels, and the functions that draw them. */
#include "report.h"

enum {
    MARGIN = 40,
    PANEL = 420, /* side of a pattern */
    GAP = 60,    /* between the two */
    WIDTH = 2 * MARGIN + 2 * PANEL + GAP,
    TOP = 128, /* of the patterns */
    BAR_TOP = TOP + PANEL + 104,
    BAR_HEIGHT = 30,
    HEIGHT = BAR_TOP + BAR_HEIGHT + 84,
    CURVE_TOP = HEIGHT + 36, /* of the residuals */
    CURVE_HEIGHT = 280,
    CURVE_LEFT = MARGIN + 56,
    CURVE_MOST = 2000 /* points of the curve */
};

#define INK "#1d2733"
#define SOFT "#64707d"
#define FRAME "#c9d1d9"

/** Text at (x, y), escaped, in one of the classes of the picture's head. */
void mpki_plot_text(mpki_buffer *out, double x, double y, const char *class, const char *text);

/** The pattern of A, on the left. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_plot_matrix(mpk_context *ctx, mpki_buffer *out, const mpk_problem_view *a);
/** The pattern of the permuted factor, on the right.
 *  block [in] NULL: the direct solver's, by supernodes. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_plot_factor(mpk_context *ctx, mpki_buffer *out, const mpk_report *report,
                            const mpk_problem_view *a, const mpk_analysis *an,
                            const mpk_factor *fac);

#endif
