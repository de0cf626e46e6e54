/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pictures show, counted into cells and bins: patterns, fronts, pivots, sizes of rows. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t cell_of(const doctor_pictures *p, int32_t n, int32_t k) {
    return (int32_t)((int64_t)k * p->cells / n);
}

static int bin_of(const doctor_pictures *p, int32_t n, int32_t k) {
    return (int)((int64_t)k * p->bins / n);
}

static void add_matrix(const doctor *d, double (*grid)[DOCTOR_GRID], const int32_t *at,
                       bool upper) {
    const doctor_rows *r = &d->rows;
    const doctor_pictures *p = &d->facts.pictures;
    for (int32_t i = 0; i < r->n; i++)
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            const int32_t a = at ? at[i] : i, b = at ? at[r->col[e]] : r->col[e];
            if (!upper || a <= b) grid[cell_of(p, r->n, a)][cell_of(p, r->n, b)]++;
        }
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* The first position of a cell: where cell_of() begins to give it. */
static int32_t cell_begins(const doctor_pictures *p, int32_t n, int32_t cell) {
    return (int32_t)(((int64_t)cell * n + p->cells - 1) / p->cells);
}

/* A row of L with entries in columns from .. to - 1. */
static void add_run(doctor_pictures *p, int32_t n, int32_t row, int32_t from, int32_t to) {
    double *cells = p->after[cell_of(p, n, row)];
    while (from < to) {
        const int32_t cell = cell_of(p, n, from), next = cell_begins(p, n, cell + 1);
        const int32_t until = next < to ? next : to;
        cells[cell] += until - from;
        from = until;
    }
}

/* L below the diagonal, by supernodes, and the fronts along the order. */
static void add_tree(doctor_pictures *p, const mpk_tree *t) {
    for (int32_t s = 0; s < t->supernodes; s++) {
        const int32_t from = t->first[s], to = t->first[s + 1];
        const int64_t below = t->row_first[s + 1] - t->row_first[s];
        const double front = (double)(to - from) + (double)below;
        for (int b = bin_of(p, t->n, from); b <= bin_of(p, t->n, to - 1); b++)
            p->front[b] = fmax(p->front[b], front);
        for (int32_t i = from; i < to; i++) add_run(p, t->n, i, from, i + 1);
        for (int64_t e = t->row_first[s]; e < t->row_first[s + 1]; e++)
            add_run(p, t->n, t->row[e], from, to);
    }
    p->have_tree = t->supernodes > 0;
}

static mpk_status take_order(doctor *d) {
    doctor_pictures *p = &d->facts.pictures;
    const doctor_work *w = &d->facts.work;
    const int32_t n = d->facts.a.n;
    mpk_tree tree = {0};
    if (!w->run.analysis) return MPK_OK;
    int32_t *perm = malloc((size_t)n * sizeof *perm), *at = malloc((size_t)n * sizeof *at);
    if (perm && at) {
        mpk_analysis_perm(w->run.analysis, perm);
        for (int32_t k = 0; k < n; k++) at[perm[k]] = k;
        mpk_analysis_tree_get(w->run.analysis, &tree);
        add_matrix(d, p->after, at, tree.supernodes > 0);
        if (tree.supernodes > 0) add_tree(p, &tree);
        p->have_after = true;
    }
    free(at);
    free(perm);
    return p->have_after ? MPK_OK : MPK_ERR_MEMORY;
}

/* ---- pivots ---------------------------------------------------------------------------------- */

static void add_pivot(doctor_pictures *p, int32_t n, int32_t k, double v) {
    const int b = bin_of(p, n, k);
    if (!(fabs(v) > 0) || !isfinite(v)) return;
    p->pivot_most[b] = fmax(p->pivot_most[b], fabs(v));
    if (p->pivot_least[b] == 0 || fabs(v) < p->pivot_least[b]) p->pivot_least[b] = fabs(v);
    p->pivot_negative[b] = p->pivot_negative[b] || v < 0;
}

/* Eigenvalues of the blocks of D where these are real; else the moduli of what is divided by. */
static mpk_status take_pivots(doctor *d) {
    doctor_pictures *p = &d->facts.pictures;
    const mpk_problem_view *a = &d->facts.a;
    const doctor_work *w = &d->facts.work;
    if (!w->have_factor || !w->direct) return MPK_OK;
    const size_t bytes = mpk_get_size(w->run.factor, MPK_GET_D);
    void *pivots = malloc(bytes + 1);
    if (!pivots) return MPK_ERR_MEMORY;
    const bool had =
        bytes > 0 && mpk_get(d->ctx, w->run.factor, MPK_GET_D, pivots, bytes) == MPK_OK;
    const bool complex = a->scalar >= MPK_C, real = !complex || a->symmetry == MPK_HERMITIAN;
    const bool narrow = a->scalar == MPK_S || a->scalar == MPK_C;
    const int parts = complex ? 2 : 1;
    for (int32_t k = 0; had && k < a->n; k++) {
        double v[6] = {0}; /* d(k,k), d(k+1,k), d(k+1,k+1) */
        for (int q = 0; q < 3 * parts; q++) {
            const int64_t at = (int64_t)2 * parts * k + q;
            if (q >= 2 * parts && k + 1 == a->n) break;
            v[q] = narrow ? (double)((float *)pivots)[at] : ((double *)pivots)[at];
        }
        const double b = complex ? hypot(v[2], v[3]) : fabs(v[1]);
        const double x = real ? v[0] : hypot(v[0], v[1]);
        if (a->symmetry == MPK_GENERAL || b == 0) {
            add_pivot(p, a->n, k, x);
            continue;
        }
        const double y = v[complex ? 4 : 2];
        const double mean = x / 2 + y / 2, radius = hypot(x / 2 - y / 2, b);
        const double large = real ? mean + copysign(radius, mean) : fmax(x, b);
        const double small = real ? (mean * mean - radius * radius) / large : b;
        add_pivot(p, a->n, k, large);
        add_pivot(p, a->n, k, small);
        k++;
    }
    p->have_pivots = had;
    free(pivots);
    return MPK_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int falling(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static mpk_status take_norms(doctor *d) {
    doctor_pictures *p = &d->facts.pictures;
    const doctor_rows *r = &d->rows;
    double *norm = calloc((size_t)r->n + 1, sizeof *norm);
    if (!norm) return MPK_ERR_MEMORY;
    for (int32_t i = 0; i < r->n; i++)
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++)
            norm[i] = fmax(norm[i], doctor_modulus(r, e));
    qsort(norm, (size_t)r->n, sizeof *norm, falling);
    p->norms = p->bins;
    for (int b = 0; b < p->norms; b++) {
        const int64_t last = p->norms > 1 ? p->norms - 1 : 1;
        p->norm[b] = norm[(int64_t)b * (r->n - 1) / last];
    }
    free(norm);
    return MPK_OK;
}

mpk_status doctor_pictures_take(doctor *d) {
    doctor_pictures *p = &d->facts.pictures;
    const int32_t n = d->facts.a.n;
    const double start_s = cli_now_s();
    p->cells = n < DOCTOR_GRID ? n : DOCTOR_GRID;
    p->bins = n < DOCTOR_BINS ? n : DOCTOR_BINS;
    add_matrix(d, p->before, NULL, false);
    mpk_status status = take_order(d);
    if (!mpk_failed(status)) status = take_pivots(d);
    if (!mpk_failed(status)) status = take_norms(d);
    doctor_phase_add(d, "pictures", cli_now_s() - start_s);
    return status;
}
