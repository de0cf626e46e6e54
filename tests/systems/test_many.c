/* SPDX-License-Identifier: BSD-3-Clause */
/* 128 000 small systems on the processor (many.h). */
#include "many.h"

static void test_many(void **unused) {
    (void)unused;
    many(MPK_ON_CPU, many_patterns(2000));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
