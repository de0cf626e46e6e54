/* SPDX-License-Identifier: BSD-3-Clause */
/* A = L D L^H in integers, whose L^-1 grows: pivots of moderate size, and rounding errors that
 * matter all the same. By Sylvester's law the inertia is that of D, whatever the condition. */
#include "families.h"

/* Sums of w + 1 products 3 c^2 must be exact: below 2^24 in single; in complex ones twice that. */
static int choose_c(draft *d, int w) {
    const double most = is_single(d->scalar) ? floor(sqrt(0x1p24 / (6.0 * (w + 1)))) : 1000;
    /* L^-1 grows by about that much from row to row: with it pivots and rounding meet at 20 rows */
    const double critical = (20 + 60 * random_unit(d->rng)) / w;
    const double any = pow(most, random_unit(d->rng));
    return (int)fmax(1, fmin(most, random_chance(d->rng, 0.6) ? critical : any));
}

/* L by rows, w entries below the diagonal each; all -c, or any integers. */
static void fill_factor(draft *d, int w, int64_t *l) {
    random_state *r = d->rng;
    const int c = choose_c(d, w), kind = random_chance(r, 0.6) ? 0 : random_below(r, 3),
              turned = is_complex(d->scalar);
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k <= w; k++) {
            int64_t *to = l + 2 * ((int64_t)i * (w + 1) + k); /* of column i - k */
            const int whole = kind == 0 || (kind == 1 && random_chance(r, 0.8));
            const int64_t size = k == 0 ? 1 : whole ? -c : random_between(r, -c, c);
            const int turn = turned && k > 0 ? random_below(r, 4) : 0;
            to[0] = turn % 2 ? 0 : turn ? -size : size;
            to[1] = turn % 2 ? turn == 1 ? size : -size : 0;
        }
}

/* a(i, j) = sum of l(i, k) d_k conj(l(j, k)), without conj where A is complex symmetric. */
static void fill_product(draft *d, int w, const int64_t *l, const int *pivot, const int *place) {
    const int mirror = d->symmetry == MPK_HERMITIAN ? -1 : 1;
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n && i <= j + w; i++) {
            int64_t re = 0, im = 0;
            for (int k = i > w ? i - w : 0; k <= j; k++) {
                const int64_t *x = l + 2 * ((int64_t)i * (w + 1) + i - k);
                const int64_t *y = l + 2 * ((int64_t)j * (w + 1) + j - k);
                re += pivot[k] * (x[0] * y[0] - mirror * x[1] * y[1]);
                im += pivot[k] * (x[1] * y[0] + mirror * x[0] * y[1]);
            }
            if (re || im) draft_set(d, place[i], place[j], (double)re, (double)im);
        }
}

static void fill_crafted_with(draft *d, double zeros) {
    random_state *r = d->rng;
    const int n = d->n, w = random_between(r, random_chance(r, 0.8) ? 2 : 1, 8);
    const int shuffled = random_chance(r, 0.5);
    int64_t *l = must_alloc(2 * (size_t)n * (size_t)(w + 1), sizeof *l);
    int *pivot = must_alloc((size_t)n, sizeof *pivot),
        *place = must_alloc((size_t)n, sizeof *place);
    const int range = random_chance(r, 0.3) ? is_single(d->scalar) ? 10 : 20 : 0;
    const int planted = zeros > 0 ? random_below(r, n) : -1;
    d->known.there = 1;
    for (int i = 0; i < n; i++) {
        const int size = random_between(r, 1, 3), zero = random_chance(r, zeros) || i == planted;
        pivot[i] = zero ? 0 : random_chance(r, 0.5) ? size : -size;
        d->known.positive += pivot[i] > 0;
        d->known.negative += pivot[i] < 0;
        d->known.zero += zero;
        place[i] = i;
    }
    for (int i = n - 1; shuffled && i > 0; i--) {
        const int other = random_below(r, i + 1), kept = place[i];
        place[i] = place[other];
        place[other] = kept;
    }
    fill_factor(d, w, l);
    fill_product(d, w, l, pivot, place);
    for (int i = 0; i < n; i++) place[i] = random_between(r, -range, range);
    draft_scale(d, place);
    free(l);
    free(pivot);
    free(place);
}

void fill_crafted(draft *d) {
    fill_crafted_with(d, 0);
}

/* With zeros in D: exactly singular, of a rank that no pivot shows. */
void fill_planted(draft *d) {
    fill_crafted_with(d, random_chance(d->rng, 0.7) ? 1e-9 : 0.1);
}

/* -u'' - shift u on a square with a shift between two eigenvalues: as large as the judge allows,
 * of known inertia, for threads, contexts and children. */
void fill_grid(draft *d) {
    random_state *r = d->rng;
    int m = (int)sqrt(d->n);
    while (m > 1 && d->n % m) m--;
    const int k = d->n / m;
    double closest = 8;
    double shift = random_chance(r, 0.5) ? 0 : 0.25 * random_between(r, 1, 12) + 0.1;
    for (int p = 1; p <= m; p++)
        for (int q = 1; q <= k; q++) {
            const double pi = 3.14159265358979323846;
            const double value = 4 - 2 * cos(p * pi / (m + 1)) - 2 * cos(q * pi / (k + 1)) - shift;
            closest = fmin(closest, fabs(value));
            d->known.negative += value < 0;
        }
    if (closest < 1e-4) shift = d->known.negative = 0; /* so close, rounding it would matter */
    d->known.positive = d->n - d->known.negative;
    d->known.there = 2;
    for (int i = 0; i < d->n; i++) {
        draft_set(d, i, i, 4 - shift, 0);
        if ((i + 1) % m) draft_set(d, i + 1, i, -1, 0);
        if (i + m < d->n) draft_set(d, i + m, i, -1, 0);
    }
}
