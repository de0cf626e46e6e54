/* SPDX-License-Identifier: BSD-3-Clause */
/* Rutherford-Boeing files: formats, fields, what is refused. */
#include "reading.h"

#include "problem/fortran.h"
#include <complex.h>
#include <math.h>

#define TITLE                                                                                      \
    "Three unknowns                                                          KEY     \n"           \
    "             4             1             1             2\n"

/* [ 4 1 0; 1 0 2; 0 2 5 ] in formats that are met. */
static void formats(void **state) {
    (void)state;
    static const char *const files[] = {
        TITLE "rsa                        3             3             5             0\n"
              "(4I3)           (5I3)           (3E9.3)             \n"
              "  1  3  5  6\n  1  2  2  3  3\n .400E+01 .100E+01 .000E+00\n .200E+01 .500E+01\n",
        /* scale factor, D, numbers without blanks between, CRLF, short lines */
        TITLE "RSA            3  3  5  0\r\n"
              "(40I2)          (3I2)           (1P,5D9.2)\r\n"
              " 1 3 5 6\r\n 1 2 2\r\n 3 3\r\n 4.00D+00 1.00D+00 0.00D+00 2.00D+00 5.00D+00\r\n",
        /* integers as values, implied decimals */
        TITLE "isa            3  3  5  0\n(4I1)(5I1)(5I2)\n1356\n12233\n 4 1 0 2 5\n",
        TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.1)\n1356\n12233\n 40 10  0 20 50\n",
        /* exponent without letter; the whole matrix as unsymmetric; upper triangle */
        TITLE "rua            3  3  7  0\n(4I1)(7I1)(2E7.1)\n1368\n1212323\n 0.4+01  1.+00\n  "
              "1.+00   .000\n"
              "  2.    2.    \n  5.0e00\n",
        TITLE "rsa            3  3  5  0\n(1X,4I1)(5I1)(1P4E8.1)\n",
        TITLE "rsa            3  3  5  0\n(4I1)(5I1)((5F3.0))\n1246\n11223\n 4. 1. 0. 2. 5.\n",
        /* Harwell-Boeing with a right-hand side */
        "title\n 5 1 1 2 1\nrsa            3  3  5  0\n(4I1)(5I1)(5F3.0)(5F3.0)\nF 1 "
        "0\n1356\n12233\n"
        " 4. 1. 0. 2. 5.\n 1. 1. 1.\n",
    };
    static const int64_t ap[] = {0, 2, 4, 5};
    static const int32_t ai[] = {0, 1, 1, 2, 2};
    static const double ax[] = {4, 1, 0, 2, 5};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        mpk_problem *p = NULL;
        mpk_problem_view v;
        mpk_status status = read_text(ctx, files[k], &p);
        if (strstr(files[k], "1X")) { /* not understood, and said so */
            assert_int_equal(status, MPK_ERR_FORMAT);
            assert_said(ctx, "Fortran formats");
            continue;
        }
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        if (mpk_failed(status)) fail_msg("file %zu: %s", k, text);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.n, 3);
        assert_int_equal(v.scalar, MPK_D);
        assert_int_equal(v.nnz, 5);
        assert_memory_equal(v.ap, ap, sizeof ap);
        assert_memory_equal(v.ai, ai, sizeof ai);
        assert_memory_equal(v.ax, ax, sizeof ax);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

static void complex_and_pattern(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mpk_symmetry symmetry;
        double complex value; /* of row 2, column 1 */
    } cases[] = {
        {TITLE "csa            2  2  2  0\n(3I1)(2I1)(4F3.0)\n123\n12\n 1.-1.\n", MPK_SYMMETRIC, 0},
        {TITLE "csa            2  2  2  0\n(3I1)(2I1)(4F3.0)\n133\n12\n 1.-1. 2. 3.\n",
         MPK_SYMMETRIC, 2 + 3 * I},
        {TITLE "cha            2  2  2  0\n(3I1)(2I1)(4F3.0)\n133\n12\n 1. 0. 2. 3.\n",
         MPK_HERMITIAN, 2 + 3 * I},
        {TITLE "cua            2  2  3  0\n(3I1)(3I1)(2F3.0)\n134\n121\n 1. 0.\n 2. 3.\n 2.-3.\n",
         MPK_HERMITIAN, 2 + 3 * I},
        {TITLE "cua            2  2  3  0\n(3I1)(3I1)(2F3.0)\n134\n121\n 1. 0.\n 2. 3.\n 2. 3.\n",
         MPK_SYMMETRIC, 2 + 3 * I},
        {TITLE "psa            2  2  2  0\n(3I1)(2I1)\n133\n12\n", MPK_SYMMETRIC, 1},
    };
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *p = NULL;
        mpk_problem_view v;
        mpk_status status = read_text(ctx, cases[k].text, &p);
        if (k == 0) { /* cut off in the values */
            assert_int_equal(status, MPK_ERR_FORMAT);
            assert_said(ctx, "this line of the values");
            continue;
        }
        assert_int_equal(status, MPK_OK);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.symmetry, cases[k].symmetry);
        assert_int_equal(v.ai[1], 1);
        if (v.scalar == MPK_Z)
            assert_true(((const double complex *)v.ax)[1] == cases[k].value);
        else
            assert_true(((const double *)v.ax)[1] == creal(cases[k].value));
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

static void refused(void **state) {
    (void)state;
    static const refused_text cases[] = {
        {"a\nb\n", MPK_ERR_FORMAT, "neither Matrix Market"},
        {"a\nb\nrsb 1 1\n", MPK_ERR_FORMAT, "neither Matrix Market"},
        {TITLE "pza            3  3  5  0\n", MPK_ERR_INPUT,
         "text:3: type 'pza': the matrix is a skew-symmetric pattern"},
        {TITLE "rra            3  4  5  0\n", MPK_ERR_INPUT, "rectangular"},
        {TITLE "rse            3  3  5  0\n", MPK_ERR_INPUT, "unassembled"},
        {TITLE "qsa            3  3  5  0\n", MPK_ERR_INPUT, "another file"},
        {TITLE "rsa            3  4  5  0\n", MPK_ERR_INPUT, "not square"},
        {TITLE "rsa            0  0  0  0\n", MPK_ERR_INPUT, "empty"},
        {TITLE "rsa            3  x\n", MPK_ERR_FORMAT, "rows, columns"},
        {TITLE "rsa            3  3  5  0\n", MPK_ERR_FORMAT, "formats"},
        {TITLE "rsa            3  3  5  0\n(4I0)(5I1)(5F2.0)\n", MPK_ERR_FORMAT, "formats"},
        {TITLE "rsa            3  3  5  0\n(99999I1)(5I1)(5F2.0)\n", MPK_ERR_FORMAT, "formats"},
        {TITLE "rsa            3  3  5  0\n(4F4.1)(5I1)(5F2.0)\n", MPK_ERR_FORMAT, "formats"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1357\n", MPK_ERR_FORMAT,
         "pointer 4 is 7"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1355\n", MPK_ERR_FORMAT,
         "end with 5"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1326\n", MPK_ERR_FORMAT,
         "pointer 3 is 2"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n2356\n", MPK_ERR_FORMAT,
         "pointer 1 is 2"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n135\n", MPK_ERR_FORMAT,
         "expected 4 numbers"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1356\n12243\n", MPK_ERR_INPUT,
         "row 4, column 2 is outside"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1356\n1x233\n", MPK_ERR_FORMAT,
         "'x'"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1356\n12233\n", MPK_ERR_FORMAT,
         "cut off"},
        {TITLE "rsa            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1356\n12233\n 4. 1.nan 2. 5.\n",
         MPK_ERR_INPUT, "text:7: row 2, column 2: NaN"},
        {TITLE "rsa            2  2  9999999  0\n(3I1)(1I1)(5F3.0)\n122\n2\n 4.\n", MPK_ERR_FORMAT,
         "characters follow"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

static void format_strings(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mpki_fortran want;
    } good[] = {
        {"(10I8)", {0, 10, 'I', 8, 0}},
        {"(4E20.12)", {0, 4, 'E', 20, 12}},
        {"(1P,4E20.12)", {1, 4, 'E', 20, 12}},
        {"(1P4D20.12)", {1, 4, 'E', 20, 12}},
        {" ( 1P , 3 E25.16E3 ) ", {1, 3, 'E', 25, 16}},
        {"(5(E16.8))", {0, 5, 'E', 16, 8}},
        {"(2(3F8.2))", {0, 6, 'E', 8, 2}},
        {"(i10)", {0, 1, 'I', 10, 0}},
        {"(-2P,G12.4)", {-2, 1, 'E', 12, 4}},
        {"(3ES22.15)", {0, 3, 'E', 22, 15}},
    };
    static const char *const bad[] = {"",       "10I8",       "(10I8",     "()",      "(I)",
                                      "(10X)",  "(0I8)",      "(I8.)",     "(E8.2E)", "(I300)",
                                      "(-3I5)", "((((I5))))", "(99(99I1))"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        mpki_fortran f;
        const char *p = good[k].text;
        if (!mpki_fortran_parse(&p, &f)) fail_msg("%s is not read", good[k].text);
        assert_int_equal(f.scale, good[k].want.scale);
        assert_int_equal(f.per_line, good[k].want.per_line);
        assert_int_equal(f.letter, good[k].want.letter);
        assert_int_equal(f.width, good[k].want.width);
        assert_int_equal(f.decimals, good[k].want.decimals);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        mpki_fortran f;
        const char *p = bad[k];
        if (mpki_fortran_parse(&p, &f)) fail_msg("%s is read", bad[k]);
    }
}

/* What Fortran makes of a field that plain readers would take otherwise. */
static void fortran_values(void **state) {
    (void)state;
    static const struct {
        const char *format, *field;
        double want;
    } cases[] = {
        {"(F6.2)", "  1234", 12.34},      {"(F6.2)", " 1.234", 1.234},
        {"(2P,F6.2)", " 1.234", 0.01234}, {"(2P,E8.1)", " 1.2E+01", 12},
        {"(E8.3)", "  1234+2", 123.4},    {"(E9.3)", " 1.234-2 ", 0.01234},
        {"(D9.3)", "1.5D 2", 150},        {"(E9.3)", "-1 2.5 ", -12.5},
        {"(E12.3)", "1.5E-400", 0},       {"(I4)", " -17", -17},
    };
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpki_stream *stream = NULL;
        mpki_fortran f;
        const char *p = cases[k].format;
        double x = NAN;
        assert_true(mpki_fortran_parse(&p, &f));
        assert_int_equal(
            mpki_stream_memory(ctx, "text", cases[k].field, strlen(cases[k].field), &stream),
            MPK_OK);
        mpki_text text = {.ctx = ctx, .stream = stream};
        mpki_fields fields = {.text = &text, .format = &f, .what = "values"};
        assert_int_equal(mpki_fields_real(&fields, &x), MPK_OK);
        if (x != cases[k].want) fail_msg("%s of '%s' is %.17g", cases[k].format, cases[k].field, x);
        mpki_stream_close(&stream);
    }
    mpk_context_destroy(&ctx);
}

static mpk_status one_file(mpk_context *ctx) {
    mpk_problem *p = NULL;
    mpk_status status = read_text(
        ctx,
        TITLE
        "rua            3  3  7  0\n(4I1)(7I1)(7F3.0)\n1368\n1212323\n 4. 1. 1. 0. 2. 2. 5.\n",
        &p);
    mpk_problem_destroy(&p);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(one_file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),        cmocka_unit_test(complex_and_pattern),
        cmocka_unit_test(refused),        cmocka_unit_test(format_strings),
        cmocka_unit_test(fortran_values), cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
