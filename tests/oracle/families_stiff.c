/* SPDX-License-Identifier: BSD-3-Clause */
/* Large numbers that hide small ones: penalties, stiffness in SI units beside constraints that
 * repeat or contradict each other, entries over many decades. */
#include "families.h"

static void spring(draft *d, int i, int j, double k) {
    draft_set(d, i, i, draft_at(d, i, i)[0] + k, 0);
    if (i == j) return;
    draft_set(d, j, j, draft_at(d, j, j)[0] + k, 0);
    draft_set(d, i, j, (i > j ? draft_at(d, i, j) : draft_at(d, j, i))[0] - k, 0);
}

/* Springs between neighbours and some others; held at one end or floating. */
static void structure(draft *d, int first, int last, double k, int held) {
    for (int i = first; i + 1 < last; i++) {
        spring(d, i, i + 1, k);
        if (random_chance(d->rng, 0.2)) spring(d, i, random_between(d->rng, first, i), k);
    }
    if (held && last > first) spring(d, first, first, k);
}

/* 1e8 .. 1e30; in single 1e4 .. 1e15. */
static double penalty(draft *d) {
    const int single = is_single(d->scalar);
    return pow(10, single ? random_between(d->rng, 4, 15) : random_between(d->rng, 8, 30));
}

/* A structure some of whose rows are held by penalties; or with a part that floats beside rows that
 * are penalties alone, as large as they come. */
void fill_penalty(draft *d) {
    random_state *r = d->rng;
    const int apart = random_chance(r, 0.4), rows = random_between(r, 1, 1 + d->n / 4);
    const double big = penalty(d);
    if (apart) {
        for (int i = 0; i < rows; i++) draft_set(d, i, i, big, 0);
        structure(d, rows, d->n, 1, random_chance(r, 0.3));
        return;
    }
    if (random_chance(r, 0.3))
        fill_any(d);
    else
        structure(d, 0, d->n, random_chance(r, 0.5) ? 1 : 2e11, random_chance(r, 0.5));
    for (int i = 0; i < rows; i++) {
        const int row = random_below(r, d->n), other = random_below(r, d->n);
        if (random_chance(r, 0.7))
            draft_set(d, row, row, big, 0);
        else /* a tie of two */
            spring(d, row, other, big);
    }
}

/* [K J'; J 0]: K stiffness, rows of J equal to others, or the sum or difference of two. */
void fill_redundant(draft *d) {
    random_state *r = d->rng;
    static const double stiffness[] = {1, 2e11, 0x1p37, 7e7, 1e-9, 1e16};
    const int m = d->n / 4 + 1, k = d->n - m;
    structure(d, 0, k, stiffness[random_below(r, is_single(d->scalar) ? 5 : 6)],
              random_chance(r, 0.7));
    for (int i = k; i < d->n && k > 0; i++) {
        const int copied = i > k && random_chance(r, 0.5), one = random_between(r, k, i - copied);
        const int two = copied && random_chance(r, 0.4) ? random_between(r, k, i - 1) : -1;
        if (!copied) {
            draft_set(d, i, random_below(r, k), 1, 0);
            if (random_chance(r, 0.8)) draft_set(d, i, random_below(r, k), -1, 0);
            continue;
        }
        for (int j = 0; j < k; j++) {
            const double sum = draft_at(d, one, j)[0] + (two < 0 ? 0 : draft_at(d, two, j)[0]);
            if (sum != 0) draft_set(d, i, j, sum, 0);
        }
    }
}

/* D B D with D over many decades in any order, no powers of two: graded, but not along the
 * diagonal. In half of them the numbers have 24 bits, as a single-precision program writes them. */
void fill_mixed(draft *d) {
    random_state *r = d->rng;
    const double decades = (is_single(d->scalar) ? 8 : 20) * random_unit(r);
    const int rounded = random_chance(r, 0.5);
    double *size = must_alloc((size_t)d->n, sizeof *size);
    if (random_chance(r, 0.3))
        fill_congruent(d);
    else
        fill_any(d);
    for (int i = 0; i < d->n; i++) size[i] = pow(10, decades * random_signed(r) / 2);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++) {
            const double *a = draft_at(d, i, j);
            const double re = a[0] * size[i] * size[j], im = a[1] * size[i] * size[j];
            if (a[0] == 0 && a[1] == 0) continue;
            if (rounded)
                draft_set(d, i, j, (double)(float)re, (double)(float)im);
            else
                draft_set(d, i, j, re, im);
        }
    free(size);
}

/* Few rows, each entry of a scale of its own; some are stored zeros. */
void fill_decades(draft *d) {
    random_state *r = d->rng;
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++) {
            const double size = pow(10, random_between(r, is_single(d->scalar) ? -4 : -8, 4));
            const int digit = random_chance(r, 0.3) ? 0 : random_between(r, 1, 3);
            const int sign = random_chance(r, 0.5) ? -1 : 1;
            const int turned = is_complex(d->scalar) && i != j && random_chance(r, 0.5);
            draft_set(d, i, j, turned ? 0 : sign * digit * size, turned ? sign * digit * size : 0);
        }
}
