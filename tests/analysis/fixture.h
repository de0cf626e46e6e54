/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ANALYSIS_FIXTURE_H
#define TEST_ANALYSIS_FIXTURE_H
/* Small matrices, an allocator that fails on demand, and elimination by brute force. */
#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/symbolic/symbolic.h"
#include "core/random.h"

/* ---- memory that fails at the k-th request --------------------------------------------------- */

typedef struct failing {
    _Atomic long countdown; /* requests before the failure; negative: never */
    _Atomic long held;      /* blocks not yet released */
} failing;

static void *failing_alloc(void *user, size_t size) {
    failing *f = user;
    long left = f->countdown;
    while (left > 0 && !atomic_compare_exchange_weak(&f->countdown, &left, left - 1)) {}
    if (left == 0) return NULL;
    void *ptr = aligned_alloc(64, (size + 63) / 64 * 64);
    f->held += ptr != NULL;
    return ptr;
}

static void failing_release(void *user, void *ptr, size_t size) {
    failing *f = user;
    (void)size;
    f->held--;
    free(ptr);
}

/* ---- random numbers that are the same everywhere --------------------------------------------- */

static uint64_t random_state = 1;
static uint32_t random_u32(void) {
    return (uint32_t)(mpki_random_next(&random_state) >> 33);
}
static int32_t random_below(int32_t n) {
    return (int32_t)(random_u32() % (uint32_t)n);
}

/* ---- matrices: a dense pattern turned into a problem ----------------------------------------- */

typedef struct pattern {
    int32_t n;
    char *entry; /* n x n, symmetric: entry[i * n + j] = 1 where a_ij is stored */
} pattern;

static inline pattern pattern_new(int32_t n) {
    return (pattern){n, calloc((size_t)n * n + 1, 1)};
}
static inline void pattern_set(pattern *p, int32_t i, int32_t j) {
    p->entry[(size_t)i * p->n + j] = p->entry[(size_t)j * p->n + i] = 1;
}
static inline pattern pattern_random(int32_t n, int32_t edges, int diagonal_percent) {
    pattern p = pattern_new(n);
    for (int32_t k = 0; n > 0 && k < edges; k++) pattern_set(&p, random_below(n), random_below(n));
    for (int32_t i = 0; i < n; i++) {
        p.entry[(size_t)i * n + i] = 0;
        if (random_below(100) < diagonal_percent) pattern_set(&p, i, i);
    }
    return p;
}
static inline pattern pattern_grid(int32_t nx, int32_t ny) {
    pattern p = pattern_new(nx * ny);
    for (int32_t y = 0; y < ny; y++)
        for (int32_t x = 0; x < nx; x++) {
            pattern_set(&p, y * nx + x, y * nx + x);
            if (x) pattern_set(&p, y * nx + x, y * nx + x - 1);
            if (y) pattern_set(&p, y * nx + x, y * nx - nx + x);
        }
    return p;
}

/* values: 1 + place, so that each differs; diagonal large. In a context of its own, so that the
 * allocations counted are those of the analysis, and so that patterns go from one context to
 * another. */
static inline mpk_problem *problem_new(const pattern *p, mpk_scalar scalar, mpk_symmetry symmetry) {
    static mpk_context *apart; /* until the end of the program */
    mpk_problem *a = NULL;
    int32_t *rows = calloc((size_t)p->n * p->n + 1, sizeof *rows);
    int32_t *cols = calloc((size_t)p->n * p->n + 1, sizeof *cols);
    void *values = calloc((size_t)p->n * p->n + 1, 16);
    int64_t nnz = 0;
    if (!apart) assert_int_equal(mpk_context_create(NULL, &apart), MPK_OK);
    for (int32_t j = 0; j < p->n; j++)
        for (int32_t i = j; i < p->n; i++) {
            if (!p->entry[(size_t)i * p->n + j]) continue;
            rows[nnz] = i;
            cols[nnz] = j;
            double x = i == j ? 10.0 * p->n : 1 + (double)(nnz % 7);
            if (scalar == MPK_S) ((float *)values)[nnz] = (float)x;
            if (scalar == MPK_D) ((double *)values)[nnz] = x;
            if (scalar == MPK_C) ((float *)values)[2 * nnz] = (float)x;
            if (scalar == MPK_Z) ((double *)values)[2 * nnz] = x;
            nnz++;
        }
    assert_int_equal(mpk_problem_from_triplets(apart, p->n, scalar, symmetry, MPK_LOWER, nnz, rows,
                                               cols, values, &a),
                     MPK_OK);
    free(rows);
    free(cols);
    free(values);
    return a;
}

/* A random permutation. */
static inline int32_t *random_perm(int32_t n) {
    int32_t *perm = malloc(((size_t)n + 1) * sizeof *perm);
    for (int32_t k = 0; k < n; k++) perm[k] = k;
    for (int32_t k = n - 1; k > 0; k--) {
        int32_t j = random_below(k + 1), x = perm[k];
        perm[k] = perm[j];
        perm[j] = x;
    }
    return perm;
}

static inline void problem_free(mpk_problem **a) {
    mpk_problem_destroy(a);
}

/* ---- elimination by brute force -------------------------------------------------------------- */

/* filled (n x n, by position): the pattern of L; returns its entries with the diagonal, *flops. */
static inline int64_t eliminate(const pattern *p, const int32_t *perm, char *filled,
                                double *flops) {
    int32_t n = p->n;
    int64_t nnz = 0;
    *flops = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            filled[(size_t)i * n + j] = i == j || p->entry[(size_t)perm[i] * n + perm[j]];
    for (int32_t k = 0; k < n; k++) {
        double l = 0;
        for (int32_t i = k + 1; i < n; i++) {
            if (!filled[(size_t)i * n + k]) continue;
            l++;
            for (int32_t j = k + 1; j <= i; j++)
                if (filled[(size_t)j * n + k]) filled[(size_t)i * n + j] = 1;
        }
        nnz += (int64_t)l + 1;
        *flops += l + l * (l + 1);
    }
    return nnz;
}

static inline bool is_permutation(int32_t n, const int32_t *perm) {
    char *seen = calloc((size_t)n + 1, 1);
    bool good = true;
    for (int32_t k = 0; k < n; k++) {
        good = good && perm[k] >= 0 && perm[k] < n && !seen[perm[k]];
        if (good) seen[perm[k]] = 1;
    }
    free(seen);
    return good;
}

#endif
