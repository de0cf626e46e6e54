/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack systems: values and right-hand sides from files, a line for each, and what is refused. */
#include "support.h"

static outcome o;

/* [ 2 1 0; 1 -1 3; 0 3 7 ], and three sets of values */
#define THREE                                                                                      \
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n"                                     \
    "1 1 2\n2 1 1\n2 2 -1\n3 2 3\n3 3 7\n"
#define VALUES "%%MatrixMarket matrix array real general\n5 3\n2\n1\n-1\n3\n7\n"
#define GOOD VALUES "4\n2\n-2\n6\n14\n-2\n-1\n1\n-3\n-7\n"
#define BAD VALUES "0\n0\n0\n0\n0\n-2\n-1\n1\n-3\n-7\n"
#define SIDE "%%MatrixMarket matrix array real general\n3 1\n3\n3\n10\n"

static void solved(void **state) {
    (void)state;
    static char text[1 << 12];
    write_text("a.mtx", THREE), write_text("v.mtx", GOOD), write_text("b.mtx", SIDE);
    RUN(&o, NULL, "systems", "a.mtx", "--values", "v.mtx", "-b", "b.mtx", "-o", "x.mtx");
    assert_code(&o, 0);
    assert_has(o.out, "1 ok 2 1 0 certified");
    assert_has(o.out, "2 ok 2 1 0 certified");
    assert_has(o.out, "3 ok 1 2 0 certified");
    assert_has(o.err, "3 systems, 1 pattern, order 3: 3 by");
    read_text("x.mtx", text, sizeof text);
    const char *at = strstr(text, "\n3 3\n");
    assert_non_null(at);
    static const double want[] = {1, 1, 1, 0.5, 0.5, 0.5, -1, -1, -1};
    char *end = (char *)(uintptr_t)(at + 5);
    for (int k = 0; k < 9; k++) assert_true(fabs(strtod(end, &end) - want[k]) <= 1e-14);
    RUN(&o, NULL, "systems", "a.mtx", "--values", "v.mtx", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"schema\": \"metapack-systems/1\"");
    assert_has(o.out, "\"count\": 3");
    write_text("v.mtx", BAD);
    RUN(&o, NULL, "systems", "a.mtx", "--values", "v.mtx", "-b", "b.mtx");
    assert_code(&o, 3);
    assert_has(o.out, "1 ok 2 1 0 certified");
    assert_has(o.out, "2 singular 0 0 3");
    assert_has(o.out, "3 ok 1 2 0 certified");
}

/* Matrices of two patterns, two alike; right-hand sides one under the other. */
static void mixed(void **state) {
    (void)state;
    static char text[1 << 12];
    write_text("a.mtx", THREE);
    write_text("g.mtx",
               "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n2 1 1\n2 2 4\n");
    write_text("b.mtx",
               "%%MatrixMarket matrix array real general\n8 1\n3\n3\n10\n2\n5\n6\n6\n20\n");
    RUN(&o, NULL, "systems", "a.mtx", "g.mtx", "a.mtx", "-b", "b.mtx", "-o", "x.mtx");
    assert_code(&o, 0);
    assert_has(o.out, "1 ok 2 1 0 certified");
    assert_has(o.out, "2 ok ");
    assert_has(o.out, "3 ok 2 1 0 certified");
    assert_has(o.err, "3 systems, 2 patterns, order 3 at most");
    read_text("x.mtx", text, sizeof text);
    const char *at = strstr(text, "\n8 1\n");
    assert_non_null(at);
    static const double want[] = {1, 1, 1, 1, 1, 2, 2, 2};
    char *end = (char *)(uintptr_t)(at + 5);
    for (int k = 0; k < 8; k++) assert_true(fabs(strtod(end, &end) - want[k]) <= 1e-14);
    RUN(&o, NULL, "systems", "a.mtx", "g.mtx", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"patterns\": 2");
    assert_has(o.out, "\"n\": 2 }");
    RUN(&o, NULL, "systems", "a.mtx", "g.mtx", "--values", "b.mtx");
    assert_code(&o, 1);
    RUN(&o, NULL, "systems", "a.mtx", "none.mtx");
    assert_code(&o, 2);
    RUN(&o, NULL, "systems", "a.mtx", "a.mtx", "-b", "b.mtx");
    assert_code(&o, 2);
}

static void refused(void **state) {
    (void)state;
    write_text("a.mtx", THREE), write_text("v.mtx", GOOD), write_text("b.mtx", SIDE);
    RUN(&o, NULL, "systems", "a.mtx");
    assert_code(&o, 1);
    assert_has(o.err, "--values V");
    RUN(&o, NULL, "systems", "a.mtx", "--values", "v.mtx", "-o", "x.mtx");
    assert_code(&o, 1);
    RUN(&o, NULL, "systems", "a.mtx", "--values", "b.mtx");
    assert_code(&o, 2);
    RUN(&o, NULL, "systems", "a.mtx", "--values", "none.mtx", "--json");
    assert_code(&o, 2);
    assert_true(json_valid(o.out));
    RUN(&o, NULL, "systems", "--generate", "convection 5", "--values", "v.mtx");
    assert_code(&o, 2);
    write_text("b.mtx", "%%MatrixMarket matrix array real general\n3 2\n3\n3\n10\n1\n1\n1\n");
    RUN(&o, NULL, "systems", "a.mtx", "--values", "v.mtx", "-b", "b.mtx");
    assert_code(&o, 1);
    assert_has(o.err, "--rhs has 2 columns");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(solved, empty_folder),
                                       cmocka_unit_test_teardown(mixed, empty_folder),
                                       cmocka_unit_test_teardown(refused, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
