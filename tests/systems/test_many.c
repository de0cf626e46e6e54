/* SPDX-License-Identifier: BSD-3-Clause */
/* Small systems on the processor (many.h): 32 000, where all cases run 128 000, under sanitizers 7680. */
#include "../sanitized.h"
#include "many.h"

static void test_many(void **unused) {
    (void)unused;
    many(MPK_ON_CPU, many_patterns(TEST_SANITIZED ? 120 : test_all_cases() ? 2000 : 500));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
