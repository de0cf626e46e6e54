/* SPDX-License-Identifier: BSD-3-Clause */
/* Many small systems of random patterns, kinds and spreads, some with NaN: each has the status, the
 * inertia and an error as small as it has by the single engine, and is finite; one of each pattern
 * has the bits that it has alone. */
#ifndef TESTS_SYSTEMS_MANY_H
#define TESTS_SYSTEMS_MANY_H
#include "cases.h"

#ifndef MANY_EACH /* systems of each pattern */
#define MANY_EACH 64
#endif

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} many_kinds[] = {
    {MPK_D, MPK_SYMMETRIC}, {MPK_S, MPK_SYMMETRIC}, {MPK_Z, MPK_HERMITIAN}, {MPK_C, MPK_SYMMETRIC}};

typedef struct many_tally {
    int64_t systems, by_template, odd; /* odd: with another status than the single engine's */
} many_tally;

/* Values over some decades. */
static inline void spread_values(cases *c, double decades) {
    for (int64_t k = 0; k < c->count * c->nnz; k++)
        scalar_store(c->scalar, c->ax, k,
                     scalar_load(c->scalar, c->ax, k) * pow(10, decades * uniform()));
}

/* ||b - A x|| / (||A|| ||x|| + ||b||) in the maximum norm, by no means of the library's. */
static inline double error_of(const cases *c, int64_t k) {
    mpk_problem_view v;
    mpk_problem_view_get(c->problem, &v);
    const char *x = c->x + k * c->n * (int64_t)c->size, *b = c->b + k * c->n * (int64_t)c->size;
    double complex r[64];
    double row[64] = {0}, of_a = 0, of_x = 0, of_b = 0, worst = 0;
    for (int i = 0; i < c->n; i++) {
        r[i] = scalar_load(c->scalar, b, i);
        of_b = fmax(of_b, cabs(r[i])), of_x = fmax(of_x, cabs(scalar_load(c->scalar, x, i)));
    }
    for (int j = 0; j < c->n; j++)
        for (int64_t e = v.ap[j]; e < v.ap[j + 1]; e++) {
            const int i = v.ai[e];
            double complex a = scalar_load(c->scalar, c->ax, k * c->nnz + e);
            if (i == j && c->symmetry == MPK_HERMITIAN) a = creal(a);
            const double complex turned = c->symmetry == MPK_HERMITIAN ? conj(a) : a;
            r[i] -= a * scalar_load(c->scalar, x, j), row[i] += cabs(a);
            if (i == j) continue;
            r[j] -= turned * scalar_load(c->scalar, x, i), row[j] += cabs(a);
        }
    for (int i = 0; i < c->n; i++) of_a = fmax(of_a, row[i]), worst = fmax(worst, cabs(r[i]));
    return worst > 0 ? worst / (of_a * of_x + of_b) : 0;
}

/* A system beside the single engine. */
static inline void judge(const cases *c, int64_t k, int32_t status, const int64_t *inertia,
                         bool certified, double omega, void *y, many_tally *tally) {
    const bool counted = c->scalar <= MPK_D || c->symmetry == MPK_HERMITIAN;
    const double single = c->size == 4 || c->scalar == MPK_C ? 0x1p29 : 1;
    mpk_options o = c->o;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_solve_info solved;
    mpk_certificate found;
    o.device = MPK_ON_CPU;
    mpk_status one = mpk_factorize(c->ctx, c->an, c->ax + k * c->nnz * (int64_t)c->size, &o, &fac);
    tally->systems++;
    if (mpk_failed(one)) {
        assert_int_equal(status, one);
        return;
    }
    one = mpk_solve(c->ctx, fac, 1, column(c->b, c, k), c->n, y, c->n, &o, &solved);
    mpk_factor_info_get(fac, &info);
    assert_int_equal(mpk_certify(c->ctx, fac, &found), MPK_OK);
    assert_false(mpk_failed((mpk_status)status));
    for (int i = 0; i < c->n; i++) {
        const double complex x = scalar_load(c->scalar, column(c->x, c, k), i);
        assert_true(isfinite(creal(x)) && isfinite(cimag(x)));
    }
    if (one == MPK_OK && status == MPK_OK) {
        assert_true(omega <= 1e-14 * single);
        assert_true(error_of(c, k) <= 1e-14 * single);
    }
    tally->odd += status != (int32_t)one;
    if (counted && certified && found.certified)
        for (int q = 0; q < 3; q++)
            assert_int_equal(inertia[q], q == 0   ? info.inertia.positive
                                         : q == 1 ? info.inertia.negative
                                                  : info.inertia.zero);
    mpk_factor_destroy(&fac);
}

/* The same system in an object of its own. */
static inline void alone(const cases *c, int64_t k, int32_t status, int32_t tier, double omega) {
    mpk_systems *s = systems_of(c, 1, 1, 0);
    char *x = calloc((size_t)c->n + 1, c->size);
    const mpk_batch_array ax = strided(c->ax + k * c->nnz * (int64_t)c->size, c->nnz, 1),
                          b = strided(column(c->b, c, k), c->n, c->n), to = strided(x, c->n, c->n);
    int32_t own_status, own_tier, certified;
    double own_omega;
    const mpk_systems_results r = {
        .status = &own_status, .tier = &own_tier, .certified = &certified, .omega = &own_omega};
    const mpk_status all = mpk_systems_factorize_solve(c->ctx, s, &ax, 1, &b, &to, 0, NULL, &r);
    assert_true(!mpk_failed(all) || all == MPK_PARTIAL);
    assert_int_equal(own_status, status);
    assert_int_equal(own_tier, tier);
    if (!mpk_failed((mpk_status)status)) {
        assert_memory_equal(x, column((char *)c->x, c, k), (size_t)c->n * c->size);
        assert_memory_equal(&own_omega, &omega, sizeof omega);
    }
    free(x);
    mpk_systems_destroy(&s);
}

/* Number p of the patterns, with MANY_EACH systems. */
static inline void many_of_pattern(int p, mpk_device device, many_tally *tally) {
    const int n = 1 + (int)(20 * (1 + uniform())), kind = p % 4;
    const double decades = p % 5 == 0 ? 2 : p % 5 == 1 ? 0.5 : p % 5 == 2 ? 5 : 0;
    cases c = cases_make(NULL, (enum support_family)(p % FAMILY_COUNT), n, many_kinds[kind].scalar,
                         many_kinds[kind].symmetry, MANY_EACH, 1, 0.3);
    c.o.device = device;
    if (decades > 0) spread_values(&c, decades);
    if (p % 7 == 0 && c.nnz > 0) scalar_store(c.scalar, c.ax, 3 * c.nnz, NAN);
    mpk_systems *s = systems_of(&c, MANY_EACH, p & 1, 0);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    int32_t status[MANY_EACH], tier[MANY_EACH], certified[MANY_EACH];
    int64_t inertia[3 * MANY_EACH];
    double omega[MANY_EACH];
    const mpk_systems_results r = {
        .status = status, .tier = tier, .inertia = inertia, .certified = certified, .omega = omega};
    const mpk_status all = mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r);
    assert_true(!mpk_failed(all) || all == MPK_PARTIAL);
    char *y = malloc((size_t)n * c.size);
    for (int k = 0; k < MANY_EACH; k++) {
        tally->by_template += tier[k] == MPK_TIER_TEMPLATE;
        judge(&c, k, status[k], inertia + 3 * k, certified[k], omega[k], y, tally);
    }
    const int one = p % 7 == 0 ? 3 : p % MANY_EACH;
    alone(&c, one, status[one], tier[one], omega[one]);
    free(y);
    mpk_systems_destroy(&s);
    cases_free(&c);
}

/* METAPACK_TEST_MANY: so many patterns instead. */
static inline int many_patterns(int usual) {
    const char *text = getenv("METAPACK_TEST_MANY");
    return text ? atoi(text) : usual;
}

static inline void many(mpk_device device, int patterns) {
    many_tally tally = {0};
    for (int p = 0; p < patterns; p++) many_of_pattern(p, device, &tally);
    print_message("%lld of %lld by templates, %lld with another status\n",
                  (long long)tally.by_template, (long long)tally.systems, (long long)tally.odd);
    assert_true(tally.by_template > tally.systems / 4);
    assert_true(tally.odd <= tally.systems / 10000); /* where pivots are at the level of rounding */
}

#endif
