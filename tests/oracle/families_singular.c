/* SPDX-License-Identifier: BSD-3-Clause */
/* Families of small integers, most of whose matrices are exactly singular: there a factorization
 * leaves rounding in place of a zero pivot, and the residual of an inconsistent system may be
 * rounding too. */
#include "families.h"

/* [H A'; A 0] in which a row of A is a copy of another, or the sum of two. */
void fill_dependent(draft *d) {
    random_state *r = d->rng;
    const int m = d->n / 3 + 1, k = d->n - m;
    d->style = 1;
    for (int j = 0; j < k; j++) {
        draft_set(d, j, j, random_between(r, 0, 4), 0);
        for (int i = k; i < d->n; i++)
            if (random_chance(r, 4.0 / (k + 1))) draft_random(d, i, j);
    }
    for (int copy = 0; m > 2 && copy < 1 + m / 8; copy++) {
        const int to = k + random_below(r, m), one = k + random_below(r, m);
        const int two = random_chance(r, 0.5) ? -1 : k + random_below(r, m);
        for (int j = 0; j < k && to != one && to != two; j++) {
            const double *a = draft_at(d, one, j), *b = draft_at(d, two < 0 ? one : two, j);
            const double re = a[0] + (two < 0 ? 0 : b[0]), im = a[1] + (two < 0 ? 0 : b[1]);
            draft_drop(d, to, j);
            if (re != 0 || im != 0) draft_set(d, to, j, re, im);
        }
    }
}

static void edge(draft *d, int i, int j, double weight) {
    if (i == j) return;
    draft_set(d, i, i, draft_at(d, i, i)[0] + weight, 0);
    draft_set(d, j, j, draft_at(d, j, j)[0] + weight, 0);
    const double *a = draft_at(d, i > j ? i : j, i > j ? j : i);
    draft_set(d, i, j, a[0] - weight, 0);
}

/* Laplacians of graphs: a line (Neumann at both ends), a circle, a grid, random edges. The vector
 * of ones, one for each component, is in the null space. */
void fill_laplacian(draft *d) {
    random_state *r = d->rng;
    const int kind = random_below(r, 4), width = 1 + (int)sqrt(d->n);
    const int weighted = random_chance(r, 0.3);
    for (int j = 0; j < d->n; j++) {
        const double weight = weighted ? random_between(r, 1, 4) : 1;
        if (kind < 2 && j + 1 < d->n) edge(d, j + 1, j, weight);
        if (kind == 1 && j == 0) edge(d, d->n - 1, 0, weight);
        if (kind == 2 && j + 1 < d->n && (j + 1) % width) edge(d, j + 1, j, weight);
        if (kind == 2 && j + width < d->n) edge(d, j + width, j, weight);
        if (kind == 3)
            for (int e = 0; e < 2; e++) edge(d, random_below(r, d->n), j, weight);
    }
}

/* All entries the same, or c s_i s_j with signs s. */
void fill_ones(draft *d) {
    random_state *r = d->rng;
    const double c = random_chance(r, 0.5) ? 1 : random_chance(r, 0.5) ? 0.1 : random_signed(r);
    const uint64_t signs = random_chance(r, 0.5) ? 0 : random_bits(r);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++)
            draft_set(d, i, j, (signs >> i % 64 ^ signs >> j % 64) & 1 ? -c : c, 0);
}

/* Sum of rank outer products c v v^H (v v^T) of small integers. */
static void add_outer(draft *d, int rank) {
    random_state *r = d->rng;
    int *v = must_alloc(2 * (size_t)d->n, sizeof *v);
    for (int k = 0; k < rank; k++) {
        const int c = random_chance(r, 0.5) ? 1 : -1, most = random_between(r, 1, 3);
        const double density = random_chance(r, 0.5) ? 1 : 0.4;
        for (int i = 0; i < d->n; i++) {
            const int kept = random_chance(r, density);
            v[2 * i] = kept ? random_between(r, -most, most) : 0;
            v[2 * i + 1] = kept && is_complex(d->scalar) ? random_between(r, -most, most) : 0;
        }
        const int mirror = d->symmetry == MPK_HERMITIAN ? -1 : 1;
        for (int j = 0; j < d->n; j++)
            for (int i = j; i < d->n; i++) {
                const double *a = draft_at(d, i, j);
                const int *x = v + 2 * i, y[] = {v[2 * j], mirror * v[2 * j + 1]};
                const int re = c * (x[0] * y[0] - x[1] * y[1]);
                const int im = c * (x[0] * y[1] + x[1] * y[0]);
                if (re || im) draft_set(d, i, j, a[0] + re, a[1] + im);
            }
    }
    free(v);
}

void fill_outer(draft *d) {
    add_outer(d, random_between(d->rng, 1, d->n < 6 ? d->n : 6));
}

void fill_low_rank(draft *d) {
    random_state *r = d->rng;
    const double zeros = 0.5 * random_unit(r);
    add_outer(d, random_between(r, 1, 3));
    for (int i = 0; i < d->n; i++)
        if (!random_chance(r, zeros))
            draft_set(d, i, i, draft_at(d, i, i)[0] + random_between(r, -4, 4), 0);
}

/* A(i, j) = s_i s_j B(p(i), p(j)): rows repeat those of a smaller matrix, with signs. */
void fill_congruent(draft *d) {
    random_state *r = d->rng;
    const int n = d->n, m = random_between(r, 1, n);
    const uint64_t signs = random_bits(r);
    draft small = *d;
    int *from = must_alloc((size_t)n, sizeof *from);
    small.n = m;
    small.style = 1;
    small.a = must_alloc(2 * (size_t)m * (size_t)m, sizeof *small.a);
    small.there = must_alloc((size_t)m * (size_t)m, 1);
    fill_any(&small);
    for (int i = 0; i < n; i++) from[i] = i < m ? i : random_below(r, m);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            const int p = from[i], q = from[j];
            const double *a = draft_at(&small, p > q ? p : q, p > q ? q : p);
            const double sign = (signs >> i % 64 ^ signs >> j % 64) & 1 ? -1 : 1;
            const double turn = p < q && d->symmetry == MPK_HERMITIAN ? -1 : 1;
            if (a[0] != 0 || a[1] != 0) draft_set(d, i, j, sign * a[0], sign * turn * a[1]);
        }
    free(small.a);
    free(small.there);
    free(from);
}

/* No entry at all, or explicit zeros. */
void fill_zero(draft *d) {
    const double stored = random_chance(d->rng, 0.5) ? 0 : random_unit(d->rng);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++)
            if (random_chance(d->rng, stored)) draft_set(d, i, j, 0, 0);
}

/* Rows without entries, and explicit zeros among the others. */
void fill_empty(draft *d) {
    random_state *r = d->rng;
    fill_any(d);
    const int rows = random_below(r, 3), zeros = random_below(r, d->n + 1);
    for (int k = 0; k < rows; k++) {
        const int row = random_below(r, d->n);
        for (int i = 0; i < d->n; i++) draft_drop(d, i, row);
    }
    for (int k = 0; k < zeros; k++)
        draft_set(d, random_below(r, d->n), random_below(r, d->n), 0, 0);
}
