/* SPDX-License-Identifier: BSD-3-Clause */
/* Random systems on a device are judged as alone: singular ones among regular ones of their
 * pattern, whose pivots rounding makes; and no certificate is wrong. */
#include "device_systems.h"

enum { PATTERNS = 160, MOST = 14, COUNT = 6 };

static void test_singular(void **unused) {
    static const mpk_scalar scalars[] = {MPK_D, MPK_S, MPK_Z, MPK_C};
    int seen = 0, singular = 0, certain = 0, missed = 0;
    (void)unused;
    for (int p = 0; p < PATTERNS; p++) {
        const int n = 3 + p % (MOST - 2);
        const mpk_scalar scalar = scalars[p % 4];
        int m[COUNT * MOST * MOST];
        for (int k = 0; k < COUNT; k++)
            integers(n, k % 2 ? n : n - 1 - (p % 3 == 0), m + k * n * n);
        cases c = cases_of_integers(n, scalar, COUNT, m, 1);
        mpk_systems *s = NULL;
        c.o.device = MPK_ON_CUDA;
        const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        int32_t status[COUNT], certified[COUNT];
        int64_t inertia[3 * COUNT];
        const mpk_systems_results r = {
            .status = status, .certified = certified, .inertia = inertia};
        assert_int_equal(mpk_systems_create(c.ctx, c.an, &c.o, NULL, COUNT, &s), MPK_OK);
        assert_false(
            mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r)));
        mpk_systems_destroy(&s);
        c.o.device = MPK_ON_CPU;
        for (int k = 0; k < COUNT; k++) {
            mpk_factor *fac = NULL;
            mpk_factor_info info;
            const mpk_status one =
                mpk_factorize(c.ctx, c.an, c.ax + k * c.nnz * (int64_t)c.size, &c.o, &fac);
            assert_false(mpk_failed(one));
            mpk_factor_info_get(fac, &info);
            if (status[k] != (int32_t)one) { /* as the processor's template: few, and not certain */
                assert_true(status[k] == MPK_OK && one == MPK_SINGULAR && !certified[k]);
                missed++;
            }
            if (certified[k]) {
                assert_int_equal(inertia[3 * k], info.inertia.positive);
                assert_int_equal(inertia[3 * k + 1], info.inertia.negative);
            }
            seen++, singular += one == MPK_SINGULAR, certain += certified[k] != 0;
            mpk_factor_destroy(&fac);
        }
        cases_free(&c);
    }
    assert_true(seen == PATTERNS * COUNT && singular > seen / 3 && certain > seen / 4);
    assert_true(missed <= seen / 400); /* 3 of 24 000 were; the processor: 6 */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_singular)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
