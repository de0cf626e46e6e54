/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of a run: its panels, and failures. */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

/* A problem and an analysis by hand, not owned by anyone. */
static mpk_problem problem = {.n = 3, .nnz = 5, .scalar = MPK_D};
static int32_t identity[] = {0, 1, 2}, sptr[] = {0, 1, 3}, ridx[] = {1};
static int64_t rptr[] = {0, 1, 1};
static mpk_analysis analysis = {.n = 3,
                                .nsuper = 2,
                                .sptr = sptr,
                                .rptr = rptr,
                                .ridx = ridx,
                                .perm = identity,
                                .iperm = identity,
                                .info = {.factor_nnz = 5}};
static char folder[] = "/tmp/metapack-plot-XXXXXX";
static char path[64];

static char *slurp(const char *name) {
    FILE *file = fopen(name, "rb");
    if (!file) return NULL;
    char *text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

static mpk_status plot_run(mpk_context *ctx, const mpk_run *run, const mpk_analysis *an,
                           const char *name) {
    mpk_report *report = NULL;
    problem.ctx = ctx;
    problem.ap = (int64_t *)small_ap;
    problem.ai = (int32_t *)small_ai;
    problem.ax = (void *)small_ax;
    mpk_status status = mpk_report_create(ctx, run, &report);
    if (!mpk_failed(status)) status = mpk_report_plot(ctx, report, &problem, an, NULL, name);
    mpk_report_destroy(&report);
    return status;
}

/* Tags open and close in order: what every XML reader asks for first. */
static bool balanced(const char *s) {
    char stack[16][32];
    int depth = 0;
    while ((s = strchr(s, '<'))) {
        const char *end = strchr(s, '>');
        if (!end) return false;
        if (s[1] == '/') {
            int length = (int)(end - s) - 2;
            if (depth == 0 || (int)strlen(stack[depth - 1]) != length ||
                strncmp(stack[--depth], s + 2, (size_t)length))
                return false;
        } else if (end[-1] != '/') {
            if (depth == 16) return false;
            snprintf(stack[depth++], 32, "%.*s", (int)strcspn(s + 1, " >"), s + 1);
        }
        s = end;
    }
    return depth == 0;
}

static int occurrences(const char *text, const char *what) {
    int count = 0;
    for (; (text = strstr(text, what)); text++) count++;
    return count;
}

static void three_panels(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_run run = small_run();
    run.source = "a <b> & \"c\" caf\xc3\xa9 \xff";
    assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
    char *svg = slurp(path);
    assert_non_null(svg);
    assert_true(balanced(svg));
    assert_int_equal(occurrences(svg, "<image"), 2);
    assert_non_null(strstr(svg, "a &lt;b&gt; &amp; \"c\" caf\xc3\xa9 ?"));
    assert_non_null(strstr(svg, "METIS ordering"));
    static const char *const phases[] = {">read<",     ">match<",     ">order<",
                                         ">symbolic<", ">factorize<", ">solve<"};
    for (int k = 0; k < 6; k++) assert_true(occurrences(svg, phases[k]) >= 1);
    free(svg);
    run.source = "/a/long/folder/K.mtx.xz";
    run.analysis.time_match_s = 0; /* nothing was matched: no place in the legend */
    assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
    svg = slurp(path);
    assert_int_equal(occurrences(svg, ">match<"), 0);
    assert_int_equal(occurrences(svg, ">K.mtx.xz<"), 1);
    assert_null(strstr(svg, "folder"));
    free(svg);
    mpk_context_destroy(&ctx);
}

/* Residuals over iterations: a curve of at most 2000 points, whatever the numbers are. */
static void residuals(void **state) {
    (void)state;
    static double history[12345];
    mpk_context *ctx = new_context();
    mpk_run run = small_run();
    run.solve.krylov = (mpk_krylov_info){
        .method = MPK_KRYLOV_SQMR, .iterations = 12345, .tolerance = 1e-6, .residual = 8e-7};
    run.history = history;
    for (int count = 1; count <= 12345; count += 12344) {
        for (int k = 0; k < count; k++)
            history[k] = pow(10, -6.1 * (k + 1) / count) * (1.5 + sin(0.01 * k));
        run.history_count = run.solve.krylov.iterations = count;
        assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
        char *svg = slurp(path);
        assert_true(balanced(svg));
        assert_int_equal(occurrences(svg, "<polyline"), 1);
        const char *points = strstr(svg, "points=\"");
        int commas = 0;
        for (const char *p = points + 8; *p != '"'; p++) commas += *p == ',';
        assert_in_range(commas, count < 2 ? 2 : 1000, 2100);
        assert_non_null(strstr(svg, "Relative residual, SQMR"));
        assert_non_null(strstr(svg, "tolerance"));
        assert_non_null(strstr(svg, ">1e-06<"));
        free(svg);
    }
    history[0] = INFINITY;
    history[1] = NAN;
    history[2] = 0;
    run.history_count = run.solve.krylov.iterations = 3;
    run.solve.krylov.tolerance = 0;
    run.solve.krylov.residual = INFINITY;
    assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
    char *svg = slurp(path);
    assert_true(balanced(svg));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    free(svg);
    mpk_context_destroy(&ctx);
}

/* Names stand in the bar only where they fit; the legend has all of them. */
static void tiny_times(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_run run = small_run();
    run.time_read_s = 1e-9;
    run.analysis.time_s = NAN;
    run.analysis.time_match_s = run.analysis.time_order_s = 0;
    run.solve.time_s = -1;
    assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
    char *svg = slurp(path);
    assert_int_equal(occurrences(svg, ">factorize<"), 2);
    assert_int_equal(occurrences(svg, ">read<"), 1);
    assert_int_equal(occurrences(svg, ">solve<"), 1);
    assert_null(strstr(svg, "nan"));
    free(svg);
    run.factor.time_s = run.time_read_s = 0;
    assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
    svg = slurp(path);
    assert_int_equal(occurrences(svg, "class=\"w\""), 0);
    assert_null(strstr(svg, "nan"));
    free(svg);
    mpk_context_destroy(&ctx);
}

/* All phases that there are, as a caller's own run may have them. */
static void all_phases(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_run run = small_run();
    run.analysis.time_match_s = run.analysis.time_order_s = 1e-3, run.analysis.time_s = 4e-3;
    run.have_selected = run.have_solve = 1;
    run.selected.time_s = run.solve.time_s = run.factor.time_s = run.time_read_s = 1e-3;
    assert_int_equal(plot_run(ctx, &run, &analysis, path), MPK_OK);
    char *svg = slurp(path);
    static const char *const names[] = {"read",      "match",   "order", "symbolic",
                                        "factorize", "inverse", "solve"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char text[20];
        snprintf(text, sizeof text, ">%s<", names[k]);
        assert_true(occurrences(svg, text) >= 1);
    }
    free(svg);
    mpk_context_destroy(&ctx);
}

static void matrix_alone(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_run run = small_run();
    run.have_analysis = run.have_factor = run.have_solve = 0;
    assert_int_equal(plot_run(ctx, &run, NULL, path), MPK_OK);
    char *svg = slurp(path);
    assert_true(balanced(svg));
    assert_int_equal(occurrences(svg, "<image"), 1);
    assert_non_null(strstr(svg, "half bandwidth"));
    free(svg);
    mpk_context_destroy(&ctx);
}

/* Nothing is left where nothing can be written. */
static void no_file(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_run run = small_run();
    char nowhere[96];
    snprintf(nowhere, sizeof nowhere, "%s/none/x.svg", folder);
    assert_int_equal(plot_run(ctx, &run, NULL, nowhere), MPK_ERR_FILE);
    assert_said(ctx, "none/x.svg");
    char taken[96];
    snprintf(taken, sizeof taken, "%s/taken", folder);
    assert_int_equal(mkdir(taken, 0700), 0);
    assert_int_equal(plot_run(ctx, &run, NULL, taken), MPK_ERR_FILE); /* a folder has that name */
    assert_int_equal(rmdir(taken), 0);
    mpk_report *report = NULL;
    assert_int_equal(mpk_report_plot(ctx, NULL, &problem, NULL, NULL, path), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    assert_int_equal(mpk_report_plot(ctx, report, NULL, NULL, NULL, path), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_report_plot(ctx, report, &problem, NULL, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_report_plot(NULL, report, &problem, NULL, NULL, path), MPK_ERR_ARGUMENT);
    mpk_report_destroy(&report);
    mpk_context_destroy(&ctx);
}

static mpk_status plot_all(mpk_context *ctx) {
    mpk_run run = small_run();
    unlink(path);
    mpk_status status = plot_run(ctx, &run, &analysis, path);
    assert_true((access(path, F_OK) == 0) == (status == MPK_OK));
    return status;
}

static void no_memory(void **state) {
    (void)state;
    sweep_allocations(plot_all);
}

static int enter(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/plot.svg", folder);
    return 0;
}

/* The folder must be empty by then: no file left half-written. */
static int leave(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_panels), cmocka_unit_test(tiny_times),
                                       cmocka_unit_test(residuals),    cmocka_unit_test(all_phases),
                                       cmocka_unit_test(matrix_alone), cmocka_unit_test(no_file),
                                       cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, enter, leave);
}
