/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON of a report: its keys, its numbers, hostile strings. */
#include "support.h"

#include <locale.h>

static void assert_keys(const mpk_run *run, const char *expected) {
    char keys[2048];
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    assert_int_equal(mpk_report_create(ctx, run, &report), MPK_OK);
    assert_true(json_valid(mpk_report_json(report)));
    json_keys(mpk_report_json(report), keys, sizeof keys);
    assert_string_equal(keys, expected);
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
}

/* The contract of docs/reference/json.md: these keys, in this order, no others. */
static void keys_of_each_goal(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.options.deterministic = MPK_ON;
    assert_keys(&run, ALL_KEYS);
    run.have_solve = 0;
    assert_keys(
        &run,
        "schema version n nnz scalar symmetry method backend threads ordering ordered_for status "
        "inertia{positive negative zero certified examined} rank{verdict structural} "
        "time_s{read analyse factorize} "
        "factor{nnz flops bytes peak_bytes rejected stages two_by_two growth precision} "
        "options{method ordering matching scaling pivot_threshold zero_tolerance "
        "static_shift threads "
        "model_threads accuracy deterministic seed memory_limit krylov "
        "precision symmetry_tolerance device updates}}");
    run.factor.inertia.examined = 1;
    run.certificate = (mpk_certificate){1, 1, 1e-13, 1e-10};
    assert_keys(
        &run,
        "schema version n nnz scalar symmetry method backend threads ordering ordered_for status "
        "inertia{positive negative zero certified examined} "
        "certificate{vectors contraction miss_bound} rank{verdict structural} "
        "time_s{read analyse factorize} "
        "factor{nnz flops bytes peak_bytes rejected stages two_by_two growth precision} "
        "options{method ordering matching scaling pivot_threshold zero_tolerance "
        "static_shift threads "
        "model_threads accuracy deterministic seed memory_limit krylov "
        "precision symmetry_tolerance device updates}}");
    run.have_factor = 0;
    assert_keys(&run, "schema version n nnz scalar symmetry method ordering ordered_for status "
                      "time_s{read analyse} factor{nnz flops bytes peak_bytes} "
                      "options{method ordering matching scaling pivot_threshold zero_tolerance "
                      "static_shift threads "
                      "model_threads accuracy deterministic seed memory_limit krylov "
                      "precision symmetry_tolerance device updates}}");
    run.have_analysis = 0;
    assert_keys(&run, "schema version n nnz scalar symmetry status time_s{read}}");
    run = (mpk_run){.status = MPK_ERR_FORMAT, .message = "x.mtx:3: bad"};
    assert_keys(&run, "schema version status message}");
}

/* The residuals: all of a short run, every k-th of a long one. */
static void krylov(void **state) {
    (void)state;
    mpk_run run = small_run();
    run.options.deterministic = MPK_ON;
    static double history[2500];
    for (int k = 0; k < 2500; k++) history[k] = 1.0 / (k + 1);
    run.solve.krylov = (mpk_krylov_info){.method = MPK_KRYLOV_SQMR, .iterations = 3, .products = 5};
    run.history = history;
    run.history_count = 3;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    assert_true(json_valid(mpk_report_json(report)));
    assert_non_null(strstr(mpk_report_json(report), "\"method\": \"sqmr\", \"iterations\": 3"));
    assert_non_null(
        strstr(mpk_report_json(report), "\"history_stride\": 1, \"history\": [1, 0.5, 0.3333] }"));
    mpk_report_destroy(&report);
    run.history_count = 2500;
    history[2] = NAN;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    history[5] = 7; /* the report has a copy */
    assert_true(json_valid(mpk_report_json(report)));
    assert_non_null(strstr(mpk_report_json(report),
                           "\"history_stride\": 3, \"history\": [null, 0.1667, 0.1111"));
    assert_true(mpk_report_run(report)->history[5] < 1);
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
    run.history = NULL;
    assert_keys(
        &run,
        "schema version n nnz scalar symmetry method backend threads ordering ordered_for status "
        "inertia{positive negative zero certified examined} rank{verdict structural} "
        "backward_error{normwise componentwise unrefined} relative_residual "
        "iterations accuracy{reached solved componentwise_asked tolerance} krylov{method "
        "iterations products applications restarts "
        "breakdowns tolerance residual recurred gap quasi_gap time_product_s "
        "time_precondition_s} time_s{read analyse factorize solve} "
        "factor{nnz flops bytes peak_bytes rejected stages two_by_two growth precision} "
        "options{method ordering matching scaling pivot_threshold zero_tolerance static_shift "
        "threads "
        "model_threads accuracy deterministic seed memory_limit krylov tolerance max_iterations "
        "precision symmetry_tolerance device updates}}");
}

static void condition_only_where_asked_for(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    mpk_run run = small_run();
    run.solve.condition = 1e6;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    assert_non_null(strstr(mpk_report_json(report), "\"condition\": 1e+06"));
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
}

static void values(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    mpk_run run = small_run();
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    const char *json = mpk_report_json(report);
    static const char *const said[] = {"\"schema\": \"metapack-run/1\"",
                                       "\"n\": 3,",
                                       "\"nnz\": 5,",
                                       "\"scalar\": \"d\"",
                                       "\"threads\": 2",
                                       "\"ordering\": \"metis\"",
                                       "\"status\": \"ok\"",
                                       "\"negative\": 1",
                                       "\"certified\": false, \"examined\": false",
                                       "\"verdict\": \"no_zero_pivot\"",
                                       "\"componentwise\": 1.2e-16",
                                       "\"flops\": 2000000000",
                                       "\"rejected\": 4"};
    for (size_t k = 0; k < sizeof said / sizeof *said; k++)
        if (!strstr(json, said[k])) fail_msg("%s does not say %s", json, said[k]);
    assert_null(strstr(json, "message"));
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
}

/* JSON knows neither NaN nor infinity, nor a decimal comma. */
static void numbers_that_are_none(void **state) {
    (void)state;
    const char *comma = setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* where it is installed */
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    mpk_run run = small_run();
    run.solve.normwise = NAN;
    run.solve.componentwise = INFINITY;
    run.solve.relative_residual = -INFINITY;
    run.factor.growth = 2.5;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    const char *json = mpk_report_json(report);
    assert_true(json_valid(json));
    assert_non_null(strstr(json, "\"normwise\": null, \"componentwise\": null"));
    assert_non_null(strstr(json, "\"relative_residual\": null"));
    assert_non_null(strstr(json, "\"growth\": 2.5"));
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
    if (comma) setlocale(LC_NUMERIC, "C");
}

static void hostile_messages(void **state) {
    (void)state;
    static const struct {
        const char *text, *escaped;
    } cases[] = {{"a \"b\" \\ c", "a \\\"b\\\" \\\\ c"},
                 {"tab\tline\n\x01", "tab\\u0009line\\u000a\\u0001"},
                 {"caf\xc3\xa9", "caf\xc3\xa9"},
                 {"broken \xc3", "broken \\ufffd"},
                 {"\xff\xfe", "\\ufffd\\ufffd"},
                 {"surrogate \xed\xa0\x80", "surrogate \\ufffd\\ufffd\\ufffd"}};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_report *report = NULL;
        mpk_run run = {.status = MPK_ERR_FILE, .message = cases[k].text};
        assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
        assert_true(json_valid(mpk_report_json(report)));
        assert_non_null(strstr(mpk_report_json(report), cases[k].escaped));
        mpk_report_destroy(&report);
    }
    mpk_context_destroy(&ctx);
}

/* One object of energy in both schemas; null without a meter. */
static void energy(void **state) {
    (void)state;
    static const char *const said[] = {
        "\"energy_j\": { \"factorize_cpu\": 3, \"solve_cpu\": 0.5, \"factorize_gpu\": null, "
        "\"solve_gpu\": null, \"solves\": 12, \"no_gpu\": \"no \\\"GPU\\\"\" }",
        "\"energy_j\": { \"factorize_cpu\": null, \"solve_cpu\": null, \"factorize_gpu\": null, "
        "\"solve_gpu\": null, \"no_cpu\": \"none\" }"};
    static const mpk_energy given[] = {{1, 3, 0.5, -1, -1, "", "no \"GPU\""},
                                       {1, -1, NAN, INFINITY, -1, "none", ""}};
    mpk_context *ctx = new_context();
    for (int dense = 0; dense < 2; dense++)
        for (int k = 0; k < 3; k++) {
            mpk_report *report = NULL;
            mpk_run run = small_run();
            run.have_dense = dense;
            run.dense.engine = "cpu-test";
            if (k < 2) run.energy = given[k];
            if (k == 0) run.energy_solves = 12;
            assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
            const char *json = mpk_report_json(report);
            assert_true(json_valid(json));
            if (!strstr(json, k < 2 ? said[k] : "{") || (k == 2 && strstr(json, "energy")))
                fail_msg("dense %d, case %d: %s", dense, k, json);
            mpk_report_destroy(&report);
        }
    mpk_context_destroy(&ctx);
}

/* The judge itself rejects what is not JSON. */
static void judge(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",          "{",           "{} {}",           "{\"a\": nan}", "{\"a\": 1,}",
        "{\"a\" 1}", "{\"a\": 01}", "{\"a\": \"\n\"}", "[1]",          "{\"a\": 1e}",
        "{a: 1}"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        if (json_valid(bad[k])) fail_msg("%s passes", bad[k]);
    assert_true(json_valid("{ \"a\": -1.5e-3, \"b\": { \"c\": null } }\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_of_each_goal),
                                       cmocka_unit_test(krylov),
                                       cmocka_unit_test(condition_only_where_asked_for),
                                       cmocka_unit_test(values),
                                       cmocka_unit_test(numbers_that_are_none),
                                       cmocka_unit_test(hostile_messages),
                                       cmocka_unit_test(energy),
                                       cmocka_unit_test(judge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
