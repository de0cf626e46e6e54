/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders tried side by side are those tried one after the other, and nothing is lost where one
 * fails. */
#include "../sanitized.h"
#include "context.h"

#include "core/pool.h"

static mpk_options options_of(mpk_device device, int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device = device, o.threads = threads;
    return o;
}

/* Each has another winner: no matching (and so large that several workers contract it), the pairs
 * of weak columns, none of them, all. */
static const char *const cases[] = {"helmholtz 2d 130", "optimal-control 400", "lp-kkt 700 2100",
                                    "stokes mac 40"};

static void test_side_by_side(void **state) {
    (void)state;
    mpki_context_set_cores(ctx, 6);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *a = NULL;
        assert_int_equal(mpk_problem_generate(ctx, cases[k], 1, &a), MPK_OK);
        for (int device = k == 0; device < 2; device++) {
            static const int threads[] = {1, 6, 4};
            mpk_analysis *an[3] = {NULL};
            mpk_analysis_info info[3];
            for (int t = 0; t < 3 - TEST_SANITIZED; t++) {
                const mpk_options o = options_of(device ? MPK_ON_CUDA : MPK_ON_CPU, threads[t]);
                assert_int_equal(mpk_analyse(ctx, a, &o, &an[t]), MPK_OK);
                mpk_analysis_info_get(an[t], &info[t]);
                assert_int_equal(info[t].ordering, info[0].ordering);
                assert_int_equal(info[t].matching, info[0].matching);
                assert_int_equal(an[t]->failing, an[0]->failing);
                assert_memory_equal(an[t]->perm, an[0]->perm,
                                    (size_t)an[0]->n * sizeof *an[0]->perm);
            }
            for (int t = 0; t < 3 - TEST_SANITIZED; t++) mpk_analysis_destroy(&an[t]);
        }
        mpk_problem_destroy(&a);
    }
}

/* On a processor nobody begins a trial that others may find to be of no use, unless it is a short one: of columns
 * of more than six entries (the second case) all pairs are tried where pivots fail after weak ones. Trials are the
 * only tasks of an analysis by AMD. */
static void test_wanted(void **state) {
    (void)state;
    static const int tasks[] = {0, 1, 3, 2};
    mpki_context_set_cores(ctx, 6);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *a = NULL;
        mpk_analysis *an = NULL;
        mpk_options o = options_of(MPK_ON_CPU, 6);
        o.ordering = MPK_ORDERING_AMD;
        assert_int_equal(mpk_problem_generate(ctx, cases[k], 1, &a), MPK_OK);
        mpki_pool *pool = mpki_context_pool(ctx, 6, 1);
        const int64_t before = mpki_pool_count(pool).pushes;
        assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
        const int64_t pushed = mpki_pool_count(pool).pushes - before;
        if (pushed != tasks[k]) fail_msg("%s: %d trials", cases[k], (int)pushed);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&a);
    }
}

/* Whichever allocation fails, of any trial and of the dissection beside them. */
static void test_failing_memory(void **state) {
    (void)state;
    static const char *const spec[] = {"stokes mac 28", "lp-kkt 500 1600"};
    for (int s = 0; s < 2; s++) {
        mpk_context *apart = NULL;
        mpk_problem *a = NULL;
        assert_int_equal(mpk_context_create(NULL, &apart), MPK_OK);
        assert_int_equal(mpk_problem_generate(apart, spec[s], 1, &a), MPK_OK);
        bool succeeded = false;
        for (long k = 0; !succeeded; k += k < 60           ? 1 + 2 * TEST_SANITIZED
                                          : TEST_SANITIZED ? 244
                                                           : 61) {
            failing f = {.countdown = -1};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *c = NULL;
            mpk_analysis *an = NULL;
            const mpk_options o = options_of(MPK_ON_CUDA, 4);
            assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
            f.countdown = k;
            const mpk_status status = mpk_analyse(c, a, &o, &an);
            assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
            assert_true((status == MPK_OK) == (an != NULL));
            succeeded = status == MPK_OK;
            assert_true(k > 60 || !succeeded);
            mpk_analysis_destroy(&an);
            mpk_context_destroy(&c);
            assert_int_equal(f.held, 0);
        }
        mpk_problem_destroy(&a);
        mpk_context_destroy(&apart);
    }
}

typedef struct asked {
    _Atomic int times, stop_at;
} asked;

static int stop(const char *stage, double fraction, void *user) {
    asked *q = user;
    (void)stage;
    (void)fraction;
    return ++q->times >= q->stop_at;
}

static void test_cancelled(void **state) {
    (void)state;
    mpk_problem *a = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "stokes mac 40", 1, &a), MPK_OK);
    const mpk_options o = options_of(MPK_ON_CUDA, 4);
    asked q = {.times = 0, .stop_at = 1};
    mpk_analysis *an = NULL;
    mpk_status status = MPK_ERR_CANCELLED;
    mpk_context_set_progress(ctx, stop, &q);
    for (; mpk_failed(status) && q.stop_at < 1000;
         q.stop_at += 1 + 2 * TEST_SANITIZED) { /* at each place that asks */
        q.times = 0;
        status = mpk_analyse(ctx, a, &o, &an);
        assert_true(status == MPK_OK || status == MPK_ERR_CANCELLED);
        assert_true((status == MPK_OK) == (an != NULL));
    }
    assert_int_equal(status, MPK_OK);
    assert_true(q.stop_at > 6);
    mpk_analysis_destroy(&an);
    mpk_context_set_progress(ctx, NULL, NULL);
    mpk_problem_destroy(&a);
}

/* The most that an analysis takes at a time, for each entry of A: neither the graph of all columns beside that of
 * pairs, nor moduli of values that are there. */
static void test_each_entry(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        double bytes;
    } some[] = {{"optimal-control 1000", 53}, {"lp-kkt 3000 9000", 80}, {"stokes mac 100", 66}};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        mpk_problem *a = NULL;
        mpk_problem_view view;
        mpk_analysis *an = NULL;
        int64_t before, peak;
        const mpk_options o = options_of(MPK_ON_CPU, 1);
        assert_int_equal(mpk_problem_generate(ctx, some[k].spec, 1, &a), MPK_OK);
        mpk_problem_view_get(a, &view);
        mpk_memory_usage(ctx, &before, NULL);
        mpk_memory_reset_peak(ctx);
        assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
        mpk_memory_usage(ctx, NULL, &peak);
        const double each = (double)(peak - before) / (double)view.nnz;
        if (!(each < some[k].bytes)) fail_msg("%s: %.1f bytes for an entry", some[k].spec, each);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_side_by_side, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
