/* SPDX-License-Identifier: BSD-3-Clause */
/* The truth about a system, computed when it is first asked for. */
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
