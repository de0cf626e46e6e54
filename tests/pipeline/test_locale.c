/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever the program's locale has for a decimal point: options, files and reports are the same
 * bytes. Two locales are made for the test, one with a comma, one with a character of two bytes. */
#include "report/support.h"
#include "folder.h"

#include <locale.h>
#include <unistd.h>

/* The file's bytes; zeros behind them. */
static void content(const char *path, char *text, size_t size) {
    memset(text, 0, size);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, size - 1, file) < size - 1);
    fclose(file);
}

typedef struct outputs {
    char text[8192], json[8192], plot[65536], matrix[65536], solution[8192];
    double answer[5];
} outputs;

static void run_all(outputs *out) {
    mpk_context *ctx = new_context();
    mpk_problem *problem = NULL, *generated = NULL;
    mpk_report *report = NULL;
    mpk_options o;
    mpk_run run = small_run();
    static const double x[5] = {1.5, -2.25, 1e-300, 1e300, 0.1};
    int32_t nrhs;
    void *b = NULL;
    mpk_options_init(&o);
    assert_int_equal(mpk_options_set(ctx, &o, "pivot-threshold", "0.25"), MPK_OK);
    assert_true(o.pivot_threshold == 0.25);
    assert_int_equal(mpk_options_set(ctx, &o, "pivot-threshold", "0,25"), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_read(ctx, METAPACK_DATA "/tiny/kkt.mtx", &problem), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 4 0.3", 1, &generated), MPK_OK);
    assert_int_equal(mpk_problem_write(ctx, generated, in_folder("a.mtx")), MPK_OK);
    content(in_folder("a.mtx"), out->matrix, sizeof out->matrix);
    assert_int_equal(mpk_rhs_write(ctx, in_folder("x.mtx"), 5, MPK_D, 1, x, 5), MPK_OK);
    content(in_folder("x.mtx"), out->solution, sizeof out->solution);
    assert_int_equal(mpk_rhs_read(ctx, in_folder("x.mtx"), 5, MPK_D, &nrhs, &b), MPK_OK);
    assert_memory_equal(b, x, sizeof x);
    memcpy(out->answer, b, sizeof x);
    mpk_free(ctx, &b);
    run.solve.condition = 1234.5;
    run.factor.growth = 2.5;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    snprintf(out->text, sizeof out->text, "%s", mpk_report_text(report));
    snprintf(out->json, sizeof out->json, "%s", mpk_report_json(report));
    assert_true(json_valid(out->json));
    assert_int_equal(mpk_report_plot(ctx, report, problem, NULL, NULL, in_folder("p.svg")), MPK_OK);
    content(in_folder("p.svg"), out->plot, sizeof out->plot);
    mpk_report_destroy(&report);
    mpk_problem_destroy(&problem);
    mpk_problem_destroy(&generated);
    mpk_context_destroy(&ctx);
}

/* A locale with this decimal point, by the system's own compiler; false where there is none. */
static bool make_locale(const char *name, const char *point) {
    char command[512];
    FILE *file = fopen(in_folder("source"), "w");
    assert_non_null(file);
    fprintf(file,
            "LC_CTYPE\ncopy \"i18n\"\nEND LC_CTYPE\nLC_NUMERIC\ndecimal_point \"%s\"\n"
            "thousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n",
            point);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "localedef -c -f UTF-8 -i %s/source %s/%s >/dev/null 2>&1",
             folder, folder, name);
    if (system(command) < 0) return false; /* it warns of the categories that are not there */
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_NUMERIC, name) != NULL;
}

static void same_bytes(void **state) {
    (void)state;
    static const char *const points[] = {"<U002C>", "<U066B>"};
    static outputs plain, other;
    char shown[32];
    run_all(&plain);
    for (int k = 0; k < 2; k++) {
        char name[32];
        snprintf(name, sizeof name, "test%d.UTF-8", k);
        if (!make_locale(name, points[k])) {
            print_message("no localedef here: nothing to compare with\n");
            skip();
        }
        snprintf(shown, sizeof shown, "%.1f", 1.5);
        assert_string_equal(shown, k ? "1\xd9\xab"
                                       "5"
                                     : "1,5"); /* else nothing is tested */
        run_all(&other);
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(other.text, plain.text);
        assert_string_equal(other.json, plain.json);
        assert_string_equal(other.plot, plain.plot);
        assert_string_equal(other.matrix, plain.matrix);
        assert_string_equal(other.solution, plain.solution);
        assert_memory_equal(other.answer, plain.answer, sizeof plain.answer);
    }
}

static int enter(void **state) {
    (void)state;
    return !mkdtemp(folder);
}

static int leave(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bytes)};
    return cmocka_run_group_tests(tests, enter, leave);
}
