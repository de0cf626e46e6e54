/* SPDX-License-Identifier: BSD-3-Clause */
/* The compensated residual against integers that no double sum can hold, and against the ordinary
 * one. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "problem/problem.h"

/* b - A x with cancellation beyond double: row 0 is 1 + 2^60 - 2^60 */
static void test_cancellation(void **unused) {
    (void)unused;
    const int64_t ap[] = {0, 3, 4, 5};
    const int32_t ai[] = {0, 1, 2, 1, 2};
    const double ax[] = {1, 0x1p60, -0x1p60, 3, 5}, x[] = {1, 1, 1}, b[] = {0.5, 0x1p60, 0};
    mpk_problem_view a = {3, 5, MPK_D, MPK_SYMMETRIC, ap, ai, ax};
    double r[3], low[3];
    mpki_residual_compensated(&a, x, b, r, low);
    assert_true(r[0] == -0.5);
    assert_true(r[1] == -3);
    assert_true(r[2] == 0x1p60 - 5 || r[2] == 0x1p60);
}

static void test_complex(void **unused) {
    (void)unused;
    const int64_t ap[] = {0, 2, 3};
    const int32_t ai[] = {0, 1, 1};
    const double complex ax[] = {2, 1 + 3 * I, -4}, x[] = {1 - I, 2 + I}, b[] = {I, 1};
    for (int symmetry = MPK_SYMMETRIC; symmetry <= MPK_HERMITIAN; symmetry++) {
        mpk_problem_view a = {2, 3, MPK_Z, symmetry, ap, ai, ax};
        double complex r[2], want[2];
        double low[4];
        double complex up = symmetry == MPK_HERMITIAN ? conj(ax[1]) : ax[1];
        want[0] = b[0] - ax[0] * x[0] - up * x[1];
        want[1] = b[1] - ax[1] * x[0] - ax[2] * x[1];
        mpki_residual_compensated(&a, x, b, r, low);
        for (int i = 0; i < 2; i++) assert_true(r[i] == want[i]); /* small integers: exact */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cancellation),
                                       cmocka_unit_test(test_complex)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
