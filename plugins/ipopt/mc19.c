/* SPDX-License-Identifier: BSD-3-Clause */
/* The scaling that Ipopt's option linear_system_scaling = mc19 calls: A. R. Curtis and J. K. Reid,
 * On the automatic scaling of matrices for Gaussian elimination, IMA J. Appl. Math. 10 (1972). With
 * f_ij = log |a_ij|, minimize sum (f_ij + r_i + c_j)^2 over the nonzero entries: r is eliminated,
 * what is left for c is solved by conjugate gradients, preconditioned by the diagonal. */
#include "fortran.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct pattern {
    int n, nz;
    const double *a;
    const int *irn, *icn;
} pattern;

/* Does entry k count? */
static bool counts(const pattern *p, int k) {
    const int i = p->irn[k], j = p->icn[k];
    return i >= 1 && i <= p->n && j >= 1 && j <= p->n && p->a[k] != 0 && isfinite(p->a[k]);
}

static float over(float value, float count) {
    return count > 0 ? value / count : 0;
}

/* y = (N - E^T M^-1 E) x: E the pattern, M and N its entries by row and by column. row: scratch */
static void apply(const pattern *p, const float *rows, const float *cols, const float *x, float *y,
                  float *row) {
    for (int i = 0; i < p->n; i++) row[i] = 0;
    for (int k = 0; k < p->nz; k++)
        if (counts(p, k)) row[p->irn[k] - 1] += x[p->icn[k] - 1];
    for (int i = 0; i < p->n; i++) {
        row[i] = over(row[i], rows[i]);
        y[i] = cols[i] * x[i];
    }
    for (int k = 0; k < p->nz; k++)
        if (counts(p, k)) y[p->icn[k] - 1] -= row[p->irn[k] - 1];
}

/* x^T y, or x^T D^-1 y */
static double dot(int n, const float *x, const float *y, const float *d) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * (d ? over(y[i], d[i]) : y[i]);
    return sum;
}

/* r_i = the mean over row i of -f_ij - c_j, the best for these c. */
static void rows_of(const pattern *p, const float *rows, const float *c, float *r) {
    for (int i = 0; i < p->n; i++) r[i] = 0;
    for (int k = 0; k < p->nz; k++)
        if (counts(p, k))
            r[p->irn[k] - 1] -= (float)log(fabs(p->a[k])) + (c ? c[p->icn[k] - 1] : 0);
    for (int i = 0; i < p->n; i++) r[i] = over(r[i], rows[i]);
}

void mc19ad_(const int *n_, const int *nz, const double *a, const int *irn, const int *icn,
             float *r, float *c, float *w) {
    enum { MOST = 100 };        /* some ten are usual */
    const double enough = 1e-6; /* per row: a scaling is no better for more digits */
    const int n = *n_;
    const pattern p = {n, *nz, a, irn, icn};
    if (n < 1) return;
    float *rows = w, *cols = rows + n, *res = cols + n, *dir = res + n, *image = dir + n;
    for (int i = 0; i < n; i++) c[i] = rows[i] = cols[i] = res[i] = 0;
    for (int k = 0; k < p.nz; k++) {
        if (!counts(&p, k)) continue;
        rows[irn[k] - 1]++;
        cols[icn[k] - 1]++;
    }
    rows_of(&p, rows, NULL, r);
    for (int k = 0; k < p.nz; k++)
        if (counts(&p, k)) res[icn[k] - 1] -= (float)log(fabs(a[k])) + r[irn[k] - 1];
    double rho = dot(n, res, res, cols);
    for (int i = 0; i < n; i++) dir[i] = over(res[i], cols[i]);
    for (int step = 0; step < MOST && rho > enough * n; step++) {
        apply(&p, rows, cols, dir, image, r);
        const double curvature = dot(n, dir, image, NULL);
        if (!(curvature > 0)) break;
        const float length = (float)(rho / curvature);
        for (int i = 0; i < n; i++) {
            c[i] += length * dir[i];
            res[i] -= length * image[i];
        }
        const double last = rho;
        rho = dot(n, res, res, cols);
        for (int i = 0; i < n; i++) dir[i] = over(res[i], cols[i]) + (float)(rho / last) * dir[i];
    }
    rows_of(&p, rows, c, r);
}
