/* SPDX-License-Identifier: BSD-3-Clause */
#include "truth.h"

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
    if (!t->have_spectrum) t->spectrum = spectrum_of(t->eq);
    t->have_spectrum = 1;
    return &t->spectrum;
}

const quad_inverse *truth_inverse(truth *t) {
    if (!t->have_inverse) t->inverse = quad_inverse_of(t->eq);
    t->have_inverse = 1;
    return &t->inverse;
}

int truth_singular(truth *t) {
    if (has_inertia(t->eq) && truth_spectrum(t)->sure) return 0;
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
    if (truth_singular(t) || !truth_inverse(t)->found || !(t->inverse.scaled <= 1e24))
        return INFINITY;
    return scaled ? t->inverse.scaled : t->inverse.plain;
}
