/* SPDX-License-Identifier: BSD-3-Clause */
/* n = 0 and n = 1 through every method, schedule, type, pivoting and Krylov method: nothing
 * crashes, what is called good is right, and all memory comes back. */
#include "../sanitized.h"
#include "support.h"

/* What a combination comes to: the options that are refused are refused everywhere. */
typedef struct tally {
    int64_t good, refused, other;
} tally;

static void check_answer(mpk_context *ctx, const mpk_options *o, mpk_status status, int32_t n,
                         double a, double b, double x, tally *t) {
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status == MPK_ERR_ARGUMENT || status == MPK_ERR_UNSUPPORTED) {
        assert_true(*text); /* excluding options, told */
        t->refused++;
        return;
    }
    assert_true(status != MPK_ERR_INTERNAL && status != MPK_ERR_MEMORY);
    if (mpk_failed(status)) assert_true(*text);
    if (n == 0) assert_true(status == MPK_OK);
    t->good += status == MPK_OK;
    t->other += status != MPK_OK;
    if (n == 1 && status == MPK_OK && !(fabs(b - a * x) <= 2e-6 * fabs(b)))
        fail_msg("method %s, krylov %s, schedule %s, type %s: %g x = %g, and x = %g is called good",
                 mpk_method_name(o->method), mpk_option_word("krylov", (int)o->krylov),
                 mpk_option_word("schedule", (int)o->schedule),
                 mpk_option_word("factor_type", (int)o->factor_type), a, b, x);
}

static void solve_one(mpk_context *ctx, const mpk_problem *problem, const mpk_options *o, int32_t n,
                      double a, tally *t) {
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    double complex b[1], x[1];
    mpk_problem_view_get(problem, &v);
    scalar_store(v.scalar, b, 0, 6);
    scalar_store(v.scalar, x, 0, 77);
    const int32_t ld = n ? n : 1;
    if (o->method == MPK_METHOD_AUTO) {
        mpk_adaptive r = {0};
        mpk_status status = mpk_solve_adaptive(ctx, problem, o, 1, b, ld, x, ld, NULL, 0, NULL, &r);
        check_answer(ctx, o, status, n, a, 6, creal(scalar_load(v.scalar, x, 0)), t);
        mpk_adaptive_clear(&r);
        return;
    }
    mpk_status status = mpk_analyse(ctx, problem, o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, v.ax, o, &fac);
    if (!mpk_failed(status)) status = mpk_refactorize(ctx, v.ax, o, fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, ld, x, ld, o, NULL);
    check_answer(ctx, o, status, n, a, 6, creal(scalar_load(v.scalar, x, 0)), t);
    if (n == 0) assert_true(scalar_load(v.scalar, x, 0) == 77);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
}

/* Every choice of the words that decide the path, or one in so many; the numbers go with them in
 * turn. */
static void all_choices(mpk_context *ctx, const mpk_problem *problem, int every, int32_t n,
                        double a, tally *t) {
    int64_t turn = 0;
    mpk_options o;
    mpk_options_init(&o);
    o.threads = 1;
    for (o.method = MPK_METHOD_AUTO; o.method <= MPK_METHOD_SSOR; o.method++)
        for (o.schedule = MPK_SCHEDULE_PULL; o.schedule <= MPK_SCHEDULE_JACOBI; o.schedule++)
            for (o.factor_type = MPK_TYPE_LDLT; o.factor_type <= MPK_TYPE_LDU; o.factor_type++)
                for (o.pivoting = 0; o.pivoting < MPK_PIVOTING_COUNT; o.pivoting++)
                    for (o.krylov = 0; o.krylov <= MPK_KRYLOV_IDR; o.krylov++, turn++) {
                        if (turn % every) continue;
                        static const int levels[] = {-1, 0, 1};
                        o.level = levels[turn % 3];
                        o.stages = turn % 2 ? 3 : 1;
                        o.butterfly = turn % 5 == 4 ? MPK_ON : MPK_OFF;
                        o.solve_sweeps = turn % 7 == 6 ? 2 : 0;
                        o.threads = turn % 11 == 10 ? 3 : 1;
                        o.precision = turn % 4 == 3 ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                        o.direct = turn % 2 ? MPK_OFF : MPK_AUTO;
                        solve_one(ctx, problem, &o, n, a, t);
                    }
}

static void test_orders(void **unused) {
    (void)unused;
    static const struct {
        int32_t n;
        int stored;
        double a;
    } cases[] = {{0, 0, 0}, {1, 1, 3}, {1, 1, -3}, {1, 1, 0}, {1, 0, 0}};
    static const struct {
        mpk_scalar scalar;
        mpk_symmetry symmetry;
    } kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
                 {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
    enum { CASES = sizeof cases / sizeof *cases, KINDS = sizeof kinds / sizeof *kinds };
    for (int turn = 0; turn < CASES * KINDS; turn++) {
        const int k = turn % CASES;
        const mpk_scalar scalar = kinds[turn / CASES].scalar;
        double complex value;
        failing f = {0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        tally t = {0};
        const int64_t ap[2] = {0, cases[k].stored};
        const int32_t ai[1] = {0};
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        scalar_store(scalar, &value, 0, cases[k].a);
        assert_int_equal(mpk_problem_from_csc(ctx, cases[k].n, scalar, kinds[turn / CASES].symmetry,
                                              MPK_LOWER, ap, ai, &value, &problem),
                         MPK_OK);
        /* of no divisor of the loops' lengths */
        const int every = (scalar == MPK_D ? 1 : 7) * (TEST_SANITIZED ? 7 : 1);
        all_choices(ctx, problem, every, cases[k].n, cases[k].a, &t);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
        assert_true(t.good + t.other > 1500 / every); /* of 3600: most do run */
    }
}

static mpk_status three_times(void *self, const void *x, void *y) {
    (void)self;
    *(double *)y = 3 * *(const double *)x;
    return MPK_OK;
}

/* The Krylov methods by themselves. */
static void test_operators(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (mpk_krylov method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++)
        for (int32_t n = 0; n < 2; n++) {
            mpk_krylov_task task;
            mpk_krylov_info info;
            double b[1] = {6}, x[1] = {0};
            mpk_krylov_task_init(&task);
            task.method = method;
            task.n = n;
            task.a.apply = three_times;
            assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
            assert_true(fabs(x[0] - 2.0 * n) <= 1e-5);
        }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_operators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
