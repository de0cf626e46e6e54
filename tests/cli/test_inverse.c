/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack inverse: the diagonal and the pattern, files, the report, refusals. */
#include "support.h"

static outcome o;

/* Of the inverse of kkt.mtx, times 21. */
static const double DIAGONAL[] = {4, 1, 1, -20, -26};
static const double PATTERN[] = {4, 1,  1,  5, 8,
                                 8, 10, -11}; /* in the order of the file, by columns:
                                                                rows 1 4; 2 4 5; 3 4 5 */

static void diagonal(void **state) {
    (void)state;
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "-o", "-", "-q");
    assert_code(&o, 0);
    assert_string_equal(o.err, "");
    char *p = strstr(o.out, "5 1\n");
    assert_non_null(p);
    p += 4;
    for (int k = 0; k < 5; k++) assert_true(fabs(strtod(p, &p) - DIAGONAL[k] / 21) < 1e-15);
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "-o", "z.npy", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"selected\": { \"entries\": \"diagonal\"");
    const char *off = strstr(o.out, "\"deviation\": ");
    assert_non_null(off);
    assert_true(strtod(off + strlen("\"deviation\": "), NULL) < 1e-15);
    assert_has(o.out, "\"inverse\": ");
    assert_has(o.err, "Inverse       its diagonal, 1 thread");
    assert_has(o.err, "Written       z.npy");
}

static void pattern(void **state) {
    static char text[4096];
    static const double order[] = {0, 3, 1, 4, 6, 2, 5, 7}; /* of PATTERN, in the file */
    (void)state;
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--pattern", "-o", "z.mtx");
    assert_code(&o, 0);
    assert_has(o.err, "its entries on A's pattern");
    read_text("z.mtx", text, sizeof text);
    assert_has(text, "coordinate real symmetric");
    char *p = strstr(text, "5 5 8\n");
    assert_non_null(p);
    p += 6;
    for (int k = 0; k < 8; k++) {
        (void)strtol(p, &p, 10), (void)strtol(p, &p, 10);
        assert_true(fabs(strtod(p, &p) - PATTERN[(int)order[k]] / 21) < 1e-15);
    }
    RUN(&o, NULL, "inverse", "--generate", "random 20 entries=hermitian", "--pattern", "-o", "-",
        "-q");
    assert_code(&o, 0);
    assert_has(o.out, "coordinate complex hermitian");
}

static void refused(void **state) {
    (void)state;
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--pattern", "-o", "z.npy");
    assert_code(&o, 1);
    assert_has(o.err, "are written as .mtx");
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--pattern", "-o", "z.npy.mtx");
    assert_code(&o, 0);
    assert_int_equal(access("z.npy.mtx", F_OK), 0);
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--pattern", "-o", "z.rb");
    assert_code(&o, 1);
    assert_has(o.err, "a matrix of entries is written as .mtx, .mtx.gz or .mtx.xz\n");
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--pattern", "-o", "z");
    assert_code(&o, 1);
    assert_null(strstr(o.err, "Factor")); /* before any work */
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "-o", "z.rb");
    assert_has(o.err, "a diagonal is written as .mtx, .mtx.gz, .mtx.xz, .npy, ");
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--method", "ildlt");
    assert_code(&o, 1);
    RUN(&o, NULL, "inverse", TINY "singular.mtx", "-o", "z.mtx");
    assert_code(&o, 3);
    assert_has(o.err, "SINGULAR");
    assert_null(strstr(o.err, "Written"));
    assert_int_not_equal(access("z.mtx", F_OK), 0);
    RUN(&o, NULL, "inverse", TINY "kkt.mtx", "--accuracy", "1e-18", "-o", "z.mtx");
    assert_true(o.code == 0 || o.code == 5); /* it may have no error at all */
    assert_int_equal(access("z.mtx", F_OK), 0);
    RUN(&o, NULL, "inverse", "--generate", "convection 5");
    assert_true(o.code > 0);
    assert_has(o.err, "the matrix is not symmetric: entries of the inverse");
    assert_string_equal(o.out, "");
}

/* Replaced pivots are no excuse for an error that the check has seen. */
static void perturbed(void **state) {
    (void)state;
    RUN(&o, NULL, "inverse", "--generate", "stokes mac 14", "--static-shift", "1e-6", "--matching",
        "off");
    assert_code(&o, 5);
    assert_has(o.err, "NOT ACCURATE");
    RUN(&o, NULL, "inverse", "--generate", "stokes mac 14", "--static-shift", "1e-6", "--matching",
        "off", "--accuracy", "1e-3");
    assert_code(&o, 0);
    assert_has(o.err, "the inverse is that of a nearby matrix");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(diagonal, empty_folder),
        cmocka_unit_test_teardown(pattern, empty_folder),
        cmocka_unit_test_teardown(refused, empty_folder),
        cmocka_unit_test_teardown(perturbed, empty_folder),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
