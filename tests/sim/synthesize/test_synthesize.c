/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers from descriptions: written, compiled with warnings as errors, run on a file, and compared
 * with the library's answer and inertia. */
#include "factor/runs.h"

#include "sim/synthesize/synthesize.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/metapack-synthesize-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static int run_command(const char *format, ...) {
    char command[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    return system(command);
}

static double *read_vector(const char *path, int n) {
    FILE *f = fopen(path, "r");
    double *x = calloc((size_t)n, sizeof *x);
    if (!f || fscanf(f, "%*[^\n] %*d %*d") == EOF) fail_msg("no %s", path);
    for (int k = 0; k < n; k++) assert_int_equal(fscanf(f, "%lf", &x[k]), 1);
    fclose(f);
    return x;
}

/* The solver's answer to A x = A 1 beside the library's, and the inertia. */
static void compare(const char *spec, const char *where) {
    mpk_context *ctx = context();
    mpk_options o;
    mpk_options_init(&o);
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    char path[160];
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    snprintf(path, sizeof path, "%s/a.mtx", folder);
    assert_int_equal(mpk_problem_write(ctx, problem, path), MPK_OK);
    if (run_command("cd %s && %s/solve a.mtx - x.mtx 2>tell", folder, where) != 0) {
        run_command("cat %s/tell", folder);
        fail_msg("%s: the solver failed", spec);
    }
    double *ones = malloc((size_t)a.n * sizeof *ones), *b = malloc((size_t)a.n * sizeof *b);
    for (int k = 0; k < a.n; k++) ones[k] = 1;
    assert_int_equal(mpk_problem_multiply(ctx, problem, 1, ones, a.n, b, a.n), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, a.n, b, a.n, &o, NULL), MPK_OK);
    snprintf(path, sizeof path, "%s/x.mtx", folder);
    double *x = read_vector(path, a.n), worst = 0, most = 0;
    for (int k = 0; k < a.n; k++) {
        worst = fmax(worst, fabs(x[k] - b[k]));
        most = fmax(most, fabs(b[k]));
    }
    if (!(worst <= 1e-10 * most)) fail_msg("%s: x differs by %g", spec, worst / most);
    mpk_factor_info_get(fac, &info);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "'^inertia %lld %lld (not certain)$'",
             (long long)info.inertia.positive, (long long)info.inertia.negative);
    if (run_command("grep -q %s %s/tell", wanted, folder) != 0) {
        run_command("cat %s/tell", folder);
        fail_msg("%s: not %s", spec, wanted);
    }
    free(ones), free(b), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void check(const sim_description *d, const char *compiler) {
    char text[SIM_SYNTHESIZE_TEXT], where[128];
    const char *cc = getenv("BORG_CC");
    if (cc && strcmp(cc, "none") == 0) skip(); /* the build without sanitizers compiles them */
    snprintf(where, sizeof where, "%s/%s", folder, d->target);
    if (sim_synthesize(d, where, text) != 0) fail_msg("%s", text);
    if (run_command("make -C %s CC=%s CFLAGS=-O1 >%s/log 2>&1", where, compiler, folder) != 0) {
        run_command("head -20 %s/log", folder);
        fail_msg("%s does not compile it", compiler);
    }
    compare("lp-kkt 60 110 3", where); /* frames are pushed back */
    compare("quasi-definite 6", where);
    run_command("rm -rf %s", where);
}

static void test_c(void **unused) {
    (void)unused;
    check(&(sim_description){"ldlt", "full", "outer", "c", 8}, "gcc");
}

static void test_hls(void **unused) {
    (void)unused;
    check(&(sim_description){"ldlt", "full", "outer", "hls", 4}, "gcc");
}

static void test_clang(void **unused) {
    (void)unused;
    if (system("clang --version >/dev/null 2>&1") != 0) skip();
    check(&(sim_description){"ldlt", "full", "outer", "c", 4}, "clang");
}

/* Level of fill: a preconditioner; refinement gets there, or the exit code says that it did not. */
static void test_incomplete(void **unused) {
    (void)unused;
    char text[SIM_SYNTHESIZE_TEXT], where[128];
    const sim_description d = {"ldlt", "level:3", "none", "c", 4};
    snprintf(where, sizeof where, "%s/level", folder);
    if (sim_synthesize(&d, where, text) != 0) fail_msg("%s", text);
    assert_int_equal(run_command("make -C %s CFLAGS=-O1 >%s/log 2>&1", where, folder), 0);
    compare("quasi-definite 6", where);
}

/* A GPU's is written; nvcc, where there is one, is asked elsewhere. */
static void test_cuda(void **unused) {
    (void)unused;
    char text[SIM_SYNTHESIZE_TEXT], where[128];
    const sim_description d = {"ldlt", "full", "outer", "cuda", 8};
    snprintf(where, sizeof where, "%s/gpu", folder);
    if (sim_synthesize(&d, where, text) != 0) fail_msg("%s", text);
    assert_int_equal(run_command("grep -q 'factorize_threads = ' %s/kernels.cu", where), 0);
    assert_int_equal(run_command("grep -q 'downdate_groups = ' %s/kernels.cu", where), 0);
    assert_int_equal(run_command("grep -q 'kernels.cu' %s/Makefile", where), 0);
    assert_int_not_equal(run_command("grep -q 'XX_' %s/solver.h %s/Makefile", where, where), 0);
}

static void refuse(const sim_description *d, const char *where, int code, const char *words) {
    char text[SIM_SYNTHESIZE_TEXT];
    assert_int_equal(sim_synthesize(d, where, text), code);
    if (!strstr(text, words)) fail_msg("not '%s' but '%s'", words, text);
}

static void test_refusals(void **unused) {
    (void)unused;
    char where[128], path[160];
    struct stat s;
    snprintf(where, sizeof where, "%s/none", folder);
    refuse(&(sim_description){"llt", "full", "outer", "c", 8}, where, 1,
           "--type llt: expected ldlt");
    refuse(&(sim_description){"ldlt", "level:x", "outer", "c", 8}, where, 1, "full or level:K");
    refuse(&(sim_description){"ldlt", "full", "inner", "c", 8}, where, 1, "static control flow");
    refuse(&(sim_description){"ldlt", "full", "outer", "vhdl", 8}, where, 1, "c, hls or cuda");
    refuse(&(sim_description){"ldlt", "full", "outer", "c", 65}, where, 1,
           "--block 65: expected 1 to 64");
    assert_int_not_equal(stat(where, &s), 0);
    refuse(&(sim_description){"ldlt", "full", "outer", "c", 2}, "/nowhere/x", 2, "cannot write");
    /* a file that is there is not replaced, and the others are taken back */
    assert_int_equal(mkdir(where, 0777), 0);
    assert_int_equal(run_command("echo mine >%s/Makefile", where), 0);
    refuse(&(sim_description){"ldlt", "full", "outer", "c", 2}, where, 2, "Makefile: File exists");
    snprintf(path, sizeof path, "%s/solver.c", where);
    assert_int_not_equal(stat(path, &s), 0);
    assert_int_equal(run_command("grep -q mine %s/Makefile", where), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),     cmocka_unit_test(test_hls),
        cmocka_unit_test(test_clang), cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_cuda),  cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
