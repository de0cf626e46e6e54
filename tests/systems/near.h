/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems whose pivots are small and no rounding, and which number a system is refused for: on the
 * processor and on a device. */
#ifndef TESTS_SYSTEMS_NEAR_H
#define TESTS_SYSTEMS_NEAR_H
#include "../support.h"

#include <stdbool.h>

typedef struct batch {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_problem_view v;
    int32_t count;
    mpk_device device;
    double *ax, *b, *x;
    int32_t *status, *tier, *certified;
    int64_t *inertia;
    double *omega;
} batch;

/* `count` systems with the values of m, whose b is A 1 of the first. */
static inline batch batch_make(const dense *m, int32_t count, mpk_device device) {
    batch t = {.count = count, .device = device};
    assert_int_equal(mpk_context_create(NULL, &t.ctx), MPK_OK);
    t.problem = dense_problem(t.ctx, m, 0);
    mpk_problem_view_get(t.problem, &t.v);
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.ordering = MPK_ORDERING_GIVEN;
    int32_t *order = malloc((size_t)m->n * sizeof *order);
    for (int32_t i = 0; i < m->n; i++) order[i] = i;
    o.given_perm = order;
    assert_int_equal(mpk_analyse(t.ctx, t.problem, &o, &t.an), MPK_OK);
    free(order);
    const size_t all = (size_t)count;
    t.ax = malloc(all * (size_t)t.v.nnz * sizeof *t.ax);
    t.b = malloc(all * (size_t)t.v.n * sizeof *t.b);
    t.x = calloc(all * (size_t)t.v.n, sizeof *t.x);
    t.status = calloc(all, 4), t.tier = calloc(all, 4), t.certified = calloc(all, 4);
    t.inertia = calloc(all, 24), t.omega = calloc(all, 8);
    for (int32_t k = 0; k < count; k++) {
        memcpy(t.ax + k * t.v.nnz, t.v.ax, (size_t)t.v.nnz * 8);
        for (int32_t i = 0; i < t.v.n; i++) t.b[k * t.v.n + i] = 1 + i % 3;
    }
    return t;
}

static inline void batch_free(batch *t) {
    mpk_analysis_destroy(&t->an);
    mpk_problem_destroy(&t->problem);
    mpk_context_destroy(&t->ctx);
    free(t->ax), free(t->b), free(t->x), free(t->status), free(t->tier), free(t->certified);
    free(t->inertia), free(t->omega);
}

/* Entry (i, j), i >= j, of system k. */
static inline double *value(const batch *t, int32_t k, int i, int j) {
    int64_t e = t->v.ap[j];
    while (t->v.ai[e] != i) e++;
    assert_true(e < t->v.ap[j + 1]);
    return t->ax + k * t->v.nnz + e;
}

static inline mpk_status run(batch *t, bool certify, mpk_systems **keep) {
    mpk_options o;
    mpk_options_init(&o);
    o.threads = 1;
    o.device = t->device;
    mpk_systems *s = NULL;
    assert_int_equal(mpk_systems_create(t->ctx, t->an, &o, NULL, t->count, &s), MPK_OK);
    const mpk_batch_array ax = {MPK_BATCH_STRIDED, MPK_HOST, t->ax, t->v.nnz, 1, 1},
                          b = {MPK_BATCH_STRIDED, MPK_HOST, t->b, t->v.n, t->v.n, 1},
                          x = {MPK_BATCH_STRIDED, MPK_HOST, t->x, t->v.n, t->v.n, 1};
    const mpk_systems_results r = {.status = t->status,
                                   .tier = t->tier,
                                   .certified = certify ? t->certified : NULL,
                                   .inertia = t->inertia,
                                   .omega = t->omega};
    const mpk_status status = mpk_systems_factorize_solve(t->ctx, s, &ax, 1, &b, &x, 0, NULL, &r);
    if (keep)
        *keep = s;
    else
        mpk_systems_destroy(&s);
    return status;
}

/* Pairs [1, 1; 1, 1 + d] on a path: of the analysed matrix d is 1/2, of the others it goes down to
 * what is near rounding, and is 0 in the last: only that one is singular. */
static inline void small_pivots(mpk_device device) {
    enum { PAIRS = 20, COUNT = 21 };
    for (int certify = 0; certify < 2; certify++) {
        dense m = dense_new(2 * PAIRS, MPK_D, MPK_SYMMETRIC);
        for (int p = 0; p < PAIRS; p++) {
            dense_set(&m, 2 * p, 2 * p, 1);
            dense_set(&m, 2 * p + 1, 2 * p, 1);
            dense_set(&m, 2 * p + 1, 2 * p + 1, p % 2 ? 1.5 : 0.5);
            if (p > 0) dense_set(&m, 2 * p, 2 * p - 1, 0x1p-40);
        }
        batch t = batch_make(&m, COUNT, device);
        for (int32_t k = 1; k < COUNT; k++)
            *value(&t, k, 11, 10 + 1) = 1 + (k + 1 < COUNT ? ldexp(1, -(34 + k / 2)) : 0);
        assert_int_equal(run(&t, certify, NULL), MPK_SINGULAR);
        for (int32_t k = 0; k + 1 < COUNT; k++) {
            assert_int_equal(t.status[k], MPK_OK);
            assert_int_equal(t.tier[k], MPK_TIER_TEMPLATE);
            assert_true(t.omega[k] <= 1e-14);
            assert_int_equal(t.inertia[3 * k], 30);
            assert_int_equal(t.inertia[3 * k + 1], 10);
            if (certify) assert_true(t.certified[k]);
        }
        assert_int_equal(t.status[COUNT - 1], MPK_SINGULAR);
        assert_int_equal(t.tier[COUNT - 1], MPK_TIER_SINGLE);
        batch_free(&t);
        free(m.a);
    }
}

/* A value that is not finite, an entry of b, and none. */
static inline void refused(mpk_device device) {
    enum { N = 12, COUNT = 5 };
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) {
        dense_set(&m, i, i, 4);
        if (i > 0) dense_set(&m, i, i - 1, 1);
    }
    batch t = batch_make(&m, COUNT, device);
    mpk_systems *s = NULL;
    mpk_systems_refusal why;
    const char *text = NULL;
    int64_t number = -1;
    *value(&t, 1, 7, 6) = INFINITY;
    t.b[3 * N + 5] = NAN;
    assert_int_equal(run(&t, false, &s), MPK_PARTIAL);
    mpk_last_error(t.ctx, NULL, &number, &text);
    assert_int_equal(number, 1);
    assert_non_null(
        strstr(text, "number 1 the first of them: value 13: row 7, column 6 is NaN or"));
    assert_int_equal(mpk_systems_refused(t.ctx, s, 1, &why), MPK_OK);
    assert_int_equal(why.what, MPK_REFUSED_VALUE);
    assert_int_equal(why.entry, 13);
    assert_int_equal(why.row, 7);
    assert_int_equal(why.column, 6);
    assert_int_equal(mpk_systems_refused(t.ctx, s, 3, &why), MPK_OK);
    assert_int_equal(why.what, MPK_REFUSED_SIDE);
    assert_int_equal(why.row, 5);
    assert_int_equal(why.column, 0);
    assert_int_equal(mpk_systems_refused(t.ctx, s, 0, &why), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_refused(t.ctx, s, COUNT, &why), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_refused(t.ctx, s, 1, NULL), MPK_ERR_ARGUMENT);
    /* a solve has no factors of it, for the same reason */
    const mpk_batch_array b = {MPK_BATCH_STRIDED, MPK_HOST, t.b, N, N, 1},
                          x = {MPK_BATCH_STRIDED, MPK_HOST, t.x, N, N, 1};
    t.b[3 * N + 5] = 1;
    assert_int_equal(mpk_systems_solve(t.ctx, s, 1, &b, &x, 0, NULL, NULL), MPK_PARTIAL);
    assert_int_equal(mpk_systems_refused(t.ctx, s, 1, &why), MPK_OK);
    assert_int_equal(why.entry, 13);
    assert_int_equal(mpk_systems_refused(t.ctx, s, 3, &why), MPK_ERR_ARGUMENT);
    mpk_systems_destroy(&s);
    batch_free(&t);
    free(m.a);
}

#endif
