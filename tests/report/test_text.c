/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a report: what is said, how wide, of strange names and numbers. */
#include "support.h"

/* The text of a run; each line at most 100 columns, none with a blank at its end. */
static void check(const mpk_run *run, const char *const *said, const char *unsaid) {
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    assert_int_equal(mpk_report_create(ctx, run, &report), MPK_OK);
    const char *text = mpk_report_text(report);
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        assert_int_equal(line[length], '\n');
        if (length > 100) fail_msg("%zu columns: %.*s", length, (int)length, line);
        assert_true(length > 0 && line[length - 1] != ' ');
        line += length + 1;
    }
    char *whole = unbroken(text);
    for (; *said; said++)
        if (!strstr(whole, *said)) fail_msg("does not say \"%s\":\n%s", *said, text);
    if (unsaid && strstr(whole, unsaid)) fail_msg("says \"%s\":\n%s", unsaid, text);
    free(whole);
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
}

#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void good_run(void **state) {
    (void)state;
    mpk_run run = small_run();
    check(&run,
          SAYS("small.mtx", "n = 3, 5 entries", "real symmetric", "METIS ordering", "matching on",
               "1 234 supernodes", "LDL^T, cpu-test, 2 threads; 2.00 GFLOP at 4.00 GFLOP/s",
               "1 of 2x2, 4 columns delayed", "2 positive, 1 negative, 0 zero; not examined",
               "componentwise backward error 1.2e-16 (3.0e-12 before refinement)", "predicted 96 B",
               "read 250 ms, analyse 500 ms, factorize 500 ms, solve 125 ms", "Result        good"),
          "NOT");
}

/* What a terminal would obey and what is no UTF-8 is not shown; no character is cut in two. */
static void strange_names(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.source = "a\033[2Jb\rc\td\x7f"
                 "e\xff\xfe"
                 "f\xc2\x9bg.mtx";
    check(&run, SAYS("a?[2Jb?c?d?e??f??g.mtx"), NULL);
    char name[1200] = "";
    for (int k = 0; k < 590; k++) strcat(name, "\xc3\xa4");
    run.source = name;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    for (const char *s = mpk_report_text(report); *s; s += json_character(s))
        assert_true(json_character(s) > 0);
    assert_non_null(strstr(mpk_report_text(report), "..."));
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
}

/* Counts at the ends of their type. */
static void largest_counts(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.status = MPK_SINGULAR;
    run.factor.inertia.zero = INT64_MAX;
    run.problem.n = -2;
    run.solve.condition = 5e-324;
    check(&run, SAYS("9 223 372 036 854 775 807 zero pivots"), NULL);
}

static void krylov_method(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.solve.krylov = (mpk_krylov_info){.method = MPK_KRYLOV_SQMR,
                                         .iterations = 1234,
                                         .products = 1300,
                                         .applications = 1235,
                                         .tolerance = 1e-6,
                                         .residual = 8e-7,
                                         .recurred = 7e-7,
                                         .gap = 1.5,
                                         .quasi_gap = 23,
                                         .time_product_s = 0.25,
                                         .time_precondition_s = 0.5};
    check(
        &run,
        SAYS("1 right-hand side by SQMR: 1 234 iterations",
             "1 300 products with A in 250 ms, 1 235 of the preconditioner in 500 ms",
             "8.0e-07 relative and true (asked: 1.0e-06), 7.0e-07 as recurred; largest gap 1.5, 23 "
             "to the quasi-residual"),
        "refinement");
    run.solve.krylov.method = MPK_KRYLOV_IDR;
    run.solve.krylov.restarts = 2;
    run.solve.krylov.breakdowns = 1;
    run.status = MPK_NOT_CONVERGED;
    run.message = "idr: 10 iterations were not enough";
    check(&run,
          SAYS("IDR(s)", "2 restarts, 1 breakdown",
               "NOT CONVERGED: idr: 10 iterations were not enough"),
          NULL);
}

/* Of a matrix that was given whole, and is not quite its mirror image. */
static void triangles_that_differ(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.asymmetry = (mpk_asymmetry){1, 0, 2e-14};
    check(&run,
          SAYS("1 entry and its mirror image differs, by up to 2.0e-14 of the larger: the mean"),
          "more than rounding");
    run.asymmetry = (mpk_asymmetry){12, 3, 1e-7};
    check(&run,
          SAYS("12 entries and their mirror images differ, by up to 1.0e-07 of the larger; that is "
               "more than rounding leaves"),
          NULL);
}

static void what_is_off_is_said(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.factor.inertia.examined = 1;
    run.certificate = (mpk_certificate){0, 1, 7.5, 1};
    check(&run, SAYS("NOT certified", "The inertia is not certified", "off by 7.5"), NULL);
    run.factor.inertia.certified = 1;
    run.certificate = (mpk_certificate){1, 2, 1e-6, 2e-10};
    check(&run, SAYS("0 zero; certified", "by 2 random vectors", "2e-10"), "NOT");
    run.status = MPK_INACCURATE;
    run.message = "A is singular to working precision, or nearly so";
    check(&run, SAYS("NOT TO BE TRUSTED: A is singular to working"), "Result        good");
    run.solve.componentwise = 1.2e-12;
    check(&run, SAYS("ACCURACY NOT REACHED", "1.2e-12"), "Result        good");
    run.status = MPK_PERTURBED;
    run.factor.perturbed = 2;
    check(&run, SAYS("2 pivots perturbed by the static shift", "as asked"), NULL);
    run = small_run();
    run.status = MPK_SINGULAR;
    run.factor.inertia = (mpk_inertia){1, 1, 1, 0, 0};
    run.factor.rank = MPK_RANK_NUMERICAL;
    run.factor.rank_bound = 3e-17;
    check(
        &run,
        SAYS("SINGULAR to working precision: 1 zero pivot, so the numerical rank is at most 2 of 3",
             "3.0e-17", "is consistent"),
        NULL);
    run.solve.relative_residual = 1e-3;
    check(&run, SAYS("a system near this one"), "consistent");
    run.solve.solved = 0;
    check(&run, SAYS("is not consistent: no x solves the system"), NULL);
    run.solve.solved = 1;
    run.factor.rank = MPK_RANK_STRUCTURAL;
    run.analysis.structural_rank = 2;
    check(&run, SAYS("SINGULAR by structure: whatever its values, the rank is at most 2 of 3"),
          NULL);
    run.factor.rank = MPK_RANK_NUMERICAL;
    run.analysis.structural_rank = 3;
    run.solve.relative_residual = 2e-16;
    run.have_solve = 0;
    check(&run, SAYS("the numerical rank is at most 2 of 3"), "consistent");
    run.have_solve = 1;
    run.solve.normwise = run.solve.relative_residual = 1e-3, run.solve.solved = 0;
    check(&run, SAYS("not consistent: no x"), NULL);
    run.have_factor = run.have_solve = 0;
    run.analysis.structural_rank = 2;
    check(&run, SAYS("SINGULAR by structure", "rank at most 2 of 3"), NULL);
    run.status = MPK_ERR_MEMORY;
    run.message = "the factorization needs 3 GB";
    check(&run, SAYS("FAILED: the factorization needs 3 GB"), NULL);
}

static void complex_symmetric_has_no_inertia(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.problem.scalar = MPK_Z;
    run.factor.inertia = (mpk_inertia){0};
    check(&run, SAYS("without meaning", "complex symmetric"), "not certified");
    run.problem.symmetry = MPK_HERMITIAN;
    check(&run, SAYS("LDL^H", "Hermitian", "not examined"), NULL);
}

static void reading_tells_of_the_matrix(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.have_analysis = run.have_factor = run.have_solve = 0;
    check(&run,
          SAYS("2.3 entries on average, 3 in the longest; half bandwidth 1",
               "3 stored, 1 of them zero; 0 not stored", "from 1 to 5 in modulus; 1 explicit zero"),
          "Result");
}

/* Names without blanks cannot be broken at one. */
static void long_names_and_wild_numbers(void **state) {
    (void)state;
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    mpk_run run = small_run();
    run.source = name;
    run.problem.n = INT32_MAX;
    run.problem.nnz = INT64_MAX;
    run.factor.inertia = (mpk_inertia){INT64_MAX, INT64_MAX, INT64_MAX, 0, 0};
    run.factor.flops = INFINITY;
    run.factor.time_s = NAN;
    run.solve.componentwise = NAN;
    run.factor.bytes = INT64_MAX;
    check(&run, SAYS("not finite", "9 223 372 036 854 775 807 positive"), NULL);
}

/* A part without a figure is never told as 0 J. */
static void energy(void **state) {
    (void)state;
    mpk_run run = small_run();
    check(&run, SAYS("Result"), "Energy");
    run.energy = (mpk_energy){1, 3, 0.5, -1, -1, "", "no GPU was asked for"};
    check(&run,
          SAYS("Energy        of the processor: factorization 3 J, solve 500 mJ",
               "of the GPU not available: no GPU was asked for"),
          "not measured");
    run.energy = (mpk_energy){1, 3, -1, -1, -1, "", ""};
    check(
        &run,
        SAYS("of the processor: factorization 3 J, solve not measured", "of the GPU: not measured"),
        " 0 J");
    run.energy = (mpk_energy){1, 3, 0.5, 40, 0.02, "", ""}; /* repeated */
    run.energy_solves = 51;
    check(&run, SAYS("of the GPU: factorization 40 J, solve 20 mJ", "solve: mean of 51 more"),
          "factorization: mean");
    run.energy_factorizations = 3;
    check(&run, SAYS("means of 3 factorizations and 51 solves more"), "mean of");
    run.energy_factorizations = run.energy_solves = 0;
    run.energy = (mpk_energy){1, 3, -1, -1, -1, "", ""};
    run.have_solve = 0; /* of an inertia: there is no solve */
    check(&run, SAYS("of the processor: factorization 3 J", "of the GPU: not measured"),
          "solve not measured");
    run.have_dense = 1, run.dense.engine = "cpu-test"; /* all is in solve */
    run.energy = (mpk_energy){1, -1, 2, -1, -1, "", ""};
    check(&run, SAYS("of the processor: 2 J", "of the GPU: not measured"), "factorization");
    run.energy = (mpk_energy){1, -1, 0.0042, -1, 0, "", ""}; /* a counter that has not moved */
    check(&run, SAYS("of the processor: 4.20 mJ", "of the GPU: 0 J"), "not measured");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_run),
                                       cmocka_unit_test(krylov_method),
                                       cmocka_unit_test(strange_names),
                                       cmocka_unit_test(largest_counts),
                                       cmocka_unit_test(triangles_that_differ),
                                       cmocka_unit_test(what_is_off_is_said),
                                       cmocka_unit_test(complex_symmetric_has_no_inertia),
                                       cmocka_unit_test(reading_tells_of_the_matrix),
                                       cmocka_unit_test(long_names_and_wild_numbers),
                                       cmocka_unit_test(energy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
