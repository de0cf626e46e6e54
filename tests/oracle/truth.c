/* SPDX-License-Identifier: BSD-3-Clause */
/* The truth about a system, computed when it is first asked for. */
#include "truth.h"

#include <string.h>

truth truth_make(const equations *eq) {
    truth t = {.eq = eq};
    t.whole = equations_whole(eq, &t.count);
    return t;
}

void truth_free(truth *t) {
    free(t->whole);
    exact_rank_free(&t->rank);
    *t = (truth){0};
}

const exact_rank *truth_rank(truth *t) {
    if (!t->have_rank) t->rank = exact_rank_of(t->eq);
    t->have_rank = 1;
    return &t->rank;
}

const spectrum *truth_spectrum(truth *t) {
    if (t->have_spectrum) return &t->spectrum;
    t->have_spectrum = 1;
    t->spectrum = spectrum_of(t->eq, BY_LARGEST);
    if (!t->spectrum.sure && t->spectrum.zero == 0) {
        const spectrum other = spectrum_of(t->eq, BY_ALL);
        if (other.sure) t->spectrum = other;
    }
    return &t->spectrum;
}

/* With a condition number above this the other scaling is tried too. */
static const double WELL = 1e5;

const quad_inverse *truth_inverse(truth *t) {
    if (t->have_inverse) return &t->inverse;
    t->have_inverse = 1;
    t->inverse = quad_inverse_of(t->eq, BY_LARGEST);
    if (!t->inverse.found || t->inverse.scaled >= WELL) {
        const quad_inverse other = quad_inverse_of(t->eq, BY_ALL);
        if (other.found && (!t->inverse.found || other.scaled < t->inverse.scaled))
            t->inverse = other;
    }
    return &t->inverse;
}

/* Multiplications that the signs of a matrix may cost, and rows that quadruple precision may have:
 * some tenths of a second. */
static const double SIGNS_WORK = 4e6;
enum { MOST_ROWS = 300, KNOWN_ROWS = 26 };

const known_inertia *truth_inertia(truth *t) {
    if (t->have_inertia) return &t->inertia;
    t->have_inertia = 1;
    if (t->eq->known.there) {
        t->inertia = t->eq->known;
    } else if (t->eq->n <= MOST_ROWS && truth_spectrum(t)->sure) {
        t->inertia = (known_inertia){1, t->spectrum.positive, t->spectrum.negative, 0};
    } else {
        signs_of(t->eq, SIGNS_WORK, &t->inertia);
    }
    return &t->inertia;
}

/* re, im += y times a complex number 2^power. */
static void dot_add(quad *sum, const quad *y, double re, double im, int power) {
    const quad r = quad_scale(re, power), i = quad_scale(im, power);
    sum[0] += y[0] * r - y[1] * i;
    sum[1] += y[0] * i + y[1] * r;
}

/* Does y, with y^T S A S = 0, show it? What is far below the largest of y is rounding. */
static int shows(const truth *t, const quad *y, const int *power, const double *b,
                 const double *x) {
    const double rounding = is_single(t->eq->scalar) ? 1e-4 : 1e-8;
    const size_t n = (size_t)t->eq->n;
    quad most = 0, size = 0, rest = 0, side[2] = {0, 0}, *row = must_alloc(2 * n, sizeof *row);
    for (size_t i = 0; i < n; i++) {
        const quad yi = quad_modulus(y[2 * i], y[2 * i + 1]);
        if (yi > most) most = yi;
    }
    for (size_t i = 0; i < n; i++) {
        if (quad_modulus(y[2 * i], y[2 * i + 1]) < (quad)1e-25 * most) continue;
        dot_add(side, y + 2 * i, b[2 * i], b[2 * i + 1], power[i]);
        size += quad_scale(quad_modulus(b[2 * i], b[2 * i + 1]), power[i]);
    }
    for (int64_t k = 0; k < t->count; k++) {
        const quad_entry *e = &t->whole[k];
        dot_add(row + 2 * e->j, y + 2 * e->i, e->re, e->im, power[e->i]);
    }
    for (size_t i = 0; i < n; i++)
        rest += quad_modulus(row[2 * i], row[2 * i + 1]) * quad_modulus(x[2 * i], x[2 * i + 1]);
    free(row);
    const quad off = quad_modulus(side[0], side[1]);
    return off > (quad)rounding * most * size && rest < off / 2;
}

int truth_contradicts(truth *t, int32_t r, const double *x) {
    const equations *eq = t->eq;
    const exact_rank *rank = truth_rank(t);
    const size_t n = (size_t)eq->n;
    int found = 0;
    if (rank->augmented[r] == rank->rank || eq->n > MOST_ROWS) return 0;
    int *power = must_alloc(n, sizeof *power);
    quad *y = quad_left_kernel(eq, rank->rank, power);
    for (int32_t v = 0; v < eq->n - rank->rank && !found; v++)
        found = shows(t, y + 2 * n * (size_t)v, power, eq->b + 2 * n * (size_t)r, x);
    free(y);
    free(power);
    return found;
}

int truth_singular(truth *t) {
    if (t->eq->known.there) return t->eq->known.zero > 0;
    if (has_inertia(t->eq) && truth_spectrum(t)->sure) return 0;
    return truth_rank(t)->rank < t->eq->n;
}

int truth_below_n(truth *t) {
    if (t->eq->known.there) return t->eq->known.zero > 0;
    return truth_rank(t)->rank < t->eq->n;
}

int truth_inconsistent(truth *t) {
    if (!truth_singular(t)) return 0;
    const exact_rank *rank = truth_rank(t);
    for (int32_t r = 0; r < t->eq->nrhs; r++)
        if (rank->augmented[r] > rank->rank) return 1;
    return 0;
}

double truth_condition(truth *t, int scaled) {
    if (t->eq->known.there == 2) return 1;
    if (t->eq->known.there && t->eq->n > KNOWN_ROWS) return INFINITY;
    if (truth_singular(t) || !truth_inverse(t)->found || !(t->inverse.scaled <= 1e24))
        return INFINITY;
    return scaled ? t->inverse.scaled : t->inverse.plain;
}
