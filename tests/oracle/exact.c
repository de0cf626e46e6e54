/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank and consistency without rounding: elimination modulo a prime of 61 bits. */
#include "exact.h"
#include "field.h"

#include <string.h>

/* Primes 4 q + 1 with q prime, of which 2 is a primitive root: so no two powers of two in the range
 * of doubles are congruent (modulo the Mersenne prime, 1 and 2^61 are). root^2 = -1. */
static const field fields[] = {{UINT64_C(0x23c87c73c59d3cdd), UINT64_C(0x55b54d5ed60e514)},
                               {UINT64_C(0x2bbc51f762b0ce85), UINT64_C(0x1505a5aee6f1f286)}};

/* (A, B) by rows: n x (n + nrhs) residues. */
static uint64_t *augmented(const field *f, const equations *eq) {
    const size_t width = (size_t)(eq->n + eq->nrhs);
    uint64_t *a = must_alloc((size_t)eq->n * width, sizeof *a);
    int64_t count;
    quad_entry *all = equations_whole(eq, &count);
    for (int64_t k = 0; k < count; k++)
        a[(size_t)all[k].i * width + (size_t)all[k].j] = image(f, all[k].re, all[k].im);
    free(all);
    for (int32_t r = 0; r < eq->nrhs; r++)
        for (int32_t i = 0; i < eq->n; i++) {
            const double *b = eq->b + 2 * ((size_t)r * (size_t)eq->n + (size_t)i);
            a[(size_t)i * width + (size_t)(eq->n + r)] = image(f, b[0], b[1]);
        }
    return a;
}

static void swap_rows(uint64_t *a, size_t width, int32_t i, int32_t j) {
    for (size_t k = 0; i != j && k < width; k++) {
        const uint64_t t = a[(size_t)i * width + k];
        a[(size_t)i * width + k] = a[(size_t)j * width + k];
        a[(size_t)j * width + k] = t;
    }
}

/* Gaussian elimination; afterwards the rows from *rank on are zero in A's columns. */
static int32_t eliminate(const field *f, uint64_t *a, int32_t n, size_t width) {
    int32_t rank = 0;
    for (int32_t j = 0; j < n && rank < n; j++) {
        int32_t pivot = rank;
        while (pivot < n && a[(size_t)pivot * width + (size_t)j] == 0) pivot++;
        if (pivot == n) continue;
        swap_rows(a, width, pivot, rank);
        const uint64_t *top = a + (size_t)rank * width;
        const uint64_t over = inverse(f, top[j]);
        for (int32_t i = rank + 1; i < n; i++) {
            uint64_t *row = a + (size_t)i * width;
            if (row[j] == 0) continue;
            const uint64_t factor = times(f, row[j], over);
            for (size_t k = (size_t)j; k < width; k++)
                if (top[k]) row[k] = minus(f, row[k], times(f, factor, top[k]));
        }
        rank++;
    }
    return rank;
}

static void rank_in(const field *f, const equations *eq, exact_rank *best) {
    const size_t width = (size_t)(eq->n + eq->nrhs);
    uint64_t *a = augmented(f, eq);
    const int32_t rank = eliminate(f, a, eq->n, width);
    for (int32_t r = 0; r < eq->nrhs; r++) {
        int32_t with = rank;
        for (int32_t i = rank; i < eq->n; i++)
            if (a[(size_t)i * width + (size_t)(eq->n + r)]) with = rank + 1;
        if (rank > best->rank || with > best->augmented[r]) best->augmented[r] = with;
    }
    if (rank > best->rank) best->rank = rank;
    free(a);
}

exact_rank exact_rank_of(const equations *eq) {
    exact_rank best = {0};
    best.augmented = must_alloc((size_t)eq->nrhs, sizeof *best.augmented);
    for (int k = 0; k < 2 && best.rank < eq->n; k++) rank_in(&fields[k], eq, &best);
    return best;
}

void exact_rank_free(exact_rank *rank) {
    free(rank->augmented);
    *rank = (exact_rank){0};
}
