/* SPDX-License-Identifier: BSD-3-Clause */
/* Bunch and Kaufman's constant: (1 + sqrt(17)) / 8, and the same in OpenCL C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/alpha.h"
#include <math.h>

static void its_value(void **state) {
    (void)state;
    assert_true(MPKI_ALPHA == (1 + sqrt(17)) / 8);
}

/* The kernels of src/kernels/cl write it once, in the macro ALPHA. */
static void in_opencl(void **state) {
    (void)state;
    static const char define[] = "#define ALPHA ((R)";
    char line[512];
    int found = 0;
    FILE *f = fopen(METAPACK_KERNELS "/ldlt_pivots.h", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, define, sizeof define - 1)) {
            assert_true(strtod(line + sizeof define - 1, NULL) == MPKI_ALPHA);
            found++;
        }
    fclose(f);
    assert_int_equal(found, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(its_value), cmocka_unit_test(in_opencl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
