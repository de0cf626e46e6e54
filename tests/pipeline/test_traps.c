/* SPDX-License-Identifier: BSD-3-Clause */
/* A client that traps division by zero, overflow and invalid operations (feenableexcept,
 * gfortran -ffpe-trap) calls everything, on matrices that overflow on the way, too: none of its
 * traps is sprung, and rounding, traps and flags are afterwards as they were. The bits of a
 * result depend on none of them. */
#define _GNU_SOURCE
#include "../support.h"

#include <fenv.h>
#include <metapack/adaptive.h>
#include <stdbool.h>

#include "../sanitized.h"

#if defined(__x86_64__) && defined(__GLIBC__)

enum { TRAPS = FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID };

static mpk_context *ctx;

/* Is the environment as `on` left it? Flags are asked with the traps off. */
static void same_environment(const char *what) {
    if (fegetexcept() != TRAPS || fegetround() != FE_TONEAREST || fetestexcept(TRAPS))
        fail_msg("%s has changed traps, rounding or flags", what);
}

static void on(void) {
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(TRAPS);
}

static void off(void) {
    fedisableexcept(FE_ALL_EXCEPT);
}

static const char *const cases[] = {"method=ldlt",
                                    "method=ldlt matching=on condition=on threads=2",
                                    "method=ldlt ordering=nd scaling=off",
                                    "method=ldlt ordering=metis",
                                    "method=ldlt ordering=scotch",
                                    "method=ldlt krylov=minres",
                                    "method=ldlt static_shift=1e-10",
                                    "method=ildlt krylov=sqmr",
                                    "method=ildlt krylov=minres threads=2",
                                    "method=ildlt krylov=gmres precision=single",
                                    "method=ildlt krylov=fgmres triangular=isai",
                                    "method=ildlt krylov=gmres triangular=auto",
                                    "method=ildlt krylov=gmres factor_type=ldu",
                                    "method=ildlt krylov=cg factor_type=llt",
                                    "method=jacobi krylov=gmres",
                                    "method=ilu0 krylov=bicgstab",
                                    "method=ilu0 krylov=idr",
                                    "method=ssor krylov=symmlq",
                                    "method=diagonal krylov=gmres",
                                    "method=block_jacobi krylov=gmres",
                                    "method=none krylov=gmres",
                                    "method=none krylov=cg"};

static bool read_words(const char *words, mpk_options *o) {
    char text[256];
    snprintf(text, sizeof text, "%s", words);
    mpk_options_init(o);
    o->threads = 1, o->max_iterations = 30;
    for (char *at, *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (mpk_failed(mpk_options_set(ctx, o, word, value))) return false;
    }
    return true;
}

/* All of a path, whatever its outcome; x [out] the solution. */
static mpk_status path(const mpk_problem *problem, const mpk_options *o, double *b, double *x,
                       int64_t n) {
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    double logdet[3];
    mpk_solve_info info;
    mpk_status status = mpk_analyse(ctx, problem, o, &an);
    same_environment("mpk_analyse");
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, o, &fac);
    same_environment("mpk_factorize");
    if (!mpk_failed(status)) status = mpk_refactorize(ctx, NULL, o, fac);
    same_environment("mpk_refactorize");
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, n, x, n, o, &info);
    same_environment("mpk_solve");
    if (!mpk_failed(status)) {
        (void)mpk_get(ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
        memcpy(b + n, x, (size_t)n * sizeof *b);
        (void)mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, b + n, n);
        same_environment("mpk_solve_part");
        (void)mpk_selected_inverse(ctx, fac, MPK_SELECT_DIAGONAL, b + n, (size_t)n * sizeof *b, o,
                                   NULL);
        same_environment("mpk_selected_inverse");
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    return status;
}

static const char *const specs[] = {"helmholtz 2d 12 0.3", "helmholtz 3d 5 0.3", "nlpkkt 4",
                                    "optimal-control 20", "stokes mac 8"};

static void test_families(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        mpk_problem *problem = NULL;
        mpk_problem_view v;
        on();
        assert_int_equal(mpk_problem_generate(ctx, specs[k], 1, &problem), MPK_OK);
        same_environment("mpk_problem_generate");
        mpk_problem_view_get(problem, &v);
        double *b = calloc(2 * (size_t)v.n, sizeof *b), *x = calloc((size_t)v.n, sizeof *x);
        for (int64_t i = 0; i < v.n; i++) b[i] = (double)(i % 7) - 2;
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            mpk_options o;
            if (TEST_SANITIZED && (c + k) % 5) continue;
            if (!read_words(cases[c], &o)) continue; /* an ordering that this build lacks */
            (void)path(problem, &o, b, x, v.n);
        }
        mpk_adaptive result = {0};
        mpk_options o;
        mpk_options_init(&o);
        o.direct = MPK_OFF, o.max_iterations = 50;
        (void)mpk_solve_adaptive(ctx, problem, &o, 1, b, v.n, x, v.n, NULL, 0, NULL, &result);
        same_environment("mpk_solve_adaptive");
        mpk_factor_destroy(&result.factor);
        mpk_analysis_destroy(&result.analysis);
        off();
        mpk_problem_destroy(&problem);
        free(b), free(x);
    }
}

/* Values at both ends of the range, zeros, NaN, nothing at all. (reports/07) */
static void test_extremes(void **unused) {
    (void)unused;
    const int64_t ap[] = {0, 1, 1, 2, 4, 4};
    const int32_t ai[] = {0, 2, 3, 4};
    static const double values[][4] = {{1, -1, 2, 3},
                                       {0, 0, 0, 0},
                                       {1e300, 1e-300, 1e-320, 1},
                                       {1e-320, 1e-320, 1e-320, 1e-320},
                                       {1.7e308, 1.7e308, -1.7e308, 1.7e308},
                                       {5e-324, 1.7e308, 1, -1}};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            mpk_problem *problem = NULL;
            mpk_options o;
            double b[10] = {1, 2, -3, 4, 5}, x[5];
            if (!read_words(cases[c], &o)) continue;
            on();
            assert_int_equal(mpk_problem_from_csc(ctx, 5, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai,
                                                  values[k], &problem),
                             MPK_OK);
            (void)path(problem, &o, b, x, 5);
            off();
            mpk_problem_destroy(&problem);
        }
    const double nan[] = {1, NAN, 1, 1}, inf[] = {1, 1, INFINITY, 1};
    const int64_t none[] = {0};
    mpk_problem *problem = NULL;
    on();
    assert_int_equal(
        mpk_problem_from_csc(ctx, 5, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, nan, &problem),
        MPK_ERR_INPUT);
    assert_int_equal(
        mpk_problem_from_csc(ctx, 5, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, inf, &problem),
        MPK_ERR_INPUT);
    assert_int_equal(
        mpk_problem_from_csc(ctx, 0, MPK_D, MPK_SYMMETRIC, MPK_LOWER, none, ai, nan, &problem),
        MPK_OK);
    same_environment("mpk_problem_from_csc");
    off();
    mpk_problem_destroy(&problem);
}

enum { N = 30, COUNT = 20 };

static int in_operator;

static mpk_status product(void *self, const void *vx, void *vy) {
    const double *x = vx;
    double *y = vy;
    (void)self;
    in_operator += fegetexcept() == TRAPS;
    for (int i = 0; i < N; i++)
        y[i] = (i % 2 ? 1 : -1) * (2 + i) * x[i] + (i ? x[i - 1] : 0) + (i < N - 1 ? x[i + 1] : 0);
    return MPK_OK;
}

/* What has no sparse factor; a caller's operator finds the traps that it knows. */
static void test_others(void **unused) {
    (void)unused;
    static double a[COUNT * N * N], f[N * N], b[N], x[N];
    static int32_t pivots[COUNT * N * 2];
    for (int kind = 0; kind < 4; kind++) { /* ordinary, zero, huge, tiny */
        const double size = (const double[]){1, 0, 1e308, 1e-310}[kind];
        for (int i = 0; i < N * N; i++) a[i] = size * uniform();
        for (int i = 0; i < N; i++) b[i] = 1 + i;
        for (int method = 0; method < MPK_DENSE_COUNT; method++) {
            mpk_dense d;
            mpk_dense_init(&d);
            d.n = N, d.method = method, d.threads = 1, d.condition = MPK_ON;
            mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = N, .pivots = pivots};
            mpk_dense_sizes sizes;
            on();
            const mpk_status known = mpk_dense_query(ctx, &d, 1, &sizes);
            fac.extra = known == MPK_OK
                            ? aligned_alloc(64, (size_t)(sizes.extra_bytes + 127) / 64 * 64)
                            : NULL;
            if (known == MPK_OK)
                (void)mpk_dense_sysv(ctx, &d, a, N, &fac, 1, b, N, x, N, NULL, 0, NULL);
            same_environment("mpk_dense_sysv");
            off();
            free(fac.extra);
        }
        mpk_batch batch;
        mpk_batch_init(&batch);
        batch.count = COUNT, batch.n = N, batch.pivoting = MPK_PIVOTING_COMPLETE;
        for (int i = 0; i < COUNT * N * N; i++) a[i] = size * uniform();
        const mpk_batch_array array = {.data = a, .ld = N, .stride = N * N};
        on();
        (void)mpk_batch_ldlt(ctx, &batch, &array, pivots, NULL);
        same_environment("mpk_batch_ldlt");
        off();
    }
    for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++) {
        mpk_krylov_task t;
        mpk_krylov_task_init(&t);
        t.method = method, t.n = N, t.a.apply = product;
        memset(x, 0, sizeof x);
        in_operator = 0;
        on();
        (void)mpk_krylov_solve(ctx, &t, b, x, NULL);
        same_environment("mpk_krylov_solve");
        off();
        assert_true(in_operator > 3);
    }
}

/* Another rounding, and flushing of tiny numbers: the same bits. */
static void test_same_bits(void **unused) {
    (void)unused;
    enum { M = 144 };
    static double b[2 * M], x[2][M];
    for (int c = 0; c < 8; c += 7) {
        mpk_problem *problem = NULL;
        mpk_options o;
        assert_int_equal(mpk_problem_generate(ctx, specs[0], 1, &problem), MPK_OK);
        assert_true(read_words(cases[c], &o));
        for (int i = 0; i < M; i++) b[i] = i % 5 - 1.7;
        for (int k = 0; k < 2; k++) {
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            if (k) {
                fesetround(FE_UPWARD);
                __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
            }
            const unsigned before = __builtin_ia32_stmxcsr();
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            (void)mpk_solve(ctx, fac, 1, b, M, x[k], M, &o, NULL);
            assert_int_equal(__builtin_ia32_stmxcsr(), before);
            fesetenv(FE_DFL_ENV);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
        }
        assert_memory_equal(x[0], x[1], sizeof x[0]);
        mpk_problem_destroy(&problem);
    }
}

static int create(void **state) {
    (void)state;
    return mpk_context_create(NULL, &ctx);
}

static int destroy(void **state) {
    (void)state;
    mpk_context_destroy(&ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families), cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_others), cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, create, destroy);
}
#else
int main(void) {
    print_message("no traps to be turned on here: nothing to test\n");
    return 0;
}
#endif
