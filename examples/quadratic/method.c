/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictor and corrector, and when to stop. */
#include "method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 100 };

typedef struct iterate {
    double *x, *y, *zl, *zu;     /* the present point */
    double *dx, *dy, *dzl, *dzu; /* a step */
    double *rd, *rp, *theta, *f,
        *g;          /* residuals: H x + c - A^T y - zl + zu, A x - b; right-hand side */
    double *cl, *cu; /* what (x - l) zl and (u - x) zu shall change by */
    double mu, primal, dual, gap, objective;
    int64_t bounds;
} iterate;

static double largest(int32_t n, const double *v) {
    double most = 0;
    for (int32_t i = 0; i < n; i++) most = !(fabs(v[i]) <= most) ? fabs(v[i]) : most;
    return most;
}

static void iterate_make(iterate *z, const program *p) {
    const size_t n = (size_t)p->n, m = (size_t)p->m;
    double **const all[] = {&z->x, &z->zl, &z->zu, &z->dx, &z->dzl, &z->dzu, &z->rd, &z->theta,
                            &z->f, &z->cl, &z->cu, &z->y,  &z->dy,  &z->rp,  &z->g};
    memset(z, 0, sizeof *z);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        *all[k] = room(k < 11 ? n : m, sizeof(double));
    const double start = fmax(1, largest(p->n, p->c));
    for (int32_t j = 0; j < p->n; j++) {
        const bool low = isfinite(p->l[j]), high = isfinite(p->u[j]);
        z->x[j] = low && high ? p->l[j] + (p->u[j] - p->l[j]) / 2
                  : low       ? fmax(p->l[j] + 1, 0)
                  : high      ? fmin(p->u[j] - 1, 0)
                              : 0;
        z->zl[j] = low ? start : 0, z->zu[j] = high ? start : 0;
        z->bounds += low + high;
    }
}

static void iterate_free(iterate *z) {
    double *const all[] = {z->x, z->zl, z->zu, z->dx, z->dzl, z->dzu, z->rd, z->theta,
                           z->f, z->cl, z->cu, z->y,  z->dy,  z->rp,  z->g};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

/* Residuals, complementarity, objective; theta. */
static void measure(iterate *z, const program *p) {
    double sum = 0, linear = 0, *hx = z->f;
    memset(hx, 0, (size_t)p->n * sizeof *hx);
    multiply(&p->h, false, true, 1, z->x, hx);
    for (int32_t j = 0; j < p->n; j++) {
        const double low = z->x[j] - p->l[j], high = p->u[j] - z->x[j];
        const double zl = z->zl[j], zu = z->zu[j];
        linear += z->x[j] * (p->c[j] + 0.5 * hx[j]);
        z->rd[j] = hx[j] + p->c[j] - zl + zu;
        z->theta[j] = (zl > 0 ? zl / low : 0) + (zu > 0 ? zu / high : 0);
        sum += (zl > 0 ? zl * low : 0) + (zu > 0 ? zu * high : 0);
    }
    multiply(&p->a, true, false, -1, z->y, z->rd);
    for (int32_t i = 0; i < p->m; i++) z->rp[i] = -p->b[i];
    multiply(&p->a, false, false, 1, z->x, z->rp);
    z->mu = z->bounds > 0 ? sum / (double)z->bounds : 0;
    z->objective = linear;
    z->primal = largest(p->m, z->rp) / (1 + largest(p->m, p->b));
    z->dual = largest(p->n, z->rd) / (1 + largest(p->n, p->c));
    z->gap = sum / (1 + fabs(linear));
}

/* A step to where (x - l) zl and (u - x) zu are changed by cl and cu, and the residuals gone. */
static mpk_status step(iterate *z, kkt *k) {
    const program *p = k->p;
    double t = now();
    for (int32_t j = 0; j < p->n; j++)
        z->f[j] = -z->rd[j] + (z->zl[j] > 0 ? z->cl[j] / (z->x[j] - p->l[j]) : 0) -
                  (z->zu[j] > 0 ? z->cu[j] / (p->u[j] - z->x[j]) : 0);
    for (int32_t i = 0; i < p->m; i++) z->g[i] = -z->rp[i];
    lap(k, 4, t);
    const mpk_status status = kkt_solve(k, z->f, z->g, z->dx, z->dy);
    t = now();
    for (int32_t j = 0; j < p->n; j++) {
        z->dzl[j] = z->zl[j] > 0 ? (z->cl[j] - z->zl[j] * z->dx[j]) / (z->x[j] - p->l[j]) : 0;
        z->dzu[j] = z->zu[j] > 0 ? (z->cu[j] + z->zu[j] * z->dx[j]) / (p->u[j] - z->x[j]) : 0;
    }
    lap(k, 4, t);
    return status;
}

/* The longest steps that leave x between its bounds and zl, zu positive. */
static void lengths(const iterate *z, const program *p, double *primal, double *dual) {
    *primal = *dual = 1;
    for (int32_t j = 0; j < p->n; j++) {
        if (z->dx[j] < 0) *primal = fmin(*primal, (p->l[j] - z->x[j]) / z->dx[j]);
        if (z->dx[j] > 0) *primal = fmin(*primal, (p->u[j] - z->x[j]) / z->dx[j]);
        if (z->dzl[j] < 0) *dual = fmin(*dual, -z->zl[j] / z->dzl[j]);
        if (z->dzu[j] < 0) *dual = fmin(*dual, -z->zu[j] / z->dzu[j]);
    }
}

/* Predictor, then the corrector with what it has shown: the two solves. */
static mpk_status advance(iterate *z, kkt *k) {
    const program *p = k->p;
    double primal, dual, sum = 0;
    for (int32_t j = 0; j < p->n; j++) {
        z->cl[j] = z->zl[j] > 0 ? -(z->x[j] - p->l[j]) * z->zl[j] : 0;
        z->cu[j] = z->zu[j] > 0 ? -(p->u[j] - z->x[j]) * z->zu[j] : 0;
    }
    mpk_status status = step(z, k);
    if (mpk_failed(status)) return status;
    double t = now();
    lengths(z, p, &primal, &dual);
    primal = dual = fmin(primal, dual);
    for (int32_t j = 0; j < p->n; j++) {
        const double x = z->x[j] + primal * z->dx[j];
        if (z->zl[j] > 0) sum += (x - p->l[j]) * (z->zl[j] + dual * z->dzl[j]);
        if (z->zu[j] > 0) sum += (p->u[j] - x) * (z->zu[j] + dual * z->dzu[j]);
    }
    const double after = z->bounds > 0 ? sum / (double)z->bounds : 0;
    const double centre = z->mu > 0 ? z->mu * pow(after / z->mu, 3) : 0;
    for (int32_t j = 0; j < p->n; j++) {
        if (z->zl[j] > 0) z->cl[j] += centre - z->dx[j] * z->dzl[j];
        if (z->zu[j] > 0) z->cu[j] += centre + z->dx[j] * z->dzu[j];
    }
    lap(k, 4, t);
    status = step(z, k);
    if (mpk_failed(status)) return status;
    t = now();
    lengths(z, p, &primal, &dual);
    const double s = fmin(1, fmax(0.9, 1 - z->mu) * fmin(primal, dual));
    for (int32_t j = 0; j < p->n; j++) {
        z->x[j] += s * z->dx[j];
        z->zl[j] += s * z->dzl[j], z->zu[j] += s * z->dzu[j];
    }
    for (int32_t i = 0; i < p->m; i++) z->y[i] += s * z->dy[i];
    lap(k, 4, t);
    return MPK_OK;
}

/* Is there none that satisfies all constraints? Farkas: b^T y > max (A^T y)^T x between the bounds,
 * for some y; the present one is tried. To rounding, where an unknown has no bound. */
static bool infeasible(const iterate *z, const program *p) {
    double *w = room((size_t)p->n, sizeof *w), most = 0, value = 0;
    for (int32_t i = 0; i < p->m; i++) value += p->b[i] * z->y[i];
    multiply(&p->a, true, false, 1, z->y, w);
    const double little = 1e-9 * largest(p->m, z->y);
    for (int32_t j = 0; j < p->n; j++) {
        const double end = w[j] > 0 ? p->u[j] : p->l[j];
        if (isfinite(end))
            most += w[j] * end;
        else if (fabs(w[j]) > little)
            most = INFINITY;
    }
    free(w);
    return value > 0 && value - most > 1e-6 * value;
}

/* Does the objective fall for ever along d, from whatever point: is H d = 0, A d = 0, c^T d < 0,
 * and no bound in its way? To 1e-6 of d. */
static bool falls_along(const program *p, const double *d) {
    const double size = largest(p->n, d), little = 1e-6 * size;
    double *h = room((size_t)p->n, sizeof *h), *a = room((size_t)p->m, sizeof *a), falls = 0;
    bool clear = size > 0;
    multiply(&p->h, false, true, 1, d, h);
    multiply(&p->a, false, false, 1, d, a);
    for (int32_t j = 0; j < p->n; j++) {
        falls += p->c[j] * d[j];
        if (isfinite(d[j] < 0 ? p->l[j] : p->u[j]) && fabs(d[j]) > little) clear = false;
    }
    clear = clear && largest(p->n, h) <= little && largest(p->m, a) <= little && falls < -little;
    free(h), free(a);
    return clear;
}

mpk_status minimise(kkt *k, outcome *out) {
    iterate z;
    const program *p = k->p;
    mpk_status status = kkt_make(k);
    *out = (outcome){.end = "not solved", .error = NAN};
    iterate_make(&z, p);
    for (; !mpk_failed(status); out->steps++) {
        const double t = now();
        measure(&z, p);
        lap(k, 4, t);
        if (z.primal <= TOLERANCE && z.dual <= TOLERANCE && z.gap <= TOLERANCE)
            out->end = "solved";
        else if (!isfinite(z.primal + z.dual + z.gap + largest(p->n, z.theta)))
            out->end = "overflow";
        else if (infeasible(&z, p))
            out->end = "infeasible";
        else if (falls_along(p, z.dx) || falls_along(p, z.x))
            out->end = "unbounded below";
        if (strcmp(out->end, "not solved") != 0 || out->steps == MOST_STEPS) break;
        if (k->seen) k->seen(k, out->steps, z.mu, z.x, z.zl);
        status = kkt_factorize(k, z.theta);
        if (!mpk_failed(status)) status = advance(&z, k);
    }
    if (status == MPK_ERR_NUMERIC) out->end = "overflow", status = MPK_OK;
    out->primal = z.primal, out->dual = z.dual, out->gap = z.gap, out->objective = z.objective;
    if (p->known) {
        double *hx = room((size_t)p->n, sizeof *hx), value = 0;
        multiply(&p->h, false, true, 0.5, p->known, hx);
        for (int32_t j = 0; j < p->n; j++) value += p->known[j] * (p->c[j] + hx[j]);
        out->error = fabs(z.objective - value) / (1 + fabs(value));
        free(hx);
    }
    iterate_free(&z);
    return status;
}
