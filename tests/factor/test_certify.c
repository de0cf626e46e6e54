/* SPDX-License-Identifier: BSD-3-Clause */
/* Certificates of an inertia: never of a wrong one, of nearly all right ones; what they may depend
 * on. */
#include "../sanitized.h"
#include "crafted.h"

#include "factor/factor.h"

#include <pthread.h>

typedef struct made {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_status status;
} made;

static made make(mpk_problem *problem, mpk_context *ctx, const mpk_options *o) {
    made f = {.ctx = ctx, .problem = problem};
    assert_non_null(problem);
    assert_false(mpk_failed(mpk_analyse(ctx, problem, o, &f.an)));
    f.status = mpk_factorize(ctx, f.an, NULL, o, &f.fac);
    return f;
}

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 64);
    return ctx;
}

static made make_dense(const dense *m, mpk_context *ctx) {
    return make(dense_problem(ctx, m, 0), ctx, NULL);
}

static void clear(made *f) {
    mpk_factor_destroy(&f->fac);
    mpk_analysis_destroy(&f->an);
    mpk_problem_destroy(&f->problem);
}

static bool right(const made *f, const crafted *a) {
    mpk_factor_info info;
    mpk_factor_info_get(f->fac, &info);
    return info.inertia.positive == a->positive && info.inertia.negative == a->negative;
}

/* ---- what was certified and wrong ------------------------------------------------------------ */

static void wrong_signs(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int k = 0; k < CRAFTED_WRONG; k++) {
            crafted a = crafted_wrong(k, (mpk_scalar)scalar);
            made f = make_dense(&a.m, ctx);
            mpk_certificate found;
            mpk_factor_info info;
            assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
            if (found.certified || found.miss_bound != 1 ||
                (found.vectors > 0 && found.contraction < 0.1))
                fail_msg("scalar %d, %d: certified with c = %g", scalar, k, found.contraction);
            mpk_factor_info_get(f.fac, &info);
            assert_true(info.inertia.examined && !info.inertia.certified);
            clear(&f);
            free(a.m.a);
        }
    mpk_context_destroy(&ctx);
}

/* A singular, no zero pivot: no certificate; and of a right-hand side that A does not reach no
 * solution that is called good. */
static void singular_without_zero_pivot(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int scalar = MPK_D; scalar <= MPK_Z; scalar += MPK_Z - MPK_D)
        for (int k = 0; k < CRAFTED_SINGULAR; k++) {
            crafted a = crafted_singular(k, (mpk_scalar)scalar);
            made f = make_dense(&a.m, ctx);
            mpk_certificate found;
            mpk_solve_info solve;
            double complex x[64];
            for (int i = 0; i < a.m.n; i++) scalar_store(a.m.scalar, x, i, 1 + i * 7 % 5);
            const mpk_status solved = mpk_solve(ctx, f.fac, 1, x, a.m.n, x, a.m.n, NULL, &solve);
            if (solved != MPK_SINGULAR && solved != MPK_INACCURATE)
                fail_msg("scalar %d, %d: solved with status %d", scalar, k, solved);
            assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
            assert_false(found.certified);
            clear(&f);
            free(a.m.a);
        }
    mpk_context_destroy(&ctx);
}

/* Random ones of that kind: none that is wrong is certified; most others are, whose
 * conditions go beyond 1 / eps. */
static void none_of_many(void **state) {
    (void)state;
    enum { SYSTEMS = 6000 };
    mpk_context *ctx = context();
    uint64_t seed = 20;
    int wrong = 0, good = 0, certified = 0;
    for (int k = 0; k < SYSTEMS; k++) {
        crafted a;
        if (!crafted_random(&seed, (mpk_scalar)(k % 8 > 3 ? 1 + k % 2 * 2 : k % 4), 1, &a))
            continue;
        made f = make_dense(&a.m, ctx);
        mpk_certificate found = {0};
        if (!mpk_failed(f.status)) assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
        const bool is = a.zero == 0 && right(&f, &a);
        if (found.certified && !is)
            fail_msg("system %d, n %d: wrong, and c = %g of %d vectors", k, a.m.n,
                     found.contraction, found.vectors);
        wrong += found.vectors > 0 && !is;
        good += found.vectors > 0 && is;
        certified += found.certified;
        clear(&f);
        free(a.m.a);
    }
    if (wrong < 50 || good < 300 || certified < 0.6 * good)
        fail_msg("%d wrong, %d right, %d of them certified", wrong, good, certified);
    mpk_context_destroy(&ctx);
}

static void well_conditioned(void **state) {
    (void)state;
    enum { SYSTEMS = 200 };
    mpk_context *ctx = context();
    int certified = 0, vectors = 0;
    support_state = 11;
    for (int k = 0; k < SYSTEMS; k++) {
        const mpk_scalar scalar = (mpk_scalar)(k % 4);
        dense m = dense_new(30 + k % 50, scalar, scalar >= MPK_C ? MPK_HERMITIAN : MPK_SYMMETRIC);
        for (int j = 0; j < m.n; j++) /* a saddle point, graded by 2^-20 .. 2^20 */
            for (int i = j; i < m.n; i++) {
                const double complex x = uniform() + uniform() * I;
                const int grade = i * 7 % 21 + j * 7 % 21 - 20, free = 2 * m.n / 3;
                const bool there =
                    i == j ? j < free : (i + 3 * j) % 7 == 0 && j < free && i >= free;
                if (there) dense_set(&m, i, j, ldexp(1, grade) * (i == j ? 2 + creal(x) : x));
            }
        made f = make_dense(&m, ctx);
        mpk_certificate found;
        assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
        certified += found.certified;
        vectors += found.vectors;
        clear(&f);
        free(m.a);
    }
    if (certified < 0.99 * SYSTEMS || vectors > 3 * SYSTEMS)
        fail_msg("%d certified with %d vectors", certified, vectors);
    mpk_context_destroy(&ctx);
}

/* ---- what z must be -------------------------------------------------------------------------- */

/* Unit vectors show nothing: a solve repeats what the factorization did to a column. */
static void unit_vectors_are_blind(void **state) {
    (void)state;
    mpk_context *ctx = context();
    int blind = 0, wrong = 0;
    for (int k = 0; k < CRAFTED_WRONG; k++) {
        crafted a = crafted_wrong(k, MPK_D);
        const int n = a.m.n;
        made f = make_dense(&a.m, ctx);
        double scale[32], z[32], y[32], least = INFINITY;
        assert_int_equal(mpk_get(ctx, f.fac, MPK_GET_SCALE, scale, sizeof scale), MPK_OK);
        for (int j = 0; j < n; j++) {
            double left = 0;
            for (int i = 0; i < n; i++) z[i] = i == j ? scale[j] : 0;
            assert_int_equal(mpk_problem_multiply(ctx, f.problem, 1, z, n, y, n), MPK_OK);
            assert_int_equal(mpk_solve_part(ctx, f.fac, MPK_PART_ALL, 1, y, n), MPK_OK);
            for (int i = 0; i < n; i++) left = hypot(left, (z[i] - y[i]) / scale[i]);
            least = fmin(least, sqrt(n) * left);
        }
        wrong += !right(&f, &a);
        blind += least < 1e-10 && !right(&f, &a);
        clear(&f);
        free(a.m.a);
    }
    assert_true(blind > 0 || wrong == 0); /* the order of sums is the kernels' own */
    mpk_context_destroy(&ctx);
}

static double c_of(int threads, int64_t seed, mpk_certificate *found) {
    mpk_context *ctx = context();
    mpk_options o;
    mpk_problem *problem = NULL;
    mpk_options_init(&o);
    o.threads = threads, o.seed = seed;
    assert_int_equal(mpk_problem_generate(ctx, "lp-kkt 900 1500 3", 3, &problem), MPK_OK);
    made f = make(problem, ctx, &o);
    assert_int_equal(mpk_certify(ctx, f.fac, found), MPK_OK);
    clear(&f);
    mpk_context_destroy(&ctx);
    return found->contraction;
}

static void same_for_any_threads(void **state) {
    (void)state;
    mpk_certificate found;
    const double one = c_of(1, 1, &found);
    assert_true(found.vectors > 0 && one > 0);
    for (int threads = 2; threads <= 8; threads++) assert_true(c_of(threads, 1, &found) == one);
    assert_true(c_of(1, 2, &found) != one);
}

/* ---- when it is asked, and by whom ----------------------------------------------------------- */

static void asked_once(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_problem *problem = NULL;
    mpk_factor_info info;
    mpk_certificate first, again;
    assert_int_equal(mpk_problem_generate(ctx, "lp-kkt 60 110 3", 3, &problem), MPK_OK);
    made f = make(problem, ctx, NULL);
    mpk_factor_info_get(f.fac, &info);
    assert_true(!info.inertia.examined && !info.inertia.certified);
    assert_int_equal(mpk_certify(ctx, f.fac, &first), MPK_OK);
    assert_int_equal(mpk_certify(ctx, f.fac, &again), MPK_OK);
    assert_memory_equal(&first, &again, sizeof first);
    mpk_factor_info_get(f.fac, &info);
    assert_true(info.inertia.examined && info.inertia.certified);
    assert_int_equal(mpk_refactorize(ctx, NULL, NULL, f.fac), MPK_OK);
    mpk_factor_info_get(f.fac, &info);
    assert_true(!info.inertia.examined && !info.inertia.certified);
    assert_int_equal(mpk_certify(ctx, NULL, &again), MPK_ERR_ARGUMENT);
    clear(&f);
    mpk_context_destroy(&ctx);
}

typedef struct asker {
    mpk_factor *fac;
    mpk_certificate found;
} asker;

static void *ask(void *arg) {
    asker *a = arg;
    mpk_context *ctx = NULL;
    mpk_factor_info info;
    if (mpk_context_create(NULL, &ctx) == MPK_OK) mpk_certify(ctx, a->fac, &a->found);
    mpk_factor_info_get(a->fac, &info);
    a->found.certified &= info.inertia.examined;
    mpk_context_destroy(&ctx);
    return NULL;
}

static void several_threads_ask(void **state) {
    (void)state;
    enum { ASKERS = 4 };
    mpk_context *ctx = context();
    mpk_problem *problem = NULL;
    asker a[ASKERS] = {0};
    pthread_t thread[ASKERS];
    assert_int_equal(mpk_problem_generate(ctx, "lp-kkt 60 110 3", 3, &problem), MPK_OK);
    made f = make(problem, ctx, NULL);
    for (int k = 0; k < ASKERS; k++) {
        a[k].fac = f.fac;
        assert_int_equal(pthread_create(&thread[k], NULL, ask, &a[k]), 0);
    }
    for (int k = 0; k < ASKERS; k++) assert_int_equal(pthread_join(thread[k], NULL), 0);
    for (int k = 0; k < ASKERS; k++) {
        assert_true(a[k].found.certified);
        assert_true(a[k].found.contraction == a[0].found.contraction);
    }
    clear(&f);
    mpk_context_destroy(&ctx);
}

/* No inertia: complex symmetric matrices; nor are factors on blocks examined. */
static void nothing_to_certify(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_certificate found;
    dense m = dense_new(5, MPK_Z, MPK_SYMMETRIC);
    for (int i = 0; i < 5; i++) dense_set(&m, i, i, 1 + i * I);
    made f = make_dense(&m, ctx);
    assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
    assert_true(!found.certified && found.miss_bound == 1);
    clear(&f);
    free(m.a);
    mpk_options o;
    mpk_problem *problem = NULL;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    assert_int_equal(mpk_problem_generate(ctx, "lp-kkt 60 110 3", 3, &problem), MPK_OK);
    f = make(problem, ctx, &o);
    assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
    assert_true(!found.certified && found.vectors == 0);
    clear(&f);
    m = dense_new(0, MPK_D, MPK_SYMMETRIC);
    f = make_dense(&m, ctx);
    assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
    assert_true(found.certified && found.vectors == 0);
    clear(&f);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* The k-th allocation fails: that is said, and nothing is remembered. */
static void no_memory(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_problem *problem = NULL;
    mpk_certificate found;
    assert_int_equal(mpk_problem_generate(ctx, "lp-kkt 60 110 3", 3, &problem), MPK_OK);
    made f = make(problem, ctx, NULL);
    int failures = 0;
    mpk_status status = MPK_ERR_MEMORY;
    for (int k = 0; status != MPK_OK && k < 100; k++) {
        failing memory = {0};
        const mpk_allocator allocator = {failing_alloc, failing_release, &memory};
        mpk_context *poor = NULL;
        assert_int_equal(mpk_context_create(&allocator, &poor), MPK_OK);
        memory.fail_at = memory.calls + 1 + k;
        status = mpk_certify(poor, f.fac, &found);
        failures += status == MPK_ERR_MEMORY;
        mpk_context_destroy(&poor);
        assert_true(memory.held == 0);
    }
    assert_true(status == MPK_OK && failures > 0 && found.certified);
    clear(&f);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_signs),
        cmocka_unit_test(singular_without_zero_pivot),
        cmocka_unit_test(none_of_many),
        cmocka_unit_test(well_conditioned),
        cmocka_unit_test(unit_vectors_are_blind),
        cmocka_unit_test(same_for_any_threads),
        cmocka_unit_test(asked_once),
        cmocka_unit_test(several_threads_ask),
        cmocka_unit_test(nothing_to_certify),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("certify", tests, NULL, NULL);
}
