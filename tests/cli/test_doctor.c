/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack doctor: what it says of matrices whose answers are known, in any order of the rows. */
#include "support.h"

static outcome o;

#define REAL "%%MatrixMarket matrix coordinate real symmetric\n"

static void diagnose(const char *text, int code) {
    write_text("a.mtx", text);
    RUN(&o, NULL, "doctor", "a.mtx", "--json", "-q");
    assert_code(&o, code);
    assert_true(json_valid(o.out));
    assert_string_equal(o.err, "");
}

static void generated(const char *spec, const char *kind) {
    char want[128];
    RUN(&o, NULL, "doctor", "--generate", spec, "--json", "-q");
    assert_true(o.code == 0 || o.code == 3);
    snprintf(want, sizeof want, "\"kind\": \"%s\"", kind);
    assert_has(o.out, want);
}

/* [H B'; B 0], its rows as they stand and backwards: H = diag(2, 3, 5), B = (1 1 0; 0 1 -1). */
static void saddle_points(void **state) {
    (void)state;
    static const char *const texts[] = {
        REAL "5 5 7\n1 1 2\n2 2 3\n3 3 5\n4 1 1\n4 2 1\n5 2 1\n5 3 -1\n",
        REAL "5 5 7\n5 5 2\n4 4 3\n3 3 5\n5 2 1\n4 2 1\n4 1 1\n3 1 -1\n"};
    for (int k = 0; k < 2; k++) {
        diagnose(texts[k], 0);
        assert_has(o.out, "\"kind\": \"saddle-point\"");
        assert_has(o.out, "3 variables, 2 constraints and a diagonal H");
        assert_has(o.out, "H is positive definite on B's kernel: 2 eigenvalues");
        assert_has(o.out, "\"positive\": 3, \"negative\": 2, \"zero\": 0, \"certified\": true");
    }
    diagnose(REAL "4 4 6\n1 1 0.5\n2 2 0.5\n3 3 0.5\n4 1 1\n4 2 2\n4 3 4\n", 0);
    assert_has(o.out, "\"kind\": \"least-squares\"");
    diagnose(REAL "4 4 6\n1 1 2\n2 2 3\n3 3 -1\n4 4 -2\n3 1 1\n4 2 4\n", 0);
    assert_has(o.out, "\"kind\": \"regularised-saddle-point\"");
    generated("stokes mac 8", "stokes");
    generated("stokes q2q1 6", "stokes");
    generated("nlpkkt 5", "saddle-point");
    generated("lp-kkt 20 40", "saddle-point");
}

static void laplacians(void **state) {
    (void)state;
    /* two paths of two and of three */
    diagnose(REAL "5 5 8\n1 1 1\n2 1 -1\n2 2 1\n3 3 1\n4 3 -1\n4 4 2\n5 4 -1\n5 5 1\n", 3);
    assert_has(o.out, "\"kind\": \"laplacian\"");
    assert_has(o.out, "a constant on each of its 2 components");
    assert_has(o.out, "\"components\": 2");
    assert_has(o.out, "\"kernel_vectors\": 2");
    assert_has(o.out, "the solution is one of many, and no bound holds");
    generated("helmholtz 2d 8 shift=0", "grounded-laplacian");
    generated("helmholtz 2d 8 0.3", "shifted-laplacian");
    assert_has(o.out, "a Laplacian minus 0.3 I");
    assert_has(o.out, "then s lies above 1 of the eigenvalues");
}

/* Forms that are nearly there: each had been told by a part of the entries alone. */
static void nearly(void **state) {
    (void)state;
    /* a triangle, and a 5 in a row of its own */
    diagnose(REAL "4 4 4\n2 1 1\n3 1 1\n3 2 1\n4 4 5\n", 0);
    assert_null(strstr(o.out, "one number"));
    /* sums of rows of 5e-14, and an inertia that says that A is regular */
    diagnose(REAL "2 2 3\n1 1 1.00000000000005\n2 1 -1\n2 2 1.00000000000005\n", 0);
    assert_has(o.out, "\"kind\": \"laplacian\"");
    assert_has(o.out, "all rows sum to zero within rounding");
    assert_has(o.out, "\"positive\": 2, \"negative\": 0, \"zero\": 0, \"certified\": true");
    assert_has(o.out, "so it is not singular");
    /* sums of -1/2 and 2: one of two rows is not most of them */
    diagnose(REAL "2 2 3\n1 1 0.5\n2 1 -1\n2 2 3\n", 0);
    assert_has(o.out, "\"kind\": \"positive-definite\"");
    /* a star, its centre first and last, and a 1 alone */
    diagnose(REAL "5 5 4\n2 1 1\n3 1 1\n4 1 1\n5 5 1\n", 3);
    assert_has(o.out, "\"constraints\": 1");
    diagnose(REAL "5 5 4\n1 1 1\n5 2 1\n5 3 1\n5 4 1\n", 3);
    assert_has(o.out, "\"constraints\": 1");
}

/* H = diag(1 + i, 1 + 5 i), and rows of B' whose real parts alone sum to zero. */
static void imaginary_parts(void **state) {
    (void)state;
    diagnose("%%MatrixMarket matrix coordinate complex symmetric\n"
             "3 3 4\n1 1 1 1\n2 2 1 5\n3 1 1 0\n3 2 1 0\n",
             0);
    assert_has(o.out, "\"kind\": \"saddle-point\"");
    assert_has(o.out, "H is diagonal, with moduli from 1.4 to 5.1");
    diagnose("%%MatrixMarket matrix coordinate complex hermitian\n"
             "6 6 14\n1 1 2 0\n2 1 1 0\n2 2 2 0\n3 3 2 0\n4 3 1 0\n4 4 2 0\n"
             "5 1 0 1\n5 2 0 1\n5 3 0 1\n5 4 0 1\n6 1 0 1\n6 2 0 2\n6 3 0 3\n6 4 0 4\n",
             0);
    assert_has(o.out, "\"kind\": \"saddle-point\"");
    assert_has(o.out, "\"gradient_share\": 0,");
}

/* diag(1, 2; 2, 1) and a 5, times numbers whose squares are no numbers: -1, 3 and 5 of them. */
static void spectra_of_any_size(void **state) {
    (void)state;
    static const char *const powers[] = {"e-200", "", "e200"};
    for (int k = 0; k < 3; k++) {
        char text[256];
        const char *p = powers[k];
        snprintf(text, sizeof text, REAL "3 3 4\n1 1 1%s\n2 1 2%s\n2 2 1%s\n3 3 5%s\n", p, p, p, p);
        diagnose(text, 0);
        const char *at = strstr(o.out, "\"ritz\": [");
        double value[3], weight[3];
        assert_non_null(at);
        assert_has(o.out, "\"exact\": true");
        assert_int_equal(sscanf(at, "\"ritz\": [[%lf, %lf], [%lf, %lf], [%lf, %lf]]", &value[0],
                                &weight[0], &value[1], &weight[1], &value[2], &weight[2]),
                         6);
        const double unit = strtod(k == 0 ? "1e-200" : k == 1 ? "1" : "1e200", NULL);
        double sum = 0, product = 1;
        for (int i = 0; i < 3; i++) sum += value[i] / unit, product *= value[i] / unit;
        assert_true(fabs(sum - 7) < 1e-6 && fabs(product + 15) < 1e-6);
    }
}

static void ranks(void **state) {
    (void)state;
    /* three rows that meet one column alone: structurally singular by two */
    diagnose(REAL "4 4 4\n1 1 1\n2 1 1\n3 1 2\n4 1 3\n", 3);
    assert_has(o.out, "\"structural_rank\": 2");
    assert_has(o.out, "structurally singular by 2");
    assert_has(o.out, "\"repeated_rows\": 2");
    diagnose(REAL "3 3 2\n1 1 1\n3 3 2\n", 3);
    assert_has(o.out, "1 row has no nonzero entry, the first is row 2");
    assert_has(o.out, "\"kind\": \"diagonal\"");
    diagnose(REAL "2 2 2\n1 1 1e-8\n2 2 1e8\n", 0);
    assert_has(o.out, "16 orders of magnitude lie between its rows");
    diagnose(REAL "1 1 1\n1 1 -4\n", 0);
    assert_has(o.out, "\"negative\": 1");
    diagnose(REAL "2 2 0\n", 3);
    assert_has(o.out, "\"kind\": \"zero\"");
}

static void other_types(void **state) {
    (void)state;
    diagnose("%%MatrixMarket matrix coordinate real general\n"
             "3 3 6\n1 1 4\n2 2 5\n3 3 6\n1 2 1\n2 1 3\n3 1 1\n",
             0);
    assert_has(o.out, "\"kind\": \"general\"");
    assert_has(o.out, "\"pairs\": 2, \"differ\": 2, \"alone\": 1, \"largest\": 2");
    diagnose("%%MatrixMarket matrix coordinate real general\n"
             "2 2 4\n1 1 4\n2 2 5\n1 2 1\n2 1 1.0001\n",
             0);
    assert_has(o.out, "\"kind\": \"nearly-symmetric\"");
    assert_has(o.out, "between row 1, column 2 (modulus 1) and its mirror image (1)");
    assert_has(o.out, "--symmetry-tolerance 2.2e-05");
    diagnose("%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 3\n1 2 -3\n", 0);
    assert_has(o.out, "\"kind\": \"skew-symmetric\"");
    diagnose("%%MatrixMarket matrix coordinate complex hermitian\n"
             "2 2 3\n1 1 2 0\n2 1 0 1\n2 2 2 0\n",
             0);
    assert_has(o.out, "\"kind\": \"positive-definite\"");
    diagnose("%%MatrixMarket matrix coordinate complex symmetric\n"
             "2 2 3\n1 1 2 1\n2 1 0 1\n2 2 2 0\n",
             0);
    assert_has(o.out, "\"kind\": \"complex-symmetric\"");
    assert_has(o.out, "has no inertia");
    write_text("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n1\n");
    RUN(&o, NULL, "doctor", "a.mtx");
    assert_code(&o, 0);
    assert_has(o.out, "metapack solve takes as one dense matrix");
}

/* The page loads nothing, has no script, and a file's name is no HTML. */
static void pages(void **state) {
    (void)state;
    static char page[1 << 19];
    static const char *const pictures[] = {"Pattern of A",       "After ordering",
                                           "Sizes of fronts",    "Sizes of pivots",
                                           "Sizes of rows",      "Where the eigenvalues lie",
                                           "Where the time goes"};
    RUN(&o, NULL, "doctor", "--generate", "nlpkkt 5", "-o", "p.html");
    assert_code(&o, 0);
    assert_has(o.out, "What the answer is worth");
    assert_has(o.out, "\nWritten       p.html\n");
    for (const char *line = o.out; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    read_text("p.html", page, sizeof page);
    for (int k = 0; k < 7; k++) assert_non_null(strstr(page, pictures[k]));
    assert_non_null(strstr(page, "prefers-color-scheme:dark"));
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "http"));
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf\""));
    write_text("<b>.mtx", REAL "1 1 1\n1 1 2\n");
    RUN(&o, NULL, "doctor", "<b>.mtx", "-o", "q.html", "-q");
    assert_code(&o, 0);
    assert_string_equal(o.out, "");
    read_text("q.html", page, sizeof page);
    assert_non_null(strstr(page, "&lt;b&gt;.mtx"));
    assert_null(strstr(page, "<b>"));
}

static void refused(void **state) {
    (void)state;
    RUN(&o, NULL, "doctor");
    assert_code(&o, 1);
    RUN(&o, NULL, "doctor", "--generate", "nlpkkt 4", "--seconds", "0");
    assert_code(&o, 1);
    assert_has(o.err, "--seconds = '0': expected seconds");
    RUN(&o, NULL, "doctor", "--generate", "nlpkkt 4", "-o", "p.png");
    assert_code(&o, 1);
    assert_has(o.err, "a page is written as .html");
    RUN(&o, NULL, "doctor", "--generate", "nlpkkt 12", "--memory-limit", "100K", "-q");
    assert_code(&o, 6);
    assert_has(o.err, "metapack doctor: ");
    RUN(&o, NULL, "doctor", "nowhere.mtx", "--json");
    assert_code(&o, 2);
    assert_true(json_valid(o.out));
    write_text("a.mtx", REAL "2 2 2\n1 1 1\n2 2 nan\n");
    RUN(&o, NULL, "doctor", "a.mtx", "-o", "a.html");
    assert_code(&o, 2);
    assert_has(o.err, "a.mtx:4: row 2, column 2: NaN");
    write_text("a.mtx", REAL "0 0 0\n");
    RUN(&o, NULL, "doctor", "a.mtx");
    assert_code(&o, 2);
    assert_has(o.err, "the matrix is empty");
    assert_files(1);
}

/* The time is over before the factorization is: that is said, and the page is there. */
static void short_of_time(void **state) {
    (void)state;
    RUN(&o, NULL, "doctor", "--generate", "helmholtz 3d 24", "--seconds", "0.05", "-o", "p.html");
    assert_code(&o, 0);
    assert_has(o.out, "What was left out");
    assert_has(o.out, "the factorization and all that comes of it");
    assert_files(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(saddle_points, empty_folder),
                                       cmocka_unit_test_setup(laplacians, empty_folder),
                                       cmocka_unit_test_setup(nearly, empty_folder),
                                       cmocka_unit_test_setup(imaginary_parts, empty_folder),
                                       cmocka_unit_test_setup(spectra_of_any_size, empty_folder),
                                       cmocka_unit_test_setup(ranks, empty_folder),
                                       cmocka_unit_test_setup(other_types, empty_folder),
                                       cmocka_unit_test_setup(pages, empty_folder),
                                       cmocka_unit_test_setup(refused, empty_folder),
                                       cmocka_unit_test_setup(short_of_time, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
