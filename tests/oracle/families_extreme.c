/* SPDX-License-Identifier: BSD-3-Clause */
/* Families at the ends of the range, and at the ends of the condition numbers that a solver may
 * meet. */
#include "families.h"

/* The whole matrix times a power of two. */
void fill_scaled(draft *d) {
    const int half = draft_range(d) / 2, power = random_between(d->rng, -half, half);
    int *powers = must_alloc((size_t)d->n, sizeof *powers);
    fill_any(d);
    for (int i = 0; i < d->n; i++) powers[i] = power;
    draft_scale(d, powers);
    free(powers);
}

/* Each row and its column times a power of two: scaled condition and inertia are those of the
 * base. */
void fill_scaled_rows(draft *d) {
    random_state *r = d->rng;
    const int half = draft_range(d) / 2;
    const int most = random_chance(r, 0.5) ? half : random_between(r, 1, half);
    int *powers = must_alloc((size_t)d->n, sizeof *powers);
    if (random_chance(r, 0.3))
        fill_congruent(d);
    else
        fill_any(d);
    for (int i = 0; i < d->n; i++) powers[i] = random_between(r, -most, most);
    draft_scale(d, powers);
    free(powers);
}

/* Brings the exponent of the largest entry to `exponent`, and `spread` less from row to row. */
static void lift(draft *d, int exponent, int spread) {
    int *powers = must_alloc((size_t)d->n, sizeof *powers), now;
    double most = 0;
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++)
            most = fmax(most, fmax(fabs(draft_at(d, i, j)[0]), fabs(draft_at(d, i, j)[1])));
    frexp(most, &now);
    const int twice = exponent - now;
    for (int j = 0; j < d->n; j++) powers[j] = twice / 2 - random_between(d->rng, 0, spread);
    draft_scale(d, powers);
    free(powers);
}

/* Entries above 1e307 (1e37): products with moderate numbers overflow. */
void fill_huge(draft *d) {
    if (random_chance(d->rng, 0.2))
        fill_outer(d);
    else
        fill_any(d);
    lift(d, is_single(d->scalar) ? 127 : 1023, random_chance(d->rng, 0.5) ? 0 : 3);
}

/* Entries below the least normal number, which have few bits. */
void fill_denormal(draft *d) {
    d->style = random_below(d->rng, 3);
    if (random_chance(d->rng, 0.2))
        fill_outer(d);
    else
        fill_any(d);
    lift(d, is_single(d->scalar) ? -126 : -1022, random_chance(d->rng, 0.5) ? 0 : 8);
}

/* A := H A H, H = I - 2 v v^H / v^H v; for complex symmetric matrices v is real. */
static void reflect(draft *d, double *a) {
    const int n = d->n, both = d->symmetry == MPK_HERMITIAN;
    double *v = must_alloc(2 * (size_t)n, sizeof *v), norm = 0;
    for (int i = 0; i < n; i++) {
        v[2 * i] = random_signed(d->rng);
        v[2 * i + 1] = both ? random_signed(d->rng) : 0;
        norm += v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1];
    }
    for (int side = 0; side < 2; side++) /* rows of A H, then of (H A H)^H */
        for (int i = 0; i < n; i++) {
            double re = 0, im = 0;
            for (int j = 0; j < n; j++) {
                const double *x = a + 2 * (side ? j + (size_t)i * n : i + (size_t)j * n);
                const double *y = v + 2 * j, turn = side ? -1 : 1;
                re += x[0] * y[0] - turn * x[1] * y[1];
                im += turn * x[1] * y[0] + x[0] * y[1];
            }
            for (int j = 0; j < n; j++) {
                double *x = a + 2 * (side ? j + (size_t)i * n : i + (size_t)j * n);
                const double *y = v + 2 * j, turn = side ? -1 : 1;
                x[0] -= 2 / norm * (re * y[0] + im * y[1]);
                x[1] -= turn * 2 / norm * (im * y[0] - re * y[1]);
            }
        }
    free(v);
}

/* Eigenvalues from 1 down to 10^-8 .. 10^-18 (10^-3 .. 10^-9 in single), only one of them small or
 * all of them graded, turned by three reflections. */
void fill_near_singular(draft *d) {
    random_state *r = d->rng;
    const int n = d->n, graded = random_chance(r, 0.4);
    const double depth = is_single(d->scalar) ? 3 + 6 * random_unit(r) : 8 + 10 * random_unit(r);
    double *a = must_alloc(2 * (size_t)n * (size_t)n, sizeof *a);
    for (int i = 0; i < n; i++) {
        const double share = n > 1 ? (double)i / (n - 1) : 1;
        const double size = graded       ? pow(10, -depth * share)
                            : i == n - 1 ? pow(10, -depth)
                                         : 0.1 + 0.9 * random_unit(r);
        a[2 * (i + (size_t)i * n)] = random_chance(r, 0.5) ? size : -size;
    }
    for (int k = 0; k < 3; k++) reflect(d, a);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            draft_set(d, i, j, a[2 * (i + j * (size_t)n)], a[2 * (i + j * (size_t)n) + 1]);
    free(a);
}

/* a(i, j) g^(i + j), or g^max(i, j). */
void fill_graded(draft *d) {
    random_state *r = d->rng;
    const double steepest = (is_single(d->scalar) ? 30.0 : 250.0) / (2 * d->n);
    const double decades =
        fmin(steepest, random_chance(r, 0.5) ? random_unit(r) : 6 * random_unit(r));
    const int by_most = random_chance(r, 0.3), upward = random_chance(r, 0.3);
    fill_any(d);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++) {
            const double *a = draft_at(d, i, j);
            const double size = pow(10, (upward ? decades : -decades) * (by_most ? i : i + j));
            if (a[0] != 0 || a[1] != 0) draft_set(d, i, j, a[0] * size, a[1] * size);
        }
}

/* A late step of an interior point method: [H + theta A'; A -delta], theta over up to 32 decades.
 */
void fill_interior(draft *d) {
    random_state *r = d->rng;
    const int m = d->n / 3, k = d->n - m, kind = random_below(r, 3);
    const double decades = (is_single(d->scalar) ? 8 : 16) * random_unit(r);
    const double delta = random_chance(r, 0.5) ? 0 : pow(10, -8 - 2 * random_below(r, 3));
    d->style = random_below(r, 2);
    for (int j = 0; j < k; j++) {
        const double theta = pow(10, decades * (kind == 0               ? random_signed(r)
                                                : random_chance(r, 0.5) ? 1.0
                                                                        : -1.0));
        const double h = kind == 2 ? random_between(r, 0, 2) : 0;
        draft_set(d, j, j, h + theta, 0);
        for (int i = j + 1; kind == 2 && i < k; i++)
            if (random_chance(r, 1.0 / k)) draft_random(d, i, j);
        for (int i = k; i < d->n; i++)
            if (i - k == j || random_chance(r, 3.0 / (k + 1))) draft_random(d, i, j);
    }
    for (int i = k; delta > 0 && i < d->n; i++) draft_set(d, i, i, -delta, 0);
}

/* Orders 0, 1, 2 with numbers from everywhere. */
void fill_tiny(draft *d) {
    random_state *r = d->rng;
    static const double some[] = {0, 1, -1, 1e-8, 1e-15, -1e-16, 1e15, 3, 0.1};
    const int range = draft_range(d);
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++) {
            double x[2];
            for (int part = 0; part < 2; part++)
                x[part] = random_chance(r, 0.7)
                              ? some[random_below(r, 9)]
                              : ldexp(random_signed(r), random_between(r, -range - 60, range + 7));
            if (random_chance(r, 0.9)) draft_set(d, i, j, x[0], random_chance(r, 0.5) ? x[1] : 0);
        }
}
