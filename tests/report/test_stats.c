/* SPDX-License-Identifier: BSD-3-Clause */
/* What reading tells of a matrix, by hand. */
#include "support.h"

static void by_hand(void **state) {
    (void)state;
    int32_t counts[3];
    mpki_stats s;
    mpk_problem_view a = {3, 5, MPK_D, MPK_SYMMETRIC, small_ap, small_ai, small_ax};
    mpki_stats_get(&a, counts, &s);
    assert_int_equal(s.diagonal, 3);
    assert_int_equal(s.diagonal_zero, 1);
    assert_int_equal(s.explicit_zeros, 1);
    assert_int_equal(s.empty_rows, 0);
    assert_int_equal(s.longest_row, 3);
    assert_int_equal(s.bandwidth, 1);
    assert_true(s.least == 1 && s.most == 5);
}

/* Moduli of complex entries; rows without entries; nothing but zeros. */
static void complex_empty_zero(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 1, 2, 2}, none[] = {0, 0, 0, 0};
    static const int32_t ai[] = {2, 1};
    static const double az[] = {3, -4, 0, 0};
    static const float ac[] = {3, -4, 0, 1}, as[] = {0, -0.0f};
    int32_t counts[3];
    mpki_stats s;
    mpk_problem_view a = {3, 2, MPK_Z, MPK_HERMITIAN, ap, ai, az};
    mpki_stats_get(&a, counts, &s);
    assert_true(s.least == 5 && s.most == 5);
    assert_int_equal(s.bandwidth, 2);
    assert_int_equal(s.explicit_zeros, 1);
    a.scalar = MPK_C;
    a.ax = ac;
    mpki_stats_get(&a, counts, &s);
    assert_true(s.least == 1 && s.most == 5);
    a.scalar = MPK_S;
    a.ax = as;
    mpki_stats_get(&a, counts, &s);
    assert_true(s.least == 0 && s.most == 0);
    assert_int_equal(s.explicit_zeros, 2);
    a.ap = none;
    a.nnz = 0;
    mpki_stats_get(&a, counts, &s);
    assert_int_equal(s.empty_rows, 3);
    assert_int_equal(s.longest_row, 0);
}

/* All entries are there: none is mirrored. */
static void general(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 0, 2, 4};
    static const int32_t ai[] = {0, 1, 0, 1};
    static const double ax[] = {1, 0, 3, -7};
    int32_t counts[3];
    mpki_stats s;
    const mpk_problem_view a = {3, 4, MPK_D, MPK_GENERAL, ap, ai, ax};
    mpki_stats_get(&a, counts, &s);
    assert_int_equal(s.diagonal, 1);
    assert_int_equal(s.diagonal_zero, 1);
    assert_int_equal(s.empty_rows, 1);
    assert_int_equal(s.longest_row, 2);
    assert_int_equal(s.bandwidth, 2);
    assert_true(s.least == 1 && s.most == 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(complex_empty_zero), cmocka_unit_test(general)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
