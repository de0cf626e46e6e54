/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as people read them, by hand. */
#include "support.h"

static void counts(void **state) {
    (void)state;
    char out[MPKI_UNIT_MAX];
    assert_string_equal(mpki_show_count(out, 0), "0");
    assert_string_equal(mpki_show_count(out, 999), "999");
    assert_string_equal(mpki_show_count(out, 1000), "1 000");
    assert_string_equal(mpki_show_count(out, 28192672), "28 192 672");
    assert_string_equal(mpki_show_count(out, -1234), "-1 234");
    assert_string_equal(mpki_show_count(out, INT64_MIN), "-9 223 372 036 854 775 808");
}

static void prefixes(void **state) {
    (void)state;
    char out[MPKI_UNIT_MAX];
    assert_string_equal(mpki_show_si(out, 0, "flop"), "0 flop");
    assert_string_equal(mpki_show_si(out, 12, ""), "12");
    assert_string_equal(mpki_show_si(out, 999.6, "B"), "1.00 kB");
    assert_string_equal(mpki_show_si(out, 1270000000.0, "flop"), "1.27 Gflop");
    assert_string_equal(mpki_show_si(out, 28192672, ""), "28.2 M");
    assert_string_equal(mpki_show_si(out, 1e30, "B"), "1e+12 EB");
    assert_string_equal(mpki_show_si(out, -1.7e308, "FLOP/s"), "-1.7e+290 EFLOP/s");
    assert_string_equal(mpki_show_si(out, 123456e18, ""), "123456 E");
    assert_string_equal(mpki_show_si(out, NAN, "B"), "unknown");
    assert_string_equal(mpki_show_bytes(out, 1536), "1.54 kB");
}

static void times(void **state) {
    (void)state;
    char out[MPKI_UNIT_MAX];
    assert_string_equal(mpki_show_time(out, 0), "0 s");
    assert_string_equal(mpki_show_time(out, 12.3e-6), "12.3 us");
    assert_string_equal(mpki_show_time(out, 9.999e-4), "1.00 ms");
    assert_string_equal(mpki_show_time(out, 0.04512), "45.1 ms");
    assert_string_equal(mpki_show_time(out, 0.9996), "1.00 s");
    assert_string_equal(mpki_show_time(out, 12.34), "12.3 s");
    assert_string_equal(mpki_show_time(out, 119.6), "2 min 00 s");
    assert_string_equal(mpki_show_time(out, 125), "2 min 05 s");
    assert_string_equal(mpki_show_time(out, 7200), "2.0 h");
    assert_string_equal(mpki_show_time(out, 1.7e308), "4.72e+304 h");
    assert_string_equal(mpki_show_time(out, -1), "unknown");
    assert_string_equal(mpki_show_time(out, NAN), "unknown");
    assert_string_equal(mpki_show_time(out, INFINITY), "unknown");
}

static void names(void **state) {
    (void)state;
    char out[MPKI_UNIT_MAX];
    assert_string_equal(mpki_show_error(out, 1.2e-16), "1.2e-16");
    assert_string_equal(mpki_show_error(out, 0), "0");
    assert_string_equal(mpki_show_error(out, INFINITY), "not finite");
    assert_string_equal(mpki_show_ordering(out, MPK_ORDERING_SCOTCH), "SCOTCH");
    assert_string_equal(mpki_show_ordering(out, MPK_ORDERING_GMC), "GMC");
    assert_string_equal(mpki_show_ordering(out, MPK_ORDERING_NATURAL), "natural");
    assert_string_equal(mpki_scalar_name(MPK_Z), "z");
    assert_string_equal(mpki_symmetry_name(MPK_HERMITIAN), "hermitian");
    assert_string_equal(mpki_symmetry_name(MPK_GENERAL), "general");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(prefixes),
                                       cmocka_unit_test(times), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
