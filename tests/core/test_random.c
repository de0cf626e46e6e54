/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of core/random.h are fixed: orders, butterflies and generated matrices rest on them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/random.h"

/* the first three for seed 1234567, as the authors' own program prints them */
static void splitmix(void **state) {
    (void)state;
    uint64_t s = 1234567;
    assert_true(mpki_random_next(&s) == UINT64_C(6457827717110365317));
    assert_true(mpki_random_next(&s) == UINT64_C(3203168211198807973));
    assert_true(mpki_random_next(&s) == UINT64_C(9817491932198370423));
    uint64_t zero = 0;
    for (uint64_t k = 0; k < 100; k++) assert_true(mpki_random_next(&zero) == mpki_random_at(k));
}

static void ranges(void **state) {
    (void)state;
    assert_true(mpki_random_unit(0) == 0 && mpki_random_unit(UINT64_MAX) < 1);
    uint64_t s = 1;
    double sum = 0, least = 2, most = -2;
    for (int k = 0; k < 100000; k++) {
        const double x = mpki_random_signed(&s);
        sum += x;
        least = x < least ? x : least, most = x > most ? x : most;
    }
    assert_true(least >= -1 && least < -0.999 && most <= 1 && most > 0.999);
    assert_true(sum < 1000 && sum > -1000);
}

/* half of the signs are negative, and no short pattern repeats; sizes are spread */
static void signs(void **state) {
    (void)state;
    int sum = 0, alike = 0, sum32 = 0;
    double sizes = 0;
    for (uint64_t k = 0; k < 10000; k++) {
        const double x = mpki_random_weight(k);
        const int a = x < 0 ? -1 : 1, b = mpki_random_weight(k + 1) < 0 ? -1 : 1;
        assert_true(x * a >= 0.5 && x * a < 1.5);
        sizes += x * a;
        sum += a, alike += a == b;
        sum32 += mpki_random_sign32((uint32_t)k);
    }
    assert_true(sum > -500 && sum < 500 && alike > 4500 && alike < 5500);
    assert_true(sizes > 9900 && sizes < 10100);
    assert_true(sum32 > -500 && sum32 < 500);
}

/* the weaker ones, by the definitions that they had before they came here */
static void kept(void **state) {
    (void)state;
    assert_true(mpki_random_lot(6) == UINT64_C(7145241647154242560));
    uint64_t s = 7, x = 7;
    assert_true(mpki_random_lcg(&s) == 7 * UINT64_C(6364136223846793005) + 1442695040888963407u);
    assert_true(mpki_random_xorshift(&x) == 1761466303);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(splitmix), cmocka_unit_test(ranges),
                                       cmocka_unit_test(signs), cmocka_unit_test(kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
