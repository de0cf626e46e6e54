/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers from descriptions: written, compiled with warnings as errors, and run on files: does x
 * solve A x = A 1, and is the inertia the library's? */
#include "factor/runs.h"

#include "sim/synthesize/synthesize.h"
#include <sys/stat.h>
#include <sys/wait.h>
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

/* The exit code of a command. */
static int run_command(const char *format, ...) {
    char command[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    const int status = system(command);
    if (!WIFEXITED(status)) fail_msg("%s: killed", command);
    return WEXITSTATUS(status);
}

static double *read_vector(const char *path, int n) {
    FILE *f = fopen(path, "r");
    double *x = calloc((size_t)n, sizeof *x);
    if (!f || fscanf(f, "%*[^\n] %*d %*d") == EOF) fail_msg("no %s", path);
    for (int k = 0; k < n; k++) assert_int_equal(fscanf(f, "%lf", &x[k]), 1);
    fclose(f);
    return x;
}

static void report(const char *spec, const char *words) {
    if (run_command("grep -q '%s' %s/tell", words, folder) == 0) return;
    run_command("cat %s/tell", folder);
    fail_msg("%s: not %s", spec, words);
}

/* Runs the solver on A x = A 1 from a problem; its exit code. */
static int run_on(const mpk_problem *problem, mpk_context *ctx, const char *where) {
    char path[160];
    snprintf(path, sizeof path, "%s/a.mtx", folder);
    assert_int_equal(mpk_problem_write(ctx, problem, path), MPK_OK);
    return run_command("cd %s && %s/solve a.mtx - x.mtx 2>tell", folder, where);
}

static void add_product(const mpk_problem_view *a, const double *x, double *y, double *size) {
    const double *values = a->ax;
    assert_true(a->scalar == MPK_D);
    for (int j = 0; j < a->n; j++)
        for (int64_t e = a->ap[j]; e < a->ap[j + 1]; e++) {
            const int i = a->ai[e];
            const bool mirrored = a->symmetry != MPK_GENERAL && i != j;
            y[i] += values[e] * x[j], size[i] += fabs(values[e] * x[j]);
            if (mirrored) y[j] += values[e] * x[i], size[j] += fabs(values[e] * x[i]);
        }
}

/* max |A 1 - A x| / (|A| |x| + |A 1|), by rows. */
static double backward_error(const mpk_problem_view *a, const double *x) {
    const size_t n = (size_t)a->n;
    double *ones = calloc(5 * n, sizeof *ones), *b = ones + n, *ax = b + n, worst = 0;
    double *size = ax + n, *unused = size + n;
    assert_non_null(ones);
    for (size_t k = 0; k < n; k++) ones[k] = 1;
    add_product(a, ones, b, unused);
    add_product(a, x, ax, size);
    for (size_t k = 0; k < n; k++) {
        const double off = fabs(b[k] - ax[k]), by = size[k] + fabs(b[k]);
        const double error = by > 0 ? off / by : off;
        if (!(error <= worst)) worst = isfinite(error) ? error : INFINITY;
    }
    free(ones);
    return worst;
}

/* The solver's answer to A x = A 1, and the inertia beside the library's: the same where it is said
 * to be certain, and certain where the factor is complete. */
static void compare(const char *spec, const char *where, const sim_description *d) {
    mpk_context *ctx = context();
    mpk_options o;
    mpk_options_init(&o);
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    char path[160], wanted[96];
    const bool file = strchr(spec, '/') != NULL;
    snprintf(path, sizeof path, METAPACK_DATA "/%s.mtx.xz", spec);
    assert_int_equal(file ? mpk_problem_read(ctx, path, &problem)
                          : mpk_problem_generate(ctx, spec, 3, &problem),
                     MPK_OK);
    mpk_problem_view_get(problem, &a);
    if (run_on(problem, ctx, where) != 0) {
        run_command("cat %s/tell", folder);
        fail_msg("%s: the solver failed", spec);
    }
    snprintf(path, sizeof path, "%s/x.mtx", folder);
    double *x = read_vector(path, a.n), worst = 0;
    for (int k = 0; k < a.n; k++) worst = fmax(worst, fabs(x[k] - 1));
    if (!file && !(worst <= 1e-9)) fail_msg("%s: x differs by %g", spec, worst);
    worst = backward_error(&a, x);
    if (!(worst <= 1e-10)) fail_msg("%s: x has a backward error of %g", spec, worst);
    free(x);
    if (strcmp(d->type, "ldu") != 0) {
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpk_factor_info_get(fac, &info);
        snprintf(wanted, sizeof wanted, "^inertia %lld %lld 0 (certain)$",
                 (long long)info.inertia.positive, (long long)info.inertia.negative);
        report(spec, strcmp(d->fill, "full") ? "(not certain: fill was left out)" : wanted);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* Written and compiled, warnings errors; false: there is no compiler. */
static bool make(const sim_description *d, const char *compiler, const char *flags,
                 char where[128]) {
    char text[SIM_SYNTHESIZE_TEXT];
    const char *cc = getenv("BORG_CC");
    if (cc && strcmp(cc, "none") == 0) return false; /* the build without sanitizers does it */
    snprintf(where, 128, "%s/%s", folder, d->target);
    run_command("rm -rf %s", where);
    if (sim_synthesize(d, where, text) != 0) fail_msg("%s", text);
    if (run_command("make -C %s CC=%s CFLAGS='-O0 %s' >%s/log 2>&1", where, compiler, flags,
                    folder) != 0) {
        run_command("head -20 %s/log", folder);
        fail_msg("%s does not compile it", compiler);
    }
    return true;
}

/* real: among them what solvers without 2x2 pivots answered wrongly, and did not say so */
static const char *const symmetric[] = {"lp-kkt 60 110 3", "quasi-definite 6", "nlpkkt 2", NULL};
static const char *const real[] = {
    "lp_kkt/afiro_it02",       "definite/bcsstk03", "acopf/case118_ieee_it09",
    "saddle/Lshape_matrices2", "qp_kkt/cont-050",   "lp_kkt/25fv47_it04",
    "lp_kkt/25fv47_it26",      "lp-kkt 60 110 3",   NULL};
static const char *const incomplete[] = {"quasi-definite 6", "definite/1138_bus", NULL};
static const char *const definite[] = {"helmholtz 2d 20 0", NULL};
static const char *const general[] = {"convection 5", "lp-kkt 40 70 3", NULL};

/* Every word of a description is in one of these. */
static void test_solvers(void **unused) {
    (void)unused;
    static const struct {
        sim_description d;
        const char *compiler;
        const char *const *specs;
    } list[] = {
        {{"ldlt", "full", "both", "c", 3, "amd", "on", "on", "sqmr"}, "gcc", real},
        {{"ldlt", "full", "outer", "hls", 3, "nd", "off", "on", "gmres"}, "gcc", symmetric},
        {{"ldlt", "full", "inner", "hls", 2, "rcm", "on", "off", "none"}, "gcc", symmetric + 1},
        {{"ldlt", "level:0", "outer", "c", 3, "rcm", "on", "off", "sqmr"}, "clang", incomplete},
        {{"llt", "full", "none", "c", 4, "nd", "off", "off", "none"}, "gcc", definite},
        {{"llt", "level:0", "none", "c", 3, "amd", "off", "off", "sqmr"}, "gcc", incomplete + 1},
        {{"ldu", "full", "both", "c", 2, "amd", "on", "on", "gmres"}, "gcc", general},
        {{"ldu", "full", "both", "hls", 2, "rcm", "off", "off", "none"}, "gcc", general},
    };
    char where[128];
    const bool clang = system("clang --version >/dev/null 2>&1") == 0;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        if (!clang && strcmp(list[k].compiler, "clang") == 0) continue;
        if (!make(&list[k].d, list[k].compiler, "", where)) skip();
        for (int n = 0; list[k].specs[n]; n++) compare(list[k].specs[n], where, &list[k].d);
    }
}

/* What cannot be had is said: no certain inertia of a singular matrix or of one that no pivoting
 * can factorize, no L L^T of an indefinite one, no accurate answer. */
static void test_honest(void **unused) {
    (void)unused;
    static const sim_description both = {"ldlt", "full", "both", "c", 2, "amd", "on", "on", "sqmr"},
                                 none = {"ldlt", "full", "none", "c",   2,
                                         "amd",  "off",  "off",  "none"},
                                 llt = {"llt", "full", "none", "c", 2, "amd", "off", "off", "none"},
                                 level = {"llt", "level:0", "none", "c",   2,
                                          "amd", "off",     "off",  "none"};
    static const struct {
        const sim_description *d;
        const char *file;
        int code;
        const char *words, *more;
    } list[] = {
        {&both, "tiny/singular", 0, "^inertia 1 0 2 (not certain: pivots were replaced)$", ""},
        {&both, "tiny/zero", 0, "^inertia 0 0 2 (not certain: pivots were replaced)$", ""},
        {&none, "tiny/swap", 0, "(not certain: pivots were replaced)", "^backward error [^:]*$"},
        {&none, "least_squares/HB_well1033", 5, "(not certain: pivots were replaced)",
         "^backward error .*: NO ANSWER, x is not accurate$"},
        {&llt, "tiny/swap", 5, "not positive definite", ""},
        {&level, "tiny/singular", 0, "^inertia 1 0 2 (not certain: pivots were replaced)$",
         "^2 pivots replaced, growth 1$"},
        {&level, "tiny/swap", 5, "^inertia 0 0 2 (not certain: pivots were replaced)$",
         "^backward error .*: NO ANSWER, x is not accurate$"},
    };
    char where[128];
    const sim_description *made = NULL;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        const char *file = list[k].file, *data = METAPACK_DATA;
        if (list[k].d != made && !make(list[k].d, "gcc", "", where)) skip();
        made = list[k].d;
        if (strncmp(file, "tiny/", 5) == 0)
            run_command("cp %s/%s.mtx %s/a.mtx", data, file, folder);
        else
            run_command("xz -dc %s/%s.mtx.xz >%s/a.mtx", data, file, folder);
        const int code = run_command("cd %s && %s/solve a.mtx 2>tell", folder, where);
        report(file, list[k].words);
        report(file, list[k].more);
        if (code != list[k].code) fail_msg("%s: exit code %d", file, code);
    }
}

/* Without a dense pivot there are stages behind the second: frames that are transformed, some of
 * them again and again, and the last one, which replaces what is too small. */
static void test_stages(void **unused) {
    (void)unused;
    static const sim_description d = {"ldlt", "full", "outer", "c", 3, "amd", "off", "on", "sqmr"};
    char where[128];
    if (!make(&d, "gcc", "-DDENSE=0", where)) skip();
    compare("acopf/case118_ieee_it18", where, &d); /* certain, and the library's inertia */
    report("case118", "^581 rows, .* \\([3-9]\\|[12][0-9]\\) stages, .* dense pivot of 0 rows");
    assert_int_equal(
        run_command("cd %s && %s/solve " METAPACK_DATA "/tiny/singular.mtx 2>tell", folder, where),
        0);
    report("singular", " 20 stages, 19 frames pushed back, a dense pivot of 0 rows");
    report("singular", "^2 pivots replaced");
    report("singular", "^inertia 1 0 2 (not certain: pivots were replaced)$");
}

/* A GPU's is written, and compiled where there is nvcc. */
static void test_cuda(void **unused) {
    (void)unused;
    char text[SIM_SYNTHESIZE_TEXT], where[128];
    const sim_description d = {"ldlt", "full", "both", "cuda", 2, "amd", "on", "on", "sqmr"};
    snprintf(where, sizeof where, "%s/gpu", folder);
    if (sim_synthesize(&d, where, text) != 0) fail_msg("%s", text);
    assert_int_equal(run_command("grep -q 'factorize_threads = ' %s/kernels.cu", where), 0);
    assert_int_equal(run_command("grep -q 'downdate_groups = ' %s/kernels.cu", where), 0);
    assert_int_equal(run_command("grep -q 'kernels.cu' %s/Makefile", where), 0);
    assert_int_not_equal(run_command("grep -rq 'XX_' %s", where), 0);
    if (run_command("test -x " BORG_NVCC) != 0 || getenv("BORG_CC")) return;
    if (run_command("cd %s && " BORG_NVCC " -c -O0 -arch=sm_90 kernels.cu >%s/log 2>&1", where,
                    folder) != 0) {
        run_command("head -20 %s/log", folder);
        fail_msg("nvcc does not compile it");
    }
}

#ifdef CUDA_HOST
/* What a compiler for a host puts in place of a launch (tests/engines/cuda/host). */
static const char launch[] =
    "#include <cuda_runtime.h>\n"
    "static const char *cudaGetErrorString(cudaError_t) { return \"an error\"; }\n"
    "template <class F> void run_all(unsigned blocks, unsigned threads, F f) {\n"
    "    host_launch(blocks, threads, 0, host_call<F>, &f);\n"
    "}\n"
    "#define LAUNCH(kernel, blocks, threads, ...) \\\n"
    "    run_all(blocks, threads, [&] { kernel(__VA_ARGS__); })\n";

/* A GPU's solver with its kernels on the host: the bits of target c. */
static void test_cuda_bits(void **unused) {
    (void)unused;
    static const char *const types[] = {"ldlt", "ldu"};
    for (int k = 0; k < 2; k++) {
        char text[SIM_SYNTHESIZE_TEXT], gpu[128], own[128], path[160];
        sim_description d = {types[k], "full", "both", "cuda", 3, "amd", "on", "on", "gmres"};
        snprintf(gpu, sizeof gpu, "%s/gpu-%s", folder, types[k]);
        if (sim_synthesize(&d, gpu, text) != 0) fail_msg("%s", text);
        snprintf(path, sizeof path, "%s/launch.h", gpu);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(launch, f);
        fclose(f);
        /* -DDENSE=0: frames that are rejected come again, and the last stage replaces pivots */
        assert_int_equal(run_command("cd %s && " BORG_CC_DEFAULT
                                     " -std=gnu11 -O1 -ffp-contract=off -DDENSE=0 -c *.c >log 2>&1",
                                     gpu),
                         0);
        if (run_command("cd %s && " CUDA_HOST_CXX
                        " -std=gnu++17 -w -O1 -ffp-contract=off -I" CUDA_HOST
                        " -include launch.h -x c++ -c kernels.cu >log 2>&1 && " CUDA_HOST_CXX
                        " -o solve *.o " CUDA_HOST_OBJECT
                        " -Wl,--unresolved-symbols=ignore-all -lm >>log 2>&1",
                        gpu) != 0) {
            run_command("head -20 %s/log", gpu);
            fail_msg("%s: not compiled", types[k]);
        }
        d.target = "c";
        if (!make(&d, "gcc", "-DDENSE=0", own)) skip();
        static const char *const matrices[] = {"acopf/case118_ieee_it18", "tiny/singular"};
        for (int m = 0; m < 2; m++) {
            const char *end = m ? ".mtx" : ".mtx.xz";
            run_command("(xzcat -f " METAPACK_DATA "/%s%s) >%s/b.mtx", matrices[m], end, folder);
            const int mine = run_command("cd %s && %s/solve b.mtx - x-c.mtx 2>tell-c", folder, own);
            const int its = run_command("cd %s && %s/solve b.mtx - x-g.mtx 2>tell-g", folder, gpu);
            assert_int_equal(mine, its);
            if (run_command("cd %s && cmp x-c.mtx x-g.mtx && cmp tell-c tell-g", folder) != 0)
                fail_msg("%s, %s: not the bits of target c", types[k], matrices[m]);
        }
    }
}
#endif

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
    static const struct {
        sim_description d;
        const char *words;
    } wrong[] = {
        {{"qr", "full", "both", "c", 8, "amd", "on", "on", "sqmr"},
         "--type qr: expected ldlt, llt"},
        {{"ldlt", "level:x", "both", "c", 8, "amd", "on", "on", "sqmr"}, "full or level:K"},
        {{"ldlt", "full", "rook", "c", 8, "amd", "on", "on", "sqmr"}, "none, inner, outer or both"},
        {{"ldlt", "full", "both", "vhdl", 8, "amd", "on", "on", "sqmr"}, "c, hls or cuda"},
        {{"ldlt", "full", "outer", "c", 65, "amd", "on", "on", "sqmr"},
         "--block 65: expected 1 to 64"},
        {{"ldlt", "full", "both", "c", 17, "amd", "on", "on", "sqmr"},
         "--block 17: expected 1 to 16 with inner pivoting"},
        {{"ldlt", "full", "both", "hls", 9, "amd", "on", "on", "sqmr"},
         "1 to 8 with inner pivoting and target hls"},
        {{"ldlt", "full", "both", "c", 8, "metis", "on", "on", "sqmr"}, "rcm, amd or nd"},
        {{"ldlt", "full", "both", "c", 8, "amd", "auto", "on", "sqmr"}, "off or on"},
        {{"ldlt", "full", "inner", "c", 8, "amd", "on", "on", "sqmr"},
         "off without outer pivoting"},
        {{"llt", "full", "both", "c", 8, "amd", "off", "off", "sqmr"}, "none with --type llt"},
        {{"llt", "full", "none", "c", 8, "amd", "on", "off", "sqmr"},
         "--matching on: expected off with --type llt"},
        {{"llt", "full", "none", "c", 8, "amd", "off", "on", "sqmr"},
         "--butterfly on: expected off with --type llt"},
        {{"ldlt", "level:1001", "both", "c", 8, "amd", "on", "on", "sqmr"}, "K from 0 to 1000"},
        {{"ldu", "full", "both", "c", 8, "amd", "on", "on", "sqmr"}, "none or gmres"},
        {{"ldlt", "full", "both", "c", 8, "amd", "on", "on", "idr"}, "none, sqmr or gmres"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        refuse(&wrong[k].d, where, 1, wrong[k].words);
    sim_description good = sim_description_default("ldlt");
    assert_int_not_equal(stat(where, &s), 0);
    refuse(&good, "/nowhere/x", 2, "cannot write");
    /* a file that is there is not replaced, and the others are taken back */
    assert_int_equal(mkdir(where, 0777), 0);
    assert_int_equal(run_command("echo mine >%s/Makefile", where), 0);
    refuse(&good, where, 2, "Makefile: File exists");
    snprintf(path, sizeof path, "%s/solver.c", where);
    assert_int_not_equal(stat(path, &s), 0);
    assert_int_equal(run_command("grep -q mine %s/Makefile", where), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solvers),   cmocka_unit_test(test_honest),
        cmocka_unit_test(test_stages),    cmocka_unit_test(test_cuda),
#ifdef CUDA_HOST
        cmocka_unit_test(test_cuda_bits),
#endif
        cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
