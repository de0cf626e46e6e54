/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack schur: S, the inertia of the interior, and what is refused. */
#include "support.h"

static outcome o;

/* [ 2 1 0; 1 -1 3; 0 3 7 ] */
#define THREE                                                                                      \
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n"                                     \
    "1 1 2\n2 1 1\n2 2 -1\n3 2 3\n3 3 7\n"

static void numbers(const char *text, const char *size, int count, const double *want) {
    const char *at = strstr(text, size);
    assert_non_null(at);
    at += strlen(size);
    for (int k = 0; k < count; k++) {
        char *end;
        assert_true(fabs(strtod(at, &end) - want[k]) <= 1e-14);
        assert_true(end > at);
        at = end;
    }
}

static void complements(void **state) {
    (void)state;
    static char text[1 << 12];
    write_text("a.mtx", THREE);
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1");
    assert_code(&o, 0); /* 7 - (0 3) [2 1; 1 -1]^-1 (0 3)' = 7 + 9 * 2/3 */
    numbers(o.out, "\n1 1\n", 1, (const double[]){13});
    assert_has(o.err, "1 of 3 variables are outer; the interior has 2: 1 positive, 1 negative, 0 "
                      "zero eigenvalues, certified");
    write_text("rows", "% the third, then the first\n3,\n1\n");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "rows", "-o", "s.mtx", "-q");
    assert_code(&o, 0);
    assert_string_equal(o.out, "0 1 0\n");
    assert_string_equal(o.err, "");
    read_text("s.mtx", text, sizeof text);
    numbers(text, "\n2 2\n", 4, (const double[]){16, 3, 3, 3});
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "first:3", "-o", "s.npy", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"schema\": \"metapack-schur/1\"");
    assert_has(o.out, "\"outer\": 3");
    RUN(&o, NULL, "schur", "--generate", "nlpkkt 4", "--variables", "last:20", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.err));
    assert_has(o.err, "\"certified\": true");
    assert_has(o.out, "\n20 20\n");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:0", "-o", "none.npy");
    assert_code(&o, 0);
    assert_string_equal(o.out, "2 1 0\n");
}

static void refused(void **state) {
    (void)state;
    write_text("a.mtx", THREE);
    RUN(&o, NULL, "schur", "a.mtx");
    assert_code(&o, 1);
    assert_has(o.err, "--variables last:K");
    static const char *const words[] = {"last:4", "last:-1", "first:", "last:x", "last:1x"};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, "schur", "a.mtx", "--variables", words[k]);
        assert_code(&o, 1);
        assert_has(o.err, "0 to 3");
    }
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "nowhere");
    assert_code(&o, 2);
    static const char *const lists[] = {"0\n", "1\n4\n", "1 two\n", "1.5", "2x"};
    for (int k = 0; k < 5; k++) {
        write_text("rows", lists[k]);
        RUN(&o, NULL, "schur", "a.mtx", "--variables", "rows", "--json");
        assert_code(&o, 2);
        assert_true(json_valid(o.out));
        assert_has(o.err, "is no row of A; these are 1 to 3");
        assert_true(k < 3 || strstr(o.err, k == 3 ? "'1.5'" : "'2x'"));
    }
    write_text("rows", "3 2\n3");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "rows");
    assert_code(&o, 2);
    assert_has(o.err, "rows, line 2: 3 stands there twice");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "--device", "cuda");
    assert_code(&o, 1);
    assert_has(o.err, "not computed on a device");
    RUN(&o, NULL, "schur", "--generate", "convection 5", "--variables", "last:1");
    assert_code(&o, 1);
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "--ordering", "given");
    assert_code(&o, 1);
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "-o", "a.mtx");
    assert_code(&o, 1);
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "--method", "ildlt");
    assert_code(&o, 1);
}

/* The interior is 0: there is no S, and no file. */
static void none(void **state) {
    (void)state;
    write_text("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n2 2 5\n");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "-o", "s.mtx", "--json");
    assert_code(&o, 3);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"singular\", \"written\": false");
    assert_has(o.err, "there is no Schur complement");
    assert_int_equal(access("s.mtx", F_OK), -1);
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "first:1", "-o", "s.mtx");
    assert_code(&o, 0);
    assert_string_equal(o.out, "1 0 0\n");
}

/* What is said of it: pivots that were replaced, triangles that differ, no inertia. */
static void told(void **state) {
    (void)state;
    write_text("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n2 2 5\n");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "--static-shift", "1e-3", "-o",
        "s.mtx", "--json");
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"perturbed\", \"written\": true");
    write_text("b.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n"
                        "1 2 1.0000000001\n2 1 1\n2 2 5\n");
    RUN(&o, NULL, "schur", "b.mtx", "--variables", "last:1", "--symmetry-tolerance", "0");
    assert_code(&o, 2);
    RUN(&o, NULL, "schur", "b.mtx", "--variables", "last:1", "--symmetry-tolerance", "1e-6");
    assert_code(&o, 0);
    assert_has(o.err, "the triangles of A differ in 1 pairs");
    write_text("c.mtx", "%%MatrixMarket matrix coordinate complex symmetric\n2 2 3\n1 1 2 1\n"
                        "2 1 1 0\n2 2 5 0\n");
    RUN(&o, NULL, "schur", "c.mtx", "--variables", "last:1", "-o", "s.mtx", "--json");
    assert_code(&o, 0);
    assert_null(strstr(o.out, "inertia"));
    write_text("a.mtx", THREE);
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1", "--ordering", "given");
    assert_code(&o, 1);
    assert_has(o.err, "is not for schur");
    RUN(&o, NULL, "schur", "--generate", "quasi-definite 120", "--variables", "last:20000", "-o",
        "s.npy");
    assert_code(&o, 2);
    assert_has(o.err, "--force writes it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(complements, empty_folder),
        cmocka_unit_test_teardown(refused, empty_folder),
        cmocka_unit_test_teardown(none, empty_folder),
        cmocka_unit_test_teardown(told, empty_folder),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
