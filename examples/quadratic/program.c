/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs whose solutions are known, and some that have none. */
#include "program.h"

#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *room(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (!p) fprintf(stderr, "out of memory\n"), exit(mpk_exit_code(MPK_ERR_MEMORY));
    return p;
}

void put(sparse *s, int32_t row, int32_t col, double value) {
    if (s->count == s->room) {
        const int64_t more = 2 * s->room + 64;
        s->row = realloc(s->row, (size_t)more * sizeof *s->row);
        s->col = realloc(s->col, (size_t)more * sizeof *s->col);
        s->value = realloc(s->value, (size_t)more * sizeof *s->value);
        if (!s->row || !s->col || !s->value)
            fprintf(stderr, "out of memory\n"), exit(mpk_exit_code(MPK_ERR_MEMORY));
        s->room = more;
    }
    s->row[s->count] = row, s->col[s->count] = col, s->value[s->count++] = value;
}

static uint64_t random_state;

/* In [0, 1): splitmix64 (Steele, Lea & Flood 2014). */
static double uniform(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void multiply(const sparse *m, bool turned, bool symmetric, double s, const double *x, double *y) {
    for (int64_t k = 0; k < m->count; k++) {
        const int32_t i = turned ? m->col[k] : m->row[k], j = turned ? m->row[k] : m->col[k];
        y[i] += s * m->value[k] * x[j];
        if (symmetric && i != j) y[j] += s * m->value[k] * x[i];
    }
}

static void program_make(program *p, int32_t n, int32_t m) {
    *p = (program){.n = n, .m = m, .ends = "solved"};
    p->c = room((size_t)n, sizeof(double)), p->b = room((size_t)m, sizeof(double));
    p->l = room((size_t)n, sizeof(double)), p->u = room((size_t)n, sizeof(double));
    p->known = room((size_t)n, sizeof(double));
}

void program_free(program *p) {
    void *const all[] = {p->h.row, p->h.col, p->h.value, p->a.row, p->a.col, p->a.value,
                         p->c,     p->b,     p->l,       p->u,     p->known};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

/* Bounds, b and c for which a random x, y, z are optimal: a third of the unknowns at a bound with a
 * positive multiplier there, a tenth free. */
static void plant_solution(program *p) {
    double *y = room((size_t)p->m, sizeof *y);
    for (int32_t i = 0; i < p->m; i++) y[i] = 2 * uniform() - 1;
    multiply(&p->a, true, false, 1, y, p->c);
    for (int32_t j = 0; j < p->n; j++) {
        const double kind = uniform(), x = p->known[j] = 4 * uniform() - 2;
        const double z = 0.1 + uniform(), far = 0.1 + 3 * uniform();
        p->l[j] = kind < 0.1 ? -INFINITY : x - (kind < 0.3 ? 0 : far);
        p->u[j] = kind < 0.1 || kind > 0.8 ? INFINITY : x + (kind < 0.3 || kind > 0.4 ? far : 0);
        if (kind >= 0.1 && kind < 0.3) p->c[j] += z;
        if (kind >= 0.3 && kind <= 0.4) p->c[j] -= z;
    }
    multiply(&p->a, false, false, 1, p->known, p->b);
    multiply(&p->h, false, true, -1, p->known, p->c);
    free(y);
}

/* H: sums of v v^T with three entries each, singular but on free unknowns; A: four entries a row.
 * `dependent`: the last row is the sum of two others. */
static void make_random(program *p, int32_t n, int32_t m, bool dependent) {
    program_make(p, n, m);
    for (int32_t k = 0; k < n / 2; k++) {
        int32_t at[3];
        double v[3];
        for (int i = 0; i < 3; i++) at[i] = (int32_t)(uniform() * n), v[i] = 2 * uniform() - 1;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                if (at[i] > at[j] || (at[i] == at[j] && i >= j))
                    put(&p->h, at[i], at[j], (at[i] == at[j] && i > j ? 2 : 1) * v[i] * v[j]);
    }
    for (int32_t j = 0; j < n; j += 2) put(&p->h, j, j, 0.1);
    for (int32_t i = 0; i < m - dependent; i++)
        for (int k = 0; k < 4; k++)
            put(&p->a, i, k == 0 ? i : (int32_t)(uniform() * n), k == 0 ? 1 : 2 * uniform() - 1);
    for (int64_t k = 0, all = p->a.count; dependent && k < all; k++)
        if (p->a.row[k] < 2) put(&p->a, m - 1, p->a.col[k], p->a.value[k]);
    plant_solution(p);
}

/* A linear program in standard form: x >= 0, no H; a solution at which m unknowns are positive, so
 * that it is the only one. degenerate: four fifths of m. */
static void make_linear(program *p, int32_t n, int32_t m, bool degenerate) {
    const int32_t positive = degenerate ? m - m / 5 : m;
    double *y = room((size_t)m, sizeof *y);
    program_make(p, n, m);
    for (int32_t i = 0; i < m; i++) {
        y[i] = 2 * uniform() - 1;
        for (int k = 0; k < 4; k++)
            put(&p->a, i, k == 0 ? i : (int32_t)(uniform() * n), k == 0 ? 4 : 2 * uniform() - 1);
    }
    multiply(&p->a, true, false, 1, y, p->c);
    for (int32_t j = 0; j < n; j++) {
        p->known[j] = j < positive ? 0.1 + uniform() : 0;
        p->c[j] += j < positive ? 0 : 0.1 + uniform();
        p->l[j] = 0, p->u[j] = INFINITY;
    }
    multiply(&p->a, false, false, 1, p->known, p->b);
    free(y);
}

/* N steps of a chain with four states and two controls, x' = F x + G u, bounds on all: the pattern
 * of model predictive control. Unknowns in the order of time. */
static void make_control(program *p, int32_t steps) {
    enum { S = 4, C = 2, W = S + C };
    program_make(p, W * steps, S * steps);
    for (int32_t t = 0; t < steps; t++)
        for (int32_t i = 0; i < S; i++) {
            put(&p->h, W * t + C + i, W * t + C + i, 1);
            if (i < C) put(&p->h, W * t + i, W * t + i, 1e-2);
            put(&p->a, S * t + i, W * t + C + i, -1);
            for (int32_t j = 0; j < C; j++) put(&p->a, S * t + i, W * t + j, uniform() - 0.5);
            for (int32_t j = 0; t > 0 && j < S; j++)
                put(&p->a, S * t + i, W * (t - 1) + C + j,
                    (i == j ? 0.9 : 0) + 0.2 * uniform() - 0.1);
        }
    plant_solution(p);
}

/* Nothing is optimal here. infeasible: sums of unknowns that are at least 0 shall be -1. Unbounded:
 * the first unknown is in no constraint and has no H, and its cost falls without end. */
static void make_hopeless(program *p, int32_t n, int32_t m, bool infeasible) {
    make_random(p, n, m, false);
    p->ends = infeasible ? "infeasible" : "unbounded below";
    for (int32_t j = 0; j < n && infeasible; j++) p->l[j] = 0, p->u[j] = INFINITY;
    for (int64_t k = 0; k < p->a.count; k++) {
        if (infeasible && p->a.row[k] == 0) p->a.value[k] = fabs(p->a.value[k]);
        if (!infeasible && p->a.col[k] == 0) p->a.value[k] = 0;
    }
    for (int64_t k = 0; k < p->h.count && !infeasible; k++)
        if (p->h.row[k] == 0 || p->h.col[k] == 0) p->h.value[k] = 0;
    if (infeasible) {
        p->b[0] = -1;
    } else {
        p->c[0] = -1, p->l[0] = 0, p->u[0] = INFINITY;
        memset(p->b, 0, (size_t)p->m * sizeof *p->b);
        multiply(&p->a, false, false, 1, p->known, p->b);
    }
    free(p->known);
    p->known = NULL;
}

bool program_of(program *p, const char *spec, int seed) {
    char name[16] = "";
    int n = 0, m = 0;
    const int words = sscanf(spec, "%15s %d %d", name, &n, &m);
    random_state = (uint64_t)seed;
    if (words == 2 && !strcmp(name, "control") && n > 0 && n <= 1000000)
        return make_control(p, n), true;
    if (words != 3 || m < 3 || n < m || n > 10000000) return false;
    if (!strcmp(name, "linear") || !strcmp(name, "degenerate"))
        return make_linear(p, n, m, name[0] == 'd'), true;
    if (!strcmp(name, "random") || !strcmp(name, "dependent"))
        return make_random(p, n, m, name[0] == 'd'), true;
    if (!strcmp(name, "infeasible") || !strcmp(name, "unbounded"))
        return make_hopeless(p, n, m, name[0] == 'i'), true;
    return false;
}
