/* SPDX-License-Identifier: BSD-3-Clause */
/* One dense pivot on the host, by the steps of the kernels (blocks.cl); what is too small is
 * replaced. */
#include <math.h>
#include <string.h>
#include "parts.h"

static const double alpha = 0.6403882032022076; /* (1 + sqrt(17)) / 8: Bunch & Parlett 1971 */

typedef struct list {
    int32_t *at; /* rows or columns that are left, ascending */
    int count;
} list;

typedef struct work {
    size_t n;
    double *t;          /* what is left, n x n; rows and columns stay where they are */
    double *row;        /* 2 n: rows of pivots */
    list rows, columns; /* of a symmetric one the columns are the rows */
} work;

static void take(list *l, int what) {
    int k = 0;
    while (l->at[k] != what) k++;
    memmove(l->at + k, l->at + k + 1, (size_t)(--l->count - k) * sizeof *l->at);
}

static void take_both(work *w, int p, int q) {
    take(&w->rows, p);
    if (TYPE == LDU)
        take(&w->columns, q);
    else
        w->columns = w->rows;
}

/* The largest entry of what is left, or of what is off the diagonal: at (p, q). */
static double largest(const work *w, int diagonal, int *p, int *q) {
    double most = -1;
    for (int i = 0; i < w->rows.count; i++) {
        const int row = w->rows.at[i];
        const double *t = w->t + (size_t)row * w->n;
        for (int j = 0; j < (TYPE == LDU ? w->columns.count : i + diagonal); j++)
            if (!(fabs(t[w->columns.at[j]]) <= most))
                most = fabs(t[w->columns.at[j]]), *p = row, *q = w->columns.at[j];
    }
    return most;
}

/* Row p of what is left; of a symmetric one the lower triangle is kept. */
static void copy_row(const work *w, int p, double *to) {
    for (int k = 0; k < w->columns.count; k++) {
        const int j = w->columns.at[k], up = TYPE != LDU && j > p;
        to[j] = w->t[(size_t)(up ? j : p) * w->n + (size_t)(up ? p : j)];
    }
}

/* t -= x times a row, for the rows and columns that are left. */
static void eliminate(work *w, const double *x, const double *from) {
    for (int i = 0; i < w->rows.count; i++) {
        const size_t row = (size_t)w->rows.at[i];
        const double l = x[row * w->n];
        double *t = w->t + row * w->n;
        const int end = l == 0 ? 0 : TYPE == LDU ? w->columns.count : i + 1;
        for (int j = 0; j < end; j++) t[w->columns.at[j]] -= l * from[w->columns.at[j]];
    }
}

static void pair(work *w, pivot *f, int s, int p, int q) {
    const size_t n = w->n, i = (size_t)p, j = (size_t)q;
    double *c = w->row, *c2 = w->row + n;
    copy_row(w, p, c), copy_row(w, q, c2);
    const double d = c[p], d2 = c2[q], d21 = c[q];
    const double e1 = d / d21, e2 = d2 / d21, v = 1 / (d21 * (e1 * e2 - 1));
    take_both(w, p, p), take_both(w, q, q);
    for (int k = 0; k < w->rows.count; k++) {
        const size_t row = (size_t)w->rows.at[k];
        f->l[row * n + s] = v * (e2 * c[row] - c2[row]);
        f->l[row * n + s + 1] = v * (e1 * c2[row] - c[row]);
    }
    eliminate(w, f->l + s, c), eliminate(w, f->l + s + 1, c2);
    f->l[i * n + s] = f->l[j * n + s + 1] = 1;
    f->diag[s] = d, f->diag[s + 1] = d2, f->diag[n + s] = d21;
    f->diag[2 * n + s] = v * e2, f->diag[2 * n + s + 1] = v * e1, f->diag[3 * n + s] = -v;
    f->diag[4 * n + s] = f->diag[5 * n + s] = p;
    f->diag[4 * n + s + 1] = f->diag[5 * n + s + 1] = q;
}

static int single(work *w, pivot *f, int s, int p, int q, double small, int64_t *replaced) {
    const size_t n = w->n;
    double d = w->t[(size_t)p * n + (size_t)q];
    if (!isfinite(d)) return -2;
    if (TYPE == LLT && LEVEL < 0 && !(d > small)) return -3;
    if (!((TYPE == LLT ? d : fabs(d)) > small)) {
        d = d < 0 && TYPE != LLT ? -small : small;
        ++*replaced;
    }
    const double root = TYPE == LLT ? sqrt(d) : 1;
    double *c = w->row;
    copy_row(w, p, c);
    take_both(w, p, q);
    for (int k = 0; k < w->rows.count; k++) {
        const size_t row = (size_t)w->rows.at[k];
        f->l[row * n + s] = (TYPE == LDU ? w->t[row * n + (size_t)q] : c[row]) / d;
    }
    for (int k = 0; k < w->columns.count && TYPE == LDU; k++)
        f->u[(size_t)w->columns.at[k] * n + s] = c[w->columns.at[k]] / d;
    eliminate(w, f->l + s, c);
    for (int k = 0; k < w->rows.count && TYPE == LLT; k++)
        f->l[(size_t)w->rows.at[k] * n + s] *= root;
    f->l[(size_t)p * n + s] = root;
    if (TYPE == LDU) f->u[(size_t)q * n + s] = 1;
    f->diag[s] = d, f->diag[2 * n + s] = 1 / d;
    f->diag[4 * n + s] = p, f->diag[5 * n + s] = q;
    return 0;
}

static int all_steps(work *w, pivot *f, int pivoting, double small, int64_t *replaced) {
    int status = 0;
    for (int s = 0; s < f->n && !status; s++) {
        int p = s, q = s;
        if (pivoting && TYPE == LDU) {
            largest(w, 1, &p, &q);
        } else if (pivoting && TYPE == LDLT) {
            int i = 0, j = 0;
            double most = -1;
            for (int k = 0; k < w->rows.count; k++) {
                const size_t row = (size_t)w->rows.at[k];
                if (!(fabs(w->t[row * w->n + row]) <= most))
                    most = fabs(w->t[row * w->n + row]), p = q = (int)row;
            }
            const double off = largest(w, 0, &i, &j);
            if (off > small && most < alpha * off) {
                pair(w, f, s++, i, j);
                continue;
            }
        }
        status = single(w, f, s, p, q, small, replaced);
    }
    return status;
}

int solver_dense(pivot *f, int pivoting, double small, int64_t *replaced) {
    const size_t n = (size_t)f->n;
    int32_t *left = get(2 * n, sizeof *left);
    work w = {n,
              get(n * n + 2 * n, sizeof(double)),
              NULL,
              {left, f->n},
              {TYPE == LDU ? left + n : left, f->n}};
    int status = w.t && left ? 0 : -1;
    for (size_t k = 0; k < n && !status; k++) left[k] = left[k + n] = (int32_t)k;
    if (!status) {
        w.row = w.t + n * n;
        memcpy(w.t, f->l, n * n * sizeof(double)), memset(f->l, 0, n * n * sizeof(double));
        if (TYPE == LDU) memset(f->u, 0, n * n * sizeof(double));
        memset(f->diag, 0, 6 * n * sizeof(double));
        status = all_steps(&w, f, pivoting, small, replaced);
    }
    free(w.t), free(left);
    return status;
}
