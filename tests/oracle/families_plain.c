/* SPDX-License-Identifier: BSD-3-Clause */
/* Families whose matrices have full rank as a rule. */
#include "families.h"

void fill_dense(draft *d) {
    const double density = random_chance(d->rng, 0.6) ? 1 : 0.3 + 0.7 * random_unit(d->rng);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++)
            if (random_chance(d->rng, density)) draft_random(d, i, j);
}

/* A few entries a column; a share of the diagonal is zero, and sometimes a whole block. */
void fill_sparse(draft *d) {
    random_state *r = d->rng;
    const double density = (1 + 4 * random_unit(r)) / d->n, zeros = random_unit(r);
    const int first = random_below(r, d->n), last = random_between(r, first, d->n);
    const int with_block = random_chance(r, 0.4);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++) {
            const int inside = i >= first && i < last && j >= first && j < last;
            if (i == j ? random_chance(r, zeros) : !random_chance(r, density)) continue;
            if (!(with_block && inside)) draft_random(d, i, j);
        }
}

/* [H A'; A C]: H diagonal, zero, sparse or dense; C zero or a small negative diagonal. */
void fill_saddle(draft *d) {
    random_state *r = d->rng;
    const int m = d->n / 3 + random_below(r, d->n / 6 + 1), k = d->n - m;
    const int kind = random_below(r, 4), regular = random_chance(r, 0.25);
    const double density = random_chance(r, 0.3) ? 1 : 3.0 / (k + 1);
    for (int j = 0; j < k; j++) {
        if (kind != 1) draft_random(d, j, j);
        for (int i = j + 1; i < k; i++)
            if (kind == 3 || (kind == 2 && random_chance(r, 2.0 / k))) draft_random(d, i, j);
        for (int i = k; i < d->n; i++)
            if (i - k == j || random_chance(r, density)) draft_random(d, i, j);
    }
    for (int i = k; regular && i < d->n; i++) draft_set(d, i, i, -1e-8, 0);
}

/* [0 1; 1 0] along the diagonal, weakly coupled: no diagonal anywhere. */
void fill_pairs(draft *d) {
    for (int j = 0; j < d->n; j++)
        for (int i = j + 1; i < d->n; i++) {
            double re, im;
            draft_value(d, &re, &im);
            if (i == j + 1 && j % 2 == 0)
                draft_set(d, i, j, re, im);
            else if (random_chance(d->rng, 2.0 / d->n))
                draft_set(d, i, j, re / 8, im / 8);
        }
}

/* Dominant diagonals, or -u'' on a line or a grid; all negative now and then. */
void fill_definite(draft *d) {
    random_state *r = d->rng;
    const int kind = random_below(r, 3), width = kind == 2 ? 1 + (int)sqrt(d->n) : 1;
    const double sign = random_chance(r, 0.8) ? 1 : -1;
    for (int j = 0; j < d->n; j++) {
        if (kind == 0) {
            for (int i = j + 1; i < d->n; i++)
                if (random_chance(r, 3.0 / d->n)) draft_random(d, i, j);
            continue;
        }
        draft_set(d, j, j, sign * (kind == 2 ? 4 : 2), 0);
        if (j + 1 < d->n && (j + 1) % width + (kind == 1)) draft_set(d, j + 1, j, -sign, 0);
        if (kind == 2 && j + width < d->n) draft_set(d, j + width, j, -sign, 0);
    }
    for (int j = 0; kind == 0 && j < d->n; j++) {
        double sum = random_unit(r);
        for (int i = 0; i < d->n; i++) {
            const double *a = draft_at(d, i > j ? i : j, i > j ? j : i);
            if (i != j) sum += fabs(a[0]) + fabs(a[1]);
        }
        draft_set(d, j, j, sign * sum, 0);
    }
}

/* -u'' - k u on a line, with k near the spectrum or in it; complex symmetric ones get damping. */
void fill_helmholtz(draft *d) {
    random_state *r = d->rng;
    const double shift = random_chance(r, 0.5) ? random_between(r, 0, 4) : 4 * random_unit(r);
    const double damping = random_chance(r, 0.5) ? 0 : 0.1;
    for (int j = 0; j < d->n; j++) {
        draft_set(d, j, j, 2 - shift, damping);
        if (j + 1 < d->n) draft_set(d, j + 1, j, -1, 0);
    }
}

void fill_any(draft *d) {
    static const fill_fn some[] = {fill_dense, fill_sparse,   fill_saddle,
                                   fill_pairs, fill_definite, fill_helmholtz};
    some[random_below(d->rng, 6)](d);
}
