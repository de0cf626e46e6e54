/* SPDX-License-Identifier: BSD-3-Clause */
/* 128 000 small systems of random patterns, kinds and spreads, some with NaN: each has the status,
 * the inertia and an error as small as it has by the single engine, and is finite. */
#include "cases.h"

enum { PATTERNS = 2000, EACH = 64 };

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {
    {MPK_D, MPK_SYMMETRIC}, {MPK_S, MPK_SYMMETRIC}, {MPK_Z, MPK_HERMITIAN}, {MPK_C, MPK_SYMMETRIC}};

/* Values over some decades. */
static void spread_values(cases *c, double decades) {
    for (int64_t k = 0; k < c->count * c->nnz; k++)
        scalar_store(c->scalar, c->ax, k,
                     scalar_load(c->scalar, c->ax, k) * pow(10, decades * uniform()));
}

static void test_many(void **unused) {
    int64_t by_template = 0, odd = 0;
    (void)unused;
    for (int p = 0; p < PATTERNS; p++) {
        const int n = 1 + (int)(20 * (1 + uniform())), kind = p % 4;
        const double decades = p % 5 == 0 ? 2 : p % 5 == 1 ? 0.5 : p % 5 == 2 ? 5 : 0;
        cases c = cases_make(NULL, (enum support_family)(p % FAMILY_COUNT), n, kinds[kind].scalar,
                             kinds[kind].symmetry, EACH, 1, 0.3);
        const bool counted = c.scalar <= MPK_D || c.symmetry == MPK_HERMITIAN;
        const double accuracy = 1e-14 * (c.size == 4 || c.scalar == MPK_C ? 0x1p29 : 1);
        if (decades > 0) spread_values(&c, decades);
        if (p % 7 == 0 && c.nnz > 0) scalar_store(c.scalar, c.ax, 3 * c.nnz, NAN);
        mpk_systems *s = systems_of(&c, EACH, p & 1, 0);
        mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        int32_t status[EACH], tier[EACH], certified[EACH];
        int64_t inertia[3 * EACH];
        double omega[EACH];
        const mpk_systems_results r = {.status = status,
                                       .tier = tier,
                                       .inertia = inertia,
                                       .certified = certified,
                                       .omega = omega};
        assert_false(
            mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r)));
        char *y = malloc((size_t)n * c.size);
        for (int k = 0; k < EACH; k++) {
            mpk_factor *fac = NULL;
            mpk_factor_info info;
            mpk_solve_info solved;
            mpk_certificate found;
            const void *values = c.ax + k * c.nnz * (int64_t)c.size;
            mpk_status one = mpk_factorize(c.ctx, c.an, values, &c.o, &fac);
            by_template += tier[k] == MPK_TIER_TEMPLATE;
            if (mpk_failed(one)) {
                assert_int_equal(status[k], one);
                continue;
            }
            one = mpk_solve(c.ctx, fac, 1, column(c.b, &c, k), n, y, n, &c.o, &solved);
            mpk_factor_info_get(fac, &info);
            assert_int_equal(mpk_certify(c.ctx, fac, &found), MPK_OK);
            assert_false(mpk_failed((mpk_status)status[k]));
            for (int i = 0; i < n; i++)
                assert_true(isfinite(creal(scalar_load(c.scalar, column(c.x, &c, k), i))));
            if (one == MPK_OK && status[k] == MPK_OK) assert_true(omega[k] <= accuracy);
            odd += status[k] != (int32_t)one;
            if (counted && certified[k] && found.certified)
                for (int q = 0; q < 3; q++)
                    assert_int_equal(inertia[3 * k + q], q == 0   ? info.inertia.positive
                                                         : q == 1 ? info.inertia.negative
                                                                  : info.inertia.zero);
            mpk_factor_destroy(&fac);
        }
        free(y);
        mpk_systems_destroy(&s);
        cases_free(&c);
    }
    print_message("%lld of %d by templates, %lld with another status\n", (long long)by_template,
                  PATTERNS * EACH, (long long)odd);
    assert_true(by_template > PATTERNS * EACH / 4);
    assert_true(odd <= PATTERNS * EACH / 10000); /* where pivots are at the level of rounding */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
