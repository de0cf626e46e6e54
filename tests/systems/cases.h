/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems of one pattern for the tests of this folder: values by a family, changed a little for
 * each of them, in any layout. */
#ifndef TESTS_SYSTEMS_CASES_H
#define TESTS_SYSTEMS_CASES_H
#include "../support.h"

#include <stdbool.h>

typedef struct cases {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_options o;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    int32_t n, nrhs;
    int64_t nnz, count;
    size_t size;
    char *ax, *b, *x; /* by system: nnz, n nrhs entries each */
} cases;

static inline mpk_batch_array strided(void *data, int64_t stride, int32_t ld) {
    return (mpk_batch_array){MPK_BATCH_STRIDED, MPK_HOST, data, stride > 0 ? stride : 1, ld, 1};
}
static inline mpk_batch_array values_of(const cases *c) {
    return strided(c->ax, c->nnz, 1);
}
static inline mpk_batch_array b_of(const cases *c) {
    return strided(c->b, (int64_t)c->n * c->nrhs, c->n);
}
static inline mpk_batch_array x_of(const cases *c) {
    return strided(c->x, (int64_t)c->n * c->nrhs, c->n);
}

/* M = B diag(1, -1, ..) B^T of integers, of that rank at most. m [out] n x n */
static inline void integers(int n, int rank, int *m) {
    int *part = malloc((size_t)(n * n) * sizeof *part);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < rank; k++) part[i * n + k] = (int)floor(2.5 * uniform() + 0.5);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            m[i * n + j] = 0;
            for (int k = 0; k < rank; k++)
                m[i * n + j] += (k & 1 ? -1 : 1) * part[i * n + k] * part[j * n + k];
        }
    free(part);
}

/* Systems with the values of count such matrices, one after the other, and b = M (1, 2, ..); their
 * template is of the values of number `model`, changed on the diagonal. */
static inline cases cases_of_integers(int n, mpk_scalar scalar, int64_t count, const int *m,
                                      int model) {
    cases c = {.scalar = scalar,
               .symmetry = scalar == MPK_Z ? MPK_HERMITIAN : MPK_SYMMETRIC,
               .n = n,
               .nrhs = 1,
               .count = count};
    const int *of = m + model * n * n;
    dense a = dense_new(n, scalar, c.symmetry);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) dense_set(&a, i, j, of[i * n + j] ? of[i * n + j] : 0x1p-60);
    for (int i = 0; i < n; i++) dense_set(&a, i, i, of[i * n + i] + (uniform() < 0 ? -2 : 2));
    mpk_problem_view v;
    assert_int_equal(mpk_context_create(NULL, &c.ctx), MPK_OK);
    mpk_options_init(&c.o);
    c.o.method = MPK_METHOD_LDLT, c.o.threads = 1;
    c.size = mpk_scalar_size(scalar);
    c.problem = dense_problem(c.ctx, &a, 0);
    assert_false(mpk_failed(mpk_analyse(c.ctx, c.problem, &c.o, &c.an)));
    mpk_problem_view_get(c.problem, &v);
    c.nnz = v.nnz;
    c.ax = malloc((size_t)(count * c.nnz) * c.size);
    c.b = calloc((size_t)(count * n), c.size), c.x = calloc((size_t)(count * n), c.size);
    for (int64_t k = 0; k < count; k++)
        for (int j = 0; j < n; j++) {
            const int *row = m + (k * n + j) * n;
            for (int64_t e = v.ap[j]; e < v.ap[j + 1]; e++)
                scalar_store(scalar, c.ax, k * c.nnz + e, row[v.ai[e]]);
            int sum = 0;
            for (int i = 0; i < n; i++) sum += row[i] * (i + 1);
            scalar_store(scalar, c.b, k * n + j, sum);
        }
    free(a.a);
    return c;
}

static inline void change_values(cases *c, double spread) {
    mpk_problem_view v;
    mpk_problem_view_get(c->problem, &v);
    for (int64_t s = 0; s < c->count; s++)
        for (int64_t k = 0; k < c->nnz; k++)
            scalar_store(c->scalar, c->ax, s * c->nnz + k,
                         scalar_load(c->scalar, v.ax, k) * (1 + spread * uniform()));
}

static inline cases cases_make(const mpk_allocator *memory, enum support_family family, int n,
                               mpk_scalar scalar, mpk_symmetry symmetry, int64_t count,
                               int32_t nrhs, double spread) {
    cases c = {.scalar = scalar, .symmetry = symmetry, .n = n, .nrhs = nrhs, .count = count};
    mpk_problem_view v;
    c.size = mpk_scalar_size(scalar);
    assert_int_equal(mpk_context_create(memory, &c.ctx), MPK_OK);
    mpk_options_init(&c.o);
    c.o.method = MPK_METHOD_LDLT, c.o.threads = 2;
    dense m = family_matrix(family, n, scalar, symmetry);
    c.problem = dense_problem(c.ctx, &m, 0);
    assert_non_null(c.problem);
    assert_false(mpk_failed(mpk_analyse(c.ctx, c.problem, &c.o, &c.an)));
    mpk_problem_view_get(c.problem, &v);
    c.nnz = v.nnz;
    c.ax = malloc((size_t)(count * c.nnz) * c.size + 1);
    c.b = malloc((size_t)(count * n * nrhs) * c.size + 1);
    c.x = calloc((size_t)(count * n * nrhs) * c.size + 1, 1);
    change_values(&c, spread);
    for (int64_t k = 0; k < count * n * nrhs; k++)
        scalar_store(scalar, c.b, k, uniform() + uniform() * I);
    free(m.a);
    return c;
}

static inline void cases_free(cases *c) {
    mpk_analysis_destroy(&c->an);
    mpk_problem_destroy(&c->problem);
    mpk_context_destroy(&c->ctx);
    free(c->ax), free(c->b), free(c->x);
}

static inline mpk_systems *systems_of(const cases *c, int64_t count, int keep, int64_t expected) {
    mpk_systems_options how;
    mpk_systems *s = NULL;
    mpk_systems_options_init(&how);
    how.keep = keep, how.expected = expected;
    assert_int_equal(mpk_systems_create(c->ctx, c->an, &c->o, &how, count, &s), MPK_OK);
    return s;
}

static inline char *column(char *all, const cases *c, int64_t s) {
    return all + s * c->n * c->nrhs * (int64_t)c->size;
}

#endif
