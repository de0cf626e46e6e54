/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of tests/solve/krylov/test_trouble.c with all vectors on a device; on the host module
 * those alone that do not take thousands of iterations. */
#include "device_krylov.h"

#define main cases
#include "solve/krylov/test_trouble.c"
#undef main

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_breakdown_at_once),
                                       cmocka_unit_test(test_isotropic_residual),
                                       cmocka_unit_test(test_exact_but_orthogonal),
                                       cmocka_unit_test(test_operator_fails),
                                       cmocka_unit_test(test_monitor),
                                       cmocka_unit_test(test_trivial),
                                       cmocka_unit_test(test_scales),
                                       cmocka_unit_test(test_overflow),
                                       cmocka_unit_test(test_arguments)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return device_is_real() ? cases() : cmocka_run_group_tests(tests, NULL, NULL);
}
