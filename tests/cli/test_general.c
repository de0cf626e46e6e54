/* SPDX-License-Identifier: BSD-3-Clause */
/* The command on matrices that are not symmetric. */
#include "support.h"

static outcome o;

/* [ 0 3 0; 2 0 2; -1 0 4 ], whose diagonal a permutation has to fill. */
#define THREE                                                                                      \
    "%%MatrixMarket matrix coordinate real general\n3 3 5\n"                                       \
    "1 2 3\n2 1 2\n2 3 2\n3 3 4\n3 1 -1\n"

static double number_of(const char *json, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *p = strstr(json, quoted);
    if (!p) fail_msg("no %s in %s", key, json);
    return strtod(p + strlen(quoted), NULL);
}

static void solve(void **state) {
    (void)state;
    static char text[1 << 12];
    write_text("a.mtx", THREE);
    write_text("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n6\n8\n11\n"); /* 1 2 3 */
    RUN(&o, NULL, "solve", "a.mtx", "-b", "b.mtx", "-o", "x.mtx", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"symmetry\": \"general\"");
    assert_has(o.out, "\"method\": \"ldlt\"");
    assert_has(o.out, "\"pivot_threshold\": 0.01");
    assert_has(o.out, "\"rejected\": 0");
    assert_null(strstr(o.out, "\"inertia\""));
    assert_true(number_of(o.out, "nnz") == 5);
    assert_true(number_of(o.out, "normwise") <= 1e-15);
    assert_has(o.err, "n = 3, 5 entries, real not symmetric");
    assert_has(o.err, "LU, cpu");
    assert_has(o.err, "0 zero, 0 columns delayed, threshold 0.01");
    assert_null(strstr(o.err, "Inertia"));
    read_text("x.mtx", text, sizeof text);
    double x[3];
    assert_int_equal(sscanf(strstr(text, "\n3 1\n") + 5, "%lf %lf %lf", x, x + 1, x + 2), 3);
    for (int i = 0; i < 3; i++) assert_true(fabs(x[i] - (i + 1)) <= 1e-14);
}

/* Each method on generated ones, complex too, and what the report says of it. */
static void methods(void **state) {
    (void)state;
    static const char *const specs[] = {"convection 20 rows=shuffled",
                                        "convection 7 3d speed=1000 wind=circular",
                                        "convection 15 damping=200"};
    for (int k = 0; k < 3; k++) {
        RUN(&o, NULL, "solve", "--generate", specs[k], "--json", "-q");
        assert_code(&o, 0);
        RUN(&o, NULL, "solve", "--generate", specs[k], "--method", "ilu0", "--restart", "30");
        assert_code(&o, 0);
        assert_has(o.err, "GMRES");
        assert_has(o.err, "--factor-type ldu");
        assert_has(o.err, "--ordering rcm");
        RUN(&o, NULL, "solve", "--generate", specs[k], "--method", "ildlt", "--factor-type", "ldu",
            "--level", "-1", "--drop-tolerance", "0", "--fill-factor", "0", "--json", "-q");
        assert_code(&o, 0);
        assert_true(number_of(o.out, "normwise") <= 1e-14);
        assert_true(number_of(o.out, "iterations") <= 2);
        RUN(&o, NULL, "solve", "--generate", specs[k], "--method", "ildlt", "--factor-type", "ldu",
            "--schedule", "jacobi", "--sweeps", "20", "--krylov", "bicgstab", "-q");
        assert_code(&o, 0);
        RUN(&o, NULL, "solve", "--generate", specs[k], "--method", "none", "--krylov", "idr", "-q");
        assert_code(&o, 0);
    }
}

/* Directly: what is delayed, replaced, or zero is told. */
static void directly(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--generate", "convection 9 3d speed=1000", "--method", "ldlt",
        "--json");
    assert_code(&o, 0);
    assert_true(number_of(o.out, "componentwise") <= 1e-15);
    write_text("s.mtx", "%%MatrixMarket matrix coordinate real general\n"
                        "3 3 4\n1 1 1\n2 1 2\n3 2 1\n1 2 1\n");
    RUN(&o, NULL, "solve", "s.mtx");
    assert_code(&o, 3);
    assert_has(o.err, "structurally singular");
    assert_has(o.err, "1 zero, ");
    RUN(&o, NULL, "solve", "s.mtx", "--static-shift", "1e-8", "--json");
    assert_true(o.code != 0);
    assert_has(o.err, "perturbed by the static shift");
}

static void refused(void **state) {
    (void)state;
    write_text("a.mtx", THREE);
    RUN(&o, NULL, "solve", "a.mtx", "--precision", "single");
    assert_true(o.code != 0);
    assert_has(o.err, "precision = single");
    RUN(&o, NULL, "inverse", "a.mtx");
    assert_true(o.code != 0);
    assert_has(o.err, "entries of the inverse");
    RUN(&o, NULL, "schur", "a.mtx", "--variables", "last:1");
    assert_true(o.code != 0);
    assert_has(o.err, "Schur complements are of matrices that are");
    RUN(&o, NULL, "solve", "a.mtx", "--method", "ildlt");
    assert_code(&o, 1);
    assert_has(o.err, "take factor_type ldu");
    RUN(&o, NULL, "solve", "a.mtx", "--krylov", "minres");
    assert_code(&o, 1);
    assert_has(o.err, "take gmres, fgmres, bicgstab or idr");
    RUN(&o, NULL, "solve", "a.mtx", "--factor-type", "llt");
    assert_code(&o, 1);
    assert_has(o.err, "option --factor-type is not read where method auto solves directly");
    RUN(&o, NULL, "inertia", "a.mtx");
    assert_code(&o, 2);
    assert_has(o.err, "the matrix is not symmetric: it has no inertia");
    assert_string_equal(o.out, "");
    RUN(&o, NULL, "inertia", "a.mtx", "--json"); /* and nothing else is said, nor advised */
    assert_code(&o, 2);
    assert_has(o.out, "\"status\": \"input\"");
    assert_has(o.out, "\"message\": \"the matrix is not symmetric: it has no inertia\"");
    RUN(&o, NULL, "solve", "a.mtx", "--dense", "auto");
    assert_true(o.code != 0);
    assert_has(o.err, "--dense off");
    RUN(&o, NULL, "solve", "a.mtx", "--symmetry-tolerance", "1e-6");
    assert_code(&o, 2);
    assert_has(o.err, "the matrix is not symmetric (the difference");
}

/* A file that says general: solved as it is, whatever the units; rounding is said and measured; and
 * a system that has no solution is none of the good ones. */
static void given_whole(void **state) {
    (void)state;
    write_text("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n10000001\n0\n");
    write_text("pair.mtx", "%%MatrixMarket matrix coordinate real general\n"
                           "2 2 4\n1 1 1e7\n1 2 1\n2 1 -1\n2 2 1\n");
    RUN(&o, NULL, "solve", "pair.mtx", "-b", "b.mtx", "-o", "-");
    assert_code(&o, 0);
    assert_has(o.err, "not symmetric");
    assert_has(o.out, "2 1\n1\n1\n");
    write_text("near.mtx", "%%MatrixMarket matrix coordinate real general\n"
                           "2 2 4\n1 1 2\n1 2 1\n2 1 1.0000000001\n2 2 -1\n");
    RUN(&o, NULL, "solve", "near.mtx", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"asymmetry\": { \"pairs\": 1, \"rough\": 1, \"apart\": 1e-10 }");
    assert_has(o.err, "1 entry and its mirror image differs");
    write_text("both.mtx", "%%MatrixMarket matrix coordinate real symmetric\n"
                           "4 4 5\n1 1 1e10\n2 2 1\n3 3 1\n4 4 1\n4 3 -1\n");
    write_text("c.mtx", "%%MatrixMarket matrix array real general\n4 1\n1e10\n1\n1\n1\n");
    static const char *const ways[][2] = {
        {"--direct", "on"}, {"--method", "ildlt"}, {"--direct", "off"}};
    for (int k = 0; k < 3; k++) {
        RUN(&o, NULL, "solve", "both.mtx", "-b", "c.mtx", ways[k][0], ways[k][1], "--json");
        assert_true(o.code >= 3 && o.code <= 5);
        if (k == 0) assert_has(o.err, "not consistent");
        assert_has(o.out, "\"solved\": false");
    }
}

/* A dense file goes to the dense solver only if that can take it. */
static void arrays(void **state) {
    (void)state;
    write_text("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    RUN(&o, NULL, "solve", "a.mtx", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"symmetry\": \"general\"");
}

static void other_commands(void **state) {
    (void)state;
    static char svg[1 << 17];
    RUN(&o, NULL, "generate", "convection", "6", "rows=shuffled", "-o", "a.mtx", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "info", "a.mtx", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"symmetry\": \"general\"");
    assert_has(o.err, "4.3 entries on average, 5 in the longest");
    RUN(&o, NULL, "analyse", "a.mtx", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"method\": \"ldlt\"");
    assert_has(o.err, "L and U with");
    RUN(&o, NULL, "stats", "a.mtx", "--levels", "0,1,full", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.err, "n = 36, 156 entries, not symmetric: L alone");
    RUN(&o, NULL, "stats", "a.mtx", "--levels", "0,1", "-q", "--json");
    assert_has(o.out, "\"ordering\": \"rcm\"");
    RUN(&o, NULL, "convert", "a.mtx", "a.rb", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "solve", "a.rb", "--plot", "a.svg", "-q");
    assert_code(&o, 0);
    read_text("a.svg", svg, sizeof svg);
    assert_has(svg, "A in the order given");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(solve, empty_folder),
        cmocka_unit_test_teardown(methods, empty_folder),
        cmocka_unit_test_teardown(directly, empty_folder),
        cmocka_unit_test_teardown(refused, empty_folder),
        cmocka_unit_test_teardown(given_whole, empty_folder),
        cmocka_unit_test_teardown(arrays, empty_folder),
        cmocka_unit_test_teardown(other_commands, empty_folder),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
