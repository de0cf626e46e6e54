/* SPDX-License-Identifier: BSD-3-Clause */
/* Method auto. */
#include "../sanitized.h"
#include "support.h"

#include "analysis/block/block.h"
#include <metapack/adaptive.h>

typedef struct job {
    mpk_context *ctx;
    mpk_problem *problem;
    int n;
    double *b, *x, history[64];
    int32_t count;
    mpk_adaptive r;
    mpk_status status;
} job;

/* `told` residuals are recorded. */
static job go_told(const char *spec, const mpk_options *o, int32_t told) {
    job j = {0};
    assert_int_equal(mpk_context_create(NULL, &j.ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(j.ctx, spec, 1, &j.problem), MPK_OK);
    mpk_problem_view a;
    mpk_problem_view_get(j.problem, &a);
    j.n = a.n;
    j.b = malloc((size_t)j.n * sizeof *j.b);
    j.x = malloc((size_t)j.n * sizeof *j.x);
    for (int i = 0; i < j.n; i++) j.b[i] = sin(i + 1.0), j.x[i] = NAN;
    j.status = mpk_solve_adaptive(j.ctx, j.problem, o, 1, j.b, j.n, j.x, j.n, j.history, told,
                                  &j.count, &j.r);
    return j;
}

static job go(const char *spec, const mpk_options *o) {
    return go_told(spec, o, 64);
}

static double residual(const job *j) {
    double *y = malloc((size_t)j->n * sizeof *y), rr = 0, bb = 0;
    assert_int_equal(mpk_problem_multiply(j->ctx, j->problem, 1, j->x, j->n, y, j->n), MPK_OK);
    for (int i = 0; i < j->n; i++) {
        rr += (j->b[i] - y[i]) * (j->b[i] - y[i]);
        bb += j->b[i] * j->b[i];
    }
    free(y);
    return sqrt(rr / bb);
}

static void end(job *j) {
    mpk_adaptive_clear(&j->r);
    mpk_problem_destroy(&j->problem);
    mpk_context_destroy(&j->ctx);
    free(j->b);
    free(j->x);
}

static void test_direct_where_it_fits(void **state) {
    (void)state;
    job j = go("nlpkkt 4", NULL);
    assert_int_equal(j.status, MPK_OK);
    assert_int_equal(j.r.attempts, 1);
    assert_int_equal(j.r.attempt[0].method, MPK_METHOD_LDLT);
    assert_true(residual(&j) <= 1e-12);
    end(&j);
}

static void test_ladder(void **state) {
    (void)state;
    static const char *const specs[] = {"nlpkkt 4", "stokes mac 12", "helmholtz 2d 25 0.3",
                                        "lp-kkt 80 150 4"};
    for (int k = 0; k < 4; k++) {
        mpk_options o;
        mpk_options_init(&o);
        o.direct = MPK_OFF;
        job j = go(specs[k], &o);
        assert_int_equal(j.status, MPK_OK);
        assert_true(j.r.attempts >= 1 && j.count >= 1);
        assert_int_equal(j.r.options.method, MPK_METHOD_ILDLT);
        assert_true(residual(&j) <= 1e-6);
        /* the choice, given by hand, does the same */
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_solve_info info;
        double *x = malloc((size_t)j.n * sizeof *x);
        assert_int_equal(mpk_analyse(j.ctx, j.problem, &j.r.options, &an), MPK_OK);
        mpk_problem_view a;
        mpk_problem_view_get(j.problem, &a);
        assert_int_equal(mpk_factorize(j.ctx, an, a.ax, &j.r.options, &fac), MPK_OK);
        assert_int_equal(mpk_solve(j.ctx, fac, 1, j.b, j.n, x, j.n, &j.r.options, &info), MPK_OK);
        assert_memory_equal(j.x, x, (size_t)j.n * sizeof *x);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        free(x);
        end(&j);
    }
}

/* FGMRES climbs inside one solve: each rung begins with what those before it reached, and all
 * iterations are told. */
static void test_refines_while_iterating(void **state) {
    (void)state;
    static const char *const specs[] = {"nlpkkt 6", "stokes mac 20", "lp-kkt 200 400 4",
                                        "helmholtz 3d 12", "mycielskian 10"};
    int climbed = 0;
    for (int k = 0; k < 5; k++)
        for (int rounding = 0; rounding < 2; rounding++) {
            if (test_sanitizer_skips(k + rounding, 2)) continue;
            mpk_options o;
            mpk_options_init(&o);
            o.direct = MPK_OFF;
            o.krylov = MPK_KRYLOV_FGMRES;
            if (!rounding) o.tolerance = 1e-8;
            job j = go(specs[k], &o);
            assert_int_equal(j.status, MPK_OK);
            assert_true(residual(&j) <= (rounding ? 1e-6 : 1e-8));
            int32_t sum = 0;
            for (int a = 0; a < j.r.attempts; a++) {
                sum += j.r.attempt[a].iterations;
                if (a > 0)
                    assert_true(j.r.attempt[a].drop_tolerance < j.r.attempt[a - 1].drop_tolerance);
            }
            assert_true(sum >= j.r.solve.krylov.iterations);
            climbed += j.r.attempts > 1;
            /* however many residuals are recorded */
            for (int32_t told = 0; j.r.attempts > 1 && told < 14; told += 13) {
                job again = go_told(specs[k], &o, told);
                assert_int_equal(again.r.attempts, j.r.attempts);
                assert_int_equal(again.count, told < j.count ? told : j.count);
                assert_memory_equal(again.x, j.x, (size_t)j.n * sizeof *j.x);
                assert_memory_equal(again.history, j.history,
                                    (size_t)again.count * sizeof *j.history);
                for (int a = 0; a < j.r.attempts; a++)
                    assert_int_equal(again.r.attempt[a].iterations, j.r.attempt[a].iterations);
                end(&again);
            }
            end(&j);
        }
    assert_true(climbed > 0);
}

/* The next rung has no memory: the one before is made again and goes on, and the failed one is not
 * tried twice. */
static void test_refines_without_memory(void **state) {
    (void)state;
    mpk_options o;
    mpk_options_init(&o);
    o.direct = MPK_OFF;
    o.krylov = MPK_KRYLOV_FGMRES;
    job j = go("mycielskian 10", &o);
    mpk_factor_info info;
    mpk_factor_info_get(j.r.factor, &info);
    assert_int_equal(j.r.attempts, 2);
    end(&j);
    o.memory_limit = 0.9 * (double)info.peak_bytes;
    j = go("mycielskian 10", &o);
    assert_int_equal(j.status, MPK_NOT_CONVERGED);
    assert_true(j.r.attempts >= 3);
    const mpk_attempt *a = j.r.attempt;
    assert_int_equal(a[0].status, MPK_NOT_CONVERGED);
    assert_int_equal(a[1].status, MPK_ERR_MEMORY);
    assert_true(a[2].drop_tolerance == a[0].drop_tolerance && a[2].iterations > a[0].iterations);
    for (int k = 3; k < j.r.attempts; k++) assert_true(a[k].drop_tolerance < a[1].drop_tolerance);
    end(&j);
}

/* A tolerance that nothing reaches: an honest failure, with the best there is. */
/* On a cube nested dissection pays, and is found without being asked for: the factor is smaller
 * than with AMD. On a line nothing is gained. */
static void test_ordering(void **state) {
    (void)state;
    if (TEST_SANITIZED && !test_all_cases()) return; /* sizes, not memory */
    int64_t bytes[2];
    for (int k = 0; k < 2; k++) {
        mpk_options o;
        mpk_options_init(&o);
        o.direct = MPK_OFF;
        o.tolerance = 1e-6;
        if (k == 1) o.ordering = MPK_ORDERING_AMD;
        job j = go("helmholtz 3d 24", &o);
        assert_int_equal(j.status, MPK_OK);
        assert_true(residual(&j) <= 1e-6);
        assert_int_equal(j.r.options.ordering, k == 1 ? MPK_ORDERING_AMD : MPK_ORDERING_ND);
        assert_int_equal(j.r.options.level, -1);
        bytes[k] = j.r.attempt[0].bytes;
        end(&j);
    }
    if (bytes[0] > bytes[1] * 9 / 10)
        fail_msg("%lld bytes, AMD %lld", (long long)bytes[0], (long long)bytes[1]);
    mpk_options o;
    mpk_options_init(&o);
    o.direct = MPK_OFF;
    job j = go("optimal-control 20", &o);
    assert_int_equal(j.r.options.ordering, MPK_ORDERING_AMD);
    end(&j);
}

static void test_honest_failure(void **state) {
    (void)state;
    mpk_options o;
    mpk_options_init(&o);
    o.direct = MPK_OFF;
    o.tolerance = 0;
    o.max_iterations = 5;
    job j = go("stokes mac 12", &o);
    assert_int_equal(j.status, MPK_NOT_CONVERGED);
    assert_true(j.r.attempts > 1);
    const char *text;
    mpk_last_error(j.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "good enough"));
    double best = INFINITY;
    for (int k = 0; k < j.r.attempts; k++) best = fmin(best, j.r.attempt[k].residual);
    const double got = residual(&j);
    assert_true(got <= 1.5 * best + 1e-14);
    end(&j);
}

/* Memory for the direct solver is refused: the ladder takes over. */
static void test_memory_limit(void **state) {
    (void)state;
    mpk_options o;
    mpk_options_init(&o);
    job j = go("nlpkkt 12", &o);
    mpk_analysis_info info;
    mpk_analysis_info_get(j.r.analysis, &info);
    end(&j);
    o.memory_limit = 0.9 * (double)info.peak_bytes;
    j = go("nlpkkt 12", &o);
    assert_int_equal(j.status, MPK_OK);
    assert_int_equal(j.r.attempt[j.r.attempts - 1].method, MPK_METHOD_ILDLT);
    end(&j);
    o.memory_limit = 20000; /* nothing fits there */
    j = go("nlpkkt 12", &o);
    assert_int_equal(j.status, MPK_ERR_MEMORY);
    end(&j);
}

/* There is not the memory for complete fill: levels of it take over. */
static void test_memory_for_levels(void **state) {
    (void)state;
    mpk_options o;
    mpk_factor_info info;
    mpk_options_init(&o);
    o.direct = MPK_OFF;
    o.tolerance = 1e-6;
    job j = go("nlpkkt 16", &o);
    assert_int_equal(j.r.options.level, -1);
    mpk_factor_info_get(j.r.factor, &info);
    end(&j);
    o.memory_limit = 0.8 * (double)info.peak_bytes;
    j = go("nlpkkt 16", &o);
    assert_int_equal(j.status, MPK_OK);
    assert_int_equal(j.r.attempts, 2);
    assert_int_equal(j.r.attempt[0].status, MPK_ERR_MEMORY);
    assert_int_equal(j.r.options.level, 1);
    assert_true(residual(&j) <= 1e-6);
    mpk_factor_info_get(j.r.factor, &info);
    assert_true((double)info.peak_bytes <= o.memory_limit);
    end(&j);
    o.memory_limit =
        2e6; /* too little for these, too: of a matrix that is not symmetric in another order */
    j = go("convection 16 3d", &o);
    assert_int_equal(j.status, MPK_ERR_MEMORY);
    assert_int_equal(j.r.attempts, 2);
    assert_int_equal(j.r.attempt[1].level, 1);
    assert_int_equal(j.r.analysis->block->blocking.ordering, MPK_ORDERING_RCM);
    end(&j);
}

/* Where complete fill takes long, one level comes first. */
static void test_level_first(void **state) {
    (void)state;
    if (TEST_SANITIZED) return; /* a minute there, by kernels that other tests look at */
    static const char spec[] = "lp-kkt 4400 8800 coupling=random";
    mpk_options o;
    mpk_options_init(&o);
    o.direct = MPK_OFF;
    o.tolerance = 1e-6;
    job j = go(spec, &o);
    assert_int_equal(j.status, MPK_OK);
    assert_int_equal(j.r.attempts, 1);
    assert_int_equal(j.r.options.level, 1);
    assert_true(residual(&j) <= 1e-6);
    const int iterations = j.r.attempt[0].iterations;
    end(&j);
    o.max_iterations = iterations - 1; /* it does not do: then complete fill */
    j = go(spec, &o);
    assert_int_equal(j.status, MPK_OK);
    assert_int_equal(j.r.attempts, 2);
    assert_int_equal(j.r.attempt[0].status, MPK_NOT_CONVERGED);
    assert_int_equal(j.r.options.level, -1);
    assert_true(residual(&j) <= 1e-6);
    mpk_factor_info info;
    mpk_factor_info_get(j.r.factor, &info);
    end(&j);
    o.memory_limit =
        0.85 * (double)info.peak_bytes; /* without the memory for that: the next level */
    j = go(spec, &o);
    assert_true(j.r.attempts >= 3);
    assert_int_equal(j.r.attempt[0].level, 1);
    assert_int_equal(j.r.attempt[1].status, MPK_ERR_MEMORY);
    assert_int_equal(j.r.attempt[2].level, 2);
    end(&j);
}

/* Nothing that the factorization or the analysis had to say is lost. */
static void test_statuses(void **state) {
    (void)state;
    mpk_options o;
    mpk_options_init(&o);
    o.static_shift = 1e-2;
    o.pivot_threshold = 0.5;
    o.matching = MPK_OFF;
    job j = go("nlpkkt 4", &o);
    mpk_factor_info f;
    mpk_factor_info_get(j.r.factor, &f);
    assert_true(f.perturbed > 0);
    assert_int_not_equal(j.status, MPK_OK);
    end(&j);
}

/* A matrix that is not symmetric: L U; without the direct solver LDU under GMRES, and the options say
 * so. */
static void test_general(void **state) {
    (void)state;
    mpk_options o;
    mpk_options_init(&o);
    job j = go("convection 40 wind=circular speed=1000 rows=shuffled", &o);
    assert_int_equal(j.status, MPK_OK);
    assert_string_equal(j.r.no_direct, "");
    assert_int_equal(j.r.attempt[0].method, MPK_METHOD_LDLT);
    assert_int_equal(j.r.solve.krylov.method, MPK_KRYLOV_AUTO);
    assert_true(residual(&j) <= 1e-12);
    end(&j);
    o.direct = MPK_OFF;
    j = go("convection 40 wind=circular speed=1000 rows=shuffled", &o);
    assert_int_equal(j.status, MPK_OK);
    assert_string_equal(j.r.no_direct, "direct = off");
    assert_int_equal(j.r.attempt[0].method, MPK_METHOD_ILDLT);
    assert_int_equal(j.r.options.factor_type, MPK_TYPE_LDU);
    assert_int_equal(j.r.options.level, -1);
    assert_int_equal(j.r.solve.krylov.method, MPK_KRYLOV_GMRES);
    assert_true(residual(&j) <= 1e-12);
    /* by hand, with these options, the same */
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_solve_info info;
    assert_int_equal(mpk_analyse(j.ctx, j.problem, &j.r.options, &an), MPK_OK);
    assert_int_equal(mpk_factorize(j.ctx, an, NULL, &j.r.options, &fac), MPK_OK);
    assert_int_equal(mpk_solve(j.ctx, fac, 1, j.b, j.n, j.x, j.n, &j.r.options, &info), MPK_OK);
    assert_int_equal(info.krylov.iterations, j.r.solve.krylov.iterations);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    end(&j);
    o.krylov = MPK_KRYLOV_MINRES;
    j = go("convection 5", &o);
    assert_int_equal(j.status, MPK_ERR_ARGUMENT);
    end(&j);
}

/* Stopped after an attempt that gave an answer, but not a good one: x is as it was. */
static int stop_later(const char *stage, double fraction, void *user) {
    const job *j = user;
    (void)fraction;
    return j->r.attempts >= 2 && !strcmp(stage, "factorize");
}

static void test_cancelled(void **state) {
    (void)state;
    mpk_options o;
    mpk_options_init(&o);
    o.direct = MPK_OFF;
    o.tolerance = 0; /* which no attempt reaches */
    o.max_iterations = 2;
    o.threads = 1;
    job j = go("lp-kkt 80 150 4", &o);
    assert_true(j.r.attempts >= 3 && j.r.solve.relative_residual > 0); /* there was an answer */
    mpk_adaptive_clear(&j.r);
    for (int i = 0; i < j.n; i++) j.x[i] = 77;
    mpk_context_set_progress(j.ctx, stop_later, &j);
    j.status = mpk_solve_adaptive(j.ctx, j.problem, &o, 1, j.b, j.n, j.x, j.n, NULL, 0, NULL, &j.r);
    assert_int_equal(j.status, MPK_ERR_CANCELLED);
    assert_true(isfinite(j.r.attempt[0].residual));
    for (int i = 0; i < j.n; i++) assert_true(j.x[i] == 77);
    mpk_context_set_progress(j.ctx, NULL, NULL);
    end(&j);
}

static void test_arguments(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_options bad;
    double x[8] = {0};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "random 4 0.5 0", 1, &problem), MPK_OK);
    mpk_options_init(&bad);
    bad.pivot_threshold = 7;
    for (int k = 0; k < 6; k++) { /* whatever *result held is not taken for an answer */
        mpk_context *const c = k == 0 ? NULL : ctx;
        const mpk_problem *const a = k == 1 ? NULL : problem;
        const double *const b = k == 2 ? NULL : x;
        const int32_t nrhs = k == 3 ? -1 : 1, ldb = k == 4 ? 3 : 4;
        int32_t count = 77;
        mpk_adaptive r;
        memset(&r, 0x5a, sizeof r);
        assert_int_equal(
            mpk_solve_adaptive(c, a, k == 5 ? &bad : NULL, nrhs, b, ldb, x, 4, NULL, 0, &count, &r),
            MPK_ERR_ARGUMENT);
        assert_null(r.analysis);
        assert_null(r.factor);
        assert_int_equal(r.attempts, 0);
        assert_int_equal(count, 0);
        mpk_adaptive_clear(&r);
    }
    assert_int_equal(mpk_solve_adaptive(ctx, problem, NULL, 1, x, 4, x, 4, NULL, 0, NULL, NULL),
                     MPK_ERR_ARGUMENT);
    mpk_problem_destroy(&problem);
    mpk_adaptive_clear(NULL);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct_where_it_fits),
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_refines_while_iterating),
        cmocka_unit_test(test_refines_without_memory),
        cmocka_unit_test(test_ordering),
        cmocka_unit_test(test_honest_failure),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_memory_for_levels),
        cmocka_unit_test(test_level_first),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_general),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
