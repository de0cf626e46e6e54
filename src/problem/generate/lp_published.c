/* SPDX-License-Identifier: BSD-3-Clause */
/** The linear programs of published tables (Thuerck, Naumov, Garland & Goesele 2018, section V): A of
 * an interior-point system [D A^T; A -delta I] in a file, scaled geometrically, with a random
 * diagonal that simulates a late iterate: [10^(-decades u) A^T; A 0]. */
#include "generate.h"

#include <math.h>

static const char STAGE[] = "generate";

/* A by columns: of the file's lower triangle, what is below row `cols`. */
typedef struct block {
    const char *path;
    const mpk_problem_view *file;
    int32_t rows, cols;
    double *row_scale, *col_scale; /* of A */
} block;

static double value_at(const mpk_problem_view *a, int64_t p) {
    return a->scalar == MPK_S ? (double)((const float *)a->ax)[p] : ((const double *)a->ax)[p];
}

static double diagonal_at(const mpk_problem_view *a, int32_t j) {
    const int64_t p = a->ap[j];
    return p < a->ap[j + 1] && a->ai[p] == j ? value_at(a, p) : 0;
}

static mpk_status refuse(const mpki_generator *g, const block *b, const char *what, int32_t row,
                         int32_t col) {
    return mpki_error(g->ctx, MPK_ERR_INPUT, STAGE, row,
                      "%s: this is no system [D A'; A -delta I] with a diagonal D: row %lld, "
                      "column %lld %s",
                      b->path, (long long)row + 1, (long long)col + 1, what);
}

/* Where A begins: no entry off the diagonal may be above it or to its right. Rows without such an
 * entry at the border are of D if their diagonal is positive. */
static mpk_status find_block(const mpki_generator *g, block *b) {
    const mpk_problem_view *a = b->file;
    int32_t least = a->n, last = -1,
            above = 0; /* first row of A; its last column; that of `least` */
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t p = a->ap[j]; p < a->ap[j + 1]; p++) {
            if (a->ai[p] == j || value_at(a, p) == 0) continue;
            if (a->ai[p] < least) least = a->ai[p], above = j;
            last = j;
        }
    if (last < 0)
        return mpki_error(g->ctx, MPK_ERR_INPUT, STAGE, -1,
                          "%s: the matrix is diagonal: there is no A in it", b->path);
    if (last >= least)
        return mpki_error(
            g->ctx, MPK_ERR_INPUT, STAGE, least,
            "%s: this is no system [D A'; A -delta I] with a diagonal D: row %lld "
            "has an entry in column %lld, so A begins there or above, but column %lld "
            "has one below its diagonal, too",
            b->path, (long long)least + 1, (long long)above + 1, (long long)last + 1);
    b->cols = last + 1;
    while (b->cols < least && diagonal_at(a, b->cols) > 0) b->cols++;
    b->rows = a->n - b->cols;
    for (int32_t j = 0; j < a->n; j++) {
        const double d = diagonal_at(a, j);
        if (j < b->cols ? d < 0 : d > 0)
            return refuse(g, b, j < b->cols ? "is negative, in D" : "is positive, below A", j, j);
    }
    return MPK_OK;
}

/* ---- geometric scaling ----------------------------------------------------------------------- */

typedef struct range {
    double least, most;
} range;

static void widen(range *r, double x) {
    if (x < r->least) r->least = x;
    if (x > r->most) r->most = x;
}

static double middle(const range *r) { /* the roots apart: their product cannot overflow */
    return r->most > 0 ? 1 / (sqrt(r->least) * sqrt(r->most)) : 1;
}

static void clear(range *r, int32_t count) {
    for (int32_t k = 0; k < count; k++) r[k] = (range){HUGE_VAL, 0};
}

/* Magnitudes as scaled so far: of rows, or of columns. */
static void measure(mpki_generator *g, const block *b, range *of, bool rows) {
    const mpk_problem_view *a = b->file;
    clear(of, rows ? b->rows : b->cols);
    for (int32_t j = 0; j < b->cols && !mpki_asks(&g->asking, 16); j++)
        for (int64_t p = a->ap[j]; p < a->ap[j + 1]; p++) {
            const int32_t i = a->ai[p] - b->cols;
            const double x = fabs(value_at(a, p));
            if (i >= 0 && x > 0) widen(&of[rows ? i : j], x * b->row_scale[i] * b->col_scale[j]);
        }
}

/* A round: rows to sqrt(least most) = 1, then columns. */
static void scale(mpki_generator *g, block *b, range *of, int rounds) {
    for (int32_t i = 0; i < b->rows; i++) b->row_scale[i] = 1;
    for (int32_t j = 0; j < b->cols; j++) b->col_scale[j] = 1;
    for (int k = 0; k < rounds; k++) {
        measure(g, b, of, true);
        for (int32_t i = 0; i < b->rows; i++) b->row_scale[i] *= middle(&of[i]);
        measure(g, b, of, false);
        for (int32_t j = 0; j < b->cols; j++) b->col_scale[j] *= middle(&of[j]);
    }
}

/* ---- the system ------------------------------------------------------------------------------ */

/* 10^-x, x >= 0, by square roots of 10: no function of the C library but sqrt. */
static double tenth_to(double x) {
    const int64_t whole = (int64_t)x;
    double f = x - (double)whole, root = 10, r = 1;
    for (; f > 0; f -= f >= 1) {
        f *= 2;
        root = sqrt(root);
        if (f >= 1) r *= root;
    }
    r = 1 / r;
    for (int64_t k = 0; k < whole; k++) r /= 10;
    return r;
}

static mpk_status emit(mpki_generator *g, const block *b, double decades) {
    const mpk_problem_view *a = b->file;
    for (int32_t j = 0; j < b->cols && !mpki_asks(&g->asking, 16); j++) {
        mpki_emit(g, j, j, tenth_to(decades * mpki_draw_unit(g)));
        for (int64_t p = a->ap[j]; p < a->ap[j + 1]; p++) {
            const int32_t i = a->ai[p] - b->cols;
            if (i < 0 || value_at(a, p) == 0) continue;
            const double x = value_at(a, p) * b->row_scale[i] * b->col_scale[j];
            if (!(fabs(x) <= 1.7976931348623157e308) || x == 0)
                return refuse(g, b, "leaves the range of numbers when it is scaled", a->ai[p], j);
            mpki_emit(g, a->ai[p], j, x);
        }
    }
    return MPK_OK;
}

static mpk_status make_of(mpki_generator *g, const mpk_problem_view *a) {
    block b = {.path = g->text, .file = a};
    range *of = NULL;
    mpk_status status = find_block(g, &b);
    if (mpk_failed(status)) return status;
    status = mpki_generator_size(g, a->n, (double)a->nnz + b.cols); /* D may lack entries */
    if (mpk_failed(status)) return status;
    b.row_scale = MPKI_NEW(g->ctx, STAGE, b.rows, double);
    b.col_scale = MPKI_NEW(g->ctx, STAGE, b.cols, double);
    of = MPKI_NEW(g->ctx, STAGE, b.rows > b.cols ? b.rows : b.cols, range);
    if (b.row_scale && b.col_scale && of) {
        scale(g, &b, of, (int)g->value[1]);
        status = emit(g, &b, g->value[2]);
    } else
        status = mpki_failed(g->ctx);
    mpki_release(g->ctx, of);
    mpki_release(g->ctx, b.col_scale);
    mpki_release(g->ctx, b.row_scale);
    return status;
}

static mpk_status lp_published(mpki_generator *g) {
    mpk_problem *file = NULL;
    mpk_problem_view a;
    if (g->sizes) { /* known once the file is read, and it may be a pipe: only then */
        g->sizes[0] = g->sizes[1] = 0;
        return MPK_ERR_CANCELLED;
    }
    mpk_status status = mpk_problem_read(g->ctx, g->text, &file);
    if (mpk_failed(status)) return status;
    mpk_problem_view_get(file, &a);
    if (a.scalar >= MPK_C || a.symmetry != MPK_SYMMETRIC)
        status =
            mpki_error(g->ctx, MPK_ERR_INPUT, STAGE, -1,
                       "%s: the matrix is %s; a system [D A'; A -delta I] is real and symmetric",
                       g->text, a.scalar >= MPK_C ? "complex" : "not symmetric");
    else
        status = make_of(g, &a);
    mpk_problem_destroy(&file);
    return status;
}

static const mpki_parameter parameters[] = {
    {.name = "file", .text = true, .required = true},
    {.name = "scaling", .integer = true, .initial = 4, .least = 0, .most = 1000},
    {.name = "decades", .initial = 6, .least = 0, .most = 40},
    {.name = NULL}};
const mpki_family mpki_family_lp_published = {"lp-published", parameters, lp_published};
