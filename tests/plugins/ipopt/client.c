/* SPDX-License-Identifier: BSD-3-Clause */
/** A program that knows nothing of METAPACK: Ipopt's C interface, five problems, each solved with
 *  MUMPS and with the names METAPACK answers to. Same outcome, same point; and the library that
 *  was loaded is ours. */
#include <IpStdCInterface.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- problems of a pattern: f = sum of f_i(x_i, x_i+1), g dense in a band -------------------- */

typedef struct problem {
    const char *name;
    int n, m;
    void (*start)(double *x);
    void (*bounds)(double *xl, double *xu, double *gl, double *gu);
    double (*f)(const double *x);
    void (*grad)(const double *x, double *g);
    void (*g)(const double *x, double *c);
    void (*jac)(const double *x, double *j);                             /* m x n by rows */
    void (*hess)(const double *x, double s, const double *y, double *h); /* n x n by rows, lower */
} problem;

enum { MOST = 200 };
static const double FAR = 1e20; /* Ipopt's infinity is 1e19 */

static void all(int n, double *v, double value) {
    for (int i = 0; i < n; i++) v[i] = value;
}

/* Hock & Schittkowski 71: min x0 x3 (x0+x1+x2) + x2, x0 x1 x2 x3 >= 25, |x|^2 = 40, 1 <= x <= 5 */
static void hs71_start(double *x) {
    x[0] = x[3] = 1, x[1] = x[2] = 5;
}
static void hs71_bounds(double *xl, double *xu, double *gl, double *gu) {
    all(4, xl, 1), all(4, xu, 5);
    gl[0] = 25, gu[0] = FAR, gl[1] = gu[1] = 40;
}
static double hs71_f(const double *x) {
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2];
}
static void hs71_grad(const double *x, double *g) {
    g[0] = x[3] * (2 * x[0] + x[1] + x[2]);
    g[1] = x[0] * x[3];
    g[2] = x[0] * x[3] + 1;
    g[3] = x[0] * (x[0] + x[1] + x[2]);
}
static void hs71_g(const double *x, double *c) {
    c[0] = x[0] * x[1] * x[2] * x[3];
    c[1] = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
}
static void hs71_jac(const double *x, double *j) {
    for (int k = 0; k < 4; k++) {
        j[k] = 1;
        for (int i = 0; i < 4; i++) j[k] *= i == k ? 1 : x[i];
        j[4 + k] = 2 * x[k];
    }
}
static void hs71_hess(const double *x, double s, const double *y, double *h) {
    h[0] += s * 2 * x[3];
    h[4] += s * x[3], h[8] += s * x[3];
    h[12] += s * (2 * x[0] + x[1] + x[2]);
    h[13] += s * x[0], h[14] += s * x[0];
    for (int i = 0; i < 4; i++) {
        h[5 * i] += 2 * y[1];
        for (int k = 0; k < i; k++) {
            double product = y[0];
            for (int l = 0; l < 4; l++) product *= l == i || l == k ? 1 : x[l];
            h[4 * i + k] += product;
        }
    }
}

/* A chain of Rosenbrock functions; with CHAIN - 2 constraints x_i x_i+2 - x_i+1 = 0 */
enum { CHAIN = 60 };
static void chain_start(double *x) {
    for (int i = 0; i < CHAIN; i++) x[i] = i % 2 ? 1 : -1.2;
}
static void chain_bounds(double *xl, double *xu, double *gl, double *gu) {
    all(CHAIN, xl, -FAR), all(CHAIN, xu, FAR);
    all(CHAIN - 2, gl, 0), all(CHAIN - 2, gu, 0);
}
static double chain_f(const double *x) {
    double f = 0;
    for (int i = 0; i + 1 < CHAIN; i++) f += 10 * pow(x[i] * x[i] - x[i + 1], 2) + pow(x[i] - 1, 2);
    return f;
}
static void chain_grad(const double *x, double *g) {
    all(CHAIN, g, 0);
    for (int i = 0; i + 1 < CHAIN; i++) {
        const double t = x[i] * x[i] - x[i + 1];
        g[i] += 40 * t * x[i] + 2 * (x[i] - 1);
        g[i + 1] -= 20 * t;
    }
}
static void chain_g(const double *x, double *c) {
    for (int i = 0; i + 2 < CHAIN; i++) c[i] = x[i] * x[i + 2] - x[i + 1];
}
static void chain_jac(const double *x, double *j) {
    for (int i = 0; i + 2 < CHAIN; i++) {
        j[i * CHAIN + i] = x[i + 2];
        j[i * CHAIN + i + 1] = -1;
        j[i * CHAIN + i + 2] = x[i];
    }
}
static void chain_hess(const double *x, double s, const double *y, double *h) {
    for (int i = 0; i + 1 < CHAIN; i++) {
        h[i * CHAIN + i] += s * (120 * x[i] * x[i] - 40 * x[i + 1] + 2);
        h[(i + 1) * CHAIN + i] -= s * 40 * x[i];
        h[(i + 1) * CHAIN + i + 1] += s * 20;
    }
    for (int i = 0; i + 2 < CHAIN; i++) h[(i + 2) * CHAIN + i] += y[i];
}

/* Concave inside a sphere, from a point where the Hessian has the wrong inertia:
 * min -x^2 - 2 y^2 + z, x^2 + y^2 + z^2 = 4 */
static void sphere_start(double *x) {
    x[0] = x[1] = x[2] = 0.4;
}
static void sphere_bounds(double *xl, double *xu, double *gl, double *gu) {
    all(3, xl, -3), all(3, xu, 3);
    gl[0] = gu[0] = 4;
}
static double sphere_f(const double *x) {
    return -x[0] * x[0] - 2 * x[1] * x[1] + x[2];
}
static void sphere_grad(const double *x, double *g) {
    g[0] = -2 * x[0], g[1] = -4 * x[1], g[2] = 1;
}
static void sphere_g(const double *x, double *c) {
    c[0] = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
}
static void sphere_jac(const double *x, double *j) {
    for (int k = 0; k < 3; k++) j[k] = 2 * x[k];
}
static void sphere_hess(const double *x, double s, const double *y, double *h) {
    (void)x;
    h[0] += -2 * s + 2 * y[0], h[4] += -4 * s + 2 * y[0], h[8] += 2 * y[0];
}

/* The same plane twice: the Jacobian never has full rank. min |x - (1,2,3)|^2 */
static void twice_start(double *x) {
    all(3, x, 0);
}
static void twice_bounds(double *xl, double *xu, double *gl, double *gu) {
    all(3, xl, -FAR), all(3, xu, FAR);
    gl[0] = gu[0] = 3, gl[1] = gu[1] = 6;
}
static double twice_f(const double *x) {
    return pow(x[0] - 1, 2) + pow(x[1] - 2, 2) + pow(x[2] - 3, 2);
}
static void twice_grad(const double *x, double *g) {
    for (int k = 0; k < 3; k++) g[k] = 2 * (x[k] - k - 1);
}
static void twice_g(const double *x, double *c) {
    c[0] = x[0] + x[1] + x[2], c[1] = 2 * c[0];
}
static void twice_jac(const double *x, double *j) {
    (void)x;
    for (int k = 0; k < 3; k++) j[k] = 1, j[3 + k] = 2;
}
static void twice_hess(const double *x, double s, const double *y, double *h) {
    (void)x, (void)y;
    for (int k = 0; k < 3; k++) h[4 * k] += 2 * s;
}

/* No point at all: x + y + z = 3 and = 4 */
static void none_bounds(double *xl, double *xu, double *gl, double *gu) {
    twice_bounds(xl, xu, gl, gu);
    gu[1] = gl[1] = 8;
}

static const problem problems[] = {
    {"hs71", 4, 2, hs71_start, hs71_bounds, hs71_f, hs71_grad, hs71_g, hs71_jac, hs71_hess},
    {"chain", CHAIN, CHAIN - 2, chain_start, chain_bounds, chain_f, chain_grad, chain_g, chain_jac,
     chain_hess},
    {"sphere", 3, 1, sphere_start, sphere_bounds, sphere_f, sphere_grad, sphere_g, sphere_jac,
     sphere_hess},
    {"twice", 3, 2, twice_start, twice_bounds, twice_f, twice_grad, twice_g, twice_jac, twice_hess},
    {"none", 3, 2, twice_start, none_bounds, twice_f, twice_grad, twice_g, twice_jac, twice_hess},
};

/* ---- Ipopt's callbacks: every entry of the Jacobian, every one of the lower Hessian ---------- */

static Bool eval_f(int n, double *x, Bool fresh, double *f, UserDataPtr data) {
    (void)n, (void)fresh;
    *f = ((const problem *)data)->f(x);
    return TRUE;
}

static Bool eval_grad(int n, double *x, Bool fresh, double *grad, UserDataPtr data) {
    (void)n, (void)fresh;
    ((const problem *)data)->grad(x, grad);
    return TRUE;
}

static Bool eval_g(int n, double *x, Bool fresh, int m, double *g, UserDataPtr data) {
    (void)n, (void)fresh, (void)m;
    ((const problem *)data)->g(x, g);
    return TRUE;
}

static Bool eval_jac(int n, double *x, Bool fresh, int m, int nnz, int *row, int *col,
                     double *values, UserDataPtr data) {
    (void)fresh, (void)nnz;
    if (!values) {
        for (int k = 0; k < m * n; k++) row[k] = k / n, col[k] = k % n;
        return TRUE;
    }
    all(m * n, values, 0);
    ((const problem *)data)->jac(x, values);
    return TRUE;
}

static Bool eval_hess(int n, double *x, Bool fresh, double factor, int m, double *y, Bool fresh_y,
                      int nnz, int *row, int *col, double *values, UserDataPtr data) {
    static double h[MOST * MOST];
    (void)fresh, (void)m, (void)fresh_y, (void)nnz;
    if (values) {
        all(n * n, h, 0);
        ((const problem *)data)->hess(x, factor, y, h);
    }
    for (int i = 0, k = 0; i < n; i++)
        for (int j = 0; j <= i; j++, k++) {
            if (values)
                values[k] = h[i * n + j];
            else
                row[k] = i, col[k] = j;
        }
    return TRUE;
}

typedef struct outcome {
    int status;
    double f, x[MOST];
} outcome;

static outcome solve(const problem *p, const char *solver, int limited_memory) {
    double xl[MOST], xu[MOST], gl[MOST], gu[MOST];
    outcome o = {-1000, 0, {0}};
    p->bounds(xl, xu, gl, gu);
    IpoptProblem nlp =
        CreateIpoptProblem(p->n, xl, xu, p->m, gl, gu, p->n * p->m, p->n * (p->n + 1) / 2, 0,
                           eval_f, eval_g, eval_grad, eval_jac, eval_hess);
    if (!nlp) return o;
    AddIpoptIntOption(nlp, "print_level", 0);
    AddIpoptStrOption(nlp, "sb", "yes");
    if (!AddIpoptStrOption(nlp, "linear_solver", (char *)solver)) return o;
    if (limited_memory) AddIpoptStrOption(nlp, "hessian_approximation", "limited-memory");
    p->start(o.x);
    o.status = IpoptSolve(nlp, o.x, NULL, &o.f, NULL, NULL, NULL, (void *)p);
    FreeIpoptProblem(nlp);
    return o;
}

/* Is the file mapped into this process? */
static int mapped(const char *library) {
    char line[4096], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;
    if (!realpath(library, path) || !maps) return 0;
    while (fgets(line, sizeof line, maps)) found |= strstr(line, path) != NULL;
    fclose(maps);
    return found;
}

int main(int argc, char **argv) {
    static const struct {
        const char *solver;
        int limited_memory;
    } ways[] = {{"ma97", 0}, {"ma86", 0}, {"ma86", 1}, {"ma57", 0},
                {"ma57", 1}, {"ma27", 0}, {"ma27", 1}};
    int failures = 0;
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            const problem *p = &problems[k];
            const outcome peer = solve(p, "mumps", ways[w].limited_memory),
                          ours = solve(p, ways[w].solver, ways[w].limited_memory);
            double apart = 0;
            for (int i = 0; i < p->n; i++) apart = fmax(apart, fabs(peer.x[i] - ours.x[i]));
            const int same =
                ours.status == peer.status &&
                (ours.status != 0 ||
                 (fabs(ours.f - peer.f) <= 1e-6 * (1 + fabs(peer.f)) && apart <= 1e-4));
            printf("%-7s %s%s: status %d (%d), objective %.10g (%.10g), apart %.1e%s\n", p->name,
                   ways[w].solver, ways[w].limited_memory ? " limited-memory" : "", ours.status,
                   peer.status, ours.f, peer.f, apart, same ? "" : "  DIFFERENT");
            failures += !same;
        }
    }
    if (argc > 1 && !mapped(argv[1])) {
        printf("%s was not loaded\n", argv[1]);
        failures++;
    }
    return failures != 0;
}
