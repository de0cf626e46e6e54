/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_BLOCK_CASES_H
#define TEST_BLOCK_CASES_H
/* Block patterns, dense: entry[i * n + j] of the lower triangle, places = frames in order. */
#include "../context.h"
#include "analysis/schedule/schedule.h"

/* Dense to columns. */
static inline mpki_pattern columns_of(const pattern *p) {
    mpki_pattern c = {.m = p->n};
    int64_t nnz = 0;
    c.ptr = MPKI_NEW(ctx, "test", (int64_t)p->n + 1, int64_t);
    c.row = MPKI_NEW(ctx, "test", (int64_t)p->n * (p->n + 1) / 2, int32_t);
    c.ptr[0] = 0;
    for (int32_t j = 0; j < p->n; j++) {
        for (int32_t i = j; i < p->n; i++)
            if (i == j || p->entry[(size_t)i * p->n + j]) c.row[nnz++] = i;
        c.ptr[j + 1] = nnz;
    }
    return c;
}

/* Columns to dense, checking their form. */
static inline pattern dense_of(const mpki_pattern *c) {
    pattern p = pattern_new(c->m);
    assert_int_equal(c->ptr[0], 0);
    for (int32_t j = 0; j < c->m; j++) {
        assert_true(c->ptr[j + 1] > c->ptr[j]);
        assert_int_equal(c->row[c->ptr[j]], j);
        for (int64_t k = c->ptr[j]; k < c->ptr[j + 1]; k++) {
            assert_true(c->row[k] < c->m);
            if (k > c->ptr[j]) assert_true(c->row[k] > c->row[k - 1]);
            pattern_set(&p, c->row[k], j);
        }
    }
    return p;
}

static inline bool has(const pattern *p, int32_t i, int32_t j) {
    return p->entry[(size_t)i * p->n + j] != 0;
}

static inline void assert_same_pattern(const pattern *a, const pattern *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->entry, b->entry, (size_t)a->n * a->n + 1);
}

/* Level of each entry of ILU by the sum rule, up to `level`; -1 for none. The lower triangle is
 * what it is of: lev(i, j) = min over k < j of lev(i, k) + lev(j, k) + 1. */
static inline int *levels_by_rule(const pattern *p, int level, bool maximum) {
    int32_t n = p->n;
    int *lev = malloc(((size_t)n * n + 1) * sizeof *lev);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) lev[(size_t)i * n + j] = i == j || has(p, i, j) ? 0 : -1;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = k + 1; i < n; i++)
            for (int32_t j = k + 1; j < n; j++) {
                int a = lev[(size_t)i * n + k], b = lev[(size_t)j * n + k];
                int *c = &lev[(size_t)i * n + j];
                const int l = 1 + (!maximum ? a + b : a > b ? a : b);
                if (a < 0 || b < 0 || (level >= 0 && l > level)) continue;
                if (*c < 0 || l < *c) *c = l;
            }
    return lev;
}

static inline int *levels_by_sums(const pattern *p, int level) {
    return levels_by_rule(p, level, false);
}

/* Random patterns of the kinds that differ: sparse, denser, banded, arrow, grid. */
static inline pattern pattern_kind(int kind, int32_t n) {
    pattern p = kind == 0   ? pattern_random(n, n, 100)
                : kind == 1 ? pattern_random(n, 3 * n, 100)
                            : pattern_new(n);
    for (int32_t i = 0; i < n; i++) {
        pattern_set(&p, i, i);
        if (kind == 2 && i > 0) pattern_set(&p, i, i - 1);
        if (kind == 2 && i > 2) pattern_set(&p, i, i - 3);
        if (kind == 3) pattern_set(&p, n - 1, i), pattern_set(&p, i, i / 2);
        if (kind == 4 && i % 5) pattern_set(&p, i, i - 1);
        if (kind == 4 && i >= 5) pattern_set(&p, i, i - 5);
    }
    return p;
}
enum { KINDS = 5 };

/* An index over the pattern filled to a level. */
static inline mpki_ibcsr index_of(const pattern *p, int level) {
    mpki_pattern a = columns_of(p), filled;
    mpki_ibcsr x;
    assert_int_equal(mpki_pattern_fill(ctx, &a, level, 1, 0, &filled), MPK_OK);
    assert_int_equal(mpki_ibcsr_make(ctx, &filled, &x), MPK_OK);
    assert_int_equal(mpki_ibcsr_check(ctx, &x), MPK_OK);
    mpki_pattern_free(ctx, &a);
    mpki_pattern_free(ctx, &filled);
    return x;
}

/* k frames of the last `last` places, in random order, none twice. */
static inline int32_t random_frames(const mpki_ibcsr *x, int32_t last, int percent, int32_t *out) {
    int32_t count = 0;
    for (int32_t p = x->m - last; p < x->m; p++)
        if (random_below(100) < percent) out[count++] = x->frame[p];
    for (int32_t k = count - 1; k > 0; k--) {
        int32_t j = random_below(k + 1), t = out[k];
        out[k] = out[j];
        out[j] = t;
    }
    return count;
}

/* block[i * m + j] = number of the block of frames i and j, -1 for none */
static inline int64_t *block_table(const mpki_ibcsr *x) {
    int64_t *table = malloc(((size_t)x->m * x->m + 1) * sizeof *table);
    for (int64_t k = 0; k < (int64_t)x->m * x->m; k++) table[k] = -1;
    for (int32_t f = 0; f < x->m; f++)
        for (int64_t e = x->ptr[f]; e < x->ptr[f + 1]; e++)
            table[(size_t)f * x->m + x->entry[e].other] = x->entry[e].block;
    return table;
}

#endif
