/* SPDX-License-Identifier: BSD-3-Clause */
/** METAPACK_IPOPT_REPORT: a run whose first factor is not accepted, as text and, from a child, as a page. */
#include "../../../plugins/ipopt/report.h"
#include "lower.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One pattern; a factor that nobody solves with, then one with 5 more on the diagonal. */
static void run(void) {
    double x[35] = {0}, *full = kkt_full(25, 10);
    lower a = lower_make(35, 1, full);
    const ip_request request = {1e-8, 1e-20, 0};
    ip_pattern *pattern = NULL;
    ip_factor *fac = NULL;
    assert_int_equal(
        ip_pattern_create(NULL, a.n, a.ptr, a.row, a.base, MPK_ORDERING_AUTO, &pattern), MPK_OK);
    assert_int_equal(ip_factorize(pattern, a.val, &request, &fac), MPK_OK);
    for (int j = 0; j < 25; j++)
        for (int k = a.ptr[j] - 1; k < a.ptr[j + 1] - 1; k++)
            if (a.row[k] == j + 1) a.val[k] += 5;
    assert_int_equal(ip_factorize(pattern, a.val, &request, &fac), MPK_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(ip_solve(fac, 0, 1, x, 35), MPK_OK);
    ip_factor_free(&fac);
    ip_pattern_release(pattern);
    lower_free(&a);
    free(full);
}

static char *content(const char *path) {
    static char text[200000];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    remove(path);
    return text;
}

static void as_text(void **state) {
    (void)state;
    char path[100];
    snprintf(path, sizeof path, "ipopt-report-%ld.txt", (long)getpid());
    setenv("METAPACK_IPOPT_REPORT", path, 1);
    run();
    const char *text = content(path);
    assert_non_null(strstr(text, "Factorizations: 2, analyses: 1, solves: 3"));
    assert_non_null(strstr(text, "Not accepted: 1, 0 of them singular, 1 with an inertia"));
    assert_non_null(strstr(text, "Corrections of the diagonal alone: 1, the largest by 5;"));
    assert_non_null(strstr(text, "3 in the mean, 3 at most"));
    assert_non_null(strstr(text, "Pattern 1: order 35"));
    unsetenv("METAPACK_IPOPT_REPORT");
}

/* The child's own run, written when it ends, under a name of its own. */
static void a_child_as_a_page(void **state) {
    (void)state;
    char path[100], own[140];
    int told = 0;
    snprintf(path, sizeof path, "ipopt-report-%ld", (long)getpid());
    const pid_t child = fork();
    if (child == 0) {
        char name[140];
        snprintf(name, sizeof name, "%s.html", path);
        setenv("METAPACK_IPOPT_REPORT", name, 1);
        run();
        run(); /* too soon after the first to be written before the end */
        exit(0);
    }
    assert_int_equal(waitpid(child, &told, 0), child);
    assert_int_equal(told, 0);
    snprintf(own, sizeof own, "%s-%ld.html", path, (long)child);
    const char *text = content(own);
    assert_non_null(strstr(text, "<li>Factorizations: 4, analyses: 2, solves: 6"));
    assert_non_null(strstr(text, "Correction of the diagonal"));
    assert_non_null(strstr(text, "</html>"));
    assert_null(strstr(text, "nan"));
}

static void nothing_unless_asked(void **state) {
    (void)state;
    unsetenv("METAPACK_IPOPT_REPORT");
    assert_int_equal(ip_report_pattern(3, 3), 0);
    run();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_text),
                                       cmocka_unit_test(a_child_as_a_page),
                                       cmocka_unit_test(nothing_unless_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
