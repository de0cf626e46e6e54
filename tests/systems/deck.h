/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems of several patterns for the tests of objects that have them: groups of some orders and
 * kinds, dealt out in turn, and their solutions by an object of each group or the single engine. */
#ifndef TESTS_SYSTEMS_DECK_H
#define TESTS_SYSTEMS_DECK_H
#include "cases.h"

enum { GROUPS = 6, MOST = 40, SIDES = 2, NMOST = 60 };

/* Patterns of some orders and kinds, and the systems of each, dealt out in turn. */
typedef struct deck {
    mpk_context *ctx;
    mpk_device device;
    mpk_scalar scalar;
    cases group[GROUPS];
    int64_t count;
    int of[MOST], number[MOST]; /* a system's group, and its number there */
    const mpk_problem *problem[MOST];
    mpk_problem *own[MOST];
    void *ax[MOST], *b[MOST], *x[MOST];
    char *expected[MOST]; /* solutions */
} deck;

static const int64_t sizes[GROUPS] = {9, 1, 12, 1, 3, 8};

/* The problem of a group with the values of its number-th system. */
static inline mpk_problem *problem_of(mpk_context *ctx, cases *c, int64_t number) {
    mpk_problem_view v;
    mpk_problem *p = NULL;
    mpk_problem_view_get(c->problem, &v);
    assert_int_equal(mpk_problem_from_csc(ctx, c->n, c->scalar, c->symmetry,
                                          c->symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER, v.ap,
                                          v.ai, c->ax + number * c->nnz * (int64_t)c->size, &p),
                     MPK_OK);
    return p;
}

static inline deck deck_make(const mpk_allocator *memory, mpk_scalar scalar, double spread) {
    deck d = {.scalar = scalar};
    int64_t dealt[GROUPS] = {0};
    assert_int_equal(mpk_context_create(memory, &d.ctx), MPK_OK);
    for (int g = 0; g < GROUPS; g++)
        d.group[g] = cases_make(NULL, (enum support_family)(g % FAMILY_COUNT), 7 + 9 * g, scalar,
                                g == 3 || g == 4            ? MPK_GENERAL
                                : g == 2 && scalar >= MPK_C ? MPK_HERMITIAN
                                                            : MPK_SYMMETRIC,
                                sizes[g], SIDES, spread);
    for (bool more = true; more;) {
        more = false;
        for (int g = 0; g < GROUPS; g++) {
            if (dealt[g] == sizes[g]) continue;
            cases *c = &d.group[g];
            const int64_t b = d.count++, k = dealt[g]++;
            more = true;
            d.of[b] = g, d.number[b] = (int)k;
            d.problem[b] = d.own[b] = problem_of(d.ctx, c, k);
            d.ax[b] = c->ax + k * c->nnz * (int64_t)c->size;
            d.b[b] = column(c->b, c, k);
            d.x[b] = calloc(NMOST * SIDES, c->size);
            d.expected[b] = calloc((size_t)c->n * SIDES, c->size);
        }
    }
    return d;
}

static inline void deck_free(deck *d) {
    for (int64_t b = 0; b < d->count; b++) {
        mpk_problem_destroy(&d->own[b]);
        free(d->x[b]), free(d->expected[b]);
    }
    for (int g = 0; g < GROUPS; g++) cases_free(&d->group[g]);
    mpk_context_destroy(&d->ctx);
}

static inline mpk_batch_array listed(void **at, int32_t ld) {
    return (mpk_batch_array){.layout = MPK_BATCH_POINTERS, .data = at, .ld = ld};
}

/* By an object of each group, or by the single engine. */
static inline void expect(deck *d) {
    for (int64_t b = 0; b < d->count; b++) {
        cases *c = &d->group[d->of[b]];
        mpk_analysis *an = NULL;
        mpk_options o = c->o;
        o.threads = 1;
        mpk_problem *first = problem_of(c->ctx, c, 0); /* with whose values a pattern is analysed */
        assert_false(mpk_failed(mpk_analyse(c->ctx, first, &o, &an)));
        if (sizes[d->of[b]] == 1) {
            mpk_factor *fac = NULL;
            assert_false(mpk_failed(mpk_factorize(c->ctx, an, d->ax[b], &o, &fac)));
            assert_false(mpk_failed(
                mpk_solve(c->ctx, fac, SIDES, d->b[b], c->n, d->expected[b], c->n, &o, NULL)));
            mpk_factor_destroy(&fac);
        } else {
            mpk_systems *s = NULL;
            const mpk_batch_array ax = listed(&d->ax[b], 1), rhs = listed(&d->b[b], c->n);
            void *to = d->expected[b];
            const mpk_batch_array x = listed(&to, c->n);
            o.device = d->device;
            assert_int_equal(mpk_systems_create(c->ctx, an, &o, NULL, 1, &s), MPK_OK);
            assert_false(mpk_failed(
                mpk_systems_factorize_solve(c->ctx, s, &ax, SIDES, &rhs, &x, 0, NULL, NULL)));
            mpk_systems_destroy(&s);
        }
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&first);
    }
}

static inline void same(const deck *d, int64_t b, const void *x, int32_t ld) {
    const cases *c = &d->group[d->of[b]];
    for (int j = 0; j < SIDES; j++)
        assert_memory_equal(d->expected[b] + (size_t)(j * c->n) * c->size,
                            (const char *)x + (size_t)(j * ld) * c->size, (size_t)c->n * c->size);
}

/* b with columns ld apart. */
static inline void **apart(const deck *d, int32_t ld) {
    void **at = malloc((size_t)d->count * sizeof *at);
    for (int64_t b = 0; b < d->count; b++) {
        const cases *c = &d->group[d->of[b]];
        at[b] = calloc((size_t)ld * SIDES, c->size);
        for (int j = 0; j < SIDES; j++)
            memcpy((char *)at[b] + (size_t)(j * ld) * c->size,
                   (const char *)d->b[b] + (size_t)(j * c->n) * c->size, (size_t)c->n * c->size);
    }
    return at;
}

static inline void free_all(void **at, int64_t count) {
    for (int64_t b = 0; b < count; b++) free(at[b]);
    free(at);
}

static inline mpk_systems *create(const deck *d, int threads, int keep) {
    mpk_systems *s = NULL;
    mpk_systems_options how;
    mpk_options o;
    mpk_options_init(&o);
    o.threads = threads;
    o.device = d->device;
    mpk_systems_options_init(&how);
    how.keep = keep;
    assert_int_equal(mpk_systems_create_mixed(d->ctx, d->count, d->problem, &o, &how, &s), MPK_OK);
    return s;
}

#endif
