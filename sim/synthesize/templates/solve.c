/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves: the factor, refinement, SQMR and GMRES around it; and whether A has its inertia. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "parts.h"

/* ---- M^-1 b ---------------------------------------------------------------------------------- */

/* y -= C x, or C^T x, for a block. */
static void multiply(const double *c, const double *x, int transposed, double *y) {
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++)
            y[transposed ? k : i] -= c[i * BLOCK + k] * x[transposed ? i : k];
}

/* v := D^-1 L^-1 v, and z := L^-1 v by steps. */
static void pivot_forward(const pivot *p, double *v, double *z) {
    const size_t n = (size_t)p->n;
    const double *g = p->diag + 2 * n, *h = g + n, *row = h + n;
    for (size_t k = 0; k < n; k++) {
        const size_t at = TYPE == LLT ? k : (size_t)row[k];
        const double x = z[k] = TYPE == LLT ? v[at] / p->l[at * n + k] : v[at];
        for (size_t i = 0; i < n; i++) v[i] -= i == at ? 0 : p->l[i * n + k] * x;
    }
    for (size_t k = 0; k < n; k++)
        v[k] = TYPE == LLT ? z[k]
                           : g[k] * z[k] + h[k] * (k + 1 < n ? z[k + 1] : 0) +
                                 (k ? h[k - 1] * z[k - 1] : 0);
}

/* v, by steps, becomes U^-1 v by rows. */
static void pivot_backward(const pivot *p, double *v, double *work) {
    const size_t n = (size_t)p->n;
    const double *column = p->diag + 5 * n;
    memcpy(work, v, n * sizeof *v);
    for (size_t k = n; k-- > 0;) {
        const size_t at = TYPE == LLT ? k : (size_t)column[k];
        const double x = v[at] = TYPE == LLT ? work[k] / p->u[at * n + k] : work[k];
        for (size_t i = 0; i < k; i++) work[i] -= p->u[at * n + i] * x;
    }
}

/* y, by places, := M^-1 y; z [work] as long. */
static void apply(const solver *s, double *y, double *z) {
    const int m = s->m - s->tail;
    double *end = y + (size_t)m * BLOCK;
    for (int k = 0; k < m; k++) {
        const pivot p = solver_pivot(s, k);
        pivot_forward(&p, y + k * BLOCK, z);
        for (int64_t e = s->ptr[k]; e < s->ptr[k + 1]; e++)
            multiply(s->block + e * EACH, z, 0, y + s->row[e] * BLOCK);
    }
    if (s->tail) pivot_forward(&s->dense, end, z), pivot_backward(&s->dense, end, z);
    for (int k = m - 1; k >= 0; k--) {
        const pivot p = solver_pivot(s, k);
        for (int64_t e = s->ptr[k]; e < s->ptr[k + 1]; e++)
            multiply((TYPE == LDU ? s->upper : s->block) + e * EACH, y + s->row[e] * BLOCK, 1,
                     y + k * BLOCK);
        pivot_backward(&p, y + k * BLOCK, z);
    }
}

void solver_apply(const solver *s, const double *b, double *x) {
    const size_t size = (size_t)s->m * BLOCK;
    double *y = get(2 * size, sizeof *y);            /* by places */
    for (int i = 0; i < s->n && !y; i++) x[i] = NAN; /* that tells it */
    if (!y) return;
    for (int i = 0; i < s->n; i++) {
        const int r = s->at[s->with[i]];
        y[s->place[r / BLOCK] * BLOCK + r % BLOCK] = b[i] * s->rscale[i];
    }
    for (int k = 0; k < s->m; k++) solver_turn(s, s->order[k], 1, y + k * BLOCK, 1);
    apply(s, y, y + size);
    for (int k = 0; k < s->m; k++) solver_turn(s, s->order[k], 0, y + k * BLOCK, 1);
    for (int j = 0; j < s->n; j++) {
        const int r = s->at[j];
        x[j] = y[s->place[r / BLOCK] * BLOCK + r % BLOCK] * s->cscale[j];
    }
    free(y);
}

/* ---- is the inertia that of A? --------------------------------------------------------------- */

static double random_unit(uint64_t *state) {
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

static void product(const solver *s, const double *x, double *y) {
    for (int i = 0; i < s->n; i++) {
        double sum = 0;
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) sum += s->rx[e] * x[s->rj[e]];
        y[i] = sum;
    }
}

static void doubt(solver *s, const char *why) {
    s->info.certain = 0;
    if (!s->info.why_not) s->info.why_not = why;
}

/* M and A have the same inertia unless M^-1 A - I has a norm of 1 or more; then, for a Gaussian z,
 * c = sqrt(n) |z - M^-1 A z| / |z| is at most t with a probability of at most 0.8 t (Dixon 1983).
 * So many z are tried that all were small by chance with less than 1e-10. */
static int contracts(solver *s, double *z, double *y) {
    enum { VECTORS = 16 };
    uint64_t state = (uint64_t)s->n;
    int count = 0;
    for (int64_t e = 0; e < s->rp[s->n]; e++) { /* no z that can be known before A is */
        uint64_t bits;
        memcpy(&bits, &s->rx[e], sizeof bits);
        state = (state ^ bits) * 0x100000001B3u, state ^= state >> 29;
    }
    while (count++ < VECTORS) {
        double size = 0, off = 0;
        for (int i = 0; i < s->n; i++) {
            const double u = random_unit(&state), v = random_unit(&state);
            z[i] = sqrt(-2 * log(u)) * cos(2 * M_PI * v);
            size += z[i] * z[i];
            z[i] *= s->cscale[i];
        }
        product(s, z, y);
        solver_apply(s, y, y);
        for (int i = 0; i < s->n; i++) {
            const double d = (z[i] - y[i]) / s->cscale[i];
            off += d * d;
        }
        const double c = sqrt((double)s->n * off / size);
        s->info.contraction = c >= 0 ? fmax(s->info.contraction, c) : INFINITY;
        if (!(s->info.contraction <= 0.2)) return 0;
        if (pow(0.8 * s->info.contraction, count) <= 1e-10) return 1;
    }
    return 0;
}

void solver_certify(solver *s) {
    if (TYPE == LDU) {
        doubt(s, "L D U has none");
        return;
    }
    double *z = get(2 * (size_t)s->n, sizeof *z);
    s->info.certain = 1;
    if (s->info.replaced) doubt(s, "pivots were replaced");
    if (LEVEL >= 0) doubt(s, "fill was left out");
    if (!(s->info.growth <= 1e8)) doubt(s, "D has grown too much");
    if (!z)
        doubt(s, "no memory to test it");
    else if (s->info.certain && !contracts(s, z, z + s->n))
        doubt(s, "L D L^T is not close enough to A");
    free(z);
}

/* ---- refinement ------------------------------------------------------------------------------ */

/* r := b - A x; returns max |r| / (|A| |x| + |b|). */
static double residual(const solver *s, const double *b, const double *x, double *r) {
    double worst = 0;
    for (int i = 0; i < s->n; i++) {
        long double sum = b[i];
        double size = fabs(b[i]);
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) {
            sum -= (long double)s->rx[e] * x[s->rj[e]];
            size += fabs(s->rx[e] * x[s->rj[e]]);
        }
        r[i] = (double)sum;
        if (!(fabs(r[i]) <= worst * size)) worst = size > 0 ? fabs(r[i]) / size : fabs(r[i]);
    }
    return worst;
}

static double dot(int n, const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* ---- around the factor: x := about A^-1 r ---------------------------------------------------- */

enum { STEPS = 500, RESTART = 50 };
static const double enough = 1e-10; /* of the residual, each time */

/* Freund & Nachtigal 1994, preconditioned from the right. work: 5 n. */
static void sqmr(solver *s, const double *b, double *x, double *work) {
    const int n = s->n;
    double *r = work, *q = r + n, *t = q + n, *u = t + n, *d = u + n;
    memcpy(r, b, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x), memset(d, 0, (size_t)n * sizeof *d);
    const double start = sqrt(dot(n, r, r));
    double tau = start, theta = 0;
    solver_apply(s, r, q);
    double rho = dot(n, r, q);
    for (int step = 0; step < STEPS; step++) {
        product(s, q, t);
        const double sigma = dot(n, q, t), alpha = rho / sigma, before = theta;
        if (!isfinite(alpha) || sigma == 0) return;
        for (int i = 0; i < n; i++) r[i] -= alpha * t[i];
        theta = sqrt(dot(n, r, r)) / tau;
        if (!isfinite(theta)) return;
        const double c = 1 / (1 + theta * theta);
        tau *= theta * sqrt(c);
        for (int i = 0; i < n; i++) {
            d[i] = c * before * before * d[i] + c * alpha * q[i];
            x[i] += d[i];
        }
        s->info.steps++;
        if (!(tau > enough * start) || rho == 0) return;
        solver_apply(s, r, u);
        const double next = dot(n, r, u), beta = next / rho;
        if (!isfinite(beta)) return;
        for (int i = 0; i < n; i++) q[i] = u[i] + beta * q[i];
        rho = next;
    }
}

/* Saad & Schultz 1986, preconditioned from the right, once RESTART steps. work: (RESTART + 2) n */
static double gmres_cycle(solver *s, double *r, double *x, double *work) {
    const int n = s->n;
    double h[RESTART + 1][RESTART], c[RESTART], e[RESTART], g[RESTART + 1];
    double *v = work, *u = work + (size_t)(RESTART + 1) * (size_t)n;
    const double start = sqrt(dot(n, r, r));
    int k = 0;
    if (!(start > 0)) return 0;
    for (int i = 0; i < n; i++) v[i] = r[i] / start;
    g[0] = start;
    for (; k < RESTART && fabs(g[k]) > enough * start; k++) {
        double *w = v + (size_t)(k + 1) * (size_t)n;
        solver_apply(s, v + (size_t)k * (size_t)n, u);
        product(s, u, w);
        s->info.steps++;
        for (int j = 0; j <= k; j++) {
            const double *vj = v + (size_t)j * (size_t)n;
            h[j][k] = dot(n, w, vj);
            for (int i = 0; i < n; i++) w[i] -= h[j][k] * vj[i];
        }
        double below = sqrt(dot(n, w, w));
        for (int i = 0; i < n && below > 0; i++) w[i] /= below;
        for (int j = 0; j < k; j++) {
            const double old = h[j][k];
            h[j][k] = c[j] * old + e[j] * h[j + 1][k];
            h[j + 1][k] = c[j] * h[j + 1][k] - e[j] * old;
        }
        const double size = hypot(h[k][k], below);
        if (!(size > 0) || !isfinite(size)) break;
        c[k] = h[k][k] / size, e[k] = below / size;
        h[k][k] = size, g[k + 1] = -e[k] * g[k], g[k] *= c[k];
    }
    memset(u, 0, (size_t)n * sizeof *u);
    const double left = fabs(g[k]);
    for (int j = k; j-- > 0;) {
        for (int l = j + 1; l < k; l++) g[j] -= h[j][l] * g[l];
        g[j] /= h[j][j];
        for (int i = 0; i < n; i++) u[i] += g[j] * v[(size_t)j * (size_t)n + (size_t)i];
    }
    solver_apply(s, u, u);
    for (int i = 0; i < n; i++) x[i] += u[i];
    product(s, u, v);
    for (int i = 0; i < n; i++) r[i] -= v[i];
    return left;
}

static void gmres(solver *s, const double *b, double *x, double *work) {
    const int n = s->n;
    double *r = work + (size_t)(RESTART + 2) * (size_t)n;
    const double start = sqrt(dot(n, b, b));
    memcpy(r, b, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int step = 0; step < STEPS; step += RESTART)
        if (!(gmres_cycle(s, r, x, work) > enough * start)) return;
}

/* x += A^-1 r by the factor alone (krylov 0), SQMR (1) or GMRES (2), as long as that helps. Returns
 * the error. */
static double improve(solver *s, const double *b, double *x, double error, double *r, double *y,
                      double *work, int rounds, int krylov) {
    for (int round = 0; round < rounds && error > 4 * DBL_EPSILON; round++) {
        double *d = work;
        memcpy(y, x, (size_t)s->n * sizeof *x);
        if (krylov == 0) {
            solver_apply(s, r, d), s->info.steps++;
        } else if (krylov == 1) {
            sqmr(s, r, d, work + s->n);
        } else {
            gmres(s, r, d, work + s->n);
        }
        for (int i = 0; i < s->n; i++) x[i] += d[i];
        const double now = residual(s, b, x, r);
        if (!(now < error)) { /* no better: what was before */
            memcpy(x, y, (size_t)s->n * sizeof *x);
            residual(s, b, x, r);
            break;
        }
        const double gain = now / error;
        error = now;
        if (gain > 0.5 && KRYLOV && !krylov) break; /* slow: the other is better */
    }
    return error;
}

double solver_solve(solver *s, const double *b, double *x) {
    enum { REFINE = 50, AGAIN = 8 };
    const size_t n = (size_t)s->n;
    double *r = get(2 * n, sizeof *r), *work = get((RESTART + 4) * n, sizeof *work);
    double error = NAN;
    s->info.steps = 0;
    if (r && work) {
        solver_apply(s, b, x), s->info.steps++;
        error = residual(s, b, x, r);
        if (!isfinite(error)) {
            memset(x, 0, n * sizeof *x);
            error = residual(s, b, x, r);
        }
        error = improve(s, b, x, error, r, r + n, work, REFINE, 0);
        if (KRYLOV) error = improve(s, b, x, error, r, r + n, work, AGAIN, KRYLOV);
    }
    s->info.error = error;
    if (!(error <= 1e-10) && TYPE != LDU) doubt(s, "the answer is not accurate");
    free(r), free(work);
    return error;
}
